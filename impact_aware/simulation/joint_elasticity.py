"""What a flexible, torque-controlled joint has beyond a rigid one (Rey Arias 2024, (1)-(6)): the only model of it."""

from __future__ import annotations

import math
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
        """Check every field; an InvalidInputError names the wrong one."""
        shape = np.shape(self.motor_inertia)
        for name in ("stiffness", "motor_inertia", "apparent_motor_inertia", "damping"):
            values = np.array(getattr(self, name), dtype=float)
            good, lowest = (values >= 0.0, ">= 0") if name == "damping" else (values > 0.0, "> 0")
            if values.shape != shape or values.ndim != 1 or not np.all(good & np.isfinite(values)):
                raise InvalidInputError(name, values.tolist(), f"values {lowest}, one per joint")
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
            np.broadcast_to(stiffness, robot.n),
            np.broadcast_to(damping, robot.n),
            robot.motor_inertia_for("M+B_rho"),
            robot.apparent_motor_inertia,
            torque_rate,
            torque_cutoff,
        )

    def torque(self, theta: Array, dtheta: Array, q: Array, dq: Array) -> Array:
        """What the link-side torque sensors show, tau + D K^-1 dtau (n,), N m (Rey Arias 2024, (2)).

        `theta` and `dtheta` (n,) are those of the motors behind the gear, `q` and `dq` (n,) of the links; rad, rad/s.
        """
        return self.stiffness * (theta - q) + self.damping * (dtheta - dq)

    def actuation(self, desired: Array, measured: Array) -> Array:
        """Motor torques (n,) of the torque loop, N m, from link-side torques `desired` u and `measured` (n,), N m.

        B_rho B_theta^-1 u + (I - B_rho B_theta^-1) times the reading, which may be filtered (Rey Arias 2024, (4)).
        """
        gain = self.motor_inertia / self.apparent_motor_inertia
        return gain * desired + (1.0 - gain) * measured

    def motor_acceleration(self, actuation: Array, torque: Array) -> Array:
        """(n,) rad/s^2, of motors that `actuation` drives against the joint torque (Rey Arias 2024, (3))."""
        return (actuation - torque) / self.motor_inertia


class FlexibleDrive:
    """The motor side of one arm, stepped along with MuJoCo's physics; the links carry no motor inertia then.

    Motor positions are integrated semi-implicitly, as MuJoCo integrates the links, so that the pair is one symplectic
    scheme. The torque loop samples and holds at its own rate.

    Attributes:
        elasticity: The joints.
        torque: (n,) What the link-side torque sensors show, N m.
        theta: (n,) Motor positions behind the gear, rad.
        motor_velocity: (n,) Their velocities, rad/s.
    """

    def __init__(self, elasticity: JointElasticity, timestep: float) -> None:
        """Prepare for physics steps of `timestep` s.

        Raises:
            InvalidInputError: The torque loop's period is no whole number of physics steps.
        """
        self.elasticity = elasticity
        self._timestep = timestep
        ratio = 1.0 / (elasticity.torque_rate * timestep)
        self._steps_per_sample = round(ratio)
        if self._steps_per_sample < 1 or abs(ratio - self._steps_per_sample) > 1e-6:
            raise InvalidInputError("torque_rate", elasticity.torque_rate, f"a whole fraction of {1.0 / timestep:g} Hz")
        self._filter_share = 1.0 - math.exp(-2.0 * math.pi * elasticity.torque_cutoff * timestep)
        zeros = np.zeros(elasticity.stiffness.size)
        self.reset(zeros, zeros, zeros)

    def reset(self, q: Array, dq: Array, torque: Array) -> None:
        """Put the motors where joints at `q`, `dq` (n,) carry `torque` (n,), N m, and move along with the links."""
        self.theta = q + torque / self.elasticity.stiffness
        self.motor_velocity = dq.copy()
        self._filtered = torque.copy()
        self._actuation = torque.copy()
        self._countdown = 0
        self.torque = torque.copy()

    def step(self, desired: Array, q: Array, dq: Array) -> Array:
        """Torque (n,) on the links over the coming physics step, N m, and the motors moved on by it.

        `desired` (n,) is the commanded link-side torque u, N m; `q`, `dq` (n,) are the links' at the step's start.
        """
        elasticity = self.elasticity
        self.torque = elasticity.torque(self.theta, self.motor_velocity, q, dq)
        if self._countdown == 0:
            self._actuation = elasticity.actuation(desired, self._filtered)
            self._countdown = self._steps_per_sample
        self._countdown -= 1
        self._filtered = self._filtered + self._filter_share * (self.torque - self._filtered)
        self.motor_velocity = self.motor_velocity + self._timestep * elasticity.motor_acceleration(
            self._actuation, self.torque
        )
        self.theta = self.theta + self._timestep * self.motor_velocity
        return self.torque
