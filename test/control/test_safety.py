import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.control import CommandLimiter
from impact_aware.errors import InvalidInputError

LIMIT, STEP = np.array([10.0, 20.0, 5.0]), np.array([1.0, 1.0, 0.5])
anything = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(anything, anything, anything), min_size=1, max_size=20))
@settings(max_examples=200, deadline=None)
def test_whatever_comes_in_what_goes_out_is_finite_and_within_both_limits(wanted):
    limiter = CommandLimiter(LIMIT, STEP)
    previous = limiter.previous
    for effort in wanted:
        result = limiter.apply(np.array(effort))
        assert np.isfinite(result).all()
        assert np.all(np.abs(result) <= LIMIT)
        # Rounding of the sum of previous and step.
        assert np.all(np.abs(result - previous) <= STEP + 1e-12)
        previous = result


def test_a_command_within_the_limits_passes_unchanged():
    limiter = CommandLimiter(LIMIT, STEP)
    limiter.reset(np.array([9.0, -3.0, 0.0]))
    wanted = np.array([9.5, -3.9, 0.4])
    np.testing.assert_array_equal(limiter.apply(wanted), wanted)
    assert limiter.interventions == 0


def test_interventions_are_counted():
    limiter = CommandLimiter(LIMIT, STEP)
    limiter.apply(np.array([2.0, 0.0, 0.0]))
    limiter.apply(np.array([np.nan, 0.0, 0.0]))
    assert limiter.interventions == 2


def test_begins_within_the_limits_whatever_it_is_told():
    limiter = CommandLimiter(LIMIT, STEP)
    limiter.reset(np.array([np.nan, 100.0, -100.0]))
    np.testing.assert_array_equal(limiter.previous, [0.0, 20.0, -5.0])


@pytest.mark.parametrize(("limit", "step", "named"), [([0.0], [1.0], "effort_limit"), ([1.0], [-1.0], "effort_step")])
def test_refuses_limits_that_are_not_positive(limit, step, named):
    with pytest.raises(InvalidInputError, match=named):
        CommandLimiter(limit, step)
