"""The robust estimator: window, order and number of oscillations are chosen by the data, in three families at once.

Within each family (short polynomials, long ones, oscillations) the recipe with the smallest standard error wins:
left-over oscillation is correlated over many samples and makes that error large. Between the families the error does
not decide, because each is blind to its own kind of failure; their winners are averaged, each with the inverse of its
error as weight, and what they disagree on is added to the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.oscillation import OscillationEstimator
from impact_aware.estimation.polynomial import PolynomialEstimator
from impact_aware.estimation.result import BranchFit


@dataclass(frozen=True)
class AdaptiveEstimator:
    """Weighted mean of the best short polynomial, the best long one, and the best oscillation fit.

    Attributes:
        short_windows: Lengths of the windows over which short polynomials compete, s.
        polynomial_windows: Lengths of the windows over which polynomials compete, s.
        orders: Polynomial orders that compete.
        oscillation_windows: Lengths of the windows over which oscillation fits compete, s.
        modes: Numbers of oscillations that compete.
    """

    short_windows: tuple[float, ...] = (0.040, 0.060, 0.080)
    polynomial_windows: tuple[float, ...] = (0.100, 0.125, 0.150, 0.200)
    orders: tuple[int, ...] = (2, 3)
    oscillation_windows: tuple[float, ...] = (0.200,)
    modes: tuple[int, ...] = (1, 2)

    def fit(self, times: Array, positions: Array) -> BranchFit:
        """Fit every recipe that the samples allow, and average the families' best; see `Estimator.fit`.

        Raises:
            InvalidInputError: Too few samples for any recipe.
        """
        short, polynomials = (
            [PolynomialEstimator(window, order) for window in _within(windows, times) for order in self.orders]
            for windows in (self.short_windows, self.polynomial_windows)
        )
        oscillations = [
            OscillationEstimator(count, window)
            for window in _within(self.oscillation_windows, times)
            for count in self.modes
        ]
        families: tuple[Sequence[PolynomialEstimator | OscillationEstimator], ...] = (short, polynomials, oscillations)
        winners = []
        refusal: InvalidInputError | None = None
        for family in families:
            fits = []
            for recipe in family:
                try:
                    fits.append(recipe.fit(times, positions))
                except InvalidInputError as error:
                    refusal = error
            fits = [fit for fit in fits if fit.settled] or fits
            if fits:
                winners.append(min(fits, key=lambda fit: float(np.mean(fit.standard_error**2))))
        if not winners:
            assert refusal is not None
            raise refusal
        return _mean(winners)


def _within(windows: tuple[float, ...], times: Array) -> tuple[float, ...]:
    """The windows that the record covers to 90 %; the shortest when none."""
    return tuple(window for window in windows if times[-1] >= 0.9 * window) or (min(windows),)


def _mean(fits: list[BranchFit]) -> BranchFit:
    velocities = np.array([fit.velocity for fit in fits])
    errors = np.array([fit.standard_error for fit in fits])
    # The floor stands for data without noise, where both errors are rounding.
    weights = 1.0 / np.maximum(np.sqrt(np.mean(errors**2, axis=1)), 1e-12)
    weights /= weights.sum()
    velocity = weights @ velocities
    variance = weights @ (errors**2 + (velocities - velocity) ** 2)
    return replace(
        fits[-1],
        velocity=velocity,
        standard_error=np.sqrt(variance),
        acceleration=weights @ np.array([fit.acceleration for fit in fits]),
        settled=all(fit.settled for fit in fits),
    )
