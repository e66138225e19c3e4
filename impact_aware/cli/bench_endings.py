"""How soon every node ends when it is asked to, by SIGINT and SIGTERM: just started, watching, and in command."""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from impact_aware.cli.processes import NodeProcess, end_processes, quiet_environment
from impact_aware.errors import InvalidInputError
from impact_aware.graph import NodeSpec, SingleArmOptions, single_arm_graph

PATIENCE = 20.0
"""Time after which a node that still runs counts as not ended, s."""

POLL = 0.01
"""Time between two looks, s."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how long the nodes run before they are asked."""
    parser.add_argument("--robot", default="panda", help="robot profile (default panda)")
    parser.add_argument("--running", type=float, default=10.0, help="time for the graph to get going, s (default 10)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure; per signal and state the time of each node, s, the slowest, and who had to be killed or failed.

    Raises:
        InvalidInputError: No time, or an unknown robot.
    """
    if not 1.0 <= options.running <= 600.0:
        raise InvalidInputError("--running", options.running, "1 to 600 s")
    watching = single_arm_graph(SingleArmOptions(robot=options.robot, lockstep=True, control=False))
    controlling = single_arm_graph(SingleArmOptions(robot=options.robot, lockstep=True))
    states = {
        "just_started": (controlling, 0.5),
        "watching": (watching, options.running),
        "in_command": (controlling, options.running),
    }
    result: dict[str, Any] = {
        number.name: {state: end_of(graph, number, wait) for state, (graph, wait) in states.items()}
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    every = [figures for by_state in result.values() for figures in by_state.values()]
    return result | {
        "slowest_s": max(figures["slowest_s"] for figures in every),
        "had_to_be_killed": sorted({name for figures in every for name in figures["had_to_be_killed"]}),
        "aim_s": 2.0,
    }


def end_of(graph: tuple[NodeSpec, ...], number: signal.Signals, wait: float) -> dict[str, Any]:
    """Start a graph, wait, send the signal to all of it at once, and see when each process is gone.

    Args:
        graph: The nodes.
        number: The signal.
        wait: Time before it is sent, s.
    """
    with tempfile.TemporaryDirectory(prefix="impact_aware_") as scratch:
        environment = quiet_environment(1 + os.getpid() % 100) | {"ROS_LOG_DIR": scratch}
        processes = [NodeProcess(spec, environment, Path(scratch)) for spec in graph]
        try:
            time.sleep(wait)
            died = [process.spec.name for process in processes if not process.running]
            asked = time.monotonic()
            for process in processes:
                process.signal(number)
            seconds: dict[str, float] = {}
            while len(seconds) < len(processes) and time.monotonic() - asked < PATIENCE:
                for process in processes:
                    if not process.running:
                        seconds.setdefault(process.spec.name, round(time.monotonic() - asked, 2))
                time.sleep(POLL)
        finally:
            end_processes(processes)
            for process in processes:
                process.close()
    killed = [process.spec.name for process in processes if process.spec.name not in seconds]
    return {
        "seconds": seconds,
        "slowest_s": max(seconds.values(), default=PATIENCE) if not killed else PATIENCE,
        "had_to_be_killed": killed,
        "died_before": died,
    }
