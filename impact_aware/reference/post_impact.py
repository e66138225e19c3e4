"""Post-impact velocity field: starts at the predicted object velocity and leads the object to its goal."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.reference import kernels
from impact_aware.reference.rotation import rotation_from_quaternion


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
        if not self.kappa_r >= 0.0:
            raise InvalidInputError("kappa_r", self.kappa_r, "a value >= 0 1/s")
        if not self.sideways_radius >= 0.0:
            raise InvalidInputError("sideways_radius", self.sideways_radius, "a value >= 0 m")
        after = np.zeros(3) if self.object_velocity_after is None else self.object_velocity_after
        shape = self.kappa_p, self.r_min, self.r_max, self.kappa_r, self.sideways_radius
        parts = (self.goal, self.object_position_at_impact, after, shape)
        numbers = np.concatenate([np.asarray(part, dtype=float) for part in parts])
        if not np.isfinite(numbers).all():
            raise InvalidInputError("post-impact field", numbers.tolist(), "finite positions and velocities")
        object.__setattr__(self, "rotation", rotation_from_quaternion(self.orientation))
        object.__setattr__(self, "numbers", numbers)

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
