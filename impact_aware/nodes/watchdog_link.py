"""What `rs_controller` hears of the process that watches its commands: without it, it does not go on."""

from __future__ import annotations

import time
from collections.abc import Callable

from impact_aware_msgs.msg import Heartbeat
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from impact_aware.nodes.ros.heartbeat import HeartbeatWatch, heartbeat_topic
from impact_aware.nodes.ros.qos import LATEST_QOS

WATCHDOG = "command_watchdog"

TOPIC = heartbeat_topic(WATCHDOG)

LOOK_PERIOD = 0.02
"""Wall time between two looks for how long it was not heard, s."""


class WatchdogLink:
    """The heartbeat of the watchdog."""

    def __init__(self, node: Node, timeout: float, on_stop: Callable[[str], None]) -> None:
        """Listen, and look at a steady period for how long it was not heard.

        Args:
            node: The controller.
            timeout: Longest time without a heartbeat, s of wall time.
            on_stop: Called with a sentence when the watchdog has stopped the arms, or can't any more.
        """
        self._node, self._timeout, self._on_stop = node, timeout, on_stop
        self._beat = HeartbeatWatch(LOOK_PERIOD)
        node.create_subscription(Heartbeat, TOPIC, self._on_heartbeat, LATEST_QOS)
        node.create_timer(LOOK_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _look(self) -> None:
        if self._beat.look(time.monotonic()) > self._timeout:
            self._on_stop(self._silent())

    def refusal(self) -> str:
        """Why no motion must begin, in one sentence; empty when it may."""
        if self._beat.last is None or self._beat.silent > self._timeout:
            return self._silent()
        return self._wrong(self._beat.last)

    def _on_heartbeat(self, message: Heartbeat) -> None:
        if self._beat.take(message) and (wrong := self._wrong(message)):
            self._on_stop(wrong)

    def _wrong(self, message: Heartbeat) -> str:
        if message.state == Heartbeat.STATE_WORKING:
            return ""
        verb = "stopped the arms" if message.state == Heartbeat.STATE_STOPPED else "can't stop the arms"
        return f"{WATCHDOG} {verb}: {message.detail}"

    def _silent(self) -> str:
        topic = self._node.resolve_topic_name(TOPIC)
        if self._beat.last is None:
            return f"no message came on {topic}: does {WATCHDOG} run?"
        return f"no message came on {topic} for {1e3 * self._beat.silent:.0f} ms"
