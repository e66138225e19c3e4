"""Lockstep: nodes report when they have processed a state, and the simulator waits for them.

Simulated time stands still while the simulator waits, so it must detect a participant that has died: each publishes a
heartbeat on a topic of its own, on every middleware.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import Heartbeat, StepDone
from rclpy.node import Node

from impact_aware.ros.liveness import HeartbeatSender, HeartbeatWatch, heartbeat_topic
from impact_aware.ros.qos import LATEST_QOS, STEP_DONE_QOS
from impact_aware.ros.timers import steady_timer

TOPIC = "step_done"

LOOK_PERIOD = 0.05
"""Wall time between two checks of the participants' heartbeats, s."""

SILENCE = 3.0
"""Longest wall time without a heartbeat of a participant, s: Python may compile in one piece for over a second."""


class LockstepReporter:
    """Publishes one `step_done` per joint_states message when lockstep is on, and nothing otherwise."""

    def __init__(self, node: Node, enabled: bool) -> None:
        """Create the publisher, and the heartbeat of the node, where lockstep is enabled."""
        self._message = StepDone(node=node.get_fully_qualified_name())
        self._publisher = node.create_publisher(StepDone, TOPIC, STEP_DONE_QOS) if enabled else None
        self._heartbeat = HeartbeatSender(node, [f"~/{TOPIC}"]) if enabled else None

    def report(self, stamp: Time) -> None:
        """Publish that the state with this stamp has been processed."""
        if self._publisher is not None:
            self._message.stamp = stamp
            self._publisher.publish(self._message)


class LockstepGate:
    """Collects the answers of the participants to the state that was published last.

    A participant is named relative to the simulator's namespace, such as `rs_controller` or `left/jump_predictor`, and
    answers on the `step_done` of its own namespace.
    """

    def __init__(
        self,
        node: Node,
        participants: Sequence[str],
        *,
        on_answer: Callable[[], None],
        on_loss: Callable[[], None],
    ) -> None:
        """Subscribe to the answers: `on_answer` is called for each to the present state, `on_loss` when one is gone."""
        self.participants = frozenset(participants)
        self._node = node
        self._own = node.get_namespace().rstrip("/") + "/"
        self._on_answer, self._on_loss = on_answer, on_loss
        self._stamp = Time()
        self._done: set[str] = set()
        self._seen: set[str] = set()
        self._beats = {name: HeartbeatWatch(LOOK_PERIOD) for name in participants}
        self._lost: set[str] = set()
        for topic in sorted({f"{_namespace(name)}{TOPIC}" for name in ("", *participants)}):
            node.create_subscription(StepDone, topic, self._on_step_done, STEP_DONE_QOS)
        for name in self.participants:
            topic = heartbeat_topic(f"{name}/{TOPIC}")
            node.create_subscription(Heartbeat, topic, partial(self._on_beat, name), LATEST_QOS)
        steady_timer(node, LOOK_PERIOD, self._look)

    @property
    def complete(self) -> bool:
        """Whether all participants have answered the present state."""
        return self.participants <= self._done

    @property
    def acquainted(self) -> bool:
        """Whether all participants have answered some state: from then on DDS loses none while they live."""
        return self.participants <= self._seen

    @property
    def missing(self) -> list[str]:
        """Participants that have not answered the present state."""
        return sorted(self.participants - self._done)

    def expect(self, stamp: Time) -> None:
        """Expect an answer of every participant to the state with this stamp."""
        self._stamp = Time(sec=stamp.sec, nanosec=stamp.nanosec)
        self._done.clear()

    def _on_step_done(self, message: StepDone) -> None:
        if message.stamp.nanosec == self._stamp.nanosec and message.stamp.sec == self._stamp.sec:
            name = message.node.removeprefix(self._own)
            self._done.add(name)
            self._seen.add(name)
            self._on_answer()

    def _on_beat(self, name: str, message: Heartbeat) -> None:
        if self._beats[name].take(message):
            self._lost.discard(name)

    def _look(self) -> None:
        now = time.monotonic()
        for name, beat in self._beats.items():
            silent = beat.look(now)
            if beat.last is not None and name not in self._lost and silent > SILENCE:
                self._lost.add(name)
        if self._lost - self._done:
            self._on_loss()


def _namespace(name: str) -> str:
    """What stands before the last part of a relative name, with its slash."""
    namespace, slash, _ = name.rpartition("/")
    return namespace + slash
