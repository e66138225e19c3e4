"""Node `reference_field`: the task as reference fields, kept in agreement with the predicted jump.

For several arms it is one field with a reference for each, whose post-impact part follows from the impact of all arms
at once. The topics of each arm are below its name then, and it is told there where the object is in its own base frame.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import yaml
from geometry_msgs.msg import PoseStamped
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from impact_aware_msgs.msg import ReferenceField as ReferenceFieldMessage
from impact_aware_msgs.srv import SetTask
from rclpy.node import Node

from impact_aware.control.safety.impact_check import check_field, check_prediction
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.messages.fields import field_to_message
from impact_aware.messages.geometry import array3, point
from impact_aware.messages.stamps import seconds
from impact_aware.nodes.arms import arms_of_task
from impact_aware.nodes.grasp_postures import GraspPostures
from impact_aware.nodes.ros.diagnostics import OK, WARN, DiagnosticsReporter, Report, refusals
from impact_aware.nodes.ros.qos import EVENT_QOS, LATCHED_EVENT_QOS
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.nodes.ros.runtime import run_node
from impact_aware.nodes.ros.surroundings import TwinWatch
from impact_aware.parameters import described
from impact_aware.reference import ReferenceField
from impact_aware.task import Task, base_placement, load_task, make_field

REQUEST = "request"
"""Reason under which requests are counted that can't be met."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    robot: str = described("panda", "robot profile of a single arm; several have those of the task")
    task: str = described("hit_and_push", "task, by name or file")
    use_object_pose: bool = described(True, "place the field where object_pose says that the object is")
    object_tolerance: float = described(0.002, "the field follows an object that moved by more than this, m", 0.0, 1.0)
    velocity_tolerance: float = described(
        0.01, "a look-ahead prediction that changes the velocity by more than this goes into the field, m/s", 0.0, 10.0
    )


class ReferenceFieldNode(Node):
    """Publishes one field, and a new revision of it whenever object or prediction change it."""

    def __init__(self) -> None:
        """Load the task and publish its field."""
        super().__init__("reference_field")
        self._settings = load_settings(self, Settings)
        self._task = load_task(self._settings.task)
        self._arms = arms_of_task(self._task, self._settings.robot)
        self._robots = [arm.robot for arm in self._arms]
        self._refused: Counter[str] = Counter()
        self._field = self._make_field(self._task, 0)
        self._postures = GraspPostures(self._task, self._arms, self._field)
        self._hit: set[int] = set()
        self._time = 0.0
        self._publisher = self.create_publisher(ReferenceFieldMessage, "reference_field", LATCHED_EVENT_QOS)
        self._object_publishers = []
        for index, arm in enumerate(self._arms):
            self.create_subscription(ImpactEvent, arm.topic("impacts"), partial(self._on_impact, index), EVENT_QOS)
            jumps = partial(self._on_prediction, index)
            self.create_subscription(ImpactPrediction, arm.topic("predicted_jumps"), jumps, EVENT_QOS)
            if self._several:
                self._object_publishers.append(self.create_publisher(PoseStamped, arm.topic("object_pose"), 10))
        self._common_publisher = (
            self.create_publisher(ImpactPrediction, "common_jumps", EVENT_QOS) if self._several else None
        )
        self.create_subscription(PoseStamped, "object_pose", self._on_object, 1)
        self.create_service(SetTask, "set_task", self._on_set_task)
        self._publish(self._with_common_impact(self._field))
        self._twins = TwinWatch(self)
        self._diagnostics = DiagnosticsReporter(self, self._status)
        self.get_logger().info(f"field for task {self._task.name}")

    def _status(self) -> Report:
        refused = self._refused.total()
        values: dict[str, object] = {"task": self._task.name, "revision": self._field.revision, "refused": refused}
        values |= refusals(self._refused)
        # Whoever asks for what can't be done is told in the answer.
        untrue = refused > self._refused[REQUEST]
        return (WARN, "refused what can't be true", values) if untrue else (OK, "field published", values)

    @property
    def _several(self) -> bool:
        return len(self._arms) > 1

    @property
    def _impact_happened(self) -> bool:
        return bool(self._hit)

    def _publish(self, field: ReferenceField) -> None:
        self._field = field
        self._publisher.publish(field_to_message(field, self._time))

    # Where the object is

    def _on_object(self, message: PoseStamped) -> None:
        self._time = seconds(message.header.stamp)
        position = array3(message.pose.position)
        if not np.isfinite(position).all():
            self._refuse("object_pose not finite", "an object_pose with a place that is not finite")
            return
        self._tell_arms(message, position)
        if self._impact_happened or not self._settings.use_object_pose:
            return
        if np.linalg.norm(position - self._field.object_position) <= self._settings.object_tolerance:
            return
        moved = dataclasses.replace(self._task.object, position=tuple(position.tolist()))
        try:
            self._replace_task(dataclasses.replace(self._task, object=moved))
        except ImpactAwareError as error:
            self._refused["object_pose makes the task impossible"] += 1
            self.get_logger().error(f"the object makes the task impossible: {error}", throttle_duration_sec=2.0)

    def _tell_arms(self, message: PoseStamped, position: np.ndarray) -> None:
        """Where the object is in the frame of each arm's base, upright as its task says."""
        for arm, publisher in zip(self._arms, self._object_publishers, strict=False):
            own = PoseStamped()
            own.header.stamp = message.header.stamp
            own.header.frame_id = arm.robot.base_frame
            own.pose.position = point(arm.base.actInv(position))
            own.pose.orientation.w = 1.0
            publisher.publish(own)

    def _replace_task(self, task: Task) -> None:
        """Take over a task for the same arms.

        Raises:
            InvalidInputError: It can't be done, or is for other arms.
        """
        self._check_arms(task)
        field = self._make_field(task, self._field.revision + 1)
        postures = GraspPostures(task, self._arms, field)
        self._task, self._postures = task, postures
        self._publish(self._with_common_impact(field))

    def _make_field(self, task: Task, revision: int) -> ReferenceField:
        """The field of a task whose impact no arm is too weak for."""
        field = make_field(task, self._robots, revision=revision)
        check_field(
            field,
            self._robots,
            bases=[arm.base for arm in self._arms] if self._several else None,
            postures=[np.array(own.posture) if own.posture else None for own in task.arms],
            friction=task.object.friction_tool,
            restitution=task.object.restitution,
        )
        return field

    def _refuse(self, reason: str, what: str) -> None:
        self._refused[reason] += 1
        self.get_logger().warning(f"refused {what}", throttle_duration_sec=2.0)

    def _check_arms(self, task: Task) -> None:
        names = [own.name for own in task.arms]
        mine = [arm.prefix for arm in self._arms]
        if len(names) != len(mine) or (self._several and names != mine):
            expected = f"a task for {', '.join(mine)}" if self._several else "a task for a single arm"
            raise InvalidInputError("task", f"{task.name} for {len(names)} arms", f"{expected}, as this node started")
        if self._several and any(
            not base_placement(own).isApprox(arm.base) for own, arm in zip(task.arms, self._arms, strict=True)
        ):
            raise InvalidInputError("base_position", task.name, "the bases where they were when this node started")

    # What the impact does

    def _on_impact(self, index: int, event: ImpactEvent) -> None:
        if event.kind != ImpactEvent.KIND_CONTACT_MADE or index in self._hit:
            return
        if self._postures.take_impact(index, event):
            first = not self._impact_happened
            self._hit.add(index)
            self._time = seconds(event.header.stamp)
            velocity = self._postures.object_velocity(self._field) if self._several else None
            self._publish(self._after_impact(velocity, event.sequence, first))
            self._tell_common_impact()
        else:
            self._refuse("impact without the joints", "an impact that lacks joints of this robot or their positions")

    def _tell_common_impact(self) -> None:
        """When all arms have hit at once: what that does to their joints, which no arm's own predictor can know."""
        if self._common_publisher is None or len(self._hit) < len(self._arms):
            return
        try:
            for jump in self._postures.common_impact(self._field):
                self._common_publisher.publish(jump)
        except ImpactAwareError as error:
            self.get_logger().warning(f"no prediction of the common impact: {error}")

    def _on_prediction(self, index: int, prediction: ImpactPrediction) -> None:
        if not prediction.valid or not prediction.object:
            return
        if self._several:
            self._look_ahead_together(index, prediction)
            return
        velocity = array3(prediction.object_twist_after.linear)
        try:
            check_prediction(self._field, velocity)
        except ImpactAwareError as error:
            self._refuse("prediction implausible", f"a prediction: {error}")
            return
        if prediction.source == ImpactPrediction.SOURCE_AT_IMPACT:
            self._predicted_at_impact(prediction, velocity)
        elif prediction.source == ImpactPrediction.SOURCE_LOOK_AHEAD and not self._impact_happened:
            self._expect(velocity)

    def _look_ahead_together(self, index: int, prediction: ImpactPrediction) -> None:
        """A single arm's prediction says in which posture it will hit; the velocity is that of the common impact."""
        look_ahead = prediction.source == ImpactPrediction.SOURCE_LOOK_AHEAD
        if look_ahead and self._postures.take(index, prediction.joint_names, prediction.position):
            if not self._impact_happened:
                self._expect(self._postures.object_velocity(self._field))

    def _predicted_at_impact(self, prediction: ImpactPrediction, velocity: np.ndarray) -> None:
        if self._impact_happened and prediction.event_sequence != self._field.event_sequence:
            return
        first = not self._impact_happened
        self._hit.add(0)
        if self._postures.take(0, prediction.joint_names, prediction.position):
            self._publish(self._after_impact(velocity, prediction.event_sequence, first))

    def _expect(self, velocity: np.ndarray) -> None:
        """Take a velocity that is expected after the impact to come into the field if it makes a difference."""
        change = np.linalg.norm(velocity - self._field.object_velocity_after)
        if change > self._settings.velocity_tolerance or not self._field.object_velocity_predicted:
            self._publish(
                dataclasses.replace(
                    self._field,
                    object_velocity_after=velocity,
                    object_velocity_predicted=True,
                    revision=self._field.revision + 1,
                )
            )

    def _after_impact(self, velocity: np.ndarray | None, sequence: int, first: bool) -> ReferenceField:
        """The field with its post-impact part from now; where the object was hit first stays."""
        field = self._field
        centre = (
            self._postures.object_position(field) if first or not self._several else field.object_position_at_impact
        )
        return field.after_impact(centre, velocity, event_sequence=sequence)

    def _with_common_impact(self, field: ReferenceField) -> ReferenceField:
        """Of several arms, the impact of all at once in their intended postures is known from the task."""
        if not self._several:
            return field
        velocity = self._postures.object_velocity(field)
        return dataclasses.replace(field, object_velocity_after=velocity, object_velocity_predicted=True)

    def _on_set_task(self, request: SetTask.Request, response: SetTask.Response) -> SetTask.Response:
        try:
            task = load_task(request.task or self._settings.task, _changes(request))
            if len(request.impact_speed):
                task = task.with_impact_speed(float(request.impact_speed[0]))
            self._replace_task(task)
        except ImpactAwareError as error:
            self._refused[REQUEST] += 1
            response.message = str(error)
        else:
            self._hit.clear()
            response.success = True
        response.field = field_to_message(self._field, self._time)
        return response


def _changes(request: SetTask.Request) -> dict[str, Any]:
    """The entries of the task file that a request replaces."""
    changes: dict[str, Any] = {}
    if request.yaml:
        try:
            changes = yaml.safe_load(request.yaml)
        except yaml.YAMLError as error:
            raise InvalidInputError("yaml", request.yaml[:40], f"valid YAML ({str(error).splitlines()[0]})") from error
        if not isinstance(changes, dict):
            raise InvalidInputError("yaml", request.yaml[:40], "a mapping of names to values")
    single = (
        ("object_position", request.object_position),
        ("goal", request.goal),
        ("impact_speed", request.impact_speed),
        ("object_mass", request.object_mass),
    )
    for name, values in single:
        if len(values) > 1:
            raise InvalidInputError(name, f"{len(values)} entries", "none or one")
    if request.object_position:
        changes.setdefault("object", {})["position"] = array3(request.object_position[0]).tolist()
    if len(request.object_mass):
        changes.setdefault("object", {})["mass"] = float(request.object_mass[0])
    if request.goal:
        changes["goal"] = array3(request.goal[0]).tolist()
    return changes


def main() -> None:
    """Run the node."""
    sys.exit(run_node(ReferenceFieldNode))


if __name__ == "__main__":
    main()
