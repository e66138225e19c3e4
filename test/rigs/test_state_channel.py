"""States on their way: delayed and queued."""

from __future__ import annotations

from impact_aware.robot import RobotModel
from impact_aware_rigs.faults.message_faults import QUEUE_DEPTH, StateChannel, StateMessage, make_state_fault

ROBOT = RobotModel.from_profile("panda")


def state(time: float, angle: float = 0.1) -> StateMessage:
    values = [angle] * ROBOT.n
    return StateMessage(time, ROBOT.joint_names, values, values, values)


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
