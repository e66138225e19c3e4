"""Instants at which a recorded velocity may have jumped: a filter that looks at both sides of each.

Around each instant a cubic plus a ramp that begins there is fitted to the positions, so that the velocity is free to
jump there. At a uniform rate the fit is a filter; samples are put on a uniform grid first. The statistic is the sum
over the joints of the squared jump over its variance from the encoder's noise, which is found in the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from impact_aware.arrays import Array

HALF_WINDOWS = (0.010, 0.022)
"""Reach of the filters to either side, s."""

LEAST = 4
"""Samples to either side that a filter has at least."""

APART = 0.008
"""Of two candidates closer than this or two samples only the stronger counts, s."""

SIGNIFICANT = 40.0
"""Statistic above which a kink is looked at, for seven joints: chance reaches 30 once in ten thousand samples."""


LEAST_NOISE = 5e-6
"""Standard deviation of positions below which the shapes of `branch_model` are wrong anyway, rad."""

MOST_JITTER = 3e-4
"""Largest scatter of stamps that is believed, s: what exceeds it is motion."""

_STRETCH = 12
_STEPS = 50
_SAME = 1e-7
_MOVING = 0.1


@dataclass(frozen=True, eq=False)
class Candidates:
    """Instants of possible jumps in one stretch of samples.

    Attributes:
        times: (m,) s.
        strengths: (m,) Statistic there.
    """

    times: Array
    strengths: Array


@dataclass(frozen=True, eq=False)
class Noise:
    """White part of recorded positions.

    Attributes:
        encoder: (n,) Standard deviation of the positions, rad.
        stamps: Standard deviation of the stamps, s.
    """

    encoder: Array
    stamps: float

    def at(self, speed: Array) -> Array:
        """Standard deviation (n,) of positions at speeds (n,), rad/s."""
        return np.asarray(np.hypot(self.encoder, self.stamps * speed))


def noise_of(times: Array, positions: Array) -> Noise:
    """Noise of samples (k, n): how far each is from the cubic through its four neighbours, where that is least.

    Most of a recording may be rest, which shows no encoder's noise, or an oscillation, which no cubic follows.
    """
    floor = np.maximum(quantum_of(positions) / np.sqrt(12.0), LEAST_NOISE)
    if len(times) < 2 * _STRETCH:
        return Noise(floor, 0.0)
    near = np.array([-2, -1, 1, 2]) + np.arange(2, len(times) - 2)[:, None]
    weights = _lagrange(times[near], times[2:-2])
    left = positions[2:-2] - np.einsum("kw,kwn->kn", weights, positions[near])
    left /= np.sqrt(1.0 + (weights**2).sum(axis=1))[:, None]
    count = len(left) // _STRETCH
    stretches = left[: count * _STRETCH].reshape(count, _STRETCH, -1)
    squares = (stretches**2).mean(axis=1)
    edges = np.arange(count + 1) * _STRETCH + 2
    speeds = np.diff(positions[edges], axis=0) / np.diff(times[edges])[:, None]
    encoder = floor.copy()
    for joint, column in enumerate(squares.T):
        seen = column[column > 0.0]
        if len(seen):
            encoder[joint] = max(floor[joint], np.sqrt(np.quantile(seen, 0.2)))
    motion = (speeds**2).sum(axis=1)
    moving = motion > _MOVING**2
    if np.count_nonzero(moving) < 3:
        return Noise(encoder, 0.0)
    more = np.maximum(squares[moving] - encoder**2, 0.0).sum(axis=1) / motion[moving]
    return Noise(encoder, min(float(np.sqrt(np.quantile(more, 0.2))), MOST_JITTER))


def quantum_of(positions: Array) -> Array:
    """Largest step (n,) of which every change of a joint is a multiple, rad: the encoder's; 0 where there is none."""
    quanta = np.zeros(positions.shape[1])
    for joint, column in enumerate(positions.T):
        apart = np.diff(np.unique(column))
        # Rounding of the numbers themselves is no step of an encoder.
        apart = np.unique(np.round(apart[apart > _SAME], 9))[:_STEPS]
        step = 0.0
        for change in apart.tolist():
            # Euclid's algorithm, up to rounding.
            while change > _SAME:
                step, change = change, abs(step - change * round(step / change))
            if step < 10.0 * _SAME:
                step = 0.0
                break
        quanta[joint] = step
    return quanta


def find_candidates(times: Array, positions: Array, period: float, noise: Noise) -> Candidates:
    """Local maxima of the kink statistic in samples (k, n) with increasing stamps."""
    reach = [max(LEAST, round(half / period)) for half in HALF_WINDOWS]
    if len(times) < 2 * max(reach) + 4:
        return Candidates(np.zeros(0), np.zeros(0))
    grid = np.arange(times[0], times[-1], period)
    values = _on_grid(times, positions, grid)
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
            score = ((jumps / (noise.encoder * np.linalg.norm(weights) / period)) ** 2).sum(axis=1)
            begin = place * len(grid) + samples
            part = strength[begin : begin + len(score)]
            np.maximum(part, score[: len(part)], out=part)
    moments, strength = moments[order], strength[order]
    return _maxima(moments, strength, max(APART, 2.0 * period))


def _maxima(times: Array, strengths: Array, apart: float) -> Candidates:
    inner = (strengths[1:-1] >= strengths[:-2]) & (strengths[1:-1] > strengths[2:]) & (strengths[1:-1] > SIGNIFICANT)
    places = np.flatnonzero(inner) + 1
    kept: list[int] = []
    for place in places[np.argsort(-strengths[places], kind="stable")].tolist():
        if all(abs(times[place] - times[other]) > apart for other in kept):
            kept.append(place)
    chosen = np.array(sorted(kept), dtype=int)
    return Candidates(times[chosen], strengths[chosen])


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
    weights = _lagrange(times[near], grid)
    return np.asarray(np.einsum("kw,kwn->kn", weights, positions[near]))


def _lagrange(stamps: Array, instants: Array) -> Array:
    """Weights (k, w) of the values at stamps (k, w) in the polynomial through them, at instants (k,)."""
    weights = np.ones_like(stamps)
    for one in range(stamps.shape[1]):
        for other in range(stamps.shape[1]):
            if other != one:
                weights[:, one] *= (instants - stamps[:, other]) / (stamps[:, one] - stamps[:, other])
    return weights


def smallest_jump(noise: Noise, period: float) -> float:
    """Jump of a joint of middling noise at rest that just exceeds `SIGNIFICANT`, rad/s."""
    samples = max(LEAST, round(HALF_WINDOWS[-1] / period))
    weights = kink_filter(samples, 0.0)
    return float(np.sqrt(SIGNIFICANT) * np.median(noise.encoder) * np.linalg.norm(weights) / period)
