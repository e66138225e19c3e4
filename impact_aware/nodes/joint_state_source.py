"""joint_states of one arm, picked by name into preallocated arrays, with everything unusable counted and said once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.node import Node
from sensor_msgs.msg import JointState

from impact_aware.nodes.qos import state_qos
from impact_aware.nodes.stamps import seconds
from impact_aware.robot.joint_reader import JointReader

RATE_WINDOW = 500
"""Messages over which the rate is measured."""

WARN_PERIOD = 5.0
"""Shortest time between two warnings of the same kind, s."""


class JointStateSource(JointReader):
    """Subscribes to joint states and calls back with arrays that are valid until the next message.

    Attributes:
        received: Messages so far.
        rate: Measured rate of the stamps, Hz; NaN before it is known.
    """

    def __init__(
        self,
        node: Node,
        joint_names: Sequence[str],
        callback: Callable[[JointState], None],
        *,
        topic: str = "joint_states",
        reliable: bool = False,
        lowest_rate: float = 200.0,
    ) -> None:
        """Subscribe.

        Args:
            node: The node that listens.
            joint_names: (n) The model's joint order; when empty it is learnt from the first message.
            callback: Called after each usable message, with the message.
            topic: Relative topic name.
            reliable: Ask for reliable delivery, as lockstep needs.
            lowest_rate: Warn below this rate, Hz.
        """
        super().__init__(joint_names)
        self._node = node
        self._callback = callback
        self._lowest_rate = lowest_rate
        self.received = 0
        self.rate = float("nan")
        self._rate_start = float("nan")
        self._rate_count = 0
        self.subscription = node.create_subscription(JointState, topic, self._receive, state_qos(reliable))

    def _receive(self, message: JointState) -> None:
        self.received += 1
        time = seconds(message.header.stamp)
        if time <= 0.0:
            time = self._node.get_clock().now().nanoseconds * 1e-9
        refusal = self.take(time, message.name, message.position, message.velocity, message.effort)
        if refusal:
            self._node.get_logger().warning(refusal, throttle_duration_sec=WARN_PERIOD)
            return
        self._measure_rate(time)
        self._callback(message)

    def _measure_rate(self, time: float) -> None:
        if self._rate_count == 0 or time < self._rate_start:
            self._rate_start, self._rate_count = time, 1
            return
        self._rate_count += 1
        if self._rate_count <= RATE_WINDOW or time == self._rate_start:
            return
        self.rate = (self._rate_count - 1) / (time - self._rate_start)
        self._rate_count = 0
        if self.rate < self._lowest_rate:
            self._node.get_logger().warning(
                f"joint_states arrive at {self.rate:.0f} Hz, too slow to see an impact (at least "
                f"{self._lowest_rate:.0f} Hz, best 1000); drivers often republish a slow copy: remap joint_states to "
                "the robot's own topic, such as franka/joint_states",
                throttle_duration_sec=WARN_PERIOD,
            )
