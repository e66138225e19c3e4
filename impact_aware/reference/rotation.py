"""Orientation errors, quaternions and roll-pitch-yaw. Rotations map tool axes to base axes."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.compiled import MATRIX, TRIPLE, compiled
from impact_aware.errors import InvalidInputError

_SMALL_ANGLE = 1e-6


def rotation_from_quaternion(quaternion: ArrayLike) -> Array:
    """Rotation matrix (3, 3) of a quaternion (x, y, z, w), which is normalised first.

    Raises:
        InvalidInputError: Not four finite numbers, or a norm that is far from 1.
    """
    values = np.asarray(quaternion, dtype=float)
    norm = float(np.linalg.norm(values)) if values.shape == (4,) else math.nan
    if not abs(norm - 1.0) < 1e-3:
        raise InvalidInputError("quaternion", values.tolist(), "x, y, z, w of norm 1")
    return np.asarray(pin.Quaternion(values / norm).toRotationMatrix())


def quaternion_from_rotation(rotation: Array) -> Array:
    """Quaternion (x, y, z, w) with w >= 0 of a rotation matrix (3, 3)."""
    # eigenpy 3.13 never gives back what it makes of a matrix whose rows, not columns, are contiguous.
    values = np.array(pin.Quaternion(np.asfortranarray(rotation, dtype=float)).coeffs())
    return values if values[3] >= 0.0 else -values


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Rotation matrix (3, 3) from roll, pitch and yaw about fixed axes, rad."""
    return np.asarray(pin.rpy.rpyToMatrix(*map(float, np.asarray(rpy, dtype=float))))


@compiled(TRIPLE, MATRIX, MATRIX)
def rotation_error(rotation: Array, desired: Array) -> tuple[float, float, float]:
    """Rotation vector log(R_d R^T) that takes `rotation` to `desired`, in base axes, rad, length 0..pi.

    It equals R log(R^T R_d), the vector of van Steen 2024, (11) and (17), in base axes. Own code because the compiled
    fields call it twice per cycle and arm: 0.3 us from Python and less from them, `pin.log3` of the product 1.3 us.
    """
    m = np.empty((3, 3))
    for row in range(3):
        for column in range(3):
            m[row, column] = (
                desired[row, 0] * rotation[column, 0]
                + desired[row, 1] * rotation[column, 1]
                + desired[row, 2] * rotation[column, 2]
            )
    # Quaternion (x, y, z, w), by its largest component: exact up to half a turn.
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    if trace > 0.0:
        w = 0.5 * math.sqrt(1.0 + trace)
        x, y, z = (m[2, 1] - m[1, 2]) / (4.0 * w), (m[0, 2] - m[2, 0]) / (4.0 * w), (m[1, 0] - m[0, 1]) / (4.0 * w)
    else:
        i = 0 if m[0, 0] >= m[1, 1] and m[0, 0] >= m[2, 2] else (1 if m[1, 1] >= m[2, 2] else 2)
        j, k = (i + 1) % 3, (i + 2) % 3
        largest = 0.5 * math.sqrt(1.0 + m[i, i] - m[j, j] - m[k, k])
        vector = np.empty(3)
        vector[i], vector[j], vector[k] = largest, 0.25 * (m[j, i] + m[i, j]), 0.25 * (m[k, i] + m[i, k])
        vector[j] /= largest
        vector[k] /= largest
        x, y, z = vector[0], vector[1], vector[2]
        w = 0.25 * (m[k, j] - m[j, k]) / largest
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 / w if sine < _SMALL_ANGLE else 2.0 * math.atan2(sine, w) / sine
    return scale * x, scale * y, scale * z
