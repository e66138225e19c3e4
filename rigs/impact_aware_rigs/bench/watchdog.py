"""For how long an arm gets the last torque of a controller that was killed or stopped, in wall time.

command_source -> effort_controller/commands -> forward_command_controller, which is its controller manager too
                                             -> command_watchdog -> controller_manager/switch_controller

The source stands for `rs_controller` with its torques at 1 kHz. It is killed, or stopped for good, and the emulator of
ros2_control's forward controller tells for how long it was then active without a new command. Before that the watchdog
must stop nothing while commands come, beside as many busy processes as are asked for: those stops are `false_stops`.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import statistics
import sys
from typing import Any

from tqdm import tqdm

from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.errors import InvalidInputError
from impact_aware_rigs.bench.probe_run import BenchmarkFailedError
from impact_aware_rigs.bench.starts import busy_process
from impact_aware_rigs.graph_run import GraphRun

PATIENCE = 60.0
"""Longest time until the nodes are there, and until the controller is off, s."""

AIM_MS = 30.0
"""Longest time with the torque of a dead controller."""

SIGNALS = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP}

JOINTS = [f"panda_joint{number}" for number in range(1, 8)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how often, and beside what."""
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="of each way to die; default 10")
    parser.add_argument("--seconds", type=float, default=2.0, help="with commands before that, s; default 2")
    parser.add_argument("--busy", type=int, choices=(0, 1, 2), default=0, help="processes that keep a core busy each")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Measure: `held_ms` (p50, max) of each way to die, `false_stops`, and how many looks of the watchdog came late.

    Raises:
        InvalidInputError: No run, or no time.
        BenchmarkFailedError: Nodes that do not come up, or a controller that stays.
    """
    if args.runs < 1:
        raise InvalidInputError("--runs", args.runs, "at least 1")
    if not 0.1 <= args.seconds <= 3600.0:
        raise InvalidInputError("--seconds", args.seconds, "0.1..3600 s")
    rows = []
    with contextlib.ExitStack() as stack:
        for _ in range(args.busy):
            stack.enter_context(busy_process())
        kinds = [kind for _ in range(args.runs) for kind in SIGNALS]
        for kind in tqdm(kinds, desc="watchdog", unit="run", disable=args.json or not sys.stderr.isatty()):
            rows.append(_measured(kind, args.seconds))
    held = {kind: [row["held_ms"] for row in rows if row["how"] == kind and not row["false_stop"]] for kind in SIGNALS}
    figures = {kind: {"p50": statistics.median(own), "max": max(own)} for kind, own in held.items() if own}
    return {
        "runs": len(rows),
        "busy": args.busy,
        "held_ms": figures,
        "aim_ms": AIM_MS,
        "within_aim": sum(value <= AIM_MS for own in held.values() for value in own),
        "false_stops": sum(row["false_stop"] for row in rows),
        "late_looks": sum(row["late_looks"] for row in rows),
        "looks": sum(row["looks"] for row in rows),
    }


def _measured(how: str, seconds: float) -> dict[str, Any]:
    """One life of the source."""
    with GraphRun() as graph:
        forward = {"joints": JOINTS, "controller_manager": "controller_manager"}
        # A listener that is also the hardware.
        hardware = {"effort_controller/commands": "hardware_commands"}
        graph.start(NodeSpec("command_logger", "command_logger", remappings=hardware), listener=True)
        graph.start(NodeSpec("forward_command_controller", "effort_controller", parameters=forward))
        graph.start(NodeSpec("command_watchdog", "command_watchdog"))
        _wait(graph, lambda: graph.reported("command_watchdog", "level") == "0", "the watchdog")
        _wait(graph, lambda: graph.reported("effort_controller", "active") == "True", "the controller")
        graph.start(NodeSpec("command_source", "command_source"))
        _wait(graph, lambda: graph.reported("command_watchdog", "watching") == "True", "commands")
        # Who is found by the one is not found by the other at once.
        _wait(graph, lambda: graph.reported("effort_controller", "commands") not in ("", "0"), "commands of the source")
        graph.wait(lambda: False, seconds)
        false_stop = graph.reported("command_watchdog", "stopped") == "True"
        source = graph.processes["command_source"]
        source.signal(SIGNALS[how])
        _wait(graph, lambda: graph.reported("effort_controller", "active") == "False", "the end of the controller")
        _wait(graph, lambda: graph.reported("command_watchdog", "stopped") == "True", "the watchdog's report")
        source.signal(signal.SIGKILL)
        return {
            "how": how,
            "false_stop": false_stop,
            "held_ms": float(graph.reported("effort_controller", "held_ms")),
            "late_looks": int(graph.reported("command_watchdog", "late_looks")),
            "looks": int(graph.reported("command_watchdog", "looks")),
        }


def _wait(graph: GraphRun, condition: Any, what: str) -> None:
    if not graph.wait(condition, PATIENCE):
        raise BenchmarkFailedError(f"not within {PATIENCE:g} s: {what}: {graph.last_lines()}")
