"""Convex homogeneous shapes of objects: where they are hit, where flat things lie on them, how they are turned."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import OBJECT_MASS, FreeObject

PARALLEL = 1e-6
"""Sine of the angle between directions that are the same."""


class SurfacePoint(NamedTuple):
    """A point of a surface.

    Attributes:
        point: (3,) m.
        normal: (3,) Unit vector out of the shape.
    """

    point: Array
    normal: Array


class Shape(ABC):
    """A convex body of uniform density, in its own axes about its centre of mass; lengths in m.

    A normal is a unit vector (3,) out of it. The face of a normal is all that a plane with this normal can lie on: a
    polygon, a line, or a point.

    Attributes:
        name: As in a task's file.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def half_extents(self) -> Array:
        """(3,) Half edges of the least box along its axes about its centre that contains it, m."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """Largest distance of its surface from the centre, m."""

    @property
    def vertices(self) -> Array:
        """(k, 3) Corners, m, of a hull; none of shapes that their sizes define."""
        return np.zeros((0, 3))

    @abstractmethod
    def inertia(self, mass: float) -> Array:
        """(3, 3) About its centre, kg m^2."""

    @abstractmethod
    def depth(self, normal: Array) -> float:
        """Distance of its outermost point along a normal from the centre, along it, m."""

    @abstractmethod
    def face(self, outward: Array) -> Array:
        """The normal (3,) of the face that looks the most in a direction (3,)."""

    @abstractmethod
    def footprint(self, normal: Array) -> Array:
        """Corners (k, 3) of the face of a normal, around it, m: one of a point, two of a line."""

    @abstractmethod
    def hit(self, outward: Array, offset: Array) -> SurfacePoint:
        """Where a tool meets it that comes from a direction (3,) towards its centre, moved across by an offset (3,), m.

        Raises:
            InvalidInputError: It is moved so far that it passes.
        """

    def normal_at_ball(self, centre: Array, normal: Array) -> Array:
        """The normal (3,) where a ball about `centre` (3,), m, touches; `normal` is that of the face which is meant."""
        return normal

    def normal_at_plane(self, outward: Array, normal: Array) -> Array:
        """The normal (3,) where a plane that looks against `outward` (3,) touches; `normal` as for a ball."""
        return normal

    @abstractmethod
    def distance(self, point: Array) -> float:
        """From its surface to a point (3,), m; negative inside."""

    @abstractmethod
    def turn(self, rotation: Array, up: Array) -> Array:
        """Its rotation (3, 3) from the axes of a frame, whichever of its equal orientations is given.

        Args:
            rotation: (3, 3) Of its axes in that frame.
            up: (3,) The vertical in that frame.
        """

    @abstractmethod
    def nearest_equal(self, rotation: Array, other: Array) -> Array:
        """The rotation (3, 3) with which it looks the same that is nearest to another one (3, 3)."""

    def plain(self, rotation: Array) -> Array:
        """The one rotation (3, 3) that stands for all with which it looks the same, where they are no finite number."""
        return rotation

    @abstractmethod
    def outline(self) -> Array:
        """(2 m, 3) What is drawn of it: lines as pairs of points, m."""

    def upright(self, rotation: Array, up: Array, tolerance: float) -> Array:
        """One (3, 3) whose base leans by no more than a tolerance, rad, stood flat by the shortest way; others stay.

        `up` (3,) is the vertical in the frame of `rotation`.
        """
        own = -rotation @ self.face(-rotation.T @ up)
        across = pin.skew(own) @ up
        sine = math.sqrt(float(across @ across))
        if not 0.0 < sine <= math.sin(tolerance):
            return rotation
        return np.asarray(pin.exp3(math.asin(sine) / sine * across) @ rotation)


@dataclass(frozen=True, eq=False)
class PlacedShape:
    """A shape at a pose: the methods of `Shape`, in the frame in which it stands.

    Attributes:
        shape: The shape.
        position: (3,) Its centre, m.
        rotation: (3, 3) Of its axes, as `Shape.plain` has them; along those of the frame when left out.
    """

    shape: Shape
    position: Array
    rotation: Array = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        """Replace the rotation by that of `Shape.plain`: no result may depend on an invisible rotation."""
        object.__setattr__(self, "rotation", self.shape.plain(self.rotation))

    def free_object(self, mass: float, twist: ArrayLike | None = None) -> FreeObject:
        """As a free object of a mass, kg, with a twist (6,), linear first, m/s and rad/s; at rest when None.

        Raises:
            InvalidInputError: What `FreeObject` refuses.
        """
        OBJECT_MASS.check("object mass", mass)
        inertia = self.rotation @ self.shape.inertia(mass) @ self.rotation.T
        at_rest = np.zeros(6)
        moving = at_rest if twist is None else np.asarray(twist, dtype=float)
        return FreeObject(mass, 0.5 * (inertia + inertia.T), np.asarray(self.position), moving)

    def plane_point(self, normal: Array) -> Array:
        """Where (3,) a plane with a normal (3,) out of the shape touches it, along that normal from the centre, m."""
        return np.asarray(self.position + self.shape.depth(self.rotation.T @ normal) * normal)

    def face(self, outward: ArrayLike) -> Array:
        """As `Shape.face`."""
        return np.asarray(self.rotation @ self.shape.face(self.rotation.T @ np.asarray(outward, dtype=float)))

    def footprint(self, normal: Array) -> Array:
        """As `Shape.footprint`."""
        return np.asarray(self.position + self.shape.footprint(self.rotation.T @ normal) @ self.rotation.T)

    def normal_at_ball(self, centre: Array, normal: Array) -> Array:
        """As `Shape.normal_at_ball`; the same array where nothing changes."""
        own = self.rotation.T @ normal
        found = self.shape.normal_at_ball(self.rotation.T @ (centre - self.position), own)
        return normal if found is own else np.asarray(self.rotation @ found)

    def normal_at_plane(self, outward: Array, normal: Array) -> Array:
        """As `Shape.normal_at_plane`; the same array where nothing changes."""
        own = self.rotation.T @ normal
        found = self.shape.normal_at_plane(self.rotation.T @ outward, own)
        return normal if found is own else np.asarray(self.rotation @ found)

    def distance(self, point: Array) -> float:
        """As `Shape.distance`."""
        return self.shape.distance(self.rotation.T @ (point - self.position))

    def outline(self) -> Array:
        """As `Shape.outline`."""
        return np.asarray(self.position + self.shape.outline() @ self.rotation.T)


def shortest_turn(start: ArrayLike, end: ArrayLike) -> Array:
    """The rotation (3, 3) by the least angle that takes one unit vector (3,) to another one (3,)."""
    first, last = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    across = np.cross(first, last)
    sine, cosine = float(np.linalg.norm(across)), float(first @ last)
    if sine < PARALLEL and cosine < 0.0:
        # Half a turn, about any axis across.
        across, sine = np.cross(first, np.eye(3)[int(np.argmin(np.abs(first)))]), 0.0
        return np.asarray(pin.exp3(np.pi / np.linalg.norm(across) * across))
    if not sine > 0.0:
        return np.eye(3)
    return np.asarray(pin.exp3(np.arctan2(sine, cosine) / sine * across))
