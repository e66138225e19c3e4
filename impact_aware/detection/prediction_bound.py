"""How wrong the extrapolated parabola can be when there was no impact.

The acceleration of smooth motion is taken to vary by no more than min(da, j |t - t_k|) around its value at the end t_k
of the fitted window (Aouaj thesis, (2.29)). From that, two bounds on the prediction error over m periods follow:

- the thesis's (2.33), which adds up the largest effect on every sample,
      b = (1 + |P|_1) r/2 + Q(m h) + sum_j |P_j| Q((w - j) h);
- a sharper one. The prediction error is a linear functional of the positions that vanishes on parabolas, so by Peano's
  theorem it is the integral of K(t) a(t) with K(t) = sum_i c_i max(t_i - t, 0), c being the weights of all samples in
  the error, and since K integrates to zero,
      b = (1 + |P|_1) r/2 + integral of |K(t)| min(da, j |t - t_k|) dt.
  One and the same acceleration has to explain all samples here, which is why it is smaller by a factor of two and more.

A bridged sample is a mixture of real ones, so a test with weights c on the window's rows is really the test c B on real
samples, with B the window's `mixture`. It still vanishes on parabolas, and the sharper bound holds with
its weights: quantisation and noise count by their size, and the motion by |K(t)| with K(t) = sum_i (c B)_i max(t_i - t,
0). K is linear between samples, so the integral of |K| times the allowed variation of the acceleration is at most the
sum of |K| at the samples times the moments of the variation under a hat function there, which don't change.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from impact_aware.detection.events import Array

NOISE_MULTIPLE = 6.0
"""Standard deviations of the noise that a prediction error may have."""

_FINE = 100
"""Points per sampling period with which the moments are integrated."""


def extrapolation_weights(window: int, horizon: int) -> Array:
    """Weights P (window + 1,), oldest first, that extrapolate the parabola through w+1 uniform samples by m periods.

    Aouaj thesis, (2.22)-(2.25), where `horizon` is 1. The sampling period cancels.
    """
    grid = np.arange(-float(window), 1.0)
    regressors = np.stack((np.ones_like(grid), grid, 0.5 * grid**2), axis=1)
    ahead = float(horizon)
    return np.array([1.0, ahead, 0.5 * ahead**2]) @ np.linalg.pinv(regressors)


def position_variation(duration: Array | float, acceleration_variation: float, jerk_bound: float) -> Array:
    """Largest change of position, rad, by da, rad/s^2, and j, rad/s^3, in a time, s: Q of Aouaj thesis, (2.31)."""
    duration = np.asarray(duration, dtype=np.float64)
    corner = acceleration_variation / jerk_bound
    late = 0.5 * acceleration_variation * (duration - corner) ** 2 + 0.5 * jerk_bound * corner**2 * (
        duration - 2.0 / 3.0 * corner
    )
    return np.where(duration <= corner, jerk_bound * duration**3 / 6.0, late)


@lru_cache(maxsize=4096)
def detection_bound(
    window: int,
    horizon: int,
    sampling_period: float,
    acceleration_variation: float,
    jerk_bound: float,
    encoder_resolution: float,
    position_noise: float = 0.0,
    sharp: bool = True,
) -> float:
    """Largest prediction error that is no impact: Aouaj thesis, (2.33), for any horizon and with a term for noise.

    Args:
        window: w, at least 2.
        horizon: m, at least 1.
        sampling_period: h, s.
        acceleration_variation: da, rad/s^2.
        jerk_bound: j, rad/s^3.
        encoder_resolution: r, rad.
        position_noise: Standard deviation of independent noise on every sample, rad.
        sharp: Take the sharper bound; False for (2.33) itself.

    Returns:
        The bound b, rad.
    """
    weights = extrapolation_weights(window, horizon)
    if sharp:
        variation = _kernel_integral(weights, horizon, sampling_period, acceleration_variation, jerk_bound)
    else:
        ages = np.arange(window, -1.0, -1.0) * sampling_period
        variation = float(np.abs(weights) @ position_variation(ages, acceleration_variation, jerk_bound))
        variation += float(position_variation(horizon * sampling_period, acceleration_variation, jerk_bound))
    steps = 0.5 * encoder_resolution * (1.0 + np.abs(weights).sum())
    noise = NOISE_MULTIPLE * position_noise * np.sqrt(1.0 + weights @ weights)
    # Rounding of the arithmetic itself, for a signal without steps or noise.
    return float(steps + noise + variation) + 1e-12


def _kernel_integral(
    weights: Array, horizon: int, sampling_period: float, acceleration_variation: float, jerk_bound: float
) -> float:
    """Integral of |K(t)| min(da, j |t|) with t = 0 at the end of the fitted window."""
    nodes = np.append(np.arange(1.0 - len(weights), 1.0), float(horizon)) * sampling_period
    coefficients = np.append(-weights, 1.0)

    def kernel(instants: Array) -> Array:
        return np.maximum(nodes - instants[:, None], 0.0) @ coefficients

    corner = acceleration_variation / jerk_bound
    corners = np.array([-corner, corner])
    inside = corners[(corners > nodes[0]) & (corners < nodes[-1])]
    breaks = np.unique(np.concatenate((nodes, inside)))
    values = kernel(breaks)
    changes = np.flatnonzero(values[:-1] * values[1:] < 0.0)
    slopes = (values[changes + 1] - values[changes]) / (breaks[changes + 1] - breaks[changes])
    breaks = np.unique(np.concatenate((breaks, breaks[changes] - values[changes] / slopes)))

    def integrand(instants: Array) -> Array:
        return np.abs(kernel(instants)) * np.minimum(acceleration_variation, jerk_bound * np.abs(instants))

    # Both factors are linear on every piece, and Simpson's rule is exact for their product.
    middles = 0.5 * (breaks[:-1] + breaks[1:])
    pieces = integrand(breaks[:-1]) + 4.0 * integrand(middles) + integrand(breaks[1:])
    return float(np.diff(breaks) @ pieces / 6.0)


class MixedBound:
    """Bounds on the tests of a window some of whose rows are bridged."""

    def __init__(
        self,
        tests: Array,
        references: Array,
        length: int,
        period: float,
        acceleration_variation: Array,
        jerk_bound: Array,
        encoder_resolution: Array,
        position_noise: Array,
    ) -> None:
        """Precompute the moments.

        Args:
            tests: Weights on the newest rows (t, k).
            references: Age of the sample around whose acceleration the variation counts (t,), periods; each age
                equally often, in ascending order.
            length: Rows of the window, at least k.
            period: Sampling period, s.
            acceleration_variation: da (n,), rad/s^2.
            jerk_bound: j (n,), rad/s^3.
            encoder_resolution: r (n,), rad.
            position_noise: Standard deviation beside the steps (n,), rad.
        """
        self._tests = tests
        self._half_step = 0.5 * encoder_resolution
        self._noise = NOISE_MULTIPLE * position_noise
        ages = np.arange(length - 1.0, -1.0, -1.0)
        # K at a sample from the weights of the later ones.
        self._kernel = np.maximum(ages[:, None] - ages[None, :], 0.0) * period
        grid = np.arange(0.5 / _FINE, length - 1.0, 1.0 / _FINE)
        hats = np.maximum(1.0 - np.abs(ages[::-1, None] - grid), 0.0) * (period / _FINE)
        kinds = np.unique(references)
        self._moments = np.empty((len(kinds), length, len(acceleration_variation)))
        for kind, age in enumerate(kinds):
            distance = np.abs(length - 1.0 - age - grid) * period
            variation = np.minimum(acceleration_variation, np.outer(distance, jerk_bound))
            self._moments[kind] = hats @ variation

    def weights(self, mixture: Array) -> Array:
        """Weights of the tests on real samples (t, length)."""
        return np.asarray(self._tests @ mixture[-self._tests.shape[1] :])

    def gain(self, mixture: Array) -> Array:
        """Factor by which errors of single samples count more than without gaps (t,), at least 1."""
        plain = np.abs(self._tests).sum(axis=1)
        return np.maximum(np.abs(self.weights(mixture)).sum(axis=1) / plain, 1.0)

    def bounds(self, mixture: Array) -> Array:
        """Largest errors that are no impact (t, n), rad."""
        weights = self.weights(mixture)
        kernel = np.abs(weights @ self._kernel.T)
        grouped = kernel.reshape(len(self._moments), -1, kernel.shape[1])
        bounds = np.matmul(grouped, self._moments).reshape(len(kernel), -1)
        bounds += np.abs(weights).sum(axis=1)[:, None] * self._half_step
        if self._noise.any():
            bounds += np.sqrt(np.einsum("tl,tl->t", weights, weights))[:, None] * self._noise
        return np.asarray(bounds)
