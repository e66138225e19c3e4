"""joint_states of one arm, picked by name into preallocated arrays, with everything unusable counted and said once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from impact_aware.detection import InputMonitor, InputQuality, JointSample
from impact_aware.nodes.qos import state_qos
from impact_aware.nodes.stamps import seconds
from impact_aware.robot.joint_reader import JointReader

JUDGE_SAMPLES = 500
"""Messages after which the source is judged again."""

JUDGE_PERIOD = 2.0
"""The same as a time, s, for a slow source."""

_UNUSABLE = np.full(1, np.nan)

WARN_PERIOD = 5.0
"""Shortest time between two warnings of the same kind, s."""


class JointStateSource(JointReader):
    """Subscribes to joint states and calls back with arrays that are valid until the next message.

    Attributes:
        received: Messages so far.
        rate: Measured rate of the stamps, Hz; NaN before it is known.
        quality: What the last messages say about their source; None before there are enough.
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
        gaps: bool = False,
    ) -> None:
        """Subscribe.

        Args:
            node: The node that listens.
            joint_names: (n) The model's joint order; when empty it is learnt from the first message.
            callback: Called after each usable message, with the message.
            topic: Relative topic name.
            reliable: Ask for reliable delivery, as lockstep needs.
            lowest_rate: Warn below this rate, Hz.
            gaps: Take messages in which only some positions are not finite; those are NaN then.
        """
        super().__init__(joint_names, gaps=gaps)
        self._node = node
        self._callback = callback
        self._lowest_rate = lowest_rate
        self.received = 0
        self.rate = float("nan")
        self.quality: InputQuality | None = None
        self._monitor: InputMonitor | None = None
        self._judged_at = float("nan")
        self._judged_count = 0
        self.subscription = node.create_subscription(JointState, topic, self._receive, state_qos(reliable))

    def _receive(self, message: JointState) -> None:
        self.received += 1
        time = seconds(message.header.stamp)
        if time <= 0.0:
            time = self._node.get_clock().now().nanoseconds * 1e-9
        refusal = self.take(time, message.name, message.position, message.velocity, message.effort)
        if not refusal:
            # The answer first; judging the source can wait until it is out.
            self._callback(message)
        self._monitor_input(time, not refusal)
        if refusal:
            self._node.get_logger().warning(refusal, throttle_duration_sec=WARN_PERIOD)

    def _monitor_input(self, time: float, usable: bool) -> None:
        """Note a message, and judge the source now and then."""
        if self._monitor is None:
            if not self.joint_names:
                return
            self._monitor = InputMonitor(len(self.joint_names), JUDGE_SAMPLES, self._lowest_rate)
        monitor = self._monitor
        monitor.update(JointSample(time, self.position if usable else _UNUSABLE))
        if not self._judged_count or time < self._judged_at:
            self._judged_at, self._judged_count = time, 1
            return
        self._judged_count += 1
        slow = time - self._judged_at >= JUDGE_PERIOD and self._judged_count > 20
        if self._judged_count <= JUDGE_SAMPLES and not slow:
            return
        self._judged_at, self._judged_count = time, 1
        self.quality = quality = monitor.quality()
        if math.isfinite(quality.rate):
            self.rate = quality.rate
        if quality.reason is not None:
            slow = min(quality.rate, quality.fresh_rate) < self._lowest_rate
            hint = "; remap joint_states to the robot's own topic, such as franka/joint_states" if slow else ""
            self._node.get_logger().warning(f"joint_states: {quality.reason}{hint}", throttle_duration_sec=WARN_PERIOD)
