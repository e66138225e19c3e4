"""The torque loop's gain and the motor inertia it leaves (Rey Arias 2024, eqs. 3-6)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.robot.motor_inertia import apparent_motor_inertia, torque_gain

INERTIAS = st.lists(st.floats(1e-3, 10.0), min_size=1, max_size=9)
GAIN = st.floats(0.0, 50.0)


@settings(max_examples=50)
@given(b_rho=INERTIAS, gain=GAIN)
def test_gain_and_apparent_inertia_are_inverse_to_each_other(b_rho, gain):
    b_theta = apparent_motor_inertia(b_rho, gain)
    assert np.all(b_theta <= np.array(b_rho))
    # Rounding of 1 + gain, of order 1e-16 times (1 + gain).
    np.testing.assert_allclose(torque_gain(b_rho, b_theta), gain, atol=1e-13 * (1.0 + gain))


@settings(max_examples=50)
@given(b_rho=st.floats(0.01, 5.0), ratio=st.floats(1.0, 10.0), torque=st.floats(-50, 50), command=st.floats(-50, 50))
def test_the_closed_loop_motor_accelerates_as_one_of_the_apparent_inertia(b_rho, ratio, torque, command):
    """(3) with the PD loop (5), without its rate term, must be (6)."""
    b_theta = b_rho / ratio
    gain = torque_gain([b_rho], [b_theta])[0]
    actuation = command + gain * (command - torque)
    # Rounding, relative to the largest torque that enters.
    tolerance = 1e-12 * (1.0 + abs(command) + abs(torque)) * ratio / b_rho
    assert (actuation - torque) / b_rho == pytest.approx((command - torque) / b_theta, rel=1e-12, abs=tolerance)


@pytest.mark.parametrize("name", ["panda", "kuka_lwr4"])
def test_profiles_lie_in_the_range_of_ratios_that_paper_000_gives(name):
    robot = RobotModel.from_profile(name)
    gain = torque_gain(robot.motor_inertia, robot.apparent_motor_inertia)
    assert np.all((gain >= 3.0) & (gain <= 5.0))


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: torque_gain([1.0, 1.0], [2.0, 0.5]), "apparent_motor_inertia"),
        (lambda: torque_gain([1.0, 1.0], [0.5]), "apparent_motor_inertia"),
        (lambda: torque_gain([0.0], [0.1]), "motor_inertia"),
        (lambda: apparent_motor_inertia([1.0], -0.1), "torque_gain"),
        (lambda: apparent_motor_inertia([1.0, 2.0], [1.0, 2.0, 3.0]), "torque_gain"),
        (lambda: apparent_motor_inertia([np.nan], 1.0), "motor_inertia"),
    ],
)
def test_bad_input_is_refused_by_name(call, field):
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


def test_a_loop_of_gain_three_leaves_a_quarter():
    np.testing.assert_allclose(apparent_motor_inertia([2.0, 0.4], [3.0, 1.0]), [0.5, 0.2], rtol=1e-15)
    np.testing.assert_allclose(torque_gain([2.0, 0.4], [0.5, 0.2]), [3.0, 1.0], rtol=1e-15)
