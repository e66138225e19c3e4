"""When two smooth branches meet: the refined impact time and the velocities on both sides of it.

Across a hard impact the positions are continuous and the velocities jump. With one parabola per joint for the smooth
motion and one ramp that starts at the impact,

    q_i(t) = c_i0 + c_i1 t + c_i2 t^2 + dv_i max(t - t0, 0),

all joints share t0. For a given t0 the rest is linear, so the parabola is projected out once and every t0 of a fine
grid is scored at the same time; the best one is the least-squares (with equal noise: maximum-likelihood) estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.detection.events import Array

# Candidates for the impact time per sampling period.
SUBDIVISIONS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Kink:
    """Two branches of motion that meet.

    Attributes:
        time: Time at which the branches meet, s, relative to the newest sample (so negative).
        time_std: Its standard error, s.
        position: Positions there, shape (n,), rad.
        velocity_before: Velocities there on the branch before, shape (n,), rad/s.
        velocity_after: Velocities there on the branch after, shape (n,), rad/s.
        explained: Share of the misfit to one parabola that the kink explains, 0..1.
    """

    time: float
    time_std: float
    position: Array
    velocity_before: Array
    velocity_after: Array
    explained: float


def fit_kink(positions: Array, period: float, earliest: float, noise_std: Array) -> Kink:
    """Fit the two branches to uniformly sampled positions.

    Args:
        positions: Newest samples, oldest first, shape (m, n) with m >= 4, rad.
        period: Sampling period, s.
        earliest: Earliest impact time considered, s relative to the newest sample; at least three samples stay before
            it.
        noise_std: Standard deviation of the position error per joint, shape (n,), rad, positive.

    Returns:
        The best kink.
    """
    samples, joints = positions.shape
    # In units of the sampling period the regressors are well scaled.
    grid = np.arange(1.0 - samples, 1.0)
    begin = max(earliest / period, grid[2])
    candidates = np.arange(np.ceil(begin * SUBDIVISIONS), 0.0) / SUBDIVISIONS
    basis, triangle = np.linalg.qr(np.stack((np.ones(samples), grid, grid * grid), axis=1))
    centred = positions - positions[-1]
    smooth = basis.T @ centred
    rest = centred - basis @ smooth
    ramps = np.maximum(grid[:, None] - candidates, 0.0)
    ramps_free = ramps - basis @ (basis.T @ ramps)
    norms = np.einsum("mc,mc->c", ramps_free, ramps_free)
    products = ramps_free.T @ rest
    weights = 1.0 / noise_std**2
    gains = (products * products) @ weights / norms
    best = _middle_of_plateau(gains)

    slopes = products[best] / norms[best]
    start = candidates[best]
    misfit = rest - np.outer(ramps_free[:, best], slopes)
    squares = float(np.einsum("mn,mn,n->", misfit, misfit, weights))
    whole = float(np.einsum("mn,mn,n->", rest, rest, weights))
    # The misfit may exceed the stated noise (the contact takes its time), so the larger of the two counts.
    freedom = max(samples * joints - 4 * joints - 1, 1)
    scale = max(1.0, squares / freedom)
    step = (grid > start).astype(np.float64)
    step -= basis @ (basis.T @ step)
    step -= ramps_free[:, best] * (ramps_free[:, best] @ step / norms[best])
    information = float((slopes * slopes) @ weights) * float(step @ step)
    # Without information the time is only known to lie somewhere between two samples.
    spread = 1.0 / np.sqrt(12.0)
    if information > 0.0:
        spread = min(np.sqrt(scale / information), -start + spread)

    coefficients = np.linalg.solve(triangle, smooth - basis.T @ np.outer(ramps[:, best], slopes))
    position = coefficients[0] + start * (coefficients[1] + start * coefficients[2]) + positions[-1]
    before = (coefficients[1] + 2.0 * start * coefficients[2]) / period
    return Kink(
        time=float(start * period),
        time_std=float(spread * period),
        position=position,
        velocity_before=before,
        velocity_after=before + slopes / period,
        explained=float(1.0 - squares / whole) if whole > 0.0 else 0.0,
    )


def _middle_of_plateau(gains: Array) -> int:
    """Index of the largest gain; where neighbours share it, as with one sample after the impact, their middle."""
    top = gains.max()
    equal = np.flatnonzero(gains >= top * (1.0 - 1e-9))
    return int(equal[len(equal) // 2])
