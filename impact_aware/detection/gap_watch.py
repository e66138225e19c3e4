"""Velocities before and after a gap in the samples, compared: a jump that happened in it shows nowhere else."""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array
from impact_aware.detection.motion_window import MotionWindow
from impact_aware.records import ImpactEvent

LONGEST = 0.06
"""Time without samples across which velocities are compared, s."""

FEWEST, MOST = 5, 8
"""Samples on either side from which a velocity is known, and that are used."""

STEEPEST = 18.0
"""Acceleration of the fastest joint by a command, rad/s^2."""

RINGS = 0.5
"""Time after an impact for which joints may oscillate from it, s."""

CLEAR, LEAST = 8.0, 0.1
"""Standard errors, and velocity, rad/s, beyond what a command does, of a jump."""


class GapWatch:
    """Compares the velocities on both sides of each gap of one `MotionWindow`.

    Attributes:
        waits: Whether samples after a gap are awaited.
        last_event: Time of the last impact, s: joints ring after it, and their velocities differ across a gap by that.
    """

    def __init__(self, noise: Array) -> None:
        """Remember the standard deviation of the positions (n,), rad."""
        self._noise = noise
        self._before: tuple[float, float, int, Array] | None = None
        self.waits = False
        self.last_event = -np.inf

    def gap(self, window: MotionWindow, last: float, count: int) -> None:
        """Note that a window began again after a gap; `last` is the stamp, s, and `count` the samples before it."""
        if self.waits and self._before is not None and count <= 1 and window.time - self._before[0] <= LONGEST:
            # The sample behind the gap was late, and is replaced.
            self._before = self._before[0], window.time, *self._before[2:]
            return
        self.waits = count >= min(FEWEST, window.length) and 0.0 < window.time - last <= LONGEST
        self.waits &= not 0.0 <= window.time - self.last_event < RINGS
        if self.waits:
            rows = window.positions[-1 - min(count, MOST) : -1]
            self._before = last, window.time, len(rows), _slope(rows, window.period)

    def compare(self, window: MotionWindow, detector: str) -> ImpactEvent | None:
        """Jump across the last gap as an event of a detector, once there are samples enough after it; None without one.

        Its time is the middle of the gap, its residual the jump of each joint over what noise and commands explain.
        """
        if self._before is None or window.least_count < min(FEWEST, window.length):
            return None
        begin, end, count, before = self._before
        self._before, self.waits = None, False
        rows = window.positions[-min(FEWEST, window.length) :]
        after = _slope(rows, window.period)
        variance = sum(12.0 / (k * (k * k - 1.0)) for k in (count, len(rows))) / window.period**2
        between = window.time - begin + 0.5 * (count - len(rows)) * window.period
        explained = STEEPEST * between + CLEAR * self._noise * np.sqrt(variance) + LEAST
        residual = np.abs(after - before) / explained
        if residual.max() <= 1.0:
            return None
        return ImpactEvent(
            time=0.5 * (begin + end),
            time_detected=window.time,
            time_std=(end - begin) / np.sqrt(12.0),
            detector=detector,
            joint=int(residual.argmax()),
            position=window.positions[-window.least_count].copy(),
            velocity_before=before,
            velocity_after=after,
            residual=residual,
            confidence=0.5,
        )


def _slope(rows: Array, period: float) -> Array:
    """Least-squares velocity (n,) of positions (k, n) on a uniform grid, rad/s."""
    since = period * (np.arange(len(rows)) - 0.5 * (len(rows) - 1))
    return np.asarray(since @ rows / (since @ since))
