"""joint_states of one arm, picked by name into preallocated arrays, with everything unusable counted and said once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState

from impact_aware.nodes.qos import state_qos
from impact_aware.nodes.stamps import seconds
from impact_aware.robot import JointOrder

Array = NDArray[np.float64]

RATE_WINDOW = 500
"""Messages over which the rate is measured."""

WARN_PERIOD = 5.0
"""Shortest time between two warnings of the same kind, s."""


class JointStateSource:
    """Subscribes to joint states and calls back with arrays that are valid until the next message.

    Attributes:
        time: Stamp of the last usable message, s.
        position: (n,) rad.
        velocity: (n,) rad/s; differenced from the positions where the message has none.
        effort: (n,) N m, NaN where the message has none.
        velocity_measured: Whether `velocity` came from the message.
        received: Messages so far.
        rejected: How many of them were not usable, by reason.
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
        self._node = node
        self._callback = callback
        self._lowest_rate = lowest_rate
        self.time = float("nan")
        self.received = 0
        self.rejected: dict[str, int] = {}
        self.rate = float("nan")
        self.velocity_measured = True
        self._rate_start = float("nan")
        self._rate_count = 0
        self._allocate(joint_names)
        self.subscription = node.create_subscription(JointState, topic, self._receive, state_qos(reliable))

    @property
    def missing(self) -> tuple[str, ...]:
        """Joints that the last message did not have; all of them before the first."""
        return self._order.missing

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joint order of the arrays; empty until it is known."""
        return self._order.joint_names

    def _allocate(self, joint_names: Sequence[str]) -> None:
        self._order = JointOrder(joint_names)
        count = len(joint_names)
        self.position = np.full(count, np.nan)
        self.velocity = np.full(count, np.nan)
        self.effort = np.full(count, np.nan)
        self._previous_position = np.full(count, np.nan)

    def _receive(self, message: JointState) -> None:
        self.received += 1
        if not self._order.joint_names and message.name:
            self._allocate(message.name)
        if not self._order.locate(message.name):
            self._reject("joint missing", f"joint_states lacks {', '.join(self._order.missing[:3])}")
            return
        time = seconds(message.header.stamp)
        if time <= 0.0:
            time = self._node.get_clock().now().nanoseconds * 1e-9
        self._previous_position[:] = self.position
        if not self._order.pick(message.position, self.position):
            self.position[:] = self._previous_position
            self._reject("position not usable", "joint_states has positions that are missing or not finite")
            return
        interval = time - self.time
        self.time = time
        self.velocity_measured = self._order.pick(message.velocity, self.velocity)
        if not self.velocity_measured:
            self._difference_velocity(interval)
        if not self._order.pick(message.effort, self.effort):
            self.effort[:] = np.nan
        self._measure_rate(time)
        self._callback(message)

    def _difference_velocity(self, interval: float) -> None:
        if interval > 0.0 and np.isfinite(self._previous_position).all():
            np.subtract(self.position, self._previous_position, out=self.velocity)
            self.velocity /= interval
        else:
            self.velocity[:] = 0.0

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

    def _reject(self, reason: str, sentence: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1
        self._node.get_logger().warning(sentence, throttle_duration_sec=WARN_PERIOD)
