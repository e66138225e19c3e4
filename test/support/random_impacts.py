"""Random simultaneous impacts of arms, a free object and fixed surfaces: the laws that every answer has to keep."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import FreeObject
from impact_aware.impact.bodies import ArmState, BodyContact
from impact_aware.impact.simultaneous import SimultaneousPrediction
from impact_aware.robot import RobotModel


class DrawnImpact(NamedTuple):
    """A drawn impact."""

    contacts: list[BodyContact]
    arms: dict[str, ArmState]
    objects: dict[str, FreeObject]


def random_impact(robot: RobotModel, generator: np.random.Generator) -> DrawnImpact:
    """A box at the origin that is touched all around."""
    mass, half = 10.0 ** generator.uniform(-3.0, 1.0), generator.uniform(0.01, 0.15, 3)
    inertia = mass / 3.0 * np.diag((half**2).sum() - half**2)
    twist = generator.normal(size=6) * np.repeat([0.3, 1.0], 3)
    box = FreeObject(mass=mass, inertia=inertia, position=np.zeros(3), twist=twist)
    count, alike = int(generator.integers(0, 3)), bool(generator.random() < 0.5)
    shared = generator.uniform(0.0, 1.0, 2)
    contacts: list[BodyContact] = []
    arms: dict[str, ArmState] = {}
    for _ in range(int(generator.integers(2, 13))):
        axis, side = int(generator.integers(3)), float(generator.choice([-1.0, 1.0]))
        point, normal = generator.uniform(-1.0, 1.0, 3) * half, np.zeros(3)
        point[axis], normal[axis] = side * half[axis], side
        friction, restitution = shared if alike else generator.uniform(0.0, 1.0, 2)
        toucher = int(generator.integers(count + 1))
        if toucher == count:
            contacts.append(BodyContact("box", -normal, point, friction=friction, restitution=restitution))
            continue
        name = f"arm{toucher}"
        if name not in arms:
            arms[name] = _arm_at(robot, generator, point)
        contacts.append(BodyContact(name, normal, point, "box", friction=friction, restitution=restitution))
    return DrawnImpact(contacts, arms, {"box": box})


def _arm_at(robot: RobotModel, generator: np.random.Generator, point: Array) -> ArmState:
    """An arm in a random posture, mounted anyhow, whose tool is at a point."""
    q, dq = robot.home + generator.uniform(-0.6, 0.6, robot.n), generator.normal(0.0, 0.5, robot.n)
    rotation = random_rotation(generator)
    return ArmState(robot, q, dq, rotation, point - rotation @ robot.placement(q).translation)


def random_rotation(generator: np.random.Generator) -> Array:
    """Draw a rotation matrix (3, 3)."""
    rotation = np.linalg.qr(generator.normal(size=(3, 3)))[0]
    return np.asarray(rotation * np.sign(np.linalg.det(rotation)))


def turned(impact: DrawnImpact, rotation: Array) -> DrawnImpact:
    """The impact in another frame, into which a rotation (3, 3) leads."""

    def there(contact: BodyContact) -> BodyContact:
        return replace(contact, normal=rotation @ contact.normal, point=rotation @ contact.point)

    arms = {
        name: replace(arm, rotation=rotation @ arm.rotation, position=rotation @ arm.position)
        for name, arm in impact.arms.items()
    }
    objects = {}
    for name, thing in impact.objects.items():
        inertia, twist = rotation @ thing.inertia @ rotation.T, np.kron(np.eye(2), rotation) @ thing.twist
        objects[name] = FreeObject(thing.mass, inertia, rotation @ thing.position, twist)
    return DrawnImpact([there(contact) for contact in impact.contacts], arms, objects)


class Violations(NamedTuple):
    """Violations of the laws, relative to the size of the impact; none above 0 when the laws hold.

    Attributes:
        gain: Of kinetic energy, over that before.
        cone: Impulse outside the cone or pulling, over the largest impulse.
        approach: Largest speed of approach left, over the largest speed before.
    """

    gain: float
    cone: float
    approach: float


def violations(impact: DrawnImpact, found: SimultaneousPrediction) -> Violations:
    """Hold an answer against the laws."""
    energy = 0.0
    for arm in impact.arms.values():
        energy += 0.5 * float(arm.dq @ arm.robot.mass_matrix(arm.q, "M+B_theta") @ arm.dq)
    for thing in impact.objects.values():
        energy += 0.5 * float(thing.twist @ np.linalg.solve(thing.inverse_inertia, thing.twist))
    normals = np.array([contact.normal for contact in impact.contacts])
    friction = np.array([contact.friction for contact in impact.contacts])
    pushes = (found.impulse * normals).sum(axis=1)
    across = np.linalg.norm(found.impulse - pushes[:, None] * normals, axis=1)
    largest = float(np.abs(found.impulse).max()) or 1.0
    outside = float(max((across - friction * pushes).max(), -pushes.min(), 0.0))
    leaving = (found.contact_velocity_after * normals).sum(axis=1)
    speed = float(np.abs(found.contact_velocity_before).max())
    return Violations(max(-found.energy_loss, 0.0) / energy, outside / largest, max(-float(leaving.min()), 0.0) / speed)
