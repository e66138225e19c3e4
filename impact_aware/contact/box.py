"""A homogeneous box: as a free object, where its surface is, and which of its axes are to be called what."""

from __future__ import annotations

import itertools

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import OBJECT_MASS, FreeObject
from impact_aware.errors import InvalidInputError

_RELABELLINGS = tuple(
    matrix
    for order in itertools.permutations(range(3))
    for signs in itertools.product((1.0, -1.0), repeat=3)
    if np.linalg.det(matrix := np.eye(3)[list(order)] * signs) > 0.0
)
"""The 24 rotations (3, 3) that take the axes of a box to axes of it."""


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
    half = np.asarray(half_extents, dtype=float)
    if half.shape != (3,) or not np.all(half > 0.0):
        raise InvalidInputError("object half_extents", half.tolist(), "three lengths > 0 m")
    OBJECT_MASS.check("object mass", mass)
    squares = half**2
    inertia = np.diag(mass / 3.0 * (squares.sum() - squares))
    if rotation is not None:
        axes = np.asarray(rotation, dtype=float)
        inertia = axes @ inertia @ axes.T
        inertia = 0.5 * (inertia + inertia.T)
    at_rest = np.zeros(6)
    return FreeObject(mass, inertia, np.asarray(position), at_rest if twist is None else np.asarray(twist))


def near_face_point(
    position: ArrayLike, half_extents: ArrayLike, normal: ArrayLike, rotation: ArrayLike | None = None
) -> Array:
    """Point (3,) of a box's supporting plane, from which `normal` points out of it; above the centre of the face, m.

    Args:
        position: (3,) Centre, m.
        half_extents: (3,) Half edges along its own axes, m.
        normal: (3,) Unit vector out of the box.
        rotation: (3, 3) Of its axes in the base frame; along those of the base frame when None.
    """
    outward = np.asarray(normal, dtype=float)
    along = outward if rotation is None else np.asarray(rotation, dtype=float).T @ outward
    return np.asarray(position, dtype=float) + float(np.abs(along) @ np.asarray(half_extents, dtype=float)) * outward


def nearest_axis(rotation: ArrayLike, direction: ArrayLike) -> Array:
    """The axis (3,) of a box, or its opposite, that is nearest to a direction (3,).

    `rotation` (3, 3) has the box's axes as columns.
    """
    axes = np.asarray(rotation, dtype=float)
    along = axes.T @ np.asarray(direction, dtype=float)
    index = int(np.argmax(np.abs(along)))
    return axes[:, index] * (1.0 if along[index] >= 0.0 else -1.0)


def nearest_naming(rotation: ArrayLike) -> tuple[Array, Array]:
    """The names of a box's axes by which it is turned the least: no naming of them is the right one.

    Args:
        rotation: (3, 3) Of the axes as somebody names them.

    Returns:
        `turn` (3, 3), the rotation of the axes named anew, and `naming` (3, 3), with `turn = rotation @ naming`:
        lengths (3,) along the former axes are `abs(naming).T @ lengths` along the new ones.
    """
    axes = np.asarray(rotation, dtype=float)
    naming = max(_RELABELLINGS, key=lambda matrix: float(np.sum(axes * matrix.T)))
    return axes @ naming, naming


def flipped_nearest(rotation: ArrayLike, other: ArrayLike) -> Array:
    """The rotation (3, 3) of the same box that is nearest to another one (3, 3): itself, or half a turn about an axis.

    A box looks the same after it, and a tracker may tell either.
    """
    axes, wanted = np.asarray(rotation, dtype=float), np.asarray(other, dtype=float)
    flips = (np.ones(3), np.array([1.0, -1.0, -1.0]), np.array([-1.0, 1.0, -1.0]), np.array([-1.0, -1.0, 1.0]))
    return max((axes * flip for flip in flips), key=lambda turned: float(np.sum(turned * wanted)))


def upright(rotation: ArrayLike, up: ArrayLike, tolerance: float) -> Array:
    """A box (3, 3) that leans by no more than a tolerance, rad, stood upright by the shortest way; others as they are.

    `up` (3,) is the vertical in the frame of `rotation`.
    """
    axes, vertical = np.asarray(rotation, dtype=float), np.asarray(up, dtype=float)
    own = nearest_axis(axes, vertical)
    across = np.cross(own, vertical)
    sine = float(np.linalg.norm(across))
    if not 0.0 < sine <= np.sin(tolerance):
        return axes
    return np.asarray(pin.exp3(np.arcsin(sine) / sine * across) @ axes)
