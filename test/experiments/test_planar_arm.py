"""The planar arm of Rey Arias 2024, section III, is the larger arm with its other joints held."""

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.experiments.models.planar_arm import planar_arm


def test_lumped_planar_arm_moves_and_weighs_as_the_whole_arm(robot, planar):
    q = planar.home + np.array([0.2, -0.1, 0.3])
    whole = np.zeros(7)
    whole[[1, 3, 5]] = q
    np.testing.assert_allclose(planar.placement(q).translation, robot.placement(whole).translation, atol=1e-12)
    rows = [1, 3, 5]
    np.testing.assert_allclose(planar.mass_matrix(q), robot.mass_matrix(whole)[np.ix_(rows, rows)], atol=1e-12)
    assert np.abs(planar.frame_jacobian(q)[1]).max() < 1e-12


def test_joints_that_are_not_parallel_make_no_planar_arm(robot):
    with pytest.raises(InvalidInputError, match="parallel axes"):
        planar_arm(robot, (0, 1, 2))


def test_motor_inertias_and_home_are_those_of_the_joints_that_stay(robot, planar):
    rows = [1, 3, 5]
    np.testing.assert_array_equal(planar.motor_inertia, robot.motor_inertia[rows])
    np.testing.assert_array_equal(planar.apparent_motor_inertia, robot.apparent_motor_inertia[rows])
    np.testing.assert_array_equal(planar.home, robot.home[rows])
