"""Touches in signals made by hand: how strong, how long, and how still the arm has to be."""

import dataclasses

import numpy as np
import pytest

from impact_aware.detection.momentum_observer import threshold_of
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.touches import Touch, TouchFinder
from impact_aware.robot import RobotModel

ROBOT = RobotModel.from_profile("panda")
JOINT = 1
TIMES = 5.0 + 0.001 * np.arange(4000)
OFFSET = np.array([0.5, 20.0, -0.3, 0.4, 0.1, -0.2, 0.1])
"""Error of the model's gravity, N m."""


def touches(*pushes, motions=(), robot=ROBOT, step=np.inf, end=np.inf):
    """What is found of pushes (begin, duration, share of the threshold) and motions (begin, duration, speed).

    The clock steps by 37 s at `step`, and the recording ends at `end`, both s after its begin.
    """
    since = TIMES - TIMES[0]
    positions = np.tile(ROBOT.home, (len(TIMES), 1))
    for begin, duration, speed in motions:
        positions[:, JOINT] += speed * np.clip(since - begin, 0.0, duration)
    efforts = np.array([ROBOT.gravity(q) for q in positions]) + OFFSET
    for begin, duration, share in pushes:
        efforts[(since >= begin) & (since < begin + duration), JOINT] += share * threshold_of(ROBOT)[JOINT]
    finder = TouchFinder(robot)
    times = TIMES + np.where(since >= step, 37.0, 0.0)
    for part in np.array_split(np.flatnonzero(since < end), 7):
        finder.feed(ArmSamples(times[part], positions[part], None, efforts[part]))
    return finder.touches()


def test_a_push_has_its_time_torque_and_force():
    (touch,) = touches((1.014, 0.404, -2.0))
    assert (touch.begin, touch.end) == pytest.approx((6.014, 6.418), abs=0.011)
    assert touch.joint == JOINT and touch.torque == pytest.approx(2.0 * threshold_of(ROBOT)[JOINT], rel=1e-6)
    # The arm is pushed along the force that balances the torque at that joint best.
    jacobian = ROBOT.frame_jacobian(ROBOT.home)[:3]
    torque = np.eye(7)[JOINT] * touch.torque
    assert touch.force == pytest.approx(np.linalg.norm(np.linalg.lstsq(jacobian.T, torque, rcond=None)[0]))


@pytest.mark.parametrize(
    ("duration", "share", "found"), [(0.4, 0.9, 0), (0.4, 1.1, 1), (0.09, 2.0, 0), (0.15, 2.0, 1)]
)
def test_a_touch_is_stronger_than_the_threshold_and_longer_than_a_swing(duration, share, found):
    assert len(touches((1.0, duration, share))) == found


def test_a_touch_begins_and_ends_at_half_the_threshold():
    (touch,) = touches((1.0, 0.2, 0.45), (1.2, 0.2, 0.55), (1.4, 0.2, 2.0))
    assert touch.begin == pytest.approx(6.2, abs=0.011)


@pytest.mark.parametrize(
    ("speed", "duration", "found"), [(0.06, 2.0, 1), (0.15, 2.0, 0), (0.3, 0.2, 1), (0.3, 0.5, 0)]
)
def test_a_moving_arm_is_not_touched_but_a_touched_one_may_give_way(speed, duration, found):
    begin = 1.0 + 0.5 * (2.0 - duration)
    assert len(touches((begin, duration, 2.0), motions=[(begin, duration, speed)])) == found


@pytest.mark.parametrize("cut", ["step", "end"])
def test_where_samples_end_in_a_motion_the_arm_does_not_rest(cut):
    """Its torques are those of the motion, and no push on an arm that gives way."""
    assert touches((1.0, 0.4, 2.0), motions=[(1.0, 1.0, 0.5)], **{cut: 1.2}) == []
    assert len(touches((0.5, 0.4, 2.0), motions=[(1.0, 1.0, 0.5)], **{cut: 1.2})) == 1


def test_efforts_that_no_profile_calls_torques_are_no_touches():
    currents = RobotModel.from_profile(dataclasses.replace(ROBOT.profile, effort_kind="current"))
    without = RobotModel.from_urdf(ROBOT.profile.urdf)
    assert touches((1.0, 0.4, 2.0), robot=currents) == touches((1.0, 0.4, 2.0), robot=without) == []
    assert touches((1.0, 0.4, 2.0), robot=None) == []


@pytest.mark.parametrize(("time", "covered"), [(5.6, False), (5.8, True), (6.45, True), (6.6, False)])
def test_what_happens_just_before_and_after_belongs_to_a_touch(time, covered):
    assert Touch(6.0, 6.4, JOINT, 9.0, 20.0).covers(time) == covered
