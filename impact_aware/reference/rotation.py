"""SO(3) logarithm, its derivative, and quaternions, for orientation references.

Rotations map tool axes to base axes. Vectors come out in base axes unless said otherwise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impact_aware.errors import InvalidInputError

Array = NDArray[np.float64]

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
    return np.array(_quaternion(rotation.tolist()))


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


def rotation_error(rotation: Array, desired: Array) -> tuple[float, float, float]:
    """Rotation vector that turns `rotation` into `desired`, in base axes: log(R_d R^T), rad, length 0..pi.

    It equals R log(R^T R_d), the vector of paper 002, eqs. (11) and (17), taken from tool axes to base axes.
    """
    x, y, z, w = _quaternion((desired @ rotation.T).tolist())
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


def _quaternion(m: list[list[float]]) -> tuple[float, float, float, float]:
    """Quaternion from matrix rows; dividing by the largest component keeps it exact up to half a turn."""
    (a, b, c), (d, e, f), (g, h, i) = m
    trace = a + e + i
    if trace >= max(a, e, i):
        s = 2.0 * math.sqrt(1.0 + trace)
        return (h - f) / s, (c - g) / s, (d - b) / s, 0.25 * s
    if a >= e and a >= i:
        s = 2.0 * math.sqrt(max(1.0 + a - e - i, 1e-300))
        x, y, z, w = 0.25 * s, (b + d) / s, (c + g) / s, (h - f) / s
    elif e >= i:
        s = 2.0 * math.sqrt(max(1.0 + e - a - i, 1e-300))
        x, y, z, w = (b + d) / s, 0.25 * s, (f + h) / s, (c - g) / s
    else:
        s = 2.0 * math.sqrt(max(1.0 + i - a - e, 1e-300))
        x, y, z, w = (c + g) / s, (f + h) / s, 0.25 * s, (d - b) / s
    return (x, y, z, w) if w >= 0.0 else (-x, -y, -z, -w)
