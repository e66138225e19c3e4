import numpy as np
import pinocchio as pin
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics

SEED = 3


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_profile("panda")


def test_reaches_the_pose_of_any_posture_within_limits(robot):
    generator = np.random.default_rng(SEED)
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    for _ in range(20):
        wanted = robot.placement(generator.uniform(lower, upper))
        q = solve_inverse_kinematics(robot, wanted)
        assert np.all(q >= lower) and np.all(q <= upper)
        # The solver's own tolerance on the twist.
        assert np.linalg.norm(pin.log6(robot.placement(q).actInv(wanted)).vector) <= 1e-8


def test_seed_that_already_fits_is_returned_unchanged(robot):
    q = solve_inverse_kinematics(robot, robot.placement(robot.home), robot.home)
    np.testing.assert_array_equal(q, robot.home)


def test_nearby_pose_gives_nearby_posture(robot):
    wanted = robot.placement(robot.home)
    wanted.translation = wanted.translation + np.array([0.0, 0.01, 0.0])
    q = solve_inverse_kinematics(robot, wanted, robot.home)
    # 10 mm at a reach of 0.3 m is about 0.03 rad; the null space must not wander.
    assert np.linalg.norm(q - robot.home) < 0.15


def test_fixed_joint_stays(robot):
    wanted = pin.SE3(np.diag([1.0, -1.0, -1.0]), np.array([0.5, 0.0, 0.3]))
    q = solve_inverse_kinematics(robot, wanted, fixed={0: 0.2})
    assert q[0] == 0.2
    np.testing.assert_allclose(robot.placement(q).translation, wanted.translation, atol=1e-8)


def test_same_call_gives_the_same_bits(robot):
    wanted = pin.SE3(np.diag([1.0, -1.0, -1.0]), np.array([0.4, -0.4, 0.2]))
    np.testing.assert_array_equal(solve_inverse_kinematics(robot, wanted), solve_inverse_kinematics(robot, wanted))


def test_pose_out_of_reach_is_refused(robot):
    with pytest.raises(InvalidInputError, match="reach"):
        solve_inverse_kinematics(robot, pin.SE3(np.eye(3), np.array([2.0, 0.0, 0.0])), restarts=2)


def test_malformed_input_is_refused(robot):
    placement = robot.placement(robot.home)
    with pytest.raises(InvalidInputError, match="q_seed"):
        solve_inverse_kinematics(robot, placement, np.zeros(3))
    with pytest.raises(InvalidInputError, match="fixed"):
        solve_inverse_kinematics(robot, placement, fixed={0: 9.0})
    with pytest.raises(InvalidInputError, match="placement"):
        solve_inverse_kinematics(robot, pin.SE3(np.eye(3), np.array([np.nan, 0.0, 0.0])))
