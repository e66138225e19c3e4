"""Subscriptions of a node to others that it can't do without, with a callback when one of them is gone.

Their heartbeats tell, on every middleware; and DDS tells when a publisher's lease has run out, which is all there is of
a node that has no heartbeat, such as somebody's own detector.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from impact_aware_msgs.msg import Heartbeat
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import QoSLivelinessChangedInfo, SubscriptionEventCallbacks
from rclpy.node import Node

from impact_aware.nodes.ros.heartbeat import HeartbeatWatch, heartbeat_topic
from impact_aware.nodes.ros.middleware import middleware, tells_of_death
from impact_aware.nodes.ros.qos import EVENT_QOS, LATCHED_EVENT_QOS, LATEST_QOS

LOOK_PERIOD = 0.05
"""Wall time between two looks for how long nothing was heard, s."""


class Upstream:
    """Subscribes, and calls back when whoever publishes a topic is gone."""

    def __init__(self, node: Node, on_loss: Callable[[str], None], timeout: float) -> None:
        """Nothing is subscribed to yet.

        Args:
            node: Who listens.
            on_loss: Called with the topic that nobody publishes any more.
            timeout: Longest time without a heartbeat of a node that has one, s of wall time.
        """
        self._node, self._on_loss, self._timeout = node, on_loss, timeout
        self._beats: dict[str, HeartbeatWatch] = {}
        self._lost: set[str] = set()
        node.create_timer(LOOK_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def listen(
        self, kind: type, topic: str, callback: Callable[..., None], *, latched: bool = False, raw: bool = False
    ) -> None:
        """Subscribe to a topic; `latched` asks for its last message too, `raw` leaves messages serialized."""
        watch = SubscriptionEventCallbacks(liveliness=partial(self.on_change, topic)) if tells_of_death() else None
        qos = LATCHED_EVENT_QOS if latched else EVENT_QOS
        self._node.create_subscription(kind, topic, callback, qos, event_callbacks=watch, raw=raw)
        self._beats[topic] = HeartbeatWatch(LOOK_PERIOD)
        self._node.create_subscription(Heartbeat, heartbeat_topic(topic), partial(self._on_beat, topic), LATEST_QOS)

    def refusal(self) -> str:
        """Whose death would not be noticed, or has been, in one sentence; empty when nobody's."""
        for topic, beat in self._beats.items():
            full = self._node.resolve_topic_name(topic)
            if topic in self._lost:
                # A node that loads or compiles something, or has no processor, is silent and still there.
                state = "is held up" if self._node.count_publishers(full) else "is gone"
                return f"the node that publishes {full} {state}: no further message came on {heartbeat_topic(full)}"
            if beat.last is None and not tells_of_death():
                return (
                    f"no message came on {heartbeat_topic(full)}, and {middleware()} does not report the death of "
                    f"the node that publishes {full}"
                )
        return ""

    def on_change(self, topic: str, info: QoSLivelinessChangedInfo) -> None:
        """Publishers of a topic have come or gone, as DDS has it."""
        if info.alive_count == 0 and info.alive_count_change < 0 and not self._published_here(topic):
            self._on_loss(topic)

    def _on_beat(self, topic: str, message: Heartbeat) -> None:
        if self._beats[topic].take(message):
            self._lost.discard(topic)

    def _look(self) -> None:
        now = time.monotonic()
        for topic, beat in self._beats.items():
            silent = beat.look(now)
            if beat.last is not None and topic not in self._lost and silent > self._timeout:
                self._lost.add(topic)
                self._on_loss(topic)

    def _published_here(self, topic: str) -> bool:
        """Whether a node of this very process publishes a topic.

        It lives as long as this one, but Fast DDS renews leases between participants only: within one they run out.
        """
        full, executor = self._node.resolve_topic_name(topic), self._node.executor
        nodes = executor.get_nodes() if executor is not None else ()
        return any(publisher.topic_name == full for node in nodes for publisher in node.publishers)
