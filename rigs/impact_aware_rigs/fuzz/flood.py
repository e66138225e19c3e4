"""Random messages and requests for a node of its own process over DDS: is it alive, does it grow, what does it count?

`python -m impact_aware_rigs.fuzz.flood NODE MESSAGES REQUESTS SEED` prints one JSON object, and `impact-aware faults
--fuzz N --dds` runs it for every node. What the node listens to and offers is asked of the ROS graph. The answer to a
request after every few messages is waited for, so that no more is sent than the node takes in.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.bringup.processes import NodeProcess, end_processes, quiet_environment
from impact_aware.errors import ImpactAwareError
from impact_aware.nodes.ros.messages import message_class
from impact_aware_rigs.figures import resident_bytes
from impact_aware_rigs.fuzz.fuzz import LOOKS, SPOILT_SHARES, STRETCH, WARM_UP
from impact_aware_rigs.fuzz.subjects import subject
from impact_aware_rigs.fuzz.traffic import SERVICES, Traffic

PARAMETERS = ("get_parameters", "get_parameter_types", "list_parameters", "describe_parameters", "set_parameters",
              "set_parameters_atomically")  # fmt: skip
"""Services that every node offers."""

NOT_SENT = ("/parameter_events", "/clock")
"""Topics that a node listens to only through ROS itself; a clock that jumps is a fault of its own."""

FOUND_WITHIN, ANSWERED_WITHIN = 60.0, 20.0
"""Longest time until a node is found with all that it offers, and until a request is answered, s of wall time."""

SETTLED = 1.5
"""What a node listens to is all that was found when nothing new came for so long, s."""


class FloodError(ImpactAwareError):
    """The node can't be flooded: it did not come, or is gone."""


class Flood:
    """A node as a process, and publishers and clients for all that it takes.

    Attributes:
        sent: How many messages and requests it was given, by name of the topic or service.
        spoilt: How many of them were not as they should be.
        unanswered: Requests without an answer.
    """

    def __init__(self, name: str, seed: int, folder: Path, domain: int) -> None:
        """Start the node and find what it listens to; rclpy must be initialised.

        Raises:
            UnknownNameError: No such node.
            FloodError: It does not come.
        """
        own = subject(name)
        self.name = name
        self.sent: Counter[str] = Counter()
        self.spoilt = self.unanswered = 0
        self._traffic = Traffic(own.task, seed)
        self._values: dict[str, str] = {}
        self._node = rclpy.create_node(f"flood_{os.getpid()}")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._note, 10)
        parameters = {"autostart": True} if name == "rs_controller" else {}
        spec = NodeSpec(name, name, parameters={**own.settings, **parameters})
        self.process = NodeProcess(spec, quiet_environment(domain), folder)
        try:
            topics = self._found()
            self._publishers = [self._publisher(topic, kind) for topic, kind in sorted(topics.items())]
            self._clients = [self._client(path, kind) for path, kind in self._services()]
        except BaseException:
            self.close()
            raise

    def run(self, messages: int, every: int) -> None:
        """Send so many messages, and a request after `every` of them."""
        share, draw, generator = 1.0, self._traffic.draw, self._traffic.generator
        for number in range(messages):
            if number % STRETCH == 0:
                share = generator.choice(SPOILT_SHARES)
            publisher, kind, topic = generator.choice(self._publishers)
            spoil = draw() < share
            self.sent[topic] += 1
            self.spoilt += spoil
            publisher.publish(self._traffic.data(kind, topic, spoil=spoil, raw=True))
            if number % every == every - 1:
                self.ask(spoil=draw() < share)

    def ask(self, *, spoil: bool) -> None:
        """Send a request and wait for its answer.

        Raises:
            FloodError: The node has ended.
        """
        client, kind, path = self._traffic.generator.choice(self._clients)
        request, spoilt = self._traffic.request(kind, spoil=spoil)
        self.sent[path] += 1
        self.spoilt += spoilt
        future = client.call_async(request)
        # rclpy's own spin_until_future_complete makes one task more with each request, all of which the next one runs.
        self.unanswered += not self._wait(future.done, ANSWERED_WITHIN)
        if not self.process.running:
            raise FloodError(f"{self.name} {self.process.exit_description()}: {self.process.last_lines(1)}")

    def diagnostics(self) -> dict[str, str]:
        """What the node last said of itself, once it has said it anew."""
        self._values = {}
        self._wait(lambda: bool(self._values), ANSWERED_WITHIN)
        return self._values

    def resident_kib(self) -> int:
        """Memory of the node."""
        return int(resident_bytes(self.process.process.pid) or 0) // 1024

    def close(self) -> list[str]:
        """End the node; returns its name when it had to be killed."""
        killed = end_processes([self.process])
        self.process.close()
        self._executor.shutdown()
        self._node.destroy_node()
        return killed

    def _note(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.lstrip("/").startswith(self.name):
                self._values = {entry.key: entry.value for entry in status.values}

    def _found(self) -> dict[str, str]:
        """Topics that the node listens to, with their types, when all have been found."""
        found: dict[str, str] = {}
        since = time.monotonic()

        def settled() -> bool:
            nonlocal since
            listed: list[tuple[str, list[str]]] = []
            with contextlib.suppress(RuntimeError):
                # The node may not be known yet.
                listed = self._node.get_subscriber_names_and_types_by_node(self.name, "/")
            new = {topic: kinds[0] for topic, kinds in listed if topic not in (*NOT_SENT, *found)}
            found.update(new)
            if new or not found:
                since = time.monotonic()
            return time.monotonic() - since > SETTLED

        if not self._wait(settled, FOUND_WITHIN):
            raise FloodError(f"{self.name} was not found within {FOUND_WITHIN:g} s: {self.process.last_lines(1)}")
        return found

    def _publisher(self, topic: str, kind_name: str) -> tuple[Any, type, str]:
        """A publisher that the node's subscription can receive from."""
        wanted = next(
            info.qos_profile
            for info in self._node.get_subscriptions_info_by_topic(topic)
            if info.node_name == self.name
        )
        profile = QoSProfile(depth=100, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE)
        profile.durability = wanted.durability
        profile.liveliness, profile.liveliness_lease_duration = wanted.liveliness, wanted.liveliness_lease_duration
        kind = message_class(kind_name)
        return self._node.create_publisher(kind, topic, profile), kind, topic

    def _services(self) -> list[tuple[str, str]]:
        """The node's own services, besides those of its parameters, with their types."""
        listed = self._node.get_service_names_and_types_by_node(self.name, "/")
        chosen = [(path, kinds[0]) for path, kinds in listed if path.rpartition("/")[2] in (*SERVICES, *PARAMETERS)]
        own = [entry for entry in chosen if entry[0].rpartition("/")[2] in SERVICES]
        # As often one of its own as one of the others.
        return chosen + own * (len(PARAMETERS) // len(own) - 1 if own else 0)

    def _client(self, path: str, kind_name: str) -> tuple[Any, type, str]:
        package, _, short = kind_name.split("/")
        kind: Any = getattr(importlib.import_module(f"{package}.srv"), short)
        client = self._node.create_client(kind, path)
        if not client.wait_for_service(timeout_sec=FOUND_WITHIN):
            raise FloodError(f"{self.name} offers {path}, but it can't be reached")
        return client, kind, path

    def _wait(self, condition: Any, patience: float) -> bool:
        deadline = time.monotonic() + patience
        while not condition():
            if time.monotonic() > deadline or not self.process.running:
                return False
            self._executor.spin_once(timeout_sec=0.1)
        return True


def flood(name: str, messages: int, requests: int, seed: int) -> dict[str, Any]:
    """Flood one node; rclpy must be initialised.

    Raises:
        FloodError: The node did not come, or has ended.
    """
    every = max(1, messages // max(1, requests))
    with tempfile.TemporaryDirectory(prefix="impact_aware_flood_") as scratch:
        own = Flood(name, seed, Path(scratch), int(os.environ.get("ROS_DOMAIN_ID", "0")))
        begin = time.perf_counter()
        try:
            memory, done = [], 0
            for end in np.linspace(WARM_UP * messages, messages, LOOKS).astype(int).tolist():
                own.run(end - done, every)
                memory.append(own.resident_kib())
                done = end
            own.ask(spoil=False)
            values = own.diagnostics()
        finally:
            killed = own.close()
    failed = {key.removeprefix("failed: "): int(count) for key, count in values.items() if key.startswith("failed: ")}
    failures = sum(failed.values()) + own.unanswered + len(killed) + (not values)
    asked = sum(count for path, count in own.sent.items() if path.rpartition("/")[2] in (*SERVICES, *PARAMETERS))
    return {
        "node": name,
        "messages": sum(own.sent.values()) - asked,
        "requests": asked,
        "unanswered": own.unanswered,
        "spoilt": own.spoilt,
        "by_topic": dict(own.sent),
        "exceptions": failures,
        "errors": failed,
        "grown_kib": memory[-1] - memory[0],
        "grown_late_kib": memory[-1] - memory[len(memory) // 2],
        "memory_kib": memory,
        "growing": {},
        "diagnostics": values or None,
        "wall_s": round(time.perf_counter() - begin, 1),
    }


def print_flood() -> int:
    """Flood the node that the arguments name, and print the result; `impact-aware faults` starts this."""
    name, (messages, requests, seed) = sys.argv[1], map(int, sys.argv[2:5])
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        print(json.dumps(flood(name, messages, requests, seed)))
    except ImpactAwareError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(print_flood())
