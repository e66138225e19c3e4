"""Whether a controller's arms are really there: states heard, at its rate, commands heard, nobody out of reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from rclpy.node import Node

from impact_aware.nodes.arm_commands import COMMANDS_TOPIC, ArmCommands
from impact_aware.nodes.arm_inputs import ArmInputs
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.nodes.ros.qos_match import mismatches, silenced, unheard, why_silent
from impact_aware.nodes.ros.state_rate import rate_mismatch
from impact_aware.nodes.ros.surroundings import TwinWatch, expect_messages
from impact_aware.task.arms import Arm

DRIVER = "the robot's driver"

WATCHED = ("joint_states", "impacts", "predicted_jumps", COMMANDS_TOPIC)
"""Topics of each arm on which silence would not be noticed until it is too late."""


class ArmConnections:
    """Checks a controller's topics when it is configured, and again before it is activated."""

    def __init__(
        self,
        node: Node,
        arms: Sequence[Arm],
        inputs: ArmInputs,
        commands: ArmCommands,
        *,
        period: float,
        state_timeout: float,
    ) -> None:
        """Warn of what can't be heard or can't hear, as far as DDS has found; more is said when it shows.

        Args:
            node: The controller, with all its subscriptions and publishers.
            arms: Its arms.
            inputs: Their states.
            commands: Their commands.
            period: Control period, s.
            state_timeout: How long an arm may say nothing before the motion begins, s of wall time.
        """
        self._node = node
        self._arms = tuple(arms)
        self._inputs = inputs
        self._commands = commands
        self._period = period
        self._timeout = state_timeout
        self._twins = TwinWatch(node, "and only one of them can be active")
        for arm, source in zip(self._arms, inputs.sources, strict=True):
            expect_messages(node, arm.topic("joint_states"), partial(_heard, source), DRIVER)
        for sentence in mismatches(node):
            node.get_logger().warning(sentence)

    def refusal(self) -> str:
        """Why the motion must not begin, in one sentence; empty when it may."""
        inputs = self._inputs
        silence, arm = inputs.silence()
        topic = arm.topic("joint_states")
        if math.isinf(silence):
            return f"no {topic} yet: {why_silent(self._node, topic, DRIVER)}"
        if silence > self._timeout:
            return f"the last {topic} came {silence:.2f} s ago"
        if not inputs.complete:
            return "no joint_states of all arms with nearly the same stamp yet"
        if not inputs.velocity_measured:
            return "joint_states have no velocities"
        return self._out_of_step() or self._out_of_reach()

    def no_field(self) -> str:
        """Why there is no field, in one sentence."""
        return f"no reference_field yet: {why_silent(self._node, 'reference_field', 'the node reference_field')}"

    def _out_of_step(self) -> str:
        for arm, source in zip(self._arms, self._inputs.sources, strict=True):
            if wrong := rate_mismatch(arm.topic("joint_states"), source.quality, self._period):
                return wrong
        return ""

    def _out_of_reach(self) -> str:
        """Commands that somebody else sends too, or that nobody takes; and topics on which nothing can pass."""
        rivals = self._commands.rivals()
        if rivals:
            return f"somebody else publishes {', '.join(rivals)} too: is the suite running twice?"
        for arm in self._arms:
            for sentence in silenced(self._node, [arm.topic(name) for name in WATCHED]):
                return sentence
            # Whoever joins later would get the torque of an arm that was thought to be moving.
            if nobody := unheard(self._node, arm.topic(COMMANDS_TOPIC)):
                return f"{nobody}: is the effort controller loaded?"
        return ""


def _heard(source: JointStateSource) -> bool:
    return source.received > 0
