"""Velocity fields before and after the impact, evaluated by compiled kernels.

The ante-impact field leads a tool to the impact position with the impact velocity, and on beyond it. The post-impact
field starts at the predicted object velocity and leads the object to its goal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.reference import kernels
from impact_aware.reference.rotation import rotation_from_quaternion


@dataclass(frozen=True, eq=False)
class AnteImpactField:
    """Time-invariant twist reference of one tool before the impact (van Steen 2024, (4)-(13)).

    The speed is that of the impact everywhere outside the blending zone, so a start from rest needs a ramp: the
    reference `s(t) v(p)` with s a smoothstep in the time since the start has the acceleration
    `s^2 (dv/dp) v + s' v`, which is zero at the start.

    Attributes:
        impact_position: (3,) Desired tool position at the impact, m.
        impact_velocity: (3,) Desired tool velocity at the impact, m/s.
        object_position: (3,) Estimated object centre, m.
        orientation: (4,) Desired tool orientation, quaternion x, y, z, w.
        alpha: Shaping of the approach, 1/s.
        r_min: Closer to the object centre than this the reference is the impact velocity, m.
        r_max: Farther than this it is the approach field alone, m.
        kappa_r: Rotation gain, 1/s.
        rotation_deceleration: Largest deceleration of the rotation, rad/s^2; 0 for any. A tool that begins far from its
            orientation, as towards an object that is turned, would turn faster than an arm can, and stop with a jerk.
        start_ramp: Time over which the reference grows after the start, s; 0 for none.
        rotation: (3, 3) The matrix of `orientation`.
        numbers: Of the field, as the compiled kernels read them.
    """

    impact_position: Array
    impact_velocity: Array
    object_position: Array
    orientation: Array
    alpha: float = 5.0
    r_min: float = 0.15
    r_max: float = 0.30
    kappa_r: float = 30.0
    start_ramp: float = 0.0
    rotation_deceleration: float = 0.0
    rotation: Array = field(init=False, repr=False)
    numbers: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse, by name, a number that makes no field; keep what every evaluation needs."""
        speed = float(np.linalg.norm(self.impact_velocity))
        if not (math.isfinite(speed) and speed > 0.0):
            raise InvalidInputError("impact_velocity", np.asarray(self.impact_velocity).tolist(), "a speed > 0 m/s")
        if not self.alpha > 0.0:
            raise InvalidInputError("alpha", self.alpha, "a value > 0 1/s")
        reach = float(np.linalg.norm(np.subtract(self.impact_position, self.object_position)))
        if not self.r_min > reach:
            expected = f"more than {reach:.4g} m, the distance of the impact position from the object centre"
            raise InvalidInputError("r_min", self.r_min, expected)
        if not self.r_max > self.r_min:
            raise InvalidInputError("r_max", self.r_max, f"more than r_min = {self.r_min:.4g} m")
        _check_not_negative(self, kappa_r="1/s", start_ramp="s", rotation_deceleration="rad/s^2")
        shape = self.alpha, self.r_min, self.r_max, self.kappa_r, self.start_ramp, speed, self.rotation_deceleration
        _keep(self, self.impact_position, self.impact_velocity, self.object_position, shape)

    def velocity(self, position: Array) -> Array:
        """Linear reference velocity (3,) at a tool position (3,), m/s (6)."""
        return np.array(kernels.ante_impact_linear(position, self.numbers)[:3])

    def acceleration(self, position: Array) -> Array:
        """Linear reference acceleration (3,) at a tool position (3,), m/s^2 (10)."""
        return np.array(kernels.ante_impact_linear(position, self.numbers)[3:])

    def evaluate(self, position: Array, rotation: Array, elapsed: float = math.inf) -> tuple[Array, Array]:
        """Reference twist (12) and its acceleration (13); the angular velocity (11) is kappa_r log(R_d R^T).

        Args:
            position: (3,) Tool position, m.
            rotation: (3, 3) Tool orientation.
            elapsed: Time since the start, s; matters only during the start ramp.

        Returns:
            Twist (6,) and acceleration (6,) in base axes, linear part first.
        """
        twist, acceleration = np.empty(6), np.empty(6)
        kernels.ante_impact(position, rotation, elapsed, self.numbers, self.rotation, twist, acceleration)
        return twist, acceleration


@dataclass(frozen=True, eq=False)
class PostImpactField:
    """Time-invariant velocity reference of the object after the impact, and of every tool in contact with it.

    van Steen 2024, (14)-(17). Without a prediction the field is (14) alone, as its baselines have it.

    Attributes:
        goal: (3,) Where the object shall end, m.
        object_position_at_impact: (3,) Object centre when the impact happened, m.
        object_velocity_after: (3,) Predicted object velocity just after the impact, m/s, or None.
        orientation: (4,) Desired tool orientation, quaternion x, y, z, w.
        kappa_p: Gain towards the goal, 1/s.
        r_min: Up to this distance from the impact position the reference is the prediction, m.
        r_max: From this distance on it leads to the goal, m.
        kappa_r: Rotation gain, 1/s.
        sideways_radius: Up to this distance from the impact position what of the prediction is across the way to the
            goal has left the reference, m; 0 keeps it as long as the rest, as the paper does.
        rotation: (3, 3) The matrix of `orientation`.
        numbers: Of the field, as the compiled kernels read them.
    """

    goal: Array
    object_position_at_impact: Array
    object_velocity_after: Array | None
    orientation: Array
    kappa_p: float = 2.0
    r_min: float = 0.1
    r_max: float = 0.3
    kappa_r: float = 30.0
    sideways_radius: float = 0.0
    rotation: Array = field(init=False, repr=False)
    numbers: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse, by name, a number that makes no field; keep what every evaluation needs."""
        if not self.kappa_p > 0.0:
            raise InvalidInputError("kappa_p", self.kappa_p, "a value > 0 1/s")
        if not 0.0 <= self.r_min < self.r_max:
            raise InvalidInputError("r_max", self.r_max, f"more than r_min = {self.r_min:.4g} m >= 0")
        _check_not_negative(self, kappa_r="1/s", sideways_radius="m")
        after = np.zeros(3) if self.object_velocity_after is None else self.object_velocity_after
        shape = self.kappa_p, self.r_min, self.r_max, self.kappa_r, self.sideways_radius
        _keep(self, self.goal, self.object_position_at_impact, after, shape)
        if not np.isfinite(self.numbers).all():
            raise InvalidInputError("post-impact field", self.numbers.tolist(), "finite positions and velocities")

    @property
    def predicted(self) -> bool:
        """Whether it begins at a predicted velocity."""
        return self.object_velocity_after is not None

    def velocity(self, object_position: Array) -> Array:
        """Reference velocity (3,) at an object position (3,), m/s (15)."""
        return np.array(kernels.post_impact_linear(object_position, self.numbers, self.predicted)[:3])

    def acceleration(self, object_position: Array) -> Array:
        """Reference acceleration (3,) at an object position (3,), m/s^2, in the manner of (10)."""
        return np.array(kernels.post_impact_linear(object_position, self.numbers, self.predicted)[3:])

    def evaluate(self, object_position: Array, rotation: Array) -> tuple[Array, Array]:
        """Twist and acceleration reference of a tool that moves with the object.

        Args:
            object_position: (3,) Object centre, m.
            rotation: (3, 3) Tool orientation.

        Returns:
            Twist (6,) and acceleration (6,) in base axes, linear part first; the angular part is (17).
        """
        twist, acceleration = np.empty(6), np.empty(6)
        kernels.post_impact(object_position, rotation, self.numbers, self.predicted, self.rotation, twist, acceleration)
        return twist, acceleration


def _check_not_negative(own: AnteImpactField | PostImpactField, **units: str) -> None:
    """Refuse, by name, a number of a field that is negative or NaN."""
    for name, unit in units.items():
        if not getattr(own, name) >= 0.0:
            raise InvalidInputError(name, getattr(own, name), f"a value >= 0 {unit}")


def _keep(own: AnteImpactField | PostImpactField, *parts: ArrayLike) -> None:
    """Set the `rotation` of a field, and its `numbers` from parts of them."""
    object.__setattr__(own, "rotation", rotation_from_quaternion(own.orientation))
    object.__setattr__(own, "numbers", np.concatenate([np.asarray(part, dtype=float) for part in parts]))
