"""A spherical tool tip against a plane, fixed or on a free object: force and friction in continuous contact."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.force_models import ContactForceModel
from impact_aware.contact.geometry import FreeObject, frozen, vector
from impact_aware.errors import InvalidInputError
from impact_aware.ranges import NOT_NEGATIVE, POSITIVE


@dataclass(frozen=True, eq=False)
class SurfaceContact:
    """The plane that is touched and the law of the contact.

    Friction is Coulomb's with its corner rounded: -mu f_n v_t / sqrt(|v_t|^2 + slip_regularisation^2), which tends to
    Coulomb's law as `slip_regularisation` shrinks.

    Attributes:
        normal: (3,) Unit normal from the surface into the robot, base frame; normalised at construction.
        point: (3,) A point of the plane, base frame, m.
        force_model: Normal force.
        friction: Coulomb's coefficient, >= 0.
        slip_regularisation: Slip speed below which friction fades, m/s, > 0.
        obstacle: The free object the plane is a face of, or None for a fixed surface. The face moves with the object,
            rotated by its small rotation; its normal is kept.
    """

    normal: Array
    point: Array
    force_model: ContactForceModel
    friction: float = 0.0
    slip_regularisation: float = 1e-3
    obstacle: FreeObject | None = None

    def __post_init__(self) -> None:
        """Check every field; an InvalidInputError names the wrong one."""
        normal = vector("normal", self.normal, 3)
        length = float(np.linalg.norm(normal))
        if not length > 1e-12:
            raise InvalidInputError("normal", normal.tolist(), "a vector that is not of zero length")
        object.__setattr__(self, "normal", frozen(normal / length))
        object.__setattr__(self, "point", frozen(vector("point", self.point, 3)))
        NOT_NEGATIVE.check("friction", self.friction)
        POSITIVE.check("slip_regularisation", self.slip_regularisation)

    def depth(self, point: Array, displacement: Array) -> float:
        """Penetration of the robot's lowest point `point` (3,), base frame, m.

        The object's `displacement` (6,) since the start is translation and small rotation; ignored when fixed.
        """
        gap = float(self.normal @ (point - self.point))
        if self.obstacle is not None:
            gap -= float(self.normal @ (displacement[:3] + np.cross(displacement[3:], self._arm(point))))
        return -gap

    def slip(self, velocity: Array, point: Array, twist: Array) -> Array:
        """Velocity (3,) relative to the surface's of a point (3,) of the robot with `velocity` (3,), m/s.

        The object's `twist` (6,) is ignored when fixed.
        """
        if self.obstacle is None:
            return velocity
        return velocity - twist[:3] - np.cross(twist[3:], self._arm(point))

    def force(self, depth: float, slip: Array, internal: float = 0.0) -> Array:
        """Force (3,) on the robot at a penetration, m, and a relative velocity `slip` (3,), m/s; N, base frame.

        `internal` is the force model's internal variable.
        """
        normal_speed = float(self.normal @ slip)
        pressure = float(self.force_model.force(depth, -normal_speed, internal))
        if self.friction == 0.0 or pressure <= 0.0:
            return pressure * self.normal
        tangential = slip - normal_speed * self.normal
        speed = math.sqrt(float(tangential @ tangential) + self.slip_regularisation**2)
        return pressure * (self.normal - self.friction / speed * tangential)

    def object_acceleration(self, point: Array, force: Array) -> Array:
        """Acceleration (6,) of the object when `force` (3,) acts on the robot at `point`; zero when fixed."""
        if self.obstacle is None:
            return np.zeros(6)
        return self.obstacle.inverse_inertia @ np.concatenate([-force, np.cross(self._arm(point), -force)])

    def _arm(self, point: Array) -> Array:
        assert self.obstacle is not None
        return point - self.obstacle.position


def surface_at(
    tip_centre: Array, radius: float, normal: ArrayLike, gap: float, force_model: ContactForceModel, **settings: object
) -> SurfaceContact:
    """A surface `gap` metres away from a spherical tip along `normal`; further settings as in `SurfaceContact`."""
    direction = vector("normal", normal, 3)
    direction = direction / np.linalg.norm(direction)
    return SurfaceContact(direction, tip_centre - (radius + gap) * direction, force_model, **settings)  # type: ignore[arg-type]
