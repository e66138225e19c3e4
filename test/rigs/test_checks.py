"""Checks of a trial: limits of torque and of its rate, the time to rest, and a held object."""

import math
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.control import Mode
from impact_aware_rigs.faults.checks import REST_SPEED, CommandCheck, ObjectWatch, RestWatch


def arm(effort, rate):
    return SimpleNamespace(limits=SimpleNamespace(effort=np.array(effort), effort_rate=np.array(rate)))


@pytest.fixture
def check():
    """Two arms; limits of 10 and 20 N m, then 40; rates such that a cycle of 1 ms may change 1, 0.5 and 2 N m."""
    return CommandCheck(SimpleNamespace(robots=[arm([10.0, 20.0], [1000.0, 500.0]), arm([40.0], [2000.0])]))


def test_shares_are_of_each_joints_own_limit(check):
    check.take(np.array([-5.0, 4.0, 4.0]), np.array([-5.0, 4.0, 4.0]), 0.0)
    assert (check.effort_share, check.rate_share) == (0.5, 0.0)
    check.take(np.array([-4.5, 4.4, 5.0]), np.array([-4.5, 4.4, 5.0]), 0.001)
    # Changes of 0.5 of 1, 0.4 of 0.5 and 1 of 2.
    assert (check.effort_share, check.rate_share) == pytest.approx((0.5, 0.8))
    check.take(np.array([-4.5, 4.4, 5.0]), np.array([-4.5, 4.4, 5.0]), 0.002)
    assert check.rate_share == pytest.approx(0.8)
    assert check.failures == []


@pytest.mark.parametrize("limit", [[10.0, 0.0, 0.0], [0.0, -20.0, 0.0], [0.0, 0.0, 40.0]])
def test_a_torque_at_its_limit_is_allowed_and_one_beyond_it_is_not(check, limit):
    check.take(np.array(limit), np.array(limit), 0.0)
    assert check.failures == []
    check.forget()
    check.take(1.001 * np.array(limit), 1.001 * np.array(limit), 0.25)
    assert check.failures == ["a command over its limit at 0.250 s"]


@pytest.mark.parametrize(("joint", "step"), [(0, 1.0), (1, -0.5), (2, 2.0)])
def test_a_change_at_its_limit_is_allowed_and_one_beyond_it_is_not(check, joint, step):
    change = np.zeros(3)
    change[joint] = step
    check.take(np.zeros(3), np.zeros(3), 0.0)
    check.take(change, change, 0.001)
    assert check.failures == []
    check.take(2.01 * change, 2.01 * change, 0.002)
    assert check.failures == ["a command over its limit at 0.002 s"]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_command_that_is_not_finite_fails_and_is_no_reference_for_the_next(check, bad):
    check.take(np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0]), 0.0)
    check.take(np.array([1.0, bad, 1.0]), np.array([1.0, bad, 1.0]), 0.5)
    check.take(np.array([1.5, 1.0, 1.0]), np.array([1.5, 1.0, 1.0]), 0.501)
    assert check.failures == ["a command that is not finite at 0.500 s"]
    assert check.rate_share == pytest.approx(0.5)


STILL, MOVING = np.array([0.0, -0.9 * REST_SPEED]), np.array([0.0, -1.1 * REST_SPEED])


def test_rest_time_is_from_the_begin_of_the_safe_mode_to_the_begin_of_the_last_rest():
    watch = RestWatch()
    assert not watch.look(1.0, MOVING, Mode.ANTE, still=False)
    assert watch.look(1.1, MOVING, Mode.SAFE, still=True)
    assert not watch.look(1.2, STILL, Mode.SAFE, still=True)
    assert not watch.look(1.3, MOVING, Mode.SAFE, still=True)
    for now in (1.4, 1.5, 1.6):
        watch.look(now, STILL, Mode.SAFE, still=True)
    assert watch.safe_since == 1.1
    assert watch.rest_since == 1.4
    assert watch.rest_time == pytest.approx(0.3)


def test_without_a_safe_mode_or_in_motion_there_is_no_rest_time():
    watch = RestWatch()
    watch.look(1.0, STILL, Mode.POST, still=True)
    assert (watch.rest_since, math.isnan(watch.rest_time)) == (1.0, True)
    watch.look(1.1, STILL, Mode.POST, still=False)
    assert math.isnan(watch.rest_since)
    watch.look(1.2, MOVING, Mode.SAFE, still=True)
    assert math.isnan(watch.rest_time)


class Plant:
    """Two palms at an object whose height can be set."""

    def __init__(self) -> None:
        self.robots = {"left": None, "right": None}
        self.touching = {("left", "object"), ("right", "object")}
        self.height = 0.1

    @property
    def state(self):
        return SimpleNamespace(object_placement=pin.SE3(np.eye(3), np.array([0.7, 0.3, self.height])))


@pytest.mark.parametrize(
    ("touching", "height", "fell"),
    [
        ({("left", "object"), ("right", "object")}, 0.25, 0.07),
        # One that a palm does not touch, or that stands, is not held.
        ({("left", "object"), ("right", "table")}, 0.25, math.nan),
        ({("left", "object")}, 0.25, math.nan),
        ({("left", "object"), ("right", "object")}, 0.1015, math.nan),
    ],
)
def test_an_object_between_two_palms_is_watched_until_the_end(touching, height, fell):
    plant = Plant()
    watch = ObjectWatch(plant)
    plant.touching, plant.height = touching, height
    watch.safe_mode_begins()
    plant.height = height - 0.07
    watch.end()
    assert watch.held is not math.isnan(fell)
    assert watch.fell == pytest.approx(fell, nan_ok=True)


def test_the_whole_torque_has_its_limit_too_and_no_rate(check):
    check.take(np.array([1.0, 1.0, 1.0]), np.array([1.0, -19.0, 1.0]), 0.0)
    # The gravity torque that an arm adds itself may change at once.
    check.take(np.array([1.0, 1.0, 1.0]), np.array([1.0, 19.0, 1.0]), 0.001)
    assert (check.effort_share, check.failures) == (pytest.approx(0.95), [])
    check.take(np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, -41.0]), 0.002)
    assert check.failures == ["a command over its limit at 0.002 s"]
