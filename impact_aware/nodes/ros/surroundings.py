"""What a node finds around it when it starts: itself a second time, or no publisher. Each is logged once."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from impact_aware.nodes.ros.qos_match import why_silent

LOOK_PERIOD = 1.0
"""Wall time between two looks, s."""

LOOK_TIME = 30.0
"""How long a node looks around for another one of its name, s: who comes later sees it and says so itself."""

PATIENCE = 5.0
"""Wall time after which a topic on which nothing was received is worth a line, s."""


class TwinWatch:
    """Says once when another node has the full name of this one, and once when that one is gone.

    DDS goes on to list a process that was killed for 20 s, so a node that is started anew at once may find what is left
    of itself; one that ended by itself is forgotten at once.

    Attributes:
        present: Whether there is another one, as far as DDS has found.
    """

    def __init__(self, node: Node, consequence: str = "") -> None:
        """Look around now and then; `consequence` is what follows from a twin, for the line in the log."""
        self.present = False
        self._node = node
        self._consequence = f", {consequence}" if consequence else ""
        self._until = time.monotonic() + LOOK_TIME
        self._timer = node.create_timer(LOOK_PERIOD, self.look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def look(self) -> bool:
        """Look now; returns whether there is a twin."""
        node = self._node
        own = node.get_name(), node.get_namespace()
        present = node.get_node_names_and_namespaces().count(own) > 1
        name = node.get_fully_qualified_name()
        if present and not self.present:
            node.get_logger().error(
                f"another {name} runs already{self._consequence}: is the suite running twice in ROS domain "
                f"{node.context.get_domain_id()}? (One that was killed is forgotten after 20 s.)"
            )
        elif self.present and not present:
            node.get_logger().info(f"the other {name} is gone")
        self.present = present
        if not present and time.monotonic() > self._until:
            self._timer.cancel()
        return present


class NameClaim:
    """A node's name in its domain for itself alone on this machine: DDS may take a second to find a twin.

    An abstract socket of Linux, which ends with the process, however that ends; elsewhere there is nothing to claim.
    """

    def __init__(self, node: Node) -> None:
        """Claim nothing yet."""
        self._address = f"\0impact_aware/{node.context.get_domain_id()}{node.get_fully_qualified_name()}"
        self._socket: socket.socket | None = None

    def held(self) -> bool:
        """Whether the name is this node's, which tries to get it if it isn't."""
        if self._socket is None and sys.platform == "linux":
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                claim.bind(self._address)
            except OSError:
                claim.close()
                return False
            self._socket = claim
        return True

    def release(self) -> None:
        """Leave the name to others."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def expect_messages(node: Node, topic: str, received: Callable[[], bool], source: str) -> None:
    """Log once why nothing is received on a topic from `source`, if that goes on for `PATIENCE`."""

    def look() -> None:
        timer.cancel()
        if not received():
            full = node.resolve_topic_name(topic)
            node.get_logger().warning(f"no {full} for {PATIENCE:g} s: {why_silent(node, topic, source)}")

    timer = node.create_timer(PATIENCE, look, clock=Clock(clock_type=ClockType.STEADY_TIME))
