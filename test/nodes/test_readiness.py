"""A node finds its peers by itself, from its own side of a topic, and hears of its companions."""

from __future__ import annotations

import time

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from patience import patient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool, String

from impact_aware.errors import InvalidInputError
from impact_aware.nodes.ros.qos import LATCHED_QOS, READINESS_QOS
from impact_aware.nodes.ros.readiness import TOPIC, Readiness


class Pair:
    """Nodes in three DDS participants."""

    def __init__(self) -> None:
        self.contexts = [Context(), Context(), Context()]
        self.nodes: dict[str, Node] = {}
        self.executors = []
        for context in self.contexts:
            rclpy.init(context=context)
            self.executors.append(SingleThreadedExecutor(context=context))

    def add(self, index: int, name: str, **lists: list[str]) -> Node:
        overrides = [Parameter(key, Parameter.Type.STRING_ARRAY, texts) for key, texts in lists.items()]
        node = Node(name, context=self.contexts[index], parameter_overrides=overrides)
        self.nodes[name] = node
        self.executors[index].add_node(node)
        return node

    def until(self, condition, patience: float = 10.0) -> bool:
        deadline = time.monotonic() + patient(patience)
        while not condition():
            if time.monotonic() > deadline:
                return False
            for executor in self.executors:
                executor.spin_once(timeout_sec=0.01)
        return True

    def close(self) -> None:
        for executor in self.executors:
            executor.shutdown()
        for node in self.nodes.values():
            node.destroy_node()
        for context in self.contexts:
            context.shutdown()


@pytest.fixture
def pair():
    made = Pair()
    yield made
    made.close()


def test_both_sides_must_have_found_each_other(pair):
    source = pair.add(0, "source", peers=["/words > /sink", "/words > /far/sink"], companions=["/sink"])
    readiness = Readiness(source)
    assert readiness.refusal() == "/sink has not reported to be ready"
    sink = pair.add(1, "sink", peers=["/words < /source"])
    other = Readiness(sink)
    assert pair.until(lambda: "not reported" not in readiness.refusal())
    assert readiness.refusal() == "/words is not published yet"
    assert other.refusal() == "/words is not listened to yet"
    source.create_publisher(String, "words", 1)
    sink.create_subscription(String, "words", print, 1)
    # The far one is of the same name, in another namespace: it is not the one that is meant.
    assert pair.until(lambda: readiness.refusal() == "/far/sink does not listen to /words yet")
    far = Node("sink", namespace="far", context=pair.contexts[1])
    pair.nodes["far"] = far
    far.create_subscription(String, "/words", print, 1)
    assert pair.until(lambda: readiness.refusal() == ""), readiness.refusal()
    assert other.refusal() == ""


def test_a_companion_that_lacks_somebody_is_named_with_what_it_lacks(pair):
    waiting = pair.add(0, "waiting", companions=["/sink"])
    readiness = Readiness(waiting)
    sink = pair.add(1, "sink", peers=["/words < /source"])
    sink.create_subscription(String, "words", print, 1)
    Readiness(sink)
    wanted = "/sink reports: /source does not publish /words yet"
    assert pair.until(lambda: readiness.refusal() == wanted), readiness.refusal()
    source = pair.add(0, "source")
    publisher = source.create_publisher(String, "words", 1)
    assert pair.until(lambda: readiness.refusal() == ""), readiness.refusal()
    # Who is ready looks less often, but does look.
    source.destroy_publisher(publisher)
    assert pair.until(lambda: readiness.refusal() == wanted), readiness.refusal()


def test_a_peer_that_can_not_be_heard_is_no_peer(pair):
    sink = pair.add(0, "sink", peers=["/words < /source"])
    sink.create_subscription(String, "words", print, QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    readiness = Readiness(sink)
    source = pair.add(1, "source")
    publisher = source.create_publisher(String, "words", 1)
    assert pair.until(lambda: "transient local" in readiness.refusal()), readiness.refusal()
    source.destroy_publisher(publisher)
    again = pair.add(2, "source")
    again.create_publisher(Bool, "words", LATCHED_QOS)
    assert pair.until(lambda: "as std_msgs/msg/Bool" in readiness.refusal()), readiness.refusal()


def test_who_comes_late_still_hears_who_is_ready_and_nobody_looks_while_busy(pair):
    busy = pair.add(0, "busy")
    Readiness(busy, busy=lambda: True)
    alone = pair.add(0, "alone")
    Readiness(alone)
    known = {"busy", "alone"}
    assert pair.until(lambda: known <= {own.node_name for own in alone.get_publishers_info_by_topic(TOPIC)})
    heard = []
    late = pair.add(1, "late")
    late.create_subscription(DiagnosticStatus, TOPIC, heard.append, READINESS_QOS)
    assert pair.until(lambda: heard)
    assert [(own.name, own.level, own.message) for own in heard] == [("/alone", DiagnosticStatus.OK, "")]
    assert not pair.until(lambda: len(heard) > 1, patience=0.5)


@pytest.mark.parametrize("peer", ["/words", "/words > sink", "words > /sink", "/words = /sink", "/a > /b > /c"])
def test_what_is_no_peer_is_refused(pair, peer):
    node = pair.add(0, "node", peers=[peer])
    with pytest.raises(InvalidInputError, match="parameter peers"):
        Readiness(node)
