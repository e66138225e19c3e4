"""What a fuzzed node is sent: good messages and requests, spoilt ones, and bytes that are no message any more."""

from __future__ import annotations

import functools
import importlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, PoseStamped
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction, ReferenceField, StepDone, Task
from impact_aware_msgs.srv import PredictPostImpact, SetTask
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from impact_aware.contact import Contact
from impact_aware.impact import predict
from impact_aware.messages.impact_prediction import impact_to_message, predicted_impact
from impact_aware.messages.reference_field import field_to_message
from impact_aware.messages.task import task_to_message
from impact_aware.ros.messages import ROS, stamp
from impact_aware.task import load_task, make_field, start_posture
from impact_aware.task.arms import arms_of_task
from impact_aware_rigs.fuzz.random_messages import RandomMessages, spoil_bytes

SERVICES = ("predict_post_impact", "set_task", "start", "reset", "safe_stop", "begin")
"""Services of the nodes' own, by the last part of their names."""

RANDOM_SHARE = 0.15
"""Share of spoilt messages that are entirely random."""

BYTES_SHARE = 0.5
"""Share of spoilt messages given as bytes whose bytes are spoilt too."""

PERIOD = 0.001
"""Time from one state of an arm to its next, s."""

SPEED = 0.1
"""Speed of every joint, forth and back, rad/s."""

TURN_TIME = 0.5
"""Time between two turns in the same direction, s; each is a jump of all joints' velocities, as at an impact."""

TOWARD = np.array([0.0, -0.3, 0.0, 0.0, 0.0, 0.0])
"""Velocity of the tool before the impact, linear first, m/s."""


class Templates:
    """One task's messages, each a little later than the last.

    The arm that a message is about follows from its topic: `left/impacts` is that of the arm `left`.
    """

    def __init__(self, task: str, generator: random.Random) -> None:
        """Load a task, by name."""
        self._generator = generator
        self._task = load_task(task)
        arms = arms_of_task(self._task, "panda")
        self._names = [arm.prefix for arm in arms]
        self._robots = [arm.robot for arm in arms]
        self._field = make_field(self._task, self._robots)
        self._starts = [start_posture(own, arm.robot) for own, arm in zip(self._task.arms, arms, strict=True)]
        robots = zip(self._robots, self._starts, strict=True)
        self._toward = [np.linalg.pinv(robot.frame_jacobian(start)) @ TOWARD for robot, start in robots]
        self._gravity = [robot.gravity(start) for robot, start in zip(self._robots, self._starts, strict=True)]
        self._predictions = [serialize_message(self._first_prediction(index)) for index in range(len(arms))]
        self._time = 1.0
        self._sequence = 0
        self._makers: dict[type, Callable[[int], Any]] = {
            JointState: self._joint_state,
            ImpactEvent: self._event,
            ImpactPrediction: self._prediction,
            ReferenceField: self._field_message,
            PoseStamped: self._pose,
            StepDone: self._step_done,
            Task: self._task_message,
            DiagnosticArray: self._diagnostics,
            Float64MultiArray: self._command,
            String: lambda index: String(data="<robot name='a'/>"),
        }

    def make(self, kind: type, topic: str) -> Any:
        """A message for a topic; an empty one of a type that there is no template for."""
        maker = self._makers.get(kind)
        return kind() if maker is None else maker(self._index(topic))

    def _index(self, topic: str) -> int:
        """Which arm a topic belongs to; the first where its name does not say."""
        first = topic.lstrip("/").partition("/")[0]
        return self._names.index(first) if first in self._names else 0

    def request(self, kind: type) -> Any:
        """A request of a service type."""
        request = kind.Request()  # type: ignore[attr-defined]
        if kind is PredictPostImpact:
            request.position, request.velocity = self._starts[0].tolist(), self._toward[0].tolist()
        if kind is SetTask:
            choice = self._generator.random()
            if choice < 0.3:
                request.has_impact_speed, request.impact_speed = True, self._generator.uniform(0.1, 0.6)
            elif choice < 0.5:
                request.has_object_position = True
                request.object_position = Point(x=0.5, y=self._generator.uniform(-0.05, 0.05), z=0.1)
        return request

    def _joint_state(self, index: int) -> JointState:
        # The arms take turns within a period, so that their states belong together.
        self._time += PERIOD / len(self._robots)
        robot, start = self._robots[index], self._starts[index]
        message = JointState(name=list(robot.joint_names))
        turn = self._time % TURN_TIME - 0.5 * TURN_TIME
        message.position = (start + SPEED * abs(turn)).tolist()
        message.velocity = [SPEED if turn > 0.0 else -SPEED] * robot.n
        message.effort = self._gravity[index].tolist()
        message.header.stamp = stamp(self._time)
        return message

    def _field_message(self, index: int) -> ReferenceField:
        return field_to_message(self._field, self._time, ROS)

    def _task_message(self, index: int) -> Task:
        return task_to_message(self._task, self._generator.randrange(4), self._time, ROS)

    def _event(self, index: int) -> ImpactEvent:
        self._sequence += 1
        event = ImpactEvent(sequence=self._sequence, joint_names=list(self._robots[index].joint_names))
        event.arm = self._names[index]
        event.header.stamp = event.stamp_detected = stamp(self._time)
        event.position, event.velocity_before = self._starts[index].tolist(), self._toward[index].tolist()
        event.kind = self._generator.randrange(3)
        return event

    def _first_prediction(self, index: int) -> ImpactPrediction:
        robot, start, toward = self._robots[index], self._starts[index], self._toward[index]
        contact = Contact(robot.tool_frame, np.array([0.0, 1.0, 0.0]), radius=robot.tool_radius)
        impact = predicted_impact(
            predict(robot, start, toward, contact),
            time=0.0,
            source="look_ahead",
            arm=self._names[index],
            frame=robot.base_frame,
            joint_names=robot.joint_names,
            position=start,
        )
        message: ImpactPrediction = impact_to_message(impact, ROS)
        message.has_object, message.object = True, self._task.object.name
        message.object_twist_after.linear.y = float(TOWARD[1])
        return message

    def _prediction(self, index: int) -> ImpactPrediction:
        message: ImpactPrediction = deserialize_message(self._predictions[index], ImpactPrediction)
        message.header.stamp = stamp(self._time)
        message.source = self._generator.randrange(5)
        message.event_sequence = self._sequence
        return message

    def _pose(self, index: int) -> PoseStamped:
        pose = PoseStamped()
        pose.header.stamp = stamp(self._time)
        x, y, z = self._field.object_position
        pose.pose.position = Point(x=x, y=y + self._generator.gauss(0.0, 0.003), z=z)
        pose.pose.orientation.w = 1.0
        return pose

    def _step_done(self, index: int) -> StepDone:
        return StepDone(node="/rs_controller", stamp=stamp(self._time))

    def _command(self, index: int) -> Float64MultiArray:
        return Float64MultiArray(data=[self._generator.gauss(0.0, 1.0) for _ in range(self._robots[index].n)])

    def _diagnostics(self, index: int) -> DiagnosticArray:
        status = DiagnosticStatus(name="/rs_controller: state", message="watching")
        status.values = [KeyValue(key="mode", value="IDLE"), KeyValue(key="done", value="False")]
        return DiagnosticArray(status=[status])


class Traffic:
    """Messages and requests of one task.

    Attributes:
        generator: Of all that is random.
        draw: A random number in [0, 1).
    """

    def __init__(self, task: str, seed: int) -> None:
        """Load the task, by name."""
        self._random = RandomMessages(seed, _empty)
        self.generator = self._random.generator
        self.draw = self.generator.random
        self._templates = Templates(task, self.generator)

    def message(self, kind: type, topic: str, *, spoil: bool) -> Any:
        """A good message, one with some fields spoilt, or one of nothing but random fields."""
        if spoil and self.draw() < RANDOM_SHARE:
            return self._random.value(type_name(kind))
        message = self._templates.make(kind, topic)
        return self._random.spoil(message, self.generator.randrange(1, 4)) if spoil else message

    def data(self, kind: type, topic: str, *, spoil: bool, raw: bool) -> bytes:
        """A serialized message; when `raw`, its bytes may be spoilt too."""
        data: bytes = serialize_message(self.message(kind, topic, spoil=spoil))
        return spoil_bytes(data, self.generator) if raw and spoil and self.draw() < BYTES_SHARE else data

    def request(self, kind: type, *, spoil: bool) -> tuple[Any, bool]:
        """A request of a service type, and whether it is spoilt: some have nothing that could be."""
        request = self._templates.request(kind)
        spoil = spoil and kind is not Trigger
        return (self._random.spoil(request, self.generator.randrange(1, 4)) if spoil else request), spoil


def type_name(kind: type) -> str:
    """Such as `geometry_msgs/Point`."""
    return f"{kind.__module__.split('.')[0]}/{kind.__name__}"


@functools.cache
def _class(name: str) -> type:
    package, _, last = name.partition("/")
    return getattr(importlib.import_module(f"{package}.msg"), last.rpartition("/")[2])


def _empty(name: str) -> Any:
    """An empty message of a type such as `geometry_msgs/Point`."""
    return _class(name)()
