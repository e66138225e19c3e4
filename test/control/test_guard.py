"""The controller inside the envelope: what is judged, what is used, what leaves."""

from __future__ import annotations

import numpy as np
import pytest

from impact_aware.control import Mode, ReferenceSpreadingController, SafeReason
from impact_aware.control.arm import ControlledArm
from impact_aware.control.safety.contact_force import ContactForceObserver
from impact_aware.control.safety.guard import GuardedController
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field, start_posture

ROBOT = RobotModel.from_profile("panda")
TASK = load_task("hit_and_push")
FIELD = make_field(TASK, [ROBOT])
START = np.array(start_posture(TASK.arms[0], ROBOT))
REST = np.zeros(ROBOT.n)
STEP = ROBOT.limits.effort_rate * 0.001 + 1e-6


@pytest.fixture
def guard():
    controller = ReferenceSpreadingController(ROBOT, field=FIELD)
    controller.start(1.0, START, REST)
    guard = GuardedController(controller)
    for k in range(1, 6):
        guard.update(1.0 + 1e-3 * k, START, REST)
    return guard


def test_inside_the_envelope_the_commands_are_the_controllers_own(guard):
    other = ReferenceSpreadingController(ROBOT, field=FIELD)
    other.start(1.0, START, REST)
    for k in range(1, 6):
        other.update(1.0 + 1e-3 * k, START, REST)
    command = guard.update(1.006, START, REST)
    assert command.mode is Mode.ANTE
    np.testing.assert_array_equal(command.effort, other.update(1.006, START, REST).effort)
    assert guard.violations == {}


def state(time=1.006, q=START, dq=REST, **more):
    return lambda guard: guard.update(time, q, dq, **more)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (state(q=START * np.nan), SafeReason.NON_FINITE),
        (state(q=START + 0.1), SafeReason.STATE_IMPLAUSIBLE),
        (state(dq=REST + 1e9), SafeReason.STATE_IMPLAUSIBLE),
        (state(dq=REST + 2.6), SafeReason.VELOCITY_LIMIT),
        (state(q=START[:3]), SafeReason.EXCEPTION),
        (state(age=0.03), SafeReason.STATE_STALE),
        (state(time=1.05), SafeReason.STATE_STALE),
        (state(time=100.0), SafeReason.CLOCK_JUMP),
        (state(time=0.2), SafeReason.CLOCK_JUMP),
    ],
)
def test_what_is_outside_leads_to_the_safe_mode_with_its_reason_and_a_command_within_the_limits(guard, step, reason):
    before = guard._effort
    command = step(guard)
    assert (command.mode, command.reason) == (Mode.SAFE, reason)
    assert np.all(np.abs(command.effort - before) <= STEP)
    assert guard.violations[reason] == 1


def test_a_state_that_is_not_newer_is_answered_with_the_last_command_and_counted(guard):
    last = guard.update(1.006, START, REST)
    assert guard.update(1.006, START + 0.001, REST) is last
    assert guard.update(1.002, START, REST) is last
    assert guard.ignored == 2
    assert guard.update(1.007, START, REST).mode is Mode.ANTE


def test_a_wrong_state_is_not_used_and_the_next_right_one_is(guard):
    guard.update(1.006, START + 1.0, REST)
    command = guard.update(1.007, START, REST)
    assert command.mode is Mode.SAFE
    np.testing.assert_allclose(guard._position, START)


def test_after_a_reset_it_starts_again_from_wherever_the_arm_is(guard):
    guard.update(1.006, START + 1.0, REST)
    guard.reset()
    command = guard.update(2.5, START + 0.2, REST)
    assert (command.mode, command.reason) == (Mode.IDLE, None)
    guard.controller.start(2.5, START + 0.2, REST)
    assert guard.update(2.501, START + 0.2, REST).mode is Mode.ANTE


def test_a_command_outside_never_leaves(guard, monkeypatch):
    before = guard._effort
    real = guard.controller.update

    def broken(*args, **more):
        return real(*args, **more)._replace(effort=np.array([np.nan, 1e9, 0.0, 0.0, 0.0, 0.0, 0.0]))

    monkeypatch.setattr(guard.controller, "update", broken)
    command = guard.update(1.006, START, REST)
    assert command.reason is SafeReason.TORQUE_LIMIT
    assert np.isfinite(command.effort).all()
    assert np.all(np.abs(command.effort - before) <= STEP)
    assert guard.controller.mode is Mode.SAFE


def test_the_force_observer_finds_a_constant_push_at_the_tool():
    arm = ControlledArm(ROBOT)
    observer = ContactForceObserver(arm)
    push = np.array([10.0, -40.0, 20.0])
    # Held still, the motors carry gravity and take up the push.
    effort = ROBOT.gravity(ROBOT.home) - ROBOT.frame_jacobian(ROBOT.home)[:3].T @ push
    for _ in range(500):
        force = observer.update(ROBOT.home, REST, effort, 0.001)
    # Ten time constants: 5e-5 of the step is left; the damped inverse takes another 0.1 %.
    assert force == pytest.approx(np.linalg.norm(push), rel=2e-3)


def test_a_sustained_push_over_the_limit_leads_to_the_safe_mode(guard):
    effort = ROBOT.gravity(START) - ROBOT.frame_jacobian(START)[:3].T @ np.array([0.0, 200.0, 0.0])
    for k in range(6, 300):
        command = guard.update(1.0 + 1e-3 * k, START, REST, effort=effort)
    assert command.reason is SafeReason.CONTACT_FORCE_LIMIT
