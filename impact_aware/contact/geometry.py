"""Contacts and free objects: points, axes and Jacobians of what touches.

The normal points from the obstacle into the robot, so approaching means `normal @ v_contact < 0`. A contact spans its
own axes, normal first and two tangents after it, in which the impact maps work; all else is in the base frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.ranges import Range
from impact_aware.robot import RobotModel

FRICTION = Range(0.0, 1000.0)
"""Coulomb's coefficient; rubber has 1 to 2, and a thousand means that nothing ever slides."""

RESTITUTION = Range(0.0, 1.0)
"""Coefficient of restitution; more than 1 would create energy."""

RADIUS = Range(0.0, 10.0, "m")
"""Radius of a spherical tip, and half edges of a palm."""

OBJECT_MASS = Range(1e-9, 1e12, "kg")
"""Mass of a hit object; to double precision a smaller one has no effect and a larger one is a fixed surface."""


@dataclass(frozen=True, eq=False)
class Contact:
    """One point contact between a robot frame and an obstacle.

    The touched point is, in order of preference: `point` when given; the point of a sphere of radius `radius` around
    the frame's `offset` that faces the obstacle; the `offset` itself.

    Attributes:
        frame: Name of the robot frame that touches.
        normal: (3,) Unit vector from the obstacle into the robot, base frame; normalised at construction.
        offset: (3,) Position in `frame`, along its axes, m.
        point: (3,) Contact point in the base frame, m, which overrides `offset` and `radius`; or None.
        friction: Coulomb's coefficient of friction, >= 0.
        restitution: Coefficient of restitution, 0..1; which of the definitions it follows is the impact map's matter.
        radius: Radius of a spherical tip centred at `offset`, m; 0 for a bare point.
        axes: (3, 3) Rows are the normal and two tangents, base frame, right-handed; derived.
    """

    frame: str
    normal: Array
    offset: Array = field(default_factory=lambda: np.zeros(3))
    point: Array | None = None
    friction: float = 0.0
    restitution: float = 0.0
    radius: float = 0.0
    axes: Array = field(init=False)

    def __post_init__(self) -> None:
        """Check every field; raises `InvalidInputError` with the name of one that is out of range."""
        if not isinstance(self.frame, str) or not self.frame:
            raise InvalidInputError("contact frame", repr(self.frame), "the name of a robot frame")
        normal = unit_vector("normal", self.normal)
        FRICTION.check("friction", self.friction)
        RESTITUTION.check("restitution", self.restitution)
        RADIUS.check("radius", self.radius)
        axes = contact_axes(normal)
        for name, value in (
            ("normal", frozen(normal)),
            ("offset", frozen(vector("offset", self.offset, 3))),
            ("point", None if self.point is None else frozen(vector("point", self.point, 3))),
            ("friction", float(self.friction)),
            ("restitution", float(self.restitution)),
            ("radius", float(self.radius)),
            ("axes", frozen(axes)),
        ):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class FreeObject:
    """A rigid body that nothing holds, such as a box on a slippery table.

    Attributes:
        mass: kg, > 0.
        inertia: (3, 3) Rotational inertia about the centre of mass, base-frame axes, kg m^2, positive definite.
        position: (3,) Centre of mass, base frame, m.
        twist: (6,) Velocity of the centre of mass and angular velocity, base frame, m/s and rad/s.
    """

    mass: float
    inertia: Array
    position: Array
    twist: Array = field(default_factory=lambda: np.zeros(6))

    def __post_init__(self) -> None:
        """Check every field; raises `InvalidInputError` with the name of one that is out of range."""
        OBJECT_MASS.check("object mass", self.mass)
        inertia = np.array(self.inertia, dtype=float)
        if inertia.shape != (3, 3) or not np.isfinite(inertia).all():
            raise InvalidInputError("object inertia", np.shape(self.inertia), "a finite (3, 3) matrix, kg m^2")
        if np.abs(inertia - inertia.T).max() > 1e-9 * np.abs(inertia).max():
            raise InvalidInputError("object inertia", inertia.tolist(), "a symmetric matrix")
        if not np.linalg.eigvalsh(inertia)[0] > 0.0:
            raise InvalidInputError("object inertia", inertia.tolist(), "a positive definite matrix")
        for name, value in (
            ("mass", float(self.mass)),
            ("inertia", frozen(inertia)),
            ("position", frozen(vector("object position", self.position, 3))),
            ("twist", frozen(vector("object twist", self.twist, 6))),
        ):
            object.__setattr__(self, name, value)

    @cached_property
    def inverse_inertia(self) -> Array:
        """Inverse of the spatial inertia (6, 6) at the centre of mass, linear rows first; read-only."""
        inverse = np.zeros((6, 6))
        inverse[:3, :3] = np.eye(3) / self.mass
        inverse[3:, 3:] = np.linalg.inv(self.inertia)
        return frozen(inverse)

    def jacobian(self, point: Array) -> Array:
        """Maps the twist to the velocity of the body's material point at `point` (3,), base frame (3, 6)."""
        return point_jacobian(point - self.position)

    def twist_after(self, point: Array, impulse: Array) -> Array:
        """Twist (6,) after `impulse` (3,), N s, acted on the body at `point` (3,), both in the base frame."""
        return self.twist + self.inverse_inertia @ (self.jacobian(point).T @ impulse)


def contact_point(robot: RobotModel, q: Array, contact: Contact) -> Array:
    """Where the robot touches, (3,), base frame, m."""
    if contact.point is not None:
        return contact.point
    centre: Array = robot.placement(q, contact.frame).act(contact.offset)
    return centre - contact.radius * contact.normal


def contact_jacobian(robot: RobotModel, q: Array, contact: Contact) -> Array:
    """Maps joint velocities to the velocity of the robot's material point at the contact, base frame (3, n).

    Raises:
        UnknownNameError: `contact.frame` is not a frame of the robot.
    """
    lever = contact_point(robot, q, contact) - robot.placement(q, contact.frame).translation
    # A single joint's Jacobian comes without its second axis.
    return point_jacobian(lever) @ robot.frame_jacobian(q, contact.frame).reshape(6, robot.n)


def contact_axes(normal: Array) -> Array:
    """Right-handed rows normal, tangent, tangent (3, 3); the first tangent leans on the axis least along the normal."""
    x, y, z = (float(value) for value in normal)
    helper = min(((abs(x), (1.0, 0.0, 0.0)), (abs(y), (0.0, 1.0, 0.0)), (abs(z), (0.0, 0.0, 1.0))))[1]
    a, b, c = helper[1] * z - helper[2] * y, helper[2] * x - helper[0] * z, helper[0] * y - helper[1] * x
    length = math.sqrt(a * a + b * b + c * c)
    a, b, c = a / length, b / length, c / length
    return np.array([[x, y, z], [a, b, c], [y * c - z * b, z * a - x * c, x * b - y * a]])


def point_jacobian(lever: Array) -> Array:
    """Maps a twist (6,) to the velocity of the point `lever` (3,) away from where the twist is taken (3, 6)."""
    x, y, z = (float(value) for value in lever)
    return np.array(
        [
            [1.0, 0.0, 0.0, 0.0, z, -y],
            [0.0, 1.0, 0.0, -z, 0.0, x],
            [0.0, 0.0, 1.0, y, -x, 0.0],
        ]
    )


def vector(field_name: str, values: ArrayLike, size: int) -> Array:
    """`values` as a fresh finite array (size,).

    Raises:
        InvalidInputError: Another number of values, or one that is not finite.
    """
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(field_name, values, f"{size} numbers") from error
    if array.shape != (size,):
        raise InvalidInputError(field_name, f"shape {array.shape}", f"{size} numbers")
    if not np.isfinite(array).all():
        raise InvalidInputError(field_name, array.tolist(), "finite values")
    return array


def unit_vector(field_name: str, values: ArrayLike) -> Array:
    """`values` (3,) over its length.

    Raises:
        InvalidInputError: Not three finite numbers, or all of them zero.
    """
    array = vector(field_name, values, 3)
    length = math.hypot(*array)
    if not 1e-12 < length < math.inf:
        raise InvalidInputError(field_name, array.tolist(), "a finite vector that is not of zero length")
    return array / length


def frozen(array: Array) -> Array:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array
