"""The error measures, and the papers' own tables recomputed with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError
from impact_aware.estimation.metrics import (
    absolute_error,
    jump_relative_error,
    relative_error,
    relative_error_of_sum,
)

VELOCITY = st.floats(-10.0, 10.0)

# Aouaj 2021, Table II: predicted and estimated sliding velocity, printed error, both data sets, m/s.
SLIDING = np.array([
    (0.094, 0.096, 0.002), (0.122, 0.109, 0.013), (0.055, 0.050, 0.006), (0.176, 0.181, 0.005), (0.174, 0.163, 0.011),
    (0.072, 0.064, 0.008), (0.176, 0.181, 0.005), (0.223, 0.204, 0.019), (0.098, 0.085, 0.013),
    (0.120, 0.112, 0.008), (0.088, 0.094, 0.006), (0.039, 0.050, 0.011), (0.178, 0.170, 0.008), (0.140, 0.149, 0.009),
    (0.072, 0.072, 0.000), (0.222, 0.209, 0.013), (0.190, 0.190, 0.000), (0.093, 0.099, 0.006),
])  # fmt: skip


@given(a=VELOCITY, b=VELOCITY)
def test_measures_are_symmetric_and_bounded(a, b):
    assert absolute_error(a, b) == absolute_error(b, a) >= 0.0
    assert 0.0 <= relative_error(a, b) <= 2.0
    assert relative_error(a, b) == relative_error(b, a)
    assert relative_error_of_sum(a, b) >= relative_error(a, b)


@given(a=st.floats(0.01, 10.0), b=st.floats(0.01, 10.0))
def test_the_two_relative_errors_agree_on_velocities_of_one_sign(a, b):
    assert relative_error(a, b) == pytest.approx(float(relative_error_of_sum(a, b)), rel=1e-12)


def test_a_zero_prediction_is_two_hundred_per_cent_wrong_as_in_the_tables_of_004():
    assert relative_error(0.0, -0.006) == 2.0
    assert relative_error(0.0, 0.0) == 0.0
    assert relative_error_of_sum(0.0, 0.0) == 0.0
    assert relative_error_of_sum(0.1, -0.1) == np.inf


def test_table_two_of_paper_003_gives_its_mean_errors():
    predicted, estimated, printed = SLIDING.T
    # The columns are printed to 1 mm/s, so a difference can be one off.
    np.testing.assert_allclose(absolute_error(predicted, estimated), printed, atol=1.1e-3)
    # 8 mm/s and 7.3 %, both as means over the 18 experiments of the sliding direction.
    assert np.mean(absolute_error(predicted, estimated)) == pytest.approx(0.008, abs=5e-4)
    assert np.mean(relative_error_of_sum(predicted, estimated)) == pytest.approx(0.073, abs=5e-4)


def test_jump_relative_error_is_one_for_a_prediction_of_no_jump():
    before, after = np.array([0.3, -0.1]), np.array([0.1, 0.2])
    assert jump_relative_error(before, after, before) == pytest.approx(1.0)
    assert jump_relative_error(after, after, before) == 0.0
    assert jump_relative_error(after, before, before) == np.inf


def test_shapes_must_match():
    with pytest.raises(InvalidInputError):
        absolute_error([1.0, 2.0], [1.0])
