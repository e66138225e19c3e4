"""The session: which states are used, what is sent for them, what starts, stops and ends it."""

import dataclasses
import math

import numpy as np
import pytest

from impact_aware.control import ControlParameters, ControlSession, Mode, SafeReason
from impact_aware.control.controller import ReferenceSpreadingController
from impact_aware.control.ending import RELEASE_SHARE, STOP_TIMEOUT, TaskCompletion
from impact_aware.control.safety.command_filter import CommandFilter
from impact_aware.control.safety.torque_fit import FIRST_STATES
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel, load_profile
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task import base_placement, load_task, make_field, start_posture

ROBOT = RobotModel.from_profile("panda")
TASK = load_task("hit_and_push")
FIELD = make_field(TASK, [ROBOT])
START = np.array(start_posture(TASK.arms[0], ROBOT))
REST = np.zeros(ROBOT.n)
STEP = ROBOT.limits.effort_rate * 0.001 + 1e-6
VELOCITY = np.array([0.01, -0.29, 0.005])


class Driver:
    """A session with clocks that the test sets, and everything that it sends."""

    def __init__(self, robots=(ROBOT,), field=FIELD, **more):
        self.now = 5.0
        self.offset = 0.0
        self.sent: list[np.ndarray] = []
        self.session = ControlSession(
            list(robots),
            field=field,
            send=lambda command: self.sent.append(command.copy()),
            present=lambda: self.now + self.offset,
            clock=lambda: self.now,
            **more,
        )

    def state(self, q=START, dq=REST, arm=0, age=0.0, effort=(), stamp=None):
        """One state of an arm, stamped now; whether it was answered."""
        reader = self.session.states.readers[arm]
        refusal = reader.take(self.now - age if stamp is None else stamp, reader.joint_names, q, dq, effort)
        return not refusal and self.session.receive(arm)

    def run(self, seconds, q=START, dq=REST):
        for _ in range(round(1e3 * seconds)):
            self.now += 0.001
            self.state(q, dq)


@pytest.fixture
def driver():
    driver = Driver()
    driver.state()
    driver.session.start()
    driver.run(0.005)
    return driver


@pytest.fixture
def session():
    session = ControlSession(ROBOT, field=FIELD)
    session.start(1.0, START)
    for k in range(1, 6):
        session.cycle(1.0 + 1e-3 * k, START, REST)
    return session


# One state in, one torque out


def test_inside_all_limits_the_torques_are_the_laws_own(session):
    law = ReferenceSpreadingController([ROBOT], field=FIELD)
    law.start(1.0, START, REST)
    for k in range(1, 7):
        wanted = law.update(1.0 + 1e-3 * k, START, REST)
    # Without the rate limit the law would already be elsewhere in its first cycles.
    for k in range(6, 300):
        command = session.cycle(1.0 + 1e-3 * k, START, REST)
        wanted = law.update(1.0 + 1e-3 * k, START, REST)
    assert command.mode is Mode.ANTE
    np.testing.assert_allclose(command.effort, wanted.effort, atol=1e-9)
    assert session.violations == {}


def state(time=1.006, q=START, dq=REST, **more):
    return lambda session: session.cycle(time, q, dq, **more)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (state(q=START * np.nan), SafeReason.NON_FINITE),
        (state(q=START + 0.1), SafeReason.STATE_IMPLAUSIBLE),
        (state(dq=REST + 1e9), SafeReason.STATE_IMPLAUSIBLE),
        (state(dq=REST + 2.6), SafeReason.VELOCITY_LIMIT),
        (state(q=START[:3]), SafeReason.EXCEPTION),
        (state(age=0.021), SafeReason.STATE_STALE),
        (state(time=1.0255), SafeReason.STATE_STALE),
        (state(time=2.1), SafeReason.CLOCK_JUMP),
        (state(time=0.984), SafeReason.CLOCK_JUMP),
    ],
)
def test_what_is_outside_leads_to_the_safe_mode_with_its_reason_and_a_command_within_the_limits(session, step, reason):
    before = session.filter.previous
    command = step(session)
    assert (command.mode, command.reason) == (Mode.SAFE, reason)
    assert np.all(np.abs(session.filter.previous - before) <= STEP)
    assert session.violations == {reason: 1}
    assert session.mode is Mode.SAFE


@pytest.mark.parametrize(
    "step", [state(age=0.0195), state(time=1.0245), state(dq=REST + 0.3, q=START + 3e-4), state(time=1.006)]
)
def test_what_is_just_inside_goes_on(session, step):
    assert step(session).mode is Mode.ANTE


def test_the_age_limit_is_the_parameters(session):
    patient = ControlSession(ROBOT, ControlParameters(state_age_limit=0.05), FIELD)
    patient.start(1.0, START)
    assert patient.cycle(1.0, START, REST, age=0.045).mode is Mode.ANTE
    assert patient.cycle(1.001, START, REST, age=0.055).reason is SafeReason.STATE_STALE


def test_a_state_that_is_not_newer_is_answered_with_the_last_command_and_counted(session):
    sent = []
    session._send = sent.append
    last = session.cycle(1.006, START, REST)
    assert session.cycle(1.006, START + 0.001, REST) is last
    assert session.cycle(1.002, START, REST) is last
    assert session.ignored == 2
    np.testing.assert_array_equal(sent[1], sent[0])
    assert session.cycle(1.007, START, REST).mode is Mode.ANTE


def test_a_wrong_state_is_not_used_and_the_next_right_one_is(session):
    session.cycle(1.006, START + 1.0, REST)
    np.testing.assert_array_equal(session.position, START)
    command = session.cycle(1.007, START + 1e-4, REST)
    assert command.mode is Mode.SAFE
    np.testing.assert_array_equal(session.position, START + 1e-4)


def test_after_a_reset_it_starts_again_from_wherever_the_arm_is_and_keeps_its_torque_memory(session):
    session.cycle(1.006, START + 1.0, REST)
    before = session.filter.previous
    session.reset()
    command = session.cycle(2.5, START + 0.2, REST)
    assert (command.mode, command.reason) == (Mode.IDLE, None)
    assert np.all(np.abs(session.filter.previous - before) <= STEP)
    session.start(2.5, START + 0.2, check=False)
    assert session.cycle(2.501, START + 0.2, REST).mode is Mode.ANTE


def test_a_torque_that_no_solver_can_have_meant_never_leaves(session, monkeypatch):
    before, real = session.filter.previous, session._law.update

    def broken(*args, **more):
        return real(*args, **more)._replace(effort=np.array([0.0, 1e9, 0.0, 0.0, 0.0, 0.0, 0.0]))

    monkeypatch.setattr(session._law, "update", broken)
    command = session.cycle(1.006, START, REST)
    assert (command.mode, command.reason) in {
        (Mode.SAFE, SafeReason.TORQUE_LIMIT),
        (Mode.SAFE, SafeReason.TORQUE_RATE_LIMIT),
    }
    assert np.all(np.abs(session.filter.previous - before) <= STEP)
    assert session.mode is Mode.SAFE and len(session.violations) == 1


@pytest.mark.parametrize(("push", "stops"), [(200.0, True), (100.0, False)])
def test_a_sustained_push_over_the_limit_leads_to_the_safe_mode(session, push, stops):
    pushed = ROBOT.gravity(START) - ROBOT.frame_jacobian(START)[:3].T @ np.array([0.0, push, 0.0])
    for k in range(6, FIRST_STATES + 300):
        # Not among the first states, whose torques are compared with the commands.
        effort = None if k < 6 + FIRST_STATES else pushed
        command = session.cycle(1.0 + 1e-3 * k, START, REST, effort=effort)
    assert (command.reason is SafeReason.CONTACT_FORCE_LIMIT) is stops


# Through the readers


def test_a_state_of_the_arm_is_answered_at_once_in_the_arms_own_convention(driver):
    count = len(driver.sent)
    driver.now += 0.001
    assert driver.state()
    assert len(driver.sent) == count + 1
    command = driver.session.command
    assert command.time == driver.now and command.mode is Mode.ANTE
    # The Panda adds gravity itself.
    expected = command.effort - ROBOT.gravity(START)
    np.testing.assert_allclose(driver.sent[-1], expected, atol=1e-9)
    assert np.abs(driver.sent[-1] - command.effort).max() > 5.0


def test_the_age_of_a_state_counts(driver):
    driver.now += 0.019
    driver.state(age=0.0185)
    assert driver.session.mode is Mode.ANTE and driver.session.age == pytest.approx(0.0185)
    driver.now += 0.02
    driver.state(age=0.0212)
    assert driver.session.command.reason is SafeReason.STATE_STALE
    assert driver.session.command.detail == "joint state 21 ms old"


@pytest.mark.parametrize(("offset", "age"), [(999.0, 999.0), (-999.0, -999.0), (1001.0, -1.0), (-1001.0, -1.0)])
def test_clocks_a_quarter_of_an_hour_apart_are_no_longer_one(driver, offset, age):
    driver.offset = offset
    driver.run(0.001)
    assert driver.session.age == pytest.approx(age)
    assert (driver.session.command.reason is SafeReason.STATE_STALE) is (age == 999.0)


def test_the_time_of_a_cycle_is_from_the_state_to_its_torques():
    now = [5.0]

    def clock():
        now[0] += 0.25
        return now[0]

    session = ControlSession(ROBOT, field=FIELD, clock=clock, present=lambda: 1.0)
    reader = session.states.readers[0]
    for k in range(2):
        reader.take(1.0 + 1e-3 * k, reader.joint_names, START, REST, ())
        session.receive()
        if k == 0:
            session.start(check=False)
    assert session.cycle_time == 0.25


def test_another_limit_that_is_left_in_the_safe_mode_is_counted_once_each_time_and_the_first_reason_kept(session):
    session.safe_stop(SafeReason.REQUESTED, "wanted")
    for k in range(6, 18):
        session.cycle(1.0 + 1e-3 * k, START, REST + 2.6 * (k % 6 < 3))
        assert session.safe_reason[0] is session.command.reason is SafeReason.REQUESTED
    assert session.violations == {SafeReason.VELOCITY_LIMIT: 2}


def test_an_arm_that_leaves_another_limit_in_the_safe_mode_is_held_where_it_is_then(driver):
    driver.session.safe_stop(SafeReason.REQUESTED, "wanted")
    for moved in 1e-3 * np.arange(5):
        driver.run(0.001, START + moved)
    driver.run(0.001, START + 0.004, REST + 2.6)
    driver.run(0.1, START + 0.004)
    np.testing.assert_allclose(driver.session.command.effort, ROBOT.gravity(START + 0.004), atol=1e-6)


def test_an_arm_that_was_moved_while_nobody_commanded_it_is_held_where_it_is(driver):
    driver.session.hold()
    driver.run(0.05)
    driver.session.active = False
    driver.session.activate()
    driver.run(0.06, START + 0.004)
    np.testing.assert_allclose(driver.session.command.effort, ROBOT.gravity(START + 0.004), atol=1e-6)


def test_before_it_is_started_and_after_it_has_stopped_nothing_is_sent():
    driver = Driver()
    assert driver.state() and driver.sent == [] and driver.session.command is None
    driver.session.watch()
    driver.session.send_without_state()
    assert driver.sent == []
    driver.session.start()
    driver.run(0.01)
    driver.session.stop()
    driver.run(0.5)
    assert not driver.session.active and not driver.session.rest.stopping
    count = len(driver.sent)
    driver.run(0.01)
    assert len(driver.sent) == count


def test_a_stop_takes_the_motion_away_first_and_ends_at_rest(driver):
    moving = np.full(ROBOT.n, 0.05)
    driver.session.stop()
    driver.run(0.1, dq=moving)
    assert driver.session.mode is Mode.HOLD
    assert driver.session.active and driver.session.rest.stopping
    assert driver.session.refusal() == "the arm is still coming to rest"
    driver.run(0.3)
    assert not driver.session.active
    limits = RELEASE_SHARE * ROBOT.limits.effort
    assert np.all(np.abs(driver.session.command.effort - ROBOT.gravity(START)) <= limits)


def test_a_stop_ends_after_its_timeout_though_the_arm_moves(driver):
    driver.session.stop()
    moving, begin = np.full(ROBOT.n, 0.05), driver.now
    while driver.session.active and driver.now < begin + 2.0 * STOP_TIMEOUT:
        driver.run(0.001, dq=moving)
    assert driver.now - begin == pytest.approx(STOP_TIMEOUT, abs=0.01)


def test_a_shutdown_brings_the_arm_to_rest_in_the_safe_mode(driver):
    session = driver.session
    session.shut_down()
    driver.run(0.05, dq=np.full(ROBOT.n, 0.05))
    assert session.mode is Mode.SAFE and session.command.reason is SafeReason.REQUESTED
    assert not session.rest.finished
    driver.run(0.3)
    assert session.rest.finished and session.active


def test_a_shutdown_of_a_session_that_commands_nothing_is_complete_at_once():
    session = Driver().session
    session.shut_down()
    assert session.rest.finished


def test_an_error_elsewhere_leads_to_the_safe_mode_and_a_command_at_once(driver):
    count = len(driver.sent)
    driver.session.fail(ValueError("broken pipe"))
    assert len(driver.sent) == count + 1
    assert driver.session.command.detail == "ValueError: broken pipe"
    assert driver.session.command.reason is SafeReason.EXCEPTION


@pytest.mark.parametrize("mode", [Mode.ANTE, Mode.HOLD])
def test_a_lost_upstream_matters_while_the_arm_is_in_motion(driver, mode):
    if mode is Mode.HOLD:
        driver.session.hold()
    count = len(driver.sent)
    driver.session.upstream_lost("impacts")
    assert len(driver.sent) == count
    driver.run(0.001)
    reason = driver.session.command.reason
    assert reason is (SafeReason.UPSTREAM_LOST if mode is Mode.ANTE else None)


def test_the_task_done_holds_the_posture_of_one_arm():
    class Done(TaskCompletion):
        def done(self, command, goal):
            return command.time > 5.0105

    driver = Driver(completion=Done())
    driver.state()
    driver.session.start()
    driver.run(0.01)
    assert not driver.session.done
    driver.run(0.002)
    assert driver.session.done and driver.session.mode is Mode.HOLD


# The watchdog


def test_an_arm_that_falls_silent_is_sent_gravity_compensation_with_the_reason(driver):
    driver.run(0.3)
    driver.now += 0.099
    driver.session.watch()
    assert driver.session.mode is Mode.ANTE
    driver.now += 0.002
    driver.session.watch()
    command = driver.session.command
    assert (command.mode, command.reason) == (Mode.SAFE, SafeReason.STATE_STALE)
    assert command.detail == "no usable joint_states for 0.10 s"
    for _ in range(200):
        driver.now += 0.001
        driver.session.watch()
    np.testing.assert_allclose(driver.sent[-1], np.zeros(ROBOT.n), atol=1e-9)


def test_a_shutdown_of_a_silent_arm_is_complete(driver):
    driver.session.shut_down()
    driver.now += 0.2
    driver.session.watch()
    assert driver.session.rest.finished


# Start


def test_reasons_not_to_start_come_one_after_the_other():
    driver = Driver(field=None)
    session = driver.session
    assert session.refusal() == "no joint_states yet"
    driver.state()
    assert session.refusal() == "no reference_field yet"
    session.set_field(FIELD)
    assert session.refusal() == ""
    driver.now += 0.15
    assert session.refusal() == "the last joint_states came 0.15 s ago"
    reader = session.states.readers[0]
    reader.take(driver.now, reader.joint_names, START, (), ())
    session.receive(0)
    assert session.refusal() == "joint_states have no velocities"


@pytest.mark.parametrize(("speed", "starts"), [(0.19, True), (0.21, False), (-0.21, False)])
def test_no_motion_begins_while_a_joint_moves(speed: float, starts: bool):
    driver = Driver()
    dq = np.zeros(ROBOT.n)
    dq[3] = speed
    driver.state(dq=dq)
    refusal = driver.session.refusal()
    assert refusal == ("" if starts else "a joint moves at 0.21 rad/s: a motion begins at rest")


def test_a_start_whose_impact_is_too_hard_is_refused_and_nothing_is_commanded():
    driver = Driver(limits=[SafetyLimits.of(ROBOT, impact_energy=0.2)])
    driver.state()
    with pytest.raises(InvalidInputError, match=r"safety\.impact_energy"):
        driver.session.start()
    assert not driver.session.active and driver.session.mode is Mode.IDLE
    driver.session.start(check=False)
    assert driver.session.active


def test_the_first_torque_is_within_a_step_of_what_holds_the_arm():
    for whole in (True, False):
        robot = RobotModel.from_profile(dataclasses.replace(load_profile("panda"), command_includes_gravity=whole))
        driver = Driver([robot])
        driver.state()
        driver.session.start()
        driver.run(0.001)
        holding = robot.gravity(START) if whole else np.zeros(robot.n)
        assert np.all(np.abs(driver.sent[0] - holding) <= STEP)


# Events and predictions


def test_an_impact_is_taken_once_and_its_prediction_is_followed(driver):
    session = driver.session
    assert session.events.notify_impact(driver.now - 0.002, driver.now, VELOCITY, sequence=7, anywhere=True)
    assert session.mode is Mode.INTERIM and session.events.sequence == 7
    np.testing.assert_allclose(session.field.object_velocity_after, VELOCITY)
    assert not session.events.notify_impact(driver.now, driver.now, 0.5 * VELOCITY, sequence=7, anywhere=True)
    np.testing.assert_allclose(session.field.object_velocity_after, VELOCITY)


def test_a_new_motion_takes_event_numbers_anew(driver):
    session = driver.session
    session.events.notify_impact(driver.now, driver.now, sequence=1, anywhere=True)
    session.reset()
    driver.run(0.002)
    session.start(check=False)
    assert session.events.notify_impact(driver.now, driver.now, sequence=1, anywhere=True)


@pytest.mark.parametrize("velocity", [[0.0, -1.1, 0.0], [np.nan, 0.0, 0.0]])
def test_an_absurd_prediction_is_left_out_and_counted_and_the_impact_is_not(driver, velocity):
    session, before = driver.session, driver.session.field.object_velocity_after
    assert session.events.notify_impact(driver.now, driver.now, velocity, sequence=1, anywhere=True)
    assert session.mode is Mode.INTERIM and session.events.refused_predictions == 1
    np.testing.assert_array_equal(session.field.object_velocity_after, before)


def test_a_field_with_an_absurd_prediction_is_refused_and_counted(driver):
    absurd = dataclasses.replace(FIELD, object_velocity_after=(0.0, -5.0, 0.0), object_velocity_predicted=True)
    with pytest.raises(InvalidInputError, match="object_velocity_after"):
        driver.session.set_field(absurd)
    assert driver.session.events.refused_predictions == 1


def test_a_field_for_another_task_waits_until_the_motion_is_over():
    """What one task says of the object is wrong for the next: nobody changes it under a moving arm."""
    driver = Driver(field=dataclasses.replace(FIELD, task_number=3))
    session = driver.session
    driver.state()
    session.start()
    driver.run(0.005)
    assert session.mode is Mode.ANTE
    other = dataclasses.replace(FIELD, task_number=4, revision=9)
    with pytest.raises(InvalidInputError, match="task_number: got 4, expected 3, the task for which the arms move"):
        session.set_field(other)
    assert session.field.task_number == 3
    session.set_field(dataclasses.replace(FIELD, task_number=3, revision=8))
    session.reset()
    session.set_field(other)
    assert session.field.task_number == 4


# Two arms

GRAB = load_task("dual_arm_grab")
PAIR = [RobotModel.from_profile(arm.robot) for arm in GRAB.arms]
PAIR_FIELD = make_field(GRAB, PAIR)
STARTS = [np.array(start_posture(arm, robot)) for arm, robot in zip(GRAB.arms, PAIR, strict=True)]


@pytest.fixture
def pair():
    driver = Driver(
        PAIR,
        PAIR_FIELD,
        bases=[base_placement(arm) for arm in GRAB.arms],
        topics=["left/joint_states", "right/joint_states"],
    )
    both(driver)
    driver.session.start()
    for _ in range(5):
        both(driver)
    return driver


def both(driver, apart=0.0):
    driver.now += 0.001
    first = driver.state(STARTS[0], arm=0)
    return first, driver.state(STARTS[1], arm=1, stamp=driver.now + apart)


def test_one_silent_arm_brakes_the_other_by_its_own_states(pair):
    for _ in range(150):
        pair.now += 0.001
        pair.state(STARTS[0], arm=0)
        pair.session.watch()
    count = len(pair.sent)
    command = pair.session.command
    assert command.reason is SafeReason.STATE_STALE
    assert command.detail.startswith("no usable right/joint_states for 0.1")
    pair.now += 0.001
    assert pair.state(STARTS[0], arm=0)
    assert len(pair.sent) == count + 1


def test_states_that_never_belong_together_are_no_states(pair):
    for _ in range(150):
        both(pair, apart=0.3)
        pair.session.watch()
    assert pair.session.command.reason is SafeReason.STATE_STALE
    assert "have not come in pairs for 0.10 s" in pair.session.command.detail


def test_contact_is_complete_when_it_is_for_both_arms(pair):
    session = pair.session
    session.events.notify_impact(pair.now, pair.now, arm=1, sequence=3, anywhere=True)
    assert session.mode is Mode.INTERIM
    assert not session.events.notify_contact_complete(pair.now, arm=0, sequence=1)
    assert not session.events.notify_contact_complete(pair.now, arm=0, sequence=1)
    assert session.events.notify_contact_complete(pair.now, arm=1, sequence=1)


def test_the_task_done_lets_two_arms_carry_on():
    class Done(TaskCompletion):
        def done(self, command, goal):
            return True

    driver = Driver(PAIR, PAIR_FIELD, bases=[base_placement(arm) for arm in GRAB.arms], completion=Done())
    both(driver)
    driver.session.start()
    both(driver)
    assert driver.session.done and driver.session.mode is Mode.ANTE


def steps_of_torque(apart, stamped, **more):
    """Steps of one joint's torque, as shares of the rate, for states answered and stamped so far apart, s."""
    driver = Driver(**more)
    driver.state()
    driver.session.start()
    driver.run(0.002)
    velocity, stamp = np.zeros(ROBOT.n), driver.now
    velocity[1] = 0.4
    for _ in range(4):
        driver.now += apart
        stamp += stamped
        driver.state(dq=velocity, stamp=stamp)
    sent = np.array(driver.sent[-5:])
    return np.abs(np.diff(sent, axis=0)[:, 1] / (ROBOT.limits.effort_rate[1] * 0.001))


@pytest.mark.parametrize(
    ("paced", "apart", "stamped"), [(True, 0.0002, 0.001), (True, 0.0005, 0.0005), (False, 0.001, 0.0002)]
)
def test_answers_within_a_period_share_one_step_of_torque_in_the_time_in_which_the_arm_moves(paced, apart, stamped):
    """A backlog and stamps that run fast where the arm keeps wall time, and several states in a cycle of lockstep."""
    share = 1e3 * (apart if paced else stamped)
    np.testing.assert_allclose(steps_of_torque(apart, stamped, paced=paced), share, rtol=1e-6)


def test_in_lockstep_a_whole_step_takes_no_wall_time():
    np.testing.assert_allclose(steps_of_torque(0.0, 0.001), 1.0, rtol=1e-6)


def test_a_stamp_that_is_no_number_moves_no_torque():
    filtered = CommandFilter([ROBOT], 0.001, clock=iter([5.0, math.nan, 6.0, 6.0005]).__next__)
    filtered.begin(REST)
    sent = []
    for _ in range(4):
        filtered.apply(REST + 50.0, REST)
        sent.append(filtered.previous[0] / (ROBOT.limits.effort_rate[0] * 0.001))
    np.testing.assert_allclose(sent, [1.0, 1.0, 1.0, 1.5])


def test_what_is_sent_without_a_state_shares_the_step_as_well():
    driver = Driver(paced=True)
    driver.state()
    driver.session.start()
    driver.run(0.05)
    before = driver.sent[-1]
    driver.now += 0.0001
    driver.session.safe_stop(SafeReason.REQUESTED)
    driver.session.send_without_state()
    change = np.abs(driver.sent[-1] - before) / (ROBOT.limits.effort_rate * 0.001)
    assert change.max() == pytest.approx(0.1, rel=1e-6)


# An object that moves


def test_in_the_interim_mode_the_object_is_followed_on_as_if_it_had_not_been_hit():
    """(34) of an arm that stands and does not push: its position reference goes on with the moving field."""
    velocity = np.array([0.08, -0.05, 0.0])
    arm = dataclasses.replace(FIELD.arms[0], feedforward_wrench=np.zeros(6))
    field = dataclasses.replace(FIELD, arms=(arm,), object_velocity=velocity, object_time=0.5)
    settings = ControlParameters()
    session = ControlSession(ROBOT, settings, field)
    session.start(1.0, START, check=False)
    session.cycle(1.0, START, REST)
    session.events.notify_impact(1.0, 1.0, anywhere=True)
    ante, post = field.ante_impact(), session.field.post_impact()
    tool = base_placement(TASK.arms[0]).act(ROBOT.placement(START).translation)
    place = tool.copy()
    for k in range(1, 21):
        time = 1.0 + 1e-3 * k
        command = session.cycle(time, START, REST)
        shift = (time - 0.5) * velocity
        before = ante.acceleration(tool - shift) + settings.track_stiffness * (place - tool)
        centre = command.object_position
        after = post.acceleration(centre) + settings.track_damping * post.velocity(centre)
        expected = (1.0 - command.blend) * before + command.blend * after
        np.testing.assert_allclose(command.target_acceleration[0, :3], expected, atol=1e-6)
        place += settings.period * (ante.velocity(place - shift) + velocity)
    assert command.mode is Mode.INTERIM and 0.1 < command.blend < 0.9
