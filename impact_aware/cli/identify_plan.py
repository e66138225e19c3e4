"""`impact-aware identify plan`: which impacts to record so that they identify every joint's motor inertia."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.cli.options import MOST
from impact_aware.cli.output import keep, plain, show
from impact_aware.contact.options import ContactOptions, Vector
from impact_aware.estimation.experiment import (
    candidate_impacts,
    choose_impacts,
    expected_errors,
    inertia_information,
)
from impact_aware.estimation.trials import ImpactTrial
from impact_aware.parameters import Options, described, shared
from impact_aware.ranges import Range
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.robot import RobotModel, load_robot

FILE = "impacts_to_record.csv"

GUESS = 0.1
"""B_theta that a plan takes for a joint whose own is not known, kg m^2: those of arms of 3 to 14 kg are 0.04 to 0.2."""


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Options):
    """Impacts to choose from, and how many."""

    robot: str = shared(AnalysisOptions, "robot", "panda")
    normal: Vector | None = shared(ContactOptions, "normal", None, absent="a random one for each impact")
    friction: float = shared(ContactOptions, "friction", 0.0)
    restitution: float = shared(ContactOptions, "restitution", 0.0)
    count: int = described(20, "impacts to record", 1, 10_000)
    candidates: int = described(300, "random impacts to choose from", 1, 100_000)
    velocity_error: float = described(2e-3, "standard error of the velocities", within=Range(1e-9, 10.0, "rad/s"))
    seed: int = described(0, "seed of the candidates", 0, MOST)


OPTIONS = (PlanOptions,)


def run(args: argparse.Namespace) -> int:
    """Choose and print; with `--out` also as a table with the columns that `identify` reads."""
    robot, notes = _with_guess(args.robot, load_robot(args.robot))
    candidates = candidate_impacts(
        robot,
        np.random.default_rng(args.seed),
        args.candidates,
        friction=args.friction,
        restitution=args.restitution,
        velocity_error=args.velocity_error,
        normal=args.normal,
    )
    information = inertia_information(robot, candidates)
    taken = choose_impacts(information, args.count)
    errors, chance = expected_errors(information[taken]), expected_errors(information[: args.count])
    chosen = [candidates[index] for index in taken]
    summary = {
        "robot": robot.name,
        "joints": list(robot.joint_names),
        "expected_relative_error": errors.tolist(),
        "expected_relative_error_unplanned": chance.tolist(),
        "impacts": [{**plain(trial, "q", "velocity_before"), **plain(trial.contact, "normal")} for trial in chosen],
        "notes": notes,
    }
    if args.out is not None:
        _write_table(args.out / FILE, robot, chosen)
        summary["file"] = str(args.out / FILE)
    show(args, summary, lambda: _as_text(robot, summary, args.out is not None))
    return 0


def _with_guess(name_or_file: str, robot: RobotModel) -> tuple[RobotModel, list[str]]:
    """The arm with a B_theta at every joint, and a note where that is a guess."""
    known = robot.apparent_motor_inertia
    if np.all(known > 0.0):
        return robot, []
    unknown = [name for name, value in zip(robot.joint_names, known, strict=True) if not value > 0.0]
    which = "every joint" if len(unknown) == robot.n else ", ".join(unknown)
    note = (
        f"the apparent motor inertia of {which} is not known, {GUESS:g} kg m^2 was taken: the errors hang on it; "
        "plan anew with what identify inertia finds"
    )
    return load_robot(name_or_file, tuple(np.where(known > 0.0, known, GUESS).tolist())), [note]


def _write_table(path: Path, robot: RobotModel, trials: list[ImpactTrial]) -> None:
    names = [f"{kind}_{joint}" for kind in ("q", "before") for joint in robot.joint_names]
    header = ",".join([*names, "normal_x", "normal_y", "normal_z"])
    rows = [np.concatenate([trial.q, trial.velocity_before, trial.contact.normal]) for trial in trials]
    keep(path, lambda file: np.savetxt(file, rows, delimiter=",", header=header, comments="", fmt="%.6f"), replace=True)


def _as_text(robot: RobotModel, summary: dict[str, Any], saved: bool) -> str:
    width = max(map(len, robot.joint_names))
    lines = [f"{len(summary['impacts'])} impacts that determine the motor inertia of {robot.name}", ""]
    lines.append(f"{'joint':<{width}}   expected error   of as many unplanned ones")
    for joint, planned, chance in zip(
        robot.joint_names,
        summary["expected_relative_error"],
        summary["expected_relative_error_unplanned"],
        strict=True,
    ):
        lines.append(f"{joint:<{width}}   {100 * planned:11.1f} %   {100 * chance:21.1f} %")
    lines += ["", "posture, rad | normal of the surface, from it into the robot"]
    for impact in summary["impacts"]:
        posture = " ".join(f"{angle:7.3f}" for angle in impact["q"])
        normal = " ".join(f"{part:6.2f}" for part in impact["normal"])
        lines.append(f"{posture} | {normal}")
    lines += [f"note: {note}" for note in summary["notes"]]
    lines += [
        "",
        f"table with the velocities: {summary['file']}" if saved else "--out DIR saves them with their velocities",
    ]
    return "\n".join(lines)
