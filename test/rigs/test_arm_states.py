"""States of several arms on their way: delayed, queued, paired, and gone on without."""

from __future__ import annotations

import numpy as np
import pytest

from impact_aware.rigs.faults.arm_states import QUEUE_DEPTH, ArmStates, StateChannel
from impact_aware.rigs.faults.state_faults import StateMessage, make_state_fault
from impact_aware.robot import RobotModel

ROBOT = RobotModel.from_profile("panda")


def state(time: float, angle: float = 0.1) -> StateMessage:
    values = [angle] * ROBOT.n
    return StateMessage(time, ROBOT.joint_names, values, values, values)


@pytest.fixture
def two():
    return ArmStates([ROBOT, ROBOT])


def test_a_channel_delays_only_while_its_fault_acts_and_loses_the_oldest():
    channel = StateChannel(make_state_fault("delay", 3))
    late = 1e-3 * channel.fault.severity
    channel.send(state(1.0), 1.0, faulty=True)
    assert not channel.queue
    channel.send(state(1.0 + late), 1.0 + late, faulty=False)
    assert [message.time for message in channel.queue] == [1.0, 1.0 + late][-QUEUE_DEPTH:]
    for k in range(2 * QUEUE_DEPTH):
        channel.send(state(2.0 + 0.001 * k), 2.0 + 0.001 * k, faulty=False)
    assert len(channel.queue) == QUEUE_DEPTH


def test_a_state_is_complete_with_one_of_each_arm_of_the_same_cycle(two):
    assert two.take(0, state(1.0, 0.1), 1.0)
    assert not two.complete()
    assert two.take(1, state(1.0, 0.2), 1.0)
    assert two.complete()
    assert not two.complete()
    np.testing.assert_allclose(two.position, [0.1] * ROBOT.n + [0.2] * ROBOT.n)


def test_states_of_different_cycles_are_no_pair(two):
    two.take(0, state(1.000), 1.0)
    two.take(1, state(1.001), 1.001)
    assert not two.complete()
    two.take(0, state(1.001), 1.001)
    assert two.complete()


def test_an_arm_that_is_set_aside_counts_as_standing_still_until_it_is_heard(two):
    for arm in range(2):
        two.take(arm, state(1.0), 1.0)
    assert two.complete()
    two.set_aside(1)
    two.take(0, state(1.001), 1.001)
    assert two.complete()
    assert not two.velocity[ROBOT.n :].any()
    two.take(1, state(1.002), 1.002)
    assert not two.complete()
    assert two.heard
