"""Classes of faults: what happens, for how long, with which outcomes that is well; a trial of one, and its result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from impact_aware.control import SafeReason
from impact_aware.errors import UnknownNameError

STALE, JUMP, MISSING = SafeReason.STATE_STALE, SafeReason.CLOCK_JUMP, SafeReason.JOINT_MISSING
WRONG, LOST, MISSED = SafeReason.STATE_IMPLAUSIBLE, SafeReason.UPSTREAM_LOST, SafeReason.IMPACT_MISSED

GAP = 0.02
"""A gap in the states longer than this is noticed, s."""

Reasons = frozenset[SafeReason | None]
"""Reasons of the safe mode; None stands for no safe mode: the task is done as if nothing had been."""


class Extent(NamedTuple):
    """How many of the arms have a fault. What the arms don't have alike, leaves states that are no pairs."""

    faulty: int
    arms: int

    @property
    def apart(self) -> bool:
        """Whether some arm of several does not have it."""
        return self.faulty < self.arms


Outcomes = Callable[[float, float, Extent], Reasons]


@dataclass(frozen=True)
class FaultClass:
    """One class of faults.

    Attributes:
        name: Of the class; a fault of joint states has the same name.
        kind: `state` for the stream of joint states; `event`, `process`, `object` or `command` for what else fails;
            `model` for a model that does not fit the arm, which is tried at activation, whatever the mode;
            `held` for held arms, in the safe mode or, for the other modes, the hold mode.
        text: What happens, in words.
        duration: Shortest and longest time that it lasts, s.
        outcomes: The right reasons, given the fault's severity, its duration in s, and which of the arms have it.
    """

    name: str
    kind: str
    text: str
    duration: tuple[float, float]
    outcomes: Outcomes


def _always(*reasons: SafeReason | None) -> Outcomes:
    return lambda severity, duration, extent: frozenset(reasons)


def _when_long(limit: float, *reasons: SafeReason | None) -> Outcomes:
    """Harmless when shorter than the limit, one of the reasons when longer; a few ms around it may be either."""

    def outcomes(_severity: float, duration: float, _extent: Extent) -> Reasons:
        if duration > limit + 0.003:
            return frozenset(reasons)
        return frozenset({None}) if duration < limit - 0.003 else frozenset({None, *reasons})

    return outcomes


def _unpaired(together: Outcomes) -> Outcomes:
    """Outcomes of a fault that on one of several arms leaves no pairs of states: there those of a gap as long."""
    gap = _when_long(GAP, STALE)
    return lambda severity, duration, extent: (gap if extent.apart else together)(severity, duration, extent)


def _by_chance(_severity: float, _duration: float, extent: Extent) -> Reasons:
    """Harmless for one arm; of two the states may find no partner of the same cycle for longer than a gap may be."""
    return frozenset({None, STALE} if extent.arms > 1 else {None})


def _delayed(severity: float, duration: float, extent: Extent) -> Reasons:
    if severity > 21.0 or extent.apart:
        return frozenset({STALE})
    return frozenset({None}) if severity < 15.0 else frozenset({None, STALE})


def _starved(severity: float, _duration: float, _extent: Extent) -> Reasons:
    # Only the newest state waits: the stall is the gap, as long as its cycles begin and end where they may.
    if severity > 22.0:
        return frozenset({STALE})
    return frozenset({None}) if severity < 17.0 else frozenset({None, STALE})


def _absent(reason: SafeReason) -> Outcomes:
    """A gap by missing joints: seen as such by the watchdog after 0.1 s, as a gap once states are back before that."""

    def outcomes(_severity: float, duration: float, extent: Extent) -> Reasons:
        if duration > 0.112:
            return frozenset({reason})
        return frozenset({reason, STALE}) if duration > 0.097 else _when_long(GAP, STALE)(0.0, duration, extent)

    return outcomes


def _taken_away(_severity: float, _duration: float, extent: Extent) -> Reasons:
    # One arm pushes on to the goal, two palms with nothing between them would meet.
    return frozenset({MISSED, SafeReason.OBJECT_LOST} if extent.arms > 1 else {None, MISSED})


FAULT_CLASSES: dict[str, FaultClass] = {
    fault.name: fault
    for fault in (
        FaultClass("drop", "state", "5 to 50 % of the states are lost", (0.05, 0.3), _by_chance),
        FaultClass("silence", "state", "no states at all", (0.005, 0.3), _when_long(GAP, STALE)),
        FaultClass("delay", "state", "states come 1 to 60 ms late", (0.1, 0.3), _delayed),
        FaultClass("reorder", "state", "states overtake each other by up to 5 ms", (0.05, 0.3), _by_chance),
        FaultClass("duplicate", "state", "every state comes twice", (0.05, 0.3), _always(None)),
        FaultClass("nan", "state", "a position is NaN", (0.001, 0.3), _when_long(GAP, STALE)),
        FaultClass("inf", "state", "a velocity is infinite", (0.001, 0.3), _always(None)),
        FaultClass("huge_position", "state", "a position is 1e6 rad", (0.001, 0.3), _always(WRONG)),
        FaultClass("huge_velocity", "state", "a velocity is 1e6 rad/s", (0.001, 0.3), _always(WRONG)),
        FaultClass("position_step", "state", "a position is off by 0.05 to 0.5 rad", (0.001, 0.3), _always(WRONG)),
        FaultClass("wrong_length", "state", "a value too few or too many", (0.001, 0.3), _always(None, STALE)),
        FaultClass("renamed", "state", "a joint has another name", (0.005, 0.3), _absent(MISSING)),
        FaultClass("missing", "state", "a joint is left out", (0.005, 0.3), _absent(MISSING)),
        FaultClass("clock_forward", "state", "stamps are 2 to 100 s ahead", (0.001, 0.3), _unpaired(_always(JUMP))),
        FaultClass("clock_backward", "state", "stamps are 0.1 to 100 s behind", (0.001, 0.3), _unpaired(_always(JUMP))),
        FaultClass("slow_source", "state", "states come at 30 Hz", (0.1, 0.3), _always(STALE)),
        FaultClass("false_detections", "event", "the detector fires at random", (0.05, 0.3), _always(None)),
        FaultClass("prediction_late", "event", "predictions come 50 to 200 ms late", (0.5, 0.5), _always(None)),
        FaultClass("prediction_absurd", "event", "predictions are NaN, or up to 1e6 m/s", (0.5, 0.5), _always(None)),
        FaultClass("detector_killed", "process", "the detector dies", (9.0, 9.0), _always(None, MISSED, LOST)),
        FaultClass("controller_restarted", "process", "the controller starts anew", (0.05, 0.5), _always(None)),
        FaultClass("cpu_starved", "process", "the controller stalls, 2 to 60 ms each", (0.1, 0.3), _starved),
        FaultClass("object_gone", "object", "the object is taken away", (9.0, 9.0), _taken_away),
        FaultClass("command_drop", "command", "5 to 50 % of the commands are lost", (0.05, 0.3), _always(None)),
        FaultClass("unknown_load", "model", "0.05 to 4 kg at a tool that no model has", (1.0, 1.0), _always(None)),
        FaultClass("wrong_link_mass", "model", "a link of the model is off by up to half", (1.0, 1.0), _always(None)),
        FaultClass("wrong_convention", "model", "gravity is commanded as others take it", (1.0, 1.0), _always(None)),
        FaultClass("moved_while_held", "held", "held arms are moved, torques not followed", (0.3, 0.3), _always(None)),
        FaultClass("wrong_joint_order", "model", "the arm's controller has another order", (1.0, 1.0), _always(None)),
    )
}  # fmt: skip


def draw_duration(fault: FaultClass, generator: np.random.Generator) -> float:
    """How long a fault lasts, s; short and long ones come about as often."""
    low, high = fault.duration
    return float(np.exp(generator.uniform(np.log(low), np.log(high))))


def fault_class(name: str) -> FaultClass:
    """A class by its name.

    Raises:
        UnknownNameError: No such class.
    """
    if name not in FAULT_CLASSES:
        raise UnknownNameError("fault", name, tuple(FAULT_CLASSES))
    return FAULT_CLASSES[name]


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
    outcome: str
    recovered: bool
    peak_effort_share: float
    peak_rate_share: float
    failures: tuple[str, ...]
    expected: tuple[str, ...] = ()
    rest_time: float = math.nan
    held: bool = False
    fell: float = math.nan
