"""Whether the nodes of a graph are connected: each reports on `/readiness` the nodes discovered on its topics.

A topic passes messages once publisher and subscriber have discovered each other, each at a time of its own. So each
node reports, for each of its endpoints, the nodes at the other ends. The node that begins a motion waits until the
reports of its `companions`, the nodes of its graph, agree: each publisher has discovered its subscribers, and they it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from impact_aware.parameters import described
from impact_aware.ros.qos import READINESS_QOS
from impact_aware.ros.qos_match import end_name, mismatch
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.timers import steady_timer

TOPIC = "/readiness"

LOOK_PERIOD = 0.1
"""Wall time between two looks for other ends, s."""

QUICK_LOOKS = 30
"""Looks after the last news from any node; then only one of `SELDOM` is made."""

SELDOM = 10

OUT, IN = "> ", "< "
"""Before the topics that a node publishes, and before those that it listens to."""

ALL = f"{IN}*"
"""Key of a recorder, which listens to all topics; its value lists the ends of the names that it leaves out."""

_OF_ROS = (TOPIC, "/rosout", "/parameter_events", "/clock")
_NO_MOTION = "no_motion"
_NAMED = 3
"""Most names in a sentence."""


@dataclass(frozen=True)
class ReadinessSettings:
    """Parameters that every node of a graph has."""

    companions: list[str] = described(
        [], "nodes that must have found each other on their topics before this one begins a motion"
    )


@dataclass(frozen=True)
class Report:
    """What one node has found.

    Attributes:
        found: Names of nodes by the node's own ends, such as `> /impacts`.
        mismatches: Why other ends can't be joined, in sentences; empty when all can.
        objection: Why no motion should begin, in one sentence; empty when it may.
    """

    found: dict[str, list[str]] = field(default_factory=dict)
    mismatches: str = ""
    objection: str = ""

    def listens(self, topic: str) -> bool:
        """Whether the node listens to a topic."""
        return IN + topic in self.found or (ALL in self.found and not topic.endswith(tuple(self.found[ALL])))


class Readiness:
    """A node's own report, published latched as a `DiagnosticStatus`, and those of its companions."""

    def __init__(
        self,
        node: Node,
        busy: Callable[[], bool] = lambda: False,
        no_motion: Callable[[], str] = str,
        records_all_but: list[str] | None = None,
    ) -> None:
        """Begin to look.

        Args:
            node: Whose ends are reported.
            busy: While it returns true, nothing is looked for, as each look takes time.
            no_motion: Gives a sentence while the node knows that no motion should begin.
            records_all_but: For a node that records every topic: ends of the names of those that it does not.
        """
        self._node, self._name = node, node.get_fully_qualified_name()
        self._busy, self._no_motion = busy, no_motion
        self._always = {} if records_all_but is None else {ALL: records_all_but}
        self._companions = frozenset(load_settings(node, ReadinessSettings).companions)
        self._reports: dict[str, Report] = {}
        self._reported: Report | None = None
        self._looks = 0
        self._publisher = node.create_publisher(DiagnosticStatus, TOPIC, READINESS_QOS)
        node.create_subscription(DiagnosticStatus, TOPIC, self._on_report, READINESS_QOS)
        steady_timer(node, LOOK_PERIOD, self._look)

    def refusal(self) -> str:
        """Who has not found whom, by node and topic, in one sentence; empty when all companions have."""
        silent = sorted(self._companions - self._reports.keys())
        if silent:
            return f"{_some(silent)} {'has' if len(silent) == 1 else 'have'} not reported to be ready"
        if not self._companions:
            return ""
        reports = {name: self._reports[name] for name in sorted(self._companions)}
        reports[self._name] = Report(*self._found())
        return _some([text for one, other in permutations(reports, 2) for text in _lacks(one, other, reports)])

    def objection(self) -> str:
        """Why a companion reports that no motion should begin; empty when none does."""
        known = [(name, self._reports[name].objection) for name in sorted(self._companions & self._reports.keys())]
        return _some([f"{name} reports: {text}" for name, text in known if text])

    def _look(self) -> None:
        self._looks += 1
        before, busy = self._reported, self._busy()
        if busy and not (before and before.objection):
            return
        # An objection is taken back also while laws are followed, as they are at once after a recovery.
        if before is not None and (busy or (self._looks > QUICK_LOOKS and self._looks % SELDOM)):
            found, mismatches = before.found, before.mismatches
        else:
            found, mismatches = self._found()
        report = Report(found, mismatches, self._no_motion())
        if report == before:
            return
        self._reported, self._looks = report, 0
        entries = [KeyValue(key=end, value=" ".join(names)) for end, names in found.items()]
        entries += [KeyValue(key=_NO_MOTION, value=report.objection)] if report.objection else []
        level = DiagnosticStatus.WARN if mismatches else DiagnosticStatus.OK
        self._publisher.publish(DiagnosticStatus(level=level, name=self._name, message=mismatches, values=entries))

    def _found(self) -> tuple[dict[str, list[str]], str]:
        """Nodes at the other ends of the node's topics, and why others can't be joined."""
        node, found, wrong = self._node, dict(self._always), []
        ends: list[tuple[str, Any, Callable[[str], list[TopicEndpointInfo]]]]
        ends = [(OUT, own, node.get_subscriptions_info_by_topic) for own in node.publishers]
        ends += [(IN, own, node.get_publishers_info_by_topic) for own in node.subscriptions]
        for sign, own, find in ends:
            if (topic := own.topic_name) in _OF_ROS:
                continue
            others = [(end_name(other), mismatch(topic, own, other)) for other in find(topic)]
            found[sign + topic] = sorted({name for name, text in others if not text and name != self._name})
            wrong += [text for _, text in others if text]
        return found, _some(sorted(wrong))

    def _on_report(self, message: DiagnosticStatus) -> None:
        if message.name == self._name:
            return
        self._looks = 0
        if message.name not in self._companions:
            return
        values = {entry.key: entry.value for entry in message.values}
        objection = values.pop(_NO_MOTION, "")
        found = {end: names.split() for end, names in values.items()}
        self._reports[message.name] = Report(found, message.message, objection)


def _lacks(one: str, other: str, reports: dict[str, Report]) -> Iterator[str]:
    """One sentence per topic from one node to another one that is not known at both ends."""
    sender, listener = reports[one], reports[other]
    for end in sender.found:
        topic = end.removeprefix(OUT)
        if topic == end or not listener.listens(topic):
            continue
        if other not in sender.found[end]:
            wrong = f": {sender.mismatches}" if other in sender.mismatches else ""
            yield f"{one} reports that {other} does not listen to {topic} yet{wrong}"
        if one not in listener.found.get(IN + topic, ()):
            wrong = f": {listener.mismatches}" if one in listener.mismatches else ""
            yield f"{other} reports that {one} does not publish {topic} yet{wrong}"


def _some(texts: list[str]) -> str:
    """The first few, and how many there are besides."""
    more = [f"{len(texts) - _NAMED} more"] if len(texts) > _NAMED else []
    return ", ".join([*texts[:_NAMED], *more])
