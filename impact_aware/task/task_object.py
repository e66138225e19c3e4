"""The object that a task is about: its shape, where it stands, and what it weighs and rubs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.geometry import FRICTION, OBJECT_MASS, RESTITUTION
from impact_aware.contact.shape import PlacedShape, Shape
from impact_aware.contact.shape_registry import SHAPES, shape_named
from impact_aware.errors import UnknownNameError
from impact_aware.ranges import Range
from impact_aware.reference.rotation import rotation_from_rpy

Vector = tuple[float, float, float]

POSITION = Range(-10.0, 10.0, "m")
"""In the task's frame: no arm of this size reaches further from where the frames of a cell are."""

ANGLE = Range(-6.3, 6.3, "rad")

SHAPE_ENTRIES = {"box": ("half_extents",), "cylinder": ("radius", "half_length"), "hull": ("vertices",)}
"""Entries of a task's object that make each of the `SHAPES`."""



_UP = np.array([0.0, 0.0, 1.0])
_SIZE = Range(0.0, 5.0, "m", open_below=True)
_RANGES = {
    "mass": OBJECT_MASS,
    "position": POSITION,
    "orientation_rpy": ANGLE,
    "friction_table": FRICTION,
    "friction_tool": FRICTION,
    "restitution": RESTITUTION,
}


@dataclass(frozen=True)
class TaskObject:
    """The object that is hit, and what it stands on: a table along its lower face.

    Attributes:
        name: What it is called.
        mass: kg.
        shape: One of `SHAPES`: `box`, `cylinder` about its own z axis, or `hull`, the convex hull of points.
        half_extents: (3,) Of a box along its own axes, m.
        radius: Of a cylinder, m.
        half_length: Of a cylinder, m.
        vertices: (k, 3) Of a hull along its own axes, from any origin, m.
        position: (3,) Estimated centre, which is that of its mass, m.
        orientation_rpy: (3,) Estimated roll, pitch, yaw of its axes about those of the task's frame, rad.
        friction_table: Coulomb coefficient between the object and what it stands on.
        friction_tool: Coulomb coefficient between the object and a tool.
        restitution: Coefficient of restitution with a tool, 0..1.
    """

    name: str = "box"
    mass: float = 2.20
    shape: str = "box"
    half_extents: Vector = (0.1, 0.07, 0.08)
    radius: float = 0.0
    half_length: float = 0.0
    vertices: tuple[Vector, ...] = ()
    position: Vector = (0.45, 0.0, 0.1)
    orientation_rpy: Vector = (0.0, 0.0, 0.0)
    friction_table: float = 0.3
    friction_tool: float = 0.5
    restitution: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a number that makes no object."""
        check_ranges(self, "object", _RANGES)
        if self.shape not in SHAPES:
            raise UnknownNameError("object.shape", self.shape, tuple(SHAPES))
        for entry in SHAPE_ENTRIES[self.shape]:
            value = getattr(self, entry)
            if entry == "vertices":
                value = float(np.max(np.abs(value), initial=0.0)) if value else 0.0
            _SIZE.check(f"object.{entry}", value)
        _ = self.solid

    @cached_property
    def solid(self) -> Shape:
        """Its shape with its sizes."""
        half = (self.radius, self.radius, self.half_length) if self.shape == "cylinder" else self.half_extents
        return shape_named(self.shape, half, self.vertices)

    @cached_property
    def rotation(self) -> Array:
        """(3, 3) Of its own axes in the task's frame."""
        return rotation_from_rpy(self.orientation_rpy)

    def placed(self, pose: pin.SE3) -> TaskObject:
        """Return the object with this pose in the task's frame."""
        x, y, z = pose.translation.tolist()
        roll, pitch, yaw = pin.rpy.matrixToRpy(np.asfortranarray(pose.rotation)).tolist()
        return dataclasses.replace(self, position=(x, y, z), orientation_rpy=(roll, pitch, yaw))

    @property
    def standing(self) -> PlacedShape:
        """Its shape where it stands, in the task's frame."""
        return PlacedShape(self.solid, np.array(self.position), self.rotation)

    @cached_property
    def turn(self) -> Array:
        """(3, 3) Rotation out of the axes of the task's frame, the same for all equivalent orientations."""
        return self.solid.turn(self.rotation, _UP)

    @property
    def turn_rpy(self) -> Vector:
        """(3,) Roll, pitch, yaw of `turn`, rad."""
        roll, pitch, yaw = pin.rpy.matrixToRpy(np.asfortranarray(self.turn)).tolist()
        return roll, pitch, yaw

    @cached_property
    def up(self) -> Array:
        """(3,) Unit normal of the table that it stands on."""
        return -self.standing.face(-_UP)

    @property
    def height(self) -> float:
        """Height of its centre above that table, along its normal, m."""
        return self.solid.depth(-self.rotation.T @ self.up)


def check_ranges(part: object, where: str, ranges: Mapping[str, Range]) -> None:
    """Refuse an entry that is outside its range.

    Raises:
        InvalidInputError: Naming it.
    """
    for name, allowed in ranges.items():
        allowed.check(f"{where}.{name}", getattr(part, name))


def as_vector(numbers: Array) -> Vector:
    """The numbers of an array (3,)."""
    x, y, z = numbers.tolist()
    return x, y, z
