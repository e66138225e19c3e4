"""The torques of all arms, published to each arm's own effort controller."""

from __future__ import annotations

import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from impact_aware.nodes.arms import Arm
from impact_aware.nodes.qos import COMMAND_QOS

COMMANDS_TOPIC = "effort_controller/commands"


class ArmCommands:
    """One message and one publisher per arm, made once."""

    def __init__(self, node: Node, arms: Sequence[Arm]) -> None:
        """Create the publishers; nothing is published yet."""
        self._node = node
        self._outputs = []
        self._topics = []
        first = 0
        for arm in arms:
            message = Float64MultiArray()
            # The array stays where it is for the life of the message; NumPy writes into it.
            message.data = array.array("d", bytes(8 * arm.robot.n))
            publisher = node.create_publisher(Float64MultiArray, arm.topic(COMMANDS_TOPIC), COMMAND_QOS)
            self._topics.append(publisher.topic_name)
            part = slice(first, first + arm.robot.n)
            self._outputs.append((publisher, message, np.frombuffer(message.data), part))
            first += arm.robot.n

    def rivals(self) -> list[str]:
        """Topics on which somebody else publishes commands too, as far as DDS has found."""
        return [topic for topic in self._topics if self._node.count_publishers(topic) > 1]

    def publish(self, effort: NDArray[np.float64]) -> None:
        """Publish torques (n,) of all arms, arm after arm, N m."""
        for publisher, message, values, part in self._outputs:
            values[:] = effort[part]
            publisher.publish(message)
