"""Modes of elastic joints, held against the matrices of links and motors together."""

import numpy as np
import pytest

from impact_aware.estimation.joint_springs import joint_springs
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import load_profile

ROBOT = RobotModel.from_profile(load_profile("panda"))
POSTURE = ROBOT.home + np.array([0.1, -0.2, 0.15, 0.3, -0.1, 0.2, 0.05])
STIFFNESS = np.array([3000.0, 5200.0, 2500.0, 4100.0, 900.0, 40000.0, 300.0])


def test_frequencies_are_those_of_links_and_motors_together():
    springs = joint_springs(ROBOT, POSTURE, STIFFNESS)
    links, motors = ROBOT.mass_matrix(POSTURE, "M"), np.diag(ROBOT.apparent_motor_inertia)
    nothing, stiff = np.zeros((7, 7)), np.diag(STIFFNESS)
    inertia = np.block([[links, nothing], [nothing, motors]])
    squares = np.linalg.eigvals(np.linalg.solve(inertia, np.block([[stiff, -stiff], [-stiff, stiff]])))
    # Seven more are those of the arm that moves as a whole: zero up to rounding.
    expected = np.sort(np.sqrt(np.sort(squares.real)[7:]))
    assert np.sort(springs.turns) == pytest.approx(expected, rel=1e-8)


def test_links_take_up_a_kick_at_once_and_motors_do_not():
    springs = joint_springs(ROBOT, POSTURE, STIFFNESS)
    kick = np.array([0.3, -0.5, 0.2, 0.7, -0.4, 0.1, 0.9])
    assert springs.rigid @ kick - springs.shapes @ (springs.kicks @ kick) == pytest.approx(kick, abs=1e-12)
    links, motors = ROBOT.mass_matrix(POSTURE, "M"), np.diag(ROBOT.apparent_motor_inertia)
    assert springs.rigid @ kick == pytest.approx(np.linalg.solve(links + motors, links @ kick), abs=1e-12)


def test_links_do_not_feel_at_first_what_motors_drive():
    springs = joint_springs(ROBOT, POSTURE, STIFFNESS)
    driven = np.array([1.0, -3.0, 2.0, 5.0, -4.0, 0.5, 2.5])
    assert driven - springs.shapes @ (springs.drives @ driven) == pytest.approx(np.zeros(7), abs=1e-10)


def test_a_mode_is_stiff_where_it_is_too_fast_to_ring():
    stiff = joint_springs(ROBOT, POSTURE, 300.0 * STIFFNESS).stiff
    assert stiff.any() and not joint_springs(ROBOT, POSTURE, 0.1 * STIFFNESS).stiff[0]
