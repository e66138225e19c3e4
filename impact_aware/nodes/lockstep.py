"""Tells a simulator in lockstep that a joint_states message has been dealt with."""

from __future__ import annotations

from impact_aware_msgs.msg import StepDone
from rclpy.node import Node
from sensor_msgs.msg import JointState

from impact_aware.nodes.qos import STEP_DONE_QOS

TOPIC = "step_done"


class LockstepReporter:
    """Publishes one `step_done` per joint_states message when lockstep is on, and nothing otherwise."""

    def __init__(self, node: Node, enabled: bool) -> None:
        """Create the publisher where it is needed."""
        self._message = StepDone(node=node.get_fully_qualified_name())
        self._publisher = node.create_publisher(StepDone, TOPIC, STEP_DONE_QOS) if enabled else None

    def report(self, state: JointState) -> None:
        """Say that `state` is dealt with."""
        if self._publisher is not None:
            self._message.stamp = state.header.stamp
            self._publisher.publish(self._message)
