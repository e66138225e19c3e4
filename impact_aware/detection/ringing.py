"""Test of the positions after an impact for a further hit, on an arm with flexible joints that still rings.

The joints swing at their natural frequencies, up to the velocity of the jump itself, and each reversal
looks like an impact to a test that allows for smooth motion only. Here the motion after an impact is a Gaussian
process: a parabola plus oscillations of any phase and of every frequency from `LOWEST` to `HIGHEST`. The slope of a
ramp added to it is estimated by generalised least squares, and its standard error contains the oscillations. A hit is
a slope that is far above its error, also without any one of the newest samples: one of these may be wrong. The weights
depend on the number of samples only, and are made once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.kink import fit_kink
from impact_aware.detection.ring import Ring, median_row
from impact_aware.detection.windowed_detector import finite_row
from impact_aware.records import ImpactEvent

LOWEST, HIGHEST = 10.0, 55.0
"""Natural frequencies of joints that ring, Hz."""

NAME = "ringing"
"""Name of the detector in events for hits that only this test separates from ringing."""

LIMIT = 4.0
"""Root mean square of the joints' slopes over their standard errors that is a hit."""

WINDOW, SETTLING, LONGEST = 0.06, 0.004, 2.0
"""Longest time that is looked back; time of the impact itself, not used; time for which the arm may ring, s."""

REACH = 0.005
"""How long ago the hit that is looked for may be, s; four samples at least."""

_CURVATURE = 20.0
"""Standard deviation of the acceleration that control adds, rad/s^2."""

_MODEL_NOISE = 2e-5
"""Standard deviation of positions that are no such process, for an amplitude of 1 rad/s, rad."""

_AMPLITUDE = 0.12
"""Amplitude that the weights are made for, rad/s: the smaller, the more samples share the noise."""

_LATER = 3
"""Newest samples that may be wrong."""

_SOON = 4e-3
"""Time for which a hit may wait until it is certain that no single sample is wrong, s."""

_HALF_PERIOD = 0.035
"""After this time half a period of every oscillation has been seen, and its amplitude is known, s."""


class _Fit(NamedTuple):
    """Weights of the newest m samples that estimate k regressors beside oscillations, one at a time.

    Attributes:
        weights: (k, m).
        spread: (k,) Variance by oscillations of amplitude 1 rad/s.
        norms: (k,) Sum of the squared weights.
    """

    weights: Array
    spread: Array
    norms: Array

    def of(self, rows: Array, amplitude: Array, noise: Array) -> tuple[Array, Array]:
        """Estimates and their variances (k, n) from positions (m, n), by amplitudes and noise (n,)."""
        return self.weights @ rows, np.outer(self.spread, amplitude**2) + np.outer(self.norms, noise**2)


class RingingTest:
    """Watches the positions after an impact.

    Attributes:
        withheld: Events of a detector that looked like ringing when they came.
    """

    def __init__(self, joint_count: int, period: float, noise_std: ArrayLike) -> None:
        """Make the weights.

        Args:
            joint_count: Number of joints n.
            period: Sampling period, s.
            noise_std: Standard deviation of the positions' error, rad, one or per joint.
        """
        self.withheld = 0
        self._n, self._period = joint_count, period
        self._noise = np.broadcast_to(np.asarray(noise_std, dtype=np.float64), (joint_count,))
        self._late = max(round(REACH / period), 4)
        self._patient = _LATER * period <= _SOON
        self._smallest = max(round(0.016 / period), 5)
        self._length = max(round(WINDOW / period), 12)
        self._ages = np.arange(0.5, self._late + 0.25, 0.5)
        covariance = self._covariance()
        counts = range(self._smallest, self._length + 1)
        self._fits = {count: self._fits_of(covariance[-count:, -count:]) for count in counts}
        self._positions = Ring(self._length, joint_count)
        self._steps = Ring(self._length - 1, joint_count)
        self._velocities = Ring(_LATER, joint_count)
        self._last: ImpactEvent | None = None
        self._restart()

    def begin(self, event: ImpactEvent) -> None:
        """Watch what follows an impact; joints that swung before it swing on."""
        self._swing: Array = self._amplitude() if self._last is not None and self._ready else np.zeros(self._n)
        self._last = event
        self._begin = event.time + SETTLING
        before = np.nan_to_num(event.velocity_before)
        after = before if event.velocity_after is None else np.nan_to_num(event.velocity_after)
        self._before, self._jump = before, np.abs(after - before)
        self._restart()

    def update(self, sample: JointSample) -> ImpactEvent | None:
        """Take the next sample in; a hit when it becomes known with it."""
        last = self._last
        if last is None or not sample.time > self._begin:
            return None
        position = finite_row(sample.position, self._n)
        if position is None:
            return None
        if sample.time - last.time > LONGEST:
            self._last = None
            return None
        if not self._take(sample.time, position) or not self._ready:
            return None
        slopes, variances, level = self._look()
        if self._repair(level):
            slopes, variances, level = self._look()
        best = int(level.argmax())
        if level[best] <= LIMIT or any(self._is_one_sample(age) for age in range(_LATER - 1)):
            return None
        residual = np.abs(slopes[best]) / np.sqrt(variances[best]) / LIMIT
        return self._event(sample.time, self._ages[best] * self._period, slopes[best], residual, float(level[best]))

    def explains(self, event: ImpactEvent) -> bool:
        """Return whether an event of a detector at the newest sample is only ringing, not a hit; count it if so.

        Just after a hit that this test found, the detector sees the same hit.
        """
        if self._last is None:
            return False
        rings = self._ready or self._last.detector == NAME
        self.withheld += rings
        return rings

    @property
    def _ready(self) -> bool:
        """Whether there are samples enough."""
        return self._positions.count >= self._smallest

    def _rows(self) -> Array:
        rows = self._positions.rows[-self._positions.count :]
        return rows - rows[-1]

    def _look(self, without: int | None = None) -> tuple[Array, Array, Array]:
        """Slopes and their variances (ages, n), and their level (ages,), with or without one of the newest samples."""
        fit = self._fits[self._positions.count][0 if without is None else 1 + without]
        slopes, variances = fit.of(self._rows(), self._amplitude(), self._noise)
        return slopes, variances, np.sqrt((slopes * slopes / variances).mean(axis=1))

    def _is_one_sample(self, age: int) -> bool:
        """Whether no hit is left without the sample that came `age` samples before the newest.

        Where samples are far apart a hit of which only one is known looks the same: there a sample is wrong only when
        no hit could have moved it that far.
        """
        if not self._patient and np.abs(self._error(age)[0]).max() < self._period * self._jump.max():
            return False
        return float(self._look(age)[2].max(initial=0.0)) <= LIMIT

    def _error(self, age: int) -> tuple[Array, Array]:
        """Error (n,), by the other samples, of the one that came `age` samples before the newest, and its variance."""
        error, variance = self._fits[self._positions.count][-1].of(self._rows(), self._amplitude(), self._noise)
        return error[age], variance[age]

    def _repair(self, level: Array) -> bool:
        """Replace the oldest sample that may be wrong by its prediction from the others, where no hit explains it."""
        age = _LATER - 1
        error, variance = self._error(age)
        ratios = error**2 / variance
        if not (ratios > LIMIT**2).any() or level.max() ** 2 >= ratios.mean() or not self._is_one_sample(age):
            return False
        self._positions.replace(age, self._positions.rows[-_LATER] - error)
        for later in (age, age - 1):
            self._steps.replace(later, self._positions.rows[-later - 1] - self._positions.rows[-later - 2])
        return True

    def _restart(self) -> None:
        self._positions.restart()
        self._steps.restart()
        self._velocities.restart()
        self._time = self._grid = -np.inf
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
        time = self._period * np.arange(1.0 - self._length, 1.0)
        omega = 2.0 * np.pi * np.linspace(LOWEST, HIGHEST, 46)
        lags = np.abs(time[:, None] - time)[..., None]
        parabola = np.stack((np.ones(self._length), 10.0 * time, 0.5 * _CURVATURE * time**2))
        swing: Array = (np.cos(lags * omega) / (2.0 * omega**2)).mean(axis=-1)
        return swing + parabola.T @ parabola + _MODEL_NOISE**2 * np.eye(self._length)

    def _fits_of(self, covariance: Array) -> tuple[_Fit, ...]:
        """Fits of ramps by all samples, by those without each of the newest ones, and of these samples' errors."""
        count = len(covariance)
        ramps = self._period * np.maximum(np.arange(1.0 - count, 1.0)[:, None] + self._ages, 0.0)
        share = float(np.mean(self._noise**2)) / _AMPLITUDE**2
        noise = share * np.eye(count)

        def fit(regressors: Array, kept: NDArray[np.intp]) -> _Fit:
            # A ramp in a sample that is left out is seen nowhere.
            regressors = regressors[:, regressors[kept].any(axis=0)]
            solved = np.zeros_like(regressors)
            solved[kept] = np.linalg.solve((covariance + noise)[np.ix_(kept, kept)], regressors[kept])
            information = (regressors * solved).sum(axis=0)
            weights = np.ascontiguousarray((solved / information).T)
            norms = (weights**2).sum(axis=1)
            return _Fit(weights, 1.0 / information - share * norms, norms)

        every = np.arange(count)
        left_out = (fit(ramps, np.delete(every, count - 1 - age)) for age in range(_LATER))
        return fit(ramps, every), *left_out, fit(np.eye(count)[:, : -_LATER - 1 : -1], every)

    def _event(self, time: float, age: float, slopes: Array, residual: Array, level: float) -> ImpactEvent:
        count = min(self._positions.count, self._late + 10)
        rows = self._positions.rows[-count:]
        kink = fit_kink(rows, self._period, -(age + self._period), np.maximum(self._noise, 1e-9))
        return ImpactEvent(
            time=time - age,
            time_detected=time,
            time_std=self._period,
            detector=NAME,
            joint=int(residual.argmax()),
            position=rows[-1].copy(),
            velocity_before=kink.velocity_before,
            velocity_after=kink.velocity_before + slopes,
            residual=residual,
            confidence=1.0 - (LIMIT / level) ** 2,
        )
