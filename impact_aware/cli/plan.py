"""`impact-aware plan`: from a wanted result to the hit that has it, as a task file; the map of an arm's safe hits."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from impact_aware.cli.options import chosen, refuse_given
from impact_aware.cli.output import plain, row, show, show_notes
from impact_aware.errors import InvalidInputError
from impact_aware.json_text import json_text
from impact_aware.library_settings import figure_settings
from impact_aware.output_folder import OutputFolder, write_whole
from impact_aware.parameters import Options, described
from impact_aware.planning import HitPlan, HitUncertainty, WantedResult, plan_hit
from impact_aware.task import Task, load_task
from impact_aware.task.arms import robots_of_task
from impact_aware.task.task_file import task_yaml
from impact_aware.yaml_text import read_yaml_mapping

if TYPE_CHECKING:
    from impact_aware.planning.arm_map import MapPoint

SPACING, DIRECTIONS = 0.1, 8
"""Between points of the map, m, and directions at each."""


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Options):
    """The scene, and whether a map is drawn in place of a plan."""

    task: str = described(..., "scene: object, arms, tools and bases", metavar="NAME_OR_FILE", positional=True)
    object: str | None = described(None, "another of the task's objects", absent="the task's")
    set: str = described("", "entries of the task file to replace, such as {object: {mass: 1.3}}", metavar="YAML")
    map: bool = described(False, "draw the largest safe speeds of the task's first arm over its table instead")


OPTIONS = (PlanOptions, WantedResult, HitUncertainty)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Leave a tolerance that is not given to the scene."""
    parser.set_defaults(tolerance=None)


def run(args: argparse.Namespace) -> int:
    """Plan, write the results and print them; 1 where the result as it is wanted is infeasible."""
    task = load_task(args.task, read_yaml_mapping("--set", "", args.set) if args.set else None)
    task = task if args.object is None else task.with_object(args.object)
    out = args.out or Path("results") / f"plan-{task.name}"
    if args.map:
        refuse_given(args, ("velocity", "slide", "goal"), "a plan: --map has no result")
        return _map(args, task, out)
    plan = plan_hit(task, _wanted(args, task), HitUncertainty(**chosen(args, HitUncertainty)))
    summary = summary_of(plan) | {"task_file": str(out / "task.yaml"), "figure": str(out / "plan.png")}
    with OutputFolder(out, "plan", aside=True) as folder:
        from impact_aware.planning.figures import plan_figure

        write_whole(folder / "task.yaml", task_yaml(plan.task))
        write_whole(folder / "plan.json", json_text(summary, indent=2) + "\n")
        _draw(folder / "plan.png", lambda: plan_figure(plan))
    show(args, summary, lambda: format_plan(plan, summary))
    if plan.reason:
        show_notes([f"the wanted result is infeasible, the nearest feasible one is planned: {plan.reason}"])
    return int(bool(plan.reason))


def _wanted(args: argparse.Namespace, task: Task) -> WantedResult:
    """The result of the command line, else that of the scene; a tolerance of the command line holds for both."""
    given = {name: value for name, value in chosen(args, WantedResult).items() if value is not None}
    if task.result is None or given.keys() - {"tolerance"}:
        return WantedResult(**given)
    return replace(task.result, **given)


def summary_of(plan: HitPlan) -> dict[str, Any]:
    """A plan as JSON has it, with its alternatives."""
    return {
        "wanted": {key: value for key, value in asdict(plan.wanted).items() if value is not None},
        **plain(plan, "result", "half_width", "probability"),
        "infeasible": plan.reason or None,
        "arms": [
            {"arm": arm.name, "start": list(arm.starts[0]), "posture": list(arm.posture)}
            | {"contact_point": point.tolist(), "normal": normal.tolist(), "velocity": velocity.tolist()}
            for arm, (normal, point, velocity, _) in zip(plan.task.arms, plan.hits, strict=True)
        ],
        "loads": [asdict(load) for load in plan.loads],
        "alternatives": [summary_of(other) for other in plan.alternatives],
    }


def format_plan(plan: HitPlan, summary: dict[str, Any]) -> str:
    """The plan for people."""
    name, unit = ("slide", "m") if plan.wanted.slide is not None else ("velocity", "m/s")
    lines = [
        f"{name:<12}{row(plan.result)} {unit}",
        f"interval    {row(plan.half_width)} {unit} to either side, 95 %",
        f"probability {plan.probability:.2f} to be within {100 * plan.wanted.tolerance:g} % of the wanted result",
    ]
    for own in summary["arms"]:
        lines += [
            f"{own['arm'] or 'arm'} hits at {row(own['contact_point'])} m, the face looks along {row(own['normal'])}",
            f"  velocity  {row(own['velocity'])} m/s, {np.linalg.norm(own['velocity']):.3f} m/s",
            f"  from      {row(own['start'])} m",
            f"  posture   {row(own['posture'])} rad",
        ]
    lines += [f"{load.name:<26}{load.where:<22}{100 * load.share:>5.0f} %" for load in plan.loads[:4]]
    for number, other in enumerate(plan.alternatives, start=1):
        worst, fast = other.loads[0], max(float(np.linalg.norm(hit.velocity)) for hit in other.hits)
        limit = f"{100 * worst.share:.0f} % of {worst.name} {worst.where}".rstrip()
        lines.append(f"alternative {number}: probability {other.probability:.2f} at {fast:.3f} m/s, {limit}")
    return "\n".join([*lines, f"task        {summary['task_file']}", f"figure      {summary['figure']}"])


def _map(args: argparse.Namespace, task: Task, out: Path) -> int:
    """Write the map as figure, table and a recording of its markers."""
    from impact_aware.planning.arm_map import arm_map
    from impact_aware.planning.figures import map_figure

    arm = task.arms[0]
    points = arm_map(task, robots_of_task(task)[0], spacing=SPACING, directions=DIRECTIONS)
    if not points:
        raise InvalidInputError("task", task.name, f"a table within reach of {arm.robot}")
    fastest = max(points, key=lambda point: point.best.speed)
    summary = {
        "robot": arm.robot, "points": len(points), "position": fastest.position.tolist(),
        "direction": fastest.direction.tolist(), **fastest.best._asdict(), "out": str(out),
    }  # fmt: skip
    with OutputFolder(out, "plan", aside=True) as folder:
        write_whole(folder / "map.csv", _table(points))
        _draw(folder / "map.png", lambda: map_figure(points, arm.robot))
        _record(folder / "map_markers", task.frame, points)
    best = fastest.best
    lines = [
        f"fastest safe hit  {best.speed:.3f} m/s at {row(fastest.position)} m along {row(fastest.direction)}",
        f"limit             {best.limit} {best.where}".rstrip() + f", with {best.effective_mass:.2f} kg",
        f"map.csv, map.png and map_markers (for RViz) are in {out}",
    ]
    show(args, summary, "\n".join(lines))
    return 0


def _table(points: list[MapPoint]) -> str:
    lines = ["x,y,z,direction_x,direction_y,speed,effective_mass,limit,where"]
    for point in points:
        best = point.best
        numbers = (*point.position, *point.direction[:2], best.speed, best.effective_mass)
        lines.append(",".join([*(f"{number:.6g}" for number in numbers), best.limit, best.where]))
    return "\n".join(lines) + "\n"


def _record(folder: Path, frame: str, points: list[MapPoint]) -> None:
    """Write the markers as a rosbag2 folder with one message on `arm_map`, which RViz shows during a replay."""
    from rosbags.rosbag2 import StoragePlugin, Writer

    from impact_aware.bags.message_types import annotation_types
    from impact_aware.markers import Changes
    from impact_aware.markers.marker import Sheet
    from impact_aware.messages.marker import TYPE, changes_to_message
    from impact_aware.planning.arm_map import map_markers
    from impact_aware.recordings.annotations import RECORDED

    changes = Changes(tuple(map_markers(Sheet("arm_map", frame, 0.0), points)))
    with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/arm_map", TYPE, typestore=annotation_types())
        writer.write(connection, 0, RECORDED.serialize(changes_to_message(changes, RECORDED), TYPE))


def _draw(path: Path, figure: Callable[[], Any]) -> None:
    with figure_settings():
        save: Callable[[BinaryIO], object] = partial(figure().savefig, format="png", dpi=150)
        write_whole(path, save)
