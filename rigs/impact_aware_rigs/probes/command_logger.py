"""Node `command_logger`: a `run_monitor` that also keeps each arm's last command, and prints it when it ends.

The last line it prints per arm is `{"arm": ..., "commands": COUNT, "command": [...], "names": [...], "position": [...],
"velocity": [...]}`: the last command, and the joint state that came before it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial

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


class CommandLoggerNode(RunMonitorNode):
    """Keeps what a controller leaves behind."""

    def __init__(self) -> None:
        """Subscribe to states and commands of every arm, too."""
        super().__init__()
        self._lines: dict[str, dict[str, object]] = {}
        self._states: dict[str, JointState] = {}
        for arm in load_settings(self, Settings).arms or [""]:
            self._states[arm] = JointState()
            self._lines[arm] = {"arm": arm, "commands": 0, "command": [], "names": [], "position": [], "velocity": []}
            prefix = f"{arm}/" if arm else ""
            # Deep queues: what a busy machine delivers late must not be lost.
            self.create_subscription(JointState, f"{prefix}joint_states", partial(self._on_state, arm), STREAM_QOS)
            self.create_subscription(
                Float64MultiArray, f"{prefix}{COMMANDS_TOPIC}", partial(self._on_command, arm), STREAM_QOS
            )
        self._counts = dict.fromkeys(self._lines, 0)

    def _on_state(self, arm: str, message: JointState) -> None:
        self._states[arm] = message

    def _on_command(self, arm: str, message: Float64MultiArray) -> None:
        self._counts[arm] += 1
        state = self._states[arm]
        self._lines[arm] = {
            "arm": arm,
            "commands": self._counts[arm],
            "command": list(message.data),
            "names": list(state.name),
            "position": list(state.position),
            "velocity": list(state.velocity),
        }

    def close(self) -> None:
        """Print each arm's last command."""
        for line in self._lines.values():
            self._print(line)


def main() -> None:
    """Run the node."""
    sys.exit(run_node(CommandLoggerNode))
