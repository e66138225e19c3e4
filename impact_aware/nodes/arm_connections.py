"""Whether a controller's arms are really there: states heard, at its rate, commands heard, nobody out of reach."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rclpy.node import Node

from impact_aware.nodes.arm_commands import COMMANDS_TOPIC
from impact_aware.nodes.arms import Arm
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.nodes.qos_match import mismatches, silenced, unheard, why_silent
from impact_aware.nodes.state_rate import rate_mismatch
from impact_aware.nodes.surroundings import TwinWatch, expect_messages

DRIVER = "the robot's driver"

WATCHED = ("joint_states", "impacts", "predicted_jumps", COMMANDS_TOPIC)
"""Topics of each arm on which silence would not be noticed until it is too late."""


class ArmConnections:
    """Checks a controller's topics when it is configured, and again before it is activated."""

    def __init__(self, node: Node, arms: Sequence[Arm], sources: Sequence[JointStateSource], period: float) -> None:
        """Warn of what can't be heard or can't hear, as far as DDS has found; more is said when it shows.

        Args:
            node: The controller, with all its subscriptions and publishers.
            arms: Its arms.
            sources: Of their joint states, one per arm.
            period: Control period, s.
        """
        self._node = node
        self._arms = tuple(arms)
        self._sources = tuple(sources)
        self._period = period
        self._twins = TwinWatch(node, "and only one of them can be active")
        for arm, source in zip(self._arms, self._sources, strict=True):
            expect_messages(node, arm.topic("joint_states"), partial(_heard, source), DRIVER)
        for sentence in mismatches(node):
            node.get_logger().warning(sentence)

    def no_states(self, arm: Arm) -> str:
        """Why an arm's states were never heard, in one sentence."""
        topic = arm.topic("joint_states")
        return f"no {topic} yet: {why_silent(self._node, topic, DRIVER)}"

    def no_field(self) -> str:
        """Why there is no field, in one sentence."""
        return f"no reference_field yet: {why_silent(self._node, 'reference_field', 'the node reference_field')}"

    def refusal(self) -> str:
        """Why the motion must not begin: a topic that nobody hears or is heard on, or the wrong rate; else empty."""
        for arm, source in zip(self._arms, self._sources, strict=True):
            for sentence in silenced(self._node, [arm.topic(name) for name in WATCHED]):
                return sentence
            if wrong := rate_mismatch(arm.topic("joint_states"), source.quality, self._period):
                return wrong
        return ""

    def warn_if_unheard(self) -> None:
        """Say where nobody listens to commands: the effort controller is not loaded, or has another name."""
        for arm in self._arms:
            if nobody := unheard(self._node, arm.topic(COMMANDS_TOPIC)):
                self._node.get_logger().warning(f"{nobody}: is the effort controller loaded?")


def _heard(source: JointStateSource) -> bool:
    return source.received > 0
