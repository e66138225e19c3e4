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
        self._outputs = []
        first = 0
        for arm in arms:
            message = Float64MultiArray()
            # The array stays where it is for the life of the message; NumPy writes into it.
            message.data = array.array("d", bytes(8 * arm.robot.n))
            publisher = node.create_publisher(Float64MultiArray, arm.topic(COMMANDS_TOPIC), COMMAND_QOS)
            part = slice(first, first + arm.robot.n)
            self._outputs.append((publisher, message, np.frombuffer(message.data), part))
            first += arm.robot.n

    def publish(self, effort: NDArray[np.float64]) -> None:
        """Publish torques (n,) of all arms, arm after arm, N m."""
        for publisher, message, values, part in self._outputs:
            values[:] = effort[part]
            publisher.publish(message)
