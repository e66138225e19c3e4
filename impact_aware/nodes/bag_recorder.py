"""Node `bag_recorder`: every topic it can see goes into one MCAP bag, as the bytes that came over DDS."""

from __future__ import annotations

import contextlib
import math
import struct
from bisect import bisect_right
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbags import interfaces
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from impact_aware.bags.link_transforms import TF, TF_STATIC, TRANSFORMS_TYPE, LinkTransforms, transforms
from impact_aware.errors import InvalidInputError
from impact_aware.messages.stamps import serialized_stamp
from impact_aware.parameters import described
from impact_aware.ros.messages import definition_file, message_class
from impact_aware.ros.qos import LATCHED_QOS
from impact_aware.ros.readiness import Readiness
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.ros.timers import steady_timer
from impact_aware.task import load_task
from impact_aware.task.arms import arms_of_task, frame_names

STATES = "sensor_msgs/msg/JointState"

DISCOVERY_PERIOD = 0.1
"""Wall time between two looks for new topics, s."""

RELEASE_PERIOD = 0.1
"""Wall time between two looks for messages that may be written in the time of states, s."""

FLUSH_PERIOD = 1.0
"""Wall time after which what came is handed to the system, s: a process that is killed loses no more than that."""

QUIET = 10
"""Spins in a row without a message, each of 10 ms, after which a recorder that is to end has had all.

Not a time: on a busy machine the process may stand still for longer than any.
"""

SEPARATOR = "=" * 80 + "\n"
"""Between the types of a definition."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    bag: str = described("", "folder of the bag; must not exist yet")
    exclude: list[str] = described(
        ["/parameter_events", "/rosout", "/step_done", "/clock"], "topics whose names end like this are left out"
    )
    time_of_states: bool = described(
        False,
        "the time of each message is the newest stamp of joint_states sent before it, for a simulated plant; else "
        "the clock's",
    )
    links_of: str = described("", "task whose arms' links are added as /tf; empty: none")
    robot: str = described("panda", "profile of a single arm")


class BagRecorderNode(Node):
    """Subscribes to topics as they appear and writes their messages undecoded.

    Attributes:
        rest: Pause between two spins, s: no node waits for the recorder, and its queues are long.
        stop_timeout: Longest time to record queued messages after a request to end, s; it is killed after 10 s.
    """

    rest = 0.01
    stop_timeout = 8.0

    def __init__(self, **ros: Any) -> None:
        """Open the bag and start looking for topics; `ros` goes to rclpy's node."""
        super().__init__("bag_recorder", **ros)
        self._settings = load_settings(self, Settings)
        if not self._settings.bag:
            raise InvalidInputError("parameter bag", "nothing", "a folder for the bag")
        path = Path(self._settings.bag)
        try:
            if path.exists():
                raise InvalidInputError("parameter bag", str(path), "a folder that does not exist yet")
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
            self._writer.open()
        except OSError as error:
            expected = f"a folder that can be made ({error.strerror})"
            raise InvalidInputError("parameter bag", str(path), expected) from error
        self._typestore = get_typestore(Stores.ROS2_JAZZY)
        self._texts: dict[str, str] = {}
        self._seen: set[str] = set()
        self._count = self._left_out = 0
        self._given_up = False
        self._ending, self._counted, self._quiet = False, 0, 0
        self._stamp, clock = 0, self.get_clock()
        in_time_of_states = self._settings.time_of_states
        self._connections: dict[str, Any] = {}
        self._static = b""
        self._held: list[tuple[int, bool, str, bytes]] = []
        self._newest: dict[str, int] = {}
        self._links = self._find_links() if self._settings.links_of else {}
        self._now = (lambda: self._stamp) if in_time_of_states else (lambda: clock.now().nanoseconds)
        self._readiness = Readiness(self, records_all_but=self._settings.exclude)
        steady_timer(self, DISCOVERY_PERIOD, self._discover)
        steady_timer(self, FLUSH_PERIOD, self._flush)
        steady_timer(self, RELEASE_PERIOD, self._release)
        self.get_logger().info(f"recording to {path}")

    def _find_links(self) -> dict[str, LinkTransforms]:
        """Topics of the task's arms, and what places their links; the bases are static, and in one message."""
        task = load_task(self._settings.links_of)
        arms = arms_of_task(task, self._settings.robot)
        found, bases = {}, {}
        for own, arm in zip(task.arms, arms, strict=True):
            links = LinkTransforms(arm.robot, own.joint_prefix or (f"{arm.prefix}/" if arm.prefix else ""))
            found[self.resolve_topic_name(arm.topic("joint_states"))] = links
            bases[links.base] = arm.base
        names = frame_names(task, arms)
        static = {base: pose for base, pose in bases.items() if base != names[0]}
        self._connect(TF, TRANSFORMS_TYPE, [QoSProfile(depth=100)])
        if static:
            self._connect(TF_STATIC, TRANSFORMS_TYPE, [LATCHED_QOS])
            self._static = transforms(names[0], static)
        return found

    def _add_links(self, links: LinkTransforms, state: bytes, now: int) -> None:
        """Write where an arm's links are by a serialized state, recorded at a time, ns; once where the bases are."""
        if self._static:
            self._writer.write(self._connections[TF_STATIC], now, self._static)
            self._static = b""
        with contextlib.suppress(struct.error):
            if poses := links.message(state, _stamp(state)):
                self._writer.write(self._connections[TF], now, poses)

    def _connect(self, topic: str, type_name: str, offered: list[QoSProfile]) -> Any:
        """The bag's connection of a topic, made at the first call."""
        if topic not in self._connections:
            self._register(type_name)
            self._connections[topic] = self._writer.add_connection(
                topic,
                type_name,
                msgdef=self._definition(type_name),
                rihs01=self._typestore.hash_rihs01(type_name),
                offered_qos_profiles=[_recorded(qos) for qos in offered],
            )
        return self._connections[topic]

    def _discover(self) -> None:
        for topic, types in self.get_topic_names_and_types():
            if topic in self._seen or topic.endswith(tuple(self._settings.exclude)):
                continue
            offers = self.get_publishers_info_by_topic(topic)
            if offers:
                self._seen.add(topic)
                self._record(topic, types[0], [offer.qos_profile for offer in offers])

    def _record(self, topic: str, type_name: str, offered: list[QoSProfile]) -> None:
        """Subscribe if it can be: others on the network may have types that are not installed here, or no messages."""
        try:
            self._subscribe(topic, type_name, offered)
        except Exception as error:  # noqa: BLE001 - importing and reading any definition may raise anything
            self._left_out += 1
            self.get_logger().warning(f"{topic} is not recorded, type {type_name}: {error}")

    def _subscribe(self, topic: str, type_name: str, offered: list[QoSProfile]) -> None:
        kind = message_class(type_name)
        self._connect(topic, type_name, offered)
        is_state, hold = type_name == STATES, self._settings.time_of_states

        def take(data: bytes, info: dict[str, int]) -> None:
            if hold:
                self._newest[topic] = sent = info["source_timestamp"]
                self._held.append((sent, is_state, topic, data))
            else:
                self._write(topic, data)

        reliable = all(qos.reliability == ReliabilityPolicy.RELIABLE for qos in offered)
        latched = all(qos.durability == DurabilityPolicy.TRANSIENT_LOCAL for qos in offered)
        qos = QoSProfile(
            depth=2000,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        # Its declared type leaves out callbacks that take when a message was sent.
        callback: Any = take
        self.create_subscription(kind, topic, callback, qos, raw=True)

    def _write(self, topic: str, data: bytes) -> None:
        try:
            now = self._now()
            self._writer.write(self._connections[topic], now, data)
            if links := self._links.get(topic):
                self._add_links(links, data, now)
        except OSError as error:
            self._give_up(error)
        else:
            self._count += 1

    def _release(self) -> None:
        """Write the messages of the time of states in the order in which they were sent.

        On a busy machine the queue of one topic is longer than that of another: what was sent after the newest message
        of a topic that is being read is held.
        """
        self._held.sort(key=itemgetter(0))
        last = min(self._newest.values(), default=math.inf)
        self._newest = {}
        count = bisect_right(self._held, last, key=itemgetter(0))
        due, self._held = self._held[:count], self._held[count:]
        for _, is_state, topic, data in due:
            if is_state:
                # Of all messages until the next state; it never runs back, as a bag's time may not.
                with contextlib.suppress(struct.error):
                    self._stamp = max(self._stamp, _stamp(data))
            self._write(topic, data)

    def _flush(self) -> None:
        """Close the chunk of the bag, which its writer would keep in memory up to 1 MiB, however slowly it fills."""
        storage = self._writer.storage
        if isinstance(storage, McapWriter) and storage.chunk.msgs:
            try:
                storage.close_chunk()
                storage.bio.flush()
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Log why no further message can be written, such as a full disk, and end: the bag is incomplete."""
        if not self._given_up:
            self._given_up = True
            self.get_logger().error(f"the bag can't be written any more, {self._count} messages are in it: {error}")

    @property
    def finished(self) -> bool:
        """Whether the process may end: writing fails, or no message arrives any more after a request to end."""
        came = self._count + len(self._held)
        self._quiet = self._quiet + 1 if came == self._counted else 0
        self._counted = came
        return self._given_up or (self._ending and self._quiet >= QUIET)

    def prepare_stop(self) -> None:
        """Record the messages that are still queued before the process ends; without timers, which are no silence."""
        self._ending, self._quiet = True, 0
        for timer in self.timers:
            timer.cancel()

    def _register(self, type_name: str) -> None:
        """Teach the type store a message type, and those it is made of, from the installed definitions."""
        if type_name in self._typestore.types:
            return
        package, _, name = type_name.split("/")
        file = definition_file(package, "msg", name)
        if file is None or file.suffix != ".msg":
            raise InvalidInputError("message type", type_name, "one whose .msg file is installed")
        text = self._texts[f"{package}/{name}"] = file.read_text()
        definitions: dict[str, Any] = get_types_from_msg(text, type_name)
        for fields in definitions.values():
            for _, description in fields[1]:
                self._register_parts(description)
        self._typestore.register(definitions)

    def _register_parts(self, description: Any) -> None:
        """Follow a field's description, a nested tuple, down to the message types it names."""
        if isinstance(description, str) and description.count("/") == 2:
            self._register(description)
        elif isinstance(description, tuple):
            for part in description:
                self._register_parts(part)

    def _definition(self, type_name: str) -> str:
        """A type and those it is made of, in the words of their files as far as these were read.

        A type store puts all constants first; viewers name the values of a field by those that stand before it.
        """
        package, _, name = type_name.split("/")
        first, *others = self._typestore.generate_msgdef(type_name, ros_version=2)[0].split(SEPARATOR)
        parts = [self._texts.get(f"{package}/{name}", first)]
        for part in others:
            title, _, generated = part.partition("\n")
            parts.append(f"{title}\n{self._texts.get(title.removeprefix('MSG: '), generated)}")
        return SEPARATOR.join(f"{part.rstrip()}\n" for part in parts)

    def close(self) -> None:
        """Finish the bag so that any reader opens it."""
        self._newest = {}
        self._release()
        try:
            self._writer.close()
        except OSError as error:
            self._give_up(error)
            return
        self.get_logger().info(f"recorded {self._count} messages of {len(self._seen) - self._left_out} topics")


def _stamp(data: bytes) -> int:
    """Stamp of a serialized message, ns."""
    whole, nanoseconds = serialized_stamp(data)
    return whole * 1_000_000_000 + nanoseconds


def _recorded(offered: QoSProfile) -> interfaces.Qos:
    """Return a publisher's profile as a bag stores it: players offer it again, so that latched topics stay latched."""
    times = (offered.deadline, offered.lifespan, offered.liveliness_lease_duration)
    deadline, lifespan, lease = (interfaces.QosTime(*divmod(time.nanoseconds, 1_000_000_000)) for time in times)
    return interfaces.Qos(
        history=interfaces.QosHistory(offered.history.value),
        depth=offered.depth,
        reliability=interfaces.QosReliability(offered.reliability.value),
        durability=interfaces.QosDurability(offered.durability.value),
        deadline=deadline,
        lifespan=lifespan,
        liveliness=interfaces.QosLiveliness(offered.liveliness.value),
        liveliness_lease_duration=lease,
        avoid_ros_namespace_conventions=offered.avoid_ros_namespace_conventions,
    )


main = partial(run_node, BagRecorderNode)
