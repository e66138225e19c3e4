"""An impact as it is published: predicted before or at the impact, estimated after it, or measured by a simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from impact_aware.arrays import Array

UNIT_TOLERANCE = 1e-3
"""Largest difference of a unit vector's length from one."""

COMMON = "simultaneous"
"""Method of a prediction of several arms that hit one object at once; a prediction of one arm leaves out the others."""

HIT, PALM = "hit", "palm"
"""Methods of a prediction of one arm's round tip, or of all corners of its palm, with the table under the object."""

DRAWN = ("look_ahead", "at_impact", "estimate", "plant")
"""Sources of an impact that is shown; an answer of the service goes to its client only."""


def _zeros(size: int) -> Any:
    """A field whose default is one frozen array for all."""
    shared = np.zeros(size)
    shared.setflags(write=False)
    return field(default_factory=lambda: shared)


@dataclass(frozen=True, eq=False, kw_only=True)
class ContactImpulse:
    """One contact of an impact, in the arm's base frame; mirrors the message `ContactImpulse`.

    Attributes:
        frame: Robot frame that touches.
        obstacle: What is hit, empty when unknown.
        point: (3,) m.
        normal: (3,) Unit vector into the robot.
        impulse: (3,) On the robot, N s.
        impulse_covariance: (3, 3) (N s)^2, or None.
        velocity_before: (3,) Of the contact point relative to the obstacle, m/s.
        velocity_after: (3,) Of the contact point relative to the obstacle just after, m/s.
        friction: Coulomb's coefficient.
        restitution: 0..1.
        effective_mass: kg.
        mode: `stick`, `slide`, `separate`, or empty when unknown.
    """

    frame: str = ""
    obstacle: str = ""
    point: Array = _zeros(3)
    normal: Array = _zeros(3)
    impulse: Array = _zeros(3)
    impulse_covariance: Array | None = None
    velocity_before: Array = _zeros(3)
    velocity_after: Array = _zeros(3)
    friction: float = 0.0
    restitution: float = 0.0
    effective_mass: float = 0.0
    mode: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Impact:
    """What an impact does to one arm, and to the object it hits; mirrors the message `ImpactPrediction`.

    Arrays (n,) are in the order of `joint_names`, or empty. Vectors of three are in the arm's base frame.

    Attributes:
        source: `look_ahead`, `at_impact`, `service`, `estimate` or `plant`.
        arm: Name of the arm, empty when there is only one.
        frame: The arm's base frame.
        time: Stamp of the state it starts from, s.
        event_sequence: Number of the event it belongs to, 0 for none.
        task_number: Number of the task that the predictor followed, 0 when it follows none.
        method: Impact map.
        inertia: Inertia the impact saw.
        joint_names: (n,)
        position: (n,) At the impact, rad.
        velocity_before: (n,) rad/s.
        velocity_after: (n,) rad/s.
        covariance: (n, n) Of `velocity_after`, (rad/s)^2, or None.
        mode_may_change: Whether the spread reaches another contact mode.
        estimated: (n,) Velocity after from the recording, rad/s, or None.
        estimated_error: (n,) Its standard error, rad/s, or None.
        contacts: Every contact of the impact.
        object: Name of the free object, empty for a fixed surface.
        predicted_mass: Of the object in the prediction, kg; 0 where unknown, as in recordings of earlier versions.
        object_position: (3,) m.
        object_twist_before: (6,) Linear first, m/s and rad/s.
        object_twist_after: (6,) Just after, m/s and rad/s.
        energy_loss: Kinetic energy lost, J.
        unique: Whether no other velocities after obey the laws of contact, as far as they were searched for.
        other_energy_losses: Kinetic energy that each of the others loses that were found, J.
        time_to_impact: From `time`, s; 0 at the impact, negative when unknown.
        valid: Whether anything was predicted.
        reason: Why not, when not.
    """

    source: str
    time: float
    arm: str = ""
    frame: str = ""
    event_sequence: int = 0
    task_number: int = 0
    method: str = ""
    inertia: str = ""
    joint_names: tuple[str, ...] = ()
    position: Array = _zeros(0)
    velocity_before: Array = _zeros(0)
    velocity_after: Array = _zeros(0)
    covariance: Array | None = None
    mode_may_change: bool = False
    estimated: Array | None = None
    estimated_error: Array | None = None
    contacts: tuple[ContactImpulse, ...] = ()
    object: str = ""
    predicted_mass: float = 0.0
    object_position: Array = _zeros(3)
    object_twist_before: Array = _zeros(6)
    object_twist_after: Array = _zeros(6)
    energy_loss: float = 0.0
    unique: bool = True
    other_energy_losses: tuple[float, ...] = ()
    time_to_impact: float = 0.0
    valid: bool = True
    reason: str = ""

    @property
    def outcome(self) -> Outcome | None:
        """Velocity after as estimated, or as a plant simulated it; None for a prediction alone."""
        if self.estimated is not None:
            error = np.full(len(self.estimated), np.nan) if self.estimated_error is None else self.estimated_error
            return Outcome("estimate", self.time, self.joint_names, self.estimated, error)
        if self.source == "plant" and len(self.velocity_after):
            return Outcome("plant", self.time, self.joint_names, self.velocity_after, np.zeros(len(self.position)))
        return None

    @property
    def object_mass(self) -> float | None:
        """Mass of the free object, kg: predicted with, else from the momentum, which a surface or a table may share."""
        if self.object and self.predicted_mass > 0.0:
            return self.predicted_mass
        if not self.object or self.method in (HIT, PALM):
            return None
        change = self.object_twist_after[:3] - self.object_twist_before[:3]
        taken_up = -sum((contact.impulse for contact in self.contacts), np.zeros(3))
        speed = float(change @ change)
        mass = float(taken_up @ change) / speed if speed > 0.0 else 0.0
        return mass if mass > 0.0 else None

    @property
    def plausible(self) -> bool:
        """Whether it can be drawn: finite numbers, unit normals, and as many values as joints, or none."""
        n = len(self.joint_names)
        joints = (self.position, self.velocity_before, self.velocity_after)
        optional = (self.covariance, self.estimated)
        arrays = [*joints, self.object_position, self.object_twist_before, self.object_twist_after]
        arrays += [values for values in optional if values is not None]
        for contact in self.contacts:
            if not abs(float(np.linalg.norm(contact.normal)) - 1.0) < UNIT_TOLERANCE or not contact.friction >= 0.0:
                return False
            arrays += [contact.point, contact.impulse, contact.velocity_before, contact.velocity_after]
            arrays.append(np.array([contact.friction, contact.effective_mass]))
            if contact.impulse_covariance is not None:
                arrays.append(contact.impulse_covariance)
        return all(len(values) in (0, n) for values in joints) and all(np.isfinite(values).all() for values in arrays)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The joint velocities after an impact as observed.

    Attributes:
        origin: Where they come from: `estimate`, `plant` or `first look`.
        time: Of the impact, s.
        joint_names: (n,)
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
