"""Whether recorded velocities lag behind the positions, as filtered ones do, and by how much."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.recordings.arm_samples import ArmSamples

LARGEST = 0.06
"""Lags that are looked for reach to here, s."""

FINENESS = 40
"""Lags tried per sampling period, and at least one per `STEP`."""

STEP = 2e-4
"""Largest distance of two lags that are tried, s."""

VARIED = 0.02
"""Standard deviation that a joint's velocity must have in a window for its lag to show, rad/s."""

SHARPNESS, SHARE = 0.1, 0.03
"""Standard error that is left of a lag, in periods, as velocity and position are sampled once in each, and of the lag
itself: of a filter's slow tail a window sees a part."""

LEAST = 1e-3
"""Shortest lag that is worth a word, s; shorter than a third of a period none is either."""


class VelocityLag(NamedTuple):
    """By how much recorded velocities lag.

    Attributes:
        lag: s.
        error: Its standard error, from the scatter over joints and windows, the sampling and the window, s.
    """

    lag: float
    error: float

    def note(self, period: float) -> str:
        """What a reader has to know; empty for no lag."""
        if self.lag < max(LEAST, period / 3.0) or self.lag < 3.0 * self.error:
            return ""
        return (
            f"the recorded velocities lag the positions by {1e3 * self.lag:.1f} ± {1e3 * self.error:.1f} ms, as "
            "filtered ones do: times and velocities here are those of the positions"
        )


def velocity_lag(windows: Iterable[ArmSamples]) -> VelocityLag | None:
    """The common lag of all joints in windows of samples, or None where nothing shows one.

    The integral of a velocity that lags by L, of a filter with unit gain, is q(t - L) up to a constant. Positions are
    so compared with positions: nothing is differentiated.
    """
    windows = list(windows)
    found = [own for window in windows if window.velocities is not None for own in _lags(window, window.velocities)]
    if len(found) < 3:
        return None
    lags = np.array(found)
    # Joints that the impact left alone say little: the middle, and its error from the middle half of them.
    spread = float(np.subtract(*np.percentile(lags, [75, 25]))) / 1.35
    period = float(np.median([_period(window) for window in windows if len(window.times) > 1]))
    lag = float(np.median(lags))
    parts = (1.25 * spread / np.sqrt(len(lags)), SHARPNESS * period, SHARE * lag)
    return VelocityLag(lag, float(np.linalg.norm(parts)))


def _period(window: ArmSamples) -> float:
    return float(np.median(np.diff(window.times)))


def _lags(window: ArmSamples, velocities: Array) -> list[float]:
    times, positions = window.times, window.positions
    if len(times) < 20 or np.any(np.diff(times) <= 0.0):
        return []
    period = _period(window)
    tried = np.arange(-2.0 * period, LARGEST, min(period / FINENESS, STEP))
    inside = times > times[0] + LARGEST
    inside &= times < times[-1] - 2.0 * period
    found = []
    for joint in range(positions.shape[1]):
        own = velocities[:, joint]
        if not np.isfinite(own).all() or inside.sum() < 10 or np.std(own[inside]) < VARIED:
            continue
        steps = 0.5 * (own[1:] + own[:-1]) * np.diff(times)
        integral = np.concatenate(([0.0], np.cumsum(steps)))[inside]
        apart = integral - np.interp(times[inside] - tried[:, None], times, positions[:, joint])
        # The trapezoid across a jump of the velocity does not know when within the sample it was: an offset is free.
        later = np.arange(1, len(times))[inside[1:]] > int(np.abs(np.diff(own)).argmax())
        sides = [apart[:, side] for side in (later, ~later) if side.any()]
        misfit = np.sum([np.var(side, axis=1) * side.shape[1] for side in sides], axis=0)
        best = int(misfit.argmin())
        if 0 < best < len(tried) - 1:
            found.append(float(tried[best]))
    return found
