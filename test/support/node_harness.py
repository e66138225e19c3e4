"""A node in the test's own process, driven and watched through its topics, services and timers.

Callbacks are called as its executor would call them, one after the other, so that nothing waits for anything.
"""

from __future__ import annotations

from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.serialization import deserialize_message, serialize_message

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


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
        name = self.node.resolve_service_name(service)
        (own,) = [own for own in self.node.services if self.node.resolve_service_name(own.srv_name) == name]
        return own.callback(request, own.srv_type.Response())

    def tick(self, period: float | None = None) -> None:
        """Every timer of the node elapses once, or those of a period, s."""
        tick(self.node, period)

    def status(self) -> tuple[bytes, str, dict[str, str]]:
        """Level, sentence and values of its diagnostics now."""
        (timer,) = [own for own in self.node.timers if getattr(own.callback, "__name__", "") == "report"]
        timer.callback()
        (status,) = self.sent("/diagnostics")[-1].status
        return status.level, status.message, {entry.key: entry.value for entry in status.values}

    def refused(self) -> dict[str, int]:
        """How often it has refused something, by reason."""
        values = self.status()[2]
        return {key.removeprefix("refused: "): int(n) for key, n in values.items() if key.startswith("refused: ")}


def _making():
    made: list[Harness] = []
    sent: dict[str, list[Any]] = {}
    publish = Publisher.publish

    def tapped(self: Publisher, message: Any) -> None:
        # As it is now: a node may change and publish it again.
        data = message if isinstance(message, bytes) else serialize_message(message)
        sent.setdefault(self.topic_name, []).append(deserialize_message(data, self.msg_type))
        publish(self, message)

    def make(kind: Any, /, *, namespace: str = "", **parameters: Any) -> Harness:
        options = {"namespace": namespace} if namespace else {}
        made.append(Harness(sent, kind, parameters, **options))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Publisher, "publish", tapped)
        yield make
    for own in made:
        own.node.destroy_node()


@pytest.fixture
def harness(ros_context):
    """Makes nodes, as `harness(JumpPredictorNode, arm="left")`, and ends them."""
    yield from _making()


@pytest.fixture(scope="module")
def module_harness(ros_context):
    """Makes nodes that serve the tests of a file."""
    yield from _making()
