"""Who lives: heartbeats, what a listener makes of silence, and nodes that are there twice.

Beside each topic that others can't do without, such as `impacts`, its node publishes `impacts/heartbeat`, from a
thread: a callback that takes a second is no death. A node that is not served at all for `HUNG` falls silent. A node
without a heartbeat, such as one's own detector, is lost when DDS reports that its publisher's lease has run out.
"""

from __future__ import annotations

import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from impact_aware_msgs.msg import Heartbeat
from rclpy.event_handler import QoSLivelinessChangedInfo, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.utilities import get_rmw_implementation_identifier

from impact_aware.control.command_watch import Silence
from impact_aware.ros.messages import stamp
from impact_aware.ros.qos import EVENT_QOS, HEARTBEAT_QOS, LATCHED_EVENT_QOS, LATEST_QOS
from impact_aware.ros.timers import steady_timer
from impact_aware.task.arms import Arm

PERIOD = 0.1
"""Wall time from each heartbeat to the next, s."""

HUNG = 5.0
"""Wall time for which an executor may block before the node's heartbeat stops, s."""

LOOK_PERIOD = 0.02
"""Wall time between two checks of the age of a heartbeat, s."""

TWIN_PERIOD = 1.0
"""Wall time between two searches for a node of the same name, s."""

TWIN_TIME = 30.0
"""Time for which a node searches for another one of its name, s: one that starts later finds this one."""

WATCHDOG = "command_watchdog"

WITH_LIVELINESS = ("rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp", "rmw_cyclonedds_cpp", "rmw_connextdds")
"""Middlewares whose liveliness reports to a subscriber that a publisher has died.

rmw_zenoh_cpp is none of them: its older versions reject the event, newer ones accept it and never report it
(docs/interfaces.md, "Middleware").
"""


def middleware() -> str:
    """Name of this process's middleware."""
    return str(get_rmw_implementation_identifier())


def reports_death() -> bool:
    """Whether this process's middleware is one of `WITH_LIVELINESS`."""
    return middleware() in WITH_LIVELINESS


def heartbeat_topic(topic: str) -> str:
    """Topic of the heartbeat of the node that publishes `topic`."""
    return f"{topic}/heartbeat"


class Heartbeats:
    """Heartbeats of a node, on one topic or several."""

    def __init__(self, node: Node, topics: Sequence[str]) -> None:
        """Publish none yet; `topics` are those that the node publishes and others can't do without."""
        self._publishers = [node.create_publisher(Heartbeat, heartbeat_topic(topic), HEARTBEAT_QOS) for topic in topics]
        self._session, self._count = secrets.randbits(63), 0

    def beat(self, state: int = Heartbeat.STATE_WORKING, detail: str = "") -> None:
        """Publish one heartbeat, with the reason for another state than working."""
        message = Heartbeat(session=self._session, count=self._count & 0xFFFFFFFF, state=state, detail=detail)
        message.header.stamp = stamp(time.time())
        self._count += 1
        for publisher in self._publishers:
            publisher.publish(message)


class HeartbeatSender(Heartbeats):
    """Publishes the heartbeat of a node that works until the node is destroyed."""

    def __init__(self, node: Node, topics: Sequence[str]) -> None:
        """Begin; topics as in the base."""
        super().__init__(node, topics)
        self._served = time.monotonic()
        steady_timer(node, PERIOD, self._serve)
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


class HeartbeatWatch:
    """Receiver of one node's heartbeat.

    Attributes:
        last: Its last message; None before the first.
    """

    def __init__(self, period: float) -> None:
        """Start without a message; `period` is that of the checks, s."""
        self._silence = Silence(period)
        self._counted: tuple[int, int] | None = None
        self.last: Heartbeat | None = None

    @property
    def silent(self) -> float:
        """Age of the last heartbeat at the last check, s."""
        return self._silence.time

    def take(self, message: Heartbeat) -> bool:
        """Take a message; returns whether it is new: a repeated counter, as of a bag or a bridge, is ignored."""
        counted = message.session, message.count
        if counted == self._counted:
            return False
        self._counted, self.last = counted, message
        self._silence.heard()
        return True

    def look(self, now: float) -> float:
        """Update and return the age of the last heartbeat, s; `now` is of a steady clock, s."""
        return self._silence.look(now)


class Upstream:
    """Subscribes to topics, and calls back when a publisher is lost."""

    def __init__(self, node: Node, on_loss: Callable[[str], None], timeout: float) -> None:
        """Start without subscriptions.

        Args:
            node: The subscribing node.
            on_loss: Called with a topic that has lost its publisher.
            timeout: Longest time without a heartbeat of a node that has one, s of wall time.
        """
        self._node, self._on_loss, self._timeout = node, on_loss, timeout
        self._beats: dict[str, HeartbeatWatch] = {}
        self._lost: set[str] = set()
        steady_timer(node, LOOK_PERIOD, self._look)

    def listen(
        self, kind: type, topic: str, callback: Callable[..., None], *, latched: bool = False, raw: bool = False
    ) -> None:
        """Subscribe to a topic; `latched` requests its last message too, `raw` leaves messages serialized."""
        watch = SubscriptionEventCallbacks(liveliness=partial(self.on_change, topic)) if reports_death() else None
        qos = LATCHED_EVENT_QOS if latched else EVENT_QOS
        self._node.create_subscription(kind, topic, callback, qos, event_callbacks=watch, raw=raw)
        self._beats[topic] = HeartbeatWatch(LOOK_PERIOD)
        self._node.create_subscription(Heartbeat, heartbeat_topic(topic), partial(self._on_beat, topic), LATEST_QOS)

    def refusal(self) -> str:
        """Report in one sentence a publisher that is lost, or whose loss could not be detected; empty when none is."""
        for topic, beat in self._beats.items():
            full = self._node.resolve_topic_name(topic)
            if topic in self._lost:
                # A node that loads or compiles something, or has no processor, is silent and still there.
                state = "is held up" if self._node.count_publishers(full) else "is gone"
                return f"the node that publishes {full} {state}: no further message came on {heartbeat_topic(full)}"
            if beat.last is None and not reports_death():
                return (
                    f"no message came on {heartbeat_topic(full)}, and {middleware()} does not report the death of "
                    f"the node that publishes {full}"
                )
        return ""

    def on_change(self, topic: str, info: QoSLivelinessChangedInfo) -> None:
        """Detect the loss of a topic's last publisher from DDS liveliness, unless that has a heartbeat.

        Leases also run out where this process itself stood still, and within one process, where nothing renews them.
        """
        if info.alive_count == 0 and info.alive_count_change < 0 and self._beats[topic].last is None:
            self._on_loss(topic)

    def _on_beat(self, topic: str, message: Heartbeat) -> None:
        if self._beats[topic].take(message):
            self._lost.discard(topic)

    def _look(self) -> None:
        now = time.monotonic()
        for topic, beat in self._beats.items():
            silent = beat.look(now)
            if beat.last is not None and topic not in self._lost and silent > self._timeout:
                self._lost.add(topic)
                self._on_loss(topic)


DRIVER_TOPIC = heartbeat_topic("driver")
"""Where the driver of an arm reports that the arm has stopped by itself, below the arm's name."""


def listen_to_driver(node: Node, arm: Arm, on_stop: Callable[[str], None]) -> None:
    """Call back with a sentence when the driver of an arm reports that the arm has stopped by itself."""

    def take(report: Heartbeat) -> None:
        if report.state == Heartbeat.STATE_STOPPED:
            on_stop(f"the arm {arm.prefix}".rstrip() + f" has stopped: {report.detail}")

    node.create_subscription(Heartbeat, arm.topic(DRIVER_TOPIC), take, HEARTBEAT_QOS)


WATCHDOG_TOPIC = heartbeat_topic(WATCHDOG)


class WatchdogLink:
    """The heartbeat of the watchdog."""

    def __init__(self, node: Node, timeout: float, on_stop: Callable[[str], None]) -> None:
        """Subscribe to the heartbeat, and check its age periodically.

        Args:
            node: The controller.
            timeout: Longest time without a heartbeat, s of wall time.
            on_stop: Called with a sentence when the watchdog has stopped the arms, or can't any more.
        """
        self._node, self._timeout, self._on_stop = node, timeout, on_stop
        self._beat = HeartbeatWatch(LOOK_PERIOD)
        node.create_subscription(Heartbeat, WATCHDOG_TOPIC, self._on_heartbeat, LATEST_QOS)
        steady_timer(node, LOOK_PERIOD, self._look)

    def _look(self) -> None:
        if self._beat.look(time.monotonic()) > self._timeout:
            self._on_stop(self._silent())

    def refusal(self) -> str:
        """Why no motion must begin, in one sentence; empty when it may."""
        if self._beat.last is None or self._beat.silent > self._timeout:
            return self._silent()
        return self._wrong(self._beat.last)

    def _on_heartbeat(self, message: Heartbeat) -> None:
        if self._beat.take(message) and (wrong := self._wrong(message)):
            self._on_stop(wrong)

    def _wrong(self, message: Heartbeat) -> str:
        if message.state == Heartbeat.STATE_WORKING:
            return ""
        verb = "stopped the arms" if message.state == Heartbeat.STATE_STOPPED else "can't stop the arms"
        return f"{WATCHDOG} {verb}: {message.detail}"

    def _silent(self) -> str:
        topic = self._node.resolve_topic_name(WATCHDOG_TOPIC)
        if self._beat.last is None:
            return f"no message came on {topic}: does {WATCHDOG} run?"
        return f"no message came on {topic} for {1e3 * self._beat.silent:.0f} ms"


class TwinWatch:
    """Logs once when another node has the full name of this one, and once when that node is gone.

    DDS lists a killed process for another 20 s, so a node that is restarted at once may find its own predecessor; a
    process that ends in order is removed at once.

    Attributes:
        present: Whether there is another one, as far as DDS has found.
    """

    def __init__(self, node: Node, consequence: str = "") -> None:
        """Start searching periodically; `consequence` is what follows from a twin, for the log."""
        self.present = False
        self._node = node
        self._consequence = f", {consequence}" if consequence else ""
        self._until = time.monotonic() + TWIN_TIME
        self._timer = steady_timer(node, TWIN_PERIOD, self.look)

    def look(self) -> bool:
        """Look now; returns whether there is a twin."""
        node = self._node
        own = node.get_name(), node.get_namespace()
        present = node.get_node_names_and_namespaces().count(own) > 1
        name = node.get_fully_qualified_name()
        if present and not self.present:
            node.get_logger().error(
                f"another {name} runs already{self._consequence}: is the suite running twice in ROS domain "
                f"{node.context.get_domain_id()}? (One that was killed is forgotten after 20 s.)"
            )
        elif self.present and not present:
            node.get_logger().info(f"the other {name} is gone")
        self.present = present
        if not present and time.monotonic() > self._until:
            self._timer.cancel()
        return present


class NameClaim:
    """A node's name in its domain for itself alone on this machine: DDS may take a second to find a twin.

    An abstract socket of Linux, which ends with the process, however that ends; elsewhere there is nothing to claim.
    """

    def __init__(self, node: Node) -> None:
        """Claim nothing yet."""
        self._address = f"\0impact_aware/{node.context.get_domain_id()}{node.get_fully_qualified_name()}"
        self._socket: socket.socket | None = None

    def held(self) -> bool:
        """Whether the name is this node's, which tries to get it if it isn't."""
        if self._socket is None and sys.platform == "linux":
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                claim.bind(self._address)
            except OSError:
                claim.close()
                return False
            self._socket = claim
        return True

    def release(self) -> None:
        """Leave the name to others."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
