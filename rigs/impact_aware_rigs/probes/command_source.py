"""Node `command_source`: torques at a steady rate, each a little other than the last, for nothing but to be watched."""

from __future__ import annotations

import array
import sys
from dataclasses import dataclass

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from impact_aware.nodes.arm_commands import COMMANDS_TOPIC
from impact_aware.nodes.ros.qos import COMMAND_QOS
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.nodes.ros.runtime import run_node
from impact_aware.parameters import described


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    joints: int = described(7, "numbers in a command", 1, 1000)
    rate: float = described(1000.0, "commands, Hz", 1.0, 10000.0)


class CommandSourceNode(Node):
    """Publishes, and listens to nobody."""

    def __init__(self) -> None:
        """Begin at once."""
        super().__init__("command_source")
        settings = load_settings(self, Settings)
        self._message = Float64MultiArray(data=array.array("d", bytes(8 * settings.joints)))
        self._publisher = self.create_publisher(Float64MultiArray, COMMANDS_TOPIC, COMMAND_QOS)
        self.create_timer(1.0 / settings.rate, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        self._message.data[0] = (self._message.data[0] + 1e-3) % 1.0
        self._publisher.publish(self._message)


def main() -> None:
    """Run the node."""
    sys.exit(run_node(CommandSourceNode, prompt=True))
