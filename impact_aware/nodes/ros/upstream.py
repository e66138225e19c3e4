"""Subscriptions of a node to others that it can't do without, with a callback when one of them is gone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rclpy.event_handler import QoSLivelinessChangedInfo, SubscriptionEventCallbacks
from rclpy.node import Node

from impact_aware.nodes.ros.qos import EVENT_QOS, LATCHED_EVENT_QOS


class Upstream:
    """Subscribes, and calls back when a topic has lost its last publisher."""

    def __init__(self, node: Node, on_loss: Callable[[str], None]) -> None:
        """Nothing is subscribed to yet; `on_loss` is called with the topic that nobody publishes any more."""
        self._node = node
        self._on_loss = on_loss

    def listen(
        self, kind: type, topic: str, callback: Callable[..., None], *, latched: bool = False, raw: bool = False
    ) -> None:
        """Subscribe to a topic; `latched` asks for its last message too, `raw` leaves messages serialized."""
        watch = SubscriptionEventCallbacks(liveliness=partial(self.on_change, topic))
        qos = LATCHED_EVENT_QOS if latched else EVENT_QOS
        self._node.create_subscription(kind, topic, callback, qos, event_callbacks=watch, raw=raw)

    def on_change(self, topic: str, info: QoSLivelinessChangedInfo) -> None:
        """Publishers of a topic have come or gone."""
        if info.alive_count == 0 and info.alive_count_change < 0 and not self._published_here(topic):
            self._on_loss(topic)

    def _published_here(self, topic: str) -> bool:
        """Whether a node of this very process publishes a topic.

        It lives as long as this one, but Fast DDS renews leases between participants only: within one they run out.
        """
        full, executor = self._node.resolve_topic_name(topic), self._node.executor
        nodes = executor.get_nodes() if executor is not None else ()
        return any(publisher.topic_name == full for node in nodes for publisher in node.publishers)
