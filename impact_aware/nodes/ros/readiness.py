"""Whether all who must hear each other do: each node looks for its own peers, and says so on `/readiness`.

A topic passes messages once both its ends know each other, and DDS introduces them one after the other, at any time.
So each node looks for its own peers, from its own side, and whoever begins a motion waits until all nodes of the graph
have said that they found theirs. Who is to be found comes with the graph (`impact_aware.bringup.connections`); a node
that was given no peers is ready at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription

from impact_aware.errors import InvalidInputError
from impact_aware.nodes.ros.qos import READINESS_QOS
from impact_aware.nodes.ros.qos_match import end_name, mismatch
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.nodes.ros.timers import steady_timer
from impact_aware.parameters import described

TOPIC = "/readiness"

LOOK_PERIOD = 0.1
"""Wall time between two looks for peers, s."""

LOOKS_WHEN_READY = 10
"""Of so many looks one is made by a node that is ready: a peer may go, and come back."""

_NO_MOTION = "no_motion"
"""Key of the value with the reason why no motion should begin."""

_NAMED = 3
"""Most names in a sentence."""


@dataclass(frozen=True)
class ReadinessSettings:
    """Parameters that every node of a graph has."""

    peers: list[str] = described(
        [], "other ends of its topics that must be there, such as `/impacts > /rs_controller` or `/impacts < /detector`"
    )
    companions: list[str] = described([], "nodes that must have found their peers before this one begins a motion")


class Readiness:
    """A node's own peers, published latched as a `DiagnosticStatus`, and its companions' as they publish them."""

    def __init__(
        self, node: Node, busy: Callable[[], bool] = lambda: False, no_motion: Callable[[], str] = str
    ) -> None:
        """Begin to look; not while `busy`, as each look takes time.

        `no_motion` gives a sentence while this node, although it has all its peers, knows that no motion should begin.

        Raises:
            InvalidInputError: A peer that is not `TOPIC > NODE` or `TOPIC < NODE`.
        """
        settings = load_settings(node, ReadinessSettings)
        self._node = node
        self._busy = busy
        self._no_motion = no_motion
        self._peers = _parsed(settings.peers)
        self._companions = frozenset(settings.companions)
        self._answers: dict[str, str] = {}
        self._objections: dict[str, str] = {}
        self._said: str | None = None
        self._objected = ""
        self._looks = 0
        self._publisher = node.create_publisher(DiagnosticStatus, TOPIC, READINESS_QOS)
        if self._companions:
            node.create_subscription(DiagnosticStatus, TOPIC, self._on_answer, READINESS_QOS)
        steady_timer(node, LOOK_PERIOD, self._look)

    def refusal(self) -> str:
        """Who is missing, by node and topic, in one sentence; empty when everybody has found everybody."""
        silent = sorted(self._companions - self._answers.keys())
        if silent:
            return f"{_some(silent)} {'has' if len(silent) == 1 else 'have'} not reported to be ready"
        lacks = self._lacks()
        if lacks:
            return _some(lacks)
        return _some([f"{name} reports: {text}" for name, text in sorted(self._answers.items()) if text])

    def objection(self) -> str:
        """Why a companion says that no motion should begin; empty when none does."""
        return _some([f"{name} reports: {text}" for name, text in sorted(self._objections.items()) if text])

    def _look(self) -> None:
        self._looks += 1
        if self._busy():
            return
        objection = self._no_motion()
        seldom = self._said == "" and self._looks % LOOKS_WHEN_READY
        text = "" if seldom else _some(self._lacks())
        if (text, objection) == (self._said, self._objected):
            return
        self._said, self._objected = text, objection
        level = DiagnosticStatus.WARN if text else DiagnosticStatus.OK
        name = self._node.get_fully_qualified_name()
        values = [KeyValue(key=_NO_MOTION, value=objection)] if objection else []
        self._publisher.publish(DiagnosticStatus(level=level, name=name, message=text, values=values))

    def _lacks(self) -> list[str]:
        """One sentence per peer that is not there, or not as it should be."""
        own: dict[tuple[str, str], Publisher | Subscription] = {}
        own |= {(end.topic_name, ">"): end for end in self._node.publishers}
        own |= {(end.topic_name, "<"): end for end in self._node.subscriptions}
        lacks = []
        for (topic, sign), names in self._peers.items():
            verb = "listen to" if sign == ">" else "publish"
            end = own.get((topic, sign))
            if end is None:
                lacks.append(f"{topic} is not {'published' if sign == '>' else 'listened to'} yet")
                continue
            find = (
                self._node.get_subscriptions_info_by_topic if sign == ">" else self._node.get_publishers_info_by_topic
            )
            found = {end_name(other): other for other in find(topic)}
            lacks += [f"{name} does not {verb} {topic} yet" for name in names if name not in found]
            lacks += filter(None, (mismatch(topic, end, found[name]) for name in names if name in found))
        return lacks

    def _on_answer(self, message: DiagnosticStatus) -> None:
        if message.name in self._companions:
            self._answers[message.name] = message.message
            said = {entry.key: entry.value for entry in message.values}
            self._objections[message.name] = said.get(_NO_MOTION, "")


def _parsed(peers: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """Nodes by topic and sign."""
    found: dict[tuple[str, str], list[str]] = {}
    for peer in peers:
        words = peer.split(" ")
        if len(words) != 3 or words[1] not in ("<", ">") or not (words[0].startswith("/") and words[2].startswith("/")):
            raise InvalidInputError("parameter peers", repr(peer), "a topic, < or >, and a node, such as /a > /b")
        found.setdefault((words[0], words[1]), []).append(words[2])
    return found


def _some(texts: list[str]) -> str:
    """The first few, and how many there are besides."""
    more = [f"{len(texts) - _NAMED} more"] if len(texts) > _NAMED else []
    return ", ".join([*texts[:_NAMED], *more])
