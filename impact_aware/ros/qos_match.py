"""Whether the other ends of a node's topics match its own: what does not match is silence in ROS 2.

A publisher offers a quality of service and a subscription requests one. They are joined only when the types are equal
and the offer meets the request in each policy; otherwise no message ever passes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from rclpy.duration import Duration, Infinite
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo

from impact_aware.ros.timers import steady_timer

PATIENCE = 5.0
"""Wall time after which a topic on which nothing was received is worth a line, s."""

_UNKNOWN_NODE = "_NODE_NAME_UNKNOWN_"


def qos_gap(offered: QoSProfile, requested: QoSProfile) -> str:
    """Return the policies in which an offer does not meet a request, in the middleware's words; empty for none."""
    pair = copy.copy(offered), copy.copy(requested)
    for profile in pair:
        # Infinite where DDS gives it, not specified where the suite does: rclpy would take them to differ.
        for name in ("deadline", "liveliness_lease_duration"):
            if getattr(profile, name).nanoseconds >= Infinite.nanoseconds:
                setattr(profile, name, Duration())
    compatibility, reason = qos_check_compatible(*pair)
    if compatibility != QoSCompatibility.ERROR:
        return ""
    return "; ".join(part.removeprefix("ERROR: ").strip() for part in reason.split(";") if part.startswith("ERROR"))


def mismatches(node: Node, topics: Iterable[str] = ()) -> list[str]:
    """One sentence per endpoint of another node that is incompatible with the node's own, as far as DDS has found.

    Limited to `topics`, named as when they were created; empty: all.
    """
    return [sentence for _, bad in _surveys(node, topics) for sentence in bad]


def silenced(node: Node, topics: Iterable[str] = ()) -> list[str]:
    """One sentence per incompatible endpoint, for topics without any compatible one: no message can pass there."""
    return [sentence for matching, bad in _surveys(node, topics) if not matching for sentence in bad]


def why_silent(node: Node, topic: str, source: str = "its source") -> str:
    """Why a node has received nothing on a topic from `source`, its publisher in words, for the end of a sentence."""
    full = node.resolve_topic_name(topic)
    bad = mismatches(node, [topic])
    if bad:
        return "; ".join(bad)
    sources = sorted({end_name(end) for end in node.get_publishers_info_by_topic(full)})
    if sources:
        return f"{', '.join(sources)} can publish it, but no message came"
    return f"no node publishes it in ROS domain {node.context.get_domain_id()}, is {source} running there?"


def expect_messages(node: Node, topic: str, received: Callable[[], bool], source: str) -> None:
    """Log once why nothing is received on a topic from `source`, if that goes on for `PATIENCE`."""

    def look() -> None:
        timer.cancel()
        if not received():
            full = node.resolve_topic_name(topic)
            node.get_logger().warning(f"no {full} for {PATIENCE:g} s: {why_silent(node, topic, source)}")

    timer = steady_timer(node, PATIENCE, look)


def no_subscriber(node: Node, topic: str, but: str = "") -> str:
    """Report in one sentence that a topic has no subscriber; empty when it has one.

    Nodes called `but`, in any namespace, don't count.
    """
    full = node.resolve_topic_name(topic)
    if any(end.node_name != but for end in node.get_subscriptions_info_by_topic(full)):
        return ""
    return f"no node subscribes to {full} in ROS domain {node.context.get_domain_id()}"


def _surveys(node: Node, topics: Iterable[str]) -> Iterable[tuple[int, list[str]]]:
    """Per endpoint of the node: the number of compatible ones, and a sentence for each incompatible one."""
    wanted = {node.resolve_topic_name(topic) for topic in topics}
    ends: list[Subscription | Publisher] = [*node.subscriptions, *node.publishers]
    for own in ends:
        topic = node.resolve_topic_name(own.topic_name)
        if wanted and topic not in wanted:
            continue
        subscribes = isinstance(own, Subscription)
        find = node.get_publishers_info_by_topic if subscribes else node.get_subscriptions_info_by_topic
        others = find(topic)
        bad = [sentence for other in others if (sentence := mismatch(topic, own, other))]
        yield len(others) - len(bad), bad


def mismatch(topic: str, own: Subscription | Publisher, other: TopicEndpointInfo) -> str:
    """Why two ends of a topic are not joined; empty when they are."""
    name, subscribes = end_name(other), isinstance(own, Subscription)
    verb = "publishes" if subscribes else "listens to"
    own_type: Any = own.msg_type
    kind = "/".join((*own_type.__module__.split(".")[:2], own_type.__name__))
    if other.topic_type != kind:
        return f"{name} {verb} {topic} as {other.topic_type}, but here it is {kind}"
    pair = (other.qos_profile, own.qos_profile) if subscribes else (own.qos_profile, other.qos_profile)
    gap = qos_gap(*pair)
    return f"{name} {verb} {topic}, but no message passes: {gap}" if gap else ""


def end_name(end: TopicEndpointInfo) -> str:
    """Full name of the node, which DDS may find a moment after the end itself."""
    if end.node_name == _UNKNOWN_NODE:
        return "an unknown node"
    return f"{end.node_namespace.rstrip('/')}/{end.node_name}"
