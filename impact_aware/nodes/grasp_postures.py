"""The postures in which several arms will meet the object, and what their common impact gives to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from impact_aware.nodes.arms import Arm
from impact_aware.reference import ReferenceField, Task, start_posture
from impact_aware.reference.grasp_prediction import predict_grasp
from impact_aware.robot import JointOrder

Array = NDArray[np.float64]


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

    def take(self, index: int, joint_names: Sequence[str], position: Sequence[float]) -> bool:
        """Take over the posture of an arm from a message; False when it lacks a joint."""
        robot = self._arms[index].robot
        posture, order = np.zeros(robot.n), JointOrder(robot.joint_names)
        if not (order.locate(joint_names) and order.pick(position, posture)):
            return False
        self._postures[index] = posture
        return True

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
