"""Lockstep through a node that loses states on purpose: it alone answers the plant, and decides how long it waits."""

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
"""Wall time that a cycle lasts in which somebody does not answer, s: what counts wall time then keeps a known relation
to the plant's time, at which watchdogs and leases can be scaled."""

PATIENCE = 1.2
"""Wall time after which who has not answered a usable state counts as absent until it answers again, s."""

TICK = 0.001
"""Wall time between two looks at the clock, s."""


class LockstepRelay:
    """Answers the plant's states once everybody has answered what they were given of them.

    Whoever is killed or stalled is waited for once; from then on the plant goes on without it, a cycle every `PACE`,
    until it answers again. So it does when nothing usable was passed on: nobody would answer that.

    Attributes:
        absent: Names of the participants that don't answer.
    """

    def __init__(self, node: Node, participants: Sequence[str]) -> None:
        """Listen to `faulty/step_done`; answer on `step_done`.

        Args:
            node: The node that passes states on.
            participants: Names of the nodes that answer them, as they are relative to its namespace.
        """
        self._participants = frozenset(participants)
        self._own = node.get_namespace().rstrip("/") + "/"
        # Nobody is there before its first answer.
        self.absent = set(self._participants)
        self._answers: dict[str, tuple[int, int]] = {}
        self._plant_stamp: Time | None = None
        self._asked: tuple[int, int] | None = None
        self._begun = 0.0
        self._reporter = LockstepReporter(node, enabled=True)
        node.create_subscription(StepDone, "faulty/step_done", self._on_step_done, STEP_DONE_QOS)
        steady_timer(node, TICK, self._finish)

    def begin(self, stamp: Time) -> None:
        """The plant waits for an answer to its state with this stamp."""
        self._plant_stamp, self._asked, self._begun = stamp, None, time.monotonic()

    def asked(self, stamp: Time) -> None:
        """A usable state with this stamp was passed on in this cycle."""
        self._asked = _key(stamp)
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
        if self._asked is not None:
            missing = {name for name in self._participants if self._answers.get(name) != self._asked}
            if missing - self.absent and waited < PATIENCE:
                return
            self.absent |= missing
        if (self._asked is None or self.absent) and waited < PACE:
            return
        stamp, self._plant_stamp = self._plant_stamp, None
        self._reporter.report(stamp)


def _key(stamp: Time) -> tuple[int, int]:
    return int(stamp.sec), int(stamp.nanosec)
