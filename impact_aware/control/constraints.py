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
        self.position_lower = np.concatenate([entry.position_lower for entry in limits])
        self.position_upper = np.concatenate([entry.position_upper for entry in limits])
        self.velocity = np.concatenate([entry.velocity for entry in limits])
        self.effort = np.concatenate([entry.effort for entry in limits])
        self.effort_step = np.concatenate([entry.effort_rate for entry in limits]) * period
        self._period = period
        self._braking = braking_acceleration
        self._velocity_rate = 1.0 / max(velocity_horizon, period)

    def acceleration(self, q: Array, dq: Array) -> AccelerationBounds:
        """Bounds from (29) with braking distance, and from (30), at joint positions and velocities (n,)."""
        period, braking = self._period, self._braking
        rate = 1.0 / period
        to_upper, to_lower = self.position_upper - q, q - self.position_lower
        drift = dq * rate
        allowed_up = np.sqrt((2.0 * braking) * np.maximum(to_upper, 0.0))
        allowed_down = np.sqrt((2.0 * braking) * np.maximum(to_lower, 0.0))
        step = 2.0 * rate * rate
        strongest = 2.0 * braking
        # Along the curve sqrt(2 a d) the deceleration is a; towards it the velocity horizon applies.
        slow = self._velocity_rate
        share_up = np.minimum(np.maximum(dq, 0.0) / (allowed_up + _SMALL), 1.0)
        share_down = np.minimum(np.maximum(-dq, 0.0) / (allowed_down + _SMALL), 1.0)
        upper = np.minimum(step * to_upper - 2.0 * drift, (allowed_up - dq) * slow - braking * share_up)
        lower = np.maximum(-step * to_lower - 2.0 * drift, (-allowed_down - dq) * slow + braking * share_down)
        return AccelerationBounds(
            np.minimum(lower, strongest),
            np.maximum(upper, -strongest),
            np.minimum((-self.velocity - dq) * self._velocity_rate, strongest),
            np.maximum((self.velocity - dq) * self._velocity_rate, -strongest),
        )

    def effort_range(self, previous: Array) -> tuple[Array, Array]:
        """Lowest and highest torque (n,) for the next period from (31) and the torque-rate limit, N m.

        The range is never empty when `previous` is within the torque limit.
        """
        return (
            np.maximum(previous - self.effort_step, -self.effort),
            np.minimum(previous + self.effort_step, self.effort),
        )
