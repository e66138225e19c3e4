"""The flexible-joint arm: convergence, conservation laws, rigid limit, contact, controllers, and the planar arm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.contact.force_models import ExponentialHuntCrossley, HuntCrossley
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.experiments.models.flexible_joint import (
    SLIP_ROUNDING,
    FlexibleJointArm,
    PressingForce,
    StraightLine,
    SurfaceContact,
    planar_arm,
    surface_at,
)
from impact_aware.robot import RobotModel
from impact_aware.simulation.joint_elasticity import JointElasticity

INELASTIC = ExponentialHuntCrossley(1e8, 2e10)
MODEL = HuntCrossley(1e8, 1e7)
UP = np.array([0.0, 0.0, 1.0])
components = st.floats(-1.0, 1.0)


def coasting(robot, velocity):
    """A posture and joint velocities that move the tool with `velocity` (3,), without turning a planar arm's tool."""
    jacobian = robot.frame_jacobian(robot.home)
    target = np.concatenate([velocity, np.zeros(3)])
    return robot.home, np.linalg.lstsq(jacobian, target, rcond=None)[0]


def surface_below(robot, gap, friction=0.0):
    centre = robot.placement(robot.home).translation
    return surface_at(centre, robot.tool_radius, UP, gap, INELASTIC, friction)


def kinetic_and_elastic_energy(arm, run, index):
    robot, joints = arm.robot, arm.elasticity
    q, dq, theta = run.q[index], run.dq[index], run.theta[index]
    deflection = theta - q
    link = 0.5 * dq @ robot.mass_matrix(q, "M") @ dq
    return link + 0.5 * np.sum(joints.stiffness * deflection**2)


def test_free_motion_converges_with_the_fourth_order(planar):
    ends = []
    for substeps in (1, 2, 4, 8):
        joints = JointElasticity.of(planar, damping=5.0)
        arm = FlexibleJointArm(planar, joints, substeps=substeps)
        run = arm.simulate(planar.home, np.array([1.0, -1.0, 2.0]), lambda t, q, dq: np.zeros(3), None, 0.02)
        ends.append(np.concatenate([run.dq[-1], run.torque[-1]]))
    errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
    # Halving the step divides the error by 16 in the limit; by 12 or more counts as fourth order.
    assert errors[0] / errors[1] > 12.0
    assert errors[1] / errors[2] > 12.0


def test_an_impact_converges_and_the_default_step_is_good_to_a_ten_thousandth_of_the_jump(planar):
    q, dq = coasting(planar, [0.1, 0.0, -0.15])
    contact = surface_below(planar, 0.0005)
    runs = [
        FlexibleJointArm(planar, JointElasticity.of(planar), substeps=substeps).simulate(
            q, dq, PressingForce(planar, [0.0, 0.0, -20.0]), contact, 0.02
        )
        for substeps in (5, 10, 40)
    ]
    coarse, fine = (np.abs(run.dq[-1] - runs[-1].dq[-1]).max() for run in runs[:2])
    assert fine < 0.5 * coarse
    assert coarse < 1e-4 * np.abs(runs[-1].dq[-1] - dq).max()
    # First touch is found within a step of 50 us by its share of the way.
    assert runs[0].impact_time == pytest.approx(runs[-1].impact_time, abs=1e-6)


def test_a_gravity_compensated_arm_stays_where_it_is(robot):
    arm = FlexibleJointArm(robot, JointElasticity.of(robot))
    run = arm.simulate(robot.home, np.zeros(7), PressingForce(robot), None, 0.02)
    # Only the rounding of gravity over stiffness is left.
    assert np.abs(run.dq).max() < 1e-9
    np.testing.assert_allclose(run.torque, np.tile(robot.gravity(robot.home), (len(run.time), 1)), atol=1e-6)


def test_stiff_unfiltered_joints_accelerate_like_the_rigid_arm_with_m_plus_b_theta(planar):
    joints = JointElasticity.of(planar, stiffness=1e6, damping=200.0, torque_rate=64000.0, torque_cutoff=np.inf)
    arm = FlexibleJointArm(planar, joints, substeps=2)
    extra = np.array([4.0, -2.0, 1.0])
    run = arm.simulate(planar.home, np.zeros(3), lambda t, q, dq: planar.bias(q, dq) + extra, None, 0.03)
    expected = np.linalg.solve(planar.mass_matrix(planar.home), extra)
    measured = (run.dq[-1] - run.dq[10]) / (run.time[-1] - run.time[10])
    # The arm turns by 1e-2 rad meanwhile, which changes M by about a percent; M and M + B_rho are off by half and more.
    np.testing.assert_allclose(measured, expected, rtol=0.03)


def test_energy_only_falls_in_free_motion_without_gravity():
    robot = RobotModel.from_profile("panda")
    robot.model.gravity.linear = np.zeros(3)
    inertia = robot.motor_inertia
    joints = JointElasticity(np.full(7, 1e4), np.full(7, 20.0), inertia, inertia)
    arm = FlexibleJointArm(robot, joints)
    run = arm.simulate(robot.home, np.full(7, 0.5), lambda t, q, dq: np.zeros(7), None, 0.03)
    # With B_theta = B_rho and u = 0 the loop adds nothing, so the joints and motors are passive.
    motor_speed = np.gradient(run.theta, run.time, axis=0)
    energy = np.array(
        [
            kinetic_and_elastic_energy(arm, run, index) + 0.5 * np.sum(inertia * motor_speed[index] ** 2)
            for index in range(1, len(run.time) - 1)
        ]
    )
    # Central differences over 1 ms bend the motor speeds by (2 pi 50 Hz 1 ms)^2 / 6 = 2 % of their oscillating part.
    assert np.diff(energy).max() < 1e-3 * energy[0]
    assert energy[-1] <= energy[0] * (1.0 + 1e-3)


def test_sticky_friction_stops_the_slip(planar):
    q, dq = coasting(planar, [0.03, 0.0, -0.2])
    contact = surface_below(planar, 0.001, friction=1.5)
    arm = FlexibleJointArm(planar, JointElasticity.of(planar))
    run = arm.simulate(q, dq, PressingForce(planar, [0.0, 0.0, -50.0]), contact, 0.03)
    jacobian = planar.frame_jacobian(run.q[-1])
    lever = np.array([0.0, 0.0, -planar.tool_radius])
    slip = jacobian[:3] @ run.dq[-1] + np.cross(jacobian[3:] @ run.dq[-1], lever)
    # Inside the rounded corner the contact creeps slower than the rounding.
    assert abs(slip[0]) < SLIP_ROUNDING


def test_bad_input_is_refused(planar):
    with pytest.raises(InvalidInputError, match="stiffness"):
        JointElasticity.of(planar, stiffness=-1.0)
    with pytest.raises(InvalidInputError, match="torque_rate"):
        JointElasticity.of(planar, torque_rate=1500.0)
    with pytest.raises(InvalidInputError, match="apparent_motor_inertia"):
        JointElasticity(np.ones(3), np.ones(3), np.ones(3), 2.0 * np.ones(3))
    with pytest.raises(InvalidInputError, match="substeps"):
        FlexibleJointArm(planar, JointElasticity.of(planar), substeps=0)
    with pytest.raises(InvalidInputError, match="normal"):
        SurfaceContact(np.zeros(3), np.zeros(3), MODEL)
    with pytest.raises(InvalidInputError, match="friction"):
        surface_below(planar, 0.0, friction=-0.1)
    with pytest.raises(InvalidInputError, match="parallel axes"):
        planar_arm(RobotModel.from_profile("panda"), (0, 1, 2))
    with pytest.raises(InvalidInputError, match="force"):
        PressingForce(planar, [1.0, 2.0])(0.0, planar.home, np.zeros(3))


def test_a_step_too_long_for_the_stiffness_is_named(planar):
    arm = FlexibleJointArm(planar, JointElasticity.of(planar, stiffness=1e9), substeps=1)
    with pytest.raises(NoSolutionError, match="diverged"), np.errstate(all="ignore"):
        arm.simulate(planar.home, np.array([1.0, 0.0, 0.0]), PressingForce(planar), None, 0.1)


@given(
    normal=st.tuples(components, components, st.floats(0.2, 1.0)),
    slip=st.tuples(components, components, components),
    friction=st.floats(0.0, 1.5),
    depth=st.floats(-1e-3, 1e-3),
)
@settings(max_examples=60)
def test_force_is_in_the_cone_and_friction_takes_energy(normal, slip, friction, depth):
    contact = SurfaceContact(np.array(normal), np.zeros(3), MODEL, friction=friction)
    force = contact.force(depth, np.array(slip))
    pressure = float(force @ contact.normal)
    tangential = force - pressure * contact.normal
    if depth < 0.0:
        assert not force.any()
    if pressure > 0.0:
        # Splitting the force along the normal again costs a rounding error of its size.
        assert np.linalg.norm(tangential) <= (friction * (1.0 + 1e-9) + 1e-12) * pressure
        assert float(tangential @ np.array(slip)) <= 1e-9 * pressure


def test_slip_much_faster_than_the_rounding_has_coulombs_friction():
    contact = SurfaceContact(UP, np.zeros(3), MODEL, 0.5)
    force = contact.force(1e-4, np.array([0.3, 0.4, -0.1]))
    # 1 - |v| / sqrt(|v|^2 + eps^2) is (eps / |v|)^2 / 2, 2e-6 for |v| = 0.5 m/s.
    assert np.linalg.norm(force[:2]) / force[2] == pytest.approx(0.5, rel=3e-6)
    np.testing.assert_allclose(force[:2] / np.linalg.norm(force[:2]), [-0.6, -0.8], atol=1e-12)


def test_surface_stands_where_the_tip_will_touch():
    contact = surface_at(np.array([0.3, 0.1, 0.5]), 0.03, [0.0, 0.0, 2.0], 0.002, MODEL)
    assert contact.depth(np.array([0.3, 0.1, 0.47])) == pytest.approx(-0.002)
    assert contact.depth(np.array([0.9, 0.1, 0.468])) == pytest.approx(0.0, abs=1e-12)


def test_the_normal_force_is_the_models_at_the_approach_speed():
    normal = np.array([0.6, 0.0, 0.8])
    contact = SurfaceContact(normal, np.zeros(3), MODEL, friction=0.4)
    for speed in (0.2, 0.0, -0.05):
        force = contact.force(1e-4, -speed * normal + [0.0, 0.3, 0.0])
        pressure = float(MODEL.force(1e-4, speed))
        # The rounding takes (1e-3 / 0.3)^2 / 2 = 6e-6 of the friction.
        np.testing.assert_allclose(force, pressure * (normal - [0.0, 0.4, 0.0]), atol=3e-6 * pressure)


def test_pressing_adds_the_torque_of_its_force_to_the_compensation(robot):
    q, dq = robot.home, np.full(7, 0.3)
    force = np.array([3.0, -2.0, -20.0])
    torque = PressingForce(robot, force)(0.0, q, dq)
    np.testing.assert_allclose(torque - robot.bias(q, dq), robot.frame_jacobian(q)[:3].T @ force, atol=1e-12)


def test_on_its_line_the_impedance_only_compensates(robot):
    q = robot.home
    velocity = np.array([0.1, 0.0, -0.1])
    dq = np.linalg.pinv(robot.frame_jacobian(q)[:3]) @ velocity
    line = StraightLine(robot, robot.placement(q).translation - 0.2 * velocity, velocity)
    np.testing.assert_allclose(line(0.2, q, dq), robot.bias(q, dq), atol=1e-9)
    behind = line(0.3, q, dq) - robot.bias(q, dq)
    pull = robot.frame_jacobian(q)[:3].T @ (1000.0 * 0.1 * velocity)
    np.testing.assert_allclose(behind, pull, atol=1e-9)


def test_lumped_planar_arm_moves_and_weighs_as_the_whole_arm(robot, planar):
    q = planar.home + np.array([0.2, -0.1, 0.3])
    whole = np.zeros(7)
    whole[[1, 3, 5]] = q
    np.testing.assert_allclose(planar.placement(q).translation, robot.placement(whole).translation, atol=1e-12)
    rows = [1, 3, 5]
    np.testing.assert_allclose(planar.mass_matrix(q), robot.mass_matrix(whole)[np.ix_(rows, rows)], atol=1e-12)
    assert np.abs(planar.frame_jacobian(q)[1]).max() < 1e-12


def test_motor_inertias_and_home_are_those_of_the_joints_that_stay(robot, planar):
    rows = [1, 3, 5]
    np.testing.assert_array_equal(planar.motor_inertia, robot.motor_inertia[rows])
    np.testing.assert_array_equal(planar.apparent_motor_inertia, robot.apparent_motor_inertia[rows])
    np.testing.assert_array_equal(planar.home, robot.home[rows])
