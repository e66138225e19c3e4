"""Lockstep through a node that drops states on purpose: it alone answers the plant, and decides how long it waits."""

from __future__ import annotations

import time
from collections.abc import Sequence

from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import StepDone
from rclpy.node import Node

from impact_aware.nodes.lockstep import LockstepReporter
from impact_aware.nodes.ros.qos import STEP_DONE_QOS
from impact_aware.nodes.ros.timers import steady_timer

PACE = 0.024
"""Wall time of a cycle in which a node does not answer, s: a known ratio of wall time to the plant's time, by which
timeouts of watchdogs and leases are scaled."""

PATIENCE = 1.2
"""Wall time after which a node that has not answered a usable state counts as absent until it answers again, s."""

TICK = 0.001
"""Wall time between two checks of the clock, s."""


class LockstepRelay:
    """Answers a state of the plant once all participants have answered what was passed on of it.

    A killed or stalled node is waited for once; from then on the plant runs a cycle every `PACE` without it, until it
    answers again. So it does when no usable state was passed on, which no node would answer.

    Attributes:
        absent: Names of the participants that don't answer.
    """

    def __init__(self, node: Node, participants: Sequence[str]) -> None:
        """Subscribe to `faulty/step_done`; answer on `step_done`.

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
        node.create_subscription(StepDone, "faulty/step_done", self._on_step_done, STEP_DONE_QOS)
        steady_timer(node, TICK, self._finish)

    def begin(self, stamp: Time) -> None:
        """The plant waits for an answer to its state with this stamp."""
        self._plant_stamp, self._passed_on, self._begun = stamp, None, time.monotonic()

    def passed_on(self, stamp: Time) -> None:
        """Expect answers to a usable state with this stamp, passed on in this cycle."""
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
