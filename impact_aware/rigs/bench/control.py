"""Control cycle in process, state in to torque out, for one arm and for two: microseconds per cycle of each mode."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin
from tqdm import tqdm

from impact_aware.control import ControlParameters, Mode, ReferenceSpreadingController
from impact_aware.errors import InvalidInputError
from impact_aware.reference import ReferenceField
from impact_aware.rigs.bench.random_cycles import random_cycles
from impact_aware.rigs.figures import percentiles, time_calls
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field, start_posture


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
    task = load_task("hit_and_push")
    robot = RobotModel.from_profile(args.robot)
    field = make_field(task, [robot])
    posture = start_posture(task.arms[0], robot)
    twice = _two_arms(field)
    turn = pin.SE3(pin.utils.rotate("z", np.pi), np.array([1.2, 0.0, 0.0]))
    result: dict[str, Any] = {"cycles": args.cycles}
    for label, arms, reference, bases in (
        ("one_arm", 1, field, [pin.SE3.Identity()]),
        ("two_arms", 2, twice, [pin.SE3.Identity(), turn]),
    ):
        figures = {}
        for mode in (Mode.ANTE, Mode.INTERIM, Mode.POST):
            # An interim mode without end, so that every cycle measured is of the mode it is counted for.
            parameters = ControlParameters(interim_duration=10.0)
            controller = ReferenceSpreadingController([robot] * arms, parameters, reference, bases)
            figures[mode.name.lower()] = _time_mode(controller, mode, np.tile(posture, arms), args.cycles)
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


def _two_arms(field: ReferenceField) -> ReferenceField:
    other = dataclasses.replace(field.arms[0], arm="right")
    return dataclasses.replace(field, arms=(field.arms[0], other))


def _time_mode(controller: ReferenceSpreadingController, mode: Mode, q: np.ndarray, cycles: int) -> dict[str, float]:
    """States near rest at the start, changed a little each cycle as a moving arm's are."""
    generator = np.random.default_rng(0)
    positions = q + 1e-4 * generator.normal(size=(cycles, q.size))
    velocities = 1e-2 * generator.normal(size=(cycles, q.size))
    controller.start(0.0, q, np.zeros(q.size))
    begin = 0.5
    if mode is not Mode.ANTE:
        controller.notify_impact(begin, begin, [0.0, -0.3, 0.0])
    if mode is Mode.POST:
        begin += controller.parameters.interim_duration
    for index in range(50):
        controller.update(begin, positions[index % cycles], velocities[index % cycles])
    cycle = partial(controller.update, begin)
    times = time_calls(partial(cycle, *state) for state in zip(positions, velocities, strict=True))
    assert controller.mode is mode
    return percentiles(times)
