"""What an emulated controller was asked for at most, and for how long it went on with what came last."""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array

LATE = 5
"""Updates for which a torque is held at least before that is told: one or two are the way through DDS."""


class CommandRecord:
    """Of one arm of n joints.

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
