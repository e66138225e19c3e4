"""The states in which several arms meet the object, and what their common impact does to it and to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction

from impact_aware.arrays import Array
from impact_aware.impact.simultaneous import SimultaneousPrediction
from impact_aware.messages.geometry import twist
from impact_aware.messages.stamps import seconds
from impact_aware.nodes.arms import Arm
from impact_aware.reference import ReferenceField
from impact_aware.robot import JointOrder
from impact_aware.task import Task, start_posture
from impact_aware.task.grasp import predict_grasp, predict_grasp_impact

COMMON_WINDOW = 0.005
"""Impacts of the arms within this time are one impact of all, s: a compliant palm takes that long to come to rest."""


class GraspPostures:
    """Keeps one posture per arm: the intended one until something newer is known."""

    def __init__(self, task: Task, arms: Sequence[Arm], field: ReferenceField) -> None:
        """Begin with the postures that have the tools at their impact places.

        Raises:
            InvalidInputError: A place out of reach.
        """
        self._task = task
        self._arms = tuple(arms)
        self._postures = [
            start_posture(own, arm.robot, reference.impact_position)
            for own, arm, reference in zip(task.arms, arms, field.arms, strict=True)
        ]
        self._events: dict[int, tuple[ImpactEvent, Array]] = {}

    def take(self, index: int, joint_names: Sequence[str], position: Sequence[float]) -> bool:
        """Take over the posture of an arm from a message; False when it lacks a joint."""
        robot = self._arms[index].robot
        posture, order = np.zeros(robot.n), JointOrder(robot.joint_names)
        if not (order.locate(joint_names) and order.pick(position, posture)):
            return False
        self._postures[index] = posture
        return True

    def take_impact(self, index: int, event: ImpactEvent) -> bool:
        """Take over the state just before an arm's impact; False when the event lacks the posture of a joint."""
        if not self.take(index, event.joint_names, event.position):
            return False
        robot = self._arms[index].robot
        velocity, order = np.zeros(robot.n), JointOrder(robot.joint_names)
        if order.locate(event.joint_names) and order.pick(event.velocity_before, velocity):
            self._events[index] = (event, velocity)
        return True

    def common_impact(self, field: ReferenceField) -> list[ImpactPrediction]:
        """What the impact of all arms at once does to each of them; empty unless all have hit at nearly the same time.

        Raises:
            ImpactAwareError: The impact map found no solution.
        """
        times = [seconds(event.header.stamp) for event, _ in self._events.values()]
        if len(times) < len(self._arms) or max(times) - min(times) > COMMON_WINDOW:
            return []
        velocities = [self._events[index][1] for index in range(len(self._arms))]
        robots = [arm.robot for arm in self._arms]
        prediction = predict_grasp_impact(self._task, robots, field, self._postures, velocities)
        return [self._message(index, prediction) for index in range(len(self._arms))]

    def _message(self, index: int, prediction: SimultaneousPrediction) -> ImpactPrediction:
        arm, thing = self._arms[index], self._task.object.name
        event, before = self._events[index]
        message = ImpactPrediction(source=ImpactPrediction.SOURCE_AT_IMPACT, arm=arm.name, method="simultaneous")
        message.header = event.header
        message.event_sequence = event.sequence
        message.joint_names = list(arm.robot.joint_names)
        message.position, message.velocity_before = self._postures[index], before
        message.velocity_after = prediction.velocity_after[arm.name]
        after = prediction.velocity_after[thing]
        message.object = thing
        message.object_twist_after = twist((*arm.turned(after[:3]), *arm.turned(after[3:])))
        message.energy_loss = float(prediction.energy_loss)
        message.valid = True
        return message

    def object_velocity(self, field: ReferenceField) -> Array:
        """Velocity (3,) of the object just after all arms hit it at once in these postures, m/s."""
        robots = [arm.robot for arm in self._arms]
        return predict_grasp(self._task, robots, field, np.concatenate(self._postures))

    def object_position(self, field: ReferenceField) -> Array:
        """Centre (3,) of the object that the tools touch in these postures, m."""
        tools = [
            arm.base.act(arm.robot.placement(posture).translation)
            for arm, posture in zip(self._arms, self._postures, strict=True)
        ]
        return field.object_position_from_tools(np.array(tools))
