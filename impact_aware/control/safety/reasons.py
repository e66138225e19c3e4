"""Why a torque was refused, changed or stopped."""

from __future__ import annotations

import enum
from typing import NamedTuple


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
    TORQUES_UNFIT = "TORQUES_UNFIT"
    CONTACT_FORCE_LIMIT = "CONTACT_FORCE_LIMIT"
    IMPACT_MISSED = "IMPACT_MISSED"
    OBJECT_LOST = "OBJECT_LOST"
    QP_INFEASIBLE = "QP_INFEASIBLE"
    EXCEPTION = "EXCEPTION"
    UPSTREAM_LOST = "UPSTREAM_LOST"
    COMMAND_RIVAL = "COMMAND_RIVAL"
    WATCHDOG = "WATCHDOG"
    REQUESTED = "REQUESTED"


class Violation(NamedTuple):
    """A limit that was left.

    Attributes:
        reason: Which limit.
        detail: One sentence with the values.
    """

    reason: SafeReason
    detail: str
