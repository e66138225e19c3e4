"""The states in which several arms meet the object, and what their common impact does to it and to them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from impact_aware.arrays import Array
from impact_aware.impact.palm import summed_contact
from impact_aware.impact.simultaneous import SimultaneousPrediction
from impact_aware.records import ImpactEvent
from impact_aware.records.impact import COMMON, ContactImpulse, Impact
from impact_aware.reference import ReferenceField
from impact_aware.robot import JointOrder
from impact_aware.task.arms import Arm
from impact_aware.task.grasp import COMMON_WINDOW, predict_grasp, predict_grasp_impact
from impact_aware.task.last_touch import StateBefore, Touch, Touches
from impact_aware.task.make_field import posture_with_tool_at, usual_posture
from impact_aware.task.task import Task

POSTURE_TOLERANCE = 0.005
"""Postures that changed by less than this, rad, leave the object with the same velocity: it changes by some mm/s."""


class GraspPostures:
    """Keeps one posture per arm: the intended one until something newer is known."""

    def __init__(
        self, task: Task, arms: Sequence[Arm], field: ReferenceField, state_before: StateBefore | None = None
    ) -> None:
        """Begin with the postures that have the tools at their impact positions.

        `state_before` returns an arm's state before another arm touched, where it is known.

        Raises:
            InvalidInputError: A position out of reach.
        """
        self._task = task
        self._arms = tuple(arms)
        self._postures = [
            posture_with_tool_at(own, arm.robot, reference.impact_position, usual_posture(own, arm.robot))
            for own, arm, reference in zip(task.arms, arms, field.arms, strict=True)
        ]
        self._events: dict[int, tuple[float, int, Array]] = {}
        self._touches = Touches(state_before)
        self._foreseen: tuple[Array, Array] | None = None

    def take(self, index: int, joint_names: Sequence[str], position: Array) -> bool:
        """Take over the posture of an arm; False when it lacks a joint."""
        posture = self.posture(index, joint_names, position)
        if posture is None:
            return False
        self._postures[index] = posture
        return True

    def posture(self, index: int, joint_names: Sequence[str], position: Array) -> Array | None:
        """Joint positions (n,), rad, or velocities, of an arm in its own order; None when a joint lacks."""
        robot = self._arms[index].robot
        posture, order = np.zeros(robot.n), JointOrder(robot.joint_names)
        known = order.locate(joint_names) and order.pick(position, posture)
        return posture if known else None

    def tool(self, index: int, posture: Array) -> Array:
        """Where (3,) the tool of an arm is in a posture (n,), m."""
        arm = self._arms[index]
        return np.asarray(arm.base.act(arm.robot.placement(posture).translation))

    def take_impact(self, index: int, event: ImpactEvent, joint_names: Sequence[str], sequence: int) -> bool:
        """Take over the state just before an arm's impact; False when the event lacks the posture of a joint."""
        if not self.take(index, joint_names, event.position):
            return False
        self._foreseen = None
        velocity = self.posture(index, joint_names, event.velocity_before)
        if velocity is not None:
            self._events[index] = (event.time, sequence, velocity)
            self._touches.take(index, Touch(event.time, self._postures[index], velocity))
        return True

    def common_impact(self, field: ReferenceField) -> list[Impact]:
        """What the impact of all arms at once does to each of them; empty unless all have hit at nearly the same time.

        Raises:
            ImpactAwareError: The impact map found no solution.
        """
        if len(self._events) < len(self._arms):
            return []
        times = [self._events[index][0] for index in range(len(self._arms))]
        if max(times) - min(times) > COMMON_WINDOW:
            return []
        velocities = [self._events[index][2] for index in range(len(self._arms))]
        robots = [arm.robot for arm in self._arms]
        field = field.advanced(max(times))
        prediction = predict_grasp_impact(self._task, robots, field, self._postures, velocities, times=times)
        centre = self.object_position(field)
        return [self._impact(index, prediction, centre) for index in range(len(self._arms))]

    def _impact(self, index: int, prediction: SimultaneousPrediction, centre: Array) -> Impact:
        arm, name = self._arms[index], self._task.object.name
        time, sequence, before = self._events[index]
        return Impact(
            source="at_impact",
            arm=arm.name,
            frame=arm.robot.base_frame,
            time=time,
            event_sequence=sequence,
            method=COMMON,
            joint_names=arm.robot.joint_names,
            position=self._postures[index],
            velocity_before=before,
            velocity_after=prediction.velocity_after[arm.name],
            contacts=(palm_contact(arm, name, prediction),),
            object=name,
            object_position=arm.base.actInv(centre),
            object_twist_after=arm.twist_in_base(prediction.velocity_after[name]),
            energy_loss=prediction.energy_loss,
            unique=prediction.unique,
        )

    def object_velocity(self, field: ReferenceField) -> Array:
        """Velocity (3,) of the object just after all arms hit it, at once in these postures while not all have, m/s.

        `field` is the one that these postures began with, or as it is at another time.

        Raises:
            ImpactAwareError: The impact map found no solution.
        """
        robots = [arm.robot for arm in self._arms]
        last = self._touches.last_touch(self._task, robots, field)
        if last is not None:
            return last.object_velocity
        postures = np.concatenate(self._postures)
        foreseen = self._foreseen
        if foreseen is None or field.object_moves or np.abs(postures - foreseen[0]).max() > POSTURE_TOLERANCE:
            self._foreseen = foreseen = postures, predict_grasp(self._task, robots, field, postures)
        return foreseen[1]

    def object_position(self, field: ReferenceField) -> Array:
        """Centre (3,) of the object that the tools touch in these postures, m."""
        tools = [self.tool(index, posture) for index, posture in enumerate(self._postures)]
        return field.object_position_from_tools(np.array(tools))


def palm_contact(arm: Arm, object_name: str, prediction: SimultaneousPrediction) -> ContactImpulse:
    """The contacts of one tool as one, base frame of the arm."""
    summed, to_base = summed_contact(prediction, arm.name), arm.base.rotation.T
    return dataclasses.replace(
        summed,
        frame=arm.robot.tool_frame,
        obstacle=object_name,
        point=arm.base.actInv(summed.point),
        normal=to_base @ summed.normal,
        impulse=to_base @ summed.impulse,
        velocity_before=to_base @ summed.velocity_before,
        velocity_after=to_base @ summed.velocity_after,
    )
