"""Control cycle in process, state in to torque out, for one arm and for two: microseconds per cycle of each mode."""

from __future__ import annotations

import argparse
import itertools
import sys
from functools import partial
from typing import Any

import numpy as np
from tqdm import tqdm

from impact_aware.control import ControlParameters, ControlSession, Mode
from impact_aware.errors import InvalidInputError
from impact_aware.rigs.bench.random_cycles import random_cycles
from impact_aware.rigs.figures import percentiles, time_calls
from impact_aware.robot import RobotModel
from impact_aware.task import base_placement, load_task, make_field, start_posture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how long to measure."""
    parser.add_argument("--cycles", type=int, default=2000, help="cycles per figure (default 2000)")
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
    """Time the cycles: median and 99th percentile in microseconds, by number of arms and mode.

    Raises:
        InvalidInputError: No cycle to measure, or a negative number of random states.
    """
    if args.cycles < 1:
        raise InvalidInputError("--cycles", args.cycles, "a number >= 1")
    if args.random_states < 0:
        raise InvalidInputError("--random-states", args.random_states, "a number >= 0")
    robot = RobotModel.from_profile(args.robot)
    result: dict[str, Any] = {"cycles": args.cycles}
    for label, name in (("one_arm", "hit_and_push"), ("two_arms", "dual_arm_grab")):
        task = load_task(name)
        robots = [robot] * len(task.arms)
        bases = [base_placement(arm) for arm in task.arms]
        posture = np.concatenate([start_posture(arm, robot) for arm in task.arms])
        figures = {}
        for mode in (Mode.ANTE, Mode.INTERIM, Mode.POST):
            # An interim mode without end, so that every cycle measured is of the mode it is counted for.
            parameters = ControlParameters(interim_duration=10.0)
            session = ControlSession(robots, parameters, make_field(task, robots), bases)
            figures[mode.name.lower()] = _time_mode(session, mode, posture, args.cycles)
        result[label] = figures
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


def _time_mode(session: ControlSession, mode: Mode, q: np.ndarray, cycles: int) -> dict[str, float]:
    """States near rest at the start posture, changed a little each cycle as a moving arm's are."""
    generator = np.random.default_rng(0)
    warm_up = 50
    positions = q + 1e-4 * generator.normal(size=(warm_up + cycles, q.size))
    velocities = 1e-2 * generator.normal(size=(warm_up + cycles, q.size))
    session.start(0.0, q, check=False)
    period = session.parameters.period
    session.cycle(0.0, q, velocities[0])
    if mode is not Mode.ANTE:
        impact = period - (session.parameters.interim_duration if mode is Mode.POST else 0.0)
        for arm in range(len(session.robots)):
            session.events.notify_impact(impact, impact, [0.0, -0.3, 0.0], arm=arm)
    stamps = period * np.arange(1, warm_up + cycles + 1)
    states = zip(stamps.tolist(), positions, velocities, strict=True)
    for state in itertools.islice(states, warm_up):
        session.cycle(*state)
    times = time_calls(partial(session.cycle, *state) for state in states)
    if session.mode is not mode:
        raise RuntimeError(f"measured mode {session.mode.name}, not {mode.name}: {session.command}")
    return percentiles(times)
