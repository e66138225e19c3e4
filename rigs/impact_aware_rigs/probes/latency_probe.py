"""Node `latency_probe`: plays a robot's driver at full rate and measures how soon each state is answered by a torque.

Prints one JSON line: states sent, states answered, and percentiles of the time from publishing a
state to receiving its command. Commands carry no stamp: one belongs to the newest state that was sent before it and has
no command yet. With several arms all of them are sent together, and a state is answered when every arm's command is in.
States have no efforts: nothing follows the torques, and the controller compares efforts with its commands.
"""

from __future__ import annotations

import array
import json
import math
import threading
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_aware.bringup.command_path import COMMAND_TOPICS
from impact_aware.errors import InvalidInputError
from impact_aware.parameters import described
from impact_aware.ros.messages import stamp
from impact_aware.ros.qos import COMMAND_QOS, state_qos
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware_rigs.figures import percentiles

SWING = 0.02
"""The joints swing by this about their posture, rad, so that nothing is ever held or at rest."""

SWING_FREQUENCY = 0.5
"""How often, Hz."""

DISCOVERY = 0.1
"""Time between two looks whether anybody answers yet, s."""

LATE = 10
"""States after which one that has no answer yet will never have one."""

AFTERWARDS = 0.5
"""How long states go on after the report, s."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    arms: list[str] = described([], "namespaces of the arms; empty: one arm without a namespace")
    joint_names: list[str] = described([], "joints of each arm")
    posture: list[float] = described([], "posture about which the joints swing, arm after arm, rad")
    rate: float = described(1000.0, "states per second", 1.0, 10000.0)
    duration: float = described(10.0, "time to measure, s", 0.1, 1e6)
    warm_up: float = described(1.0, "time after the first answer that is not measured, s", 0.0, 100.0)


class Matcher:
    """Which command answers which state.

    Attributes:
        sent: Times at which states were published, s.
        answered: Latency of each answered state, s, in the order of the answers.
        gap: Longest time between two answers, s, the last one before the last report among them.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.sent: list[float] = []
        self.answered: list[float] = []
        self.gap = 0.0
        self._open: list[tuple[int, float]] = []
        self._count = 0
        self._last = math.nan

    def send(self, now: float) -> None:
        """A state is published."""
        self.sent.append(now)
        self._count += 1
        self._open.append((self._count, now))
        # Who has not been answered for ten periods never will be: what comes then, such as a relay's own, is no answer.
        while self._open[0][0] <= self._count - LATE:
            del self._open[0]

    def receive(self, now: float) -> None:
        """A command came."""
        if self._open:
            self.answered.append(now - self._open.pop()[1])
            # A maximum with a number that is none, before the first answer, is its first argument.
            self.gap = max(self.gap, now - self._last)
            self._last = now

    def report(self) -> dict[str, float | bool]:
        """Figures since the last report, µs; times are 0 when nothing was answered."""
        figures: dict[str, float | bool] = {
            "sent": len(self.sent),
            "answered": len(self.answered),
            "lost": len(self.sent) - len(self.answered),
            **percentiles(self.answered),
            "max_us": 1e6 * max(self.answered, default=0.0),
            "gap_ms": 1e3 * self.gap,
        }
        self.sent, self.answered, self.gap = [], [], 0.0
        return figures


class LatencyProbeNode(Node):
    """Sends states from a thread of its own, on a fixed grid of times; the executor receives the commands."""

    def __init__(self) -> None:
        """Prepare the messages and start sending."""
        super().__init__("latency_probe")
        self.finished = False
        self._settings = settings = load_settings(self, Settings)
        n, arms = len(settings.joint_names), settings.arms or [""]
        if n == 0 or len(settings.posture) != n * len(arms):
            raise InvalidInputError("parameter posture", settings.posture, f"{n * len(arms)} angles, joints times arms")
        self._posture = np.array(settings.posture)
        self._messages, self._positions, self._velocities, self._publishers_of_states = [], [], [], []
        for arm in arms:
            prefix = f"{arm}/" if arm else ""
            message = JointState(name=settings.joint_names)
            message.position, message.velocity = (array.array("d", bytes(8 * n)) for _ in range(2))
            self._messages.append(message)
            self._positions.append(np.frombuffer(message.position))
            self._velocities.append(np.frombuffer(message.velocity))
            self._publishers_of_states.append(
                self.create_publisher(JointState, f"{prefix}joint_states", state_qos(reliable=True))
            )
            # As they come: what is in them is nothing to the probe.
            topic = f"{prefix}{COMMAND_TOPICS['effort']}"
            self.create_subscription(Float64MultiArray, topic, partial(self._on_command, arm), COMMAND_QOS, raw=True)
        self._waiting_for = set(arms)
        self._arms = frozenset(arms)
        self._matcher = Matcher()
        # The first percentile of a process takes tens of milliseconds, in which no state would go out.
        percentiles([0.0])
        self._answers = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._drive, daemon=True)
        self._thread.start()

    def _on_command(self, arm: str, _command: bytes) -> None:
        self._waiting_for.discard(arm)
        if not self._waiting_for:
            self._waiting_for = set(self._arms)
            self._answers += 1
            self._matcher.receive(time.perf_counter())

    def _drive(self) -> None:
        """Look for partners, warm up, measure, and end the process."""
        period = 1.0 / self._settings.rate
        while not self._answers and not self._ended.is_set():
            # At full rate too: a controller does not begin with states that come at another one.
            self._keep_sending(period, DISCOVERY)
        self._keep_sending(period, self._settings.warm_up)
        self._matcher.report()
        self._keep_sending(period, self._settings.duration)
        print(json.dumps(self._matcher.report() | {"last": True}), flush=True)
        # The reader of this line must process it before the controller misses its states.
        self._keep_sending(period, AFTERWARDS)
        self.finished = True

    def _keep_sending(self, period: float, duration: float) -> None:
        begin = time.perf_counter()
        for index in range(round(duration / period)):
            if self._ended.is_set():
                return
            wait = begin + index * period - time.perf_counter()
            if wait > 0.0:
                time.sleep(wait)
            self._send()

    def _send(self) -> None:
        now = time.time()
        phase = 2.0 * math.pi * SWING_FREQUENCY * now
        angle, speed = SWING * math.sin(phase), 2.0 * math.pi * SWING_FREQUENCY * SWING * math.cos(phase)
        n = len(self._settings.joint_names)
        when = stamp(now)
        for index, message in enumerate(self._messages):
            message.header.stamp = when
            np.add(self._posture[index * n : (index + 1) * n], angle, out=self._positions[index])
            self._velocities[index][:] = speed
        self._matcher.send(time.perf_counter())
        for publisher, message in zip(self._publishers_of_states, self._messages, strict=True):
            publisher.publish(message)

    def close(self) -> None:
        """End the sending thread."""
        self._ended.set()
        self._thread.join(timeout=2.0)


main = partial(run_node, LatencyProbeNode, prompt=True)
