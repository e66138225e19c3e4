import numpy as np
import pinocchio as pin
import pytest

from impact_aware.control import qp
from impact_aware.control.arm import ControlledArm
from impact_aware.control.tasks import mirrored, synchronisation_tasks
from impact_aware.control.tracking_kernels import add_wrench_acceleration

SEED = 5
# Algebra on numbers of order 10 to 1000.
ROUNDING = 1e-9


def random_state(robot, generator):
    middle = 0.5 * (robot.limits.position_lower + robot.limits.position_upper)
    return middle + generator.uniform(-0.5, 0.5, robot.n), generator.uniform(-1.0, 1.0, robot.n)


@pytest.mark.parametrize("turned", [False, True])
def test_the_arm_moves_as_its_terms_say(robot, turned):
    """Twist, and acceleration J ddq + J' dq, against finite differences of the tool's pose in the common frame."""
    generator = np.random.default_rng(SEED)
    base = pin.SE3(pin.utils.rotate("z", 2.0), np.array([0.3, -1.0, 0.2])) if turned else pin.SE3.Identity()
    arm, step = ControlledArm(robot, base), 1e-5
    for _ in range(10):
        q, dq = random_state(robot, generator)
        ddq = generator.uniform(-2.0, 2.0, robot.n)

        def at(time, q=q, dq=dq, ddq=ddq):
            arm.update(q + dq * time + 0.5 * ddq * time**2, dq + ddq * time)
            return arm.position.copy(), arm.rotation.copy(), arm.twist.copy()

        ahead, behind = at(step), at(-step)
        place, rotation, twist = at(0.0)
        acceleration = arm.jacobian @ ddq + arm.drift
        np.testing.assert_allclose(place, base.act(robot.placement(q)).translation, atol=1e-12)
        np.testing.assert_allclose(rotation, base.rotation @ robot.placement(q).rotation, atol=1e-12)
        # Central differences: step^2 times third derivatives of some 10, and rounding 1e-16 / step.
        np.testing.assert_allclose(twist[:3], (ahead[0] - behind[0]) / (2 * step), atol=1e-8, err_msg=f"seed {SEED}")
        turn = pin.log3(ahead[1] @ behind[1].T) / (2 * step)
        np.testing.assert_allclose(twist[3:], turn, atol=1e-8, err_msg=f"seed {SEED}")
        np.testing.assert_allclose(acceleration, (ahead[2] - behind[2]) / (2 * step), atol=1e-7, err_msg=f"seed {SEED}")


def test_a_wrench_is_worth_the_acceleration_that_it_would_give_the_free_arm(robot):
    arm = ControlledArm(robot)
    q, dq = random_state(robot, np.random.default_rng(SEED))
    wrench = np.array([3.0, -6.0, 1.0, 0.1, -0.2, 0.3])
    arm.update(q, dq)
    free = pin.aba(robot.model, robot.data, q, dq, arm.bias + arm.jacobian.T @ wrench)
    found = np.zeros(6)
    add_wrench_acceleration(arm.jacobian, arm.mass_matrix, wrench, 1.0, found)
    np.testing.assert_allclose(found, arm.jacobian @ free, atol=ROUNDING)


def test_each_tool_is_drawn_to_the_mirror_image_of_the_other(robot):
    """Eqs. (22)-(26) written out for each arm by itself, at random states."""
    generator = np.random.default_rng(SEED)
    left = ControlledArm(robot, pin.SE3(np.eye(3), np.array([0.0, 0.5, 0.0])))
    right = ControlledArm(robot, pin.SE3(np.eye(3), np.array([0.0, -0.5, 0.0])), robot.n)
    centre, normal = np.array([0.4, 0.02, 0.5]), np.array([0.0, 1.0, 0.0])
    for _ in range(10):
        for arm in (left, right):
            arm.update(*random_state(robot, generator))
        moving = np.array([0.05, -0.2, 0.1])
        found = synchronisation_tasks((left, right), centre, normal, 10.0, 2.0, moving)
        for arm, other, task in ((left, right, found[0]), (right, left, found[1])):
            gap = centre + mirrored(other.position - centre, normal) - arm.position
            # The mirror moves with the object.
            closing = moving + mirrored(other.twist[:3] - moving, normal) - arm.twist[:3]
            target = 10.0 * gap + 2.0 * np.sqrt(10.0) * closing - arm.drift[:3]
            np.testing.assert_allclose(task.target, target, atol=1e-11, err_msg=f"seed {SEED}")
            assert task.weight == pytest.approx(2.0 * np.linalg.norm(gap))


def test_tasks_are_put_together_with_their_weights_and_arms_stay_apart(robot):
    """H = sum of w J^T J and g = -sum of w J^T b, each in the block of its arm."""
    arms = ControlledArm(robot), ControlledArm(robot, first_joint=7)
    tasks = [
        qp.AccelerationTask(arms[1].jacobian, np.arange(6.0), 4.0, arms[1].joints),
        qp.AccelerationTask(np.eye(7)[2:3], np.array([-2.7]), 0.5, arms[0].joints),
    ]
    program = qp.ProgramBuilder(14, 1e-3).build(tasks, np.zeros((6, 14)), np.eye(14))
    wanted = 1e-3 * np.eye(14)
    wanted[7:, 7:] += 4.0 * arms[1].jacobian.T @ arms[1].jacobian
    wanted[2, 2] += 0.5
    np.testing.assert_allclose(program.hessian, wanted, atol=1e-12)
    gradient = np.concatenate([np.zeros(7), -4.0 * arms[1].jacobian.T @ tasks[0].target])
    gradient[2] = -0.5 * tasks[1].target[0]
    np.testing.assert_allclose(program.gradient, gradient, atol=1e-12)
