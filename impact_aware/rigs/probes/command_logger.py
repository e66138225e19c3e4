"""Node `command_logger`: a `run_monitor` that also keeps each arm's last command, and tells it when it ends.

The last line it prints per arm is `{"arm": ..., "commands": COUNT, "command": [...], "names": [...], "position": [...],
"velocity": [...]}`: the last command, and the joint state that came before it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_aware.nodes.arm_commands import COMMANDS_TOPIC
from impact_aware.nodes.ros.qos import STREAM_QOS
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.nodes.ros.runtime import run_node
from impact_aware.nodes.run_monitor import RunMonitorNode
from impact_aware.parameters import described


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    arms: list[str] = described([], "names of several arms, which stand before their topics; empty: a single arm")


class _Last:
    """What is known of one arm."""

    def __init__(self, node: Node, name: str) -> None:
        self.name = name
        self.count = 0
        self.command: list[float] = []
        self.state = self._newest = JointState()
        prefix = f"{name}/" if name else ""
        # Deep queues: what a busy machine delivers late must not be lost.
        node.create_subscription(JointState, f"{prefix}joint_states", self._on_state, STREAM_QOS)
        node.create_subscription(Float64MultiArray, f"{prefix}{COMMANDS_TOPIC}", self._on_command, STREAM_QOS)

    def _on_state(self, message: JointState) -> None:
        self._newest = message

    def _on_command(self, message: Float64MultiArray) -> None:
        self.count += 1
        self.command, self.state = list(message.data), self._newest

    def line(self) -> dict[str, object]:
        state = self.state
        return {
            "arm": self.name,
            "commands": self.count,
            "command": self.command,
            "names": list(state.name),
            "position": list(state.position),
            "velocity": list(state.velocity),
        }


class CommandLoggerNode(RunMonitorNode):
    """Sees what a controller leaves behind."""

    def __init__(self) -> None:
        """Subscribe to states and commands of every arm, too."""
        super().__init__()
        settings = load_settings(self, Settings)
        self._lasts = [_Last(self, name) for name in settings.arms or [""]]

    def close(self) -> None:
        """Tell what was last."""
        for last in self._lasts:
            self._print(last.line())


def main() -> None:
    """Run the node."""
    sys.exit(run_node(CommandLoggerNode))


if __name__ == "__main__":
    main()
