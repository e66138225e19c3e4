"""Points, vectors and twists between arrays and messages; everything base-frame, linear parts first."""

from __future__ import annotations

import array
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Point, Quaternion, Twist, Vector3

from impact_aware.arrays import Array


def doubles(values: Array) -> array.array[float]:
    """(n,) as what a message holds; it takes this as it is, where it would check an array element by element."""
    return array.array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


def fill(target: Point | Vector3, values: Sequence[float] | Array) -> None:
    """Write (3,) into a part that a message already has."""
    x, y, z = values if isinstance(values, (list, tuple)) else values.tolist()  # type: ignore[union-attr]
    target.x, target.y, target.z = float(x), float(y), float(z)


def fill_twist(target: Twist, values: Array) -> None:
    """Write (6,) linear first into a twist that a message already has."""
    numbers = values.tolist()
    fill(target.linear, numbers[:3])
    fill(target.angular, numbers[3:])


def point(values: Sequence[float] | Array) -> Point:
    """(3,) to Point."""
    return Point(x=float(values[0]), y=float(values[1]), z=float(values[2]))


def vector3(values: Sequence[float] | Array) -> Vector3:
    """(3,) to Vector3."""
    return Vector3(x=float(values[0]), y=float(values[1]), z=float(values[2]))


def twist(values: Sequence[float] | Array) -> Twist:
    """(6,) linear first to Twist."""
    return Twist(linear=vector3(values[:3]), angular=vector3(values[3:]))


def array3(message: Point | Vector3) -> Array:
    """Point or Vector3 to (3,)."""
    return np.array([message.x, message.y, message.z])


def quaternion(values: Sequence[float] | Array) -> Quaternion:
    """(4,) x, y, z, w to Quaternion."""
    return Quaternion(x=float(values[0]), y=float(values[1]), z=float(values[2]), w=float(values[3]))


def array4(message: Quaternion) -> Array:
    """Quaternion to (4,) x, y, z, w."""
    return np.array([message.x, message.y, message.z, message.w])
