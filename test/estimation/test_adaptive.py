"""The estimator that lets the data choose."""

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.estimation.adaptive import AdaptiveEstimator
from impact_aware.estimation.oscillation import OscillationEstimator, design
from impact_aware.estimation.polynomial import PolynomialEstimator

TIMES = np.arange(0.0, 0.25, 1e-3)


def test_lies_between_its_families_and_owns_up_to_their_difference():
    weights = np.array([[0.0, 0.2, 0.3, 2e-3, 1e-3]])
    positions = design(TIMES, np.array([[2 * np.pi * 9, 30.0]])) @ weights.T
    positions += 1e-5 * np.random.default_rng(0).standard_normal(positions.shape)
    options = {"polynomial_windows": (0.1,), "orders": (3,), "oscillation_windows": (0.2,), "modes": (1,)}
    found = AdaptiveEstimator(**options).fit(TIMES, positions)
    ends = [
        PolynomialEstimator(0.1, 3).fit(TIMES, positions).velocity[0],
        OscillationEstimator(1, 0.2).fit(TIMES, positions).velocity[0],
    ]
    assert min(ends) < found.velocity[0] < max(ends)
    nearer = min(abs(found.velocity[0] - end) for end in ends)
    assert found.standard_error[0] > nearer


def test_clear_oscillation_makes_the_oscillation_fit_count_most():
    weights = np.array([[0.0, 0.2, 0.3, 2e-3, 1e-3]])
    positions = design(TIMES, np.array([[2 * np.pi * 12, 25.0]])) @ weights.T
    positions += 1e-5 * np.random.default_rng(1).standard_normal(positions.shape)
    found = AdaptiveEstimator().fit(TIMES, positions)
    cubic = PolynomialEstimator().fit(TIMES, positions)
    assert abs(found.velocity[0] - 0.2) < 0.2 * abs(cubic.velocity[0] - 0.2)


def test_noise_free_gross_motion_is_found_exactly():
    positions = (0.2 * TIMES + 0.4 * TIMES**2)[:, None]
    # Rounding in a fit that has an oscillation too many.
    assert AdaptiveEstimator().fit(TIMES, positions).velocity[0] == pytest.approx(0.2, abs=1e-7)


def test_uses_what_a_short_record_allows():
    short = TIMES[:60]
    found = AdaptiveEstimator().fit(short, (0.2 * short)[:, None])
    assert found.window[1] <= short[-1]
    with pytest.raises(InvalidInputError, match="samples"):
        AdaptiveEstimator().fit(short[:4], short[:4, None])
