"""Node `reference_field`: the task as reference fields, kept in agreement with the predicted jump.

For several arms it is one field with a reference for each, whose post-impact part follows from the impact of all arms
at once. The topics of each arm are below its name then, with the pose of the object in its base frame among them.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import PoseStamped
from impact_aware_msgs.msg import ControllerState, ImpactEvent, ImpactPrediction
from impact_aware_msgs.msg import ReferenceField as ReferenceFieldMessage
from impact_aware_msgs.msg import Task as TaskMessage
from impact_aware_msgs.srv import SetTask
from rclpy.node import Node

from impact_aware.control.live_field import LiveField
from impact_aware.errors import ImpactAwareError, InvalidInputError, UnknownNameError
from impact_aware.impact.material import RIGID, Pads
from impact_aware.messages.geometry import vector
from impact_aware.messages.impact_event import CONTACT_MADE, event_from_message
from impact_aware.messages.impact_prediction import impact_from_message, impact_to_message
from impact_aware.messages.object_pose import ObjectPose
from impact_aware.messages.reference_field import field_to_message
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.messages.task import arms_entries, object_entries, task_to_message
from impact_aware.nodes.bases import BaseLookup
from impact_aware.nodes.joint_state_source import RecentStates
from impact_aware.nodes.object_poses import ObjectPoses, ObjectPoseSettings
from impact_aware.nodes.pushed_object import object_publisher, pose_message
from impact_aware.parameters import described, shared
from impact_aware.planning import plan_hit
from impact_aware.robot.link_shapes import link_shapes
from impact_aware.ros.diagnostics import OK, REQUEST, WARN, DiagnosticsReporter, Report, refusals
from impact_aware.ros.frames import Frames
from impact_aware.ros.liveness import HeartbeatSender, TwinWatch
from impact_aware.ros.messages import ROS, UndecodableError, decoded
from impact_aware.ros.qos import EVENT_QOS, LATCHED_EVENT_QOS, LATCHED_QOS, LATEST_QOS
from impact_aware.ros.readiness import Readiness
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.task import Task, load_task, task_names
from impact_aware.task.arms import arms_of_task, frame_names, without_tf
from impact_aware.yaml_text import read_yaml_mapping


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    robot: str = described("panda", "robot profile of a single arm; several have those of the task")
    task: str = described("hit_and_push", "task, by name or file")
    bases_from_tf: bool = described(
        True, "look up the bases that the task has in TF (base_in_tf); false: its numbers hold, as beside a simulator"
    )
    base_tolerance: float = described(
        0.01, "by how much TF may have a base elsewhere than the task's numbers, m and rad", 1e-6, 1.0
    )
    use_object_pose: bool = described(True, "put the field where object_pose has the object")
    material: str = shared(Pads, "material", RIGID)
    pad_stiffness_ratio: float = shared(Pads, "stiffness_ratio", Pads.stiffness_ratio)


LARGEST_YAML = 1 << 16
"""Changes of a task in one request, characters; a whole task has 2000."""


MOVING = {
    ControllerState.MODE_ANTE: "before the impact",
    ControllerState.MODE_INTERIM: "in the impact",
    ControllerState.MODE_POST: "after the impact",
}
"""Modes in which a controller follows a field, in words."""

NEWS = 1.0
"""Wall time for which a controller counts as being in the mode that it last reported, s."""


class MovingWatch:
    """Whether a controller moves the arms along a field: then the task stays what it is."""

    def __init__(self) -> None:
        """Start without a controller's state."""
        self._latest, self._seen = b"", -math.inf

    def see(self, serialized: bytes, now: float) -> None:
        """A controller's state, not yet read; `now` is wall time, s."""
        self._latest, self._seen = serialized, now

    def check(self, now: float) -> None:
        """Refuse a change at wall time `now`, s.

        Raises:
            InvalidInputError: The arms move, or the controller's state can't be decoded.
        """
        if now - self._seen > NEWS:
            return
        try:
            mode = decoded(self._latest, ControllerState).mode
        except UndecodableError as error:
            expected = "a message that can be decoded: whether the arms move is not known"
            raise InvalidInputError("controller_state", str(error), expected) from error
        if mode in MOVING:
            expected = "one while the arms rest: deactivate or reset the controller first"
            raise InvalidInputError("task", f"a change while the arms move, {MOVING[mode]}", expected)


class ReferenceFieldNode(Node):
    """Publishes one field, and a new revision of it whenever object or prediction change it."""

    def __init__(self, **ros: Any) -> None:
        """Load the task and publish its field; `ros` goes to rclpy's node."""
        super().__init__("reference_field", **ros)
        self._settings = settings = load_settings(self, Settings)
        self._started = False
        self._refused: Counter[str] = Counter()
        self._time = 0.0
        self._moving = MovingWatch()
        self._infeasible: InvalidInputError | None = None
        self._task_publisher = self.create_publisher(TaskMessage, "task", LATCHED_QOS)
        self._publisher = self.create_publisher(ReferenceFieldMessage, "reference_field", LATCHED_EVENT_QOS)
        # Raw: a message of every control cycle is decoded only when another task is requested.
        self.create_subscription(ControllerState, "controller_state", self._on_control, LATEST_QOS, raw=True)
        self.create_service(SetTask, "set_task", self._on_set_task)
        self._twins = TwinWatch(self)
        self._heartbeat = HeartbeatSender(self, ["reference_field"])
        self._readiness = Readiness(self, no_motion=self.no_motion)
        self._diagnostics = DiagnosticsReporter(self, self._status)
        self._frames, self._seeing = Frames(self), load_settings(self, ObjectPoseSettings)
        task = self._load(settings.task)
        self._bases = BaseLookup(self, self._frames, task, settings.base_tolerance, self._seeing.tf_base_frame)
        self._bases.find(self._start)

    def _load(self, name: str, changes: Mapping[str, Any] | None = None) -> Task:
        """A task, whose bases are looked up in TF only if they shall be."""
        task = load_task(name, changes)
        return task if self._settings.bases_from_tf else without_tf(task)

    def _start(self, task: Task) -> None:
        """Publish task and field, as it is known where the bases stand."""
        settings = self._settings
        self.arms = arms_of_task(task, settings.robot)
        self._object_publishers, several = [], len(self.arms) > 1
        self._recent = RecentStates(self, self.arms) if several else None
        self.live = LiveField(
            task,
            self.arms,
            state_before=self._recent.before if self._recent else None,
            pads=Pads(material=settings.material, stiffness_ratio=settings.pad_stiffness_ratio),
        )
        frames = frame_names(task, self.arms)
        for index, arm in enumerate(self.arms):
            self.create_subscription(ImpactEvent, arm.topic("impacts"), partial(self._on_impact, index), EVENT_QOS)
            jumps = partial(self._on_prediction, index)
            self.create_subscription(ImpactPrediction, arm.topic("predicted_jumps"), jumps, EVENT_QOS)
            if several:
                self._object_publishers.append(self.create_publisher(PoseStamped, arm.topic("object_pose"), 10))
        self._sight = None if several else object_publisher(self)
        self._common_publisher = self.create_publisher(ImpactPrediction, "common_jumps", EVENT_QOS) if several else None
        self.object_poses = ObjectPoses(
            self, frames, self._on_object, self._refuse, frames=self._frames, settings=self._seeing
        )
        self.object_poses.shape = task.object.solid
        if frames == (task.frame,) and not several and not any(self._bases.names):
            self.object_poses.frames.know(task.frame, self.arms[0].robot.base_frame, self.arms[0].base)
        self._started = True
        self._publish_task()
        self.get_logger().info(f"field for task {task.name}")
        for arm in self.arms:
            if not link_shapes(arm.robot):
                why = "its URDF has no collision geometry that is installed"
                self.get_logger().warning(f"links of {arm.robot.name} are not kept from the object: {why}")

    def _status(self) -> Report:
        if not self._started:
            return WARN, f"no motion may begin: {self._bases.problem}", {"task": self._settings.task}
        refused, live = self._refused.total(), self.live
        values: dict[str, object] = {"task": live.task.name, "task_number": live.task_number}
        values |= {"revision": live.field.revision, "refused": refused, "impacts_elsewhere": live.elsewhere}
        values |= refusals(self._refused) | self.object_poses.values()
        if why := self.no_motion():
            return WARN, f"no motion may begin: {why}", values
        implausible = refused > self._refused[REQUEST]
        return (WARN, "refused what can't be true", values) if implausible else (OK, "field published", values)

    def _message(self) -> ReferenceFieldMessage:
        return field_to_message(self.live.field, self._time, ROS)

    def _publish(self) -> None:
        self._publisher.publish(self._message())

    def _publish_task(self) -> None:
        """The task before its field: who follows both has no field of a task that it does not know."""
        live = self.live
        self._task_publisher.publish(task_to_message(live.task, live.task_number, self._time, ROS))
        self._publish()

    def _on_control(self, serialized: bytes) -> None:
        self._moving.see(serialized, time.monotonic())

    def _on_object(self, seen: ObjectPose) -> None:
        self._time = seen.time
        self._publish_object(seen)
        if not self._settings.use_object_pose:
            return
        if self.live.task.result is not None:
            self._plan_waiting(seen.pose)
        if self.live.move_object(seen.pose, seen.velocity, seen.time):
            self._publish()

    def _plan_waiting(self, pose: pin.SE3) -> None:
        """Plan the task that waits for this pose, once: an infeasible result stays, and no motion may begin."""
        if self._infeasible is not None:
            raise self._infeasible.with_traceback(None)
        try:
            self.live.set_task(self._planned(self.live.task, pose))
        except InvalidInputError as error:
            self._infeasible = error
            raise
        self._publish_task()

    def _planned(self, task: Task, pose: pin.SE3) -> Task:
        """A task with the hit that has its wanted result, if it has any, the object at this pose of the task's frame.

        Raises:
            InvalidInputError: The result is infeasible there.
        """
        if task.result is None:
            return task
        placed = replace(task, object=task.object.placed(pose))
        plan = plan_hit(placed, task.result, robots=[arm.robot for arm in self.arms])
        if plan.reason:
            raise InvalidInputError("result", task.result.kind, f"one that is feasible: {plan.reason}")
        self.get_logger().info(f"planned a hit, whose result is within its tolerance with {plan.probability:.2f}")
        return plan.task

    def no_motion(self) -> str:
        """Why no motion may begin towards the object."""
        if not self._started or self._bases.problem:
            return self._bases.problem
        if self.live.task.result is not None:
            return "the hit for the wanted result is planned when the object's pose is known"
        return self.object_poses.refusal() if self._settings.use_object_pose else ""

    def _publish_object(self, seen: ObjectPose) -> None:
        """Where the object is in the frame of each arm's base; to who pushes it, where it was seen in the task's."""
        for arm, publisher in zip(self.arms, self._object_publishers, strict=False):
            publisher.publish(pose_message(arm.robot.base_frame, seen.time, arm.base.actInv(seen.pose)))
        raw = self.object_poses.seen
        if self._sight is not None and self._settings.use_object_pose and raw is not None and raw.time:
            self._sight.publish(pose_message(self.live.field.frame, raw.time, raw.pose))

    def _refuse(self, reason: str, what: str) -> None:
        self._refused[reason] += 1
        self.get_logger().warning(f"refused {what}", throttle_duration_sec=2.0)

    def _on_impact(self, index: int, message: ImpactEvent) -> None:
        if message.kind != CONTACT_MADE or self.live.has_hit(index):
            return
        event = event_from_message(message)
        try:
            taken = self.live.take_impact(index, event, message.joint_names, message.sequence, message.arm)
        except ImpactAwareError as error:
            self._refuse("impact not usable", f"an impact: {error}")
            return
        if not taken:
            self.get_logger().info(
                "left out an impact: the tool is farther than impact_lead before the object", throttle_duration_sec=2.0
            )
            return
        self._time = stamp_seconds(message)
        self._publish()
        self._publish_common_impact()

    def _publish_common_impact(self) -> None:
        if self._common_publisher is None:
            return
        try:
            for impact in self.live.common_impact():
                self._common_publisher.publish(impact_to_message(impact, ROS))
        except ImpactAwareError as error:
            self.get_logger().warning(f"no prediction of the common impact: {error}")

    def _on_prediction(self, index: int, message: ImpactPrediction) -> None:
        try:
            if self.live.take_prediction(index, impact_from_message(message)):
                self._publish()
        except ImpactAwareError as error:
            self._refuse("prediction implausible", f"a prediction: {error}")

    def _on_set_task(self, request: SetTask.Request, response: SetTask.Response) -> SetTask.Response:
        try:
            self._moving.check(time.monotonic())
            task = self._bases.placed(self._load(self._requested_task(request), _changes(request)))
            if request.has_impact_speed:
                task = task.with_impact_speed(request.impact_speed)
            seen = self.object_poses.seen if self._settings.use_object_pose else None
            if seen is not None or not self._settings.use_object_pose:
                own = pin.SE3(task.object.rotation, np.array(task.object.position))
                task = self._planned(task, own if seen is None else seen.pose)
            self.live.set_task(task)
            self.object_poses.shape = task.object.solid
        except ImpactAwareError as error:
            self._refused[REQUEST] += 1
            response.message = str(error)
        else:
            self._publish_task()
            response.success = True
        if self._started:
            response.field = self._message()
        return response

    def _requested_task(self, request: SetTask.Request) -> str:
        """Name of the requested task: one of the package's, or the node's own; a request opens no other file."""
        name, known = request.task or self._settings.task, (*task_names(), self._settings.task)
        if name not in known:
            raise UnknownNameError("task", name, tuple(dict.fromkeys(known)))
        return name


def _changes(request: SetTask.Request) -> dict[str, Any]:
    """The entries of the task file that a request replaces."""
    changes: dict[str, Any] = {}
    if request.yaml:
        if len(request.yaml) > LARGEST_YAML:
            raise InvalidInputError("yaml", f"{len(request.yaml)} characters", f"{LARGEST_YAML} at most")
        changes = read_yaml_mapping("yaml", repr(request.yaml[:40]), request.yaml)
    others = changes.get("objects")
    for entry in (changes.get("object"), *(others if isinstance(others, list) else ())):
        if isinstance(entry, dict) and "mesh" in entry:
            raise InvalidInputError("yaml: mesh", entry["mesh"], "vertices in its place: a request opens no file")
    if request.has_object:
        _object_of(changes).update(object_entries(request.object))
    if len(request.arms):
        changes["arms"] = arms_entries(request.arms)
    if request.has_object_position:
        _object_of(changes)["position"] = vector(request.object_position).tolist()
    if request.has_object_mass:
        _object_of(changes)["mass"] = request.object_mass
    if request.has_goal:
        changes["goal"] = vector(request.goal).tolist()
    return changes


def _object_of(changes: dict[str, Any]) -> dict[str, Any]:
    """The entry `object`, into which further changes go."""
    entry = changes.setdefault("object", {})
    if not isinstance(entry, dict):
        raise InvalidInputError("yaml: object", repr(entry), "a mapping of names to values")
    return entry


main = partial(run_node, ReferenceFieldNode)
