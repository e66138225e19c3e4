"""How a plant keeps wall time on a machine that holds it up now and then."""

from __future__ import annotations

PAIR_EVERY = 8
"""A plant that is behind makes a second cycle at once every so many looks: more in a row are lost on the way."""

MOST_BEHIND = 20
"""Cycles that are caught up; of a longer stall none is, as no arm of steel moves on while its driver stands still."""


class WallPace:
    """Says how many cycles are due, so that simulated time follows wall time.

    After a stall of the machine simulated time catches up by an eighth more cycles, or falls behind for good: made all
    at once, those cycles would be a gap to everybody who reads only the newest state.

    Attributes:
        given_up: Wall time by which simulated time has fallen behind for good, s.
    """

    def __init__(self, cycle: float) -> None:
        """Prepare for cycles of this length, s."""
        self.given_up = 0.0
        self._cycle = cycle
        self._looks = PAIR_EVERY
        self._wall = self._time = 0.0

    def begin(self, wall: float, time: float) -> None:
        """Simulated `time` is that of this moment `wall` of a steady clock, both in s."""
        self._wall, self._time = wall, time

    def due(self, wall: float, time: float) -> int:
        """Cycles to make now, when simulated time is `time`.

        To be asked once a cycle. A cycle is due from half of one before its time on, so that the jitter of whoever asks
        makes no pairs of them.
        """
        behind = (wall - self._wall) - (time - self._time)
        if behind > MOST_BEHIND * self._cycle:
            self.given_up += behind - self._cycle
            self.begin(wall - self._cycle, time)
            return 1
        self._looks += 1
        count = max(int(behind / self._cycle + 0.5), 0)
        if count > 1 and self._looks >= PAIR_EVERY:
            self._looks = 0
            return 2
        return min(count, 1)
