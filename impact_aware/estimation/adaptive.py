"""The robust estimator: start, window, polynomial order and number of oscillations are chosen by the data.

A fixed recipe fails in two ways: it averages over an oscillation that does not fit its window, or it starts where the
detection was late or the contact still acts. Here several recipes compete, and each is judged by the standard error that
its own residuals give it. Left-over oscillation is correlated over many samples and makes that error large; parameters
that the data can't tell apart make it large too. The recipes whose error is close to the smallest are averaged, and what
they disagree on is added to the error, because none of them is known to be the right one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_aware.errors import InvalidInputError
from impact_aware.estimation.oscillation import OscillationEstimator
from impact_aware.estimation.polynomial import PolynomialEstimator
from impact_aware.estimation.result import BranchFit

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AdaptiveEstimator:
    """Competition between polynomial and oscillation fits.

    Attributes:
        windows: Lengths of the windows that compete, s.
        skips: Times left out just after the impact that compete, s.
        orders: Polynomial orders that compete.
        modes: Numbers of oscillations that compete.
        tolerance: Recipes within this factor of the smallest error are averaged.
    """

    windows: tuple[float, ...] = (0.100, 0.150)
    skips: tuple[float, ...] = (0.0, 0.004)
    orders: tuple[int, ...] = (3,)
    modes: tuple[int, ...] = (1, 2)
    tolerance: float = 1.5

    def fit(self, times: Array, positions: Array) -> BranchFit:
        """Fit every recipe that the samples allow, and average the best.

        Args:
            times: (k,) Time since the impact, s, increasing.
            positions: (k, n) Positions.

        Raises:
            InvalidInputError: Too few samples for any recipe.
        """
        fits = self.candidates(times, positions)
        errors = np.array([np.sqrt(np.mean(fit.standard_error**2)) for fit in fits])
        best = fits[int(np.argmin(errors))]
        chosen = [fit for fit, error in zip(fits, errors, strict=True) if error <= self.tolerance * errors.min()]
        velocities = np.array([fit.velocity for fit in chosen])
        weights = np.array([1.0 / np.mean(fit.standard_error**2) for fit in chosen])[:, None]
        weights = weights / weights.sum()
        velocity = np.sum(weights * velocities, axis=0)
        within = np.sum(weights * np.array([fit.standard_error**2 for fit in chosen]), axis=0)
        between = np.sum(weights * (velocities - velocity) ** 2, axis=0)
        return BranchFit(
            velocity=velocity,
            standard_error=np.sqrt(within + between),
            acceleration=np.sum(weights * np.array([fit.acceleration for fit in chosen]), axis=0),
            residual_rms=best.residual_rms,
            window=best.window,
            samples=best.samples,
            parameters=best.parameters,
            residuals=best.residuals,
            frequencies=best.frequencies,
            decay_rates=best.decay_rates,
            settled=best.settled,
        )

    def candidates(self, times: Array, positions: Array) -> list[BranchFit]:
        """The fits of all recipes that the samples allow, those on a bound only when there is no other.

        Raises:
            InvalidInputError: None is possible.
        """
        fits, refusal = [], None
        reach = float(times[-1])
        for window in self.windows:
            if window > reach + 0.002 and window > min(self.windows):
                continue
            for skip in self.skips:
                recipes: list[PolynomialEstimator | OscillationEstimator] = [
                    PolynomialEstimator(window, order, skip) for order in self.orders
                ]
                recipes += [OscillationEstimator(count, window, skip) for count in self.modes]
                for recipe in recipes:
                    try:
                        fits.append(recipe.fit(times, positions))
                    except InvalidInputError as error:
                        refusal = error
        if not fits and refusal is not None:
            raise refusal
        return [fit for fit in fits if fit.settled] or fits
