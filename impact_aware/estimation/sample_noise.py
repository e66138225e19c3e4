"""White noise of recorded positions, found in the data: of the encoder, its step included, and of the stamps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array

LEAST_NOISE = 5e-6
"""Standard deviation of positions below which the shapes of `branch_model` are wrong anyway, rad."""

MOST_JITTER = 3e-4
"""Largest scatter of stamps that is believed, s: what exceeds it is motion."""

SPIKE, ALONE = 12.0, 0.25
"""How far a single wrong value is from its neighbours at least, in standard deviations, and the share of that by which
they may be from each other."""

_STRETCH = 12
_STEPS, _FEW = 50, 500
_SAME = 1e-7
_MOVING = 0.1


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
    weights = lagrange_weights(times[near], times[2:-2])
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


def without_spikes(times: Array, values: Array, noise: Array) -> Array:
    """Values (k, n) with the `spikes` among them replaced."""
    rows, joints, errors = spikes(times, values, noise)
    mended = values.copy()
    mended[rows, joints] -= errors
    return mended


def spikes(
    times: Array, values: Array, noise: Array, alone: float = ALONE
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Single values of (k, n) that are far from the cubic through their four neighbours, by their noise (n,).

    Once one is replaced, its neighbours are nearer to their cubics than its share `alone`; 1/6 after a velocity jump.

    Returns:
        Rows (m,), columns (m,), and errors (m,): the others are near their cubics once these are taken off.
    """
    away = np.zeros_like(values)
    if len(times) < 9:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0)
    near = np.array([-2, -1, 1, 2]) + np.arange(2, len(times) - 2)[:, None]
    weights = lagrange_weights(times[near], times[2:-2])
    away[2:-2] = values[2:-2] - np.einsum("kw,kwn->kn", weights, values[near])
    rows, joints = np.nonzero(np.abs(away[4:-4]) > SPIKE * noise)
    rows += 4
    # What replacing one changes at its neighbours: its weight in their cubics.
    beside = rows[:, None] + np.array([2, 1, -1, -2])
    shares = weights[beside - 2, np.array([0, 1, 2, 3])]
    left = away[beside, joints[:, None]] + shares * away[rows, joints][:, None]
    lone = np.abs(left).max(axis=1, initial=0.0) < alone * np.abs(away[rows, joints])
    return rows[lone], joints[lone], away[rows[lone], joints[lone]]


def quantum_of(positions: Array) -> Array:
    """Largest step (n,) of which every change of a joint is a multiple, rad: the encoder's; 0 where there is none."""
    quanta = np.zeros(positions.shape[1])
    for joint, column in enumerate(positions.T):
        apart = np.diff(np.unique(column[:: max(1, len(column) // _FEW)]))
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


def lagrange_weights(stamps: Array, instants: Array) -> Array:
    """Weights (k, w) of the values at stamps (k, w) in the polynomial through them, at instants (k,)."""
    weights = np.ones_like(stamps)
    for one in range(stamps.shape[1]):
        for other in range(stamps.shape[1]):
            if other != one:
                weights[:, one] *= (instants - stamps[:, other]) / (stamps[:, one] - stamps[:, other])
    return weights
