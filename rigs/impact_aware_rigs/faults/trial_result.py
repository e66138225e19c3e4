"""What is tried with a fault, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

MODES = ("ante", "interim", "post", "safe")
"""Modes of the controller in which faults begin."""


@dataclass(frozen=True)
class Trial:
    """What is tried.

    Attributes:
        fault: Name of the fault's class.
        mode: One of `MODES`.
        seed: Decides when the fault begins, how long it lasts, how bad it is, which of several arms it has, the world
            that the trial takes place in, and all noise.
        interface: What the controller commands the arms by: `effort` or `local_law`.
    """

    fault: str
    mode: str
    seed: int
    interface: str = "effort"


@dataclass(frozen=True)
class TrialResult:
    """What came of it.

    Attributes:
        trial: What was tried.
        world: Of `perfect`, `noisy` (noise and false masses) and `flexible` (those, and flexible joints).
        arms: Names of the arms that the fault had.
        severity: Of the fault, in its own unit.
        duration: Of the fault, s.
        reason: Why the controller went to the safe mode; empty when it did not.
        detail: The sentence with it.
        expected: The right reasons; an empty one stands for no safe mode.
        outcome: `safe`, `done` (the task was done all the same), `restarted`, or `neither`.
        rest_time: From the begin of the safe mode to rest, s; NaN without.
        recovered: Whether it could be reset and started again.
        peak_effort_share: Largest command over its limit.
        peak_rate_share: Largest change of a command over its limit.
        held: Whether two palms held the object off its table when the safe mode began.
        fell: How far it came down from there until the arms were at rest, m; NaN when it was not held.
        failures: What was not as it must be, in words; empty when all was.
    """

    trial: Trial
    world: str
    arms: tuple[str, ...]
    severity: float
    duration: float
    reason: str
    detail: str
    expected: tuple[str, ...]
    outcome: str
    rest_time: float
    recovered: bool
    peak_effort_share: float
    peak_rate_share: float
    held: bool
    fell: float
    failures: tuple[str, ...]
