"""What goes on to a driver while torques come, and when they don't."""

import numpy as np
import pytest

from impact_aware.control.effort_relay import EffortRelay
from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits

ROBOT = RobotModel.from_profile("panda")
Q = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.7, 0.6])
DQ = np.array([0.11, -0.23, 0.17, 0.31, -0.29, 0.19, -0.37])
REST = np.zeros(7)
EFFORT = np.array([3.0, -7.0, 2.0, 5.0, -0.7, 0.9, -0.4])
PERIOD, TIMEOUT = 0.002, 0.02


@pytest.fixture
def relay():
    return EffortRelay(ROBOT, TIMEOUT, PERIOD)


def settle(relay: EffortRelay, q=Q, dq=DQ, now=1.0) -> np.ndarray:
    """Until the torque rate limits nothing any more."""
    for _ in range(40):
        sent = relay.answer(q, dq, now)
    return sent


def lead(relay: EffortRelay, command=EFFORT, now=1.0) -> None:
    relay.receive(command, now)
    settle(relay, now=now)


def test_at_rest_without_torques_nothing_is_sent_and_the_arm_is_held(relay):
    lead(relay)
    assert not relay.holds
    np.testing.assert_allclose(settle(relay, dq=REST, now=1.021), np.zeros(7), atol=1e-12)
    assert relay.holds
    pulled = settle(relay, q=Q + np.array([0.0, 0.002, 0.0, 0.0, 0.0, 0.0, 0.0]), dq=REST, now=1.021)
    assert pulled[1] < -1.0


def test_the_torque_rate_holds_on_the_way_from_one_to_the_other(relay):
    lead(relay)
    rate = np.asarray(SafetyLimits.of(ROBOT).effort_rate) * PERIOD
    before = relay.filter.previous
    after = relay.answer(Q, DQ, 1.021)
    assert np.all(np.abs(after - before) <= rate + 1e-12) and np.abs(after - before).max() > 0.9 * rate.min()


def test_the_torque_rate_holds_in_the_time_of_a_clock_too():
    now = [5.0]
    relay = EffortRelay(ROBOT, TIMEOUT, PERIOD, clock=lambda: now[0])
    relay.answer(Q, REST, now[0])
    relay.receive(EFFORT, now[0])
    # What comes at once after a stall is one step to the driver.
    np.testing.assert_array_equal(relay.answer(Q, REST, now[0]), np.zeros(7))
    now[0] += PERIOD
    step = np.asarray(SafetyLimits.of(ROBOT).effort_rate) * PERIOD
    for _ in range(4):
        sent = relay.answer(Q, REST, now[0])
    np.testing.assert_allclose(sent, np.clip(EFFORT, -step, step), atol=1e-12)


def test_what_is_no_command_ends_what_was_passed_on(relay):
    lead(relay)
    relay.receive(np.full(7, np.nan), 1.002)
    assert not relay.leads and relay.reason == "a command that is none: a torque that is not finite"
    assert DQ @ (settle(relay, now=1.003) - ROBOT.bias(Q, DQ) + ROBOT.gravity(Q)) < 0.0
    lead(relay, now=1.01)
    assert relay.leads and relay.reason == ""
