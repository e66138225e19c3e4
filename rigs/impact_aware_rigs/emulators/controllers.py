"""Emulators of ros2_control's and lbr_fri_ros2_stack's controllers, without ROS, where neither is installed.

`ForwardCommandController` does what `forward_controllers_base.cpp` of ros2_controllers does (4.42.1 for Jazzy, 5.17.0
for Kilted and 6.9.0 were read and do the same here), as far as commands are concerned:

- a message with any value that is not finite is dropped, and the last command stays;
- any other message is kept, whatever its size, and the last one kept counts;
- until the first message after an activation nothing is written; an empty message counts as none;
- at an update, a command of another size than the interfaces is an error, upon which the controller manager of
  ros2_control (4.46.0, 6.8.0) deactivates the controller;
- the last command is written at every update, for ever: there is no time-out.

`LbrTorqueCommand` does what lbr_fri_ros2_stack 2.1.2 does:

- lbr_torque_command_controller.cpp: the last message counts, and is written at every update, for ever; it is kept while
  the controller is inactive, and written again after that. Nothing is checked, not even whether it is finite;
- system_interface.cpp: what was written stays when the controller is deactivated, and goes on to the arm with every
  cycle of the hardware as long as the component is active; deactivating the component ends the session with the arm;
- torque_command.cpp: as long as one of the 14 numbers is NaN, the measured position and zero torque are sent;
- filters.cpp, `JointPIDArray::compute`: the position that is sent then changes by `pid_p` times what the wanted one is
  off the measured one, in each cycle. So it does not become the wanted one: where that is the measured one of a cycle
  or two ago, it stays about where it began, whatever way the arm goes.

`ControllerManager` does what `switch_controller_cb` and `list_controllers_srv_cb` of controller_manager.cpp in
ros2_control 4.46.0 (Jazzy) and 6.8.0 (Rolling) do, as far as deactivating goes:

- strictness 0 is the default, which is strict; AUTO and FORCE_AUTO are taken for BEST_EFFORT;
- a name that no controller has: a strict switch is refused at once; a best-effort one goes on with the rest, and is
  refused where the last name of the list is unknown and nothing stands in it before that one;
- one that is not active can't be deactivated: a strict switch is refused as a whole, with nothing switched, a
  best-effort one leaves it out;
- when nothing is left to switch, the answer is ok.

`set_hardware_component_state_srv_cb` and `set_component_state` of resource_manager.cpp, likewise: the component's own
state counts, whatever controllers use it; of one that does not exist the answer is not ok, and has no state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError

LATE = 5
"""Least number of updates that a held torque is reported from: one or two are the way through DDS."""

JOINTS = 7
"""Joints of an LBR."""

PID_P = 0.1
"""`pid_p` of lbr_system_config.yaml."""

BEST_EFFORT, STRICT = 1, 2
"""Values of `strictness` in controller_manager_msgs/srv/SwitchController."""

NOTHING_TO_DO = "After checking the controllers, no controllers need to be activated or deactivated."
"""Message of a successful answer, in both sources."""


class CommandRecord:
    """Largest commands of one arm of n joints, and for how long the last one was held.

    Attributes:
        held: Updates since the last command came.
        held_late: Updates for which the last command was held that was held for `LATE` or more; 0 before there is one.
    """

    def __init__(self, joints: int) -> None:
        """Nothing has come yet."""
        self._largest, self._largest_change = np.zeros(joints), np.zeros(joints)
        self._last: Array | None = None
        self._new = False
        self.held = self.held_late = 0

    def note(self, values: Array) -> None:
        """A command (n,) has come, N m."""
        np.maximum(self._largest, np.abs(values), out=self._largest)
        if self._last is not None:
            np.maximum(self._largest_change, np.abs(values - self._last), out=self._largest_change)
        self._last, self._new = values, True

    def written(self) -> None:
        """An update has written what came last."""
        self.held = 0 if self._new else self.held + 1
        self._new = False
        if self.held >= LATE:
            self.held_late = self.held

    def values(self) -> dict[str, object]:
        """For diagnostics: largest torques and changes from one command to the next, N m, and what is held."""
        return {
            "held": self.held,
            "held_late": self.held_late,
            "largest": " ".join(f"{value:.6g}" for value in self._largest),
            "largest_change": " ".join(f"{value:.6g}" for value in self._largest_change),
        }


class ForwardCommandController:
    """One forward command controller with one effort interface per joint.

    Attributes:
        interfaces: (n,) What was last written to the hardware, N m; NaN before.
        active: Whether updates write to the hardware.
        dropped: Messages with values that are not finite.
        errors: Updates with a command of the wrong size.
    """

    def __init__(self, joint_count: int) -> None:
        """Make it, not active yet.

        Raises:
            InvalidInputError: No joint.
        """
        if joint_count < 1:
            raise InvalidInputError("joints", joint_count, "at least one")
        self.interfaces = np.full(joint_count, np.nan)
        self.active = False
        self.dropped = self.errors = 0
        self._command: tuple[float, ...] = ()

    def switch(self, active: bool) -> None:
        """Write from the next message on, or no more; the interfaces keep what they have."""
        self._command = (math.nan,) * len(self._command)
        self.active = active

    def receive(self, values: Sequence[float]) -> None:
        """A message has come."""
        if not all(map(math.isfinite, values)):
            self.dropped += 1
            return
        self._command = tuple(values)

    def update(self) -> Array | None:
        """Return what one cycle of the controller manager writes (n,), N m; None when it writes nothing."""
        if not self.active or all(map(math.isnan, self._command)):
            return None
        if len(self._command) != self.interfaces.size:
            self.errors += 1
            self.switch(False)
            return None
        self.interfaces[:] = self._command
        return self.interfaces


class LbrTorqueCommand:
    """Torque controller and hardware interface of one LBR.

    Attributes:
        active: Whether the controller writes.
        component_active: Whether there is a session with the arm.
    """

    def __init__(self) -> None:
        """Both active, nothing commanded."""
        self.active = self.component_active = True
        self._message: tuple[Array, Array] | None = None
        self._position, self._torque, self._sent = (np.full(JOINTS, np.nan) for _ in range(3))

    def receive(self, position: Array, torque: Array) -> None:
        """A message has come: (7,) rad and (7,) N m."""
        self._message = np.array(position), np.array(torque)

    def update(self, measured: Array) -> tuple[Array, Array] | None:
        """Return the position (7,), rad, and torque (7,), N m, that one cycle sends; None without a session.

        `measured` (7,) are the joint positions, rad.
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


@dataclass
class LoadedController:
    """A controller, or hardware component, of a controller manager.

    Attributes:
        switch: Called with whether it shall be active.
        is_active: Whether it is.
    """

    switch: Callable[[bool], None]
    is_active: Callable[[], bool]

    @property
    def state(self) -> str:
        """`active` or `inactive`."""
        return "active" if self.is_active() else "inactive"


class ControllerManager:
    """Controllers that are loaded and configured, and hardware components, by name."""

    def __init__(
        self, controllers: dict[str, LoadedController], components: dict[str, LoadedController] | None = None
    ) -> None:
        """Nothing is switched yet."""
        self._controllers = controllers
        self._components = components or {}

    def states(self) -> dict[str, str]:
        """`active` or `inactive`, by name."""
        return {name: own.state for name, own in self._controllers.items()}

    def switch_off(self, names: Sequence[str], strictness: int) -> tuple[bool, str]:
        """Deactivate controllers; returns whether that is ok, and why not."""
        strict = strictness in (0, STRICT)
        unknown = [name for name in names if name not in self._controllers]
        if unknown and (strict or len(unknown) == len(names)):
            name = unknown[0 if strict else -1]
            lacks = f"Could not deactivate controller with name '{name}' because no controller with this name exists"
            return False, lacks
        known = [name for name in names if name in self._controllers]
        off = [name for name in known if self._controllers[name].is_active()]
        for name in known if strict else ():
            if name not in off:
                return False, f"Controller with name '{name}' can not be deactivated since it is not active."
        for name in off:
            self._controllers[name].switch(False)
        return True, "" if off else NOTHING_TO_DO

    def set_component(self, name: str, state: str) -> tuple[bool, str]:
        """Set a component `active` or `inactive`; returns whether that is so now, and its state."""
        own = self._components.get(name)
        if own is None:
            return False, ""
        if state in ("active", "inactive") and own.state != state:
            own.switch(state == "active")
        return own.state == state, own.state
