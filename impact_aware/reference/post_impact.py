"""Post-impact velocity field: starts at the predicted object velocity and leads the object to its goal."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from impact_aware.errors import InvalidInputError
from impact_aware.reference.rotation import rotation_error, rotation_from_quaternion
from impact_aware.reference.smoothstep import smoothstep

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PostImpactField:
    """Time-invariant velocity reference of the object after the impact, and of every tool in contact with it.

    Paper 002, eqs. (14)-(17). Without a prediction the field is (14) alone, as its baselines have it.

    Attributes:
        goal: (3,) Where the object shall end, m.
        object_position_at_impact: (3,) Object centre when the impact happened, m.
        object_velocity_after: (3,) Predicted object velocity just after the impact, m/s, or None.
        orientation: (4,) Desired tool orientation, quaternion x, y, z, w.
        kappa_p: Gain towards the goal, 1/s.
        r_min: Up to this distance from the place of the impact the reference is the prediction, m.
        r_max: From this distance on it leads to the goal, m.
        kappa_r: Rotation gain, 1/s.
    """

    goal: Array
    object_position_at_impact: Array
    object_velocity_after: Array | None
    orientation: Array
    kappa_p: float = 2.0
    r_min: float = 0.1
    r_max: float = 0.3
    kappa_r: float = 30.0
    rotation: Array = field(init=False, repr=False)
    _numbers: tuple[float, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the numbers and keep what every evaluation needs.

        Raises:
            InvalidInputError: A number that makes no field, by name.
        """
        if not self.kappa_p > 0.0:
            raise InvalidInputError("kappa_p", self.kappa_p, "a value > 0 1/s")
        if not 0.0 <= self.r_min < self.r_max:
            raise InvalidInputError("r_max", self.r_max, f"more than r_min = {self.r_min:.4g} m >= 0")
        if not self.kappa_r >= 0.0:
            raise InvalidInputError("kappa_r", self.kappa_r, "a value >= 0 1/s")
        after = np.zeros(3) if self.object_velocity_after is None else self.object_velocity_after
        numbers = tuple(float(v) for part in (self.goal, self.object_position_at_impact, after) for v in part)
        if not all(map(math.isfinite, numbers)):
            raise InvalidInputError("post-impact field", numbers, "finite positions and velocities")
        object.__setattr__(self, "rotation", rotation_from_quaternion(self.orientation))
        object.__setattr__(self, "_numbers", numbers)

    def linear(self, object_position: Array) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Linear velocity (15) and its acceleration along the field at an object position (3,).

        Returns:
            Velocity, m/s, and acceleration, m/s^2.
        """
        px, py, pz = object_position.tolist()
        gx, gy, gz, ox, oy, oz, ex, ey, ez = self._numbers
        kappa = self.kappa_p
        fx, fy, fz = kappa * (gx - px), kappa * (gy - py), kappa * (gz - pz)
        if self.object_velocity_after is None:
            return (fx, fy, fz), (-kappa * fx, -kappa * fy, -kappa * fz)
        cx, cy, cz = px - ox, py - oy, pz - oz
        distance = math.sqrt(cx * cx + cy * cy + cz * cz)
        beta, slope = smoothstep(distance, self.r_min, self.r_max)
        if beta == 0.0:
            return (ex, ey, ez), (0.0, 0.0, 0.0)
        dx, dy, dz = fx - ex, fy - ey, fz - ez
        wx, wy, wz = ex + beta * dx, ey + beta * dy, ez + beta * dz
        fade = slope * (cx * wx + cy * wy + cz * wz) / distance
        pull = -beta * kappa
        return (wx, wy, wz), (pull * wx + fade * dx, pull * wy + fade * dy, pull * wz + fade * dz)

    def velocity(self, object_position: Array) -> Array:
        """Reference velocity (3,) at an object position (3,), m/s (15)."""
        return np.array(self.linear(object_position)[0])

    def acceleration(self, object_position: Array) -> Array:
        """Reference acceleration (3,) at an object position (3,), m/s^2, in the manner of (10)."""
        return np.array(self.linear(object_position)[1])

    def evaluate(self, object_position: Array, rotation: Array) -> tuple[Array, Array]:
        """Twist and acceleration reference of a tool that moves with the object.

        Args:
            object_position: (3,) Object centre, m.
            rotation: (3, 3) Tool orientation.

        Returns:
            Twist (6,) and acceleration (6,) in base axes, linear part first; the angular part is (17).
        """
        (vx, vy, vz), (ax, ay, az) = self.linear(object_position)
        ex, ey, ez = rotation_error(rotation, self.rotation)
        kappa = self.kappa_r
        square = -kappa * kappa
        return (
            np.array([vx, vy, vz, kappa * ex, kappa * ey, kappa * ez]),
            np.array([ax, ay, az, square * ex, square * ey, square * ez]),
        )
