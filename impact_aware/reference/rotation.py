"""SO(3) logarithm, its derivative, and quaternions, for orientation references.

Rotations map tool axes to base axes. Vectors come out in base axes unless said otherwise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.compiled import FOUR, MATRIX, TRIPLE, compiled
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
    x, y, z, w = values / norm
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def quaternion_from_rotation(rotation: Array) -> Array:
    """Quaternion (x, y, z, w) with w >= 0 of a rotation matrix (3, 3)."""
    return np.array(quaternion_of(rotation))


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Rotation matrix (3, 3) from roll, pitch and yaw about fixed axes, rad."""
    roll, pitch, yaw = np.asarray(rpy, dtype=float)
    (cr, sr), (cp, sp), (cy, sy) = [(math.cos(a), math.sin(a)) for a in (roll, pitch, yaw)]
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


@compiled(FOUR, MATRIX)
def quaternion_of(m: Array) -> tuple[float, float, float, float]:
    """Quaternion (x, y, z, w) with w >= 0 of a rotation matrix (3, 3).

    Dividing by the largest component keeps it exact up to half a turn.
    """
    a, e, i = m[0, 0], m[1, 1], m[2, 2]
    trace = a + e + i
    if trace >= max(a, e, i):
        s = 2.0 * math.sqrt(1.0 + trace)
        return (m[2, 1] - m[1, 2]) / s, (m[0, 2] - m[2, 0]) / s, (m[1, 0] - m[0, 1]) / s, 0.25 * s
    if a >= e and a >= i:
        s = 2.0 * math.sqrt(max(1.0 + a - e - i, 1e-300))
        x, y, z, w = 0.25 * s, (m[0, 1] + m[1, 0]) / s, (m[0, 2] + m[2, 0]) / s, (m[2, 1] - m[1, 2]) / s
    elif e >= i:
        s = 2.0 * math.sqrt(max(1.0 + e - a - i, 1e-300))
        x, y, z, w = (m[0, 1] + m[1, 0]) / s, 0.25 * s, (m[1, 2] + m[2, 1]) / s, (m[0, 2] - m[2, 0]) / s
    else:
        s = 2.0 * math.sqrt(max(1.0 + i - a - e, 1e-300))
        x, y, z, w = (m[0, 2] + m[2, 0]) / s, (m[1, 2] + m[2, 1]) / s, 0.25 * s, (m[1, 0] - m[0, 1]) / s
    return (x, y, z, w) if w >= 0.0 else (-x, -y, -z, -w)


@compiled(TRIPLE, MATRIX, MATRIX)
def rotation_error(rotation: Array, desired: Array) -> tuple[float, float, float]:
    """Rotation vector that turns `rotation` into `desired`, in base axes: log(R_d R^T), rad, length 0..pi.

    It equals R log(R^T R_d), the vector of van Steen 2024, eqs. (11) and (17), taken from tool axes to base axes.
    """
    product = np.empty((3, 3))
    for row in range(3):
        for column in range(3):
            total = 0.0
            for k in range(3):
                total += desired[row, k] * rotation[column, k]
            product[row, column] = total
    x, y, z, w = quaternion_of(product)
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 / w if sine < _SMALL_ANGLE else 2.0 * math.atan2(sine, w) / sine
    return scale * x, scale * y, scale * z


def rotation_error_rate(error: ArrayLike) -> Array:
    """Matrix (3, 3) that takes the angular velocity of the tool (base axes) to the rate of `rotation_error`.

    With phi the error and R_d constant, d phi/dt = -J_r(phi)^-1 omega, J_r being the right Jacobian of SO(3).
    """
    phi = np.asarray(error, dtype=float)
    angle = float(np.linalg.norm(phi))
    cross = np.array([[0.0, -phi[2], phi[1]], [phi[2], 0.0, -phi[0]], [-phi[1], phi[0], 0.0]])
    if angle < 1e-4:
        quadratic = 1.0 / 12.0
    else:
        quadratic = 1.0 / angle**2 - (1.0 + math.cos(angle)) / (2.0 * angle * math.sin(angle))
    return -(np.eye(3) + 0.5 * cross + quadratic * cross @ cross)
