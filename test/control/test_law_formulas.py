"""The law's accelerations against van Steen 2024 written out anew, at states without any symmetry."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from impact_aware.control import ControlParameters, Mode
from impact_aware.control.controller import ReferenceSpreadingController
from impact_aware.reference import ArmAfterImpact
from impact_aware.robot import RobotModel
from impact_aware.task import base_placement, load_task, make_field, start_posture

ROBOT = RobotModel.from_profile("panda")
TASK = load_task("hit_and_push")
# As the paper has it, which steers nothing across the way.
FIELD = dataclasses.replace(make_field(TASK, [ROBOT]), post_sideways_radius=0.0)
PREDICTION = np.array([0.02, -0.29, 0.01])
K_TRACK, D_TRACK, K_Q, K_SYNC = 37.0, 43.0, 210.0, 13.0
GAINS = {
    "track_stiffness": K_TRACK,
    "track_damping": D_TRACK,
    "null_space_stiffness": K_Q,
    "sync_stiffness": K_SYNC,
}
Q_CONTACT = np.array(start_posture(TASK.arms[0], ROBOT, tuple(FIELD.arms[0].impact_position)))
AWAY = np.array([0.02, -0.015, 0.01, 0.03, -0.02, 0.025, 0.015])
DQ = np.array([0.05, -0.12, 0.08, 0.1, -0.06, 0.09, -0.11])


def accelerations(robot, command, q, dq):
    return pin.aba(robot.model, robot.model.createData(), q, dq, command.effort)


def tool_acceleration(robot, q, dq, ddq):
    """Classical acceleration (6,) of the tool, axes of the base."""
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q, dq, ddq)
    pin.updateFramePlacements(robot.model, data)
    frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    return pin.getFrameClassicalAcceleration(robot.model, data, robot.tool_frame_id, frame).vector


@pytest.fixture
def law():
    # No clock runs off: contact is entered when the test says so.
    made = ReferenceSpreadingController([ROBOT], ControlParameters(**GAINS), FIELD)
    # Elsewhere than the null-space position: from the end of the field's ramp on the start is forgotten.
    made.start(0.0, Q_CONTACT + 0.07, np.zeros(7))
    return made


def in_mode(law, mode, gamma=0.0):
    """A law whose contact was entered at the contact posture so long before 1.0 s that gamma has its value there."""
    if mode is Mode.ANTE:
        return
    law.update(1.0 - 0.1 * gamma - 1e-9, Q_CONTACT, np.zeros(7))
    law.notify_impact(1.0 - 0.1 * gamma, 1.0 - 0.1 * gamma, PREDICTION)


@pytest.mark.parametrize(("mode", "gamma"), [(Mode.ANTE, 0.0), (Mode.INTERIM, 0.3), (Mode.POST, 1.2)])
def test_torques_give_the_target_acceleration_and_hold_the_null_space_joint(law, mode, gamma):
    in_mode(law, mode, gamma)
    q, dq = Q_CONTACT + AWAY, DQ
    command = law.update(1.0, q, dq)
    assert (command.mode, command.blend) == (mode, pytest.approx(min(gamma, 1.0)))
    ddq = accelerations(ROBOT, command, q, dq)
    # Seven joints, six rows of the tool and one joint: both tasks are met, but for the regularisation of 1e-6.
    np.testing.assert_allclose(tool_acceleration(ROBOT, q, dq, ddq), command.target_acceleration[0], atol=2e-3)
    own = FIELD.arms[0]
    joint, damping = own.null_space_joint, gamma if mode is Mode.INTERIM else 1.0
    wanted = K_Q * (own.null_space_position - q[joint]) - 2.0 * damping * np.sqrt(K_Q) * dq[joint]
    assert abs(wanted) > 1.0
    assert ddq[joint] == pytest.approx(wanted, abs=2e-3)


def test_the_ante_impact_target_damps_towards_the_field(law):
    """(20)."""
    q, dq = Q_CONTACT + AWAY, DQ
    command = law.update(1.0, q, dq)
    pose, twist = ROBOT.placement(q), ROBOT.frame_jacobian(q) @ dq
    reference, feedforward = FIELD.ante_impact().evaluate(pose.translation, pose.rotation, elapsed=1.0)
    np.testing.assert_allclose(command.reference_twist[0], reference, atol=1e-12)
    np.testing.assert_allclose(command.target_acceleration[0], feedforward + D_TRACK * (reference - twist), atol=1e-9)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 0.8])
def test_the_interim_target_draws_to_the_moving_position_and_blends_into_the_post_impact_target(law, gamma):
    """(34) and (36), with the position reference (32) that moves on with the ante-impact velocity.

    The angular part has no feedforward, the derivative of a velocity (11) that nothing makes the tool follow here.
    """
    in_mode(law, Mode.INTERIM, gamma)
    entered = ROBOT.placement(Q_CONTACT).translation
    law.update(1.0, Q_CONTACT, np.zeros(7))
    q, dq = Q_CONTACT + AWAY, DQ
    command = law.update(1.0, q, dq)
    pose, jacobian = ROBOT.placement(q), ROBOT.frame_jacobian(q)
    ante = FIELD.ante_impact()
    feedforward = np.concatenate([ante.acceleration(pose.translation), np.zeros(3)])
    moved = entered + 0.001 * ante.velocity(entered)
    own = FIELD.arms[0]
    desired = pin.Quaternion(np.array(own.orientation_before)).toRotationMatrix()
    rotation_error = pin.log3(desired @ pose.rotation.T)
    before = feedforward + K_TRACK * np.concatenate([moved - pose.translation, rotation_error])
    # Position and orientation feedback are what this test is about.
    assert np.linalg.norm(moved - pose.translation) > 0.01 and np.linalg.norm(rotation_error) > 0.02
    centre = law.field.object_position_at_impact + pose.translation - entered
    reference, acceleration = law.field.post_impact().evaluate(centre, pose.rotation)
    after = acceleration + D_TRACK * (reference - jacobian @ dq)
    # The force against friction sets in within 10 ms, whatever gamma is: gamma lasts 0.1 s.
    force = jacobian @ np.linalg.solve(ROBOT.mass_matrix(q), jacobian.T @ law.field.arms[0].feedforward_wrench)
    expected = (1.0 - gamma) * before + gamma * after + min(10.0 * gamma, 1.0) * force
    assert np.linalg.norm(force) > 1.0
    np.testing.assert_allclose(command.target_acceleration[0], expected, atol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.3, 1.0])
def test_the_interim_target_never_rotates_a_tool_at_rest_away_from_the_wanted_orientation(law, gamma):
    in_mode(law, Mode.INTERIM, gamma)
    command = law.update(1.0, Q_CONTACT + AWAY, np.zeros(7))
    desired = pin.Quaternion(np.array(FIELD.arms[0].orientation_before)).toRotationMatrix()
    error = pin.log3(desired @ ROBOT.placement(Q_CONTACT + AWAY).rotation.T)
    assert np.linalg.norm(error) > 0.02
    pushes = law.field.arms[0].feedforward_wrench
    jacobian = ROBOT.frame_jacobian(Q_CONTACT + AWAY)
    wrench = jacobian @ np.linalg.solve(ROBOT.mass_matrix(Q_CONTACT + AWAY), jacobian.T @ pushes)
    angular = command.target_acceleration[0][3:] - min(10.0 * gamma, 1.0) * wrench[3:]
    # Along the error, and no slower than K_track draws it.
    np.testing.assert_allclose(np.cross(angular, error), 0.0, atol=1e-9)
    assert angular @ error >= (1.0 - 1e-9) * K_TRACK * (error @ error)


TURNING, JOINT_RATE = np.array([0.31, -0.12, 0.22]), 0.14


def settled(time, begin, displacement, velocity, rate=10.0):
    """x, x' and x'' of x'' = -gamma (2 lambda x' + lambda^2 x) at a time, gamma growing for 0.1 s from `begin` on."""

    def blend(t):
        return min((t - begin) / 0.1, 1.0)

    def change(t, state):
        x, v = np.split(state, 2)
        return np.concatenate([v, -blend(t) * (2.0 * rate * v + rate**2 * x)])

    state = solve_ivp(change, (begin, time), [*displacement, *velocity], rtol=1e-10, atol=1e-12).y[:, -1]
    return (*np.split(state, 2), np.split(change(time, state), 2)[1])


def hit_with_rates(law, until):
    """Contact is entered at 0.9 s with predicted rates, and states come each ms; the last command."""
    law.update(0.899, Q_CONTACT + 0.5 * AWAY, np.zeros(7))
    law.notify_impact(0.9, 0.9, PREDICTION, arms_after={0: ArmAfterImpact(TURNING, JOINT_RATE)})
    for time in np.arange(0.9, until - 1e-9, 0.001):
        law.update(float(time), Q_CONTACT + 0.5 * AWAY, np.zeros(7))
    return law.update(until, Q_CONTACT + AWAY, DQ)


@pytest.mark.parametrize("until", [0.9, 0.945, 1.08])
def test_the_reference_begins_with_the_predicted_rotation_and_lets_it_die_away(law, until):
    """Deviation x of the tool's orientation reference from R_d, base axes, and of the null-space joint's."""
    command = hit_with_rates(law, until)
    gamma = min((until - 0.9) / 0.1, 1.0)
    entered, pose = ROBOT.placement(Q_CONTACT + 0.5 * AWAY), ROBOT.placement(Q_CONTACT + AWAY)
    own, jacobian = FIELD.arms[0], ROBOT.frame_jacobian(Q_CONTACT + AWAY)
    desired = pin.Quaternion(np.array(own.orientation_after)).toRotationMatrix()
    away = pin.log3(entered.rotation @ desired.T)
    x, velocity, acceleration = settled(until, 0.9, away, TURNING)
    error = pin.log3(desired @ (pin.exp3(-x) @ pose.rotation).T)
    assert np.linalg.norm(error) > 0.005
    centre = law.field.object_position_at_impact + pose.translation - entered.translation
    lever = pose.translation - centre
    post = law.field.post_impact()
    along = np.concatenate([post.velocity(centre) + np.cross(velocity, lever), 30.0 * error + velocity])
    np.testing.assert_allclose(command.reference_twist[0], along, atol=2e-4)
    if gamma == 1.0:
        expected = np.concatenate([post.acceleration(centre) + np.cross(acceleration, lever), acceleration])
        expected[3:] -= 900.0 * error
        expected += D_TRACK * (along - jacobian @ DQ)
        mass = ROBOT.mass_matrix(Q_CONTACT + AWAY)
        expected += jacobian @ np.linalg.solve(mass, jacobian.T @ own.feedforward_wrench)
        # The law integrates in steps of its period.
        np.testing.assert_allclose(command.target_acceleration[0], expected, atol=0.02)
    joint = own.null_space_joint
    q, dq = (Q_CONTACT + AWAY)[joint], DQ[joint]
    y, rate, change = settled(until, 0.9, [(Q_CONTACT + 0.5 * AWAY)[joint] - own.null_space_position], [JOINT_RATE])
    wanted = K_Q * (own.null_space_position + y[0] - q) - 2.0 * gamma * np.sqrt(K_Q) * (dq - rate[0]) + change[0]
    ddq = accelerations(ROBOT, command, Q_CONTACT + AWAY, DQ)
    assert ddq[joint] == pytest.approx(wanted, abs=0.02)
    # What is shown as the joints' reference has the joint's rate, too.
    shown = law.joint_reference_velocity(command)
    assert shown[joint] == pytest.approx(rate[0], abs=1e-3)
    np.testing.assert_allclose(jacobian @ shown, along, atol=1e-3)


def test_a_later_prediction_changes_the_rates_by_what_it_differs(law):
    """50 ms after the impact, when some of the rotation has died away."""
    other = TURNING + [0.05, 0.1, -0.2]
    before = hit_with_rates(law, 0.95).reference_twist[0, 3:]
    late = {0: ArmAfterImpact(other, JOINT_RATE)}
    law.set_field(law.field.after_impact(law.field.object_position_at_impact, PREDICTION, arms_after=late))
    after = law.update(0.95, Q_CONTACT + AWAY, DQ).reference_twist[0, 3:]
    np.testing.assert_allclose(after - before, other - TURNING, atol=1e-12)


def test_controllers_without_the_impact_map_follow_the_field_alone():
    twists = []
    for variant in ("no_rs", "no_impact_map"):
        law = ReferenceSpreadingController([ROBOT], ControlParameters(**GAINS, variant=variant), FIELD)
        law.start(0.0, Q_CONTACT + 0.07, np.zeros(7))
        twists.append(hit_with_rates(law, 0.93).reference_twist[0])
        np.testing.assert_allclose(
            twists[-1],
            law.field.post_impact(use_prediction=False).evaluate(
                law.field.object_position_at_impact
                + ROBOT.placement(Q_CONTACT + AWAY).translation
                - ROBOT.placement(Q_CONTACT + 0.5 * AWAY).translation,
                ROBOT.placement(Q_CONTACT + AWAY).rotation,
            )[0],
        )


GRAB = load_task("dual_arm_grab")
PAIR = [RobotModel.from_profile(arm.robot) for arm in GRAB.arms]
TILTED = [
    dataclasses.replace(GRAB.arms[0], base_position=(-0.02, 0.33, 0.05), base_yaw=0.15),
    dataclasses.replace(GRAB.arms[1], base_position=(0.03, -0.38, -0.04), base_yaw=-0.2),
]


def written_out(robots, bases, field, command, q, dq, gains):
    """The minimiser (n,) of the tasks' costs by NumPy, with (22)-(27) for each arm by itself."""
    rows, targets, weights, first = [], [], [], 0
    tools = []
    n = q.size
    for robot, base in zip(robots, bases, strict=True):
        part = slice(first, first + robot.n)
        turn = np.kron(np.eye(2), base.rotation)
        jacobian = np.zeros((6, n))
        jacobian[:, part] = turn @ robot.frame_jacobian(q[part])
        drift = turn @ tool_acceleration(robot, q[part], dq[part], np.zeros(robot.n))
        tools.append((base.act(robot.placement(q[part]).translation), jacobian @ dq, jacobian, drift))
        first += robot.n
    for index, (_, _, jacobian, drift) in enumerate(tools):
        rows.append(jacobian)
        targets.append(command.target_acceleration[index] - drift)
        weights.append(np.full(6, gains.track_weight))
        own, joint = field.arms[index], field.arms[index].null_space_joint
        if joint >= 0:
            column = joint + index * robots[0].n
            rows.append(np.eye(n)[column : column + 1])
            wanted = K_Q * (own.null_space_position - q[column]) - 2.0 * np.sqrt(K_Q) * dq[column]
            targets.append(np.array([wanted]))
            weights.append(np.array([gains.null_space_weight]))
    normal, centre = field.arms[0].normal, field.object_position
    mirror = np.eye(3) - 2.0 * np.outer(normal, normal)
    for (position, twist, jacobian, drift), (other, other_twist, *_) in (tools, tools[::-1]):
        gap = centre + mirror @ (other - centre) - position
        wanted = K_SYNC * gap + 2.0 * np.sqrt(K_SYNC) * (mirror @ other_twist[:3] - twist[:3])
        rows.append(jacobian[:3])
        targets.append(wanted - drift[:3])
        weights.append(np.full(3, gains.sync_weight * np.linalg.norm(gap)))
    matrix, target, weight = np.vstack(rows), np.concatenate(targets), np.concatenate(weights)
    hessian = matrix.T @ (weight[:, None] * matrix) + gains.regularisation * np.eye(n)
    return np.linalg.solve(hessian, matrix.T @ (weight * target))


@pytest.mark.parametrize("sync_weight", [5.0, 0.0])
def test_two_arms_are_drawn_to_each_others_mirror_image_while_they_approach(sync_weight):
    task = dataclasses.replace(GRAB, arms=tuple(TILTED))
    field = make_field(task, PAIR)
    bases = [base_placement(arm) for arm in task.arms]
    gains = ControlParameters(**GAINS, sync_weight=sync_weight, track_weight=0.9, null_space_weight=0.7)
    law = ReferenceSpreadingController(PAIR, gains, field, bases)
    # One arm is six centimetres nearer to the object, and lower, than the other.
    own, other = field.arms
    positions = [
        own.impact_position + 0.05 * own.normal,
        other.impact_position + 0.11 * other.normal + [0.0, 0.01, 0.02],
    ]
    q = np.concatenate([start_posture(a, r, tuple(p)) for a, r, p in zip(task.arms, PAIR, positions, strict=True)])
    dq = 0.3 * np.concatenate([DQ, DQ[::-1]])
    law.start(0.0, q, np.zeros(14))
    command = law.update(0.4, q, dq)
    assert command.mode is Mode.ANTE and command.qp_status == 0
    ddq = np.concatenate(
        [
            accelerations(PAIR[0], command._replace(effort=command.effort[:7]), q[:7], dq[:7]),
            accelerations(PAIR[1], command._replace(effort=command.effort[7:]), q[7:], dq[7:]),
        ]
    )
    expected = written_out(PAIR, bases, field, command, q, dq, gains)
    np.testing.assert_allclose(ddq, expected, atol=1e-4)
    # What the synchronisation changes is seen well above that tolerance.
    alone = written_out(PAIR, bases, field, command, q, dq, dataclasses.replace(gains, sync_weight=0.0))
    assert bool(np.abs(expected - alone).max() > 0.05) is (sync_weight > 0.0)


def test_after_the_first_impact_nothing_synchronises():
    field = make_field(GRAB, PAIR)
    bases = [base_placement(arm) for arm in GRAB.arms]
    efforts = []
    q = np.concatenate([np.array(start_posture(a, r)) for a, r in zip(GRAB.arms, PAIR, strict=True)])
    q[:7] += 0.5 * AWAY
    for weight in (0.0, 50.0):
        law = ReferenceSpreadingController(PAIR, ControlParameters(sync_weight=weight), field, bases)
        law.start(0.0, q, np.zeros(14))
        law.update(1.0, q, np.zeros(14))
        law.notify_impact(1.0, 1.0, arm=1)
        efforts.append(law.update(1.01, q, 0.1 * np.ones(14)).effort)
    np.testing.assert_array_equal(*efforts)
