"""`impact-aware tune-detector BAG`: a detector's parameters from a recording without impacts."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from impact_aware.bags.bag import Bag
from impact_aware.cli.options import chosen
from impact_aware.cli.output import keep, show, show_notes
from impact_aware.detection.tuning import TUNABLE, Tuning, tune
from impact_aware.errors import InvalidInputError
from impact_aware.parameters import Options, described
from impact_aware.recordings.options import DEFAULT_DETECTOR
from impact_aware.recordings.whole_recording import samples_in_bag, samples_in_table
from impact_aware.robot import RobotModel
from impact_aware.tables.column_file import SUFFIXES as TABLES
from impact_aware.tables.joint_table import open_table
from impact_aware.tables.options import TableOptions


@dataclass(frozen=True, kw_only=True)
class TuningOptions(Options):
    """The recording, the detector and the wanted rate of false alarms."""

    bag: Path = described(..., "bag or table of joint states without any impact", metavar="BAG", positional=True)
    detector: str = described(DEFAULT_DETECTOR, "detector", choices=tuple(TUNABLE))
    topic: str = described("joint_states", "topic of the joint states", metavar="TOPIC")
    joints: tuple[str, ...] | None = described(None, "joints to watch", absent="those of the robot, else all")
    robot: str | None = described(None, "robot profile, for its joints and the momentum observer")
    begin: float = described(0.0, "samples before this time from the start are left out, s", metavar="S")
    end: float | None = described(None, "samples after this time from the start are left out, s", metavar="S")
    false_alarms_per_hour: float = described(0.1, "largest wanted rate of false alarms", metavar="RATE")


OPTIONS = (TuningOptions, TableOptions)


def run(args: argparse.Namespace) -> int:
    """Tune, print the parameters and write them to `DIR/detector.yaml`."""
    robot = None if args.robot is None else RobotModel.from_profile(args.robot)
    joints = args.joints or (None if robot is None else list(robot.joint_names))
    if args.bag.suffix.lower() in TABLES:
        columns = TableOptions(**chosen(args, TableOptions)).column_map()
        show_notes(open_table(args.bag, columns, joints or (), degrees=args.degrees).notes)
        names, samples = samples_in_table(args.bag, joints, columns, degrees=args.degrees)
    else:
        with Bag(args.bag) as bag:
            names, samples = samples_in_bag(bag, args.topic, joints, degrees=args.degrees)
    end = math.inf if args.end is None else args.end
    times = samples.times
    kept = (times - times[0] >= args.begin) & (times - times[0] <= end)
    if not kept.any():
        raise InvalidInputError(
            "--begin, --end", f"{args.begin} .. {end} s", f"a part of {times[-1] - times[0]:.1f} s"
        )
    used = samples.rows(kept)
    tuning = tune(
        args.detector,
        used.times,
        used.positions,
        used.velocities,
        used.efforts,
        false_alarms_per_hour=args.false_alarms_per_hour,
        robot=robot,
    )
    result = as_dict(tuning, names)
    text = yaml.safe_dump(result, sort_keys=False)
    if args.out is not None:
        keep(args.out / "detector.yaml", text, replace=True)
    show(args, result, text.rstrip())
    return 0


def as_dict(tuning: Tuning, joints: Sequence[str]) -> dict[str, Any]:
    """A tuning in plain types, for JSON and YAML."""

    def plain(value: Any) -> Any:
        return [float(v) for v in value] if isinstance(value, tuple) else float(value)

    return {
        "detector": tuning.detector,
        "joints": list(joints),
        "parameters": {key: plain(value) for key, value in tuning.parameters.items()},
        "expected_false_alarms_per_hour": tuning.false_alarms_per_hour,
        "false_alarms_per_hour_excluded_by_recording": tuning.false_alarms_bound,
        "recording_hours": tuning.hours,
        "largest_signal": plain(tuning.largest),
    }
