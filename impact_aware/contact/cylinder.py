"""A homogeneous cylinder: a can or a bottle, upright or lying."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.shape import PARALLEL, Shape, SurfacePoint, shortest_turn
from impact_aware.errors import InvalidInputError
from impact_aware.ranges import check_scalar

RIM_CORNERS = 8
"""Corners that stand for the rim of an end: a plate on them tips at 0.92 of the radius at least."""

DRAWN_CORNERS = 24
"""Corners of a rim as it is drawn."""

AXIS = np.array([0.0, 0.0, 1.0])


class Cylinder(Shape):
    """About its own z axis; its faces are two ends, and each line along its side."""

    name: ClassVar[str] = "cylinder"

    def __init__(self, radius: float, half_length: float) -> None:
        """Take the sizes, m.

        Raises:
            InvalidInputError: One that is not positive.
        """
        check_scalar("object radius", radius, 0.0, np.inf, open_below=True, unit="m")
        check_scalar("object half_length", half_length, 0.0, np.inf, open_below=True, unit="m")
        self.radius, self.half_length = float(radius), float(half_length)

    @property
    def half_extents(self) -> Array:
        """(3,) m."""
        return np.array([self.radius, self.radius, self.half_length])

    @property
    def reach(self) -> float:
        """To its rims, m."""
        return float(np.hypot(self.radius, self.half_length))

    def inertia(self, mass: float) -> Array:
        """(3, 3) kg m^2."""
        across = mass * (3.0 * self.radius**2 + (2.0 * self.half_length) ** 2) / 12.0
        return np.diag([across, across, 0.5 * mass * self.radius**2])

    def depth(self, normal: Array) -> float:
        """See `Shape.depth`."""
        return float(self.radius * np.hypot(normal[0], normal[1]) + self.half_length * abs(normal[2]))

    def face(self, outward: Array) -> Array:
        """An end, or else the side where it looks there: what is nearer in angle."""
        across = float(np.hypot(outward[0], outward[1]))
        if abs(outward[2]) > across:
            return AXIS * np.sign(outward[2])
        return np.array([outward[0] / across, outward[1] / across, 0.0])

    def footprint(self, normal: Array) -> Array:
        """The corners of an end's rim, or the ends of a line along the side."""
        normal = self.face(normal)
        if normal[2]:
            return self._rim(RIM_CORNERS, normal[2])
        return np.outer([1.0, 1.0], self.radius * normal) + np.outer([-1.0, 1.0], self.half_length * AXIS)

    def hit(self, outward: Array, offset: Array) -> SurfacePoint:
        """See `Shape.hit`; of the offset the part across the face counts, around which the side bends."""
        normal = self.face(outward)
        if normal[2]:
            if np.hypot(offset[0], offset[1]) > self.radius:
                raise _passes(offset, "end")
            return SurfacePoint(np.array([offset[0], offset[1], normal[2] * self.half_length]), normal)
        tangent = np.cross(AXIS, normal)
        sine = float(tangent @ offset) / self.radius
        if not abs(sine) < 1.0 or abs(offset[2]) > self.half_length:
            raise _passes(offset, "side")
        bent = np.sqrt(1.0 - sine**2) * normal + sine * tangent
        return SurfacePoint(self.radius * bent + offset[2] * AXIS, bent)

    def normal_at_ball(self, centre: Array, normal: Array) -> Array:
        """The side looks at the ball, wherever that is about the axis; an end stays an end."""
        return self._on_side(centre, normal)

    def normal_at_plane(self, outward: Array, normal: Array) -> Array:
        """The side lies along the plane; an end stays an end."""
        return self._on_side(outward, normal)

    def distance(self, point: Array) -> float:
        """See `Shape.distance`."""
        across, along = np.hypot(point[0], point[1]) - self.radius, abs(point[2]) - self.half_length
        return float(np.hypot(max(across, 0.0), max(along, 0.0)) + min(max(across, along), 0.0))

    def turn(self, rotation: Array, up: Array) -> Array:
        """The least rotation that takes an axis of the frame to its own axis, of which no end is the right one."""
        own = rotation @ AXIS
        index = int(np.argmax(np.abs(own)))
        return shortest_turn(np.eye(3)[index] * np.sign(own[index]), own)

    def nearest_equal(self, rotation: Array, other: Array) -> Array:
        """Turned about its axis, and end over end, until it is nearest."""
        flipped = rotation if rotation[:, 2] @ other[:, 2] >= 0.0 else rotation * np.array([1.0, -1.0, -1.0])
        apart = flipped.T @ other
        angle = np.arctan2(apart[1, 0] - apart[0, 1], apart[0, 0] + apart[1, 1])
        return np.asarray(flipped @ pin.utils.rotate("z", float(angle)))

    def plain(self, rotation: Array) -> Array:
        """The least that takes the z axis to its axis: not turned about it."""
        axis = rotation @ AXIS
        return shortest_turn(AXIS, axis * (1.0 if axis[int(np.argmax(np.abs(axis)))] > 0.0 else -1.0))

    def outline(self) -> Array:
        """Both rims, and four lines along the side."""
        top = self._rim(DRAWN_CORNERS, 1.0)
        bottom = top * [1.0, 1.0, -1.0]
        lines = [np.stack([rim, np.roll(rim, -1, axis=0)], axis=1) for rim in (top, bottom)]
        lines.append(np.stack([top, bottom], axis=1)[:: DRAWN_CORNERS // 4])
        return np.concatenate(lines).reshape(-1, 3)

    def _rim(self, corners: int, side: float) -> Array:
        angles = 2.0 * np.pi * np.arange(corners) / corners
        height = np.full(corners, side * self.half_length)
        return np.stack([self.radius * np.cos(angles), self.radius * np.sin(angles), height], axis=1)

    @staticmethod
    def _on_side(towards: Array, normal: Array) -> Array:
        across = float(np.hypot(towards[0], towards[1]))
        if abs(normal[2]) > 0.5 or not across > PARALLEL * float(np.linalg.norm(towards)):
            return normal
        return np.array([towards[0] / across, towards[1] / across, 0.0])


def _passes(offset: Array, part: str) -> InvalidInputError:
    return InvalidInputError("impact_offset", np.round(offset, 4).tolist(), f"a position on the cylinder's {part}")
