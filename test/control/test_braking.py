"""An arm that is held: by how much it sinks, and what it does when it was moved meanwhile."""

import numpy as np
import pytest
from held_arm import HOLDERS, HeldArm

from impact_aware.control.braking import Braking
from impact_aware.control.parameters import ControlParameters
from impact_aware.robot import RobotModel

PANDA = RobotModel.from_profile("panda")
STRETCHED = np.array([0.3, 1.2, 0.2, -0.4, 0.4, 1.7, 0.6])
STILL = np.zeros(7)

SPEED, TORQUE, SAG = 0.3, 15.0, 0.02
"""What a held arm keeps to, rad/s, N m beside gravity, m with 1 kg that nobody knows."""


@pytest.mark.parametrize("kind", HOLDERS)
def test_a_load_that_nobody_knows_sags_a_little_and_not_for_ever(kind):
    arm = HeldArm(kind, PANDA, STRETCHED, load=1.0)
    begin = arm.height
    seen = arm.drive(1.0)
    assert 0.001 < begin - seen.height < SAG
    assert seen.torque > 7.0  # 0.8 m of lever
    assert begin - arm.height == pytest.approx(begin - seen.height, abs=5e-4) and np.abs(arm.dq).max() < 0.005


@pytest.mark.parametrize("kind", HOLDERS)
@pytest.mark.parametrize(("moved", "load"), [(np.eye(7)[1] * -0.5, 0.0), (np.linspace(0.6, -0.4, 7), 1.0)])
def test_an_arm_that_was_moved_is_held_where_it_is(kind, moved, load):
    arm = HeldArm(kind, PANDA, STRETCHED, load)
    arm.drive(0.1)
    arm.guide(moved, 0.4)
    posture, height = arm.q.copy(), arm.height
    seen = arm.drive(0.3)
    assert seen.speed < SPEED and seen.torque < TORQUE
    assert np.abs(arm.q - posture).max() < (0.03 if load else 1e-3)
    assert height - seen.height < SAG


@pytest.mark.parametrize("seed", range(8))
def test_what_a_spring_has_in_store_is_small_in_every_direction(seed):
    """Deflected by its bounds where the joints' inertias are smallest, and loaded the same way."""
    generator = np.random.default_rng(seed)
    q = generator.uniform(0.95 * PANDA.model.lowerPositionLimit, 0.95 * PANDA.model.upperPositionLimit)
    signs = np.sign(np.linalg.inv(PANDA.mass_matrix(q))[generator.integers(7)])
    arm = HeldArm("law", PANDA, q, load=1.0)
    arm.guide(STILL, 0.002)
    # Torque control returns while it is still moved, so that the springs are at their bounds.
    arm.q, arm.dq = q + 0.1 * signs, 0.025 * signs
    seen = arm.drive(0.3)
    assert 0.05 < seen.speed < SPEED and 5.0 < seen.torque < TORQUE + 0.2  # and Coriolis


def test_an_arm_that_carries_more_torque_than_a_hold_has_slips():
    braking, torque, mass_matrix = Braking(PANDA, ControlParameters()), np.eye(7)[0] + np.eye(7)[1], 2.0 * np.eye(7)
    # Two joints that go along with each other, so that 3.9 kg m^2 move with each: the acceleration is within its bound.
    mass_matrix[0, 1] = mass_matrix[1, 0] = 1.9
    assert braking.deflection(15.1 * torque, mass_matrix) is None
    np.testing.assert_allclose(braking.deflection(14.9 * torque, mass_matrix), 14.9 / 3.9 / 800.0 * torque, rtol=1e-12)


@pytest.mark.parametrize(("period", "late"), [(0.01, 2), (0.001, 5)])
def test_torques_that_come_late_leave_an_arm_calm(period, late):
    arm = HeldArm("law", PANDA, PANDA.home, period=period, late=late)
    arm.drive(0.1)
    arm.dq = 0.02 * np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0])
    arm.drive(0.3)
    assert np.abs(arm.dq).max() < 0.005


def answered(braking: Braking, time: float, q, dq=STILL):
    return braking.acceleration(time, np.asarray(q), np.asarray(dq), PANDA.mass_matrix(q))


@pytest.mark.parametrize(("gap", "held"), [(0.07, True), (0.13, False), (-0.01, False)])
def test_after_a_gap_the_arm_is_held_where_it_is(gap, held):
    braking = Braking(PANDA, ControlParameters())
    answered(braking, 5.0, STRETCHED)
    found = answered(braking, 5.0 + gap, STRETCHED + 0.002)
    np.testing.assert_allclose(found, np.full(7, -800.0 * 0.002 if held else 0.0), atol=1e-9)


def test_an_arm_that_was_pushed_away_is_held_anew_once_it_is_at_rest_and_not_before():
    braking = Braking(PANDA, ControlParameters())
    answered(braking, 5.0, STRETCHED)
    away = STRETCHED + 0.5 * np.eye(7)[1]
    pushed = answered(braking, 5.001, away, 0.03 * np.eye(7)[1])
    assert pushed[1] < -1.0 and not braking.at_rest
    assert answered(braking, 5.0015, away, 0.03 * np.eye(7)[1])[1] < -1.0
    np.testing.assert_allclose(answered(braking, 5.002, away), STILL, atol=1e-12)
    assert braking.at_rest
    assert answered(braking, 5.003, away + 0.001 * np.eye(7)[1])[1] == pytest.approx(-0.8)


def test_a_fast_arm_is_braked_by_its_damping_and_no_more_torque_than_a_hold_has():
    braking, dq = Braking(PANDA, ControlParameters()), np.linspace(1.0, -0.8, 7)
    answered(braking, 5.0, STRETCHED, dq)
    found = answered(braking, 5.01, STRETCHED + 0.01 * dq, dq)
    beside = PANDA.mass_matrix(STRETCHED + 0.01 * dq) @ (found + 10.0 * dq)
    assert np.abs(beside).max() == pytest.approx(TORQUE, rel=1e-6) and dq @ beside < 0.0
