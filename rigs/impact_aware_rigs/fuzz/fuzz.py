"""Random messages for the callbacks of a node, all in one process: what raises, what grows, what is counted.

`python -m impact_aware_rigs.fuzz.fuzz NODE COUNT SEED` prints one JSON object. Callbacks are called directly, as an
executor would, with messages that were serialized and deserialized as on their way over DDS, or with the bytes where a
subscription takes those; DDS itself is not used. `impact-aware faults --fuzz` runs it for every node.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np
import rclpy
from rclpy.event_handler import QoSSubscriptionEventType
from rclpy.logging import LoggingSeverity, get_logger_level, set_logger_level
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from impact_aware.ros.lifecycle import SteadyLifecycleNode
from impact_aware_rigs.figures import resident_bytes
from impact_aware_rigs.fuzz.subjects import subject
from impact_aware_rigs.fuzz.templates import SERVICES, Traffic

STATE_WEIGHT = 4
"""Joint states come so many times as often as messages of any other topic: they are what makes a node go on."""

TIMER_SHARE = 0.01
"""Share of calls of the node's timers, which do what messages only prepare."""

SERVICE_SHARE = 0.02
"""Share of service requests: they are slower than messages by far."""

EVENT_SHARE = 0.001
"""Share of news that a publisher has died or come."""

TRANSITION_SHARE = 0.0003
"""Share of transitions of a lifecycle node."""

STRETCH = 500
"""Messages after which it changes how many are spoilt."""

SPOILT_SHARES = (0.01, 0.5, 0.8, 0.9, 1.0)
"""How many are spoilt: hardly any, so that a controller gets into motion, up to all of them."""

WARM_UP = 0.2
"""Share of the messages after which growth counts."""

LOOKS = 9
"""Measurements of the process's memory, from the end of the warm-up to the end."""

WATCHED = 100
"""Messages from one check of the node's status to the next, and to the next attempt to activate it."""


_NUMBER = re.compile(r"-?\d[\d.]*")


class Fuzzer:
    """One node and a source of messages for it.

    Attributes:
        node: The node.
        sent: Number of messages and requests, by name of the topic or service.
        spoilt: Number of spoilt ones among them.
        states: Statuses that the node has reported, the first part of each sentence, and their number.
        errors: Number of exceptions from its callbacks, by class and place.
        first_tracebacks: Traceback of the first of each kind.
    """

    def __init__(self, name: str, seed: int) -> None:
        """Make the node and find its callbacks.

        Raises:
            UnknownNameError: No node of that name.
        """
        self._subject = subject(name)
        self.node: Any = self._subject.make(name)
        # The level is of the name, in the whole process: the next node of that name would stay silent.
        self._log_level = get_logger_level(self.node.get_logger().name)
        set_logger_level(self.node.get_logger().name, LoggingSeverity.FATAL)
        self._traffic = Traffic(self._subject.task, seed)
        self._generator, self._draw = self._traffic.generator, self._traffic.draw
        self.sent: Counter[str] = Counter()
        self.spoilt = 0
        self.states: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.first_tracebacks: dict[str, str] = {}
        self._given = 0
        self._share = 1.0
        if isinstance(self.node, SteadyLifecycleNode):
            self.node.trigger_configure()
        self._subject.prepare(self.node)
        self._subscriptions: list[Any] = list(self.node.subscriptions)
        weights = [STATE_WEIGHT if own.msg_type is JointState else 1 for own in self._subscriptions]
        self._turns = [own for own, weight in zip(self._subscriptions, weights, strict=True) for _ in range(weight)]
        self._timers: list[Callable[[], None]] = [timer.callback for timer in self.node.timers]
        self._events = [
            event.callback
            for own in self._subscriptions
            for event in own.event_handlers
            if event.event_type == QoSSubscriptionEventType.RCL_SUBSCRIPTION_LIVELINESS_CHANGED
        ]
        self._services = [own for own in self.node.services if own.srv_name.rpartition("/")[2] in SERVICES]
        # The field before states: a controller is rehearsed with it only while it is not yet active.
        for own in sorted(self._subscriptions, key=lambda own: own.msg_type is JointState):
            self._give(own, spoil=False)
        self._recover()

    def run(self, count: int) -> None:
        """Give the node `count` messages and requests."""
        end = self._given + count
        while self._given < end:
            if self._given % STRETCH == 0:
                self._share = self._generator.choice(SPOILT_SHARES)
                self._subject.vary(self.node, self._generator)
            if self._given % WATCHED == 0:
                self._watch()
                if self._draw() > self._share:
                    self._recover()
            self._given += 1
            self._besides()
            if self._services and self._draw() < SERVICE_SHARE:
                self._ask(self._generator.choice(self._services), spoil=self._draw() < self._share)
            else:
                self._give(self._generator.choice(self._turns), spoil=self._draw() < self._share)

    def close(self) -> None:
        """The node is not needed any more."""
        self._subject.finish(self.node)
        set_logger_level(self.node.get_logger().name, self._log_level)
        self.node.destroy_node()

    def _besides(self) -> None:
        """What happens to a node besides messages, now and then."""
        if self._timers and self._draw() < TIMER_SHARE:
            self._call(self._generator.choice(self._timers))
        if self._events and self._draw() < EVENT_SHARE:
            change = self._generator.choice((-1, 1))
            news = SimpleNamespace(
                alive_count=max(change, 0), not_alive_count=0, alive_count_change=change, not_alive_count_change=0
            )
            self._call(self._generator.choice(self._events), news)
        if isinstance(self.node, SteadyLifecycleNode) and self._draw() < TRANSITION_SHARE:
            active = self.node.state_label() == "active"
            self._call(self.node.trigger_deactivate if active else self.node.trigger_activate)

    def _recover(self) -> None:
        """What a person would do to have a controller move: a state that is good, out of the safe mode, start."""
        for own in self._subscriptions:
            if own.msg_type is JointState:
                self._give(own, spoil=False)
        if isinstance(self.node, SteadyLifecycleNode) and self.node.state_label() != "active":
            self._call(self.node.trigger_activate)
        for name in ("reset", "start"):
            for own in self._services:
                if own.srv_name.endswith(name):
                    self._ask(own, spoil=False)

    def _give(self, subscription: Any, *, spoil: bool) -> None:
        """Call a subscription with a message decoded from its bytes, or with the bytes where it takes those."""
        kind, topic, raw = subscription.msg_type, subscription.topic, subscription.raw
        self.sent[topic] += 1
        self.spoilt += spoil
        data = self._traffic.data(kind, topic, spoil=spoil, raw=raw)
        needed = [each for each in signature(subscription.callback).parameters.values() if each.default is each.empty]
        # A callback that needs two takes when the message was sent, too.
        sent = [{"source_timestamp": self.sent.total(), "received_timestamp": 0}][: len(needed) - 1]
        self._call(subscription.callback, data if raw else deserialize_message(data, kind), *sent)

    def _ask(self, service: Any, *, spoil: bool) -> None:
        kind = service.srv_type
        request, spoilt = self._traffic.request(kind, spoil=spoil)
        self.spoilt += spoilt
        self.sent[service.srv_name] += 1
        request = deserialize_message(serialize_message(request), kind.Request)
        self._call(service.callback, request, kind.Response())

    def _call(self, call: Callable[..., Any], *arguments: Any) -> None:
        try:
            with np.errstate(all="ignore"):
                call(*arguments)
        except Exception as error:  # noqa: BLE001 - an exception is what it looks for
            trace = traceback.extract_tb(error.__traceback__)[-1]
            key = f"{type(error).__name__} ({os.path.basename(trace.filename)}:{trace.lineno})"
            self.errors[key] += 1
            self.first_tracebacks.setdefault(key, traceback.format_exc(limit=-6))

    def _watch(self) -> None:
        if text := self.status()[1]:
            self.states[_NUMBER.sub("#", text.partition(":")[0])] += 1

    def status(self) -> tuple[Any, str, dict[str, Any]]:
        """The node's status on /diagnostics; empty for a node without one."""
        status = getattr(self.node, "_status", None)
        return (None, "", {}) if status is None else status()


def fuzz(name: str, count: int, seed: int) -> dict[str, Any]:
    """Fuzz one node; rclpy must be initialised."""
    fuzzer = Fuzzer(name, seed)
    memory: list[int] = []
    begin = time.perf_counter()
    done = 0
    for end in np.linspace(WARM_UP * count, count, LOOKS).astype(int).tolist():
        fuzzer.run(end - done)
        gc.collect()
        memory.append(int(resident_bytes(os.getpid()) or 0) // 1024)
        done = end
    wall = time.perf_counter() - begin
    result = {
        "node": name,
        "messages": sum(fuzzer.sent.values()),
        "spoilt": fuzzer.spoilt,
        "by_topic": dict(fuzzer.sent),
        "states": dict(fuzzer.states.most_common(20)),
        "exceptions": sum(fuzzer.errors.values()),
        "errors": dict(fuzzer.errors),
        "tracebacks": fuzzer.first_tracebacks,
        "grown_kib": memory[-1] - memory[0],
        "grown_late_kib": memory[-1] - memory[len(memory) // 2],
        "memory_kib": memory,
        "diagnostics": {key: str(value) for key, value in fuzzer.status()[2].items()} or None,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "wall_s": round(wall, 1),
    }
    fuzzer.close()
    return result


def main() -> None:
    """Fuzz the node that the arguments name."""
    name, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    # Ctrl-C ends it as it ends any program.
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        # A node may write to the standard output itself.
        with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
            result = fuzz(name, count, seed)
        print(json.dumps(result))
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
