"""Tasks, quadratic program, and the reference spreading controller with its baselines."""

from impact_aware.control.command import Command, Mode, SafeReason
from impact_aware.control.parameters import INTERIM_ENDS, VARIANTS, ControlParameters
from impact_aware.control.qp import QpStatus
from impact_aware.control.session import ControlSession
from impact_aware.control.warm_up import warm_up

__all__ = [
    "INTERIM_ENDS",
    "VARIANTS",
    "Command",
    "ControlParameters",
    "ControlSession",
    "Mode",
    "QpStatus",
    "SafeReason",
    "warm_up",
]
