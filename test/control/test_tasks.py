import numpy as np
import pinocchio as pin
import pytest

from impact_aware.control import qp
from impact_aware.control.arm import ControlledArm
from impact_aware.control.tasks import mirrored, null_space_task, synchronisation_tasks, tracking_task
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


def test_tracking_is_met_by_the_accelerations_that_give_the_target(robot):
    arm = ControlledArm(robot)
    target = np.array([1.0, -2.0, 0.5, 3.0, 0.0, -1.0])
    task = tracking_task(arm, target, 1.0)
    ddq = np.linalg.lstsq(task.jacobian, task.target, rcond=None)[0]
    np.testing.assert_allclose(arm.jacobian @ ddq + arm.drift, target, atol=ROUNDING)


@pytest.mark.parametrize(("blend", "damping"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)])
def test_the_null_space_task_is_a_spring_whose_damper_fades_in(robot, blend, damping):
    arm = ControlledArm(robot)
    q, dq = np.full(7, 0.1), np.full(7, 0.3)
    task = null_space_task(arm, 2, 0.4, q[2], dq[2], 250.0, blend, 1.0)
    assert task.target[0] == pytest.approx(250.0 * 0.3 - damping * 2.0 * np.sqrt(250.0) * 0.3)
    np.testing.assert_array_equal(task.jacobian, np.eye(7)[2:3])


def test_mirroring_twice_gives_the_vector_back():
    generator = np.random.default_rng(SEED)
    for _ in range(20):
        normal = generator.normal(size=3)
        normal /= np.linalg.norm(normal)
        vector = generator.normal(size=3)
        np.testing.assert_allclose(mirrored(mirrored(vector, normal), normal), vector, atol=1e-14)
        assert mirrored(vector, normal) @ normal == pytest.approx(-vector @ normal)


def test_synchronisation_fades_as_the_tools_become_mirror_images(robot):
    left = ControlledArm(robot, pin.SE3(np.eye(3), np.array([0.0, 0.5, 0.0])))
    right = ControlledArm(robot, pin.SE3(np.eye(3), np.array([0.0, -0.5, 0.0])), robot.n)
    centre, normal = np.array([left.position[0], 0.0, left.position[2]]), np.array([0.0, 1.0, 0.0])
    tasks = synchronisation_tasks((left, right), centre, normal, 10.0, 1.0, np.zeros(3))
    assert all(task.weight == pytest.approx(0.0, abs=1e-12) for task in tasks)
    assert tasks[1].joints == slice(7, 14)
    off_centre = synchronisation_tasks(
        (left, right), centre + np.array([0.0, 0.05, 0.0]), normal, 10.0, 1.0, np.zeros(3)
    )
    # The image is 0.1 m beyond the left tool along the normal, and so it is for the right one; both at rest.
    for arm, task in zip((left, right), off_centre, strict=True):
        assert task.weight == pytest.approx(0.1)
        np.testing.assert_allclose(task.target, 10.0 * 0.1 * normal - arm.drift[:3], atol=1e-12)


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
        tracking_task(arms[1], np.arange(6.0), 4.0),
        null_space_task(arms[0], 2, 0.3, robot.home[2], robot.home[2], 9.0, 1.0, 0.5),
    ]
    program = qp.ProgramBuilder(14, 1e-3).build(tasks, np.zeros((6, 14)), np.eye(14))
    wanted = 1e-3 * np.eye(14)
    wanted[7:, 7:] += 4.0 * arms[1].jacobian.T @ arms[1].jacobian
    wanted[2, 2] += 0.5
    np.testing.assert_allclose(program.hessian, wanted, atol=1e-12)
    gradient = np.concatenate([np.zeros(7), -4.0 * arms[1].jacobian.T @ tasks[0].target])
    gradient[2] = -0.5 * tasks[1].target[0]
    np.testing.assert_allclose(program.gradient, gradient, atol=1e-12)
