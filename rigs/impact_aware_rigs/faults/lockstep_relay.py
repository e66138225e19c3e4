"""Node `lockstep_relay`: passes joint_states on to nodes that may die, and alone answers the plant in lockstep.

Remap the suite's joint_states to `passed/joint_states` and its step_done to `passed/step_done`; this node is the only
participant of the plant. A killed or stalled node is waited for once; from then on the plant runs a cycle every `PACE`
without it, until it answers again. So it does while some participant does not subscribe yet, and nothing is passed on.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import StepDone
from rclpy.node import Node
from sensor_msgs.msg import JointState

from impact_aware.messages.stamps import seconds
from impact_aware.nodes.lockstep import LockstepReporter
from impact_aware.parameters import described
from impact_aware.ros.diagnostics import OK, DiagnosticsReporter, Report
from impact_aware.ros.qos import STEP_DONE_QOS, state_qos
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.ros.timers import steady_timer

PACE = 0.024
"""Wall time of a cycle in which a node does not answer, s: a known ratio of wall time to the plant's time, by which
timeouts of watchdogs and leases are scaled."""

PATIENCE = 1.2
"""Wall time after which a node that has not answered a state counts as absent until it answers again, s."""

TICK = 0.001
"""Wall time between two checks of the clock, s."""

MOVING = 0.05
"""Joint velocity from which on the arm moves, rad/s."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    participants: list[str] = described([], "nodes whose answers to states are waited for before the plant gets one")
    after_motion: float = described(0.2, "`begun` is true so long after the arm began to move, s", 0.0, 3600.0)


class LockstepGate:
    """Decides when a state of the plant is answered: once all participants have answered what was passed on of it.

    Attributes:
        absent: Names of the participants that don't answer.
    """

    def __init__(self, node: Node, participants: Sequence[str]) -> None:
        """Subscribe to `passed/step_done`; answer on `step_done`.

        Args:
            node: The node that passes states on.
            participants: Names of the nodes that answer them, relative to its namespace.
        """
        self._participants = frozenset(participants)
        self._own = node.get_namespace().rstrip("/") + "/"
        # A node is absent before its first answer.
        self.absent = set(self._participants)
        self._answers: dict[str, tuple[int, int]] = {}
        self._plant_stamp: Time | None = None
        self._passed_on: tuple[int, int] | None = None
        self._begun = 0.0
        self._reporter = LockstepReporter(node, enabled=True)
        node.create_subscription(StepDone, "passed/step_done", self._on_step_done, STEP_DONE_QOS)
        steady_timer(node, TICK, self._finish)

    def begin(self, stamp: Time) -> None:
        """The plant waits for an answer to its state with this stamp."""
        self._plant_stamp, self._passed_on, self._begun = stamp, None, time.monotonic()

    def passed_on(self, stamp: Time) -> None:
        """Expect answers to the state with this stamp."""
        self._passed_on = _key(stamp)
        self._finish()

    def _on_step_done(self, message: StepDone) -> None:
        name = message.node.removeprefix(self._own)
        self._answers[name] = _key(message.stamp)
        self.absent.discard(name)
        self._finish()

    def _finish(self) -> None:
        if self._plant_stamp is None:
            return
        waited = time.monotonic() - self._begun
        if self._passed_on is not None:
            missing = {name for name in self._participants if self._answers.get(name) != self._passed_on}
            if missing - self.absent and waited < PATIENCE:
                return
            self.absent |= missing
        if (self._passed_on is None or self.absent) and waited < PACE:
            return
        stamp, self._plant_stamp = self._plant_stamp, None
        self._reporter.report(stamp)


def _key(stamp: Time) -> tuple[int, int]:
    return int(stamp.sec), int(stamp.nanosec)


class LockstepRelayNode(Node):
    """Passes joint states on once every participant subscribes to them."""

    def __init__(self) -> None:
        """Wait for states of the plant."""
        super().__init__("lockstep_relay")
        self._settings = settings = load_settings(self, Settings)
        self._gate = LockstepGate(self, settings.participants)
        self._time, self._passed, self._moving_since = 0.0, 0, float("inf")
        self._publisher = self.create_publisher(JointState, "passed/joint_states", state_qos(reliable=True))
        self.create_subscription(JointState, "joint_states", self._on_state, state_qos(reliable=True))
        self._diagnostics = DiagnosticsReporter(self, self._status, period=0.1)

    def _on_state(self, message: JointState) -> None:
        self._time = seconds(message.header.stamp)
        self._gate.begin(message.header.stamp)
        if not self._passed and self._publisher.get_subscription_count() < len(self._settings.participants):
            return
        if any(abs(value) > MOVING for value in message.velocity):
            self._moving_since = min(self._moving_since, self._time)
        self._passed += 1
        self._publisher.publish(message)
        self._gate.passed_on(message.header.stamp)

    def _status(self) -> Report:
        begun = self._time >= self._moving_since + self._settings.after_motion
        values: dict[str, object] = {"passed": self._passed, "time": self._time, "begun": begun}
        return OK, "passing states on", values | {"absent": ", ".join(sorted(self._gate.absent))}


main = partial(run_node, LockstepRelayNode)
