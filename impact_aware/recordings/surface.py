"""Where the contact normal of a recorded impact comes from, and what an impulse the jump itself shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, unit_vector, vector
from impact_aware.contact.options import ContactOptions, Vector
from impact_aware.errors import InvalidInputError
from impact_aware.impact.contact_space import ContactSpace, ContactSpaceBuilder
from impact_aware.parameters import Options, described, from_mapping, shared
from impact_aware.resources import read_mapping
from impact_aware.robot import RobotModel


@dataclass(frozen=True, eq=False)
class Surface:
    """A plane that is hit, in the base frame, as a surface file describes it.

    Attributes:
        normal: (3,) Unit vector out of the surface.
        point: (3,) A point on it, m, or None.
        friction: Coulomb's coefficient, or None when the file does not say it.
        restitution: Coefficient of restitution, or None when the file does not say it.
    """

    normal: Array
    point: Array | None = None
    friction: float | None = None
    restitution: float | None = None


@dataclass(frozen=True, kw_only=True)
class _SurfaceFile(Options):
    """Entries of a surface file."""

    normal: Vector | None = shared(ContactOptions, "normal", None)
    point: Vector | None = described(None, "a point on the surface, m")
    friction: float | None = shared(ContactOptions, "friction", None)
    restitution: float | None = shared(ContactOptions, "restitution", None)


def load_surface(path: Path) -> Surface:
    """Read a surface file: YAML with `normal: [x, y, z]` and, if known, `point`, `friction`, `restitution`.

    Raises:
        InvalidInputError: No such file, no normal, or an entry that is not known, no number or out of range.
    """
    where = f"surface {path.name}"
    given = from_mapping(_SurfaceFile, where, read_mapping("surface", path))
    if given.normal is None:
        raise InvalidInputError("surface", str(path), "a mapping with an entry 'normal'")
    point = None if given.point is None else vector(f"{where}: point", given.point, 3)
    return Surface(unit_vector(f"{where}: normal", given.normal), point, given.friction, given.restitution)


def jump_impulse(space: ContactSpace, contact: Contact, jump: Array) -> Array:
    """Impulse (3,) at the contact that explains a joint velocity jump best, base frame, N s.

    Least squares of B dv = J' p (Rey Arias 2024, (10)) in the norm of B^-1, B being the inertia of `space`, so that
    p = (J B^-1 J')^-1 J dv: the jump of the contact point's velocity, times the mass that the arm shows there.

    Args:
        space: The impact problem at the posture.
        contact: Whose axes `space` is in.
        jump: (n,) Velocity after minus before, rad/s.
    """
    mobility = space.jacobian @ space.response
    return np.asarray(np.linalg.lstsq(mobility, space.jacobian @ jump, rcond=1e-9)[0] @ contact.axes)


def normal_from_jump(robot: RobotModel, q: Array, jump: Array, contact: Contact, inertia: str) -> Array | None:
    """Unit normal (3,) along the impulse that a jump shows; None when it shows none.

    With friction the impulse leans away from the normal by up to atan(mu), which the jump does not show.

    Args:
        robot: The arm.
        q: (n,) rad.
        jump: (n,) Velocity after minus before, rad/s.
        contact: Where it touched; its normal is only where the search begins.
        inertia: One of `INERTIA_CHOICES`.
    """
    # The contact point on a spherical tip depends on the normal; two steps are enough for a small tip.
    for _ in range(2):
        space = ContactSpaceBuilder(robot, contact, None, inertia)(q, np.zeros(robot.n))
        impulse = jump_impulse(space, contact, jump)
        length = float(np.linalg.norm(impulse))
        if not length > 1e-9:
            return None
        contact = replace(contact, normal=impulse / length)
    return contact.normal
