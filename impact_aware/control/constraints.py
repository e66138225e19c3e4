"""Limits as bounds on joint acceleration and torque for one control period (van Steen 2024, eqs. 29-31)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import kernels
from impact_aware.robot import JointLimits


class AccelerationBounds(NamedTuple):
    """Bounds on joint accelerations (n,), rad/s^2; position and velocity apart, because they soften in that order."""

    position_lower: Array
    position_upper: Array
    velocity_lower: Array
    velocity_upper: Array


class LimitBounds:
    """Turns joint limits into bounds for the next period, for all arms together.

    One step of look-ahead, as (29) has it, notices a position limit when it is too late to stop. So the velocity is
    also kept below sqrt(2 a d), from which the joint can stop within its distance d to the limit with deceleration a.
    Likewise (30) alone lets a joint run into a velocity limit faster than the torque rate can take its acceleration
    away, so what is left to either may be used up over a horizon of several periods only. No bound asks for more than
    twice the deceleration a: a state beyond a limit is brought back, not thrown back.
    """

    def __init__(
        self,
        limits: Sequence[JointLimits],
        period: float,
        braking_acceleration: float,
        velocity_horizon: float = 0.02,
    ) -> None:
        """Keep the limits of all arms in one row each.

        Args:
            limits: Of each arm.
            period: Control period, s.
            braking_acceleration: a, rad/s^2.
            velocity_horizon: s; at least one period is taken, which is (30) itself.
        """
        self._upper = np.concatenate([entry.position_upper for entry in limits])
        self._lower = np.concatenate([entry.position_lower for entry in limits])
        self._fastest = np.concatenate([entry.velocity for entry in limits])
        self._effort_upper = np.concatenate([entry.effort for entry in limits])
        self._effort_lower = -self._effort_upper
        self._period = period
        self._braking = braking_acceleration
        self._rate = 1.0 / max(velocity_horizon, period)
        rows = np.empty((4, self._upper.size))
        self._rows, self._bounds = rows, AccelerationBounds(*rows)
        self._effort_range = np.empty_like(self._upper), np.empty_like(self._upper)

    def acceleration(self, q: Array, dq: Array) -> AccelerationBounds:
        """Bounds from (29) with braking distance, and from (30), at joint positions and velocities (n,).

        The next call overwrites them.
        """
        settings = self._period, self._braking, self._rate
        kernels.acceleration_bounds(q, dq, self._lower, self._upper, self._fastest, *settings, self._rows)
        return self._bounds

    def effort_range(self, torque_range: tuple[Array, Array] | None, bias: Array) -> tuple[Array, Array]:
        """Lowest and highest torque (n,) minus h for the next period (31), N m; the next call overwrites it.

        Args:
            torque_range: Lowest and highest torque (n,) that can be sent, N m; the torque limits when None.
            bias: (n,) h, N m.
        """
        lower, upper = (self._effort_lower, self._effort_upper) if torque_range is None else torque_range
        np.subtract(lower, bias, out=self._effort_range[0])
        np.subtract(upper, bias, out=self._effort_range[1])
        return self._effort_range
