"""Node `graph_probe`: what `impact-aware doctor` sees of a running graph, as JSON lines on its standard output.

It listens to joint states for a while. Each line is a finding: `name`, `found`, and `advice`, empty where all is well.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.utilities import get_rmw_implementation_identifier
from sensor_msgs.msg import JointState

from impact_aware.json_text import json_text
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.nodes.ros.diagnostics import listening_addresses
from impact_aware.nodes.ros.qos import state_qos
from impact_aware.nodes.ros.qos_match import end_name, qos_gap, why_silent
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.nodes.ros.runtime import run_node
from impact_aware.nodes.ros.timers import steady_timer
from impact_aware.parameters import described
from impact_aware.robot import load_profile

LOWEST_RATE = 200.0
"""Rate below which impacts are hard to detect, Hz."""

LATE = 0.1
"""Age of a stamp on arrival, either way, from which the clocks of driver and this machine differ, s."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    joint_states: str = described("joint_states", "topic of the arm's states")
    robot: str = described("", "profile whose joints are looked for; empty: any joints do")
    seconds: float = described(3.0, "time to listen, s", 0.5, 60.0)


class GraphProbeNode(Node):
    """Listens, prints, and ends."""

    def __init__(self, **ros: Any) -> None:
        """Subscribe to the states; `ros` goes to rclpy's node."""
        super().__init__("graph_probe", **ros)
        self.finished = False
        self._settings = load_settings(self, Settings)
        self._messages: list[tuple[float, float, tuple[str, ...]]] = []
        self._topic = self.resolve_topic_name(self._settings.joint_states)
        self.create_subscription(JointState, self._topic, self._on_state, state_qos(False, False))
        steady_timer(self, self._settings.seconds, self._print)

    def _on_state(self, message: JointState) -> None:
        self._messages.append((time.time(), stamp_seconds(message), tuple(message.name)))

    def _print(self) -> None:
        for name, found, advice in (*self._surroundings(), *self._states(), self._qos()):
            print(json_text({"name": name, "found": found, "advice": advice}), flush=True)
        self.finished = True

    def _surroundings(self) -> list[tuple[str, str, str]]:
        reach = ", ".join(listening_addresses()) or "unknown addresses"
        domain = f"{self.context.get_domain_id()}, by {get_rmw_implementation_identifier()}, listens on {reach}"
        others = sorted({f"{space.rstrip('/')}/{name}" for name, space in self.get_node_names_and_namespaces()})
        others.remove(self.get_fully_qualified_name())
        alone = "" if others else "is ROS_DOMAIN_ID that of the robot's driver, and the discovery range wide enough?"
        clocks = sorted(end_name(end) for end in self.get_publishers_info_by_topic("/clock"))
        return [
            ("ROS domain", domain, ""),
            ("nodes", f"{len(others)}: {_few(others)}", alone),
            ("/clock", _few(clocks), "one node at most may publish /clock" if len(clocks) > 1 else ""),
        ]

    def _states(self) -> list[tuple[str, str, str]]:
        """Who publishes the states, at which rate, with which stamps and joints."""
        sources = sorted(end_name(end) for end in self.get_publishers_info_by_topic(self._topic))
        several = "remap the nodes to the topic of one driver: each publisher moves the arm elsewhere"
        found = [(f"{self._topic} from", _few(sources), several if len(sources) > 1 else "")] if sources else []
        if not self._messages:
            return [*found, (self._topic, "no message", why_silent(self, self._topic, "the robot's driver"))]
        arrivals, stamps = (np.array([message[k] for message in self._messages]) for k in (0, 1))
        rate = len(arrivals) / self._settings.seconds
        slow = "use the driver's own topic: a joint_state_broadcaster or bridge may repeat it more slowly"
        found.append(("rate", f"{rate:.0f} Hz", slow if rate < LOWEST_RATE else ""))
        age = float(np.median(arrivals - stamps))
        order = float(np.mean(np.diff(stamps) <= 0.0)) if len(stamps) > 1 else 0.0
        words, advice = f"{1e3 * age:.0f} ms old on arrival", ""
        if not stamps.any():
            words, advice = "none", "have the driver stamp its messages: arrival is too uncertain to detect impacts"
        elif abs(age) > LATE:
            advice = "synchronise the clocks, or the stamps are simulated or recorded time"
        elif order > 0.0:
            words = f"{words}, {order:.0%} not after the last"
            advice = "look for a second publisher or a repeating bridge"
        return [*found, ("stamps", words, advice), self._joints()]

    def _joints(self) -> tuple[str, str, str]:
        names = sorted({name for _, _, own in self._messages for name in own})
        wanted = load_profile(self._settings.robot).joint_names if self._settings.robot else ()
        missing = [name for name in wanted if name not in names]
        advice = f"{_few(missing)} of {self._settings.robot} are missing: another profile, or joint_prefix"
        return "joints", f"{len(names)}: {_few(names, 8)}", advice if missing else ""

    def _qos(self) -> tuple[str, str, str]:
        """Pairs of all nodes' ends between which no message can pass."""
        bad = []
        for topic, _ in self.get_topic_names_and_types():
            for offer in self.get_publishers_info_by_topic(topic):
                for wish in self.get_subscriptions_info_by_topic(topic):
                    if gap := qos_gap(offer.qos_profile, wish.qos_profile):
                        bad.append(f"{topic} from {end_name(offer)} to {end_name(wish)}: {gap}")
        return "quality of service", f"{len(bad)} mismatches", _few(bad, 2) if bad else ""


def _few(names: list[str], count: int = 4) -> str:
    rest = f" and {len(names) - count} more" if len(names) > count else ""
    return ", ".join(names[:count]) + rest if names else "none"


main = partial(run_node, GraphProbeNode)
