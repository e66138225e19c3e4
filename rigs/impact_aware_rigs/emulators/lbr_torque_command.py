"""An emulator of what lbr_fri_ros2_stack makes of torque commands, for whoever has no LBR.

Read in 2.1.2, and the same here:

- lbr_torque_command_controller.cpp: the last message counts, and is written at every update, for ever; it is kept while
  the controller is inactive, and written again after that. Nothing is checked, not even whether it is finite;
- system_interface.cpp: what was written stays when the controller is deactivated, and goes on to the arm with every
  cycle of the hardware as long as the component is active; deactivating the component ends the session with the arm;
- torque_command.cpp: as long as one of the 14 numbers is NaN, the measured position and zero torque are sent;
- filters.cpp, `JointPIDArray::compute`: the position that is sent then changes by `pid_p` times what the wanted one is
  off the measured one, in each cycle. So it does not become the wanted one: where that is the measured one of a cycle
  or two ago, it stays about where it began, whatever way the arm goes.
"""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array

JOINTS = 7

PID_P = 0.1
"""`pid_p` of lbr_system_config.yaml."""


class LbrTorqueCommand:
    """Controller and hardware interface of one arm.

    Attributes:
        active: Whether the controller writes.
        component_active: Whether there is a session with the arm.
    """

    def __init__(self) -> None:
        """Both active, nothing commanded."""
        self.active = self.component_active = True
        self._message: tuple[Array, Array] | None = None
        self._position, self._torque = np.full(JOINTS, np.nan), np.full(JOINTS, np.nan)
        self._sent = np.full(JOINTS, np.nan)

    def receive(self, position: Array, torque: Array) -> None:
        """A message has come: (7,) rad and (7,) N m."""
        self._message = np.array(position), np.array(torque)

    def update(self, measured: Array) -> tuple[Array, Array] | None:
        """One cycle, at measured joint positions (7,), rad.

        Returns:
            Position (7,), rad, and torque (7,), N m, that the arm is sent; None without a session.
        """
        if self.active and self._message is not None:
            self._position, self._torque = self._message
        if not self.component_active:
            return None
        if np.isnan(self._position).any() or np.isnan(self._torque).any():
            self._sent = measured.copy()
            return self._sent, np.zeros(JOINTS)
        if np.isnan(self._sent).any():
            self._sent = measured.copy()
        self._sent = self._sent + PID_P * (self._position - measured)
        return self._sent, self._torque
