"""Polynomial fit to positions: the estimator of Rey Arias 2024, section IV-A."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.result import BranchFit
from impact_aware.estimation.standard_error import autocovariance, variance_of_sum


@dataclass(frozen=True)
class PolynomialEstimator:
    """Least-squares polynomial through the positions of one window; its derivative at the impact is the estimate.

    The problem is linear, so it has one solution and needs no initial guess. The window of 100 ms and the third order
    are the choices of Rey Arias 2024: about as long as the oscillation lasts, and low enough to average over it.

    Attributes:
        window: Length of the window after the impact, s.
        order: Order of the polynomial in position.
    """

    window: float = 0.100
    order: int = 3

    def __post_init__(self) -> None:
        """Check every field; raises `InvalidInputError` with the name of one that is out of range."""
        check_window(self.window)
        if self.order < 1:
            raise InvalidInputError("order", self.order, "an integer >= 1")

    def fit(self, times: Array, positions: Array) -> BranchFit:
        """Fit the samples with `0 <= time <= window`; see `Estimator.fit`.

        Raises:
            InvalidInputError: Fewer samples in the window than parameters plus two.
        """
        return fit_polynomial(*select(times, positions, 0.0, self.window, self.order + 3), self.order)


def check_window(window: float) -> None:
    """Refuse a window, s, that has no length."""
    if not (np.isfinite(window) and window > 0.0):
        raise InvalidInputError("window", f"{window} s", "a length > 0 s")


def select(times: Array, positions: Array, start: float, end: float, least: int) -> tuple[Array, Array]:
    """Samples with `start <= time <= end`, at least `least` of them.

    Raises:
        InvalidInputError: Fewer samples.
    """
    # Half a microsecond of slack keeps a sample that rounding put beyond the edge.
    keep = (times >= start - 5e-7) & (times <= end + 5e-7)
    if np.count_nonzero(keep) < least:
        raise InvalidInputError(
            "samples",
            f"{np.count_nonzero(keep)} between {start:.4g} and {end:.4g} s from the impact",
            f"{least} or more",
        )
    return times[keep], positions[keep]


def fit_polynomial(times: Array, positions: Array, order: int) -> BranchFit:
    """Polynomial of `order` through (k, n) positions, with velocity and acceleration at time zero."""
    scale = float(np.max(np.abs(times))) or 1.0
    powers = (times / scale)[:, None] ** np.arange(order + 1)
    inverse = np.linalg.pinv(powers)
    coefficients = inverse @ positions
    residuals = positions - powers @ coefficients
    covariance = autocovariance(residuals, order + 1)
    weights = inverse[1] / scale
    variances = [variance_of_sum(weights, covariance[:, joint]) for joint in range(positions.shape[1])]
    second = coefficients[2] if order >= 2 else np.zeros(positions.shape[1])
    return BranchFit(
        velocity=coefficients[1] / scale,
        standard_error=np.sqrt(variances),
        acceleration=2.0 * second / scale**2,
        residual_rms=np.sqrt(np.mean(residuals**2, axis=0)),
        window=(float(times[0]), float(times[-1])),
        samples=times.size,
        parameters=order + 1,
        residuals=residuals,
    )
