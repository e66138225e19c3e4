"""That a node lives and is being served, on a topic of its own, on every middleware.

Beside each topic that others can't do without, such as `impacts`, its node publishes `impacts/heartbeat`. It does so
from a thread: a callback that takes a second, as the first look at a task does, is no death. A node that is not served
at all for `HUNG` falls silent.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence

from impact_aware_msgs.msg import Heartbeat
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from impact_aware.control.command_watch import Silence
from impact_aware.nodes.ros.messages import stamp
from impact_aware.nodes.ros.qos import HEARTBEAT_QOS

PERIOD = 0.1
"""Wall time from each heartbeat to the next, s."""

HUNG = 5.0
"""Wall time without being served after which a node says no more that it lives, s."""


def heartbeat_topic(topic: str) -> str:
    """Where whoever publishes a topic says that it lives."""
    return f"{topic}/heartbeat"


class HeartbeatSender:
    """Says that a node lives until it is destroyed."""

    def __init__(self, node: Node, topics: Sequence[str]) -> None:
        """Begin; `topics` are those that the node publishes and others can't do without."""
        self._publishers = [node.create_publisher(Heartbeat, heartbeat_topic(topic), HEARTBEAT_QOS) for topic in topics]
        self._session, self._count = secrets.randbits(63), 0
        self._served = time.monotonic()
        node.create_timer(PERIOD, self._serve, clock=Clock(clock_type=ClockType.STEADY_TIME))
        threading.Thread(target=self._send, name="heartbeat", daemon=True).start()

    def _serve(self) -> None:
        self._served = time.monotonic()

    def _send(self) -> None:
        while True:
            time.sleep(PERIOD)
            if time.monotonic() - self._served > HUNG:
                continue
            try:
                self.beat()
            except Exception:  # noqa: BLE001 - rclpy has no common class for what a destroyed node's publisher raises
                return

    def beat(self) -> None:
        """Say it once."""
        message = Heartbeat(session=self._session, count=self._count & 0xFFFFFFFF, state=Heartbeat.STATE_WORKING)
        message.header.stamp = stamp(time.time())
        self._count += 1
        for publisher in self._publishers:
            publisher.publish(message)


class HeartbeatWatch:
    """What was heard of one heartbeat.

    Attributes:
        last: The last one; None before the first.
    """

    def __init__(self, period: float) -> None:
        """Nothing was heard yet; `period` is that of the looks, s."""
        self._silence = Silence(period)
        self._counted: tuple[int, int] | None = None
        self.last: Heartbeat | None = None

    @property
    def silent(self) -> float:
        """For how long nothing was heard, as of the last look, s."""
        return self._silence.time

    def take(self, message: Heartbeat) -> bool:
        """One has come; whether it is new: what is repeated, by a bag or a bridge, is no life."""
        counted = message.session, message.count
        if counted == self._counted:
            return False
        self._counted, self.last = counted, message
        self._silence.heard()
        return True

    def look(self, now: float) -> float:
        """For how long nothing was heard, s; `now` is of a steady clock, s."""
        return self._silence.look(now)
