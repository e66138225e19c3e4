"""`impact-aware identify contact-point`: where on the tool recorded hits were, from the jumps of the joints."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.bags.bag import is_recording
from impact_aware.cli.options import add_options, chosen
from impact_aware.cli.output import keep_json, plain, show, show_notes
from impact_aware.contact.geometry import unit_vector
from impact_aware.contact.options import ContactOptions
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.contact_point import (
    CHANCE,
    ContactPointFit,
    ContactPointProblem,
    JointJump,
    odd_group,
)
from impact_aware.estimation.trial_tables import ContactDefaults, read_trials
from impact_aware.parameters import Options, described
from impact_aware.recordings.arm_notes import NEAR
from impact_aware.recordings.contact_check import joint_jump
from impact_aware.recordings.file_options import common_option, completed_table, file_options
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.results import AnalyzedImpact
from impact_aware.robot import RobotModel, load_robot
from impact_aware.tables.column_file import open_columns
from impact_aware.tables.options import TableOptions


@dataclass(frozen=True, kw_only=True)
class PointOptions(Options):
    """Options of the fit."""

    per_hit: bool = described(False, "one fit for each hit, not one for all")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that only `contact-point` has."""
    add_options(parser, ContactOptions, "contact_frame", "normal")
    add_options(parser, PointOptions)


def run(args: argparse.Namespace) -> int:
    """Fit, print, and write `identify_contact-point.json` with `--out`."""
    robot = load_robot(args.robot)
    show_notes(robot.notes)
    frame = args.contact_frame or common_option("contact_frame", args.files) or robot.tool_frame
    inertia = robot.known_inertia("M+B_theta")
    # The tip's radius, which moves the touched point about in the frame's axes.
    radius = robot.tool_radius if frame == robot.tool_frame else 0.0
    by_file = {str(file): _hits(file, robot, frame, args) for file in args.files}
    hits = [hit for found in by_file.values() for hit in found]
    if not hits:
        raise InvalidInputError("recordings", ", ".join(map(str, args.files)), "at least one impact in them")
    groups = [[hit] for hit in hits] if args.per_hit else [hits]
    normal = None if args.normal is None else unit_vector("normal", args.normal)
    found = []
    for group in groups:
        fit = ContactPointProblem(robot, group, frame, inertia=inertia, radius=radius).fit()
        found.append(as_dict(fit, radius, normal))
        odd = None if args.per_hit else _odd_file(robot, by_file, frame, inertia, radius)
        if odd is not None:
            found[-1] |= {"one_point": False, "determined": False, "determined_along": False, "odd_file": odd}
        if odd is not None:
            found[-1]["notes"] = [
                f"not determined: the hits of {Path(odd['file']).name} are of another point than those of the others "
                f"(by chance: {odd['probability']:.1g}): was the tool changed between the recordings?",
                *found[-1]["notes"],
            ]
    summary: dict[str, Any] = {"quantity": "contact-point", "inertia": inertia, "hits": len(hits), "fits": found}
    keep_json(args.out, "identify_contact-point.json", summary)
    show(args, summary, lambda: "\n".join(as_text(fit) for fit in found))
    return 0


def as_dict(fit: ContactPointFit, radius: float, normal: Array | None) -> dict[str, Any]:
    """A fit as JSON knows it: SI units; point and direction in the frame's axes, impulses in the base frame."""
    names = (
        "frame", "one_point", "probability", "determined", "determined_along", "point", "along", "error_along",
        "error_across",
    )  # fmt: skip
    return {
        **plain(fit, *names, "unexplained", "impulses", "impulse_errors"),
        "radius": radius,
        "hits": len(fit.impulses),
        "standard_error": np.sqrt(np.diag(fit.covariance)).tolist(),
        "offset": fit.point.tolist(),
        "friction": None if normal is None else _friction(fit, normal),
        "notes": _notes(fit, normal),
    }


def as_text(fit: dict[str, Any]) -> str:
    """A fit for people."""
    x, y, z = fit["point"]
    across, along = 100.0 * fit["error_across"], 100.0 * fit["error_along"]
    a, b, c = fit["along"]
    what = f"centre of the tip (radius {1e3 * fit['radius']:g} mm)" if fit["radius"] > 0.0 else "contact point"
    lines = [
        f"{what} from {fit['hits']} hit{'s' if fit['hits'] > 1 else ''}, in {fit['frame']}",
        f"  point           {x:.4f} {y:.4f} {z:.4f} m   standard error {across:.2f} cm across, {along:.2f} cm along"
        f" ({a:.2f} {b:.2f} {c:.2f})",
    ]
    if fit["determined_along"]:
        shown = " ".join(f"{value:.4f}" for value in fit["offset"])
        lines.append(f"  for analyze     --offset {shown}   of other hits: it is fitted to these")
    for impulse, error in zip(fit["impulses"], fit["impulse_errors"], strict=True):
        shown = "  ".join(f"{value:.3f} +- {spread:.3f}" for value, spread in zip(impulse, error, strict=True))
        lines.append(f"  impulse         {shown} N s")
    if fit["friction"] is not None:
        shown = "  ".join(f"{value:.2f} +- {spread:.2f}" for value, spread in fit["friction"])
        lines.append(f"  along/onto      {shown} of the normal: friction is at least that")
    lines.append(f"  unexplained     {100.0 * fit['unexplained']:.1f} % of the jumps")
    return "\n".join(lines + [f"  note: {note}" for note in fit["notes"]])


def _notes(fit: ContactPointFit, normal: Array | None) -> list[str]:
    notes = []
    if not fit.one_point:
        notes.append(
            f"not determined: the hits are not of one point, or the model is wrong: the residual of one point has a "
            f"probability of {fit.probability:.1g} (chi-square {fit.chi_square:.0f} of {fit.freedom}); --per-hit fits "
            "each hit alone"
        )
    elif not fit.determined:
        notes.append(
            f"not determined: the standard error across the impulse is {100 * fit.error_across:.1f} cm; more hits of "
            "the same point from other directions are needed"
        )
    elif not fit.determined_along:
        notes.append(
            f"not determined along the impulse: the standard error there is {100 * fit.error_along:.1f} cm; hits of "
            "the same point from other directions are needed"
        )
    if fit.unexplained > 0.3 and fit.one_point:
        notes.append(
            f"{100 * fit.unexplained:.0f} % of the jumps stay unexplained: not one point of this frame, or another "
            "inertia; --per-hit fits each hit alone"
        )
    if normal is None:
        notes.append("without --normal the friction is not determined: only the lean of the impulse is known")
    return notes


def _odd_file(
    robot: RobotModel, by_file: dict[str, list[JointJump]], frame: str, inertia: str, radius: float
) -> dict[str, Any] | None:
    """The file whose hits are of another point than those of all the others, if there is one."""
    groups = {name: hits for name, hits in by_file.items() if hits}
    if len(groups) < 2:
        return None
    place, probability = odd_group(robot, list(groups.values()), frame, inertia=inertia, radius=radius)
    return {"file": list(groups)[place], "probability": probability} if probability < CHANCE else None


def _friction(fit: ContactPointFit, normal: Array) -> list[tuple[float, float]]:
    """Per hit the impulse along the surface over that onto it, and its standard error."""
    found = []
    for impulse, error in zip(fit.impulses, fit.impulse_errors, strict=True):
        onto = float(impulse @ normal)
        side = float(np.linalg.norm(impulse - onto * normal))
        ratio = side / onto if onto > 0.0 else math.nan
        found.append((ratio, float(np.linalg.norm(error)) * math.hypot(1.0, ratio) / max(onto, 1e-9)))
    return found


def _hits(file: Path, robot: RobotModel, frame: str, args: argparse.Namespace) -> list[JointJump]:
    """The jumps of a table of impacts, or of contacts that `analyze` finds in a recording, at given times if any."""
    beside = file_options(file)
    columns, degrees, times = completed_table(TableOptions(**chosen(args, TableOptions)), args.impact_time, beside)
    table = file.is_file() and not is_recording(file)
    if not (table and has_columns(file, "before", "velocity_before")):
        options = AnalysisOptions(robot=args.robot, columns=columns if table else None, degrees=degrees, ablation=False)
        normal = args.normal if args.normal is not None else beside.normal if beside is not None else None
        known = None if normal is None else unit_vector("normal", normal)
        found = [impact for impact in analyze([file], options).impacts if impact.estimate is not None]
        named = [impact for time in times if (impact := _nearest(found, time)) is not None]
        if len(named) == len(times):
            return [
                replace(joint_jump(i.position, i.estimate), normal=known)
                for i in (named if times else found)
                if i.estimate is not None
            ]
        if not table:
            seen = ", ".join(f"{impact.time:.3f}" for impact in found) or "none"
            raise InvalidInputError("--impact-time", times, f"times within {NEAR} s of contacts of {file.name}: {seen}")
    # The point of a tip without a radius hangs on no normal; the table reader wants one.
    says = table and has_columns(file, "normal")
    assumed = args.normal if args.normal is not None or says else [0.0, 0.0, 1.0]
    defaults = ContactDefaults(frame, None if assumed is None else np.array(assumed))
    trials = read_trials(file, robot, defaults, times or None, columns=columns, degrees=degrees)
    return [
        JointJump(
            trial.q,
            trial.velocity_after - trial.velocity_before,
            np.hypot(trial.standard_error, np.asarray(trial.before_error)),
            trial.contact.normal if says or args.normal is not None else None,
        )
        for trial in trials
    ]


def has_columns(path: Path, *beginnings: str) -> bool:
    """Return whether a column of a table begins with one of these, as `before` in a table of impacts does."""
    return any(str(name).startswith(beginnings) for name in open_columns(path).widths)


def _nearest(found: list[AnalyzedImpact], time: float) -> AnalyzedImpact | None:
    """The impact at a time, s; None where none is near."""
    best = min(found, key=lambda impact: abs(impact.time - time), default=None)
    return best if best is not None and abs(best.time - time) <= NEAR else None
