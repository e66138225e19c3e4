"""Random simultaneous impacts of arms, a free object and fixed surfaces: the laws that every answer has to keep."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import FreeObject
from impact_aware.experiments.validation.check import Check, Source, ValidationContext
from impact_aware.impact.bodies import ArmState, BodyContact
from impact_aware.impact.cone_complementarity import SOLVED
from impact_aware.impact.simultaneous import SimultaneousPrediction, predict_simultaneous
from impact_aware.robot import RobotModel

_LAWS = Source(
    "aim of this package",
    "aim",
    "Boxes of 1 g to 10 kg with 2 to 12 contacts with up to two arms and fixed surfaces, in any faces, friction and "
    "restitution 0 to 1, alike in half of the cases: more than any task has, jammed boxes among them.",
)


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


def simultaneous(context: ValidationContext) -> list[Check]:
    """Energy, cones and approach of random simultaneous impacts in two frames, and how many were solved."""
    robot, generator = RobotModel.from_profile("panda"), np.random.default_rng(context.seed)
    kept: list[Violations] = []
    approach, solved, largest, change = 0.0, 0, 0.0, 0.0
    for _ in context.count(context.trials):
        impact = random_impact(robot, generator)
        found = predict_simultaneous(**impact._asdict(), search=False)
        kept.append(violations(impact, found))
        largest = max(largest, found.residual)
        if found.residual < SOLVED:
            solved += 1
            approach = max(approach, kept[-1].approach)
        rotation = random_rotation(generator)
        other = predict_simultaneous(**turned(impact, rotation)._asdict(), search=False)
        if found.unique and other.unique:
            difference = np.abs(other.contact_velocity_after @ rotation - found.contact_velocity_after).max()
            change = max(change, float(difference / np.abs(found.contact_velocity_before).max()))
    count = f"{context.trials} impacts"
    return [
        _LAWS.at_most(f"kinetic energy gained, share of that before, {count}", 0.0, max(v.gain for v in kept), 1e-8),
        _LAWS.at_most("impulse outside its cone, share of the largest", 0.0, max(v.cone for v in kept), 1e-8),
        _LAWS.at_most("speed of approach left where solved, share of that before", 0.0, approach, 1e-8),
        _LAWS.at_most("change with the frame where unique, share of the speed before", 0.0, change, 1e-9),
        _LAWS.at_least("solved to 1e-9, % of the impacts", 99.0, 100.0 * solved / context.trials),
        _LAWS.at_most("largest residual of what stands for a solution", 0.02, largest),
    ]
