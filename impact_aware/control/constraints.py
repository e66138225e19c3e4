"""Limits as bounds on joint acceleration and torque for one control period (paper 002, eqs. 29-31)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impact_aware.robot import JointLimits

Array = NDArray[np.float64]


_SMALL = 1e-9


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
        upper = np.concatenate([entry.position_upper for entry in limits])
        lower = np.concatenate([entry.position_lower for entry in limits])
        velocity = np.concatenate([entry.velocity for entry in limits])
        self.effort = np.concatenate([entry.effort for entry in limits])
        self.effort_step = np.concatenate([entry.effort_rate for entry in limits]) * period
        # Upper limits first, then the lower ones seen from the other side: one formula serves both.
        self._reach = np.concatenate([upper, -lower])
        self._fastest = np.concatenate([velocity, velocity])
        self._period = period
        self._braking = braking_acceleration
        self._velocity_rate = 1.0 / max(velocity_horizon, period)

    def acceleration(self, q: Array, dq: Array) -> AccelerationBounds:
        """Bounds from (29) with braking distance, and from (30), at joint positions and velocities (n,)."""
        n, period, braking, slow = q.size, self._period, self._braking, self._velocity_rate
        speed = np.concatenate((dq, -dq))
        way = self._reach - np.concatenate((q, -q))
        # Along the curve sqrt(2 a d) the deceleration is a; towards it the velocity horizon applies.
        allowed = np.sqrt((2.0 * braking) * np.maximum(way, 0.0))
        share = np.minimum(np.maximum(speed / (allowed + _SMALL), 0.0), 1.0)
        position = np.minimum((2.0 / period**2) * (way - period * speed), (allowed - speed) * slow - braking * share)
        position = np.maximum(position, -2.0 * braking)
        velocity = np.maximum((self._fastest - speed) * slow, -2.0 * braking)
        return AccelerationBounds(-position[n:], position[:n], -velocity[n:], velocity[:n])

    def effort_range(self, previous: Array) -> tuple[Array, Array]:
        """Lowest and highest torque (n,) for the next period from (31) and the torque-rate limit, N m.

        The range is never empty when `previous` is within the torque limit.
        """
        return (
            np.maximum(previous - self.effort_step, -self.effort),
            np.minimum(previous + self.effort_step, self.effort),
        )
