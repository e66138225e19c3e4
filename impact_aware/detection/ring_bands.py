"""Test for an impact at low sampling rates, by oscillations in narrow frequency bands of each joint.

At 200 Hz a period of a joint's swing is four to twenty samples. A motion of every frequency could do nearly anything
from one sample to the next, and hides a hit; one of few frequencies can't. So every joint's newest positions are
explained by each of some bands of frequencies, and by all of them together for joints that swing in several ways, each
with an onset of a ramp at each of some ages or without one. The odds of a hit are the ratio of the probabilities of all
joints' positions. What control does is smooth, and no matter of how much a joint swings.

For every band the noise and the smooth motion are whitened and the swing made diagonal, so that one matrix product
gives what every amplitude and noise needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impact_aware.detection.events import Array
from impact_aware.detection.ring import Ring

_CENTRES, _HALF_WIDTH = (12.0, 17.0, 22.0, 27.0, 32.0, 37.0, 42.0, 47.0, 52.0), 4.0
"""Middles of the bands and half of their width, Hz."""

_SMOOTH_TIME, _SMOOTH_STD = 0.04, 5.0
"""Time in which the acceleration that control adds changes, s, and its standard deviation, rad/s^2."""

_LEAST_NOISE, _LEAST_SWING = 1e-7, 1e-4
"""Noise, rad, and swing, rad/s, below which numbers are only rounded."""


class LikeliestHit(NamedTuple):
    """The hit that explains most.

    Attributes:
        level: How clear it is: here the root of twice the logarithm of its odds, 0 where none is likelier.
        age: Its age, samples.
        slopes: Change of every joint's velocity (n,), rad/s.
        errors: Their standard errors (n,), rad/s.
    """

    level: float
    age: float
    slopes: Array
    errors: Array


class _Basis(NamedTuple):
    """Coordinates of m samples in which smooth motion and noise have variance 1 and the swing is diagonal.

    Attributes:
        maps: From positions to coordinates (bands x m, m).
        swings: Variances of the coordinates by a swing of 1 rad/s (bands, m, 1).
        ramps: Coordinates of the ramp of every age (bands, ages, m).
        squares: Those, squared.
    """

    maps: Array
    swings: Array
    ramps: Array
    squares: Array


class BandTest:
    """Remembers the newest positions, at the times at which they were measured, and looks for a hit in them."""

    def __init__(
        self, period: float, counts: range, ages: Array, noise: Array, spectrum: tuple[Array, float, float]
    ) -> None:
        """Find the coordinates.

        Args:
            period: Sampling period, s.
            counts: Numbers of samples that are looked at.
            ages: Of the hits that are looked for, samples.
            noise: Standard deviation of every joint's position error (n,), rad.
            spectrum: Natural frequencies that a joint may have, Hz; standard deviation of positions that are no such
                swing, for an amplitude of 1 rad/s, rad; standard deviation of the acceleration, rad/s^2.
        """
        self._period, self._ages = period, ages
        noise = np.maximum(noise, _LEAST_NOISE)
        self._noise = float(np.sqrt(np.mean(noise**2)))
        # Every joint's positions are brought to the same noise.
        self._scale = self._noise / noise
        length = counts[-1]
        self._rows = Ring(length, len(noise))
        self._stamps = Ring(length, 2)
        frequencies, rest, curvature = spectrum
        bands = [np.linspace(centre - _HALF_WIDTH, centre + _HALF_WIDTH, 9) for centre in _CENTRES]
        swings = [swing_covariance(band, period, length) + rest**2 * np.eye(length) for band in (*bands, frequencies)]
        smooth = self._smooth(length, curvature)
        self._bases = {count: self._basis(count, smooth, swings) for count in counts}

    def restart(self) -> None:
        """Forget all samples."""
        self._rows.restart()
        self._stamps.restart()

    def push(self, position: Array, time: float, late: float) -> None:
        """Append a sample (n,), rad, with its time and how long after that of the grid it is, s."""
        self._rows.push(position)
        self._stamps.push(np.array((time, late)))

    def mend(self, age: int, amplitude: Array, limit: float) -> None:
        """Replace what is wrong in the sample that came `age` samples before the newest by what the others tell of it.

        Args:
            age: Samples.
            amplitude: Velocity with which every joint swings (n,), rad/s.
            limit: Standard errors by which a joint's value is wrong.
        """
        joint = np.arange(len(amplitude))
        # The speeds beside it, by which samples are moved to the grid, are wrong until it is mended.
        for _ in range(2):
            basis, coordinates, weights, _ = self._explained(amplitude)
            along = basis.maps.reshape(*coordinates.shape[:2], -1)[:, None, :, -1 - age]
            information = (along**2 @ weights)[:, 0]
            errors = (along @ (coordinates * weights))[:, 0] / information
            gains = 0.5 * errors**2 * information
            best = (_without_hit(coordinates, weights) + gains - 0.5 * np.log(information)).argmax(axis=0)
            wrong = gains[best, joint] > 0.5 * limit**2
            change = np.where(wrong, errors[best, joint] / self._scale, 0.0)
            self._rows.replace(age, self._rows.rows[-1 - age] - change)

    def look(self, amplitude: Array) -> LikeliestHit:
        """Compare the newest samples with and without a hit, of joints that swing with these velocities (n,), rad/s."""
        basis, coordinates, weights, variances = self._explained(amplitude)
        without = _without_hit(coordinates, weights)
        information = basis.squares @ weights + 1.0 / variances
        products = basis.ramps @ (coordinates * weights)
        hits = without[:, None] + 0.5 * (products**2 / information - np.log(variances * information))
        odds = (_log_sum(hits) - _log_sum(without)).sum(axis=1)
        best = int(odds.argmax())
        joint = np.arange(len(amplitude))
        band = hits[:, best].argmax(axis=0)
        known = information[band, best, joint]
        return LikeliestHit(
            level=float(np.sqrt(2.0 * max(odds[best], 0.0))),
            age=float(self._ages[best]),
            slopes=products[band, best, joint] / known / self._scale,
            errors=1.0 / np.sqrt(known) / self._scale,
        )

    def _explained(self, amplitude: Array) -> tuple[_Basis, Array, Array, Array]:
        """The basis, samples' coordinates and one over their variances (bands, m, n), and variances of swings (n,)."""
        count = self._rows.count
        basis = self._bases[count]
        rows = self._on_grid(count)
        coordinates = (basis.maps @ ((rows - rows[-1]) * self._scale)).reshape(-1, count, len(amplitude))
        variances = (np.maximum(amplitude, _LEAST_SWING) * self._scale) ** 2
        return basis, coordinates, 1.0 / (1.0 + variances * basis.swings), variances

    def _on_grid(self, count: int) -> Array:
        """Positions at the times of the grid (m, n), rad: the speed there is that between the samples on both sides."""
        rows, stamps = self._rows.rows[-count:], self._stamps.rows[-count:]
        times = stamps[:, :1]
        moved = rows.copy()
        speeds = (rows[2:] - rows[:-2]) / (times[2:] - times[:-2])
        moved[1:-1] -= speeds * stamps[1:-1, 1:]
        for end, beside in ((0, 1), (-1, -2)):
            speed = (rows[end] - rows[beside]) / (times[end] - times[beside])
            moved[end] -= speed * stamps[end, 1]
        return moved

    def _smooth(self, count: int, curvature: float) -> Array:
        """Covariance of positions that noise and control make (m, m), rad^2."""
        time = self._period * np.arange(count)
        variance = _SMOOTH_STD**2 * _SMOOTH_TIME**4 / 3.0
        covariance = _stationary(variance * np.exp(-0.5 * (time / _SMOOTH_TIME) ** 2))
        covariance += parabola_covariance(self._period, count, curvature)
        covariance += self._noise**2 * np.eye(count)
        return covariance

    def _basis(self, count: int, smooth: Array, swings: list[Array]) -> _Basis:
        """Of the newest `count` samples."""
        whitening = np.linalg.inv(np.linalg.cholesky(smooth[-count:, -count:]))
        ramps = self._period * np.maximum(np.arange(1.0 - count, 1.0)[:, None] + self._ages, 0.0)
        white = np.stack([whitening @ swing[-count:, -count:] @ whitening.T for swing in swings])
        values, vectors = np.linalg.eigh(white)
        maps = np.ascontiguousarray(vectors.transpose(0, 2, 1) @ whitening)
        along = np.ascontiguousarray((maps @ ramps).transpose(0, 2, 1))
        return _Basis(maps.reshape(-1, count), np.maximum(values, 0.0)[:, :, None], along, along**2)


def swing_covariance(frequencies: Array, period: float, count: int) -> Array:
    """Covariance of positions of an oscillation of any phase and of these frequencies, Hz, at 1 rad/s (m, m), rad^2."""
    omega = 2.0 * np.pi * frequencies
    lag = period * np.arange(count)
    return _stationary((np.cos(np.outer(lag, omega)) / (2.0 * omega**2)).mean(axis=1))


def parabola_covariance(period: float, count: int, curvature: float) -> Array:
    """Covariance of positions on a parabola with a standard deviation of its acceleration, rad/s^2 (m, m), rad^2."""
    time = period * np.arange(1.0 - count, 1.0)
    terms = np.stack((np.ones(count), 10.0 * time, 0.5 * curvature * time**2))
    covariance: Array = terms.T @ terms
    return covariance


def _without_hit(coordinates: Array, weights: Array) -> Array:
    """Logarithm of the samples' probability in every band (bands, n)."""
    total: Array = 0.5 * (np.log(weights) - coordinates**2 * weights).sum(axis=1)
    return total


def _log_sum(logarithms: Array) -> Array:
    """Logarithm of the sum over the first axis."""
    most = logarithms.max(axis=0)
    total: Array = most + np.log(np.exp(logarithms - most).sum(axis=0))
    return total


def _stationary(column: Array) -> Array:
    index = np.arange(len(column))
    covariance: Array = column[np.abs(index[:, None] - index)]
    return covariance
