"""The torque loop's gain and the motor inertia it leaves (Rey Arias 2024, eqs. 3-6)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel, load_robot
from impact_aware.robot.motor_inertia import apparent_motor_inertia, ratio_prior_std, torque_gain

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
        (lambda: ratio_prior_std(0.0, 6.0), "ratio"),
        (lambda: ratio_prior_std(6.0, 4.0), "ratio"),
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


@pytest.mark.parametrize(("smallest", "largest"), [(4.0, 6.0), (1.5, 9.0)])
def test_a_range_of_ratios_leaves_the_share_that_ratios_drawn_from_it_do(smallest, largest):
    ratios = np.linspace(smallest, largest, 200_001)
    share = 0.5 * (smallest + largest) / ratios - 1.0
    assert ratio_prior_std(smallest, largest) == pytest.approx(np.sqrt(np.mean(share**2)), rel=1e-4)


@pytest.mark.parametrize("name", ["panda", "fr3", "fr3v2", "kuka_lwr4"])
def test_shipped_arms_say_how_far_the_assumed_fifth_may_be_off(name):
    robot = RobotModel.from_profile(name)
    assert robot.profile.apparent_motor_inertia_std == pytest.approx(ratio_prior_std(4.0, 6.0), abs=0.001)
    np.testing.assert_allclose(robot.motor_inertia_std_for("M+B_theta"), 0.12 * robot.apparent_motor_inertia)
    # B_rho is the manufacturer's figure, and M has no motor.
    assert not robot.motor_inertia_std_for("M+B_rho").any() and not robot.motor_inertia_std_for("M").any()


def test_a_b_theta_that_somebody_gives_counts_as_known():
    robot = load_robot("panda", tuple(0.1 * k for k in range(1, 8)))
    assert not robot.motor_inertia_std_for("M+B_theta").any()
