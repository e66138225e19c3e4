"""Faults in the whole graph on a simulated Franka: what the arm did, what the controller reported, and the recovery.

Each fault strikes a graph of its own in the course of a hit-and-push; all times are the arm's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.cli.output import progress
from impact_aware.control.command import Mode
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.parameters import Options, described
from impact_aware.robot import RobotModel
from impact_aware_rigs.franka.arm import missing_packages
from impact_aware_rigs.franka.errors import ROUNDING, TORQUE_RATE
from impact_aware_rigs.franka.options import PERIOD

AT_REST, REST_SPAN = 0.02, 0.2
"""A joint below this speed, rad/s, for so long, s, is at rest."""

REPORTED = 5.0
"""Longest wait for what the controller reports, s of wall time: one that is dead reports nothing."""

LOOKS = 100
"""So many looks, of 10 ms of wall time or more, without a cycle between: the arm's time stands still."""

LONGEST = 6.0
"""Until an outcome, s."""

FASTER = 0.1
"""By which a joint may become faster than it was when the fault struck, rad/s: what a hit under way still adds."""

Graph = Any


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """Which faults."""

    faults: tuple[str, ...] = described((), "names of faults; none: all")


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        text: What happens.
        mode: Of the controller when it strikes.
        after: So long after the begin of the mode, s.
        strike: Makes it happen.
        recover: Makes the arm move again; a refusal in a sentence, empty when it moves.
        stops: Whether the motion is over.
        by_hand: Whether a person moves the arm.
    """

    text: str
    mode: Mode
    after: float
    strike: Callable[[Graph], None]
    recover: Callable[[Graph], str]
    stops: bool = True
    by_hand: bool = False


def _reflex(mode: Mode, after: float, recover: Callable[[Graph], str]) -> Fault:
    return Fault(f"a reflex in {mode.name}", mode, after, lambda graph: graph.arm.trip("joint_reflex"), recover)


def _from_start(graph: Graph) -> str:
    graph.put_back()
    return str(graph.recover())


_recovered, _again = methodcaller("recover"), methodcaller("again")


def _kill_driver(graph: Graph) -> None:
    from impact_aware_rigs.franka.graph import RELAY

    pid = graph.run.processes[RELAY].process.pid
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    graph.kill_pid(int(child))


def _kill(name: str) -> Callable[[Graph], None]:
    return lambda graph: graph.kill(name)


def _restart_relay(graph: Graph) -> str:
    from impact_aware_rigs.franka.graph import RELAY

    graph.restart(RELAY)
    return str(graph.again())


def _restart_controller(graph: Graph) -> str:
    from impact_aware_rigs.franka.graph import CONTROLLER

    graph.link.mode = Mode.IDLE
    graph.restart(CONTROLLER)
    graph.until(lambda: graph.link.mode.follows_field)
    return ""


def _silence(span: float) -> Fault:
    return Fault(f"DDS silent for {1e3 * span:.0f} ms", Mode.ANTE, 0.6, lambda graph: graph.silence(span), _again)


def _guide(graph: Graph) -> None:
    graph.guide(np.array(graph.arm.q) + 0.1, 0.5)


def _wrong_sequence(graph: Graph) -> None:
    def older(law: Any) -> Any:
        law.sequence = max(law.sequence - 100, 0)
        return law

    graph.link.change = older
    end = graph.arm.time + 0.05
    graph.until(lambda: graph.arm.time >= end)
    graph.link.change = None


FAULTS = {
    "reflex_ante": _reflex(Mode.ANTE, 0.6, _recovered),
    "reflex_interim": _reflex(Mode.INTERIM, 0.02, _from_start),
    "reflex_post": _reflex(Mode.POST, 0.1, _from_start),
    "reflex_hold": _reflex(Mode.HOLD, 0.1, _from_start),
    "reflex_safe": _reflex(Mode.SAFE, 0.02, _recovered),
    "relay_killed": Fault("the relay is killed", Mode.ANTE, 0.6, _kill("franka_fci_relay"), _restart_relay),
    "driver_killed": Fault("the relay's process with libfranka is killed", Mode.ANTE, 0.6, _kill_driver, _recovered),
    "controller_killed": Fault("the controller is killed", Mode.ANTE, 0.6, _kill("rs_controller"), _restart_controller),
    "silent_20": _silence(0.02),
    "silent_100": _silence(0.1),
    "silent_1000": _silence(1.0),
    "guided": Fault("the arm is guided while it is held", Mode.HOLD, 0.1, _guide, _from_start, by_hand=True),
    "sequence": Fault("laws with an older sequence for 50 ms", Mode.ANTE, 0.6, _wrong_sequence, _again, False),
    "late": Fault("10 % of the commands come late", Mode.ANTE, 0.1, lambda graph: graph.arm.late(10), _again, False),
}


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the faults; `{"faults": {name: {...}}, "unsafe": [...]}`.

    Raises:
        InvalidInputError: The arm's packages are not installed.
        UnknownNameError: No such fault.
    """
    if missing := missing_packages():
        raise InvalidInputError("environment", missing, "both packages")
    for name in args.faults:
        if name not in FAULTS:
            raise UnknownNameError("fault", name, tuple(FAULTS))
    names = list(args.faults) or list(FAULTS)
    found = {name: strike(FAULTS[name]) for name in progress(iterable=names, unit="fault")}
    return {"faults": found, "unsafe": [name for name, own in found.items() if own["unsafe"]]}


def strike(fault: Fault) -> dict[str, Any]:
    """One fault in a graph of its own."""
    from impact_aware_rigs.franka.graph import FrankaGraph

    with FrankaGraph() as graph:
        if fault.mode is Mode.SAFE:
            _reach(graph, Mode.ANTE, 0.6)
            graph.ask("rs_controller/safe_stop")
        _reach(graph, fault.mode, fault.after)
        before = graph.arm.take_log()
        begin = graph.arm.time
        fault.strike(graph)
        rows = before[-1:]

        looks = 0

        def decided() -> bool:
            nonlocal rows, looks
            more = graph.arm.take_log()
            rows, looks = np.vstack((rows, more)), looks + 1 if not len(more) else 0
            if not fault.stops:
                return graph.link.mode is Mode.HOLD or bool(graph.reason())
            recent = rows[rows[:, 0] > rows[-1, 0] - REST_SPAN]
            # The time of an arm at rest without a client does not go on.
            long = looks > LOOKS or (len(recent) >= REST_SPAN / PERIOD - 1 and rows[-1, 0] > begin + REST_SPAN)
            return bool(long and np.abs(recent[-1 if looks > LOOKS else 0 :, 2:9]).max() < AT_REST)

        ended = graph.until(decided, LONGEST)
        # What the controller reports comes a little later than what it does.
        deadline = time.monotonic() + REPORTED
        graph.until(lambda: bool(graph.reason()) or not fault.stops or time.monotonic() > deadline)
        own = {"text": fault.text} | figures(before, rows, begin, fault)
        own["reason"] = graph.reason() or ("" if graph.link.mode is not Mode.HOLD else "HOLD")
        own["recovered"] = _recovery(graph, fault, own["reason"])
        if not ended:
            own["unsafe"].append(f"no outcome within {LONGEST:g} s")
        return own


def figures(before: Array, rows: Array, begin: float, fault: Fault) -> dict[str, Any]:
    """Largest torque and torque rate, speeds, and time of rest, from logs of the arm (k, 16) before and after a fault.

    The first of `rows` is the last one before the fault, which begins at `begin`, s.
    """
    limits = RobotModel.from_profile("fr3").limits
    whole = np.vstack((before, rows[1:]))
    commanded, torque = whole[:, 1] > 0.0, whole[:, 9:]
    both = commanded[1:] & commanded[:-1]
    rate = float(np.abs(np.diff(torque, axis=0))[both].max(initial=0.0) / PERIOD)
    share = float((np.abs(torque[commanded]) / limits.effort).max(initial=0.0))
    times, speed = rows[:, 0], np.abs(rows[:, 2:9]).max(axis=1)
    own: dict[str, Any] = {"torque_share": share, "torque_rate": rate, "speed_before": float(speed[0])}
    own["speed_after"] = float(speed[1:].max(initial=0.0))
    own["stopped_ms"] = (
        1e3 * max(float(times[speed >= AT_REST].max(initial=begin)) - begin, 0.0) if fault.stops else None
    )
    wrong = {
        "torque over its limit": share > 1.0,
        "torque rate over the arm's limit": rate > TORQUE_RATE + ROUNDING / PERIOD,
        "faster than before": fault.stops and not fault.by_hand and own["speed_after"] > own["speed_before"] + FASTER,
    }
    return own | {"unsafe": [name for name, true in wrong.items() if true]}


def _reach(graph: Graph, mode: Mode, after: float) -> None:
    """Wait until so long after the begin of a mode."""
    graph.until(lambda: graph.link.mode is mode)
    begin = graph.arm.time
    graph.until(lambda: graph.arm.time >= begin + after)


def _recovery(graph: Graph, fault: Fault, reason: str) -> str:
    """Make the arm move again, to its end; in words."""
    if reason == "HOLD" and not fault.stops:
        return "not needed"
    if refusal := fault.recover(graph):
        return f"no: {refusal}"
    graph.until(lambda: graph.link.mode.follows_field, LONGEST)
    graph.until(lambda: graph.link.mode is Mode.HOLD or bool(graph.reason()), LONGEST)
    end = "HOLD" if graph.link.mode is Mode.HOLD else graph.reason() or graph.link.mode.name
    return f"moves, {end}"
