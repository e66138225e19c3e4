import numpy as np
import pinocchio as pin
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import _bounded_step, solve_inverse_kinematics

SEED = 3


def test_reaches_the_pose_of_any_posture_within_limits(robot):
    generator = np.random.default_rng(SEED)
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    for _ in range(20):
        wanted = robot.placement(generator.uniform(lower, upper))
        q = solve_inverse_kinematics(robot, wanted)
        np.testing.assert_array_equal(q, solve_inverse_kinematics(robot, wanted))
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


def test_malformed_input_is_refused(robot):
    placement = robot.placement(robot.home)
    with pytest.raises(InvalidInputError, match="q_seed"):
        solve_inverse_kinematics(robot, placement, np.zeros(3))
    with pytest.raises(InvalidInputError, match="placement"):
        solve_inverse_kinematics(robot, pin.SE3(np.eye(3), np.array([np.nan, 0.0, 0.0])))


JACOBIAN = np.array([[1.0, 0.3, -0.2], [0.1, 0.8, 0.5]])
TWIST = np.array([0.05, -0.02])
START, WIDE = np.array([0.1, -0.3, 0.2]), np.full(3, 10.0)


def step(damping=0.1, free=(True, True, True), lower=-WIDE, upper=WIDE, twist=TWIST):
    return _bounded_step(START, JACOBIAN, np.asarray(twist), damping, np.array(free), lower, upper) - START


def test_a_step_minimises_the_twist_that_is_left_and_its_own_length():
    found = step()
    # The gradient of ||J dq - e||^2 + lambda^2 ||dq||^2.
    np.testing.assert_allclose(JACOBIAN.T @ (JACOBIAN @ found - TWIST) + 0.1**2 * found, 0.0, atol=1e-15)


def test_a_step_leaves_fixed_joints_where_they_are():
    found = step(free=(True, False, True))
    columns = JACOBIAN[:, [0, 2]]
    assert found[1] == 0.0
    np.testing.assert_allclose(columns.T @ (JACOBIAN @ found - TWIST) + 0.01 * found[[0, 2]], 0.0, atol=1e-15)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_what_a_joint_at_its_end_can_not_do_the_others_do(side):
    twist = side * TWIST
    free = step(twist=twist)
    joint = int(np.argmax(np.abs(free)))
    # Half of what that joint would move.
    end = START[joint] + 0.5 * free[joint]
    lower, upper = -WIDE, WIDE.copy()
    (lower if free[joint] < 0.0 else upper)[joint] = end
    found = step(twist=twist, lower=lower, upper=upper)
    assert found[joint] == pytest.approx(end - START[joint], abs=1e-15)
    others = [other for other in range(3) if other != joint]
    rest = JACOBIAN[:, others].T @ (JACOBIAN @ found - twist) + 0.01 * found[others]
    np.testing.assert_allclose(rest, 0.0, atol=1e-15)


def test_a_step_is_at_most_half_a_radian_per_joint():
    found = step(damping=1e-6, twist=(40.0, -30.0))
    assert np.max(np.abs(found)) == 0.5


def test_a_joint_that_is_not_there_or_beyond_its_range_can_not_be_fixed(robot):
    placement = robot.placement(robot.home)
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    for fixed in ({7: 0.0}, {-1: 0.0}, {2: lower[2] - 1e-6}, {5: upper[5] + 1e-6}):
        with pytest.raises(InvalidInputError, match=r"fixed\[.*a joint 0\.\.6 within its limits"):
            solve_inverse_kinematics(robot, placement, fixed=fixed)
    with pytest.raises(InvalidInputError, match="reach"):
        solve_inverse_kinematics(robot, pin.SE3(np.eye(3), np.array([3.0, 0.0, 0.0])), fixed={0: upper[0]}, restarts=0)


@pytest.mark.parametrize("endless", [False, True])
def test_the_message_of_a_pose_out_of_reach_says_how_far_the_best_attempt_was(robot, endless):
    model = robot.model.copy()
    if endless:
        # Random postures of a joint without limits stay within one turn.
        model.lowerPositionLimit[3], model.upperPositionLimit[3] = -np.inf, np.inf
    arm = RobotModel(model, name="arm", tool_frame=robot.tool_frame, home=robot.home)
    left = []
    for restarts in range(4):
        with pytest.raises(InvalidInputError) as caught:
            solve_inverse_kinematics(arm, pin.SE3(np.eye(3), np.array([1.23456, -2.0, 0.5])), restarts=restarts)
        assert str(caught.value).startswith("placement: got tool at [1.2346, -2.0, 0.5] m, expected a pose within rea")
        left.append(float(str(caught.value).rsplit(" ", 1)[1].rstrip(")")))
    # Further from the origin than the arm is long, by about that much; another attempt makes it no worse.
    assert 1.0 < min(left) and max(left) < 2.5 and left == sorted(left, reverse=True)
