"""What the tool of one arm does to the object that it hits: a round tip or a flat palm, the table along with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject, contact_jacobian, contact_point
from impact_aware.contact.shape import PlacedShape
from impact_aware.impact.bodies import ArmState, BodyContact
from impact_aware.impact.palm import TABLE, checked_palm, moving_table, palm_contacts, summed_contact, table_contacts
from impact_aware.impact.registry import DEFAULT_METHOD
from impact_aware.impact.simultaneous import SimultaneousPrediction, predict_simultaneous
from impact_aware.records.impact import HIT, PALM
from impact_aware.robot import RobotModel

ARM, _OBJECT = "arm", "object"


class HitPrediction(NamedTuple):
    """State just after a tool's impact, named as in `ImpactPrediction`; vectors of three in the base frame.

    Attributes:
        velocity_before: (n,) rad/s.
        velocity_after: (n,) rad/s.
        mode: Of the tool as a whole, see `summed_contact`.
        impulse: (3,) On the robot, N s.
        point: (3,) Middle of what touches, m.
        contact_velocity_before: (3,) Of that point relative to the obstacle, m/s.
        contact_velocity_after: (3,) Just after, m/s.
        effective_mass: Of the robot along the normal at that point, kg.
        energy_loss: Of robot and object together, J.
        contact: The given contact, with the object's normal where it touches.
        obstacle: The free object, or None for a fixed surface.
        object_twist_after: (6,) Linear first, m/s and rad/s; None for a fixed surface.
        inertia: Which inertia was used.
        method: `palm`, or `hit` of a round tip.
        unique: Whether no other velocities obey the same laws, see `SimultaneousPrediction`.
        other_energy_losses: Of robot and object together, with each of the other velocities that a search found, J.
    """

    velocity_before: Array
    velocity_after: Array
    mode: str
    impulse: Array
    point: Array
    contact_velocity_before: Array
    contact_velocity_after: Array
    effective_mass: float
    energy_loss: float
    contact: Contact
    obstacle: FreeObject | None
    object_twist_after: Array | None
    inertia: str
    method: str
    unique: bool
    other_energy_losses: tuple[float, ...]

    @property
    def jump(self) -> Array:
        """Change of the joint velocities (n,), rad/s."""
        return self.velocity_after - self.velocity_before

    @property
    def reduced_mass(self) -> float:
        """Along the normal of robot and object together, were the object free, kg; else the effective mass."""
        if self.obstacle is None:
            return self.effective_mass
        row = self.contact.normal @ self.obstacle.jacobian(self.point)
        return 1.0 / (1.0 / self.effective_mass + float(row @ self.obstacle.inverse_inertia @ row))

    @property
    def object_twist_before(self) -> Array | None:
        """Twist of the object (6,) before, linear first, m/s and rad/s; None for a fixed surface."""
        return None if self.obstacle is None else self.obstacle.twist


def not_unique(energy_loss: float, other_energy_losses: Sequence[float]) -> str:
    """A sentence on a prediction whose velocities are not unique, from what they lose and what others lose, J."""
    ends = dict.fromkeys(f"{end(other_energy_losses):.3g}" for end in (min, max) if other_energy_losses)
    others = f"; others lose {' to '.join(ends)} J" if ends else ""
    return (
        "several velocities after obey the laws of contact: shown is the limit of contacts that yield alike, "
        f"which loses {energy_loss:.3g} J{others}"
    )


def effective_mass(robot: RobotModel, q: Array, contact: Contact, inertia: str) -> float:
    """Mass that the robot shows along the normal of a contact, kg; infinite where it can't move that way."""
    towards = contact.normal @ contact_jacobian(robot, q, contact)
    inverse = float(towards @ np.linalg.solve(robot.mass_matrix(q, inertia), towards))
    return 1.0 / inverse if inverse > 0.0 else np.inf


def predict_hit(
    robot: RobotModel,
    q: ArrayLike,
    dq: ArrayLike,
    contact: Contact,
    half_sizes: ArrayLike = (0.0, 0.0, 0.0),
    *,
    obstacle: FreeObject | None = None,
    shape: PlacedShape | None = None,
    table_friction: float | None = None,
    method: str = DEFAULT_METHOD,
    inertia: str = "M+B_theta",
    search: bool = False,
) -> HitPrediction:
    """Predict the state just after a tip, or a palm with its face, meets an object or a fixed surface.

    Args:
        robot: The arm.
        q: (n,) rad.
        dq: (n,) Just before, rad/s.
        contact: Where and how it touches; of a palm radius and points, those of a tip, are not used.
        half_sizes: (3,) Half edges of the palm along the axes of its frame, m; zeros for a tip.
        obstacle: The free object; None for a fixed surface.
        shape: Of the object; where it is not known, the palm's whole face touches it.
        table_friction: Coulomb coefficient between the object and the table that it stands on, for which its shape is
            needed; None for an object that nothing else holds.
        method: The single-contact map, one of `IMPACT_MAPS`, for a tool that touches with one point alone. Contacts
            that act on each other have one law, without friction where this is `frictionless`.
        inertia: One of `INERTIA_CHOICES`.
        search: Whether to search for other velocities that obey the laws, which takes up to tens of milliseconds.

    Raises:
        InvalidInputError: A state that is not finite, or sizes that make no palm.
    """
    half = checked_palm(half_sizes)
    arm = ArmState(robot, np.asarray(q, dtype=float), np.asarray(dq, dtype=float))
    own, others, objects = hit_contacts(arm, contact, half, obstacle, shape, table_friction)
    found = predict_simultaneous(
        own + others, arms={ARM: arm}, objects=objects, inertia=inertia, method=method, search=search
    )
    return hit_prediction(found, arm, contact, half, obstacle, inertia)


def hit_prediction(
    found: SimultaneousPrediction,
    arm: ArmState,
    contact: Contact,
    half: Array | None,
    obstacle: FreeObject | None,
    inertia: str,
) -> HitPrediction:
    """What all contacts of `hit_contacts` together do; arguments as of `predict_hit`."""
    tool = summed_contact(found, ARM)
    return HitPrediction(
        velocity_before=arm.dq,
        velocity_after=found.velocity_after[ARM],
        mode=tool.mode,
        impulse=tool.impulse,
        point=tool.point,
        contact_velocity_before=tool.velocity_before,
        contact_velocity_after=tool.velocity_after,
        effective_mass=effective_mass(arm.robot, arm.q, Contact(contact.frame, tool.normal, point=tool.point), inertia),
        energy_loss=found.energy_loss,
        contact=contact if half is None else dataclasses.replace(contact, normal=tool.normal),
        obstacle=obstacle,
        object_twist_after=None if obstacle is None else found.velocity_after[_OBJECT],
        inertia=inertia,
        method=HIT if half is None else PALM,
        unique=found.unique,
        other_energy_losses=found.other_energy_losses,
    )


def hit_contacts(
    arm: ArmState,
    contact: Contact,
    half: Array | None,
    obstacle: FreeObject | None,
    shape: PlacedShape | None,
    table_friction: float | None,
) -> tuple[list[BodyContact], list[BodyContact], dict[str, FreeObject]]:
    """Contacts of the tool, contacts of the object with its table, and objects by name; arguments as above."""
    other = None if obstacle is None else _OBJECT
    point = contact_point(arm.robot, arm.q, contact)
    tip = BodyContact(ARM, contact.normal, point, other, contact.friction, contact.restitution, contact.frame)
    own = [tip] if half is None else palm_contacts(tip, arm.robot.placement(arm.q, contact.frame), half, shape)
    others: list[BodyContact] = []
    objects = {} if obstacle is None else {_OBJECT: obstacle}
    if obstacle is not None and shape is not None and table_friction is not None:
        up, carrier = -arm.robot.model.gravity.linear, None
        if obstacle.twist[:3].any():
            # An object that moves on a table is carried by it.
            objects[TABLE], carrier = moving_table(obstacle.twist[:3]), TABLE
        others = table_contacts(_OBJECT, shape, table_friction, up, carrier)
    return own, others, objects
