"""What a flexible, torque-controlled joint has beyond a rigid one (Rey Arias 2024, eqs. 1-6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.force_model import check_positive
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

CONTROL_PERIOD = 1e-3
"""Period of the high-level controller, s."""


@dataclass(frozen=True, eq=False)
class JointElasticity:
    """Elasticity, motors and torque loop of all joints, link side.

    Attributes:
        stiffness: (n,) K, N m/rad, > 0.
        damping: (n,) D, N m s/rad, >= 0.
        motor_inertia: (n,) B_rho, kg m^2, > 0.
        apparent_motor_inertia: (n,) B_theta, kg m^2, what the torque loop aims at, 0 < B_theta <= B_rho.
        torque_rate: Rate of the torque loop, Hz, whole multiple of 1 kHz; 4 kHz in Rey Arias 2024, section III.
        torque_cutoff: Cut-off of the first-order filter on the measured torque, Hz; 300 Hz there. Infinite: no filter.
    """

    stiffness: Array
    damping: Array
    motor_inertia: Array
    apparent_motor_inertia: Array
    torque_rate: float = 4000.0
    torque_cutoff: float = 300.0

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            InvalidInputError: Naming the field.
        """
        shape = np.shape(self.motor_inertia)
        for name in ("stiffness", "motor_inertia", "apparent_motor_inertia", "damping"):
            values = np.array(getattr(self, name), dtype=float)
            lowest = "values >= 0" if name == "damping" else "values > 0"
            good = np.all(values >= 0.0) if name == "damping" else np.all(values > 0.0)
            if values.shape != shape or values.ndim != 1 or not (good and np.all(np.isfinite(values))):
                raise InvalidInputError(name, values.tolist(), f"{lowest}, one per joint")
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if np.any(self.apparent_motor_inertia > self.motor_inertia):
            raise InvalidInputError(
                "apparent_motor_inertia", self.apparent_motor_inertia.tolist(), f"at most {self.motor_inertia.tolist()}"
            )
        check_positive("torque_rate", self.torque_rate, "Hz")
        if abs(self.torque_rate * CONTROL_PERIOD - round(self.torque_rate * CONTROL_PERIOD)) > 1e-9:
            raise InvalidInputError("torque_rate", self.torque_rate, "a whole multiple of 1000 Hz")
        if not self.torque_cutoff > 0.0:
            raise InvalidInputError("torque_cutoff", self.torque_cutoff, "a frequency > 0 Hz")

    @classmethod
    def of(
        cls,
        robot: RobotModel,
        *,
        stiffness: ArrayLike = 1e4,
        damping: ArrayLike = 20.0,
        torque_rate: float = 4000.0,
        torque_cutoff: float = 300.0,
    ) -> JointElasticity:
        """With the motor inertias of `robot`; stiffness and damping are orders of magnitude (Rey Arias 2024, III).

        Raises:
            InvalidInputError: The robot's motor inertia is unknown.
        """
        return cls(
            np.broadcast_to(np.asarray(stiffness, dtype=float), (robot.n,)).copy(),
            np.broadcast_to(np.asarray(damping, dtype=float), (robot.n,)).copy(),
            robot.motor_inertia_for("M+B_rho"),
            robot.apparent_motor_inertia,
            torque_rate,
            torque_cutoff,
        )
