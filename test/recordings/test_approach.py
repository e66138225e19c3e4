"""Second contacts that an object's track excludes: it moves away faster than the tool follows."""

from types import SimpleNamespace

import numpy as np
import pytest

from impact_aware.estimation.object_motion import ObjectTrack
from impact_aware.recordings.approach import possible_contacts, separation
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.impact_finder import Find

TIME = 5.0
ALONG = np.array([0.6, 0.0, -0.8])


def samples(robot, speed):
    """The tool moves at a speed along `ALONG`, m/s."""
    times = TIME + np.arange(-0.1, 0.1, 0.002)
    rate = np.linalg.pinv(robot.frame_jacobian(robot.home)[:3]) @ (speed * ALONG)
    noise = 1e-5 * np.random.default_rng(1).standard_normal((len(times), robot.n))
    return ArmSamples(times, robot.home + (times - TIME)[:, None] * rate + noise)


def track(speed):
    times = TIME + np.arange(-0.1, 0.1, 0.005)
    noise = 1e-4 * np.random.default_rng(2).standard_normal((len(times), 3))
    return ObjectTrack(times, speed * (times - TIME)[:, None] * ALONG + noise, None, "by hand")


def find(robot, speed, cause="second_contact"):
    return Find(TIME, 4e-4, SimpleNamespace(), window=samples(robot, speed), cause=cause, evidence="a jump")


def test_an_object_that_is_faster_than_the_tool_is_not_touched(robot):
    away, tool = separation(track(0.4), robot, samples(robot, 0.2), TIME)
    assert (away, tool) == pytest.approx((0.4, 0.2), abs=0.02)
    (found,) = possible_contacts([find(robot, 0.2)], track(0.4), robot)
    assert found.cause == "ringing"
    assert found.evidence.startswith("no contact: the object moves away at 0.4")


@pytest.mark.parametrize(("of_object", "of_tool"), [(0.2, 0.4), (0.4, 0.39), (0.0, 0.2)])
def test_a_tool_that_may_catch_up_is_left_alone(robot, of_object, of_tool):
    before = find(robot, of_tool)
    assert possible_contacts([before], track(of_object), robot) == [before]


def test_first_contacts_and_unknown_tracks_are_left_alone(robot):
    first = find(robot, 0.2, "contact")
    assert possible_contacts([first], track(0.4), robot) == [first]
    second = find(robot, 0.2)
    assert possible_contacts([second], None, robot) == possible_contacts([second], track(0.4), None) == [second]
