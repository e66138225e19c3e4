import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from law_loop import LawLoop

from impact_aware.control import ControlParameters, Mode, SafeReason
from impact_aware.errors import InvalidInputError
from impact_aware.task import load_task, make_field, start_posture

PERIOD = 0.001
PREDICTION = np.array([0.01, -0.29, 0.0])


def by_wrench(arm, wrench):
    """Lambda^-1 f (6,) for a wrench f (6,) at the tool (van Steen 2024, 38-39)."""
    return arm.jacobian @ np.linalg.solve(arm.mass_matrix, arm.jacobian.T @ wrench)


@pytest.fixture(scope="module")
def task():
    return load_task("hit_and_push")


@pytest.fixture(scope="module")
def field(robot, task):
    return make_field(task, [robot])


@pytest.fixture
def begun(robot, task, field):
    """A controller just started, and the state it started from."""

    def begin(**parameters):
        controller = LawLoop(robot, ControlParameters(**parameters), field)
        q = start_posture(task.arms[0], robot)
        controller.start(0.0, q, np.zeros(7))
        return controller, q, np.zeros(7)

    return begin


def free_motion(robot, controller, q, dq, steps, begin=0):
    """The controller on a perfect arm that touches nothing."""
    commands = []
    for index in range(begin, begin + steps):
        command = controller.cycle(PERIOD * index, q, dq)
        commands.append(command)
        ddq = pin.aba(robot.model, robot.data, q, dq, command.effort)
        q, dq = q + PERIOD * dq + 0.5 * PERIOD**2 * ddq, dq + PERIOD * ddq
    return commands, q, dq


def contact_state(robot, task, field, speed=1.0):
    """Tool at the impact place with the impact velocity."""
    q = start_posture(task.arms[0], robot, tuple(field.arms[0].impact_position))
    rows = np.vstack([robot.frame_jacobian(q), np.eye(7)[:1]])
    return q, np.linalg.solve(rows, np.concatenate([speed * field.arms[0].impact_velocity, np.zeros(4)]))


@pytest.fixture
def two_begun(robot, task, field):
    """A controller of two such arms just started, face to face, and their state in contact."""

    def begin(**parameters):
        turn = pin.SE3(pin.utils.rotate("z", np.pi), np.array([1.2, 0.0, 0.0]))
        both = dataclasses.replace(field, arms=(field.arms[0], field.arms[0]))
        q, dq = (np.tile(part, 2) for part in contact_state(robot, task, field))
        controller = LawLoop([robot, robot], ControlParameters(**parameters), both, [pin.SE3.Identity(), turn])
        controller.start(0.0, q, np.zeros(14))
        controller.cycle(0.9, q, dq)
        return controller, q, dq

    return begin


def test_in_free_motion_the_tool_follows_the_field(robot, field, begun):
    controller, q, dq = begun()
    commands, _, _ = free_motion(robot, controller, q, dq, 900)
    error = [np.linalg.norm(c.tool_twist[0, :3] - c.reference_twist[0, :3]) for c in commands]
    # The field's acceleration is fed forward; what is left is the change of the reference over one period.
    assert max(error) < 5e-3
    assert all(c.mode is Mode.ANTE for c in commands)
    np.testing.assert_allclose(commands[-1].tool_twist[0, :3], field.arms[0].impact_velocity, atol=2e-3)


def test_the_motion_starts_without_a_jerk(robot, begun):
    controller, q, dq = begun()
    commands, _, _ = free_motion(robot, controller, q, dq, 50)
    np.testing.assert_allclose(commands[0].target_acceleration, 0.0, atol=1e-9)
    # 0.5 m/s within a 0.5 s smoothstep reaches 1.5 m/s^2, first growing with 12 m/s^3.
    norms = [np.linalg.norm(c.target_acceleration[0, :3]) for c in commands]
    assert max(np.abs(np.diff(norms))) < 0.03


def test_impact_leads_through_the_interim_mode_to_the_post_impact_mode(robot, task, field, begun):
    controller, _, _ = begun()
    q, dq = contact_state(robot, task, field)
    controller.cycle(0.9, q, dq)
    assert controller.notify_impact(0.9, 0.902, PREDICTION, event_sequence=4)
    assert controller.cycle(0.902, q, dq).mode is Mode.INTERIM
    assert controller.cycle(1.001, q, dq).mode is Mode.INTERIM
    after = controller.cycle(1.003, q, dq)
    assert after.mode is Mode.POST
    assert after.blend == 1.0
    assert controller.field.event_sequence == 4
    assert not controller.notify_impact(1.1, 1.1, PREDICTION)


def test_gamma_one_is_the_post_impact_task(robot, task, field, begun):
    q, dq = contact_state(robot, task, field, speed=0.6)
    targets = []
    for elapsed in (0.0999999999, 0.1000000001):
        controller, _, _ = begun()
        controller.cycle(0.9, q, dq)
        controller.notify_impact(0.9, 0.9, PREDICTION)
        targets.append(controller.cycle(0.9 + elapsed, q, dq))
    assert [c.mode for c in targets] == [Mode.INTERIM, Mode.POST]
    # gamma differs from one by 1e-9.
    np.testing.assert_allclose(targets[0].target_acceleration, targets[1].target_acceleration, atol=1e-6)
    arm = controller.arms[0]
    wrench = controller.field.arms[0].feedforward_wrench
    post = controller.field.post_impact()
    twist, acceleration = post.evaluate(controller.field.object_position_at_impact, arm.rotation)
    expected = acceleration + 40.0 * (twist - arm.twist) + by_wrench(arm, wrench)
    np.testing.assert_allclose(targets[1].target_acceleration[0], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("variant", "mode", "reference_is_prediction"),
    [("proposed", 2, True), ("no_interim", 3, True), ("no_impact_map", 2, False), ("no_rs", 3, False)],
)
def test_the_variants_differ_in_interim_and_prediction_only(
    robot, task, field, begun, variant, mode, reference_is_prediction
):
    controller, _, _ = begun(variant=variant)
    q, dq = contact_state(robot, task, field)
    before = controller.cycle(0.9, q, dq)
    reference, _, _ = begun()
    np.testing.assert_array_equal(before.effort, reference.update(0.9, q, dq).effort)
    controller.notify_impact(0.9, 0.901, PREDICTION)
    after = controller.cycle(0.901, q, dq)
    assert after.mode == mode
    wanted = PREDICTION if reference_is_prediction else 2.0 * (field.goal - field.object_position)
    # The object's place follows from a tool that the inverse kinematics put there.
    np.testing.assert_allclose(after.reference_twist[0, :3], wanted, atol=1e-6)


def test_with_contact_completion_gamma_waits_for_the_second_arm(two_begun):
    for end, blends in (("time", (0.6, 0.75)), ("contact_complete", (0.0, 0.15))):
        controller, q, dq = two_begun(interim_end=end)
        assert controller.notify_impact(0.9, 0.9, PREDICTION, arm=1)
        waiting = controller.cycle(0.96, q, dq)
        assert (waiting.mode, waiting.blend) == (Mode.INTERIM, pytest.approx(blends[0]))
        assert controller.notify_impact(0.96, 0.96, arm=0)
        assert controller.cycle(0.975, q, dq).blend == pytest.approx(blends[1])
        assert not controller.notify_contact_complete(0.98)


def test_while_the_second_arm_is_waited_for_turning_is_damped_by_the_clock(two_begun):
    """With contact completion the angular target is the clock's, the linear one that of gamma = 0."""
    targets = {}
    for end in ("time", "contact_complete"):
        controller, q, dq = two_begun(interim_end=end)
        controller.notify_impact(0.9, 0.9, PREDICTION, arm=1)
        at_impact = controller.cycle(0.9, q, dq).target_acceleration
        targets[end] = controller.cycle(0.96, q, dq + 0.1).target_acceleration
    wrench = [by_wrench(arm, controller.field.arms[0].feedforward_wrench) for arm in controller.arms]
    clocked = targets["time"][:, 3:] - 0.6 * np.array(wrench)[:, 3:]
    np.testing.assert_allclose(targets["contact_complete"][:, 3:], clocked, atol=1e-9)
    # Position feedback alone: within one cycle's way of the moving place, 40 times 0.5 mm, of what it was.
    np.testing.assert_allclose(targets["contact_complete"][:, :3], at_impact[:, :3], atol=0.03)


def test_complete_contact_is_not_waited_for_endlessly(two_begun):
    controller, q, dq = two_begun(interim_end="contact_complete", completion_timeout=0.3)
    controller.notify_impact(0.9, 0.9, PREDICTION, arm=1)
    assert controller.cycle(1.15, q, dq).blend == 0.0
    # Contact that is reported complete after that changes nothing.
    assert controller.notify_contact_complete(1.24)
    assert controller.cycle(1.25, q, dq).blend == pytest.approx(0.5)
    assert controller.cycle(1.31, q, dq).mode is Mode.POST


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda c, q, dq: c.update(0.5, q * np.nan, dq), SafeReason.NON_FINITE),
        (lambda c, q, dq: c.update(0.5, q, dq + np.inf), SafeReason.NON_FINITE),
        (lambda c, q, dq: c.update(0.5, q[:3], dq), SafeReason.EXCEPTION),
        (lambda c, q, dq: c.safe_stop(SafeReason.UPSTREAM_LOST, "gone"), SafeReason.UPSTREAM_LOST),
    ],
)
def test_whatever_goes_wrong_leads_to_the_safe_mode_and_stays_there(robot, begun, spoil, reason):
    controller, q, dq = begun()
    commands, q, dq = free_motion(robot, controller, q, dq, 600)
    assert np.linalg.norm(dq) > 0.1
    spoil(controller, q, dq)
    controller.safe_stop(SafeReason.REQUESTED)
    commands, q, dq = free_motion(robot, controller, q, dq, 1500, begin=600)
    assert all(c.mode is Mode.SAFE and c.reason is reason for c in commands)
    # At rest, and held: damping 1/0.1 s, then a spring to where it stopped.
    assert np.abs(dq).max() < 1e-3
    efforts = np.array([c.effort for c in commands])
    assert np.isfinite(efforts).all()
    assert np.all(np.abs(efforts) <= robot.limits.effort)
    # The Panda adds gravity itself: what is sent to it keeps the rate.
    assert np.abs(np.diff(controller.sent, axis=0)).max() <= 1.0 + 1e-9
    with pytest.raises(InvalidInputError, match="reset"):
        controller.start(3.0, q, dq)
    controller.reset()
    assert controller.cycle(3.0, q, dq).mode is Mode.IDLE
    controller.start(3.0, q, dq)
    assert controller.cycle(3.001, q, dq).mode is Mode.ANTE


def test_idle_and_hold_keep_the_posture(robot, task):
    controller = LawLoop(robot)
    q, dq = robot.home.copy(), np.zeros(7)
    _, later, _ = free_motion(robot, controller, q, dq, 300)
    np.testing.assert_allclose(later, q, atol=1e-6)
    controller.hold()
    commands, later, _ = free_motion(robot, controller, q, np.full(7, 0.2), 1500)
    assert commands[-1].mode is Mode.HOLD
    # Taken out at 10/s it would go on for 0.2 / 10 rad; the hold helps.
    assert np.all(later > q - 5e-3) and np.all(later < q + 0.02)


def test_start_needs_a_field_and_a_finite_state(robot, field):
    controller = LawLoop(robot)
    with pytest.raises(InvalidInputError, match="field"):
        controller.start(0.0, robot.home, np.zeros(7))
    controller.set_field(field)
    with pytest.raises(InvalidInputError, match="state"):
        controller.start(0.0, robot.home, np.full(7, np.nan))
    with pytest.raises(InvalidInputError, match="arms"):
        controller.set_field(dataclasses.replace(field, arms=field.arms * 2))
