"""Flexible joints in the MuJoCo plant: against the rigid plant, the other engine, and Rey Arias 2024."""

import numpy as np
import pytest
from flat_box import coast_into, flat_box_scene, slippery

from impact_aware.contact.box import homogeneous_box
from impact_aware.contact.geometry import Contact
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.experiments.models.flexible_joint import FlexibleJointArm
from impact_aware.impact import predict
from impact_aware.robot import RobotModel
from impact_aware.simulation import MujocoPlant
from impact_aware.simulation.joint_elasticity import FlexibleDrive, JointElasticity


@pytest.fixture(scope="module")
def scene():
    """Frictionless, so that no friction but only elasticity tells the plants apart."""
    return slippery(flat_box_scene())


@pytest.fixture(scope="module")
def rigid(scene, robot):
    return coast_into(scene, robot, cycles=75)


@pytest.fixture(scope="module")
def flexible(scene, robot):
    """The orders of magnitude and the torque loop of Rey Arias 2024, section III."""
    return coast_into(scene, robot, cycles=75, elasticity=JointElasticity.of(robot))


def after(rows):
    """Mean velocity from 15 to 55 ms after the impact at 20 ms: several periods of the joint oscillation."""
    return rows[35:75].mean(axis=0)


def test_stiff_joints_with_a_fast_loop_behave_as_rigid_ones_with_apparent_inertia(scene, robot, rigid):
    stiff = JointElasticity.of(robot, stiffness=1e5, damping=60.0, torque_rate=20000.0, torque_cutoff=np.inf)
    _, rows = coast_into(scene, robot, cycles=75, elasticity=stiff)
    jump = rigid[0].impacts[0].jump
    # The limit K -> infinity of Rey Arias 2024, eq. (9); 0.5 % measured at this stiffness.
    assert np.linalg.norm(after(rows) - after(rigid[1])) < 0.015 * np.linalg.norm(jump)


def test_apparent_motor_inertia_predicts_best(scene, robot, flexible):
    """Rey Arias 2024's claim, with B_theta against no motor inertia and the full one."""
    plant, rows = flexible
    impact = plant.impacts[0]
    box = homogeneous_box(scene.object.mass, scene.object.half_sizes, scene.object_placement.translation)
    contact = Contact(robot.tool_frame, impact.normal, radius=robot.tool_radius)
    measured = rows[20:60].mean(axis=0) - impact.velocity_before
    errors = {}
    for inertia in ("M", "M+B_theta", "M+B_rho"):
        jump = predict(
            robot, impact.q, impact.velocity_before, contact, obstacle=box, method="frictionless", inertia=inertia
        ).jump
        errors[inertia] = np.linalg.norm(jump - measured) / np.linalg.norm(measured)
    assert errors["M+B_theta"] < 0.5 * min(errors["M"], errors["M+B_rho"])


def test_link_side_oscillates_after_the_impact(rigid, flexible):
    start = rigid[1][25:45] - rigid[1][25:45].mean(axis=0)
    swinging = flexible[1][25:45] - flexible[1][25:45].mean(axis=0)
    assert swinging.std() > 3.0 * start.std()


def test_free_motion_agrees_with_the_other_engine(scene, robot):
    """A torque step, integrated by MuJoCo's semi-implicit Euler and by Pinocchio with Runge-Kutta."""
    elasticity = JointElasticity.of(robot, torque_cutoff=np.inf)
    step = np.array([4.0, 4.0, 3.0, 3.0, 0.5, 0.5, 0.3])

    def torque(time, q, dq):
        # Both engines begin in the equilibrium of what is commanded first.
        return robot.bias(q, dq) + (step if time > 0.0045 else 0.0)

    plant = MujocoPlant(scene, robot, elasticity=elasticity)
    state = plant.reset(robot.home, dq0=np.zeros(robot.n))
    rows = [state.dq]
    for _ in range(50):
        state = plant.step(torque(state.time, state.q, state.dq))
        rows.append(state.dq)
    run = FlexibleJointArm(robot, elasticity).simulate(robot.home, np.zeros(robot.n), torque, None, 0.05)
    # First-order steps of 50 us against joints that swing at up to some 300 Hz.
    np.testing.assert_allclose(np.array(rows), run.dq[: len(rows)], atol=0.02 * np.abs(run.dq).max())


def test_holds_with_wound_up_springs(scene, robot):
    plant = MujocoPlant(scene, robot, elasticity=JointElasticity.of(robot))
    for _ in range(20):
        state = plant.step(None)
    np.testing.assert_array_equal(state.q, robot.home)
    np.testing.assert_allclose(state.effort, robot.gravity(robot.home), atol=1e-6)
    # Released under gravity compensation, wound-up springs keep the posture.
    for _ in range(50):
        state = plant.step(robot.bias(state.q, state.dq))
    np.testing.assert_allclose(state.q, robot.home, atol=1e-5)


def test_motor_stands_where_the_spring_carries_the_torque(robot):
    elasticity = JointElasticity.of(robot)
    drive = FlexibleDrive(elasticity, (5e-5,))
    torque = np.arange(7.0)
    drive.reset(robot.home, np.zeros(7), torque)
    np.testing.assert_allclose(elasticity.stiffness * (drive.theta - robot.home), torque, atol=1e-10)
    # In equilibrium with its own torque commanded, nothing moves.
    for _ in range(100):
        shown = drive.step(torque, robot.home, np.zeros(7), 5e-5)
    np.testing.assert_allclose(shown, torque, atol=1e-9)


def test_torque_loop_that_does_not_fit_the_physics_step_is_refused(scene, robot):
    with pytest.raises(InvalidInputError, match="torque_rate"):
        MujocoPlant(scene, robot, elasticity=JointElasticity.of(robot, torque_rate=3000.0))
    with pytest.raises(UnknownNameError, match="arm"):
        MujocoPlant(scene, robot, elasticity={"left": JointElasticity.of(robot)})


UNEVEN = {
    "stiffness": np.array([9e3, 1e4, 8e3]),
    "damping": np.array([20.0, 15.0, 10.0]),
    "motor_inertia": np.array([0.6, 0.5, 0.2]),
    "apparent_motor_inertia": np.array([0.15, 0.1, 0.05]),
    "friction": np.array([0.5, 0.0, 0.3]),
    "friction_velocity": np.array([0.4, 0.2, 0.1]),
}


@pytest.mark.parametrize("steps", [(5e-5,), (1.25e-4,), (1.25e-4, 5e-5)])
def test_the_torque_loop_leaves_a_share_of_the_motors_friction(steps):
    """At an even speed (3) and (4) give tau = u - B_theta / B_rho times friction, whatever the physics steps are."""
    drive = FlexibleDrive(JointElasticity(**UNEVEN), sorted(set(steps)))
    desired, speed = np.array([3.0, -2.0, 1.0]), np.array([0.2, -0.3, -0.15])
    drive.reset(np.zeros(3), speed, desired)
    time = 0.0
    for cycle in range(400):
        step = steps[cycle % len(steps)]
        for _ in range(round(1e-3 / step)):
            drive.step(desired, time * speed, speed, step)
            time += step
    friction = UNEVEN["friction"] * np.tanh(speed / UNEVEN["friction_velocity"])
    expected = desired - np.array([0.25, 0.2, 0.25]) * friction
    assert np.abs(expected - desired).max() > 0.05
    np.testing.assert_allclose(drive.torque, expected, atol=1e-3)


def test_friction_agrees_with_the_other_engine(scene, robot):
    """What friction takes from an arm that moves on, in both engines."""
    moving = np.array([0.3, -0.2, 0.25, 0.15, -0.3, 0.2, 0.4])
    ends = []
    for friction in (True, False):
        elasticity = JointElasticity.of(robot, friction=friction)
        plant = MujocoPlant(scene, robot, elasticity=elasticity)
        state = plant.reset(robot.home, dq0=moving)
        for _ in range(60):
            state = plant.step(robot.bias(state.q, state.dq))
        other = FlexibleJointArm(robot, elasticity)
        run = other.simulate(robot.home, moving, lambda time, q, dq: robot.bias(q, dq), None, 0.06)
        ends.append((state.dq, run.dq[60]))
    taken, expected = (np.subtract(*pair) for pair in zip(*ends, strict=True))
    assert np.linalg.norm(expected) > 0.05
    np.testing.assert_allclose(taken, expected, atol=0.03 * np.linalg.norm(expected))


def test_without_a_known_friction_motors_have_none(robot):
    assert not JointElasticity.of(robot).friction.any()
    assert not JointElasticity.of(RobotModel.from_profile("kuka_lwr4"), friction=True).friction.any()
    with pytest.raises(InvalidInputError, match="friction_velocity"):
        JointElasticity(**{**UNEVEN, "friction_velocity": np.array([0.1, 0.0, 0.1])})


def test_the_rigid_part_of_a_velocity_keeps_the_momentum_of_links_and_motors():
    drive = FlexibleDrive(JointElasticity(**UNEVEN), (5e-5,))
    drive.reset(np.zeros(3), np.array([0.5, -0.2, 0.1]), np.zeros(3))
    inertia = np.array([[0.4, 0.1, 0.02], [0.1, 0.3, 0.05], [0.02, 0.05, 0.1]])
    links = np.array([0.1, 0.4, -0.3])
    motors = UNEVEN["apparent_motor_inertia"]
    found = drive.rigid_velocity(inertia, links)
    momentum = inertia @ links + motors * drive.motor_velocity
    np.testing.assert_allclose(inertia @ found + motors * found, momentum, rtol=1e-12)
    # Where nothing swings it is what both have.
    np.testing.assert_allclose(drive.rigid_velocity(inertia, drive.motor_velocity), drive.motor_velocity, rtol=1e-12)


def test_a_flexible_arm_s_true_jump_is_that_of_the_rigid_one(rigid, flexible):
    """At the end of compression the links swing by much more than the rigid-body part is off."""
    truth, answer = flexible[0].impacts[0], rigid[0].impacts[0]
    size = np.linalg.norm(answer.jump)
    assert np.linalg.norm(truth.jump - answer.jump) < 0.2 * size
    # The amplitude counts, and one cycle may lie where the swing crosses zero: the next five are a part of a swing.
    begin = round(1e3 * truth.time_after)
    swinging = np.linalg.norm(flexible[1][begin : begin + 5] - answer.velocity_after, axis=1).max()
    assert swinging > 1.5 * np.linalg.norm(truth.velocity_after - answer.velocity_after)


@pytest.mark.parametrize(("step", "held"), [(5e-5, 5), (1.25e-4, 2)])
def test_the_torque_loop_holds_its_torque_for_its_own_period(step, held):
    """A command that lasts one physics step drives a motor on soft springs for 250 us: by B_rho / B_theta u / B_rho."""
    soft = {**UNEVEN, "stiffness": np.full(3, 1e-9), "damping": np.zeros(3), "friction": np.zeros(3)}
    drive = FlexibleDrive(JointElasticity(**soft), (step,))
    command, at_rest = np.array([1.0, -2.0, 0.5]), np.zeros(3)
    drive.step(command, at_rest, at_rest, step)
    np.testing.assert_allclose(drive.motor_velocity, step * command / UNEVEN["apparent_motor_inertia"], rtol=1e-9)
    for _ in range(9):
        drive.step(at_rest, at_rest, at_rest, step)
    expected = held * step * command / UNEVEN["apparent_motor_inertia"]
    np.testing.assert_allclose(drive.motor_velocity, expected, rtol=1e-6)
