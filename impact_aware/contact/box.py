"""A homogeneous box as a free object."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impact_aware.contact.geometry import FreeObject
from impact_aware.errors import InvalidInputError


def homogeneous_box(
    mass: float, half_extents: ArrayLike, position: ArrayLike, twist: ArrayLike | None = None
) -> FreeObject:
    """A box of uniform density whose edges lie along the base frame's axes.

    Args:
        mass: kg.
        half_extents: (3,) Half edges, m.
        position: (3,) Centre, base frame, m.
        twist: (6,) Linear first, m/s and rad/s; at rest when None.

    Raises:
        InvalidInputError: A half edge that is not positive, or what `FreeObject` refuses.
    """
    half = np.asarray(half_extents, dtype=float)
    if half.shape != (3,) or not np.all(half > 0.0):
        raise InvalidInputError("object half_extents", half.tolist(), "three lengths > 0 m")
    squares = half**2
    inertia = np.diag(mass / 3.0 * (squares.sum() - squares))
    at_rest = np.zeros(6)
    return FreeObject(mass, inertia, np.asarray(position), at_rest if twist is None else np.asarray(twist))


def near_face_point(position: ArrayLike, half_extents: ArrayLike, normal: ArrayLike) -> NDArray[np.float64]:
    """Point (3,) of a box's supporting plane, from which `normal` points out of it; above the centre of the face, m.

    Args:
        position: (3,) Centre, m.
        half_extents: (3,) Half edges along the base frame's axes, m.
        normal: (3,) Unit vector out of the box.
    """
    outward = np.asarray(normal, dtype=float)
    return np.asarray(position, dtype=float) + float(np.abs(outward) @ np.asarray(half_extents, dtype=float)) * outward
