"""`impact-aware touch-surface RECORDING`: the plane of a fixed surface from gentle taps that the detector finds."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from impact_aware.cli.options import chosen
from impact_aware.cli.output import keep, plain, show
from impact_aware.contact.options import ContactOptions
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.touched_plane import TouchedPlane, touched_plane
from impact_aware.parameters import Options, described, shared
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.results import AnalyzedImpact, ArmAnalysis
from impact_aware.robot import RobotModel
from impact_aware.tables.options import TableOptions

_SURFACE = "surface.yaml"


@dataclass(frozen=True, kw_only=True)
class TapOptions(Options):
    """The recording, the arm and which of its impacts are the taps."""

    recording: Path = described(
        ..., "bag or table in which the tip taps the surface", metavar="BAG", positional=True
    )
    robot: str | None = shared(AnalysisOptions, "robot", None)
    topic: str | None = described(None, "joint states of the arm; needed where several were recorded", metavar="TOPIC")
    contact_frame: str | None = shared(ContactOptions, "contact_frame", None, text="frame at the centre of the tip")
    taps: tuple[int, ...] | None = described(None, "which impacts, as analyze counts them", absent="all contacts")


OPTIONS = (TapOptions, TableOptions)


def run(args: argparse.Namespace) -> int:
    """Print the plane, and write it as a file that `analyze --surface` reads.

    Raises:
        ImpactAwareError: A recording that can't be read, or taps that make no plane.
    """
    tables = TableOptions(**chosen(args, TableOptions))
    options = AnalysisOptions(
        robot=args.robot,
        topics=() if args.topic is None else (args.topic,),
        columns=tables.column_map(),
        degrees=tables.degrees,
        contact_frame=args.contact_frame,
        ablation=False,
    )
    arm, robot = _arm(analyze([args.recording], options).arms)
    impacts = _taps(arm, args.taps)
    frame = args.contact_frame or robot.tool_frame
    radius = robot.tool_radius if frame == robot.tool_frame else 0.0
    plane = _plane(robot, frame, radius, impacts)
    content = {"normal": np.round(plane.normal, 6).tolist(), "point": np.round(plane.point, 6).tolist()}
    written = None if args.out is None else keep(args.out / _SURFACE, yaml.safe_dump(content, sort_keys=False))
    found = _plain(plane, robot, impacts) | {"written": None if written is None else str(written)}
    show(args, found, lambda: _text(found))
    return 0


def _arm(arms: tuple[ArmAnalysis, ...]) -> tuple[ArmAnalysis, RobotModel]:
    if len(arms) > 1:
        raise InvalidInputError("topic", "nothing", f"one of {', '.join(arm.topic for arm in arms)}")
    (arm,) = arms
    if arm.model is None:
        raise InvalidInputError("robot", "nothing", "a profile or a URDF, as the recording has none that can be used")
    return arm, arm.model


def _taps(arm: ArmAnalysis, chosen: list[int] | None) -> list[AnalyzedImpact]:
    """Return the impacts used for the fit; a bounce soon after a contact is used only when it is chosen."""
    if chosen is None:
        return [impact for impact in arm.impacts if impact.cause == "contact"]
    known = {impact.index: impact for impact in arm.impacts}
    for number in chosen:
        if number not in known or chosen.count(number) > 1:
            raise InvalidInputError("taps", number, f"each of 1..{len(known)} once at most")
    return [known[number] for number in chosen]


def _plane(robot: RobotModel, frame: str, radius: float, impacts: list[AnalyzedImpact]) -> TouchedPlane:
    before = [impact.velocity_before for impact in impacts]
    velocities = [
        robot.frame_jacobian(impact.position, frame)[:3] @ dq for impact, dq in zip(impacts, before, strict=True)
    ]
    return touched_plane(
        [robot.placement(impact.position, frame).translation for impact in impacts],
        velocities,
        [np.linalg.norm(v) * impact.event.time_std for impact, v in zip(impacts, velocities, strict=True)],
        radius,
    )


def _plain(plane: TouchedPlane, robot: RobotModel, impacts: list[AnalyzedImpact]) -> dict[str, Any]:
    return {
        "frame": robot.base_frame,
        **plain(plane, "normal", "point", "normal_error", "offset_error", "width"),
        "taps": [
            {"index": impact.index, "time": impact.time, "distance": float(distance)}
            for impact, distance in zip(impacts, plane.distances, strict=True)
        ],
    }


def _text(found: dict[str, Any]) -> str:
    x, y, z = found["normal"]
    a, b, c = found["point"]
    lines = [
        f"normal ({x:.4f}, {y:.4f}, {z:.4f}) +- {np.degrees(found['normal_error']):.2f} deg, in {found['frame']}",
        f"point  ({a:.4f}, {b:.4f}, {c:.4f}) m, +- {1e3 * found['offset_error']:.2f} mm along the normal",
        f"from {len(found['taps'])} taps, which scatter by {1e3 * found['width']:.0f} mm across the line through them",
    ]
    lines += [
        f"  tap {tap['index']} at {tap['time']:.4f} s, {1e3 * tap['distance']:+.2f} mm off the plane"
        for tap in (found["taps"] if len(found["taps"]) > 3 else [])
    ]
    if len(found["taps"]) == 3:
        lines.append("three taps fit any plane: a fourth one would test it")
    if found["written"] is not None:
        lines.append(f"written to {found['written']}: impact-aware analyze --surface reads it")
    return "\n".join(lines)
