"""Random messages for the callbacks of a node, all in one process: what raises, what grows, what is counted.

`python -m impact_aware.nodes.fuzz NODE COUNT SEED` prints one JSON object. Callbacks are called directly, as an
executor would, with real messages; nothing is heard over DDS. `impact-aware faults --fuzz` runs it for every node.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import importlib
import json
import os
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import Point, PoseStamped
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction, ReferenceField
from impact_aware_msgs.srv import PredictPostImpact, SetTask
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from impact_aware.contact import Contact
from impact_aware.errors import UnknownNameError
from impact_aware.faults.random_messages import RandomMessages
from impact_aware.impact import predict
from impact_aware.nodes.conversions import prediction_to_message
from impact_aware.nodes.field_conversions import field_to_message
from impact_aware.nodes.stamps import stamp
from impact_aware.reference import load_task, make_field, start_posture
from impact_aware.robot import RobotModel

NODES = {
    "impact_detector": "ImpactDetectorNode",
    "jump_predictor": "JumpPredictorNode",
    "reference_field": "ReferenceFieldNode",
    "rs_controller": "RsControllerNode",
    "impact_markers": "ImpactMarkersNode",
    "sim_robot": "SimRobotNode",
    "forward_command_controller": "ForwardCommandControllerNode",
    "run_monitor": "RunMonitorNode",
}
"""Nodes and their classes; `bag_recorder` takes bytes that it does not look into."""

JOINTS = {
    "impact_detector": [f"panda_joint{number}" for number in range(1, 8)],
    "forward_command_controller": [f"panda_joint{number}" for number in range(1, 8)],
}
"""Nodes that are told which joints there are."""

TIMER_SHARE = 0.01
"""Share of calls of the node's timers, which do what messages only prepare."""

SERVICE_SHARE = 0.02
"""Share of service requests: they are slower than messages by far."""

WARM_UP = 0.2
"""Share of the messages after which growth counts."""


class Fuzzer:
    """One node and a source of messages for it.

    Attributes:
        node: The node.
        sent: How many messages and requests it was given, by name of the topic or service.
        errors: How many exceptions came out of its callbacks, by their last line.
        first_tracebacks: Where each of them came from.
    """

    def __init__(self, name: str, seed: int) -> None:
        """Make the node and find its callbacks.

        Raises:
            UnknownNameError: No node of that name.
        """
        if name not in NODES:
            raise UnknownNameError("node", name, tuple(NODES))
        module = importlib.import_module(f"impact_aware.nodes.{name}")
        if name in JOINTS:
            declared = vars(module)["load_settings"]
            vars(module)["load_settings"] = lambda node, kind: _with_joints(declared(node, kind), JOINTS[name])
        self.node: Any = getattr(module, NODES[name])()
        set_logger_level(self.node.get_logger().name, LoggingSeverity.FATAL)
        self._random = RandomMessages(seed, _empty)
        self._templates = _Templates(self._random.generator)
        if name == "rs_controller":
            self.node.trigger_configure()
            self._prepare_controller()
        self._callbacks: list[tuple[str, Callable[[Any], None], type]] = [
            (entry.topic_name, entry.callback, entry.msg_type) for entry in self.node.subscriptions
        ]
        self._timers: list[Callable[[], None]] = [timer.callback for timer in self.node.timers]
        services = ("predict_post_impact", "set_task", "~/start", "~/reset", "~/safe_stop")
        names = tuple(service.lstrip("~/") for service in services)
        self._services = [
            (entry.srv_name, entry.callback, entry.srv_type)
            for entry in self.node.services
            if entry.srv_name.rpartition("/")[2] in names
        ]
        self.sent: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.first_tracebacks: dict[str, str] = {}

    def _prepare_controller(self) -> None:
        """Active, with a field and a state, so that messages reach the cycle itself."""
        templates = self._templates
        for entry in self.node.subscriptions:
            if entry.msg_type is JointState:
                entry.callback(templates.joint_state())
            if entry.msg_type is ReferenceField:
                entry.callback(templates.field_message())
        self.node.trigger_activate()

    def run(self, count: int) -> None:
        """Give the node `count` messages and requests."""
        generator = self._random.generator
        for _ in range(count):
            if self._services and generator.random() < SERVICE_SHARE:
                name, callback, kind = self._services[int(generator.integers(len(self._services)))]
                self._ask(name, callback, kind)
                continue
            if self._timers and generator.random() < TIMER_SHARE:
                self._call(self._timers[int(generator.integers(len(self._timers)))])
            name, callback, kind = self._callbacks[int(generator.integers(len(self._callbacks)))]
            message = self._message(kind)
            self.sent[name] += 1
            self._call(lambda callback=callback, message=message: callback(message))  # type: ignore[misc]

    def _message(self, kind: type) -> Any:
        """A good message, one with some fields spoilt, or one of nothing but random fields."""
        choice = self._random.generator.random()
        if choice < 0.1:
            return self._random.value(_type_name(kind))
        message = self._templates.make(kind)
        return message if choice < 0.4 else self._random.spoil(message, int(self._random.generator.integers(1, 4)))

    def _ask(self, name: str, callback: Callable, kind: type) -> None:
        request = self._templates.request(kind)
        self._random.spoil(request, int(self._random.generator.integers(0, 4)))
        self.sent[name] += 1
        self._call(lambda: callback(request, kind.Response()))  # type: ignore[attr-defined]

    def _call(self, call: Callable[[], None]) -> None:
        try:
            with np.errstate(all="ignore"):
                call()
        except Exception as error:  # noqa: BLE001 - an exception is what it looks for
            trace = traceback.extract_tb(error.__traceback__)[-1]
            line = f"{type(error).__name__}: {str(error)[:120]} ({os.path.basename(trace.filename)}:{trace.lineno})"
            key = f"{type(error).__name__} ({os.path.basename(trace.filename)}:{trace.lineno})"
            self.errors[key] += 1
            self.first_tracebacks.setdefault(key, line + "\n" + traceback.format_exc(limit=-6))

    def size(self) -> int:
        """Entries of all containers that the node holds on to, found from its attributes inwards."""
        return _entries(self.node)


class _Templates:
    """Good messages of every kind that a node listens to, each a little later than the last."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._robot = RobotModel.from_profile("panda")
        self._task = load_task("hit_and_push")
        self._field = make_field(self._task, [self._robot])
        self._start = np.asarray(start_posture(self._task.arms[0], self._robot))
        self._toward = np.linalg.pinv(self._robot.frame_jacobian(self._start)) @ np.array([0.0, -0.3, 0, 0, 0, 0])
        self._time = 1.0
        self._sequence = 0

    def make(self, kind: type) -> Any:
        makers: dict[type, Callable[[], Any]] = {
            JointState: self.joint_state,
            ImpactEvent: self._event,
            ImpactPrediction: self._prediction,
            ReferenceField: self.field_message,
            PoseStamped: self._pose,
            Float64MultiArray: lambda: Float64MultiArray(data=self._generator.normal(size=7).tolist()),
            String: lambda: String(data="<robot name='a'/>"),
        }
        if kind in makers:
            return makers[kind]()
        return kind()

    def request(self, kind: type) -> Any:
        request = kind.Request()  # type: ignore[attr-defined]
        if kind is PredictPostImpact:
            request.position, request.velocity = self._start.tolist(), self._toward.tolist()
        if kind is SetTask:
            choice = self._generator.random()
            if choice < 0.3:
                request.impact_speed = [float(self._generator.uniform(0.1, 0.6))]
            elif choice < 0.5:
                request.object_position = [Point(x=0.5, y=float(self._generator.uniform(-0.05, 0.05)), z=0.1)]
        return request

    def joint_state(self) -> JointState:
        self._time += 0.001
        wave = 0.002 * np.sin(self._time * 3.0)
        message = JointState(name=list(self._robot.joint_names))
        message.position = (self._start + wave).tolist()
        message.velocity = (0.006 * np.cos(self._time * 3.0) + np.zeros(7)).tolist()
        message.effort = self._robot.gravity(self._start).tolist()
        message.header.stamp = stamp(self._time)
        return message

    def field_message(self) -> ReferenceField:
        return field_to_message(self._field, self._time)

    def _event(self) -> ImpactEvent:
        self._sequence += 1
        event = ImpactEvent(sequence=self._sequence, joint_names=list(self._robot.joint_names))
        event.header.stamp = event.stamp_detected = stamp(self._time)
        event.position, event.velocity_before = self._start.tolist(), self._toward.tolist()
        event.kind = int(self._generator.integers(0, 3))
        return event

    def _prediction(self) -> ImpactPrediction:
        contact = Contact(self._robot.tool_frame, np.array([0.0, 1.0, 0.0]), radius=self._robot.tool_radius)
        message = prediction_to_message(
            predict(self._robot, self._start, self._toward, contact),
            time=self._time,
            source=int(self._generator.integers(0, 3)),
            arm="",
            frame=self._robot.base_frame,
            joint_names=self._robot.joint_names,
            position=self._start,
        )
        message.object = "juice_pack"
        message.object_twist_after.linear.y = -0.3
        message.event_sequence = self._sequence
        return message

    def _pose(self) -> PoseStamped:
        pose = PoseStamped()
        pose.header.stamp = stamp(self._time)
        x, y, z = self._field.object_position
        pose.pose.position = Point(x=x, y=y + float(self._generator.normal(scale=0.003)), z=z)
        pose.pose.orientation.w = 1.0
        return pose


def fuzz(name: str, count: int, seed: int) -> dict[str, Any]:
    """Fuzz one node; rclpy must be initialised."""
    fuzzer = Fuzzer(name, seed)
    begin = time.perf_counter()
    warm = int(WARM_UP * count)
    fuzzer.run(warm)
    gc.collect()
    size, memory = fuzzer.size(), _memory()
    fuzzer.run(count - warm)
    gc.collect()
    wall = time.perf_counter() - begin
    result = {
        "node": name,
        "messages": sum(fuzzer.sent.values()),
        "by_topic": dict(fuzzer.sent),
        "exceptions": sum(fuzzer.errors.values()),
        "errors": dict(fuzzer.errors),
        "tracebacks": fuzzer.first_tracebacks,
        "grown_kib": _memory() - memory,
        "grown_entries": fuzzer.size() - size,
        "entries": size,
        "diagnostics": _diagnostics(fuzzer.node),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "wall_s": round(wall, 1),
    }
    fuzzer.node.destroy_node()
    return result


def _diagnostics(node: Node) -> dict[str, str] | None:
    status = getattr(node, "_status", None)
    return None if status is None else {key: str(value) for key, value in status()[2].items()}


def _memory() -> int:
    """Resident memory of this process, KiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def _entries(start: Any) -> int:
    """Entries of lists, sets, dictionaries and queues reachable through attributes of objects of this package."""
    seen: set[int] = set()
    waiting, total = [start], 0
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, dict):
            total += len(thing)
            waiting += list(thing.values())[:1000]
        elif isinstance(thing, (list, tuple, set, frozenset)) or type(thing).__name__ == "deque":
            total += len(thing)
            waiting += list(thing)[:1000]
        elif isinstance(thing, np.ndarray):
            total += thing.size
        elif type(thing).__module__.startswith("impact_aware.") and hasattr(thing, "__dict__"):
            waiting += list(vars(thing).values())
    return total


def _with_joints(settings: Any, joints: list[str]) -> Any:
    return dataclasses.replace(settings, joints=joints) if hasattr(settings, "joints") else settings


def _type_name(kind: type) -> str:
    return f"{kind.__module__.split('.')[0]}/{kind.__name__}"


def _empty(name: str) -> Any:
    package, _, kind = name.partition("/")
    return getattr(importlib.import_module(f"{package}.msg"), kind.rpartition("/")[2])()


def main() -> None:
    """Fuzz the node that the arguments name."""
    name, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rclpy.init(args=[])
    try:
        # A node may write to the standard output itself.
        with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
            result = fuzz(name, count, seed)
        print(json.dumps(result))
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
