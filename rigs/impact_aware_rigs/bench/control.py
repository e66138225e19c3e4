"""Control cycle in process, state in to torque out, for one arm and for two: microseconds of each mode and regime."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tqdm import tqdm

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.random_cycles import random_cycles
from impact_aware_rigs.bench.regimes import MODES, TASKS, figures, time_regimes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how long to measure."""
    parser.add_argument("--cycles", type=int, default=1000, metavar="N", help="cycles of each regime; default 1000")
    parser.add_argument(
        "--random-states",
        type=int,
        default=2000,
        metavar="N",
        help="also control N random states of one arm and of two, many far out of limits (default 2000; 0: none)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random states (default 0)")
    parser.add_argument("--robot", default="panda", help="robot profile (default panda)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Time the cycles, by number of arms, mode and regime.

    Raises:
        InvalidInputError: No cycle to measure, or a negative number of random states.
    """
    if args.cycles < 1:
        raise InvalidInputError("--cycles", args.cycles, "a number >= 1")
    if args.random_states < 0:
        raise InvalidInputError("--random-states", args.random_states, "a number >= 0")
    robot = RobotModel.from_profile(args.robot)
    result: dict[str, Any] = {"cycles_of_each_regime": args.cycles}
    for arms in TASKS:
        result[arms] = {}
        for mode in MODES:
            result[arms][mode.name.lower()] = figures(time_regimes(robot, arms, mode, args.cycles, args.seed))
    if args.random_states > 0:
        result["random_states"] = {
            "one_arm": _random(robot, 1, args.random_states, args.seed),
            "two_arms": _random(robot, 2, args.random_states, args.seed),
        }
    return result


def _random(robot: RobotModel, arms: int, count: int, seed: int) -> dict[str, Any]:
    label = f"random states, {arms} arm{'s' if arms > 1 else ''}"
    with tqdm(total=count, desc=label, unit="cycle", disable=not sys.stderr.isatty()) as bar:
        return random_cycles(robot, arms, count, seed, on_batch=bar.update)
