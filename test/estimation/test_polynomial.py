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
    assert fit.window == (0.0, pytest.approx(0.1)) and PolynomialEstimator() == PolynomialEstimator(0.1, 3)


@pytest.mark.parametrize("options", [{"window": 0.0}, {"window": np.nan}, {"order": 0}])
def test_impossible_settings_are_refused(options):
    with pytest.raises(InvalidInputError):
        PolynomialEstimator(**options)


def test_too_few_samples_are_refused_with_their_number():
    with pytest.raises(InvalidInputError, match="3 between"):
        PolynomialEstimator().fit(TIMES[:3], TIMES[:3, None])
