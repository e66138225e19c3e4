"""Each node reports whom it has found on its topics, and whoever begins a motion waits until all reports agree."""


import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from patience import until
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool, String

from impact_aware.ros.qos import READINESS_QOS
from impact_aware.ros.readiness import TOPIC, Readiness


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

    def until(self, condition, seconds: float = 10.0) -> bool:
        return until(condition, lambda: [own.spin_once(timeout_sec=0.01) for own in self.executors], seconds)

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


def test_both_sides_must_have_found_each_other_and_do_so_for_each_new_topic(pair):
    source = pair.add(0, "source", companions=["/sink", "/far/sink"])
    readiness = Readiness(source)
    assert readiness.refusal() == "/far/sink, /sink have not reported to be ready"
    sink = pair.add(1, "sink")
    busy = False
    other = Readiness(sink, busy=lambda: busy)
    # The far one is of the same name, in another namespace: it is not the one that listens.
    far = pair.nodes["far"] = Node("sink", namespace="far", context=pair.contexts[1])
    pair.executors[1].add_node(far)
    Readiness(far)
    assert pair.until(lambda: readiness.refusal() == "")
    assert other.refusal() == ""
    source.create_publisher(String, "words", 1)
    assert readiness.refusal() == "", "nobody listens"
    sink.create_subscription(String, "words", print, 1)
    assert pair.until(lambda: readiness.refusal() == ""), readiness.refusal()
    # What has been reported before says nothing of a new topic.
    reported = set()
    source.create_subscription(
        DiagnosticStatus, TOPIC, lambda own: reported.update(entry.key for entry in own.values), READINESS_QOS
    )
    sink.create_publisher(Bool, "answers", 1)
    assert pair.until(lambda: "> /answers" in reported and readiness.refusal() == "")
    busy = True
    source.create_subscription(Bool, "answers", print, 1)
    wanted = "/sink reports that /source does not listen to /answers yet"
    assert pair.until(lambda: readiness.refusal() == wanted), readiness.refusal()
    busy = False
    assert pair.until(lambda: readiness.refusal() == ""), readiness.refusal()


def test_companions_that_have_not_found_each_other_are_named_by_whoever_waits(pair):
    readiness = Readiness(pair.add(0, "waiting", companions=["/sink", "/source"]))
    sink, source = pair.add(1, "sink"), pair.add(0, "source")
    sink.create_subscription(String, "words", print, 1)
    source.create_publisher(String, "words", 1)
    busy = True
    Readiness(sink, busy=lambda: busy)
    Readiness(source)
    assert pair.until(lambda: readiness.refusal() == "/sink has not reported to be ready")
    busy = False
    assert pair.until(lambda: readiness.refusal() == ""), readiness.refusal()


def test_an_objection_is_taken_back_also_while_nobody_looks(pair):
    readiness = Readiness(pair.add(0, "waiting", companions=["/arm"]))
    objection, busy = "it has stopped", False
    Readiness(pair.add(1, "arm"), busy=lambda: busy, no_motion=lambda: objection)
    assert pair.until(lambda: readiness.objection() == "/arm reports: it has stopped")
    # An arm that has recovered follows laws at once.
    objection, busy = "", True
    assert pair.until(lambda: readiness.objection() == "")


def test_an_end_that_can_not_be_heard_is_not_found(pair):
    readiness = Readiness(pair.add(0, "waiting", companions=["/sink", "/source"]))
    sink, source = pair.add(1, "sink"), pair.add(2, "source")
    sink.create_subscription(String, "words", print, QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    source.create_publisher(String, "words", 1)
    seen = {"/source": DiagnosticStatus()}
    sink.create_subscription(DiagnosticStatus, TOPIC, lambda own: seen.update({own.name: own}), READINESS_QOS)
    Readiness(sink)
    Readiness(source)
    assert pair.until(lambda: "transient local" in readiness.refusal()), readiness.refusal()
    words = "/sink listens to /words, but no message passes: Volatile"
    assert pair.until(lambda: words in seen["/source"].message and seen["/source"].level == DiagnosticStatus.WARN)


def test_a_recorder_is_waited_for_until_it_listens_to_every_topic_that_it_records(pair):
    source = pair.add(0, "source", companions=["/recorder"])
    readiness = Readiness(source)
    recorder = pair.add(1, "recorder")
    Readiness(recorder, records_all_but=["/step_done"])
    for topic in ("words", "step_done"):
        source.create_publisher(String, topic, 1)
    wanted = "/recorder reports that /source does not publish /words yet"
    assert pair.until(lambda: wanted in readiness.refusal()), readiness.refusal()
    recorder.create_subscription(String, "words", print, 1)
    assert pair.until(lambda: readiness.refusal() == ""), readiness.refusal()


def test_who_comes_late_still_hears_who_is_ready_and_nobody_looks_while_busy(pair):
    busy = pair.add(0, "busy")
    Readiness(busy, busy=lambda: True)
    alone = pair.add(0, "alone")
    Readiness(alone)
    known = {"busy", "alone"}
    assert pair.until(lambda: known <= {own.node_name for own in alone.get_publishers_info_by_topic(TOPIC)})
    seen = []
    late = pair.add(1, "late")
    late.create_subscription(DiagnosticStatus, TOPIC, seen.append, READINESS_QOS)
    assert pair.until(lambda: seen)
    assert [(own.name, own.level, own.message) for own in seen] == [("/alone", DiagnosticStatus.OK, "")]
    assert not pair.until(lambda: len(seen) > 1, seconds=0.5)
    # Who finds nothing new looks less often, but does look.
    alone.create_publisher(String, "words", 1)
    assert pair.until(lambda: len(seen) > 1)
