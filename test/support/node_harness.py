"""A node in the test's own process, driven and watched through its topics, services and timers.

Callbacks are called as its executor would call them, one after the other, so that nothing waits for anything.
"""

import contextlib
from types import SimpleNamespace
from typing import Any

import pinocchio as pin
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TransformStamped
from patience import until
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from impact_aware.messages.geometry import write_quaternion, write_vector
from impact_aware.ros.diagnostics import DiagnosticsReporter
from impact_aware.ros.messages import stamp

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


def joint_state(time: float, names: Any, position: Any, velocity: Any = (), effort: Any = ()) -> JointState:
    """States of joints at a time, s."""
    message = JointState(name=list(names), position=list(position), velocity=list(velocity), effort=list(effort))
    message.header.stamp = stamp(time)
    return message


def upright(position: Any, frame: str = "", time: float = 0.0) -> PoseStamped:
    """A pose that is not turned, at a time, s."""
    message = PoseStamped()
    message.header.frame_id, message.header.stamp, message.pose.orientation.w = frame, stamp(time), 1.0
    write_vector(message.pose.position, position)
    return message


def transforms(*links: tuple[str, str, pin.SE3], at: float = 0.0) -> SimpleNamespace:
    """What a TFMessage holds: of each parent and child the pose, at a time, s."""
    found = []
    for parent, child, pose in links:
        transform = TransformStamped(child_frame_id=child)
        transform.header.frame_id, transform.header.stamp = parent, stamp(at)
        write_vector(transform.transform.translation, pose.translation)
        write_quaternion(transform.transform.rotation, pin.Quaternion(pose.rotation).coeffs())
        found.append(transform)
    return SimpleNamespace(transforms=found)


def send(node: Node, topic: str, *messages: Any) -> None:
    """Hand messages to whatever of a node listens to a topic."""
    name = node.resolve_topic_name(topic)
    listening = [own for own in node.subscriptions if own.topic_name == name]
    assert listening, f"no node subscribes to {name}, but to {[own.topic_name for own in node.subscriptions]}"
    for message in messages:
        for own in listening:
            own.callback(serialize_message(message) if own.raw and not isinstance(message, bytes) else message)


def tick(node: Node, period: float | None = None) -> None:
    """Every timer of a node elapses once, or those of a period, s."""
    for timer in list(node.timers):
        if not timer.is_canceled() and period in (None, 1e-9 * timer.timer_period_ns):
            timer.callback()


def call(node: Node, service: str, request: Any) -> Any:
    """The answer of one of a node's services."""
    name = node.resolve_service_name(service)
    (own,) = [own for own in node.services if node.resolve_service_name(own.srv_name) == name]
    return own.callback(request, own.srv_type.Response())


def status(node: Node) -> tuple[bytes, str, dict[str, str]]:
    """Level, sentence and values of a node's diagnostics now."""
    (timer,) = [own for own in node.timers if isinstance(getattr(own.callback, "__self__", None), DiagnosticsReporter)]
    (found,) = timer.callback.__self__.message().status
    return found.level, found.message, {entry.key: entry.value for entry in found.values}


def refused(node: Node) -> dict[str, int]:
    """How often a node has refused something, by reason."""
    values = status(node)[2]
    return {key.removeprefix("refused: "): int(n) for key, n in values.items() if key.startswith("refused: ")}


def introduced(node: Node, topic: str, publishers: int = 0, subscribers: int = 0, namespace: str = "/") -> None:
    """Wait until DDS has introduced so many ends of a topic to a node, and the node `driver` by its name."""

    def known() -> bool:
        ends = node.get_publishers_info_by_topic(topic), node.get_subscriptions_info_by_topic(topic)
        # An end can be known before its node's name is.
        named = all("UNKNOWN" not in end.node_name for end in (*ends[0], *ends[1]))
        enough = len(ends[0]) >= publishers and len(ends[1]) >= subscribers
        return enough and named and ("driver", namespace) in node.get_node_names_and_namespaces()

    assert until(known), f"DDS did not introduce {topic}"


class Harness:
    """One node.

    Attributes:
        node: It.
        sent: What it has published, by full topic name, deserialized.
    """

    def __init__(self, sent: dict[str, list[Any]], make: Any, parameters: dict[str, Any], **options: Any) -> None:
        """Make it with these parameters; `options` go to its class."""
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        self._all_sent = sent
        self.node: Node = make(parameter_overrides=overrides, **options)

    def send(self, topic: str, *messages: Any) -> None:
        """Hand messages to whatever of the node listens to a topic."""
        send(self.node, topic, *messages)

    def listens(self, topic: str) -> bool:
        """Whether the node has a subscription of a topic."""
        return self.node.resolve_topic_name(topic) in [own.topic_name for own in self.node.subscriptions]

    def sent(self, topic: str) -> list[Any]:
        """What it has published on a topic, oldest first; the same list each time, so that it can be cleared."""
        return self._all_sent.setdefault(self.node.resolve_topic_name(topic), [])

    def call(self, service: str, request: Any) -> Any:
        """The answer of one of its services."""
        return call(self.node, service, request)

    def tick(self, period: float | None = None) -> None:
        """Every timer of the node elapses once, or those of a period, s."""
        tick(self.node, period)

    def status(self) -> tuple[bytes, str, dict[str, str]]:
        """Level, sentence and values of its diagnostics now."""
        return status(self.node)

    def refused(self) -> dict[str, int]:
        """How often it has refused something, by reason."""
        return refused(self.node)


@contextlib.contextmanager
def tap():
    """What nodes of this process publish meanwhile, by full topic name, deserialized."""
    sent: dict[str, list[Any]] = {}
    publish = Publisher.publish

    def tapped(self: Publisher, message: Any) -> None:
        # As it is now: a node may change and publish it again.
        data = message if isinstance(message, bytes) else serialize_message(message)
        sent.setdefault(self.topic_name, []).append(deserialize_message(data, self.msg_type))
        publish(self, message)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Publisher, "publish", tapped)
        yield sent


@pytest.fixture
def sent(ros_context):
    """What a node has published on a topic during a test, oldest first: `sent(node, "task")`, the same list each time.

    Listed before the fixture that makes the node, it has what the node published at its start too.
    """
    with tap() as by_topic:
        yield lambda node, topic: by_topic.setdefault(node.resolve_topic_name(topic), [])


def _making():
    made: list[Harness] = []

    def make(kind: Any, /, *, namespace: str = "", **parameters: Any) -> Harness:
        options = {"namespace": namespace} if namespace else {}
        made.append(Harness(sent, kind, parameters, **options))
        return made[-1]

    with tap() as sent:
        yield make
    for own in made:
        own.node.destroy_node()


@pytest.fixture
def tf(monkeypatch):
    """Nodes listen to TF also where tf2_msgs is not installed: tests hand them what comes on /tf and /tf_static."""
    monkeypatch.setattr("impact_aware.ros.frames.message_class", lambda name: TransformStamped)


@pytest.fixture
def make(harness):
    """Makes nodes, as `make(JumpPredictorNode, arm="left")`, and ends them."""
    return lambda kind, **parameters: harness(kind, **parameters).node


@pytest.fixture
def harness(ros_context):
    """Makes nodes, as `harness(JumpPredictorNode, arm="left")`, and ends them."""
    yield from _making()


@pytest.fixture(scope="module")
def module_harness(ros_context):
    """Makes nodes that serve the tests of a file."""
    yield from _making()
