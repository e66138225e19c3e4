"""Points, vectors, twists and quaternions between arrays and messages; linear parts first, quaternions x, y, z, w."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from impact_aware.arrays import Array


def write_vector(target: Any, values: Sequence[float] | Array) -> None:
    """Write (3,) into a Point or Vector3."""
    x, y, z = values.tolist() if isinstance(values, np.ndarray) else values
    target.x, target.y, target.z = float(x), float(y), float(z)


def write_twist(target: Any, values: Array) -> None:
    """Write (6,) into a Twist or Accel."""
    numbers = values.tolist()
    write_vector(target.linear, numbers[:3])
    write_vector(target.angular, numbers[3:])


def write_quaternion(target: Any, values: Sequence[float] | Array) -> None:
    """Write (4,) into a Quaternion."""
    target.x, target.y, target.z, target.w = (float(value) for value in values)


def vector(message: Any) -> Array:
    """Point or Vector3 to (3,)."""
    return np.array([message.x, message.y, message.z], dtype=np.float64)


def twist(message: Any) -> Array:
    """Twist to (6,)."""
    linear, angular = message.linear, message.angular
    return np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z], dtype=np.float64)


def quaternion(message: Any) -> Array:
    """Quaternion to (4,)."""
    return np.array([message.x, message.y, message.z, message.w], dtype=np.float64)
