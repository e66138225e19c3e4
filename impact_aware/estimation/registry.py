"""Names of the estimators of the post-impact velocity: a new one is one file and one line here."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from impact_aware.errors import check_name
from impact_aware.estimation.oscillation import OscillationEstimator
from impact_aware.estimation.polynomial import PolynomialEstimator
from impact_aware.estimation.result import BranchFit


class Estimator(Protocol):
    """Fits the branch after the impact."""

    @property
    def window(self) -> float:
        """Length of the window after the impact that is used, s."""

    def fit(self, times: NDArray[np.float64], positions: NDArray[np.float64]) -> BranchFit:
        """Fit positions (k, n) at times (k,) since the impact, s, increasing."""


ESTIMATORS: dict[str, Estimator] = {
    "cubic": PolynomialEstimator(window=0.100, order=3),
    "parabola": PolynomialEstimator(window=0.200, order=2),
    "one_mode_each": OscillationEstimator(modes=1, window=0.150, shared=False),
    "two_modes": OscillationEstimator(modes=2, window=0.150),
}

DEFAULT_ESTIMATOR = "parabola"
"""Estimator of the nodes, which has to be quick; `impact-aware bench estimation` compares all."""

BOTH_SIDES = "both_sides"
"""Model of the samples on both sides of the impact (`estimation.both_sides`)."""

OFFLINE_ESTIMATORS = (BOTH_SIDES, *ESTIMATORS)
"""Names of all ways to the velocity after a recorded impact, the default first."""


def find_estimator(name: str) -> Estimator:
    """The estimator of that name.

    Raises:
        UnknownNameError: No such estimator.
    """
    check_name("estimator", name, ESTIMATORS)
    return ESTIMATORS[name]
