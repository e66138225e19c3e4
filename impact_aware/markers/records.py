"""Impacts, events and reference fields read from messages, ROS' own or those of a recording: only attributes count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from impact_aware.arrays import Array

SOURCES = {0: "look_ahead", 1: "at_impact", 3: "estimate", 4: "plant"}
"""ImpactPrediction.SOURCE_* that are drawn; an answer to a service client concerns nobody else."""

MODES = {1: "sticks", 2: "slides", 3: "separates"}
"""ContactImpulse.MODE_*."""

UNIT_TOLERANCE = 1e-3
"""A vector whose length is this far from one is no unit vector."""

CONTACT_MADE = 0
"""ImpactEvent.KIND_CONTACT_MADE."""


@dataclass(frozen=True, eq=False)
class ContactRecord:
    """One contact of an impact; base frame.

    Attributes:
        frame: Robot frame that touches.
        obstacle: What is hit, empty when unknown.
        point: (3,) m.
        normal: (3,) Unit vector into the robot.
        impulse: (3,) On the robot, N s.
        impulse_covariance: (3, 3) (N s)^2, or None.
        velocity_before: (3,) Of the contact point relative to the obstacle, m/s.
        velocity_after: (3,) The same just after, m/s.
        friction: Coulomb's coefficient.
        restitution: 0..1.
        effective_mass: kg.
        mode: `sticks`, `slides`, `separates`, or empty when unknown.
    """

    frame: str
    obstacle: str
    point: Array
    normal: Array
    impulse: Array
    impulse_covariance: Array | None
    velocity_before: Array
    velocity_after: Array
    friction: float
    restitution: float
    effective_mass: float
    mode: str


@dataclass(frozen=True, eq=False)
class Impact:
    """What an impact does: predicted, estimated, or measured by a simulator. Arrays (n,) are in `joint_names`' order.

    Attributes:
        source: `look_ahead`, `at_impact`, `estimate` or `plant`.
        arm: Name of the arm, empty when there is only one.
        frame: The arm's base frame.
        time: Stamp, s.
        event_sequence: Number of the event it belongs to, 0 for none.
        method: Impact map.
        inertia: Inertia the impact saw.
        joint_names: (n)
        position: (n,) rad.
        velocity_before: (n,) rad/s.
        velocity_after: (n,) rad/s.
        covariance: (n, n) Of `velocity_after`, (rad/s)^2, or None.
        mode_may_change: Whether the spread reaches another contact mode.
        estimated: (n,) Velocity after from the recording, rad/s, or None.
        estimated_error: (n,) Its standard error, rad/s, or None.
        contacts: One or more.
        object: Name of the free object, empty for a fixed surface.
        object_position: (3,) m.
        object_twist_before: (6,) Linear first, m/s and rad/s.
        object_twist_after: (6,) The same just after.
        time_to_impact: s; 0 at the impact, negative when unknown.
    """

    source: str
    arm: str
    frame: str
    time: float
    event_sequence: int
    method: str
    inertia: str
    joint_names: tuple[str, ...]
    position: Array
    velocity_before: Array
    velocity_after: Array
    covariance: Array | None
    mode_may_change: bool
    estimated: Array | None
    estimated_error: Array | None
    contacts: tuple[ContactRecord, ...]
    object: str
    object_position: Array
    object_twist_before: Array
    object_twist_after: Array
    time_to_impact: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """The joint velocities after an impact as they turned out.

    Attributes:
        origin: Where they come from: `estimate`, `plant` or `first look`.
        time: Of the impact, s.
        joint_names: (n)
        velocity: (n,) rad/s.
        error: (n,) Standard error, rad/s; NaN where unknown.
    """

    origin: str
    time: float
    joint_names: tuple[str, ...]
    velocity: Array
    error: Array = field(default_factory=lambda: np.zeros(0))

    def picked(self, joint_names: Sequence[str]) -> Array | None:
        """The velocities (n,) in another joint order; None where one is missing."""
        if tuple(joint_names) == self.joint_names:
            return self.velocity
        index = {name: number for number, name in enumerate(self.joint_names)}
        if not all(name in index for name in joint_names):
            return None
        return self.velocity[[index[name] for name in joint_names]]


def impact_from_message(message: Any) -> Impact | None:
    """Read an ImpactPrediction; None where it is not valid, has no contact, answers a client, or makes no sense.

    What makes no sense is a number that is not finite, a normal that is no unit vector, or as many values as there are
    no joints: drawn, it would only hide what is wrong.
    """
    source = SOURCES.get(int(message.source))
    if source is None or not message.valid or not len(message.contacts):
        return None
    n = len(message.joint_names)
    impact = Impact(
        source=source,
        arm=message.arm,
        frame=message.header.frame_id,
        time=seconds(message.header.stamp),
        event_sequence=int(message.event_sequence),
        method=message.method,
        inertia=message.inertia,
        joint_names=tuple(message.joint_names),
        position=_array(message.position),
        velocity_before=_array(message.velocity_before),
        velocity_after=_array(message.velocity_after),
        covariance=_matrix(message.velocity_after_covariance, n),
        mode_may_change=bool(message.mode_may_change),
        estimated=_array(message.velocity_estimated) if len(message.velocity_estimated) == n > 0 else None,
        estimated_error=_array(message.velocity_estimated_error)
        if len(message.velocity_estimated_error) == n > 0
        else None,
        contacts=tuple(_contact(contact) for contact in message.contacts),
        object=message.object,
        object_position=vector(message.object_position),
        object_twist_before=_twist(message.object_twist_before),
        object_twist_after=_twist(message.object_twist_after),
        time_to_impact=float(message.time_to_impact),
    )
    return impact if _makes_sense(impact) else None


def outcome_of_impact(impact: Impact) -> Outcome | None:
    """What an estimate or a plant says about the velocity after; None for a prediction."""
    if impact.estimated is not None:
        error = impact.estimated_error if impact.estimated_error is not None else np.full(len(impact.estimated), np.nan)
        return Outcome("estimate", impact.time, impact.joint_names, impact.estimated, error)
    if impact.source == "plant" and len(impact.velocity_after):
        return Outcome("plant", impact.time, impact.joint_names, impact.velocity_after, np.zeros(len(impact.position)))
    return None


def outcome_of_event(message: Any) -> Outcome | None:
    """The first look of a detector (ImpactEvent); None where it has none."""
    velocity = _array(message.velocity_after)
    names = tuple(message.joint_names)
    if int(message.kind) != CONTACT_MADE or not len(names) == len(velocity) > 0 or not np.isfinite(velocity).all():
        return None
    return Outcome("first look", seconds(message.header.stamp), names, velocity, np.full(len(velocity), np.nan))


def seconds(stamp: Any) -> float:
    """A stamp in s."""
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def vector(value: Any) -> Array:
    """A Point or a Vector3 as (3,)."""
    return np.array([value.x, value.y, value.z], dtype=float)


def quaternion(value: Any) -> Array:
    """A Quaternion as (4,) x, y, z, w."""
    return np.array([value.x, value.y, value.z, value.w], dtype=float)


def _makes_sense(impact: Impact) -> bool:
    n = len(impact.joint_names)
    joints = (impact.position, impact.velocity_before, impact.velocity_after)
    others = (impact.object_position, impact.object_twist_before, impact.object_twist_after)
    optional = (impact.covariance, impact.estimated)
    arrays = [*joints, *others, *(values for values in optional if values is not None)]
    for contact in impact.contacts:
        if not abs(float(np.linalg.norm(contact.normal)) - 1.0) < UNIT_TOLERANCE or not contact.friction >= 0.0:
            return False
        arrays += [contact.point, contact.impulse, contact.velocity_before, contact.velocity_after]
        arrays.append(np.array([contact.friction, contact.effective_mass]))
        if contact.impulse_covariance is not None:
            arrays.append(contact.impulse_covariance)
    return all(len(values) in (0, n) for values in joints) and all(np.isfinite(values).all() for values in arrays)


def _contact(message: Any) -> ContactRecord:
    return ContactRecord(
        frame=message.frame,
        obstacle=message.obstacle,
        point=vector(message.point),
        normal=vector(message.normal),
        impulse=vector(message.impulse),
        impulse_covariance=_matrix(message.impulse_covariance, 3),
        velocity_before=vector(message.velocity_before),
        velocity_after=vector(message.velocity_after),
        friction=float(message.friction),
        restitution=float(message.restitution),
        effective_mass=float(message.effective_mass),
        mode=MODES.get(int(message.mode), ""),
    )


def _twist(message: Any) -> Array:
    return np.concatenate((vector(message.linear), vector(message.angular)))


def _array(values: Any) -> Array:
    return np.array(values, dtype=float)


def _matrix(values: Any, n: int) -> Array | None:
    return _array(values).reshape(n, n) if n and len(values) == n * n else None
