"""The reference as data: what an ante- and a post-impact field need, for one or several arms, as the message has it."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.ranges import Range
from impact_aware.reference.rotation import rotation_from_quaternion
from impact_aware.reference.velocity_fields import AnteImpactField, PostImpactField

OBJECT_SPEED = Range(-5.0, 5.0, "m/s")
"""Range of an object's velocity before the impact, along each axis."""


ANGULAR_SPEED = Range(-5.0, 5.0, "rad/s")
"""Range of a predicted velocity after an impact: a tool's about each axis, and a joint's."""


@dataclass(frozen=True, eq=False)
class ArmAfterImpact:
    """What an impact is predicted to leave an arm besides the velocity of its object; zeros where that is not known.

    Attributes:
        angular_velocity: (3,) Of the tool just after the impact, rad/s.
        null_space_velocity: Of the joint that the null-space task holds, rad/s.
    """

    angular_velocity: Array = dataclasses.field(default_factory=lambda: np.zeros(3))
    null_space_velocity: float = 0.0

    @property
    def known(self) -> bool:
        """Whether any of its velocities is known."""
        return bool(self.angular_velocity.any() or self.null_space_velocity)

    def check(self) -> None:
        """Refuse, by name, what no impact leaves.

        Raises:
            InvalidInputError: Not finite, not of its size, or out of `ANGULAR_SPEED`.
        """
        ANGULAR_SPEED.check("angular_velocity_after", _vector("angular_velocity_after", self.angular_velocity))
        ANGULAR_SPEED.check("null_space_velocity_after", self.null_space_velocity)


@dataclass(frozen=True, eq=False)
class ArmReference:
    """The part of a reference field that belongs to one arm.

    Attributes:
        arm: Name of the arm, empty when there is only one.
        tool_frame: Frame that follows the field.
        impact_position: (3,) Desired tool position at the impact, m.
        impact_velocity: (3,) Desired tool velocity at the impact, m/s.
        normal: (3,) Unit normal of the surface to be hit, from the object into the robot.
        orientation_before: (4,) Desired tool orientation up to the impact, quaternion x, y, z, w.
        orientation_after: (4,) Desired tool orientation after the impact, quaternion x, y, z, w.
        null_space_joint: Index of the joint that the null-space task holds, -1 for none.
        null_space_position: Where it is held, rad.
        feedforward_wrench: (6,) What the tool exerts on the object after the impact, N and N m.
        base_position: (3,) Of the arm's base, m.
        base_orientation: (4,) Of the arm's base, quaternion x, y, z, w; zeros where the base is not known.
        after_impact: What the impact is predicted to leave the arm.
    """

    arm: str
    tool_frame: str
    impact_position: Array
    impact_velocity: Array
    normal: Array
    orientation_before: Array
    orientation_after: Array
    null_space_joint: int
    null_space_position: float
    feedforward_wrench: Array
    base_position: Array = dataclasses.field(default_factory=lambda: np.zeros(3))
    base_orientation: Array = dataclasses.field(default_factory=lambda: np.zeros(4))
    after_impact: ArmAfterImpact = dataclasses.field(default_factory=ArmAfterImpact)

    @property
    def base_known(self) -> bool:
        """Whether the pose of the arm's base is known."""
        return bool(self.base_orientation.any())


@dataclass(frozen=True, eq=False)
class ReferenceField:
    """Ante- and post-impact velocity references as parameters (van Steen 2024, (4)-(17)), all in one base frame.

    Attributes:
        task: Name of the task.
        arms: One or two.
        alpha: Shaping of the approach, 1/s.
        ante_radius_min: Closer to the object than this: the impact velocity, m.
        ante_radius_max: Farther than this: the approach field, m.
        ante_rotation_gain: kappa_r^a, 1/s.
        start_ramp: Time over which the speed grows at the start, s.
        object_position: (3,) Estimated object centre before the impact, m.
        object_position_at_impact: (3,) Estimated object centre at the impact, m.
        object_half_extents: (3,) Of the box about it along its axes, m.
        object_velocity_after: (3,) Predicted object velocity just after the impact, m/s.
        object_velocity_predicted: False as long as there is no prediction; `object_velocity_after` is unused then.
        goal: (3,) Where the object shall end, m.
        post_gain: kappa_p^p, 1/s.
        post_radius_min: m.
        post_radius_max: m.
        post_rotation_gain: kappa_r^p, 1/s.
        object_mass: kg.
        object_friction: Between the object and what it slides on, 1.
        revision: Grows with each change.
        event_sequence: Number of the impact event that the post-impact part was updated for, 0 before.
        frame: Frame of everything here.
        task_number: Number of the task that it was made from, 0 when unknown.
        object_velocity: (3,) Of the object before the impact, m/s: all positions before it move along.
        object_shape: Name of its shape, such as `box`.
        object_vertices: (k, 3) Corners along its axes about its centre, m; none where its half extents give its shape.
        object_time: Time at which the positions before the impact hold, s; matters only where the object moves.
        object_orientation: (4,) Of the object's axes before the impact, quaternion x, y, z, w.
        ante_rotation_deceleration: Largest of the rotation during the approach, rad/s^2; 0 for any.
        post_sideways_radius: From this distance from the impact position on the prediction's part across the way to the
            goal has left the post-impact part, m; 0 keeps it as long as the rest.
        push_lever: Distance of the object's centre ahead of the point where a tip pushes it, m; 0 where it can't turn
            about that, as before a palm.
    """

    task: str
    arms: tuple[ArmReference, ...]
    alpha: float
    ante_radius_min: float
    ante_radius_max: float
    ante_rotation_gain: float
    start_ramp: float
    object_position: Array
    object_position_at_impact: Array
    object_half_extents: Array
    object_velocity_after: Array
    object_velocity_predicted: bool
    goal: Array
    post_gain: float
    post_radius_min: float
    post_radius_max: float
    post_rotation_gain: float
    object_mass: float
    object_friction: float
    revision: int = 0
    event_sequence: int = 0
    frame: str = "base"
    task_number: int = 0
    object_orientation: Array = dataclasses.field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    ante_rotation_deceleration: float = 0.0
    post_sideways_radius: float = 0.0
    push_lever: float = 0.0
    object_velocity: Array = dataclasses.field(default_factory=lambda: np.zeros(3))
    object_time: float = 0.0
    object_shape: str = "box"
    object_vertices: Array = dataclasses.field(default_factory=lambda: np.zeros((0, 3)))

    def __post_init__(self) -> None:
        """Refuse a field without arms; the fields themselves are checked when they are made."""
        if not self.arms:
            raise InvalidInputError("arms", 0, "one arm or more")
        OBJECT_SPEED.check("object_velocity", _vector("object_velocity", self.object_velocity))
        for own in self.arms:
            own.after_impact.check()
        if not math.isfinite(self.object_time):
            raise InvalidInputError("object_time", self.object_time, "a finite time, s")
        try:
            rotation_from_quaternion(self.object_orientation)
        except InvalidInputError as error:
            raise InvalidInputError(
                "object_orientation", np.asarray(self.object_orientation).tolist(), error.expected
            ) from error

    def ante_impact(self, arm: int = 0) -> AnteImpactField:
        """The ante-impact field of one arm."""
        own = self.arms[arm]
        return AnteImpactField(
            impact_position=own.impact_position,
            impact_velocity=own.impact_velocity,
            object_position=self.object_position,
            orientation=own.orientation_before,
            alpha=self.alpha,
            r_min=self.ante_radius_min,
            r_max=self.ante_radius_max,
            kappa_r=self.ante_rotation_gain,
            rotation_deceleration=self.ante_rotation_deceleration,
            start_ramp=self.start_ramp,
        )

    @functools.cached_property
    def object_moves(self) -> bool:
        """Whether the object moves before the impact."""
        return bool(self.object_velocity.any())

    def shift(self, time: float) -> Array:
        """Displacement (3,) of the object from its given position at a time, s, m."""
        return np.asarray(self.object_velocity * (time - self.object_time))

    @property
    def fastest_after(self) -> float:
        """Bound on the object's speed after an impact, m/s: (1 + e) <= 2 times that of what hits it, and its own."""
        moving = float(np.linalg.norm(self.object_velocity))
        return 2.0 * sum(float(np.linalg.norm(arm.impact_velocity)) for arm in self.arms) + moving

    def distance_ahead(self, arm: int, tool: ArrayLike, time: float) -> float:
        """How far along the normal a tool at (3,), m, is before its impact position at a time, s; negative behind."""
        own = self.arms[arm]
        away = np.asarray(tool) - own.impact_position
        return float(own.normal @ (away - self.shift(time) if self.object_moves else away))

    def advanced(self, time: float) -> ReferenceField:
        """Return the field for the position of the object at another time, s, before the impact."""
        if not self.object_moves:
            return self
        shift = self.shift(time)
        arms = tuple(dataclasses.replace(own, impact_position=own.impact_position + shift) for own in self.arms)
        return dataclasses.replace(self, arms=arms, object_position=self.object_position + shift, object_time=time)

    @property
    def object_rotation(self) -> Array:
        """(3, 3) Of the object's axes before the impact."""
        return rotation_from_quaternion(self.object_orientation)

    def post_impact(self, arm: int = 0, *, use_prediction: bool = True) -> PostImpactField:
        """The post-impact field of one arm; without its prediction it is (14) alone.

        The outer radius is at most the distance to the goal, (16); an inner radius beyond it becomes half of it.
        """
        distance = float(np.linalg.norm(np.subtract(self.goal, self.object_position_at_impact)))
        r_max = min(self.post_radius_max, max(distance, 1e-3))
        predicted = use_prediction and self.object_velocity_predicted
        return PostImpactField(
            goal=self.goal,
            object_position_at_impact=self.object_position_at_impact,
            object_velocity_after=self.object_velocity_after if predicted else None,
            orientation=self.arms[arm].orientation_after,
            kappa_p=self.post_gain,
            r_min=self.post_radius_min if self.post_radius_min < r_max else 0.5 * r_max,
            r_max=r_max,
            kappa_r=self.post_rotation_gain,
            sideways_radius=self.post_sideways_radius,
        )

    def object_position_from_tools(self, tool_positions: Array) -> Array:
        """Where the object is when the tools touch it, in the absence of vision (van Steen 2024, footnote 1).

        Along each arm's normal the object is as far from its estimated position as the tool is from its impact
        position; across it the estimate stands. Several arms are averaged.

        Args:
            tool_positions: (arms, 3) Tool positions in contact, m.

        Returns:
            (3,) Object centre, m.
        """
        shift = np.zeros(3)
        for own, tool in zip(self.arms, tool_positions, strict=True):
            shift += own.normal * float(own.normal @ (tool - own.impact_position))
        return np.asarray(self.object_position + shift / len(self.arms))

    def with_arms_after(self, arms_after: Mapping[int, ArmAfterImpact]) -> ReferenceField:
        """Return the field with the predicted state of arms after an impact, by their index.

        Raises:
            InvalidInputError: A velocity that no impact leaves an arm.
        """
        if not arms_after:
            return self
        given = enumerate(self.arms)
        arms = (dataclasses.replace(own, after_impact=arms_after.get(k, own.after_impact)) for k, own in given)
        return dataclasses.replace(self, arms=tuple(arms))

    def after_impact(
        self,
        object_position: ArrayLike,
        object_velocity: ArrayLike | None,
        *,
        event_sequence: int | None = None,
        arms_after: Mapping[int, ArmAfterImpact] | None = None,
    ) -> ReferenceField:
        """Return the reference after the impact: position of the object then, and its predicted velocity after.

        Args:
            object_position: (3,) Object centre at the impact, m.
            object_velocity: (3,) Predicted velocity just after it, m/s; None keeps what is there.
            event_sequence: Number of the impact event.
            arms_after: What else is predicted of arms, by their index; an arm that is missing keeps what is there.

        Raises:
            InvalidInputError: A value that is not finite, or what no impact leaves an arm.
        """
        position = _vector("object_position_at_impact", object_position)
        known = object_velocity is not None
        velocity = _vector("object_velocity_after", object_velocity) if known else self.object_velocity_after
        return dataclasses.replace(
            self.with_arms_after(arms_after or {}),
            object_position_at_impact=position,
            object_velocity_after=velocity,
            object_velocity_predicted=known or self.object_velocity_predicted,
            event_sequence=self.event_sequence if event_sequence is None else event_sequence,
            revision=self.revision + 1,
        )


def _vector(field: str, value: ArrayLike | None) -> Array:
    array = np.asarray(value, dtype=float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InvalidInputError(field, array.tolist(), "three finite numbers")
    return array
