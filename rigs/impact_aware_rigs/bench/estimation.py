"""Velocity estimators against late impact times on flexible arms, and the identification against the truth."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.estimation import (
    BOTH_SIDES,
    ESTIMATORS,
    OFFLINE_ESTIMATORS,
    Identification,
    ImpactTrial,
    estimate,
    identify_friction,
    identify_motor_inertia,
    identify_restitution,
)
from impact_aware.estimation.experiment import candidate_impacts, choose_impacts, inertia_information
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.flexible_impacts import FlexibleImpact, simulate_flexible_impacts

DELAYS_MS = (0, 1, 2, 5, 10)

# What the identification is asked to find again.
FRICTION = 0.3
RESTITUTION = 0.3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--robots", nargs="+", default=["panda", "kuka_lwr4"], help="profiles to simulate")
    parser.add_argument("--impacts", type=int, default=10, help="flexible-joint impacts per robot (10)")
    parser.add_argument("--repeats", type=int, default=40, help="sets of 20 trials per identified quantity (40)")
    parser.add_argument("--noise", type=float, default=2e-3, help="velocity noise of those trials, rad/s (0.002)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("estimators", "identification"), help="leave the other half out")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Measure; see `bench_estimators` and `bench_identification` for the figures."""
    result: dict[str, Any] = {}
    if args.only != "identification":
        impacts = {
            name: simulate_flexible_impacts(RobotModel.from_profile(name), args.impacts, args.seed)
            for name in args.robots
        }
        result["estimators"] = bench_estimators(impacts)
        pooled = {name: figures["mean_over_delays"] for name, figures in result["estimators"].items()}
        # Of those that a node can wait for.
        result["best_estimator"] = min(ESTIMATORS, key=lambda name: pooled[name])
    if args.only != "estimators":
        result["identification"] = bench_identification(
            RobotModel.from_profile(args.robots[0]), args.repeats, args.noise, args.seed
        )
    return result


def bench_estimators(impacts: dict[str, list[FlexibleImpact]]) -> dict[str, Any]:
    """Error of each estimator for late impact times, Aouaj thesis's figure 4.7 as a table.

    The reference is the rigid arm's answer at the true impact time. Per robot and delay: root mean square over joints
    and impacts and median over joints, deg/s; median over impacts of the error's norm over the jump's, %; share of
    joints within two standard errors. `both_sides`, which looks for the instant itself, is told how late it may be.
    """
    table: dict[str, Any] = {}
    for method in OFFLINE_ESTIMATORS:
        rows: dict[str, Any] = {}
        squares = []
        started = time.perf_counter()
        for robot, recorded in impacts.items():
            rows[robot] = {}
            for delay in DELAYS_MS:
                errors, within, relative = _errors(method, recorded, 1e-3 * delay)
                squares.append(float(np.mean(errors**2)))
                rows[robot][f"{delay}_ms"] = {
                    "rms_deg_s": float(np.degrees(np.sqrt(np.mean(errors**2)))),
                    "median_deg_s": float(np.degrees(np.median(np.abs(errors)))),
                    "jump_percent": float(100.0 * np.median(relative)),
                    "within_two_errors": float(np.mean(within)),
                }
        calls = len(DELAYS_MS) * sum(len(recorded) for recorded in impacts.values())
        rows["mean_over_delays"] = float(np.degrees(np.sqrt(np.mean(squares))))
        rows["ms_per_call"] = 1e3 * (time.perf_counter() - started) / calls
        table[method] = rows
    return table


def bench_identification(robot: RobotModel, repeats: int, noise: float, seed: int) -> dict[str, Any]:
    """Twenty noisy trials of the rigid impact map, identified again and again.

    Per parameter: the truth, the median and the 90th percentile of the relative error, and the share of repeats whose
    95 % interval contains the truth.
    """
    rng = np.random.default_rng(seed)
    known = robot.apparent_motor_inertia
    cases: dict[str, tuple[Callable[[Sequence[ImpactTrial]], Identification], Array, float, float]] = {
        "friction": (lambda trials: identify_friction(robot, trials), np.array([FRICTION]), FRICTION, 0.0),
        "restitution": (lambda trials: identify_restitution(robot, trials), np.array([RESTITUTION]), 0.1, RESTITUTION),
        "inertia": (lambda trials: identify_motor_inertia(robot, trials), known, FRICTION, 0.0),
        "inertia_planned": (lambda trials: identify_motor_inertia(robot, trials), known, FRICTION, 0.0),
        "inertia_ratio": (
            lambda trials: identify_motor_inertia(robot, trials, common_ratio=True),
            np.ones(1),
            FRICTION,
            0.0,
        ),
    }
    table: dict[str, Any] = {"trials": 20, "noise_rad_s": noise, "repeats": repeats}
    for name, (identify, truth, friction, restitution) in cases.items():
        make = simulate_planned_trials if name == "inertia_planned" else simulate_rigid_trials
        results = [identify(make(robot, rng, 20, noise, friction, restitution)) for _ in range(repeats)]
        errors = np.abs([result.values - truth for result in results]) / truth
        contained = np.array([(result.lower <= truth) & (truth <= result.upper) for result in results])
        table[name] = {
            parameter: {
                "truth": float(truth[index]),
                "median_error": float(np.median(errors[:, index])),
                "p90_error": float(np.quantile(errors[:, index], 0.9)),
                "contained": float(np.mean(contained[:, index])),
                "determined": float(np.mean([result.determined[index] for result in results])),
            }
            for index, parameter in enumerate(results[0].names)
        }
    return table


def simulate_rigid_trials(
    robot: RobotModel, rng: np.random.Generator, count: int, noise: float, friction: float, restitution: float
) -> list[ImpactTrial]:
    """Impacts of the rigid arm at random postures around home, with noise on both velocities."""
    candidates = candidate_impacts(
        robot, rng, count, friction=friction, restitution=restitution, velocity_error=max(noise, 1e-9)
    )
    return [with_noise(trial, rng, noise) for trial in candidates]


def simulate_planned_trials(
    robot: RobotModel, rng: np.random.Generator, count: int, noise: float, friction: float, restitution: float
) -> list[ImpactTrial]:
    """The most telling of 15 times as many random impacts, as `impact-aware identify plan` picks them."""
    candidates = candidate_impacts(
        robot, rng, 15 * count, friction=friction, restitution=restitution, velocity_error=max(noise, 1e-9)
    )
    taken = choose_impacts(inertia_information(robot, candidates), count)
    return [with_noise(candidates[index], rng, noise) for index in taken]


def with_noise(trial: ImpactTrial, rng: np.random.Generator, noise: float) -> ImpactTrial:
    """The same impact as a noisy recording shows it."""
    size = trial.q.size
    return replace(
        trial,
        velocity_before=trial.velocity_before + noise * rng.standard_normal(size),
        velocity_after=trial.velocity_after + noise * rng.standard_normal(size),
    )


def _errors(method: str, recorded: list[FlexibleImpact], delay: float) -> tuple[Array, NDArray[np.bool_], Array]:
    """Errors (k, n), whether they are within two standard errors (k, n), and their norms over the jumps' (k,)."""
    errors, within, relative = [], [], []
    for impact in recorded:
        late = max(delay, 1e-4) if method == BOTH_SIDES else 0.0
        found = estimate(
            impact.time, impact.positions, impact.impact_time + delay, method=method, impact_time_error=late
        )
        error = found.velocity_after - impact.velocity_after
        errors.append(error)
        within.append(np.abs(error) <= 2.0 * found.standard_error)
        jump = np.linalg.norm(impact.velocity_after - impact.velocity_before)
        relative.append(float(np.linalg.norm(error) / jump))
    return np.array(errors), np.array(within), np.array(relative)
