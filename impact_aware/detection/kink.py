"""When two smooth branches meet: the refined impact time and the velocities on both sides of it.

Across an impact the positions are continuous and the velocities change by dv within a short contact time D. With one
parabola per joint for the smooth motion,

    q_i(t) = c_i0 + c_i1 t + c_i2 t^2 + dv_i ramp_D(t - t0),    ramp_D(s) = s^2 / 2D up to D, then s - D/2,

all joints share t0 and D; D = 0 is the ideal jump. Where the samples span more than `LONG`, the acceleration of a real
arm changes meanwhile, and the motion is a cubic. For given t0 and D the rest is linear, so the smooth motion is
projected out once and a fine grid of t0 and D is scored at the same time. D can hardly be found from one or two samples
after the impact, so its time is the mean over the grid, weighted by likelihood; the spread around it is its standard
error.

What to expect, whatever t0 and D up to 4 periods, with noise up to a thousandth of what a jump moves in a period: with
two samples or more after the impact the time is within 0.75 periods, and the velocity after within 0.3 times the
largest jump of a joint. With one sample after it the velocity after is no measurement: an impact just before that
sample and a large jump explain it as well as an earlier one and a small jump; it may be several times too large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.detection.events import Array

SUBDIVISIONS = 20
"""Candidates for the impact time per sampling period."""

CONTACT_TIMES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Candidates for the contact time, sampling periods: hard contacts of arms take 1 to 4 ms to change the velocity."""

CONTACT_TIME_SCALE = 1.5
"""Sampling periods over which the prior of a contact time falls by a factor e."""

LONG, ENOUGH = 0.03, 8
"""Span, s, and number of the samples from which on their smooth motion is a cubic."""

SHAPE_SPREAD = 0.25
"""Standard error of the impact time, sampling periods, that no fit can remove: what happens between two samples isn't
seen."""


@dataclass(frozen=True, slots=True, eq=False)
class Kink:
    """Two branches of motion that meet.

    Attributes:
        time: Time at which the branch before ends, s, relative to the newest sample (so negative).
        time_std: Its standard error, s.
        position: Positions there (n,), rad.
        velocity_before: Velocities there on the branch before (n,), rad/s.
        velocity_after: The same with what the impact has changed by the newest sample (n,), rad/s.
        explained: Share of the misfit to one smooth motion that the kink explains, 0..1.
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
        positions: Newest samples, oldest first (m, n) with m >= 4, rad.
        period: Sampling period, s.
        earliest: Earliest impact time considered, s relative to the newest sample; three samples stay before it.
        noise_std: Standard deviation of the position error per joint (n,), rad, positive.
    """
    samples, joints = positions.shape
    # In units of the sampling period the regressors are well scaled.
    grid = np.arange(1.0 - samples, 1.0)
    begin = max(earliest / period, grid[2])
    starts = np.arange(np.ceil(begin * SUBDIVISIONS), 0.0) / SUBDIVISIONS
    order = 3 if samples >= ENOUGH and (samples - 1) * period > LONG else 2
    basis, triangle = np.linalg.qr(grid[:, None] ** np.arange(order + 1))
    centred = positions - positions[-1]
    smooth = basis.T @ centred
    rest = centred - basis @ smooth
    ramps = _ramps(grid, starts)
    starts = np.tile(starts, len(CONTACT_TIMES))
    free = ramps - basis @ (basis.T @ ramps)
    norms = np.einsum("mc,mc->c", free, free)
    products = free.T @ rest
    weights = 1.0 / noise_std**2
    gains = (products * products) @ weights / norms
    best = int(gains.argmax())

    whole = float(np.einsum("mn,mn,n->", rest, rest, weights))
    squares = max(whole - float(gains[best]), 0.0)
    # The misfit may exceed the stated noise, and then the larger of the two counts.
    freedom = max(samples * joints - (order + 2) * joints - 2, 1)
    prior = np.repeat(np.exp(-np.array(CONTACT_TIMES) / CONTACT_TIME_SCALE), len(starts) // len(CONTACT_TIMES))
    likelihood = prior * np.exp(0.5 * (gains - gains[best]) / max(1.0, squares / freedom))
    likelihood /= likelihood.sum()
    start = float(likelihood @ starts)
    variance = float(likelihood @ (starts - start) ** 2) + SHAPE_SPREAD**2

    slopes = products[best] / norms[best]
    coefficients = np.linalg.solve(triangle, smooth - basis.T @ np.outer(ramps[:, best], slopes))
    contact_time = CONTACT_TIMES[best * len(CONTACT_TIMES) // len(starts)]
    done = min(-starts[best] / contact_time, 1.0) if contact_time else 1.0
    before = np.arange(1, order + 1) * start ** np.arange(order) @ coefficients[1:] / period
    return Kink(
        time=start * period,
        time_std=float(np.sqrt(variance)) * period,
        position=positions[-1] + start ** np.arange(order + 1) @ coefficients,
        velocity_before=before,
        velocity_after=before + done * slopes / period,
        explained=1.0 - squares / whole if whole > 0.0 else 0.0,
    )


def _ramps(grid: Array, starts: Array) -> Array:
    """Every ramp at every sample (m, contact times x starts), one contact time after the other."""
    since = np.maximum(grid[:, None] - starts, 0.0)
    columns = [since]
    for duration in CONTACT_TIMES[1:]:
        columns.append(np.where(since < duration, since * since / (2.0 * duration), since - 0.5 * duration))
    return np.concatenate(columns, axis=1)
