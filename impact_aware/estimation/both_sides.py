"""Velocities just before and just after an impact from one model of the samples on both sides of it.

`BranchModel` has position, velocity and acceleration, about which nothing is known, a jerk that is white noise, the
oscillation of elastic joints that is under way, a step of the acceleration, and, from the impact on, a jump of the
velocity over the contact's duration and the oscillation that it starts from rest. All but instant, duration and sizes
is linear and Gaussian, so that for given ones the velocities that belong to the motion, without any oscillation, have
a mean and a variance in closed form (universal kriging; Rasmussen and Williams 2006, 2.7). Instants, durations and
sizes are weighed by their marginal likelihoods, and what they disagree on is part of the standard errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product, starmap

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.branch_model import BranchModel
from impact_aware.estimation.motion_parts import Sizes, ramp
from impact_aware.estimation.part_choices import CONTACT_TIMES as SINGLE
from impact_aware.estimation.sample_noise import noise_of

BEFORE, AFTER = 0.060, 0.080
"""Length of the record before and after the impact that is used, s."""

LEAST_BEFORE, LEAST_AFTER = 5, 6
"""Samples that are needed there."""

MOST_SAMPLES = 40
"""Of a fast recording neighbouring samples are averaged to so many: what happens within fewer milliseconds, on top of a
smooth motion, is not in the model, and the effort grows with their third power."""

JERKS = (1e3, 1e4)
"""Spectral densities of the jerk that are weighed, rad^2/s^5: of a motion, and of a controller that acts."""

UNDER_WAY = (0.0, 0.05, 0.2)
"""Velocities of an oscillation under way, rad/s."""

STARTED = (0.05, 0.2, 0.6, 1.5)
"""Velocities of the oscillation that the impact starts, rad/s."""

STEP = 12.0
"""Standard deviation of the step of the acceleration, rad/s^2: where the velocity jumps, the command may step too."""

SMOOTH = (50.0, 1e3)
"""Spectral densities of the jerk of stiff arms that move as planned, without an oscillation, rad^2/s^5."""

DOUBT = 20.0
"""Logarithm of the odds against that, joint by joint: few samples look smoother than the motion is."""

CONTACT_TIMES = (*SINGLE, 0.011, 0.016)
"""Candidates for the time in which a contact changes the velocity, s; the longest ones are tips that touch twice."""

CONTACT_TIME_SCALE = 0.005
"""Time over which the prior of a contact time falls by a factor e, s."""

_SIZES = (*starmap(Sizes, product(JERKS, UNDER_WAY, STARTED, (STEP,))), *(Sizes(jerk, step=STEP) for jerk in SMOOTH))
LEAST_TIME_ERROR = 6e-4
"""Standard error of the time of an impact that is said to be exact, s: how the force rises and when most of it acts is
not seen, and samples beside an instant that is held bend velocities instead."""

REACH = 2.0
"""Standard errors of the impact's time within which its instant is looked for."""

_INSTANTS = np.linspace(-1.0, 1.0, 7)
_STAGES = 5
"""How often the instant is searched more finely."""

_FINE = 0.4
"""Standard deviation of the instant, in steps between those that are weighed, from which they are close enough."""


@dataclass(frozen=True, eq=False)
class BothSides:
    """What the samples on both sides tell of n joints.

    Attributes:
        before: (n,) Velocity just before the impact, without oscillation, rad/s.
        before_std: (n,) Its standard error.
        after: (n,) Velocity just after it.
        after_std: (n,) Its standard error.
        jump_std: (n,) Standard error of `after - before`; what both have in common is not in it.
        times: (k,) Of the samples used, s since the impact.
        fitted: (k, n) Positions there as the likeliest sizes have them, oscillation included, rad.
        residuals: (k, n) Measured minus fitted.
    """

    before: Array
    before_std: Array
    after: Array
    after_std: Array
    jump_std: Array
    times: Array
    fitted: Array
    residuals: Array


def fit_both_sides(since: Array, positions: Array, time_error: float = 0.0) -> BothSides:
    """Fit the samples around an impact.

    Args:
        since: (k,) Times since the impact, s, increasing.
        positions: (k, n) rad.
        time_error: Standard error of the impact's time, s.

    Raises:
        InvalidInputError: Too few samples on one of its sides.
    """
    period = float(np.median(np.diff(since))) if len(since) > 1 else 1.0
    # Of slow recordings so many periods as samples are needed at least.
    begin, end = -max(BEFORE, 8.0 * period), max(AFTER, 8.0 * period)
    used = (since >= begin) & (since <= end)
    early = int(np.count_nonzero(used & (since < 0.0)))
    late = int(np.count_nonzero(used)) - early
    if early < LEAST_BEFORE or late < LEAST_AFTER:
        given = f"{early} before and {late} after the impact"
        raise InvalidInputError("samples", given, f"at least {LEAST_BEFORE} and {LEAST_AFTER}")
    time_error = max(time_error, LEAST_TIME_ERROR)
    noise = noise_of(since, positions)
    times, values = since[used], positions[used]
    mean = (values[-1] - values[0]) / (times[-1] - times[0])
    count = -(-len(times) // MOST_SAMPLES)
    if count > 1:
        times, values = _averaged(times, values, count, REACH * time_error)
    model = BranchModel(times, values, noise.at(mean) / np.sqrt(count))
    centre, reach = 0.0, REACH * time_error
    for _ in range(_STAGES):
        weighing = _Weighing(model, values, centre + reach * _INSTANTS, time_error)
        step = reach * float(_INSTANTS[1] - _INSTANTS[0])
        mean_time, std = weighing.instant()
        if std >= _FINE * step:
            break
        # A kink that is missed by a part of the step would be made up for by wrong velocities.
        centre, reach = mean_time, step
    return weighing.result(times, values)


def _averaged(since: Array, positions: Array, count: int, apart: float) -> tuple[Array, Array]:
    """Means of `count` neighbours each, from the impact outwards, leaving out what may be on its other side.

    Samples closer than `apart` to the impact, s, are left out: a mean over a kink is no position.
    """
    parts = []
    for side in (since < -apart, since >= apart):
        rows = np.column_stack((since[side], positions[side]))
        whole = len(rows) // count * count
        rows = rows[len(rows) - whole :] if since[side][-1] < 0.0 else rows[:whole]
        parts.append(rows.reshape(-1, count, rows.shape[1]).mean(axis=1))
    table = np.concatenate(parts)
    return table[:, 0], table[:, 1:]


class _Weighing:
    """Sums over instants, contact durations and sizes, one group of joints of the same noise after the other."""

    def __init__(self, model: BranchModel, positions: Array, instants: Array, time_error: float) -> None:
        self._model = model
        self._instants = instants
        self._prior = -0.5 * (instants / time_error) ** 2
        span = float(model.times[-1])
        self._at = instants - model.origin
        # Derivatives of the model's powers at the instants, and of the parabola that it has taken off the samples.
        away = (self._at / span - 0.5)[:, None]
        self._slopes = np.hstack((0.0 * away, 1.0 / span + 0.0 * away, 2.0 / span * away))
        self._taken = self._slopes @ np.linalg.lstsq(model.powers, positions, rcond=None)[0]
        joints = model.values.shape[1]
        shape = (len(_SIZES), len(_INSTANTS), len(CONTACT_TIMES), joints)
        self._scores = np.empty(shape)
        # Mean and variance of the velocity before, of that after, and of the jump.
        self._means, self._variances = np.empty((3, *shape)), np.empty((3, *shape))
        self._left = np.empty((*shape, len(model.times)))
        since = np.maximum(model.times - self._at[:, None], 0.0)
        self._ramps = np.stack([ramp(since, duration) for duration in CONTACT_TIMES], axis=-1)
        for level in np.unique(model.noise):
            group = np.flatnonzero(model.noise == level)
            for place, sizes in enumerate(_SIZES):
                self._fill(place, sizes, float(level), group, since)
        self._scores[-len(SMOOTH) :] -= DOUBT
        top = self._scores.max(axis=0)
        shares = np.exp(self._scores - top)
        totals = (top + np.log(shares.mean(axis=0))).sum(axis=-1)
        totals += self._prior[:, None] - np.array(CONTACT_TIMES) / CONTACT_TIME_SCALE
        common = np.exp(totals - totals.max())
        # Instant and duration are those of all joints, the sizes each joint's own.
        self._common, self._shares = common / common.sum(), shares / shares.sum(axis=0)

    def _fill(self, place: int, sizes: Sizes, noise: float, group: NDArray[np.intp], since: Array) -> None:
        """One choice of sizes for the joints of one group: likelihoods, means, variances and what is left."""
        model, at = self._model, self._at
        covariance = model.parts.covariance(since, sizes, noise)
        velocity = sizes.jerk * _velocity_covariance(at[:, None], model.times)
        own = sizes.jerk * at**3 / 3.0
        fixed = np.hstack((model.powers, model.values[:, group]))
        fixed = np.broadcast_to(fixed, (len(at), *fixed.shape))
        columns = np.concatenate((fixed, self._ramps, velocity[..., None]), axis=2)
        solved = np.linalg.solve(covariance, columns)
        table = np.swapaxes(columns, 1, 2) @ solved
        data = 3 + np.arange(len(group))
        determinant = np.linalg.slogdet(covariance)[1]
        for duration in range(len(CONTACT_TIMES)):
            regressors = [0, 1, 2, 3 + len(group) + duration]
            normal = table[:, regressors][:, :, regressors]
            products = table[:, regressors][:, :, data]
            weights = np.linalg.solve(normal, products)
            squares = np.einsum("tjj->tj", table[:, data][:, :, data]) - np.einsum("trj,trj->tj", products, weights)
            score = -0.5 * squares - 0.5 * (determinant + np.linalg.slogdet(normal)[1])[:, None]
            self._scores[place, :, duration, group] = score.T
            known = np.concatenate((self._slopes, np.zeros((len(at), 1))), axis=1) - table[:, regressors, -1]
            rest = own - table[:, -1, -1]
            jump = np.broadcast_to([0.0, 0.0, 0.0, 1.0], known.shape)
            for which, functional in enumerate((known, known + jump, jump)):
                mean = np.einsum("tr,trj->tj", functional, weights)
                spread = np.einsum("tr,tr->t", functional, np.linalg.solve(normal, functional[..., None])[..., 0])
                if which < 2:
                    mean, spread = mean + table[:, -1][:, data] + self._taken[:, group], spread + rest
                self._means[which, place, :, duration, group] = mean.T
                self._variances[which, place, :, duration, group] = np.maximum(spread, 0.0)
            left = solved[:, :, data] - solved[:, :, regressors] @ weights
            self._left[place, :, duration, group] = noise**2 * np.moveaxis(left, 2, 0)

    def instant(self) -> tuple[float, float]:
        """Mean and standard deviation of the instant, s since the impact."""
        weights = self._common.sum(axis=1)
        mean = float(weights @ self._instants)
        return mean, float(np.sqrt(weights @ (self._instants - mean) ** 2))

    def result(self, times: Array, values: Array) -> BothSides:
        """Means and standard errors over everything that was weighed."""
        weights = self._common[..., None] * self._shares
        means = np.einsum("stdj,wstdj->wj", weights, self._means)
        apart = (self._means - means[:, None, None, None]) ** 2
        stds = np.sqrt(np.einsum("stdj,wstdj->wj", weights, self._variances + apart))
        joints = weights.shape[-1]
        best = weights.reshape(-1, joints).argmax(axis=0)
        left = self._left.reshape(-1, joints, len(times))[best, np.arange(joints)].T
        return BothSides(means[0], stds[0], means[1], stds[1], stds[2], times, values - left, left)


def _velocity_covariance(at: Array, times: Array) -> Array:
    """Covariance of the velocity at an instant with positions at times, for a jerk of spectral density one.

    The jerk acts from time zero on: the integral of (t - u) (s - u)^2 / 2 over u from 0 to the earlier of t and s.
    """
    behind = np.maximum(at - times, 0.0) * times**3 / 6.0 + times**4 / 8.0
    ahead = times - at
    before = 0.25 * ahead**2 * at**2 + ahead * at**3 / 3.0 + at**4 / 8.0
    return np.asarray(np.where(times <= at, behind, before))
