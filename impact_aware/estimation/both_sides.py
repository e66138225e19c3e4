"""Velocities just before and just after an impact from one Gaussian model of the samples on both sides of it.

Positions are a parabola, about which nothing is known, a jerk that is white noise, oscillations of elastic joints, and,
from the impact on, a jump of the velocity over the contact's duration, the oscillation that it starts from rest, and a
step of the acceleration. How the arm moves on is one of three `Regime`s, shared by all joints: under control, free, or
free and shaken by further contacts. For given instant, duration, regime and sizes the velocities without oscillation
have a mean and a variance in closed form (universal kriging; Rasmussen and Williams 2006, 2.7); the result is their
mean over all of these, weighted by marginal likelihoods.

Each covariance of what does not depend on the instant is factorised once. Step and oscillations are regressors of known
variance, so that one product of the whitened columns serves all instants, durations and sizes (Woodbury's identity).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import solve_triangular

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.motion_parts import MotionParts, ramp, swing_basis
from impact_aware.estimation.priors import CONTACT_TIME_SCALE, TOUCHING_TWICE
from impact_aware.estimation.sample_noise import noise_of

BEFORE, AFTER = 0.060, 0.150
"""Length of the record before and after the impact that is used, s."""

LEAST_BEFORE, LEAST_AFTER = 5, 5
"""Smallest number of samples before and after the impact."""

MOST_SAMPLES = 60
"""Number of samples to which fast recordings are averaged: the effort grows with its third power."""

STARTED = (0.05, 0.2, 0.6, 1.5)
"""Candidates for the velocity of the oscillation that the impact starts, rad/s."""

STEP = 12.0
"""Standard deviation of the step of the acceleration, rad/s^2: where the velocity jumps, the command may step too."""

STIFF_DOUBT, FREE_DOUBT = 20.0, 3.0
"""Log-odds against a joint being stiff, and against its arm being free: few samples look smoother than they are."""

REGIME_DOUBT = 1.0
"""Share of the distance to what `CONTROLLED` alone gives that counts as a standard error: the smoother regimes state
too small errors where the velocity changes once more, unknown to the model, within 20 ms after the impact."""

TEMPER = 0.5
"""Power of the likelihoods: the model is a little wrong, and samples share errors (Gruenwald and van Ommen 2017)."""

LEAST_TIME_ERROR = 6e-4
"""Least standard error of the impact's time, s: when most of the contact's force acts is not known better."""

REACH = 2.0
"""Standard errors of the impact's time within which its instant is searched."""

NOISE_RATIO = 4.0
"""Ratio of noises within which joints share their mean, and so their covariances."""

_INSTANTS = np.linspace(-1.0, 1.0, 7)
_STAGES = 5
"""Largest number of searches, each finer than the one before."""

_FINE = 0.4
"""Standard deviation of the instant, in steps of the search, from which the search is fine enough."""

_BEFORE, _AFTER, _JUMP = range(3)


@dataclass(frozen=True)
class Motion:
    """How one joint moves apart from what the impact does to it.

    Attributes:
        jerk: Spectral density of the jerk, rad^2/s^5.
        under_way: Velocity of an oscillation all the time, rad/s.
        shaken: Velocity of an oscillation of any phase after the impact, rad/s.
        elastic: Whether the impact starts an oscillation of one of the sizes `STARTED`.
    """

    jerk: float
    under_way: float = 0.0
    shaken: float = 0.0
    elastic: bool = True


CONTROLLED = (
    *(Motion(jerk, under_way) for jerk, under_way in product((1e3, 1e4), (0.0, 0.05, 0.2))),
    *(Motion(jerk, elastic=False) for jerk in (50.0, 1e3)),
)
"""Motions of an arm that a controller acts on, and of stiff joints that move as planned."""

FREE = (Motion(1.0), Motion(100.0), Motion(100.0, 0.05))
"""Motions of an arm that swings freely: over the length of the record its acceleration hardly changes."""

SHAKEN = tuple(Motion(1.0, shaken=shaken, elastic=False) for shaken in (0.05, 0.2, 0.6))
"""Motions of a free arm that bounces: each contact starts the oscillation again, so that its phase is not known."""

REGIMES = ((CONTROLLED, 0.0), (FREE, -FREE_DOUBT), (SHAKEN, -FREE_DOUBT))
"""Regimes of the whole arm with their prior log-odds per joint."""

CHOICES = tuple(
    (motion, started, regime, -STIFF_DOUBT * (not motion.elastic and not motion.shaken))
    for regime, (motions, _) in enumerate(REGIMES)
    for motion in motions
    for started in (STARTED if motion.elastic else (0.0,))
)
"""Motion, size of the started oscillation, regime, and prior log-odds of every hypothesis about one joint."""


@dataclass(frozen=True, eq=False)
class BothSides:
    """Velocities of n joints on both sides of an impact.

    Attributes:
        before: (n,) Velocity just before the impact, without oscillation, rad/s.
        before_std: (n,) Its standard error.
        after: (n,) Velocity just after it.
        after_std: (n,) Its standard error.
        jump_std: (n,) Standard error of `after - before`, without the errors that both have in common.
        times: (k,) Of the samples used, s since the impact.
        fitted: (k, n) Positions there by the likeliest hypothesis, oscillation included, rad.
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
    # Slow recordings have so many periods as samples are needed at least.
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
    samples = _Samples(times, values, _common_noise(noise.at(mean) / np.sqrt(count)))
    centre, reach = 0.0, REACH * time_error
    for _ in range(_STAGES):
        weighing = _Weighing(samples, centre + reach * _INSTANTS, time_error)
        step = reach * float(_INSTANTS[1] - _INSTANTS[0])
        mean_time, std = weighing.instant()
        if std >= _FINE * step:
            break
        # A kink that is missed by a part of the step would be made up for by wrong velocities.
        centre, reach = mean_time, step
    return weighing.result()


def _averaged(since: Array, positions: Array, count: int, apart: float) -> tuple[Array, Array]:
    """Means of `count` neighbours each, from the impact outwards, leaving out what may be on its other side.

    Samples closer than `apart` to the impact, s, are left out: a mean over a kink is no position.
    """
    parts = []
    for side in (since < -apart, since >= apart):
        rows = np.column_stack((since[side], positions[side]))
        whole = len(rows) // count * count
        if not whole:
            raise InvalidInputError("samples", f"one side within {apart:.2g} s of the impact", "some farther away")
        rows = rows[len(rows) - whole :] if since[side][-1] < 0.0 else rows[:whole]
        parts.append(rows.reshape(-1, count, rows.shape[1]).mean(axis=1))
    table = np.concatenate(parts)
    return table[:, 0], table[:, 1:]


def _common_noise(noise: Array) -> Array:
    """Geometric means (n,) of the standard deviations (n,) of joints that are within `NOISE_RATIO` of each other."""
    logs, common = np.log(noise), np.full(len(noise), np.nan)
    while (open_ := np.isnan(common)).any():
        near = open_ & (logs <= logs[open_].min() + np.log(NOISE_RATIO))
        common[near] = np.exp(logs[near].mean())
    return common


class _Samples:
    """Samples around an impact, and covariances of what does not depend on its instant."""

    def __init__(self, times: Array, positions: Array, noise: Array) -> None:
        self.times, self.positions, self.noise = times, positions, noise
        self.span = float(times[-1] - times[0])
        self.powers = ((times[:, None] - times[0]) / self.span - 0.5) ** np.arange(3)
        # What a parabola leaves; rounding stays small with it.
        self.parabola = np.linalg.lstsq(self.powers, positions, rcond=None)[0]
        self.values = positions - self.powers @ self.parabola
        self._parts = MotionParts(times - times[0])
        self._late = np.outer(times >= 0.0, times >= 0.0)

    def covariance(self, motion: Motion, noise: float) -> Array:
        """Covariance (k, k) of the samples of one joint without what the impact starts, rad^2."""
        swings = motion.under_way**2 + motion.shaken**2 * self._late
        return self._parts.given(noise) + motion.jerk * self._parts.jerk + swings * self._parts.under_way


class _Weighing:
    """Likelihoods and velocities of every hypothesis (c, t, d, n): `CHOICES`, instants, contact times, joints."""

    def __init__(self, samples: _Samples, instants: Array, time_error: float) -> None:
        self._samples, self._instants = samples, instants
        since = np.maximum(samples.times[:, None] - instants, 0.0)
        self._steps = 0.5 * since**2
        self._ramps = np.stack([ramp(since, duration) for duration in TOUCHING_TWICE], axis=-1)
        self._swings = np.stack([swing_basis(column) for column in since.T], axis=1)
        shape = (len(CHOICES), len(instants), len(TOUCHING_TWICE), len(samples.noise))
        self._scores = np.empty(shape)
        # Mean and variance of the velocity before, of that after, and of the jump.
        self._means, self._variances = np.empty((3, *shape)), np.empty((3, *shape))
        for level in np.unique(samples.noise).tolist():
            for motion in dict.fromkeys(choice[0] for choice in CHOICES):
                self._fill(motion, level)
        totals, self._weights = [], np.empty(shape)
        regimes = np.array([choice[2] for choice in CHOICES])
        for regime, (_, odds) in enumerate(REGIMES):
            own = regimes == regime
            top = self._scores[own].max(axis=0)
            shares = np.exp(self._scores[own] - top)
            totals.append((top + np.log(shares.mean(axis=0)) + odds).sum(axis=-1))
            # The sizes are each joint's own, while regime, instant and duration are those of all joints.
            self._weights[own] = shares / shares.sum(axis=0)
        table = np.stack(totals) - 0.5 * (instants[:, None] / time_error) ** 2
        table -= np.array(TOUCHING_TWICE) / CONTACT_TIME_SCALE
        alone = np.exp(table[0] - table[0].max())
        self._controlled = self._weights[regimes == 0] * (alone / alone.sum())[..., None]
        common = np.exp(table - table.max())
        self._weights *= (common / common.sum())[regimes][..., None]

    def _fill(self, motion: Motion, noise: float) -> None:
        """All hypotheses with one motion, for the joints of one noise, rad."""
        samples, instants, joints = self._samples, len(self._instants), self._samples.noise == noise
        origin, span = float(samples.times[0]), samples.span
        at = self._instants - origin
        factor = np.linalg.cholesky(samples.covariance(motion, noise))
        velocity = motion.jerk * _velocity_covariance(at, (samples.times - origin)[:, None])
        blocks = [samples.powers, samples.values[:, joints], velocity, self._ramps, self._steps]
        blocks += [self._swings] if motion.elastic else []
        flat = np.hstack([block.reshape(len(samples.times), -1) for block in blocks])
        white = solve_triangular(factor, flat, lower=True, check_finite=False)
        basis, triangle = np.linalg.qr(white[:, :3])
        along = basis.T @ white
        white -= basis @ along
        edges = np.cumsum([block[0].size for block in blocks])[:-1]
        parts, parallel = np.split(white, edges, axis=1)[1:], np.split(along, edges, axis=1)[1:]
        data, own = parts[0], parts[1]
        # Coefficients of the parabola that make the velocity at each instant, as whitened rows.
        away = at / span - 0.5
        slopes = np.stack((0.0 * away, np.full(instants, 1.0), 2.0 * away)) / span
        through = solve_triangular(triangle, slopes, trans="T")
        known = motion.jerk * at**3 / 3.0 - (own**2).sum(axis=0) - (parallel[1] ** 2).sum(axis=0)
        known += ((through - parallel[1]) ** 2).sum(axis=0)

        def of_velocity(place: int) -> Array:
            """Share (t, m) of the columns of a block in the velocity before the impact."""
            rows, beside = (each[place].reshape(len(each[place]), instants, -1) for each in (parts, parallel))
            return np.einsum("qt,qtm->tm", through, beside) + np.einsum("kt,ktm->tm", own, rows)

        ramps = parts[2].reshape(len(white), instants, -1).transpose(1, 0, 2)
        columns = np.concatenate([part.reshape(len(white), instants, -1) for part in parts[3:]], axis=2)
        columns = columns.transpose(1, 0, 2)
        shares = np.concatenate([of_velocity(place) for place in range(3, len(parts))], axis=1)
        right = np.concatenate(
            (columns.swapaxes(1, 2) @ ramps, columns.swapaxes(1, 2) @ data, shares[..., None]), axis=2
        )
        base = through.T @ parallel[0] + own.T @ data + slopes.T @ samples.parabola[:, joints]
        logs = np.log(np.diag(factor)).sum() + np.log(np.abs(np.diag(triangle))).sum()
        gram = _Gram(
            information=columns.swapaxes(1, 2) @ columns,
            right=right,
            ramps=(ramps**2).sum(axis=1),
            products=ramps.swapaxes(1, 2) @ data,
            squares=(data**2).sum(axis=0),
        )
        chosen = [place for place, choice in enumerate(CHOICES) if choice[0] == motion]
        places = slice(chosen[0], chosen[-1] + 1)
        norms, jumps, score, shift, mean, spread = gram.solved(np.array([CHOICES[place][1] for place in chosen]))
        slope = of_velocity(2) - shift
        before = (base - mean)[:, :, None] - slope[..., None] * jumps
        variance = (known + spread)[..., None]
        self._scores[places][..., joints] = TEMPER * (score - logs + CHOICES[chosen[0]][3])
        for which, value, inexact in (
            (_BEFORE, before, variance + slope**2 / norms),
            (_AFTER, before + jumps, variance + (1.0 - slope) ** 2 / norms),
            (_JUMP, jumps, 1.0 / norms),
        ):
            self._means[which, places][..., joints] = value
            self._variances[which, places][..., joints] = np.maximum(inexact, 0.0)[..., None]

    def instant(self) -> tuple[float, float]:
        """Mean and standard deviation of the instant, s since the impact."""
        weights = self._weights[..., 0].sum(axis=(0, 2))
        mean = float(weights @ self._instants)
        return mean, float(np.sqrt(weights @ (self._instants - mean) ** 2))

    def result(self) -> BothSides:
        """Means and standard errors over all hypotheses."""
        means = np.einsum("ctdn,wctdn->wn", self._weights, self._means)
        apart = (self._means - means[:, None, None, None]) ** 2
        controlled = np.einsum("ctdn,wctdn->wn", self._controlled, self._means[:, : len(self._controlled)])
        # The velocity before needs none: its errors hold as they are.
        doubt = np.array([0.0, REGIME_DOUBT, REGIME_DOUBT])[:, None] * (controlled - means)
        stds = np.sqrt(np.einsum("ctdn,wctdn->wn", self._weights, self._variances + apart) + doubt**2)
        left = np.stack(list(self._left()), axis=1)
        samples = self._samples
        return BothSides(means[0], stds[0], means[1], stds[1], stds[2], samples.times, samples.positions - left, left)

    def _left(self) -> Iterator[Array]:
        """Noise (k,) of each joint's samples by its likeliest hypothesis, rad."""
        samples, shape = self._samples, self._weights.shape[:-1]
        for joint, noise in enumerate(samples.noise.tolist()):
            place, instant, duration = np.unravel_index(int(self._weights[..., joint].argmax()), shape)
            motion, started, *_ = CHOICES[place]
            columns = np.column_stack((STEP * self._steps[:, instant], started * self._swings[:, instant]))
            covariance = samples.covariance(motion, noise) + columns @ columns.T
            free = np.column_stack((samples.powers, self._ramps[:, instant, duration]))
            solved = np.linalg.solve(covariance, np.column_stack((free, samples.values[:, joint])))
            weights = np.linalg.solve(free.T @ solved[:, :-1], free.T @ solved[:, -1])
            yield noise**2 * (solved[:, -1] - solved[:, :-1] @ weights)


@dataclass(frozen=True, eq=False)
class _Gram:
    """Products of the whitened columns at t instants; m columns have a variance, d ramps have none, g joints.

    Attributes:
        information: (t, m, m) Of the columns with each other.
        right: (t, m, d + g + 1) Of the columns with ramps and data, and their shares in the velocity before.
        ramps: (t, d) Of each ramp with itself.
        products: (t, d, g) Of ramps and data.
        squares: (g,) Of the data.
    """

    information: Array
    right: Array
    ramps: Array
    products: Array
    squares: Array

    def solved(self, started: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Results for sizes (s,) of the started oscillation, rad/s; a single 0 where there is none.

        Returns:
            Information (s, t, d) on the jump, jumps (s, t, d, g), log likelihoods (s, t, d, g) up to a constant; what
            the columns change in the velocity before: per ramp (s, t, d), per joint (s, t, g), in its variance (s, t).
        """
        kinds, columns = self.ramps.shape[1], self.information.shape[1]
        variances = np.repeat(started[:, None] ** 2, columns, axis=1)
        variances[:, 0] = STEP**2
        inner = self.information + (np.eye(columns) / variances[:, None])[:, None]
        table = self.right.swapaxes(1, 2) @ np.linalg.solve(inner, self.right)
        norms = self.ramps - np.einsum("...dd->...d", table[..., :kinds, :kinds])
        left = self.products - table[..., :kinds, kinds:-1]
        jumps = left / norms[..., None]
        squares = self.squares - np.einsum("...gg->...g", table[..., kinds:-1, kinds:-1])
        logs = np.linalg.slogdet(inner)[1] + np.log(variances).sum(axis=1)[:, None]
        score = -0.5 * (squares[:, :, None] - left * jumps + (logs[..., None] + np.log(norms))[..., None])
        return norms, jumps, score, table[..., :kinds, -1], table[..., kinds:-1, -1], table[..., -1, -1]


def _velocity_covariance(at: Array, times: Array) -> Array:
    """Covariance of the velocity at an instant with positions at times, for a jerk of spectral density one.

    The jerk acts from time zero on: the integral of (t - u) (s - u)^2 / 2 over u from 0 to the earlier of t and s.
    """
    behind = np.maximum(at - times, 0.0) * times**3 / 6.0 + times**4 / 8.0
    ahead = times - at
    before = 0.25 * ahead**2 * at**2 + ahead * at**3 / 3.0 + at**4 / 8.0
    return np.asarray(np.where(times <= at, behind, before))
