"""Impact detectors: delay, misses, false alarms, cost and accuracy of the refined time, on simulated impacts."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from impact_aware.errors import InvalidInputError
from impact_aware.rigs.bench.detection_benchmark import run_benchmark
from impact_aware.robot import RobotModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how much is simulated."""
    parser.add_argument("--robot", default="panda", help="robot profile (default: panda)")
    parser.add_argument("--trials", type=int, default=300, help="simulated impacts (default: 300)")
    parser.add_argument("--hours", type=float, default=1.0, help="motion without impacts, hours (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="seed of everything (default: 1)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the benchmark; the result's layout is `{"detectors": {NAME: {...}}, ...}`.

    Raises:
        InvalidInputError: No trial, or no time.
    """
    if options.trials < 1:
        raise InvalidInputError("--trials", options.trials, "at least 1")
    if not 0.0 < options.hours < 1000.0:
        raise InvalidInputError("--hours", options.hours, "more than 0 hours")
    robot = RobotModel.from_profile(options.robot)
    return run_benchmark(robot, options.trials, options.hours, options.seed, report=_progress)


def _progress(what: str, share: float) -> None:
    if sys.stderr.isatty():
        bar = "#" * round(30 * share)
        print(f"\r{what:12s} [{bar:30s}] {100 * share:3.0f} %", end="\n" if share >= 1.0 else "", file=sys.stderr)
