"""Limits as bounds on joint acceleration and torque for one control period (van Steen 2024, eqs. 29-31)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import kernels
from impact_aware.robot import JointLimits

SLOPE_STEP = 1e-7
"""Step of the differences of the bounds by a joint's state, rad and rad/s."""


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
        self._joints = np.array(
            [
                np.concatenate([entry.position_lower for entry in limits]),
                np.concatenate([entry.position_upper for entry in limits]),
                np.concatenate([entry.velocity for entry in limits]),
            ]
        )
        effort = np.concatenate([entry.effort for entry in limits])
        self._effort = -effort, effort
        self._settings = period, braking_acceleration, 1.0 / max(velocity_horizon, period)
        self._limits = np.empty((6, effort.size))

    def limits(self, q: Array, dq: Array, bias: Array, torque_range: tuple[Array, Array] | None = None) -> Array:
        """Bounds (6, n) of the next period's program; the next call overwrites them.

        Args:
            q: (n,) Joint positions, rad.
            dq: (n,) Joint velocities, rad/s.
            bias: (n,) h, N m.
            torque_range: Lowest and highest torque (n,) that can be sent, N m; the torque limits when None.

        Returns:
            Lower and upper bound on accelerations, rad/s^2, for positions (29) with the braking distance, then for
            velocities (30), then lowest and highest torque minus h (31), N m.
        """
        lowest, highest = self._effort if torque_range is None else torque_range
        kernels.program_limits(q, dq, self._joints, *self._settings, bias, lowest, highest, self._limits)
        return self._limits

    def slopes(self, q: Array, dq: Array) -> tuple[Array, Array]:
        """How the bounds for positions and velocities change with their own joint's state, by central differences.

        Returns:
            (4, n) By position, 1/s^2, and by velocity, 1/s.
        """
        changes = []
        for moved in ((SLOPE_STEP, 0.0), (0.0, SLOPE_STEP)):
            ends = np.empty((2, 6, q.size))
            for end, sign in zip(ends, (1.0, -1.0), strict=True):
                state = q + sign * moved[0], dq + sign * moved[1]
                kernels.program_limits(*state, self._joints, *self._settings, q, *self._effort, end)
            changes.append((ends[0, :4] - ends[1, :4]) / (2.0 * SLOPE_STEP))
        return changes[0], changes[1]
