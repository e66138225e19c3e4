"""An emulator of ros2_control's forward command controller, for whoever has no ros2_control.

It does what `forward_controllers_base.cpp` of ros2_controllers does (releases 4.42.1 for Jazzy, 5.17.0 for Kilted and
6.9.0 were read and do the same here), as far as commands are concerned:

- a message with any value that is not finite is dropped, and the last command stays;
- any other message is kept, whatever its size, and the last one kept counts;
- until the first message after an activation nothing is written; an empty message counts as none;
- at an update, a command of another size than the interfaces is an error, upon which the controller manager of
  ros2_control (4.46.0, 6.8.0) deactivates the controller;
- the last command is written at every update, for ever: there is no time-out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError


class ForwardCommandController:
    """One controller with one effort interface per joint.

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
        self.dropped = 0
        self.errors = 0
        self._command: tuple[float, ...] = ()

    def activate(self) -> None:
        """Begin to write, from the next message on."""
        self._command = (math.nan,) * len(self._command)
        self.active = True

    def deactivate(self) -> None:
        """Write no more; the interfaces keep what they have."""
        self._command = (math.nan,) * len(self._command)
        self.active = False

    def receive(self, values: Sequence[float]) -> None:
        """A message has come."""
        if not all(map(math.isfinite, values)):
            self.dropped += 1
            return
        self._command = tuple(values)

    def update(self) -> Array | None:
        """One cycle of the controller manager.

        Returns:
            (n,) What is written, N m; None when nothing is.
        """
        if not self.active or all(map(math.isnan, self._command)):
            return None
        if len(self._command) != self.interfaces.size:
            self.errors += 1
            self.deactivate()
            return None
        self.interfaces[:] = self._command
        return self.interfaces
