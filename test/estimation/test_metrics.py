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


def test_jump_relative_error_is_one_for_a_prediction_of_no_jump():
    before, after = np.array([0.3, -0.1]), np.array([0.1, 0.2])
    assert jump_relative_error(before, after, before) == pytest.approx(1.0)
    assert jump_relative_error(after, after, before) == 0.0
    assert jump_relative_error(after, before, before) == np.inf


def test_shapes_must_match():
    with pytest.raises(InvalidInputError):
        absolute_error([1.0, 2.0], [1.0])
