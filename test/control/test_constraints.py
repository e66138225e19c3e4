import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.control.qp import LimitBounds
from impact_aware.robot import RobotModel

PERIOD, BRAKING = 0.001, 10.0
POSITION_LOWER, POSITION_UPPER, VELOCITY_LOWER, VELOCITY_UPPER, TORQUE_LOWER, TORQUE_UPPER = range(6)
BIAS = np.array([0.5, -20.0, 3.0, 12.0, -0.2, 1.5, 0.1])
LIMITS = RobotModel.from_profile("panda").limits


@pytest.fixture(scope="module")
def limits():
    return LIMITS


@pytest.fixture(scope="module")
def bounds(limits):
    return LimitBounds([limits], PERIOD, BRAKING)


def test_in_the_middle_at_rest_only_the_velocity_limit_is_felt(bounds, limits):
    middle = 0.5 * (limits.position_lower + limits.position_upper)
    found = bounds.limits(middle, np.zeros(7), BIAS)
    np.testing.assert_allclose(found[VELOCITY_UPPER], limits.velocity / 0.02)
    strict = LimitBounds([limits], PERIOD, BRAKING, velocity_horizon=0.0).limits(middle, np.zeros(7), BIAS)
    np.testing.assert_allclose(strict[VELOCITY_UPPER], limits.velocity / PERIOD)
    assert np.all(found[POSITION_UPPER] > found[VELOCITY_UPPER])


@given(st.floats(0.001, 0.3), st.floats(0.0, 2.0))
@settings(max_examples=30)
def test_accelerating_at_the_bound_always_stops_before_the_limit(distance, speed):
    limits = LIMITS
    bounds = LimitBounds([limits], PERIOD, BRAKING)
    if speed > np.sqrt(2.0 * BRAKING * distance):
        return
    q, dq = limits.position_upper - distance, np.full(7, speed)
    for _ in range(600):
        found = bounds.limits(q, dq, BIAS)
        ddq = np.minimum(found[POSITION_UPPER], found[VELOCITY_UPPER])
        q, dq = q + dq * PERIOD + 0.5 * ddq * PERIOD**2, dq + ddq * PERIOD
    # One period of look-ahead at the speed left, sqrt(2 a d), leaves at most a / 2 times the period squared.
    assert np.all(q <= limits.position_upper + BRAKING * PERIOD**2)
    assert np.all(np.abs(dq) <= limits.velocity)


def test_no_bound_asks_for_more_than_twice_the_braking_acceleration(bounds, limits):
    for q in (limits.position_upper + 0.1, limits.position_lower - 0.1):
        for dq in (np.full(7, 5.0), np.full(7, -5.0)):
            found = bounds.limits(q, dq, BIAS)
            assert min(found[POSITION_UPPER].min(), found[VELOCITY_UPPER].min()) >= -2.0 * BRAKING
            assert max(found[POSITION_LOWER].max(), found[VELOCITY_LOWER].max()) <= 2.0 * BRAKING


def test_the_torque_range_is_what_can_be_sent_less_the_bias(bounds, limits):
    q, still = 0.5 * (limits.position_lower + limits.position_upper), np.zeros(7)
    found = bounds.limits(q, still, BIAS)
    np.testing.assert_allclose(found[TORQUE_LOWER], -limits.effort - BIAS)
    np.testing.assert_allclose(found[TORQUE_UPPER], limits.effort - BIAS)
    found = bounds.limits(q, still, BIAS, (BIAS - 1.0, BIAS + 2.0))
    np.testing.assert_allclose(found[TORQUE_LOWER], -1.0)
    np.testing.assert_allclose(found[TORQUE_UPPER], 2.0)
