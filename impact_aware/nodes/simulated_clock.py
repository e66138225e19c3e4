"""The time of a plant on `/clock`, which one node of a domain at most may publish."""

from __future__ import annotations

import math

from rclpy.node import Node
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock

from impact_aware.nodes.ros.messages import stamp
from impact_aware.nodes.ros.qos import STREAM_QOS

TOPIC = "/clock"

PERIOD = 0.01
"""Time between two messages, s."""


class SimulatedClock:
    """Publishes a plant's time, unless another node, such as a second simulation in another namespace, has a clock."""

    def __init__(self, node: Node, cycle: float) -> None:
        """Publish nothing before `begin`; `cycle` is the time between two states, s."""
        self._node, self._cycle = node, cycle
        self._next = -math.inf
        self._message = Clock()
        self._publisher: Publisher | None = None

    def begin(self) -> None:
        """Publish from now on, where nobody else does; by now the node must have looked around for a while."""
        if others := self._others():
            self._leave(others)
        else:
            self._publisher = self._node.create_publisher(Clock, TOPIC, STREAM_QOS)

    def look(self) -> None:
        """Of several plants that began at the same time, leave the clock to the first by name."""
        own = self._node.get_fully_qualified_name()
        if self._publisher is not None and (others := self._others()) and min(others) < own:
            self._node.destroy_publisher(self._publisher)
            self._publisher = None
            self._leave(others)

    def publish(self, time: float, simulated: float, *, always: bool) -> None:
        """Publish a time, s, every `PERIOD` of the plant's own, or with each state where nodes wait for it."""
        if self._publisher is not None and (always or simulated >= self._next):
            self._next = simulated + PERIOD - 0.5 * self._cycle
            self._message.clock = stamp(time)
            self._publisher.publish(self._message)

    def _others(self) -> list[str]:
        own = self._node.get_fully_qualified_name()
        found = self._node.get_publishers_info_by_topic(TOPIC)
        names = (f"{offer.node_namespace.rstrip('/')}/{offer.node_name}" for offer in found)
        return [name for name in names if name != own]

    def _leave(self, others: list[str]) -> None:
        self._node.get_logger().warning(
            f"{TOPIC} is left to {', '.join(others)}, which publishes it already: nodes with use_sim_time follow that; "
            "another ROS_DOMAIN_ID gives this simulation a clock of its own"
        )
