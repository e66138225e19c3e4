"""How a plant keeps wall time on a machine that holds it up now and then."""

from __future__ import annotations

LOOKS = 2
"""How often to look in a cycle: a plant that is behind makes a cycle at every look until it has caught up."""

MOST_BEHIND = 20
"""Cycles that are caught up; of a longer stall none is, as no arm of steel moves on while its driver stands still."""

EARLY = 0.25
"""Share of a cycle by which it may be early."""


class WallPace:
    """Says how many cycles are due, so that simulated time follows wall time.

    After a stall of the machine simulated time catches up cycle by cycle, one at every look, or falls behind for good:
    made all at once, those cycles would be a gap to everybody who reads only the newest states.

    Attributes:
        given_up: Wall time by which simulated time has fallen behind for good, s.
    """

    def __init__(self, cycle: float) -> None:
        """Prepare for cycles of this length, s."""
        self.given_up = 0.0
        self._cycle = cycle
        self._wall = self._time = 0.0

    def begin(self, wall: float, time: float) -> None:
        """Simulated `time` is that of this moment `wall` of a steady clock, both in s."""
        self._wall, self._time = wall, time

    def due(self, wall: float, time: float) -> bool:
        """Whether a cycle is to be made now, when simulated time is `time`.

        To be asked `LOOKS` times a cycle. A cycle is due from a quarter of one before its time on: whoever asks does it
        with a jitter, and a look just before its time would make it half a cycle late.
        """
        behind = (wall - self._wall) - (time - self._time)
        if behind > MOST_BEHIND * self._cycle:
            self.given_up += behind - self._cycle
            self.begin(wall - self._cycle, time)
            return True
        return behind >= (1.0 - EARLY) * self._cycle
