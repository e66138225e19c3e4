"""Node `reference_field`: the task as reference fields, kept in agreement with the predicted jump."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml
from geometry_msgs.msg import PoseStamped
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from impact_aware_msgs.msg import ReferenceField as ReferenceFieldMessage
from impact_aware_msgs.srv import SetTask
from rclpy.node import Node

from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.nodes.field_conversions import field_to_message
from impact_aware.nodes.geometry import array3
from impact_aware.nodes.qos import EVENT_QOS, LATCHED_EVENT_QOS
from impact_aware.nodes.ros_parameters import load_settings
from impact_aware.nodes.runtime import run_node
from impact_aware.nodes.stamps import seconds
from impact_aware.parameters import described
from impact_aware.reference import ReferenceField, Task, load_task, make_field
from impact_aware.robot import JointOrder, RobotModel


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    robot: str = described("panda", "robot profile, by name or file")
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
        self._robot = RobotModel.from_profile(self._settings.robot)
        self._task = load_task(self._settings.task)
        self._field = make_field(self._task, [self._robot])
        self._impact_happened = False
        self._time = 0.0
        self._publisher = self.create_publisher(ReferenceFieldMessage, "reference_field", LATCHED_EVENT_QOS)
        self.create_subscription(ImpactEvent, "impacts", self._on_impact, EVENT_QOS)
        self.create_subscription(ImpactPrediction, "predicted_jumps", self._on_prediction, EVENT_QOS)
        self.create_subscription(PoseStamped, "object_pose", self._on_object, 1)
        self.create_service(SetTask, "set_task", self._on_set_task)
        self._publish(self._field)
        self.get_logger().info(f"field for task {self._task.name}")

    def _publish(self, field: ReferenceField) -> None:
        self._field = field
        self._publisher.publish(field_to_message(field, self._time))

    def _on_object(self, message: PoseStamped) -> None:
        self._time = seconds(message.header.stamp)
        if self._impact_happened or not self._settings.use_object_pose:
            return
        position = array3(message.pose.position)
        if np.linalg.norm(position - self._field.object_position) <= self._settings.object_tolerance:
            return
        moved = dataclasses.replace(self._task.object, position=tuple(position.tolist()))
        self._replace_task(dataclasses.replace(self._task, object=moved), "the object")

    def _replace_task(self, task: Task, what: str) -> None:
        try:
            field = make_field(task, [self._robot], revision=self._field.revision + 1)
        except ImpactAwareError as error:
            self.get_logger().error(f"{what} makes the task impossible: {error}", throttle_duration_sec=2.0)
            return
        self._task = task
        self._publish(field)

    def _on_impact(self, event: ImpactEvent) -> None:
        if self._impact_happened or event.kind != ImpactEvent.KIND_CONTACT_MADE:
            return
        position = np.zeros(self._robot.n)
        order = JointOrder(self._robot.joint_names)
        if order.locate(event.joint_names) and order.pick(event.position, position):
            self._impact_happened = True
            self._time = seconds(event.header.stamp)
            self._publish(self._at_impact(position, None, event.sequence))

    def _on_prediction(self, prediction: ImpactPrediction) -> None:
        if not prediction.valid or not prediction.object:
            return
        velocity = array3(prediction.object_twist_after.linear)
        if prediction.source == ImpactPrediction.SOURCE_AT_IMPACT:
            if not self._impact_happened or prediction.event_sequence == self._field.event_sequence:
                self._impact_happened = True
                self._publish(self._at_impact(np.array(prediction.position), velocity, prediction.event_sequence))
        elif prediction.source == ImpactPrediction.SOURCE_LOOK_AHEAD and not self._impact_happened:
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

    def _at_impact(self, joint_position: np.ndarray, velocity: np.ndarray | None, sequence: int) -> ReferenceField:
        tool = self._robot.placement(joint_position).translation
        centre = self._field.object_position_from_tools(tool[np.newaxis])
        return self._field.after_impact(centre, velocity, event_sequence=sequence)

    def _on_set_task(self, request: SetTask.Request, response: SetTask.Response) -> SetTask.Response:
        try:
            task = load_task(request.task or self._settings.task, _changes(request))
            if len(request.impact_speed):
                task = task.with_impact_speed(float(request.impact_speed[0]))
            field = make_field(task, [self._robot], revision=self._field.revision + 1)
        except ImpactAwareError as error:
            response.message = str(error)
        else:
            self._task = task
            self._impact_happened = False
            self._publish(field)
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
