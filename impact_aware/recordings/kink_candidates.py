"""Instants at which a recorded velocity may have jumped: a filter that looks at both sides of each.

Around each instant a cubic plus a ramp that begins there is fitted to the positions, so that the velocity is free to
jump there. At a uniform rate the fit is a filter; samples are put on a uniform grid first. The statistic is the sum
over the joints of the squared jump over its variance from the encoder's noise, which is found in the data.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.ndimage import maximum_filter1d

from impact_aware.arrays import Array
from impact_aware.estimation.sample_noise import Noise, lagrange_weights

HALF_WINDOWS = (0.010, 0.022)
"""Reach of the filters to either side, s."""

LEAST = 4
"""Samples to either side that a filter has at least."""

APART = 0.008
"""Shortest distance between two candidates, s, or two samples: of closer ones only the stronger counts."""

SIGNIFICANT = 40.0
"""Statistic above which a kink is looked at, for seven joints: chance reaches 30 once in ten thousand samples."""


def find_candidates(
    times: Array, positions: Array, period: float, noise: Noise, time_std: Array | None = None
) -> tuple[Array, Array]:
    """Times (m,), s, and heights (m,) of the kink statistic's maxima in samples (k, n) with increasing stamps.

    Args:
        times: (k,) s.
        positions: (k, n) rad.
        period: Time between two samples, s.
        noise: Of the positions.
        time_std: (k,) Standard errors of the stamps beyond what all share, s; none when None.
    """
    reach = [max(LEAST, round(half / period)) for half in HALF_WINDOWS]
    if len(times) < 2 * max(reach) + 4:
        return np.zeros(0), np.zeros(0)
    grid = np.arange(times[0], times[-1], period)
    values = _on_grid(times, positions, grid)
    variance = _variance(times, values, grid, max(reach), noise, time_std)
    moments = np.concatenate((grid, grid + 0.5 * period))
    order = np.argsort(moments, kind="stable")
    strength = np.zeros(len(moments))
    for samples in dict.fromkeys(reach):
        for place, shift in enumerate((0.0, 0.5)):
            weights = kink_filter(samples, shift)
            if len(weights) > len(values):
                continue
            jumps = np.stack([np.convolve(column, weights[::-1], mode="valid") for column in values.T], axis=1)
            jumps /= period
            begin = samples
            spread = variance[begin : begin + len(jumps)] * (np.linalg.norm(weights) / period) ** 2
            score = (jumps**2 / spread).sum(axis=1)
            begin += place * len(grid)
            part = strength[begin : begin + len(score)]
            np.maximum(part, score[: len(part)], out=part)
    moments, strength = moments[order], strength[order]
    return _maxima(moments, strength, max(APART, 2.0 * period))


def _variance(times: Array, values: Array, grid: Array, reach: int, noise: Noise, time_std: Array | None) -> Array:
    """Variance (g, n) of the positions on the grid (g,) by the encoder and by stamps that are off, rad^2."""
    late = np.full(len(grid), noise.stamps)
    if time_std is not None and time_std.any():
        rows = np.clip(np.searchsorted(grid, times[time_std > 0.0]), 0, len(grid) - 1)
        wrong = np.zeros(len(grid))
        np.maximum.at(wrong, rows, time_std[time_std > 0.0])
        late = np.hypot(late, maximum_filter1d(wrong, 2 * reach + 1))
    return np.asarray(noise.encoder**2 + (late[:, None] * np.gradient(values, grid, axis=0)) ** 2)


def _maxima(times: Array, strengths: Array, apart: float) -> tuple[Array, Array]:
    inner = (strengths[1:-1] >= strengths[:-2]) & (strengths[1:-1] > strengths[2:]) & (strengths[1:-1] > SIGNIFICANT)
    places = np.flatnonzero(inner) + 1
    free = np.ones(len(times), dtype=bool)
    kept: list[int] = []
    for place in places[np.argsort(-strengths[places], kind="stable")].tolist():
        if free[place]:
            kept.append(place)
            free[slice(*np.searchsorted(times, (times[place] - apart, times[place] + apart)).tolist())] = False
    chosen = np.array(sorted(kept), dtype=int)
    return times[chosen], strengths[chosen]


@lru_cache(maxsize=32)
def kink_filter(samples: int, shift: float) -> Array:
    """Weights of the jump in units of position per sample, for so many samples before and as many after the instant.

    The instant is `shift` samples after the last sample before it.
    """
    grid = np.arange(-samples, samples + (1 if shift == 0.0 else 2), dtype=float) - shift
    columns = np.column_stack([(grid / samples) ** power for power in range(4)] + [np.maximum(grid, 0.0)])
    weights = np.asarray(np.linalg.pinv(columns)[-1])
    weights.setflags(write=False)
    return weights


def _on_grid(times: Array, positions: Array, grid: Array) -> Array:
    """Cubic through the four neighbours of each instant of the grid."""
    after = np.clip(np.searchsorted(times, grid, side="right"), 2, len(times) - 2)
    near = after[:, None] + np.arange(-2, 2)
    weights = lagrange_weights(times[near], grid)
    return np.asarray(np.einsum("kw,kwn->kn", weights, positions[near]))


def smallest_jump(noise: Noise, period: float) -> float:
    """Jump of a joint of middling noise at rest that just exceeds `SIGNIFICANT`, rad/s."""
    samples = max(LEAST, round(HALF_WINDOWS[-1] / period))
    weights = kink_filter(samples, 0.0)
    return float(np.sqrt(SIGNIFICANT) * np.median(noise.encoder) * np.linalg.norm(weights) / period)
