"""Motors behind elastic joints with a torque loop, as an option of the MuJoCo plant (Rey Arias 2024, eqs. 1-6)."""

from __future__ import annotations

import math

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.simulation.joint_elasticity import JointElasticity


class FlexibleDrive:
    """The motor side of one arm, stepped along with the physics; the links carry no motor inertia then.

    Motor positions are integrated semi-implicitly, as MuJoCo integrates the links, so that the pair is one symplectic
    scheme. The torque loop samples and holds at its own rate.

    Attributes:
        elasticity: The joints.
    """

    def __init__(self, elasticity: JointElasticity, timestep: float) -> None:
        """Prepare for a physics step.

        Args:
            elasticity: The joints of one arm.
            timestep: Physics step, s.

        Raises:
            InvalidInputError: The torque loop's period is no whole number of physics steps.
        """
        self.elasticity = elasticity
        self._timestep = timestep
        ratio = 1.0 / (elasticity.torque_rate * timestep)
        self._steps_per_sample = round(ratio)
        if self._steps_per_sample < 1 or abs(ratio - self._steps_per_sample) > 1e-6:
            raise InvalidInputError("torque_rate", elasticity.torque_rate, f"a whole fraction of {1.0 / timestep:g} Hz")
        self._gain = elasticity.motor_inertia / elasticity.apparent_motor_inertia
        self._filter_share = 1.0 - math.exp(-2.0 * math.pi * elasticity.torque_cutoff * timestep)
        self.reset(np.zeros(self._gain.size), np.zeros(self._gain.size), np.zeros(self._gain.size))

    def reset(self, q: Array, dq: Array, torque: Array) -> None:
        """Put the motors where joints at `q`, `dq` (n,) carry `torque` (n,), N m, and move along with the links."""
        self._theta = q + torque / self.elasticity.stiffness
        self._dtheta = dq.copy()
        self._filtered = torque.copy()
        self._actuation = torque.copy()
        self._countdown = 0
        self.torque = torque.copy()
        """(n,) What the link-side torque sensors show, tau + D K^-1 dtau, N m."""

    @property
    def motor_position(self) -> Array:
        """(n,) Motor positions behind the gear, rad."""
        return self._theta.copy()

    def step(self, desired: Array, q: Array, dq: Array) -> Array:
        """Torque (n,) on the links over the coming physics step, N m, and the motors moved on by it.

        Args:
            desired: (n,) Commanded link-side torque u, N m.
            q: (n,) Link positions at the start of the step, rad.
            dq: (n,) Link velocities, rad/s.
        """
        elasticity = self.elasticity
        torque = elasticity.stiffness * (self._theta - q) + elasticity.damping * (self._dtheta - dq)
        if self._countdown == 0:
            # Equation (4), with the filtered reading in the place of tau + D K^-1 dtau.
            self._actuation = self._gain * desired + (1.0 - self._gain) * self._filtered
            self._countdown = self._steps_per_sample
        self._countdown -= 1
        self._filtered = self._filtered + self._filter_share * (torque - self._filtered)
        self._dtheta = self._dtheta + self._timestep / elasticity.motor_inertia * (self._actuation - torque)
        self._theta = self._theta + self._timestep * self._dtheta
        self.torque = torque
        return np.asarray(torque)
