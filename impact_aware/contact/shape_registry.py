"""Shapes by name, from the numbers that tasks and messages have of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.box import Box
from impact_aware.contact.cylinder import Cylinder
from impact_aware.contact.hull import Hull
from impact_aware.contact.shape import Shape
from impact_aware.errors import InvalidInputError, check_name


def _cylinder(half_extents: Array, vertices: Array) -> Shape:
    if half_extents.shape != (3,) or half_extents[0] != half_extents[1]:
        raise InvalidInputError("object half_extents", half_extents.tolist(), "radius, radius and half length, m")
    return Cylinder(half_extents[0], half_extents[2])


SHAPES: dict[str, Callable[[Array, Array], Shape]] = {
    "box": lambda half_extents, vertices: Box(half_extents),
    "cylinder": _cylinder,
    "hull": lambda half_extents, vertices: Hull(vertices),
}
"""Name of a shape to what makes it of half extents (3,) and vertices (k, 3), m."""


class DescribedShape(Protocol):
    """An object that has a shape as numbers, such as a reference field: see `shape_named`."""

    @property
    def object_shape(self) -> str:
        """Name of the shape."""

    @property
    def object_half_extents(self) -> Any:
        """(3,) m."""

    @property
    def object_vertices(self) -> Any:
        """(k, 3) m."""


def shape_of(described: DescribedShape) -> Shape:
    """Make the shape that an object describes.

    Raises:
        UnknownNameError: No such shape.
        InvalidInputError: Numbers that make none.
    """
    return shape_named(described.object_shape, described.object_half_extents, described.object_vertices)


def shape_named(name: str, half_extents: ArrayLike, vertices: ArrayLike = ()) -> Shape:
    """The shape of a name; the same object again for the same numbers.

    Args:
        name: One of `SHAPES`.
        half_extents: (3,) Along its axes, m; of a cylinder its radius twice and half its length; of a hull not used.
        vertices: (k, 3) Of a hull, m.

    Raises:
        UnknownNameError: No such shape.
        InvalidInputError: Numbers that make none.
    """
    check_name("object shape", name, SHAPES)
    half, corners = np.ascontiguousarray(half_extents, dtype=float), np.ascontiguousarray(vertices, dtype=float)
    if name == "hull" and (corners.ndim == 1 and corners.size % 3 or corners.ndim not in (1, 2)):
        raise InvalidInputError("object vertices", f"{corners.size} numbers", "three of each vertex, m")
    return _made(name, half.tobytes(), corners.tobytes())


@lru_cache(maxsize=64)
def _made(name: str, half_extents: bytes, vertices: bytes) -> Shape:
    corners = np.frombuffer(vertices).reshape(-1, 3) if name == "hull" else np.zeros((0, 3))
    return SHAPES[name](np.frombuffer(half_extents), corners)
