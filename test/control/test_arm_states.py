"""States of several arms made into one: which stamps belong together, who is waited for, and what is missing."""

import math

import numpy as np
import pytest

from impact_aware.control.arm_states import ArmStates
from impact_aware.control.command import SafeReason
from impact_aware.robot.joint_reader import JointReader

PERIOD = 0.002
LEFT, RIGHT = ("a", "b"), ("c", "d", "e")


class Arms:
    """Arm states with a clock that the test sets."""

    def __init__(self, *names, topics=None):
        self.now = 100.0
        readers = [JointReader(each) for each in names or (LEFT, RIGHT)]
        self.states = ArmStates(readers, topics, period=PERIOD, clock=lambda: self.now)

    def take(self, arm, stamp, first=0.0, effort=()):
        """One message whose positions count up from `first` and whose velocities are ten times as large."""
        reader = self.states.readers[arm]
        position = first + np.arange(len(reader.joint_names))
        assert not reader.take(stamp, reader.joint_names, position, 10.0 * position, effort)
        return self.states.receive(arm)


def test_before_anything_came_nothing_is_known():
    arms = Arms()
    assert not arms.states.complete and arms.states.time == arms.states.oldest == -math.inf
    assert np.isnan([arms.states.position, arms.states.velocity, arms.states.effort]).all()
    assert arms.states.position.shape == (5,)
    assert arms.states.silence() == (math.inf, 0)
    assert arms.states.refusal(0.1) == "no joint_states yet"
    assert arms.states.alive and arms.states.rejected == 0


def test_the_state_of_all_arms_has_each_ones_numbers_in_its_place():
    arms = Arms()
    assert not arms.take(0, 1.0, first=5.0, effort=[0.1, 0.2])
    assert not arms.states.complete
    assert arms.take(1, 1.0004, first=-1.0, effort=[0.3, 0.4, 0.5])
    assert arms.states.complete
    np.testing.assert_array_equal(arms.states.position, [5.0, 6.0, -1.0, 0.0, 1.0])
    np.testing.assert_array_equal(arms.states.velocity, [50.0, 60.0, -10.0, 0.0, 10.0])
    np.testing.assert_array_equal(arms.states.effort, [0.1, 0.2, 0.3, 0.4, 0.5])
    assert (arms.states.time, arms.states.oldest) == (1.0004, 1.0)
    assert arms.states.largest_speed == 60.0
    assert arms.states.velocity_measured


@pytest.mark.parametrize(("apart", "together"), [(0.59, True), (-0.59, True), (0.61, False), (-0.61, False)])
def test_stamps_within_six_tenths_of_a_period_belong_together(apart, together):
    arms = Arms()
    arms.take(0, 1.0)
    assert arms.take(1, 1.0 + apart * PERIOD) is together
    # The next one of the arm that is behind may fit.
    assert arms.take(0 if apart > 0.0 else 1, 1.0 + max(apart, 0.0) * PERIOD) is not together


def test_every_state_is_used_once():
    arms = Arms()
    arms.take(0, 1.0)
    assert arms.take(1, 1.0)
    assert not arms.take(1, 1.0)
    assert arms.take(0, 1.0)


def test_a_single_arm_needs_no_partner():
    arms = Arms(RIGHT)
    assert arms.take(0, 3.0, first=2.0)
    assert (arms.states.time, arms.states.oldest) == (3.0, 3.0)
    np.testing.assert_array_equal(arms.states.position, [2.0, 3.0, 4.0])
    assert np.isnan(arms.states.effort).all()
    arms.now += 0.2
    assert [entry.arm for entry in arms.states.overdue(0.1)] == [0]
    arms.take(0, 3.002)
    assert arms.states.overdue(0.1) == []


def test_the_quietest_arm_is_named_with_how_long_it_has_been_silent():
    arms = Arms(topics=["left/joint_states", "right/joint_states"])
    arms.take(1, 1.0)
    assert arms.states.silence() == (math.inf, 0)
    assert arms.states.refusal(0.1) == "no left/joint_states yet"
    arms.now += 0.05
    arms.take(0, 1.5)
    arms.now += 0.01
    silence, arm = arms.states.silence()
    assert (silence, arm) == (pytest.approx(0.06), 1)
    assert arms.states.refusal(0.06 + 1e-9) == "no joint_states of all arms with nearly the same stamp yet"
    assert arms.states.refusal(0.06 - 1e-9) == "the last right/joint_states came 0.06 s ago"
    arms.take(1, 1.5)
    assert arms.states.refusal(0.1) == "a joint moves at 20.00 rad/s: a motion begins at rest"


def test_an_arm_may_be_silent_for_all_of_the_timeout():
    arms = Arms(RIGHT)
    arms.take(0, 1.0)
    arms.now += 0.25
    assert arms.states.refusal(0.25).startswith("a joint moves") and arms.states.overdue(0.25) == []
    assert arms.states.refusal(0.249).startswith("the last joint_states") and arms.states.overdue(0.249)


def test_messages_without_velocities_let_no_motion_begin():
    arms = Arms()
    arms.take(0, 1.0)
    reader = arms.states.readers[1]
    reader.take(1.0, reader.joint_names, np.zeros(3), (), ())
    assert arms.states.receive(1)
    assert not arms.states.velocity_measured
    assert arms.states.refusal(0.1) == "joint_states have no velocities"


def test_messages_that_were_not_usable_are_counted_over_all_arms():
    arms = Arms()
    for arm, times in ((0, 2), (1, 3)):
        reader = arms.states.readers[arm]
        for _ in range(times):
            reader.take(1.0, ("x",), [0.0], [0.0], ())
    assert arms.states.rejected == 5


def test_arms_that_fall_silent_are_overdue_each_with_its_reason():
    arms = Arms(topics=["left/joint_states", "right/joint_states"])
    arms.take(0, 1.0)
    arms.take(1, 1.0)
    arms.now += 0.03
    arms.take(0, 1.03)
    arms.now += 0.08
    assert arms.states.overdue(0.1101) == []
    (late,) = arms.states.overdue(0.1)
    assert (late.arm, late.reason) == (1, SafeReason.STATE_STALE)
    assert late.detail == "no usable right/joint_states for 0.11 s"
    reader = arms.states.readers[0]
    reader.take(1.1, ("b",), [0.0], [0.0], ())
    arms.now += 0.1
    first, second = arms.states.overdue(0.1)
    assert (first.arm, first.reason, first.detail) == (0, SafeReason.JOINT_MISSING, "left/joint_states lack a")
    assert second.arm == 1


def test_arms_that_are_alive_but_never_fit_are_overdue_together():
    arms = Arms()
    arms.take(0, 1.0)
    arms.take(1, 1.0)
    for _ in range(3):
        arms.now += 0.05
        arms.take(0, 1.0)
        arms.take(1, 7.0)
    assert arms.states.overdue(0.1501) == []
    (found,) = arms.states.overdue(0.14)
    assert (found.arm, found.reason) == (None, SafeReason.STATE_STALE)
    assert found.detail == "the states of the arms have not come in pairs for 0.15 s"


def test_an_excluded_arm_stands_still_where_it_was_until_it_is_back():
    arms = Arms()
    arms.take(0, 1.0, first=5.0)
    arms.take(1, 1.0, first=1.0)
    arms.states.exclude(1)
    np.testing.assert_array_equal(arms.states.velocity, [50.0, 60.0, 0.0, 0.0, 0.0])
    assert arms.states.alive
    assert arms.take(0, 1.002, first=6.0)
    assert (arms.states.time, arms.states.oldest) == (1.002, 1.002)
    np.testing.assert_array_equal(arms.states.position, [6.0, 7.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(arms.states.velocity, [60.0, 70.0, 0.0, 0.0, 0.0])
    arms.states.exclude(0)
    assert not arms.states.alive
    np.testing.assert_array_equal(arms.states.velocity, 0.0)
    # Back again, the other one being excluded still; then both are waited for.
    assert arms.take(1, 1.004)
    assert not arms.take(0, 1.006) and arms.take(1, 1.006)
