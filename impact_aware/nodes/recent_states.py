"""The last states of several arms, kept as they came and read only when somebody asks: that is once an impact."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial

from rclpy.node import Node
from sensor_msgs.msg import JointState

from impact_aware.messages.stamps import stamp_seconds
from impact_aware.nodes.ros.messages import UndecodableError, decoded
from impact_aware.nodes.ros.qos import state_qos
from impact_aware.robot.joint_reader import JointReader
from impact_aware.task.arms import Arm
from impact_aware.task.last_touch import Touch

KEPT = 64
"""States of each arm: the event of an impact comes some 5 to 20 ms after it."""

_DIFFERENCED = 2
"""States that give a velocity where they have none."""


class RecentStates:
    """Subscribes to the joint states of all arms."""

    def __init__(self, node: Node, arms: Sequence[Arm]) -> None:
        """Subscribe for a node."""
        self._arms = tuple(arms)
        self._kept: list[deque[bytes]] = [deque(maxlen=KEPT) for _ in arms]
        for index, arm in enumerate(self._arms):
            keep = partial(self.keep, index)
            node.create_subscription(JointState, arm.topic("joint_states"), keep, state_qos(False), raw=True)

    def keep(self, index: int, serialized: bytes) -> None:
        """A state of an arm, as it came."""
        self._kept[index].append(serialized)

    def before(self, index: int, time: float) -> Touch | None:
        """The last state of an arm before a time, s; None where there is none that can be used."""
        earlier: list[JointState] = []
        for serialized in reversed(self._kept[index]):
            try:
                message = decoded(serialized, JointState)
            except UndecodableError:
                continue
            if stamp_seconds(message) < time:
                earlier.append(message)
            if len(earlier) == _DIFFERENCED:
                break
        reader, taken = JointReader(self._arms[index].robot.joint_names), 0
        for message in reversed(earlier):
            state = message.name, message.position, message.velocity, message.effort
            taken += not reader.take(stamp_seconds(message), *state)
        if not taken or not (reader.velocity_measured or taken == _DIFFERENCED):
            return None
        return Touch(reader.time, reader.position.copy(), reader.velocity.copy())
