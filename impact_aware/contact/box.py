"""A homogeneous box: as a free object, where its surface is, and how it is turned however its axes are named."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import FreeObject
from impact_aware.contact.shape import PlacedShape, Shape, SurfacePoint
from impact_aware.errors import InvalidInputError

_RELABELLINGS = tuple(
    matrix
    for order in itertools.permutations(range(3))
    for signs in itertools.product((1.0, -1.0), repeat=3)
    if np.linalg.det(matrix := np.eye(3)[list(order)] * signs) > 0.0
)
"""The 24 rotations (3, 3) that take the axes of a box to axes of it."""

_FLIPS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
"""Signs (4, 3) of the axes after none and after half a turn about each."""


class Box(Shape):
    """A cuboid along its own axes."""

    name: ClassVar[str] = "box"

    def __init__(self, half_extents: ArrayLike) -> None:
        """Take the half edges (3,), m.

        Raises:
            InvalidInputError: One that is not positive.
        """
        half = np.asarray(half_extents, dtype=float)
        if half.shape != (3,) or not (np.isfinite(half).all() and np.all(half > 0.0)):
            raise InvalidInputError("object half_extents", half.tolist(), "three lengths > 0 m")
        self._half = half

    @property
    def half_extents(self) -> Array:
        """(3,) m."""
        return self._half

    @property
    def reach(self) -> float:
        """To its corners, m."""
        return float(np.linalg.norm(self._half))

    def inertia(self, mass: float) -> Array:
        """(3, 3) kg m^2."""
        squares = self._half**2
        return np.diag(mass / 3.0 * (squares.sum() - squares))

    def depth(self, normal: Array) -> float:
        """See `Shape.depth`."""
        return float(np.abs(normal) @ self._half)

    def face(self, outward: Array) -> Array:
        """See `Shape.face`."""
        index = int(np.argmax(np.abs(outward)))
        return np.eye(3)[index] * (1.0 if outward[index] >= 0.0 else -1.0)

    def footprint(self, normal: Array) -> Array:
        """See `Shape.footprint`."""
        face = self.face(normal)
        along, across = np.diag(self._half)[face == 0.0]
        ring = np.outer([1.0, 1.0, -1.0, -1.0], along) + np.outer([1.0, -1.0, -1.0, 1.0], across)
        return np.asarray(ring + face * self._half)

    def hit(self, outward: Array, offset: Array) -> SurfacePoint:
        """On the plane of the face that looks the most in that direction, however large it is."""
        face = self.face(outward)
        return SurfacePoint(np.where(face == 0.0, offset, face * self._half), face)

    def distance(self, point: Array) -> float:
        """See `Shape.distance`."""
        beyond = np.abs(point) - self._half
        return float(np.linalg.norm(np.maximum(beyond, 0.0)) + min(float(np.max(beyond)), 0.0))

    def turn(self, rotation: Array, up: Array) -> Array:
        """Return the smallest of the rotations that the 24 ways to name its axes give."""
        return nearest_turn(rotation)

    def nearest_equal(self, rotation: Array, other: Array) -> Array:
        """Itself, or after half a turn about an axis, after which a tracker may report it as well."""
        return rotation * _FLIPS[int(np.argmax(_FLIPS @ np.einsum("ij,ij->j", rotation, other)))]

    def outline(self) -> Array:
        """Its twelve edges."""
        signs = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
        pairs = [(a, b) for a in range(8) for b in range(a + 1, 8) if np.count_nonzero(signs[a] != signs[b]) == 1]
        return np.asarray((signs * self._half)[np.array(pairs).ravel()])


def homogeneous_box(
    mass: float,
    half_extents: ArrayLike,
    position: ArrayLike,
    twist: ArrayLike | None = None,
    rotation: ArrayLike | None = None,
) -> FreeObject:
    """A box of uniform density.

    Args:
        mass: kg.
        half_extents: (3,) Half edges along its own axes, m.
        position: (3,) Centre, base frame, m.
        twist: (6,) Linear first, m/s and rad/s; at rest when None.
        rotation: (3, 3) Of its axes in the base frame; along those of the base frame when None.

    Raises:
        InvalidInputError: A half edge that is not positive, or what `FreeObject` refuses.
    """
    axes = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
    return PlacedShape(Box(half_extents), np.asarray(position, dtype=float), axes).free_object(mass, twist)


def nearest_turn(rotation: ArrayLike) -> Array:
    """The rotation (3, 3) of the same box, its axes named anew, that turns it the least.

    `rotation` (3, 3) has the box's axes as columns, in any of the 24 orders and signs that describe the same box.
    """
    axes = np.asarray(rotation, dtype=float)
    return axes @ max(_RELABELLINGS, key=lambda matrix: float(np.sum(axes * matrix.T)))
