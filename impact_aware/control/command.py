"""The result of a control cycle: its mode, its torques, its reference, and why a torque was refused or stopped."""

from __future__ import annotations

import enum
from typing import NamedTuple

from impact_aware.arrays import Array
from impact_aware.control.qp import QpStatus


class Mode(enum.IntEnum):
    """Modes of the controller."""

    IDLE = 0
    ANTE = 1
    INTERIM = 2
    POST = 3
    SAFE = 4
    HOLD = 5

    @property
    def follows_field(self) -> bool:
        """Whether the arms move along the reference field."""
        return self in (Mode.ANTE, Mode.INTERIM, Mode.POST)


class SafeReason(enum.StrEnum):
    """Why the controller went to the safe mode; numbered in this order by ControllerState.REASON_*."""

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
    ARM_STOPPED = "ARM_STOPPED"


class Violation(NamedTuple):
    """A limit that was left.

    Attributes:
        reason: Which limit.
        detail: One sentence with the values.
    """

    reason: SafeReason
    detail: str


class Command(NamedTuple):
    """Result of one control cycle; arms in the controller's order, everything in the common base frame.

    Attributes:
        time: Stamp of the state it answers, s.
        mode: Mode of this cycle.
        effort: (n,) Whole torques of all arms, arm after arm, N m: as sent, when it comes from a `ControlSession`.
        tool_position: (arms, 3) m.
        tool_twist: (arms, 6) m/s and rad/s.
        reference_twist: (arms, 6) Twist of the field in use, m/s and rad/s; zero outside the tracking modes.
        target_acceleration: (arms, 6) Of the tracking task (20), (34), (38), m/s^2 and rad/s^2; zero outside them.
        object_position: (3,) Estimated object centre, m; NaN without a field.
        blend: gamma (35): 0 up to the impact, 1 in post-impact control.
        qp_status: How the quadratic program ended.
        reason: Why the controller is in the safe mode, else None.
        detail: One sentence about the reason, empty otherwise.
    """

    time: float
    mode: Mode
    effort: Array
    tool_position: Array
    tool_twist: Array
    reference_twist: Array
    target_acceleration: Array
    object_position: Array
    blend: float
    qp_status: QpStatus
    reason: SafeReason | None
    detail: str
