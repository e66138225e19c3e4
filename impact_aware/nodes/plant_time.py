"""Time of a simulated plant: kept in step with wall time, and published on `/clock`."""

from __future__ import annotations

import math

from rclpy.node import Node
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock

from impact_aware.ros.messages import stamp
from impact_aware.ros.qos import STREAM_QOS

TOPIC = "/clock"

CLOCK_PERIOD = 0.01
"""Time between two messages on `/clock`, s."""

LOOKS = 2
"""How often to look in a cycle: a plant that is behind makes a cycle at every look until it has caught up."""

MOST_BEHIND = 20
"""Cycles that are caught up; of a longer stall none is, as no arm of steel moves on while its driver stands still."""

EARLY = 0.25
"""Share of a cycle by which it may be early."""

PATIENCE = 4
"""Cycles, in wall time, for which the torque that answers the last state is waited for.

Real arms don't wait. But a simulated one that has to share its processors with its controller holds that up itself, and
would drive palms that touch with torques of states long gone: that is an instability of no robot.
"""


class WallPace:
    """Schedules simulation cycles so that simulated time follows wall time.

    After a stall of the machine simulated time catches up by one cycle per look, or falls behind for good: a burst of
    cycles would be a gap to a subscriber that reads only the newest state. Simulated time also falls behind while a
    torque is waited for; after `PATIENCE` it goes on without.

    Attributes:
        given_up: Wall time by which simulated time has fallen behind for good, s.
        unanswered: Cycles that were made without the torque that was waited for.
    """

    def __init__(self, cycle: float) -> None:
        """Prepare for cycles of this length, s."""
        self.given_up = 0.0
        self.unanswered = 0
        self._cycle = cycle
        self._wall = self._time = 0.0
        self._last = -math.inf

    def begin(self, wall: float, time: float) -> None:
        """Simulated `time` is that of this moment `wall` of a steady clock, both in s."""
        self._wall, self._time = wall, time

    def due(self, wall: float, time: float, *, answered: bool = True) -> bool:
        """Whether a cycle is due at simulated time `time`; if so, the caller must make it.

        Called `LOOKS` times per cycle, and when a torque has arrived. A cycle may be early by `EARLY`: calls have
        jitter, and one just before the cycle's time would otherwise delay it by half a cycle.

        Args:
            wall: Time of a steady clock, s.
            time: Simulated time, s.
            answered: Whether the torque that answers the last state has come, or none is waited for.
        """
        behind = (wall - self._wall) - (time - self._time)
        if behind < (1.0 - EARLY) * self._cycle:
            return False
        if not answered and wall - self._last < (PATIENCE - EARLY) * self._cycle:
            return False
        self._last = wall
        self.unanswered += not answered
        if behind > MOST_BEHIND * self._cycle:
            self.given_up += behind - self._cycle
            self.begin(wall - self._cycle, time)
        return True


class SimulatedClock:
    """Publishes a plant's time, unless another node, such as a second simulation in another namespace, has a clock."""

    def __init__(self, node: Node, cycle: float) -> None:
        """Publish nothing before `begin`; `cycle` is the time between two states, s."""
        self._node, self._cycle = node, cycle
        self._next = -math.inf
        self._message = Clock()
        self._publisher: Publisher | None = None

    def begin(self) -> None:
        """Publish from now on, unless another node does; call this once DDS has had time to discover it."""
        offers = self._node.get_publishers_info_by_topic(TOPIC)
        if others := [f"{offer.node_namespace.rstrip('/')}/{offer.node_name}" for offer in offers]:
            self._node.get_logger().warning(
                f"{TOPIC} is left to {', '.join(others)}, which publishes it already: nodes with use_sim_time follow "
                "that; another ROS_DOMAIN_ID gives this simulation a clock of its own"
            )
        else:
            self._publisher = self._node.create_publisher(Clock, TOPIC, STREAM_QOS)

    def publish(self, time: float, simulated: float, *, always: bool) -> None:
        """Publish a time, s, every `CLOCK_PERIOD` of the plant's own, or with each state where nodes wait for it."""
        if self._publisher is not None and (always or simulated >= self._next):
            self._next = simulated + CLOCK_PERIOD - 0.5 * self._cycle
            self._message.clock = stamp(time)
            self._publisher.publish(self._message)
