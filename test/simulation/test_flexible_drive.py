"""Flexible joints in the MuJoCo plant: against the rigid plant, the other engine, and Rey Arias 2024."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact.box import homogeneous_box
from impact_aware.contact.geometry import Contact
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.impact import predict
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics
from impact_aware.simulation import MujocoPlant, load_scene
from impact_aware.simulation.flexible_joint import FlexibleJointArm
from impact_aware.simulation.joint_elasticity import FlexibleDrive, JointElasticity

SPEED = 0.5


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_profile("panda")


@pytest.fixture(scope="module")
def scene():
    """Frictionless, so that no friction but only elasticity tells the plants apart."""
    scene = load_scene("hit_and_push")
    return replace(
        scene,
        tool_object=replace(scene.tool_object, friction=0.0),
        object_table=replace(scene.object_table, friction=0.0),
    )


def coast(scene, robot, elasticity, cycles=75):
    """Coast into the box at 0.5 m/s; returns the plant and the link velocities, one row per cycle."""
    half = scene.object.half_sizes
    start = pin.SE3(np.diag([1.0, -1.0, -1.0]), np.array([0.5, -half[1] - robot.tool_radius - 0.01, half[2]]))
    q0 = solve_inverse_kinematics(robot, start)
    dq0 = np.linalg.pinv(robot.frame_jacobian(q0)) @ np.array([0.0, SPEED, 0.0, 0.0, 0.0, 0.0])
    plant = MujocoPlant(scene, robot, elasticity=elasticity)
    state = plant.reset(q0, dq0=dq0)
    rows = []
    for _ in range(cycles):
        state = plant.step(robot.bias(state.q, state.dq))
        rows.append(state.dq)
    return plant, np.array(rows)


@pytest.fixture(scope="module")
def rigid(scene, robot):
    return coast(scene, robot, None)


@pytest.fixture(scope="module")
def flexible(scene, robot):
    """The orders of magnitude and the torque loop of Rey Arias 2024, section III."""
    return coast(scene, robot, JointElasticity.of(robot))


def after(rows):
    """Mean velocity from 15 to 55 ms after the impact at 20 ms: several periods of the joint oscillation."""
    return rows[35:75].mean(axis=0)


def test_stiff_joints_with_a_fast_loop_behave_as_rigid_ones_with_apparent_inertia(scene, robot, rigid):
    stiff = JointElasticity.of(robot, stiffness=1e5, damping=60.0, torque_rate=20000.0, torque_cutoff=np.inf)
    _, rows = coast(scene, robot, stiff)
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
    drive = FlexibleDrive(elasticity, 5e-5)
    torque = np.arange(7.0)
    drive.reset(robot.home, np.zeros(7), torque)
    np.testing.assert_allclose(elasticity.stiffness * (drive.theta - robot.home), torque, atol=1e-10)
    # In equilibrium with its own torque commanded, nothing moves.
    for _ in range(100):
        shown = drive.step(torque, robot.home, np.zeros(7))
    np.testing.assert_allclose(shown, torque, atol=1e-9)


def test_torque_loop_that_does_not_fit_the_physics_step_is_refused(scene, robot):
    with pytest.raises(InvalidInputError, match="torque_rate"):
        MujocoPlant(scene, robot, elasticity=JointElasticity.of(robot, torque_rate=3000.0))
    with pytest.raises(UnknownNameError, match="arm"):
        MujocoPlant(scene, robot, elasticity={"left": JointElasticity.of(robot)})
