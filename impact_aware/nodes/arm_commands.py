"""The torques of all arms, published to each arm's own effort controller."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray

from impact_aware.nodes.ros.qos import COMMAND_QOS
from impact_aware.task.arms import Arm

COMMANDS_TOPIC = "effort_controller/commands"


class ArmCommands:
    """One publisher per arm; messages are serialized here, which is quicker than to let DDS do it.

    Serialized, a Float64MultiArray is the same begin every time, and then its numbers.
    """

    def __init__(self, node: Node, arms: Sequence[Arm]) -> None:
        """Create the publishers; nothing is published yet."""
        self._node = node
        self._outputs = []
        self._topics = []
        first = 0
        for arm in arms:
            count = arm.robot.n
            begin = serialize_message(Float64MultiArray(data=[0.0] * count))[: -8 * count]
            publisher = node.create_publisher(Float64MultiArray, arm.topic(COMMANDS_TOPIC), COMMAND_QOS)
            self._topics.append(publisher.topic_name)
            self._outputs.append((publisher, begin, slice(first, first + count)))
            first += count

    def rivals(self) -> list[str]:
        """Topics on which somebody else publishes commands too, as far as DDS has found."""
        return [topic for topic in self._topics if self._node.count_publishers(topic) > 1]

    def rival_names(self) -> list[str]:
        """The same topics, each with the nodes that publish on it beside this one."""
        own, found = self._node.get_fully_qualified_name(), []
        for topic in self.rivals():
            offers = self._node.get_publishers_info_by_topic(topic)
            names = [f"{offer.node_namespace.rstrip('/')}/{offer.node_name}" for offer in offers]
            # DDS learns of an end before it learns whose it is.
            others = [name for name in names if name != own and "_UNKNOWN_" not in name]
            twins = [own] if names.count(own) > 1 else []
            found.append(f"{topic} by {', '.join(others + twins) or 'a node without a name yet'}")
        return found

    def flush(self, timeout: float = 0.1) -> None:
        """Wait until everybody has the last commands, for up to `timeout`, s."""
        for publisher, *_ in self._outputs:
            publisher.wait_for_all_acked(Duration(seconds=timeout))

    def publish(self, effort: NDArray[np.float64]) -> None:
        """Publish torques (n,) of all arms, arm after arm, N m."""
        for publisher, begin, part in self._outputs:
            publisher.publish(begin + effort[part].tobytes())
