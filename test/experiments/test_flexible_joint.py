"""The flexible-joint arm: convergence, conservation laws, its rigid limit, and which inertia predicts its impacts."""

import numpy as np
import pytest

from impact_aware.contact.force_models import ExponentialHuntCrossley, VirtualSpring
from impact_aware.contact.geometry import Contact, FreeObject
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.estimation.polynomial import PolynomialEstimator
from impact_aware.experiments.arm_controllers import PressingForce
from impact_aware.experiments.models.flexible_joint import FlexibleJointArm
from impact_aware.experiments.models.surface_contact import surface_at
from impact_aware.impact import predict
from impact_aware.robot import RobotModel
from impact_aware.simulation.joint_elasticity import JointElasticity

INELASTIC = ExponentialHuntCrossley(1e8, 2e10)


def coasting(robot, velocity):
    """A posture and joint velocities that move the tool with `velocity` (3,), without turning a planar arm's tool."""
    jacobian = robot.frame_jacobian(robot.home)
    target = np.concatenate([velocity, np.zeros(3)])
    return robot.home, np.linalg.lstsq(jacobian, target, rcond=None)[0]


def surface_below(robot, gap, model=INELASTIC, **settings):
    centre = robot.placement(robot.home).translation
    return surface_at(centre, robot.tool_radius, [0.0, 0.0, 1.0], gap, model, **settings)


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


def test_a_gravity_compensated_arm_stays_where_it_is(robot):
    arm = FlexibleJointArm(robot, JointElasticity.of(robot))
    run = arm.simulate(robot.home, np.zeros(7), PressingForce(robot, coriolis=False), None, 0.02)
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


def test_the_free_object_gets_the_impulse_that_the_arm_gives(planar):
    q, dq = coasting(planar, [0.0, 0.0, -0.2])
    point = planar.placement(q).translation - [0.0, 0.0, planar.tool_radius + 0.0302]
    box = FreeObject(2.2, np.diag([0.01, 0.01, 0.01]), point)
    contact = surface_below(planar, 0.0002, obstacle=box)
    arm = FlexibleJointArm(planar, JointElasticity.of(planar))
    run = arm.simulate(q, dq, PressingForce(planar), contact, 0.015)
    near = (run.fine_time > run.impact_time) & (run.fine_time < run.impact_time + 0.01)
    impulse = np.trapezoid(run.fine_force[near], run.fine_time[near])
    final = run.object_twist[-1]
    assert run.force[-1, 2] == 0.0
    # Trapezoids of 50 us across a pulse of some milliseconds.
    assert -2.2 * final[2] == pytest.approx(impulse, rel=0.01)
    # The tip moves some micrometres sideways while it presses, so it turns the box by next to nothing.
    assert np.abs(run.object_twist[:, 3:]).max() < 1e-3


@pytest.mark.parametrize("speed", [0.1, 0.25])
def test_m_plus_b_theta_predicts_the_flexible_arm_better_than_m_and_m_plus_b_rho(planar, speed):
    q, dq = coasting(planar, [0.5 * speed, 0.0, -0.87 * speed])
    arm = FlexibleJointArm(planar, JointElasticity.of(planar))
    press = PressingForce(planar, [0.0, 0.0, -20.0])
    run = arm.simulate(q, dq, press, surface_below(planar, 0.005 * speed), 0.115)
    after = run.time > run.impact_time
    truth = PolynomialEstimator().fit(run.time[after] - run.impact_time, run.q[after]).velocity
    contact = Contact(planar.tool_frame, np.array([0.0, 0.0, 1.0]), radius=planar.tool_radius)
    error = {
        inertia: np.abs(
            predict(
                planar, run.q_impact, run.velocity_before, contact, method="frictionless", inertia=inertia
            ).velocity_after
            - truth
        ).mean()
        for inertia in ("M", "M+B_theta", "M+B_rho")
    }
    # Seen over a campaign: an order of magnitude; a factor of five leaves room for the single case.
    assert error["M+B_theta"] < 0.2 * min(error["M"], error["M+B_rho"])


def test_sticky_friction_stops_the_slip(planar):
    q, dq = coasting(planar, [0.03, 0.0, -0.2])
    contact = surface_below(planar, 0.001, friction=1.5, slip_regularisation=3e-3)
    arm = FlexibleJointArm(planar, JointElasticity.of(planar))
    run = arm.simulate(q, dq, PressingForce(planar, [0.0, 0.0, -50.0]), contact, 0.03)
    jacobian = planar.frame_jacobian(run.q[-1])
    lever = np.array([0.0, 0.0, -planar.tool_radius])
    slip = jacobian[:3] @ run.dq[-1] + np.cross(jacobian[3:] @ run.dq[-1], lever)
    # Inside the rounded corner the contact creeps slower than the regularisation.
    assert abs(slip[0]) < 3e-3


def test_bad_input_is_refused(planar):
    with pytest.raises(InvalidInputError, match="stiffness"):
        JointElasticity.of(planar, stiffness=-1.0)
    with pytest.raises(InvalidInputError, match="torque_rate"):
        JointElasticity.of(planar, torque_rate=1500.0)
    with pytest.raises(InvalidInputError, match="apparent_motor_inertia"):
        JointElasticity(np.ones(3), np.ones(3), np.ones(3), 2.0 * np.ones(3))
    with pytest.raises(InvalidInputError, match="substeps"):
        FlexibleJointArm(planar, JointElasticity.of(planar), substeps=0)
    with pytest.raises(InvalidInputError, match="slip_regularisation"):
        surface_below(planar, 0.0, slip_regularisation=0.0)


def test_a_step_too_long_for_the_stiffness_is_named(planar):
    arm = FlexibleJointArm(planar, JointElasticity.of(planar, stiffness=1e9), substeps=1)
    with pytest.raises(NoSolutionError, match="diverged"), np.errstate(all="ignore"):
        arm.simulate(planar.home, np.array([1.0, 0.0, 0.0]), PressingForce(planar), None, 0.1)


def test_a_contact_model_with_memory_starts_afresh_at_the_second_touch(planar):
    q, dq = coasting(planar, [0.0, 0.0, -0.2])
    contact = surface_below(planar, 0.0005, VirtualSpring(1e6, 0.7))
    arm = FlexibleJointArm(planar, JointElasticity.of(planar), substeps=10)
    run = arm.simulate(q, dq, PressingForce(planar, [0.0, 0.0, -150.0]), contact, 0.08)
    touching = run.force[:, 2] > 0.0
    touches = int(np.sum(~touching[:-1] & touching[1:]))
    # With the first touch's largest penetration remembered, later ones would find no force at all at first.
    assert touches >= 2
    jacobian = planar.frame_jacobian(run.q[-1])
    lowest = planar.placement(run.q[-1]).translation[2] - planar.tool_radius
    assert abs(jacobian[2] @ run.dq[-1]) < 0.2
    assert contact.point[2] - lowest < 1e-3
