"""joint_states: read by name into preallocated arrays, in which order within one process, and the latest ones kept."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState

from impact_aware.detection import JointSample
from impact_aware.detection.input_monitor import RATE_TOLERANCE, InputMonitor, InputQuality
from impact_aware.messages.joint_state import JointStateLayout, learn_layout, name_count
from impact_aware.messages.stamps import STAMP, STAMP_OFFSET, stamp_seconds
from impact_aware.robot.joint_reader import JointReader
from impact_aware.ros.messages import UndecodableError, decoded
from impact_aware.ros.qos import state_qos
from impact_aware.ros.qos_match import PATIENCE, why_silent
from impact_aware.task.arms import Arm
from impact_aware.task.last_touch import Touch

QUALITY_SAMPLES = 500
"""Messages from one estimate of the source's quality to the next."""

QUALITY_PERIOD = 2.0
"""Time from one estimate of a slow source's quality to the next, s."""

DRIVER = "the robot's driver"

SILENT = 0.5
"""Wall time without a usable message after which a source is reported as silent, s: with the next diagnostics, which
come as often, that is within a second."""

UNCHANGED = 2.0
"""Wall time after which messages that repeat all values of the joints are reported, s. The noise of a sensor
changes each of them; a driver that lost its arm, and an arm held by its brakes behind coarse encoders, change none."""

NO_STAMPS = "joint_states have no stamps: arrival stands in, too uncertain to detect impacts or to control"

MOST_NAMES = 1000
"""Names in a message, which takes 4 us of each to read: no cell has as many joints."""

_UNUSABLE = np.full(1, np.nan)

WARN_PERIOD = 5.0
"""Shortest time between two warnings of messages that can't be used, s."""

QUALITY_WARN_PERIOD = 60.0
"""Shortest time between two warnings of what is wrong with the source, which may stay so for hours, s."""

KEPT = 64
"""States of each arm: the event of an impact comes some 5 to 20 ms after it."""

_DIFFERENCED = 2
"""States that give a velocity where they have none."""

Read = Callable[[bytes], None]


class ServingOrder:
    """Serves one reader of each topic, the controller, before the others of its process.

    DDS delivers a state to the readers of a process in an unspecified order.
    """

    def __init__(self) -> None:
        """Start without readers."""
        self._turns: dict[str, _Turn] = {}

    def join(self, topic: str, read: Read, *, first: bool) -> Read:
        """Return the callback to subscribe with in place of `read`, for messages that begin with a stamp."""
        turn = self._turns.setdefault(topic, _Turn())
        turn.led = turn.led or first
        return partial(turn.lead if first else turn.follow, read)


class _Turn:
    """Order of one topic: a reader that DDS serves before the first one waits, at most until its own next message.

    Attributes:
        led: Whether there is a first reader.
    """

    def __init__(self) -> None:
        self.led = False
        self._served = (0, 0)
        self._waiting: list[tuple[Read, bytes]] = []

    def lead(self, read: Read, message: bytes) -> None:
        self._served = _stamp(message)
        try:
            read(message)
        finally:
            self._serve_waiting()

    def follow(self, read: Read, message: bytes) -> None:
        if not self.led:
            read(message)
            return
        if any(own is read for own, _ in self._waiting):
            # The first reader, whose queue is short, has lost the last message.
            self._serve_waiting()
        if _stamp(message) > self._served:
            self._waiting.append((read, message))
        else:
            read(message)

    def _serve_waiting(self) -> None:
        while self._waiting:
            read, message = self._waiting.pop(0)
            read(message)


def _stamp(message: bytes) -> tuple[int, int]:
    """Stamp in seconds and nanoseconds; older than all others for a message too short to have one."""
    if len(message) < STAMP_OFFSET + STAMP.size:
        return (-1, 0)
    whole, nanoseconds = STAMP.unpack_from(message, STAMP_OFFSET)
    return whole, nanoseconds


ORDER: ServingOrder | None = None
"""Order of the readers of this process; None in a process of one node."""


class JointStateSource(JointReader):
    """Subscribes to joint states and calls back with arrays that are valid until the next message.

    Messages are deserialized only when they don't have the layout of the last one that was.

    Attributes:
        received: Messages so far.
        stamp: Of the last message, usable or not, as it came; the same object each time.
        rate: Measured rate of the stamps, Hz; NaN before it is known.
        stamped: Whether the last usable message had a stamp; without one, the time of its arrival stands in.
        quality: What the last messages say about their source; None before there are enough.
    """

    def __init__(
        self,
        node: Node,
        joint_names: Sequence[str],
        callback: Callable[[Time], None],
        *,
        topic: str = "joint_states",
        reliable: bool = False,
        answered: bool = False,
        first: bool = False,
        lowest_rate: float = 200.0,
        gaps: bool = False,
    ) -> None:
        """Subscribe, with `callback` called after each usable message with its stamp; names and gaps as in the base.

        Lockstep needs it `reliable`. Where each is `answered`, only the last few wait; `first` is served before the
        others of a `node_group`, `lowest_rate`, Hz, is where warnings begin.
        """
        super().__init__(joint_names, gaps=gaps)
        self._node = node
        self._topic = node.resolve_topic_name(topic)
        self._callback = callback
        self._lowest_rate = lowest_rate
        self.received = 0
        self.stamp = Time()
        self.rate = float("nan")
        self.quality: InputQuality | None = None
        self._layout: JointStateLayout | None = None
        self._columns: NDArray[np.intp] | None = None
        self._monitor: InputMonitor | None = None
        self._estimated_at = float("nan")
        self._estimated_count = 0
        self.stamped = True
        self._refusal, self._values = "", b""
        self._usable = False
        self._usable_at = self._changed_at = time.monotonic()
        self._silence_logged = self._no_stamps_logged = False
        qos = state_qos(reliable, answered)
        receive: Callable[[bytes], None] = self._receive
        if ORDER is not None:
            receive = ORDER.join(self._topic, receive, first=first)
        self.subscription = node.create_subscription(JointState, topic, receive, qos, raw=True)

    def _receive(self, serialized: bytes) -> None:
        self.received += 1
        layout, columns, when, refusal = self._layout, self._columns, -1.0, ""
        values = layout.values(serialized) if layout is not None else None
        if values is not None:
            when = self._keep_stamp(*STAMP.unpack_from(serialized, STAMP_OFFSET))
        if values is None or columns is None or not self.take_row(when, values, columns):
            when, refusal = self._deserialize(serialized)
        now = time.monotonic()
        if refusal and self._is_elsewhere(now):
            return
        self._refusal = refusal
        if not refusal:
            self.stamped = bool(self.stamp.sec or self.stamp.nanosec)
            # Answer first; the estimate of the source's quality can wait.
            self._callback(self.stamp)
            self._note_life(now)
        self._monitor_input(when, not refusal)
        if refusal:
            self._node.get_logger().warning(refusal, throttle_duration_sec=WARN_PERIOD)

    def _is_elsewhere(self, now: float) -> bool:
        """Whether a message has none of the joints, such as a gripper's on a topic that the arm's states share."""
        return len(self.missing) == len(self.joint_names) > 0 and self._usable and now - self._usable_at <= SILENT

    def _note_life(self, now: float) -> None:
        self._usable, self._usable_at, self._silence_logged = True, now, False
        # Not the serialized bytes: those that align a message's fields are whatever was in the sender's memory.
        values = self._motion.tobytes() + self.effort.tobytes()
        if values != self._values:
            self._values, self._changed_at = values, now
        if not (self.stamped or self._no_stamps_logged):
            self._no_stamps_logged = True
            self._node.get_logger().warning(NO_STAMPS)

    @property
    def silence(self) -> float:
        """Wall time since the last usable message, s; infinite before the first."""
        return time.monotonic() - self._usable_at if self._usable else math.inf

    def trouble(self) -> str:
        """Why the states can't be relied on now, in one sentence; empty when they can.

        To be called with each of a node's diagnostics: a silence that lasts for `PATIENCE` is logged, once.
        """
        now = time.monotonic()
        silence = now - self._usable_at
        if not self._usable or silence > SILENT:
            why = self._refusal or why_silent(self._node, self._topic, DRIVER)
            if silence > PATIENCE and not self._silence_logged:
                self._silence_logged = True
                self._node.get_logger().warning(f"no {self._topic} for {PATIENCE:g} s: {why}")
            return f"no {f'usable joint_states for {silence:.1f} s' if self._usable else 'joint_states yet'}: {why}"
        if not self.stamped:
            return NO_STAMPS
        unchanged = now - self._changed_at
        if unchanged <= UNCHANGED:
            return ""
        sentence = f"the values of joint_states have not changed for {unchanged:.0f} s"
        if self.velocity_measured and self.velocity.any():
            return f"{sentence}, though velocities are not zero: its driver repeats its last state"
        return f"{sentence}: the arm is held by its brakes, or its driver repeats its last state"

    def _keep_stamp(self, whole: int, nanoseconds: int) -> float:
        """The stamp as time, s; the present one where the message has none."""
        self.stamp.sec, self.stamp.nanosec = whole, nanoseconds
        when = whole + 1e-9 * nanoseconds
        return when if when > 0.0 else self._node.get_clock().now().nanoseconds * 1e-9

    def _deserialize(self, serialized: bytes) -> tuple[float, str]:
        """Read a message in full, and learn how to read those like it; returns its time, and why it is of no use."""
        self._layout = self._columns = None
        if (names := name_count(serialized)) > MOST_NAMES:
            why = f"joint_states has {names} names, expected {MOST_NAMES} at most"
            return self.time, self._reject("too many names", why)
        try:
            message = decoded(serialized, JointState)
        except UndecodableError as error:
            return self.time, self._reject("not decodable", f"joint_states can't be decoded: {error}")
        when = self._keep_stamp(message.header.stamp.sec, message.header.stamp.nanosec)
        refusal = self.take(when, message.name, message.position, message.velocity, message.effort)
        layout = None if refusal or self.indices is None else learn_layout(serialized, message)
        if layout is not None and self.indices is not None:
            self._columns = layout.columns(self.indices)
            self._layout = layout if self._columns is not None else None
        return when, refusal

    def _monitor_input(self, when: float, usable: bool) -> None:
        """Count a message, and estimate the source's quality now and then."""
        if self._monitor is None:
            if not self.joint_names:
                return
            self._monitor = InputMonitor(len(self.joint_names), QUALITY_SAMPLES, self._lowest_rate)
        monitor = self._monitor
        monitor.update(JointSample(when, self.position if usable else _UNUSABLE))
        if not self._estimated_count or when < self._estimated_at:
            self._estimated_at, self._estimated_count = when, 1
            return
        self._estimated_count += 1
        slow = when - self._estimated_at >= QUALITY_PERIOD and self._estimated_count > 20
        if self._estimated_count <= QUALITY_SAMPLES and not slow:
            return
        self._estimated_at, self._estimated_count = when, 1
        self.quality = quality = monitor.quality()
        if math.isfinite(quality.rate):
            self.rate = quality.rate
        if quality.reason is not None:
            slow = min(quality.rate, quality.fresh_rate) < RATE_TOLERANCE * self._lowest_rate
            hint = "; remap joint_states to the robot's own topic, such as franka/joint_states" if slow else ""
            self._node.get_logger().warning(
                f"joint_states: {quality.reason}{hint}", throttle_duration_sec=QUALITY_WARN_PERIOD
            )


class RecentStates:
    """The last states of several arms, kept serialized and decoded only when an impact needs them."""

    def __init__(self, node: Node, arms: Sequence[Arm]) -> None:
        """Subscribe for a node."""
        self._arms = tuple(arms)
        self._kept: list[deque[bytes]] = [deque(maxlen=KEPT) for _ in arms]
        for index, arm in enumerate(self._arms):
            keep = partial(self.keep, index)
            node.create_subscription(JointState, arm.topic("joint_states"), keep, state_qos(False), raw=True)

    def keep(self, index: int, serialized: bytes) -> None:
        """A state of an arm, as it came."""
        self._kept[index].append(serialized)

    def before(self, index: int, time: float) -> Touch | None:
        """The last state of an arm before a time, s; None where there is none that can be used."""
        earlier: list[JointState] = []
        for serialized in reversed(self._kept[index]):
            try:
                message = decoded(serialized, JointState)
            except UndecodableError:
                continue
            if stamp_seconds(message) < time:
                earlier.append(message)
            if len(earlier) == _DIFFERENCED:
                break
        reader, taken = JointReader(self._arms[index].robot.joint_names), 0
        for message in reversed(earlier):
            state = message.name, message.position, message.velocity, message.effort
            taken += not reader.take(stamp_seconds(message), *state)
        if not taken or not (reader.velocity_measured or taken == _DIFFERENCED):
            return None
        return Touch(reader.time, reader.position.copy(), reader.velocity.copy())
