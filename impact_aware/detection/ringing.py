"""Test of the positions after an impact for a further hit, on an arm with flexible joints that still rings.

The joints swing at their natural frequencies, up to the velocity of the jump itself, and each reversal
looks like an impact to a test that allows for smooth motion only. Here the motion after an impact is a Gaussian
process: a parabola plus oscillations of any phase and of every frequency from `LOWEST` to `HIGHEST`. The slope of a
ramp added to it is estimated by generalised least squares, and its standard error contains the oscillations; a hit is
a slope that is far above it, and not one wrong sample's: those are replaced by what the others indicate. The weights
depend on the number of samples and the noise relative to the amplitude; they are made once, for a few amplitudes, and
every joint takes the nearest. Where samples are far apart `ring_bands` looks for the hit instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.kink import fit_kink
from impact_aware.detection.ring import Ring, median_row
from impact_aware.detection.ring_bands import BandTest, LikeliestHit, parabola_covariance, swing_covariance
from impact_aware.detection.windowed_detector import Parameters, finite_row, ranged
from impact_aware.records import ImpactEvent

LOWEST, HIGHEST = 10.0, 55.0
"""Natural frequencies of joints that ring, Hz."""

_FREQUENCIES = np.linspace(LOWEST, HIGHEST, 46)

NAME = "ringing"
"""Detector of the hits that only this test could tell from ringing."""

_CURVATURE = 20.0
"""Standard deviation of the acceleration that control adds, rad/s^2."""

_MODEL_NOISE = 2e-5
"""Standard deviation of positions that are no such process, for an amplitude of 1 rad/s, rad."""

_AMPLITUDES = (0.6, 0.12, 0.025)
"""Amplitudes that weights are made for, rad/s: the smaller, the more samples share the noise."""

_LATER = 3
"""Samples, its own the first, after which a sample that was wrong is told from a hit."""

_SOON = 4e-3
"""Time for which a hit may wait until it is certain that no single sample is wrong, s."""

_FEW = 20
"""Samples in a window that are too few to tell a hit from motion of every frequency."""

_HALF_PERIOD = 0.035
"""After this time half a period of every oscillation has been seen, and its amplitude is known, s."""


@dataclass(frozen=True)
class RingingParameters(Parameters):
    """Parameters of the test.

    Attributes:
        window: Longest time that is looked back, s.
        settling: Time of the impact itself, whose samples are not used, s.
        reach: How long ago the hit that is looked for may be, s; four samples at least.
        limit: Root mean square of the joints' slopes over their standard errors that is a hit; where samples are far
            apart, the root of twice the logarithm of its odds.
        share: Share of the last impact's largest jump that a hit has which no detector has to find.
        longest: Time after an impact for which the arm may ring, s.
    """

    window: float = ranged(0.06, "more than 0 s", lambda value: value > 0.0)
    settling: float = ranged(0.004, "0 s or more", lambda value: value >= 0.0)
    reach: float = ranged(0.005, "more than 0 s", lambda value: value > 0.0)
    limit: float = ranged(4.0, "more than 0", lambda value: value > 0.0)
    share: float = ranged(0.2, "between 0 and 1", lambda value: 0.0 < value < 1.0)
    longest: float = ranged(2.0, "more than 0 s", lambda value: value > 0.0)


class _Weights(NamedTuple):
    """What is known of the newest m samples before they come: estimates of what may be in them beside oscillations.

    The k estimates are the slopes of ramps of several ages, rad/s, and errors of the `_LATER` newest samples, rad; all
    of them for each of `_AMPLITUDES`.

    Attributes:
        weights: Of the samples (amplitudes, k, m).
        information: One over the variance at an amplitude of 1 rad/s, with noise in proportion (amplitudes, k).
        spread: Variance by oscillations of amplitude 1 rad/s alone (amplitudes, k).
        norms: Squares of the weights, summed (amplitudes, k).
    """

    weights: Array
    information: Array
    spread: Array
    norms: Array


class _Estimates(NamedTuple):
    """What the newest samples tell.

    Attributes:
        known: Their weights.
        rows: Themselves, from the newest (m, n), rad.
        amplitude: Velocity with which every joint may swing (n,), rad/s.
        values: The estimates (k, n).
        variances: Of them (k, n).
        squares: Of all joints' values over their standard errors, summed (k,).
    """

    known: _Weights
    rows: Array
    amplitude: Array
    values: Array
    variances: Array
    squares: Array


class RingingTest:
    """Watches the positions after an impact.

    Attributes:
        withheld: Events of a detector that looked like ringing when they came.
    """

    def __init__(
        self, joint_count: int, period: float, noise_std: ArrayLike, parameters: RingingParameters | None = None
    ) -> None:
        """Make the weights.

        Args:
            joint_count: Number of joints n.
            period: Sampling period, s.
            noise_std: Standard deviation of the positions' error, rad, one or per joint.
            parameters: Of the test.
        """
        self.parameters = chosen = parameters or RingingParameters()
        self.withheld = 0
        self._n, self._period = joint_count, period
        self._noise = np.broadcast_to(np.asarray(noise_std, dtype=np.float64), (joint_count,))
        self._late = max(round(chosen.reach / period), 4)
        self._patient = _LATER * period <= _SOON
        self._smallest = max(round(0.016 / period), 5)
        self._length = max(round(chosen.window / period), 12)
        self._ages = np.arange(0.5, self._late + 0.25, 0.5)
        self._joints = np.arange(joint_count)
        self._shares = np.sqrt(np.mean(self._noise**2)) / np.array(_AMPLITUDES)
        self._limits = np.sqrt(self._shares[1:] * self._shares[:-1])
        covariance = self._covariance()
        counts = range(self._smallest, self._length + 1)
        self._weights = {count: self._of(covariance[-count:, -count:]) for count in counts}
        self._bands: BandTest | None = None
        if self._length < _FEW:
            spectrum = (_FREQUENCIES, _MODEL_NOISE, _CURVATURE)
            self._bands = BandTest(period, counts, self._ages, self._noise, spectrum)
        self._positions = Ring(self._length, joint_count)
        self._steps = Ring(self._length - 1, joint_count)
        self._velocities = Ring(_LATER, joint_count)
        self._last: ImpactEvent | None = None
        self._hit: ImpactEvent | None = None
        self._levels = Ring(self._late + 3, 1)
        self._restart()

    def begin(self, event: ImpactEvent) -> None:
        """Watch what follows an impact; joints that swung before it swing on."""
        swings = self._last is not None and self._positions.count >= self._smallest
        self._swing: Array = self._amplitude() if swings else np.zeros(self._n)
        self._last = event
        self._begin = event.time + self.parameters.settling
        before = np.nan_to_num(event.velocity_before)
        after = before if event.velocity_after is None else np.nan_to_num(event.velocity_after)
        self._before, self._jump = before, np.abs(after - before)
        self._restart()

    def update(self, sample: JointSample) -> ImpactEvent | None:
        """Take the next sample in; a hit of `share` of the last jump when it becomes known with it.

        A smaller one is a hit when the detector had an event within the last `reach` that could not be told from
        ringing then.
        """
        self._hit = None
        last = self._last
        if last is None or not sample.time > self._begin:
            return None
        position = finite_row(sample.position, self._n)
        if position is None:
            return None
        if sample.time - last.time > self.parameters.longest:
            self._last = None
            return None
        if not self._take(sample.time, position) or self._positions.count < self._smallest:
            return None
        found = self._estimates()
        if self._repair(found):
            found = self._estimates()
        (level, age, slopes, errors), limit = self._likeliest(found), self.parameters.limit
        if level > limit and any(self._is_one_sample(k, found) for k in range(1 - _LATER, 0)):
            level = 0.0
        self._levels.push(level)
        # Half of the largest change of velocity was the jump, as a joint swings with up to that much.
        large = np.abs(slopes).max() > 0.5 * self.parameters.share * self._jump.max()
        doubted = sample.time - self._doubted < (self._late + 0.5) * self._period
        if level <= limit:
            return None
        self._hit = self._event(sample.time, age * self._period, slopes, slopes / errors / limit, level)
        return self._hit if large or doubted else None

    def explains(self, event: ImpactEvent) -> bool:
        """Tell whether an event of a detector at the newest sample is only ringing, and count it if so.

        Just after a hit that this test found, the detector sees the same hit.
        """
        if self._last is None:
            return False
        if not self._levels.count:
            same = self._last.detector == NAME
            self.withheld += same
            return same
        rings = float(self._levels.rows[-self._levels.count :].max()) <= self.parameters.limit
        self.withheld += rings
        if rings:
            self._doubted = event.time_detected
        return rings

    def refined(self, event: ImpactEvent) -> ImpactEvent:
        """A detector's event with this test's time and velocities, if it sees the hit elsewhere: it knows of the swing.

        Within a sample both see the same, and the detector's time is the finer one.
        """
        hit = self._hit
        if hit is None or abs(hit.time - event.time) <= hit.time_std:
            return event
        return replace(
            event,
            time=hit.time,
            time_std=hit.time_std,
            velocity_before=hit.velocity_before,
            velocity_after=hit.velocity_after,
        )

    def _estimates(self) -> _Estimates:
        """Look at as many samples as there are."""
        count = self._positions.count
        rows = self._positions.rows[-count:]
        rows = rows - rows[-1]
        known, amplitude = self._weights[count], self._amplitude()
        chosen, joints = self._chosen(amplitude), self._joints
        values = (known.weights @ rows)[chosen, :, joints].T
        variances = known.spread[chosen].T * amplitude**2 + known.norms[chosen].T * self._noise**2
        return _Estimates(known, rows, amplitude, values, variances, (values * values / variances).sum(axis=1))

    def _likeliest(self, found: _Estimates) -> LikeliestHit:
        """The hit that explains most."""
        if self._bands is not None:
            return self._bands.look(found.amplitude)
        best = int(found.squares[:-_LATER].argmax())
        return LikeliestHit(
            level=math.sqrt(found.squares[best] / self._n),
            age=float(self._ages[best]),
            slopes=found.values[best],
            errors=np.sqrt(found.variances[best]),
        )

    def _chosen(self, amplitude: Array) -> Array:
        """Which of `_AMPLITUDES` has every joint's share of noise (n,)."""
        return np.asarray((self._noise > self._limits[:, None] * amplitude).sum(axis=0))

    def _repair(self, found: _Estimates) -> bool:
        """Replace the third newest sample by its prediction from the others where it is an outlier.

        It is none where an impact explains it better.
        """
        error = found.values[-_LATER]
        if not (error**2 > self.parameters.limit**2 * found.variances[-_LATER]).any():
            return False
        if found.squares[:-_LATER].max() >= found.squares[-_LATER] or not self._is_one_sample(-_LATER, found):
            return False
        age = _LATER - 1
        if self._bands is not None:
            self._bands.mend(age, found.amplitude, self.parameters.limit)
        self._positions.replace(age, self._positions.rows[-_LATER] - error)
        for later in (age, age - 1):
            self._steps.replace(later, self._positions.rows[-later - 1] - self._positions.rows[-later - 2])
        return True

    def _is_one_sample(self, index: int, found: _Estimates) -> bool:
        """Whether no hit is left when one of the newest samples may be wrong by any amount.

        Where samples are far apart a hit of which only one is known looks the same: there a sample is wrong only when
        no hit could have moved it that far.
        """
        if not self._patient and np.abs(found.values[index]).max() < self._period * self._jump.max():
            return False
        weights, information = found.known.weights, found.known.information
        own, ramps = information[:, index, None], information[:, :-_LATER]
        shared = ramps * weights[:, :-_LATER, index]
        determinant = ramps * own - shared**2
        # A ramp in this sample only can't be told from its error.
        told = (determinant > 1e-9 * ramps * own).all(axis=0)
        if not told.any():
            return True
        scale = own[:, :, None] / determinant[:, told, None]
        alone = scale * (ramps[:, told, None] * weights[:, :-_LATER][:, told])
        alone -= scale * shared[:, told, None] * weights[:, index, None]
        chosen = self._chosen(found.amplitude)
        norms = np.einsum("akm,akm->ak", alone, alone)
        spread = scale[:, :, 0] - self._shares[:, None] ** 2 * norms
        slopes = (alone @ found.rows)[chosen, :, self._joints].T
        variances = spread[chosen].T * found.amplitude**2 + norms[chosen].T * self._noise**2
        return float((slopes**2 / variances).mean(axis=1).max()) <= self.parameters.limit**2

    def _restart(self) -> None:
        if self._bands is not None:
            self._bands.restart()
        self._positions.restart()
        self._steps.restart()
        self._velocities.restart()
        self._levels.restart()
        self._hit = None
        self._time = self._grid = self._doubted = -np.inf
        self._raw: Array = np.full(self._n, np.nan)

    def _take(self, time: float, position: Array) -> bool:
        """Move a sample to the grid by its speed; a gap starts again, and a value that is only repeated is one."""
        if (position == self._raw).all():
            return False
        step = time - self._time
        if not 0.25 * self._period < step < 1.75 * self._period:
            if step <= 0.25 * self._period and self._positions.count:
                return False
            self._restart()
            self._time = self._grid = time
            self._raw = position.copy()
            self._positions.push(position)
            if self._bands is not None:
                self._bands.push(position, time, 0.0)
            return False
        velocity = (position - self._raw) / step
        change = velocity - self._velocities.newest
        self._velocities.push(velocity)
        if np.abs(change).max() > 2.0 * self._jump.max():
            velocity = median_row(self._velocities.rows[-self._velocities.count :])
        self._grid += self._period
        late = time - self._grid
        if abs(late) > 0.5 * self._period:
            # A clock of another rate drifts away; the grid follows it.
            self._grid, late = time, 0.0
        self._raw, self._time = position.copy(), time
        on_grid = position - velocity * late
        self._steps.push(on_grid - self._positions.newest)
        self._positions.push(on_grid)
        if self._bands is not None:
            self._bands.push(position, time, late)
        if self._positions.count * self._period < 0.012:
            self._jump = np.maximum(self._jump, np.abs(velocity - self._before))
        return True

    def _amplitude(self) -> Array:
        """Velocity with which every joint may swing (n,), rad/s: that of the last half period, or the jump."""
        if (self._positions.count - self._late) * self._period < _HALF_PERIOD:
            swing = np.maximum(self._jump, self._swing)
        else:
            steps = self._steps.rows[-self._steps.count : -self._late]
            swing = (0.5 / self._period) * (steps.max(axis=0) - steps.min(axis=0))
        return np.maximum(swing, 0.1 * swing.max())

    def _covariance(self) -> Array:
        """Covariance of the newest `_length` positions for an amplitude of 1 rad/s, rad^2."""
        covariance = swing_covariance(_FREQUENCIES, self._period, self._length)
        covariance += parabola_covariance(self._period, self._length, _CURVATURE)
        covariance[np.diag_indices(self._length)] += _MODEL_NOISE**2
        return covariance

    def _of(self, covariance: Array) -> _Weights:
        count = len(covariance)
        ramps = self._period * np.maximum(np.arange(1.0 - count, 1.0)[:, None] + self._ages, 0.0)
        looked_for = np.hstack((ramps, np.eye(count)[:, -_LATER:]))
        noise = self._shares[:, None, None] ** 2 * np.eye(count)
        solved = np.linalg.inv(covariance + noise) @ looked_for
        information = np.einsum("mk,amk->ak", looked_for, solved)
        weights = np.ascontiguousarray((solved / information[:, None]).transpose(0, 2, 1))
        norms = np.einsum("akm,akm->ak", weights, weights)
        return _Weights(weights, information, 1.0 / information - self._shares[:, None] ** 2 * norms, norms)

    def _event(self, time: float, age: float, slopes: Array, residual: Array, level: float) -> ImpactEvent:
        count = min(self._positions.count, self._late + 10)
        rows = self._positions.rows[-count:]
        kink = fit_kink(rows, self._period, -(age + self._period), np.maximum(self._noise, 1e-9))
        return ImpactEvent(
            time=time - age,
            time_detected=time,
            time_std=self._period,
            detector=NAME,
            joint=int(np.abs(residual).argmax()),
            position=rows[-1].copy(),
            velocity_before=kink.velocity_before,
            velocity_after=kink.velocity_before + slopes,
            residual=np.abs(residual),
            confidence=1.0 - (self.parameters.limit / level) ** 2,
        )
