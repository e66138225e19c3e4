"""What a control cycle had to solve, and how many cycles took longer than they should."""

from __future__ import annotations

import enum
from collections import Counter

from impact_aware.control.qp import QpStatus

TIME_BUDGET = 0.6e-3
"""A cycle of one millisecond should leave the rest to states and commands on their ways, s."""


class Regime(enum.StrEnum):
    """Quadratic programs by what is active at their minimum."""

    NO_PROGRAM = "no program"
    INACTIVE = "no limit active"
    ONE_ACTIVE = "one limit active"
    MANY_ACTIVE = "many limits active"
    EXCLUDING = "limits exclude each other"
    CUT = "out of steps"
    NOT_FINITE = "numbers that are not finite"

    @classmethod
    def of(cls, status: QpStatus, active: int) -> Regime:
        """The regime of a program that ended so, with this number of active bounds."""
        if status is QpStatus.SOLVED:
            return (cls.INACTIVE, cls.ONE_ACTIVE)[active] if active < 2 else cls.MANY_ACTIVE
        return {QpStatus.SOFTENED: cls.EXCLUDING, QpStatus.CUT: cls.CUT}.get(status, cls.NOT_FINITE)


class TimeBudget:
    """Counts the cycles that take longer than `TIME_BUDGET`.

    Attributes:
        over: Such cycles, by mode and regime in words.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.over = Counter[str]()

    def note(self, duration: float, mode: str, regime: Regime) -> None:
        """Count a cycle that took `duration`, s."""
        if duration > TIME_BUDGET:
            self.over[f"{mode}, {regime}"] += 1
