"""What keeps an arm safe whatever happens: reasons for the safe mode and the envelope around every command."""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.control import kernels
from impact_aware.errors import InvalidInputError


class SafeReason(enum.StrEnum):
    """Why the controller went to the safe mode."""

    STATE_STALE = "STATE_STALE"
    JOINT_MISSING = "JOINT_MISSING"
    NON_FINITE = "NON_FINITE"
    STATE_IMPLAUSIBLE = "STATE_IMPLAUSIBLE"
    CLOCK_JUMP = "CLOCK_JUMP"
    POSITION_LIMIT = "POSITION_LIMIT"
    VELOCITY_LIMIT = "VELOCITY_LIMIT"
    TORQUE_LIMIT = "TORQUE_LIMIT"
    TORQUE_RATE_LIMIT = "TORQUE_RATE_LIMIT"
    WORKSPACE_LIMIT = "WORKSPACE_LIMIT"
    TOOL_SPEED_LIMIT = "TOOL_SPEED_LIMIT"
    CONTACT_FORCE_LIMIT = "CONTACT_FORCE_LIMIT"
    IMPACT_MISSED = "IMPACT_MISSED"
    OBJECT_LOST = "OBJECT_LOST"
    QP_INFEASIBLE = "QP_INFEASIBLE"
    EXCEPTION = "EXCEPTION"
    UPSTREAM_LOST = "UPSTREAM_LOST"
    REQUESTED = "REQUESTED"


class CommandLimiter:
    """The last thing a command passes, independent of the QP: finite, within the torque and the torque-rate limit.

    Attributes:
        previous: (n,) The last command, N m.
        interventions: Commands that had to be changed by more than the solver's tolerance.
    """

    def __init__(self, effort_limit: ArrayLike, effort_step: ArrayLike, tolerance: float = 1e-3) -> None:
        """Keep the limits.

        Args:
            effort_limit: (n,) Largest torque, N m.
            effort_step: (n,) Largest change from one command to the next, N m.
            tolerance: Change of a command that does not count as an intervention, N m.

        Raises:
            InvalidInputError: A limit that is not positive.
        """
        self._limit = np.array(effort_limit, dtype=float)
        self._step = np.array(effort_step, dtype=float)
        for name, values in (("effort_limit", self._limit), ("effort_step", self._step)):
            if not np.all(values > 0.0):
                raise InvalidInputError(name, values.tolist(), "values > 0")
        self._tolerance = tolerance
        self.previous = np.zeros_like(self._limit)
        self.interventions = 0

    def reset(self, effort: Array) -> None:
        """Begin at a torque (n,) that the arm already receives, such as its gravity torque, N m."""
        self.previous = np.clip(np.where(np.isfinite(effort), effort, 0.0), -self._limit, self._limit)

    def apply(self, effort: Array) -> Array:
        """The nearest torque (n,) within all limits, N m; an entry that is not finite keeps its last value."""
        result = np.empty_like(self.previous)
        if kernels.limit_command(effort, self.previous, self._limit, self._step, self._tolerance, result):
            self.interventions += 1
        self.previous = result
        return result
