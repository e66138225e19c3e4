"""`impact-aware sample-map`: a task's impact map over contact positions, as one file, and answers from such a file.

As in van Steen 2024, section III-B1 and appendix A: at each position of the impact plane the tool has the wanted
orientation and the velocity of the ante-impact field, without turning, and the null-space joint is held; the value is
the velocity of the object just after. A position is projected onto the plane, so that only two of its coordinates
count.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.cli.output import row, show
from impact_aware.errors import InvalidInputError
from impact_aware.impact import DEFAULT_METHOD, IMPACT_MAPS
from impact_aware.impact.sampled_map import LARGEST, ImpactMap
from impact_aware.parameters import Options, described
from impact_aware.ranges import Range
from impact_aware.robot import INERTIA_CHOICES
from impact_aware.task import load_task
from impact_aware.task.impact_positions import MAP_KIND, IntendedImpact, sample_impact_map


@dataclass(frozen=True, kw_only=True)
class SamplingOptions(Options):
    """The task and the positions at which its impact map is sampled."""

    file: Path = described(..., "map to write, .npz; within --out when that is given", metavar="FILE", positional=True)
    task: str = described("hit_and_push", "task of one arm", metavar="NAME_OR_FILE")
    object: str | None = described(None, "another of the task's objects")
    half_width: float = described(0.05, "half width of the square of positions, m", metavar="M")
    count: int = described(5, "positions per side", 2, int((LARGEST / 2) ** 0.25))
    shape: float = described(0.5, "shape of the basis functions", within=Range(1e-9, 1000.0))
    method: str = described(DEFAULT_METHOD, "impact map", choices=tuple(IMPACT_MAPS))
    inertia: str = described("M+B_theta", "inertia in the impact map", choices=INERTIA_CHOICES)


OPTIONS = (SamplingOptions,)


def run(args: argparse.Namespace) -> int:
    """Sample, save and report."""
    path = args.file if args.out is None else args.out / args.file
    if path.exists():
        raise InvalidInputError("file", str(path), "a file that does not exist yet")
    task = load_task(args.task) if args.object is None else load_task(args.task).with_object(args.object)
    if len(task.arms) != 1:
        raise InvalidInputError("task", f"{task.name} with {len(task.arms)} arms", "a task of one arm")
    direct = IntendedImpact(task, method=args.method, inertia=args.inertia)
    sampled = sample_places(direct, args.half_width, args.count, shape=args.shape)
    summary = summarise(direct, sampled, 0.5 * args.half_width / (args.count - 1))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sampled.save(path)
    except OSError as error:
        raise InvalidInputError("file", str(path), f"a file that can be written ({error.strerror})") from error
    summary["file"] = str(path)
    show(args, summary, lambda: format_summary(summary))
    return 0


def sample_places(direct: IntendedImpact, half_width: float, count: int, *, shape: float = 0.5) -> ImpactMap:
    """The map over a square of `count` x `count` positions about the nominal one.

    Raises:
        InvalidInputError: A square that is not on the face of the object that is hit, or too few positions.
        NoSolutionError: Too many positions for this shape.
    """
    if count < 2:
        raise InvalidInputError("count", count, "at least 2 positions per side")
    room = _room(direct)
    if not 0.0 < half_width <= room:
        raise InvalidInputError("half-width", half_width, f"0..{room:.4g} m, as far as the face of the object goes")
    return sample_impact_map(direct, half_width=half_width, count=count, shape=shape)


def _room(direct: IntendedImpact) -> float:
    """Half width of the largest square about the nominal position that is on the face which is hit, m."""
    body, normal = direct.task.object.standing, direct.field.arms[0].normal
    face = body.footprint(normal) @ direct.task.object.turn
    if len(face) < 3:
        return 0.0
    middle = direct.nominal
    flat = face[:, direct.planes[0]] - middle
    edges = np.roll(flat, -1, axis=0) - flat
    outward = np.stack([edges[:, 1], -edges[:, 0]], axis=1)
    outward *= np.sign(np.sum(outward * flat, axis=1, keepdims=True))
    return float(np.min(np.sum(outward * flat, axis=1) / np.abs(outward).sum(axis=1)))


def summarise(direct: IntendedImpact, sampled: ImpactMap, step: float) -> dict[str, Any]:
    """How good the map is: leave-one-out errors, and map against direct prediction at and beside the nominal position.

    The nominal position is one of the samples when their number per side is odd; the one `step` m beside it along both
    axes shows the error of the interpolation.
    """
    errors = np.linalg.norm(sampled.leave_one_out_errors(), axis=1)
    positions = {"nominal": direct.nominal, "beside_nominal": direct.nominal + step}
    return {
        "task": direct.task.name,
        "object": direct.task.object.name,
        "samples": len(sampled.states),
        "leave_one_out_error": {"median": float(np.median(errors)), "max": float(errors.max())},
        **{name: _compare(direct, sampled, position) for name, position in positions.items()},
    }


def format_summary(summary: dict[str, Any]) -> str:
    """The summary for people."""
    error = summary["leave_one_out_error"]
    lines = [
        f"{summary['samples']} positions of {summary['task']} ({summary['object']})  ->  {summary['file']}",
        f"leave one out    median {error['median']:.2e}  max {error['max']:.2e}  m/s",
    ]
    for name in ("nominal", "beside_nominal"):
        entry = summary[name]
        lines += [
            f"{name.replace('_', ' '):<15}  at     {row(entry['place'])}  m",
            f"{'':<15}  map    {row(entry['map'])}  m/s",
            f"{'':<15}  direct {row(entry['direct'])}  m/s   difference {entry['difference']:.1e}",
        ]
    return "\n".join(lines)


def answer_position(path: Path, position: Array) -> dict[str, Any]:
    """What a saved map gives at a position (3,), task frame, m, as one JSON object.

    Raises:
        InvalidInputError: No such map, one over something else than contact positions, or not a position.
    """
    if position.shape != (3,) or not np.isfinite(position).all():
        raise InvalidInputError("position", position.tolist(), "x y z, finite, m")
    sampled = ImpactMap.load(path)
    axes = sampled.notes.get("axes")
    if sampled.notes.get("kind") != MAP_KIND or axes is None:
        raise InvalidInputError("map", str(path), "a map written by impact-aware sample-map")
    across = position[axes]
    lower, upper = sampled.states.min(axis=0).tolist(), sampled.states.max(axis=0).tolist()
    return {
        "map": str(path),
        "task": sampled.notes["task"],
        "object": sampled.notes["object"],
        "frame": sampled.notes["frame"],
        "place": position.tolist(),
        "covered": sampled.covers(across),
        "sampled": {name: list(span) for name, *span in zip(sampled.input_names, lower, upper, strict=True)},
        "object_velocity_after": sampled(across).tolist(),
        "interpolation_error": np.abs(sampled.leave_one_out_errors()).max(axis=0).tolist(),
    }


def format_answer(answer: dict[str, Any]) -> str:
    """The answer for people; with a note when the position was taken to the border of the map."""
    lines = [
        f"object after    {row(answer['object_velocity_after'])}  m/s in {answer['frame']}",
        f"  +- at most    {row(answer['interpolation_error'])}  m/s: by how much samples miss one that is left out",
    ]
    if not answer["covered"]:
        spans = ", ".join(f"{name} {low:.4g}..{high:.4g}" for name, (low, high) in answer["sampled"].items())
        lines.append(f"not covered: the map was sampled over {spans}; this is the answer at its border")
    return "\n".join(lines)


def _compare(direct: IntendedImpact, sampled: ImpactMap, across: Array) -> dict[str, Any]:
    position = direct.tool_positions(across)[0]
    interpolated, exact = sampled(across), direct(across)
    return {
        "place": position.tolist(),
        "map": interpolated.tolist(),
        "direct": exact.tolist(),
        "difference": float(np.linalg.norm(interpolated - exact)),
    }
