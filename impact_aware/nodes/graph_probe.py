"""Node `graph_probe`: what `impact-aware doctor` sees of a running graph, as JSON lines on its standard output.

It listens to joint states for a while. Each line is a finding: `name`, `found`, and `advice`, empty where all is well.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.utilities import get_rmw_implementation_identifier
from sensor_msgs.msg import JointState

from impact_aware.arrays import Array
from impact_aware.json_text import json_text
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.parameters import described
from impact_aware.robot import load_profile
from impact_aware.ros.diagnostics import listening_addresses
from impact_aware.ros.qos import state_qos
from impact_aware.ros.qos_match import end_name, qos_gap, why_silent
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.ros.timers import steady_timer

LOWEST_RATE = 200.0
"""Rate below which impacts are hard to detect, Hz."""

MOST = 2
"""Topics of states that are listened to."""

MOST_NAMES = 1000
"""Names of joints that are kept of a topic, about; a few of them are shown."""

DISCOVERY_PERIOD = 0.1
"""Time between two looks for such topics, s."""

LATE = 0.1
"""Age of a stamp on arrival, either way, from which the clocks of driver and this machine differ, s."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    joint_states: str = described("", "topic of an arm's states; empty: every topic called joint_states")
    robot: str = described("", "profile whose joints are looked for; empty: any joints do")
    seconds: float = described(3.0, "time to listen, s", 0.5, 60.0)


@dataclass
class _Received:
    """Messages on a topic since a time of a steady clock, s: arrival and stamp of each, s of system time; all names."""

    since: float
    messages: list[tuple[float, float]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


class GraphProbeNode(Node):
    """Listens, prints, and ends."""

    def __init__(self, **ros: Any) -> None:
        """Subscribe to the states, where they are not named as soon as they appear; `ros` goes to rclpy's node."""
        super().__init__("graph_probe", **ros)
        self.finished = False
        self._settings = load_settings(self, Settings)
        self._received: dict[str, _Received] = {}
        if self._settings.joint_states:
            self._listen(self.resolve_topic_name(self._settings.joint_states))
        else:
            steady_timer(self, DISCOVERY_PERIOD, self._discover)
        steady_timer(self, self._settings.seconds, self._print)

    def _discover(self) -> None:
        for topic in self._topics():
            if topic not in self._received and len(self._received) < MOST:
                self._listen(topic)

    def _topics(self) -> list[str]:
        """Return every topic of an arm's states that has a publisher."""
        named = [topic for topic, _ in self.get_topic_names_and_types() if topic.endswith("/joint_states")]
        return sorted(topic for topic in named if self.count_publishers(topic))

    def _listen(self, topic: str) -> None:
        received = self._received[topic] = _Received(time.monotonic())

        def receive(message: JointState) -> None:
            received.messages.append((time.time(), stamp_seconds(message)))
            if len(received.names) < MOST_NAMES:
                received.names.update(message.name[:MOST_NAMES])

        self.create_subscription(JointState, topic, receive, state_qos(False, False))

    def _print(self) -> None:
        for name, found, advice in (*self._surroundings(), *self._arms(), self._qos()):
            print(json_text({"name": name, "found": found, "advice": advice}), flush=True)
        self.finished = True

    def _clocks(self) -> list[str]:
        return sorted(end_name(end) for end in self.get_publishers_info_by_topic("/clock"))

    def _surroundings(self) -> list[tuple[str, str, str]]:
        reach = ", ".join(listening_addresses()) or "unknown addresses"
        domain = f"{self.context.get_domain_id()}, by {get_rmw_implementation_identifier()}, listens on {reach}"
        others = sorted({f"{space.rstrip('/')}/{name}" for name, space in self.get_node_names_and_namespaces()})
        others.remove(self.get_fully_qualified_name())
        alone = (
            ""
            if others
            else "start the driver, or set its ROS_DOMAIN_ID; if elsewhere, ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET"
        )
        clocks = self._clocks()
        return [
            ("ROS domain", domain, ""),
            ("nodes", f"{len(others)}: {_few(others)}", alone),
            ("/clock", _few(clocks), "end all but one: time jumps between them" if len(clocks) > 1 else ""),
        ]

    def _arms(self) -> list[tuple[str, str, str]]:
        """What comes on each topic of states."""
        shown, others = list(self._received), [topic for topic in self._topics() if topic not in self._received]
        found = [(topic, *self._states(topic, self._received[topic])) for topic in shown]
        if others:
            found.append(("more joint_states", f"{_few(others)}: see --joint-states", ""))
        if not shown:
            found = [("joint_states", "no such topic", why_silent(self, "joint_states", "the robot's driver"))]
        return found

    def _states(self, topic: str, received: _Received) -> tuple[str, str]:
        """Who publishes the states, at which rate, with which stamps and joints; and the remedies, one per fault."""
        sources = sorted(end_name(end) for end in self.get_publishers_info_by_topic(topic))
        if not received.messages:
            others = [other for other in self._topics() if other != topic]
            elsewhere = f"; or --joint-states {others[0]}" if others else ""
            return "no message", why_silent(self, topic, "its driver") + elsewhere
        arrivals, stamps = (np.array([message[k] for message in received.messages]) for k in (0, 1))
        rate = len(arrivals) / (time.monotonic() - received.since)
        faults = ["end or remap all but one publisher: each moves the arm elsewhere"] if len(sources) > 1 else []
        if rate < LOWEST_RATE:
            faults.append("joint_states:= the driver's own topic: bridges and broadcasters may repeat it more slowly")
        words, fault = self._stamps(arrivals, stamps)
        names = sorted(received.names)
        wanted = load_profile(self._settings.robot).joint_names if self._settings.robot else ()
        faults += [*filter(None, (fault, _missing(names, wanted, self._settings.robot)))]
        joints = f"{len(names)} joints: {_few(names, 7)}"
        return f"{rate:.0f} Hz, stamps {words}, from {_few(sources, 2)}, {joints}", "; ".join(faults)

    def _stamps(self, arrivals: Array, stamps: Array) -> tuple[str, str]:
        """How stamps (k,), s, compare with the arrivals (k,) of their messages, s, and the remedy."""
        age = float(np.median(arrivals - stamps))
        order = float(np.mean(np.diff(stamps) <= 0.0)) if len(stamps) > 1 else 0.0
        words = f"{1e3 * age:.0f} ms old"
        if not stamps.any():
            return "none", "have the driver stamp its messages: arrival is too uncertain to detect impacts"
        if order > 0.0:
            return f"{order:.0%} not after the last", "look for a second publisher or a repeating bridge"
        if abs(age) > LATE and self._clocks():
            return "of /clock", ""
        return words, "synchronise the clocks, such as by chrony" if abs(age) > LATE else ""

    def _qos(self) -> tuple[str, str, str]:
        """Pairs of all nodes' ends between which no message can pass."""
        bad = []
        for topic, _ in self.get_topic_names_and_types():
            for offer in self.get_publishers_info_by_topic(topic):
                for wish in self.get_subscriptions_info_by_topic(topic):
                    if gap := qos_gap(offer.qos_profile, wish.qos_profile):
                        bad.append(f"{topic} from {end_name(offer)} to {end_name(wish)}: {gap}")
        remedy = "have the publisher offer what the subscription requests, or that request less"
        found = f"{len(bad)} mismatches: {_few(bad, 2)}" if bad else "no mismatch"
        return "quality of service", found, remedy if bad else ""


def _missing(names: list[str], wanted: Sequence[str], robot: str) -> str:
    """The remedy where joints of a robot are not among the names."""
    missing = [name for name in wanted if name not in names]
    prefixes = {name.removesuffix(wanted[0]) for name in names if missing and name.endswith(wanted[0])}
    fitting = [prefix for prefix in sorted(prefixes) if all(prefix + name in names for name in wanted)]
    if fitting:
        return f"`joint_prefix: {fitting[0]}` for the arm in the task"
    return f"{_few(missing)} of {robot} are missing: name the arm's profile by robot:=" if missing else ""


def _few(names: list[str], count: int = 4) -> str:
    rest = f" and {len(names) - count} more" if len(names) > count else ""
    return ", ".join(names[:count]) + rest if names else "none"


main = partial(run_node, GraphProbeNode)
