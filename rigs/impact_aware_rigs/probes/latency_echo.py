"""Node `latency_echo`: the baseline of the DDS benchmarks: joint states in, as many zeros out, nothing computed.

It also offers an empty service, `empty`, which does nothing either.
"""

from __future__ import annotations

import array
from dataclasses import dataclass
from functools import partial

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Empty

from impact_aware.parameters import described
from impact_aware.ros.qos import COMMAND_QOS, state_qos
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    joints: int = described(7, "numbers in the answer", 1, 1000)


class LatencyEchoNode(Node):
    """Answers each state at once."""

    def __init__(self) -> None:
        """Subscribe and offer the service."""
        super().__init__("latency_echo")
        joints = load_settings(self, Settings).joints
        self._answer = Float64MultiArray(data=array.array("d", bytes(8 * joints)))
        self._answers = self.create_publisher(Float64MultiArray, "effort_controller/commands", COMMAND_QOS)
        self.create_subscription(JointState, "joint_states", self._on_state, state_qos(reliable=False, answered=True))
        self.create_service(Empty, "empty", self._on_empty)

    def _on_state(self, _state: JointState) -> None:
        self._answers.publish(self._answer)

    def _on_empty(self, _request: Empty.Request, response: Empty.Response) -> Empty.Response:
        return response


main = partial(run_node, LatencyEchoNode, prompt=True)
