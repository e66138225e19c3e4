"""The polynomial estimator of Rey Arias 2024, section IV-A."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError
from impact_aware.estimation.polynomial import PolynomialEstimator

TIMES = np.arange(0.0, 0.2, 1e-3)
COEFFICIENT = st.floats(-3.0, 3.0)


@settings(max_examples=30)
@given(start=COEFFICIENT, velocity=COEFFICIENT, acceleration=COEFFICIENT, jerk=COEFFICIENT)
def test_a_cubic_motion_is_recovered_exactly(start, velocity, acceleration, jerk):
    positions = start + velocity * TIMES + acceleration * TIMES**2 / 2 + jerk * TIMES**3 / 6
    fit = PolynomialEstimator(0.1, 3).fit(TIMES, positions[:, None])
    # Rounding of positions below 4 rad through a window of 0.1 s with condition below 1e4.
    assert fit.velocity[0] == pytest.approx(velocity, abs=1e-11)
    assert fit.acceleration[0] == pytest.approx(acceleration, abs=1e-8)
    assert fit.window == (0.0, pytest.approx(0.1))


def test_papers_choice_of_window_and_order_averages_over_an_oscillation_that_fits_it():
    """Over whole periods the oscillation's pull on the end slope shrinks with the frequency."""
    errors = []
    for frequency in (40.0, 80.0, 160.0):
        positions = 0.2 * TIMES + 1e-3 / frequency * np.sin(2 * np.pi * frequency * TIMES)
        errors.append(abs(PolynomialEstimator().fit(TIMES, positions[:, None]).velocity[0] - 0.2))
    assert errors[0] > errors[1] > errors[2]


def test_left_over_oscillation_raises_the_standard_error_above_the_white_one():
    positions = 1e-3 * np.exp(-30 * TIMES) * np.cos(2 * np.pi * 25 * TIMES)
    fit = PolynomialEstimator(0.1, 2).fit(TIMES, positions[:, None])
    # Neighbours agree for about ten samples, so the white error would be about three times smaller than the real one.
    assert abs(fit.velocity[0]) < 4.0 * fit.standard_error[0]


def test_directions_do_not_influence_each_other():
    rng = np.random.default_rng(2)
    positions = rng.standard_normal((TIMES.size, 3))
    together = PolynomialEstimator().fit(TIMES, positions)
    for joint in range(3):
        alone = PolynomialEstimator().fit(TIMES, positions[:, [joint]])
        # The same algebra in another summation order.
        assert together.velocity[joint] == pytest.approx(alone.velocity[0], rel=1e-10)


@pytest.mark.parametrize("options", [{"window": 0.0}, {"window": np.nan}, {"order": 0}])
def test_impossible_settings_are_refused(options):
    with pytest.raises(InvalidInputError):
        PolynomialEstimator(**options)


def test_too_few_samples_are_refused_with_their_number():
    with pytest.raises(InvalidInputError, match="3 between"):
        PolynomialEstimator().fit(TIMES[:3], TIMES[:3, None])
