"""The local law: the controller's torque and its derivatives, and who applies it between two messages."""

import dataclasses
import functools

import law_contract
import numpy as np
import pytest

from impact_aware.control import ControlParameters, ControlSession, Mode, SafeReason
from impact_aware.control.controller import ReferenceSpreadingController
from impact_aware.control.local_law import LawFollower, LawSource, LocalLaw
from impact_aware.control.qp import Regime
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.task import base_placement, load_task, make_field, start_posture
from impact_aware.task.arms import robots_of_task

PANDA = RobotModel.from_profile("panda")
AFTER = np.array([0.1, -0.3, 0.02])
STEP = 1e-6


@functools.cache
def world(name):
    task = load_task(name)
    robots = robots_of_task(task)
    start = np.concatenate([start_posture(a, r) for a, r in zip(task.arms, robots, strict=True)])
    # Within the paper's radius the field after the impact is constant; what is across changes with the object's place.
    field = dataclasses.replace(make_field(task, robots), post_sideways_radius=0.1)
    return task, robots, field, start


def session_at(name, mode, cycles, shift=0.0, speed=0.0, drift=0.1, beside=None, **gains):
    """A session that has answered a slow drift of all joints, the last state moved by `shift` and `speed`."""
    task, robots, field, start = world(name)
    session = ControlSession(robots, ControlParameters(**gains), field, [base_placement(arm) for arm in task.arms])
    session.start(1.0, start, check=False)
    velocity = drift * np.random.default_rng(3).normal(size=start.size)
    for k in range(1, cycles + 1):
        last = k == cycles
        q, dq = start + 1e-3 * k * velocity + last * shift, velocity + last * speed
        session.cycle(1.0 + 1e-3 * k, q, dq)
        if k == cycles // 2 and mode in (Mode.INTERIM, Mode.POST):
            for arm in range(len(robots)):
                now = 1.0 + 1e-3 * k
                session.events.notify_impact(now, now, AFTER, arm=arm, sequence=arm + 1, anywhere=True)
        if beside is not None and k == cycles // 2 + 10:
            assert session.see_object(1.0 + 1e-3 * k, session.command.object_position + beside)
        if k == cycles // 2 and mode is Mode.HOLD:
            session.hold()
        if k == cycles // 2 and mode is Mode.SAFE:
            session.safe_stop(SafeReason.REQUESTED, "wanted")
    assert session.command.mode is mode
    return session


def differences(name, mode, cycles, **more):
    """Central differences of the torque (n,) that the session sends, by positions and by velocities."""
    n = world(name)[3].size
    found = np.empty((2, n, n))
    for kind, column in np.ndindex(2, n):
        ends = []
        for sign in (1.0, -1.0):
            moved = np.zeros((2, n))
            moved[kind, column] = sign * STEP
            ends.append(session_at(name, mode, cycles, *moved, **more).command.effort)
        found[kind, :, column] = (ends[0] - ends[1]) / (2.0 * STEP)
    return found


CASES = [
    ("hit_and_push", Mode.ANTE, 40, {}),
    ("hit_and_push", Mode.INTERIM, 190, {}),
    ("hit_and_push", Mode.POST, 160, {"interim_duration": 0.05}),
    ("hit_and_push", Mode.POST, 160, {"interim_duration": 0.05, "beside": [0.005, 0.0, 0.0]}),
    ("hit_and_push", Mode.SAFE, 300, {"drift": 1e-3}),
    ("hit_and_push", Mode.HOLD, 300, {"drift": 1e-3}),
    ("dual_arm_grab", Mode.ANTE, 40, {"drift": 0.02}),
    ("dual_arm_grab", Mode.INTERIM, 150, {"drift": 0.02}),
    ("dual_arm_grab", Mode.POST, 160, {"drift": 0.2, "interim_duration": 0.05}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mode", "cycles", "more"), CASES)
def test_a_law_is_the_sessions_torque_and_its_first_order_change(name, mode, cycles, more):
    by_position, by_velocity = differences(name, mode, cycles, **more)
    session = session_at(name, mode, cycles, **more)
    laws, first = LawSource(session).laws(), 0
    for law, robot in zip(laws, session.robots, strict=True):
        part = slice(first, first + robot.n)
        first += robot.n
        np.testing.assert_array_equal(law.torque(law.position, law.velocity, law.stamp), session.command.effort[part])
        np.testing.assert_allclose(-law.position_gain, by_position[part, part], atol=2e-5)
        np.testing.assert_allclose(-law.velocity_gain, by_velocity[part, part], atol=2e-5)
        assert np.abs(law.velocity_gain).max() > 0.5


@pytest.mark.parametrize(("name", "mode", "cycles", "more"), CASES)
def test_a_law_changes_with_time_as_the_session_does(name, mode, cycles, more):
    session = session_at(name, mode, cycles, **more)
    before, answer = session.command, session.torque_derivatives()[0]
    laws, first = LawSource(session).laws(), 0
    # The same state again, two periods later than the last one: what changes is what time alone does.
    for k in (1, 2):
        after = session.cycle(before.time + 1e-3 * k, answer.q, answer.dq)
    assert after.mode is mode
    # The ramp of the start and gamma change with time, the field after the impact does not.
    least = 0.01 if mode in (Mode.ANTE, Mode.INTERIM) else 0.0
    for law, robot in zip(laws, session.robots, strict=True):
        part = slice(first, first + robot.n)
        first += robot.n
        by_session = (after.effort - before.effort)[part]
        assert np.abs(by_session).max() >= least
        by_law = law.torque(law.position, law.velocity, after.time) - law.effort
        np.testing.assert_allclose(by_law, by_session, rtol=0.01, atol=1e-9 + 0.1 * least)


@pytest.mark.parametrize(("name", "mode", "cycles", "more"), CASES[:4] + CASES[6:])
def test_a_law_is_that_of_its_command_also_when_the_arm_was_stopped_since_then(name, mode, cycles, more):
    session = session_at(name, mode, cycles, **more)
    laws = LawSource(session).laws()
    session.safe_stop(SafeReason.REQUESTED, "judged once the command was out")
    for law, again in zip(laws, LawSource(session).laws(), strict=True):
        assert again.mode is law.mode is mode
        for part in ("effort", "effort_rate", "position_gain", "velocity_gain"):
            np.testing.assert_array_equal(getattr(again, part), getattr(law, part))


@pytest.mark.slow
def test_active_bounds_are_held():
    """States close to position limits and velocity limits, with torque bounds of the law's own limits."""
    task, robots, field, start = world("hit_and_push")
    limits, still = robots[0].limits, np.zeros(7)
    controller = ReferenceSpreadingController(robots, ControlParameters(), field, [base_placement(task.arms[0])])
    generator, seen, changing = np.random.default_rng(0), set(), 0.0

    def answer(q, dq, time=1.3):
        controller.reset()
        controller.start(1.0, start, still)
        return controller.update(time, q, dq).effort

    for k in range(60):
        q, dq = start.copy(), 0.3 * generator.normal(size=7)
        joint, left = int(generator.integers(7)), generator.choice([0.004, 0.02, 0.05])
        if k % 2:
            q[joint] = limits.position_upper[joint] - left
        else:
            dq[joint] = 0.98 * limits.velocity[joint]
        answer(q, dq)
        if controller.regime not in (Regime.ONE_ACTIVE, Regime.MANY_ACTIVE):
            continue
        _, (found,) = controller.torque_derivatives()
        rows = controller._solver.active_rows(0)
        seen |= {("position", "velocity", "torque")[row // 2] for row, _ in rows}
        for step, by_q, by_dq in zip(STEP * np.eye(7), found.by_position.T, found.by_velocity.T, strict=True):
            by_differences = (answer(q + step, dq) - answer(q - step, dq)) / (2.0 * STEP)
            np.testing.assert_allclose(by_q, by_differences, rtol=1e-4, atol=2e-2)
            by_differences = (answer(q, dq + step) - answer(q, dq - step)) / (2.0 * STEP)
            np.testing.assert_allclose(by_dq, by_differences, rtol=1e-4, atol=2e-2)
        by_differences = (answer(q, dq, 1.301) - answer(q, dq)) / 1e-3
        np.testing.assert_allclose(found.by_time, by_differences, rtol=0.05, atol=0.2)
        changing = max(changing, np.abs(found.by_time).max())
        assert all(np.abs(found.by_position[number]).max() < 1e-6 for row, number in rows if row >= 4)
    assert seen == {"position", "velocity", "torque"}
    assert changing > 10.0


def test_laws_that_are_made_change_nothing_of_what_the_session_does():
    efforts = []
    for makes_laws in (True, False):
        session = session_at("hit_and_push", Mode.INTERIM, 100)
        source, answer = LawSource(session, rate=1000.0), session.torque_derivatives()[0]
        for k in range(1, 10):
            session.cycle(1.1 + 1e-3 * k, answer.q, answer.dq)
            if makes_laws:
                assert source.laws()
        efforts.append(session.command.effort)
    np.testing.assert_array_equal(*efforts)


def test_velocity_has_no_say_where_the_jump_is():
    before = LawSource(session_at("hit_and_push", Mode.ANTE, 90)).laws()[0].velocity_gain
    jump = LawSource(session_at("hit_and_push", Mode.INTERIM, 4)).laws()[0].velocity_gain
    # gamma is 0.02 two cycles after the impact.
    assert np.linalg.norm(jump) < 0.03 * np.linalg.norm(before)


def test_laws_come_at_their_rate_and_at_once_with_another_mode():
    session, stamps = session_at("hit_and_push", Mode.ANTE, 10), []
    source = LawSource(session, rate=250.0)
    start = world("hit_and_push")[3]
    for k in range(11, 40):
        if k == 26:
            session.events.notify_impact(1.0 + 1e-3 * k, 1.0 + 1e-3 * k, AFTER, arm=0, sequence=1, anywhere=True)
        session.cycle(1.0 + 1e-3 * k, start, np.zeros(7))
        stamps += [(k, law.sequence, law.mode) for law in source.laws()]
    assert [k for k, *_ in stamps] == [11, 15, 19, 23, 26, 30, 34, 38]
    assert [number for _, number, _ in stamps] == list(range(1, 9))
    assert stamps[3][2] is Mode.ANTE
    assert stamps[4][2] is Mode.INTERIM


# Who applies a law


def made(**changes):
    """A law of 50 ms whose derivatives differ from joint to joint and are not symmetric."""
    n = PANDA.n
    values = {
        "effort_rate": 1.5 - np.arange(n),
        "position_gain": np.diag(np.arange(1.0, n + 1.0)) + 0.5 * np.eye(n, k=1),
        "velocity_gain": 0.2 * np.eye(n) + 0.1 * np.eye(n, k=-1),
        "velocity": np.linspace(-0.1, 0.2, n),
        "validity": 0.05,
        "sequence": 3,
    }
    return law_contract.made(PANDA, **(values | changes))


def test_the_torque_of_a_law_by_hand():
    names = ("a", "b")
    law = LocalLaw(
        names,
        np.array([1.0, -2.0]),
        np.array([20.0, -30.0]),
        np.array([[10.0, 2.0], [0.0, 5.0]]),
        np.array([[3.0, 0.0], [1.0, 4.0]]),
        np.array([0.5, -0.5]),
        np.array([0.1, 0.2]),
        *(1.0, 0.05, 1, Mode.POST),
    )
    # 1 + 10 (0.5 - 0.4) + 2 (-0.5 + 0.7) + 3 (0.1 - 0.3); -2 + 5 (-0.5 + 0.7) + (0.1 - 0.3) + 4 (0.2 - 0.6)
    torque = law.torque(np.array([0.4, -0.7]), np.array([0.3, 0.6]), 1.0)
    np.testing.assert_allclose(torque, [1.0 + 1.0 + 0.4 - 0.6, -2.0 + 1.0 - 0.2 - 1.6])
    # 10 ms later; a clock that lags behind the stamps does not lead back.
    later = law.torque(np.array([0.4, -0.7]), np.array([0.3, 0.6]), 1.01)
    np.testing.assert_allclose(later - torque, [0.2, -0.3])
    np.testing.assert_array_equal(law.torque(np.array([0.4, -0.7]), np.array([0.3, 0.6]), 0.99), torque)


def test_a_follower_applies_its_law_and_damps_when_validity_is_over():
    follower, q = LawFollower(PANDA), PANDA.home + 0.01 * np.arange(7)
    dq = np.linspace(0.3, -0.2, 7)
    follower.receive(made())
    for k in range(49):
        torque = follower.apply(q, dq, 5.001 + 1e-3 * k)
    assert not follower.expired
    np.testing.assert_allclose(torque, made().torque(q, dq, 5.049))
    for k in range(60):
        torque = follower.apply(q, dq, 5.0501 + 1e-3 * k)
    assert follower.expired
    # The damping of 10 / s, and at most 15 N m of the hold that helps it.
    helped = torque - PANDA.bias(q, dq) + 10.0 * PANDA.mass_matrix(q) @ dq
    assert 0.1 < np.abs(helped).max() <= 15.0 + 1e-9 and dq @ helped < 0.0


def test_what_is_sent_keeps_to_the_torque_rate_and_the_torque_limit():
    follower = LawFollower(PANDA)
    follower.receive(made(effort=np.full(7, 500.0), validity=0.4))
    # The Panda adds gravity itself: what it is sent begins at zero, and changes by 1 N m per period at most.
    before = np.zeros(7)
    for k in range(100):
        follower.apply(PANDA.home, np.zeros(7), 5.0 + 1e-3 * k)
        sent = follower.filter.previous
        assert np.abs(sent - before).max() <= 1.0 + 1e-9
        before = sent
    assert np.all(follower.filter.effort <= PANDA.limits.effort)
    assert follower.filter.effort[4] == pytest.approx(12.0)


def test_without_a_law_an_arm_is_damped_with_gravity_compensated():
    follower = LawFollower(PANDA)
    torque = follower.apply(PANDA.home, np.zeros(7), 5.0)
    assert follower.expired
    np.testing.assert_allclose(torque, PANDA.gravity(PANDA.home))


def test_an_arm_without_a_law_holds_its_posture_until_the_next_law():
    follower, q, still = LawFollower(PANDA), PANDA.home + 0.01 * np.arange(7), np.zeros(7)

    def settled(q, begin):
        for k in range(60):
            torque = follower.apply(q, still, begin + 1e-3 * k)
        return torque

    settled(q, 1.0)
    away = q + np.array([0.001, -0.002, 0.0, 0.001, 0.002, -0.003, 0.004])
    held = PANDA.gravity(away) + 800.0 * PANDA.mass_matrix(away) @ (q - away)
    np.testing.assert_allclose(settled(away, 1.06), held)
    follower.receive(made(stamp=1.12))
    settled(away, 1.1201)
    # What was held before the law is forgotten.
    np.testing.assert_allclose(settled(away, 1.2), PANDA.gravity(away))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"effort": np.array([np.nan] * 7)}, "law.effort: got numbers that are not finite, expected finite numbers"),
        ({"velocity_gain": np.full((7, 7), np.inf)}, "law.velocity_gain: got numbers that are not finite"),
        *(
            ({name: np.append(np.zeros(6), value)}, f"law.{name}: got numbers that are not finite")
            for name, value in (("effort_rate", np.nan), ("position", -np.inf), ("velocity", np.nan))
        ),
        ({"position_gain": np.diag([0.0] * 6 + [np.nan])}, "law.position_gain: got numbers that are not finite"),
        ({"position": np.zeros(6)}, "law.position: got (6,), expected shape (7,), as the law has 7 joints"),
        ({"validity": 0.0}, "law.validity: got 0.0, expected 0.002..0.5 s"),
        ({"validity": 10.0}, "law.validity: got 10.0, expected 0.002..0.5 s"),
        ({"stamp": np.inf}, "law.stamp: got inf"),
    ],
)
def test_what_is_no_law_is_refused(changes, sentence):
    with pytest.raises(InvalidInputError) as error:
        made(**changes)
    assert sentence in str(error.value)


def test_a_law_for_other_joints_or_an_old_one_is_refused_and_changes_nothing():
    follower = LawFollower(PANDA)
    follower.receive(made())
    follower.apply(PANDA.home, np.zeros(7), 5.001)
    others = made(joint_names=tuple(f"left_{name}" for name in PANDA.joint_names), sequence=9)
    for law, sentence in (
        (others, "law.joint_names"),
        (made(stamp=5.004), "law.sequence: got 3, expected more than 3"),
    ):
        with pytest.raises(InvalidInputError, match=sentence):
            follower.receive(law)
        assert follower.law.stamp == 5.0
    # A controller that was started anew counts anew: its law is followed once the old one is over.
    follower.apply(PANDA.home, np.zeros(7), 5.2)
    follower.receive(made(sequence=1, stamp=5.2))
    follower.apply(PANDA.home, np.zeros(7), 5.201)
    assert not follower.expired


@pytest.mark.parametrize(
    ("rate", "validity", "sentence"),
    [
        (0.0, 0.05, "law_rate: got 0.0, expected 50..1000 Hz"),
        (250.0, 10.0, "law_validity: got 10.0"),
        (250.0, 0.004, "law_validity: got 0.004, expected 0.008 s or more"),
    ],
)
def test_a_source_refuses_what_no_arm_can_be_controlled_with(rate, validity, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        LawSource(ControlSession(PANDA), rate, validity)


def test_a_law_without_an_answer_holds_gravity_and_damps():
    session = session_at("hit_and_push", Mode.ANTE, 20)
    session.cycle(1.021, np.full(7, np.nan), np.zeros(7))
    (law,) = LawSource(session).laws()
    assert law.mode is Mode.SAFE
    assert not law.position_gain.any()
    np.testing.assert_allclose(law.velocity_gain, 10.0 * PANDA.mass_matrix(law.position), rtol=1e-9)
    assert dataclasses.replace(law, sequence=5).sequence == 5
