"""How wrong a prediction can be when some of its samples are missing and had to be bridged.

A bridged sample is a mixture of real ones, so a test with weights c on the window's rows is really the test c B on real
samples, with B the window's `mixture`. It still vanishes on parabolas, and the bound of `prediction_bound` holds with
its weights: quantisation and noise count by their size, and the motion by |K(t)| with K(t) = sum_i (c B)_i max(t_i - t,
0). K is linear between samples, so the integral of |K| times the allowed variation of the acceleration is at most the
sum of |K| at the samples times the moments of the variation under a hat function there, which don't change.
"""

from __future__ import annotations

import numpy as np

from impact_aware.detection.events import Array

_FINE = 100
"""Points per sampling period with which the moments are integrated."""


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
        noise_multiple: float,
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
            noise_multiple: Standard deviations that are allowed for it.
        """
        self._tests = tests
        self._half_step = 0.5 * encoder_resolution
        self._noise = noise_multiple * position_noise
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
