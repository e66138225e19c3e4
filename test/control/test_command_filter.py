"""The last word on torque: finite, within limit and rate, in the arm's own convention, with one memory."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.control import ControlSession
from impact_aware.control.command import SafeReason
from impact_aware.control.safety.command_filter import CommandFilter
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel, load_profile
from impact_aware.robot.safety_limits import SafetyLimits

PERIOD = 0.001
PROFILE = load_profile("panda")
WITHOUT_GRAVITY = RobotModel.from_profile(dataclasses.replace(PROFILE, command_includes_gravity=False))
WHOLE = RobotModel.from_profile(dataclasses.replace(PROFILE, command_includes_gravity=True))
N = WHOLE.n
LIMIT = np.array([10.0, 20.0, 5.0, 30.0, 12.0, 7.0, 9.0])
STEP = np.array([1.0, 2.0, 0.5, 1.5, 1.0, 0.7, 0.9])
GRAVITY = np.array([0.0, -8.0, 1.0, 11.0, 0.5, -2.0, 0.1])
NAMES = WHOLE.joint_names
anything = st.floats(allow_nan=True, allow_infinity=True)


def made(*robots: RobotModel) -> CommandFilter:
    limits = [SafetyLimits.of(robot, effort=LIMIT, effort_rate=STEP / PERIOD) for robot in robots]
    return CommandFilter(robots, PERIOD, limits)


@given(
    st.lists(st.lists(anything, min_size=N, max_size=N), min_size=1, max_size=15),
    st.booleans(),
    st.floats(min_value=-1.0, max_value=1.0),
)
@settings(max_examples=200)
def test_what_is_sent_is_finite_and_within_both_limits_whatever_is_wanted(wanted, whole, change):
    own = made(WHOLE if whole else WITHOUT_GRAVITY)
    own.begin(GRAVITY)
    gravity = GRAVITY.copy()
    for effort in wanted:
        before = own.previous
        own.apply(np.array(effort), gravity)
        assert np.isfinite(own.previous).all()
        assert np.all(np.abs(own.previous) <= LIMIT)
        # Rounding of sums of some 10 N m.
        assert np.all(np.abs(own.previous - before) <= STEP + 1e-12)
        np.testing.assert_allclose(own.effort, own.previous + (0.0 if whole else 1.0) * gravity, atol=1e-12)
        gravity = gravity + change * np.arange(N)


def test_an_arm_that_adds_gravity_is_sent_what_is_left_of_the_whole_torque():
    own = made(WITHOUT_GRAVITY)
    own.begin(GRAVITY)
    np.testing.assert_array_equal(own.previous, np.zeros(N))
    wanted = GRAVITY + 0.4 * STEP * np.array([1, -1, 1, -1, 1, -1, 1])
    assert own.apply(wanted, GRAVITY) is None
    np.testing.assert_allclose(own.previous, wanted - GRAVITY, atol=1e-12)
    np.testing.assert_allclose(own.effort, wanted, atol=1e-12)
    assert own.interventions == 0


def test_the_rate_is_that_of_what_is_sent_when_gravity_changes():
    own = made(WITHOUT_GRAVITY)
    own.begin(GRAVITY)
    # The whole torque follows gravity by more than a step, and what is sent does not change at all.
    moved = 0.5 * GRAVITY
    own.apply(moved, moved)
    np.testing.assert_allclose(own.previous, np.zeros(N), atol=1e-12)
    assert own.interventions == 0


@pytest.mark.parametrize("robot", [WHOLE, WITHOUT_GRAVITY])
def test_its_range_is_what_passes_unchanged_and_nothing_more(robot):
    own = made(robot)
    own.begin(GRAVITY)
    for sign in (-1.0, 1.0):
        for _ in range(40):
            lower, upper = (bound.copy() for bound in own.range(GRAVITY))
            assert np.all(lower <= upper)
            edge = upper if sign > 0 else lower
            assert own.apply(edge, GRAVITY) is None
            np.testing.assert_allclose(own.effort, edge, atol=1e-12)
        assert own.interventions == 0
        # Both the whole torque and what is sent have come to a limit, whichever is nearer.
        carried = 0.0 if robot is WHOLE else 1.0
        nearest = np.minimum(LIMIT - sign * own.effort, LIMIT - sign * own.previous)
        np.testing.assert_allclose(nearest, 0.0, atol=1e-9)
        np.testing.assert_allclose(own.effort - own.previous, carried * GRAVITY, atol=1e-12)
        own.apply(edge + sign * 0.01, GRAVITY)
        assert own.interventions == 1
        own.interventions = 0


def test_the_limits_of_what_is_sent_win_where_gravity_alone_is_beyond_the_torque_limit():
    own = made(WITHOUT_GRAVITY)
    own.begin(GRAVITY)
    heavy = GRAVITY + np.eye(N)[2] * 20.0
    lower, upper = own.range(heavy)
    assert np.all(lower <= upper)
    own.apply(np.zeros(N), heavy)
    assert own.previous[2] == pytest.approx(-STEP[2])


def test_interventions_count_commands_that_were_changed_and_nothing_below_the_solvers_accuracy():
    own = made(WHOLE)
    own.begin(np.zeros(N))
    own.apply(STEP + 5e-4, np.zeros(N))
    assert own.interventions == 0
    own.apply(2.0 * STEP + 2e-3, np.zeros(N))
    own.apply(np.full(N, np.nan), np.zeros(N))
    assert own.interventions == 2


def test_an_entry_that_is_not_finite_keeps_its_last_command():
    own = made(WITHOUT_GRAVITY)
    own.begin(GRAVITY)
    own.apply(GRAVITY + 0.5 * STEP, GRAVITY)
    before = own.previous
    own.apply(np.where(np.arange(N) == 3, np.nan, GRAVITY), GRAVITY + 1.0)
    assert own.previous[3] == before[3]


@pytest.mark.parametrize(
    ("joint", "value", "reason", "sentence"),
    [
        (4, np.nan, SafeReason.NON_FINITE, f"the torque of {NAMES[4]} was to be nan"),
        (1, -25.0, SafeReason.TORQUE_LIMIT, f"{NAMES[1]} was to get -25 N m, not up to 20"),
        (3, 4.5, SafeReason.TORQUE_RATE_LIMIT, f"{NAMES[3]} was to change by 4.5 N m at once, not by up to 1.5"),
    ],
)
def test_what_no_solver_can_have_meant_is_reported_where_wanted(joint, value, reason, sentence):
    wanted = np.zeros(N)
    wanted[joint] = value
    for report in (True, False):
        own = made(WHOLE)
        own.begin(np.zeros(N))
        found = own.apply(wanted, np.zeros(N), report=report)
        if report:
            assert found.reason is reason and found.detail.endswith(sentence)
        else:
            assert found is None
        assert np.all(np.abs(own.previous) <= STEP)


def test_up_to_one_step_beyond_the_limits_is_cut_without_a_word():
    own = made(WHOLE)
    own.begin(np.zeros(N))
    assert own.apply(1.9 * STEP, np.zeros(N), report=True) is None
    np.testing.assert_allclose(own.previous, STEP)
    assert own.apply(3.1 * STEP, np.zeros(N), report=True).reason is SafeReason.TORQUE_RATE_LIMIT


def test_it_begins_within_the_limits_whatever_it_is_given():
    own = made(WHOLE)
    own.begin(np.array([np.nan, 100.0, -100.0, 1.0, np.inf, 0.0, -9.5]))
    np.testing.assert_array_equal(own.previous, [0.0, 20.0, -5.0, 1.0, 0.0, 0.0, -9.0])


def test_limits_are_one_per_arm():
    with pytest.raises(InvalidInputError, match="limits: got 1, expected 2, one per arm"):
        CommandFilter([WHOLE, WHOLE], PERIOD, [SafetyLimits.of(WHOLE)])


@pytest.mark.parametrize("robot", [WHOLE, WITHOUT_GRAVITY])
def test_the_rate_counts_from_what_the_driver_applied(robot):
    """Commands that were lost are no steps that were taken: one cycle's step from what the driver has, not several."""
    own = made(robot)
    own.begin(GRAVITY)
    had = own.previous
    for _ in range(4):  # none of which reaches the driver
        own.apply(np.full(N, 100.0), GRAVITY)
    assert (own.previous > had + 2.0 * STEP).any()
    own.count_from(had)
    low, high = own.range(GRAVITY)
    assert np.all(high - low <= 2.0 * STEP + 1e-12)
    own.apply(np.full(N, 100.0), GRAVITY)
    assert np.all(np.abs(own.previous - had) <= STEP + 1e-12)


def test_joints_whose_torque_is_not_reported_count_from_the_last_command():
    own = made(WHOLE)
    own.begin(GRAVITY)
    own.count_from(np.where(np.arange(N) == 2, 1.5, np.nan))
    np.testing.assert_array_equal(own.previous, np.where(np.arange(N) == 2, 1.5, np.clip(GRAVITY, -LIMIT, LIMIT)))


def test_an_applied_torque_over_the_limit_counts_as_the_limit():
    own = made(WHOLE)
    own.begin(np.zeros(N))
    own.count_from(2.0 * LIMIT * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0]))
    np.testing.assert_array_equal(own.previous, LIMIT * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0]))


def test_a_session_counts_from_what_was_applied_after_lost_cycles():
    step, still = np.asarray(SafetyLimits.of(WITHOUT_GRAVITY).effort_rate) * PERIOD, np.zeros(N)
    session = ControlSession(WITHOUT_GRAVITY)
    # Guided by hand: the hold wants more with each state, by several steps in all.
    for k in range(40):
        q, applied = WITHOUT_GRAVITY.home + 1e-3 * k, None if k < 39 else still
        session.cycle(1.0 + k * PERIOD, q, still, applied=applied)
        sent = session.filter.previous
        if k == 38:
            assert (np.abs(sent) > 1.5 * step).any()
    assert np.all(np.abs(sent) <= step + 1e-12) and (np.abs(sent) > 0.9 * step).any()


def test_a_state_that_repeats_is_answered_with_the_last_command_whatever_was_applied():
    sent: list[np.ndarray] = []
    session = ControlSession(WITHOUT_GRAVITY, send=lambda command: sent.append(command.copy()))
    for k in (0, 1, 1):
        session.cycle(1.0 + k * PERIOD, WITHOUT_GRAVITY.home + 1e-3 * k, np.zeros(N), applied=np.full(N, -0.5 * k))
    np.testing.assert_array_equal(sent[1], sent[2])
