"""The few high-level controllers that single-impact studies need: desired link-side torques at 1 kHz."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import frozen, vector
from impact_aware.robot import RobotModel


@dataclass(frozen=True, eq=False)
class PressingForce:
    """Compensation of gravity and Coriolis torques, and a constant force at the tool.

    With a zero force and `coriolis` False it is the gravity compensation that Rey Arias 2024 leaves on during its
    impacts. The force leaves the jump of a rigid arm as it is, but keeps the tool of a flexible one, which bounces,
    in contact.

    Attributes:
        robot: The arm.
        force: (3,) At the tool, base frame, N.
        coriolis: Whether Coriolis torques are compensated as well.
    """

    robot: RobotModel
    force: ArrayLike = (0.0, 0.0, 0.0)
    coriolis: bool = True
    _wrench: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the force."""
        object.__setattr__(self, "_wrench", frozen(np.append(vector("force", self.force, 3), np.zeros(3))))

    def __call__(self, time: float, q: Array, dq: Array) -> Array:
        """Torques (n,), N m."""
        feedforward = self.robot.bias(q, dq) if self.coriolis else self.robot.gravity(q)
        return feedforward + self._wrench @ self.robot.frame_jacobian(q)


@dataclass(frozen=True, eq=False)
class StraightLine:
    """Impedance along a straight line at constant velocity through the surface (Rey Arias 2024, III; Aouaj 2021, III).

    Attributes:
        robot: The arm.
        start: (3,) Where the tool is at time zero, base frame, m.
        velocity: (3,) m/s.
        stiffness: N/m.
        damping: N s/m.
    """

    robot: RobotModel
    start: Array
    velocity: Array
    stiffness: float = 1000.0
    damping: float = 60.0

    def __call__(self, time: float, q: Array, dq: Array) -> Array:
        """Torques (n,), N m."""
        jacobian = self.robot.frame_jacobian(q)[:3]
        position = self.robot.placement(q).translation
        force = self.stiffness * (self.start + self.velocity * time - position)
        force = force + self.damping * (self.velocity - jacobian @ dq)
        return self.robot.bias(q, dq) + force @ jacobian
