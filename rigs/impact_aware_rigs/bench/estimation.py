"""Velocity estimators on classes of impacts whose velocities are known, and the identification against the truth."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation import (
    AGREEMENT,
    OFFLINE_ESTIMATORS,
    Identification,
    ImpactTrial,
    VelocityEstimate,
    estimate,
    identify_friction,
    identify_motor_inertia,
    identify_restitution,
)
from impact_aware.estimation.experiment import candidate_impacts, choose_impacts, inertia_information
from impact_aware.recordings.impact_fit import BEFORE
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.estimator_classes import KnownImpact, impact_classes

TIME_ERROR = 4e-4
"""Standard error of the impact times that the estimators are given, s."""

EXACT = 0.01
"""Share of the jump below which errors count as equal."""

# What the identification is asked to find again.
FRICTION = 0.3
RESTITUTION = 0.3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--robot", default="panda", help="profile whose parameters are identified (panda)")
    parser.add_argument("--impacts", type=int, default=10, help="impacts per class (10)")
    parser.add_argument("--demos", type=Path, nargs="+", default=[], metavar="BAG", help="bags of the demo, as a class")
    parser.add_argument("--workers", type=int, default=2, help="processes (2)")
    parser.add_argument("--repeats", type=int, default=40, help="sets of 20 trials per identified quantity (40)")
    parser.add_argument("--noise", type=float, default=2e-3, help="velocity noise of those trials, rad/s (0.002)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("estimators", "identification"), help="leave the other half out")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Measure; see `bench_estimators` and `bench_identification` for the figures."""
    result: dict[str, Any] = {}
    if args.only != "identification":
        classes = impact_classes(args.impacts, args.seed, args.demos, args.workers)
        result["estimators"] = bench_estimators(classes, args.seed)
    if args.only != "estimators":
        result["identification"] = bench_identification(
            RobotModel.from_profile(args.robot), args.repeats, args.noise, args.seed
        )
    return result


def bench_estimators(classes: dict[str, list[KnownImpact]], seed: int) -> dict[str, Any]:
    """Error of each estimator per class: norm of the error of the velocity after over the norm of the jump.

    Per class and estimator the median and 90th percentile, the share of joints within two standard errors and the
    impacts that it could not estimate; `best` is the single estimator of the smallest median, `default_over_best` the
    median of the analysis's default over that one's, or over `EXACT` where that is more. The time of each impact is
    late or early by a normal error of `TIME_ERROR` s or a tenth of a period, whichever is longer.
    """
    table: dict[str, Any] = {}
    for name, impacts in classes.items():
        figures = {method: _figures(method, impacts, seed) for method in OFFLINE_ESTIMATORS}
        singles = {method: own["median"] for method, own in figures.items() if method != AGREEMENT}
        best = min(singles, key=lambda method: singles[method])
        ratio = max(figures[AGREEMENT]["median"], EXACT) / max(singles[best], EXACT)
        table[name] = {"impacts": len(impacts), "best": best, "default_over_best": ratio, "estimators": figures}
    return table


def _figures(method: str, impacts: Sequence[KnownImpact], seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    errors, within, started = [], [], time.process_time()
    for impact in impacts:
        error = max(TIME_ERROR, 0.1 * float(np.median(np.diff(impact.times))))
        found = _estimated(method, impact, impact.time + error * rng.standard_normal(), error)
        if found is None:
            continue
        off = found.velocity_after - impact.after
        errors.append(float(np.linalg.norm(off) / np.linalg.norm(impact.after - impact.before)))
        within.append(float(np.mean(np.abs(off) <= 2.0 * found.standard_error)))
    known = bool(errors)
    return {
        "median": float(np.median(errors)) if known else np.inf,
        "p90": float(np.quantile(errors, 0.9)) if known else np.inf,
        "within_two_errors": float(np.mean(within)) if known else np.nan,
        "without": len(impacts) - len(errors),
        "ms_per_call": 1e3 * (time.process_time() - started) / max(len(impacts), 1),
    }


def _estimated(method: str, impact: KnownImpact, when: float, error: float) -> VelocityEstimate | None:
    """The estimate as the analysis makes it, or None where samples lack."""
    for before in BEFORE:
        try:
            return estimate(
                impact.times,
                impact.positions,
                when,
                method=method,
                impact_time_error=error,
                until=impact.until,
                before=before,
            )
        except InvalidInputError:
            continue
    return None


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
