"""`impact-aware tune-detector BAG`: a detector's parameters from a recording without impacts."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from impact_aware.cli.table_options import add_table_arguments, column_map, tell
from impact_aware.columns import SUFFIXES as TABLES
from impact_aware.detection.tuning import TUNABLE, Tuning, tune
from impact_aware.errors import InvalidInputError
from impact_aware.json_text import json_text
from impact_aware.output_folder import write_whole
from impact_aware.recordings.bag import Bag
from impact_aware.recordings.joint_table import open_table
from impact_aware.recordings.whole_recording import samples_in_bag, samples_in_table
from impact_aware.robot import RobotModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the recording, the detector and the wanted false-alarm rate."""
    parser.add_argument("bag", type=Path, metavar="BAG", help="bag or table of joint states without any impact")
    parser.add_argument("--detector", default="adaptive_window", help="one of " + ", ".join(TUNABLE))
    parser.add_argument("--topic", default="joint_states", help="name of the joint states' topic")
    parser.add_argument(
        "--joints", nargs="+", metavar="NAME", help="joints to watch; those of the robot or all if left out"
    )
    parser.add_argument("--robot", help="robot profile, for its joints and for the momentum observer")
    add_table_arguments(parser)
    parser.add_argument(
        "--begin", type=float, default=0.0, metavar="S", help="leave out what comes before, s from start"
    )
    parser.add_argument(
        "--end", type=float, default=math.inf, metavar="S", help="leave out what comes after, s from start"
    )
    parser.add_argument(
        "--false-alarms-per-hour", type=float, default=0.1, metavar="RATE", help="wanted at most (default: 0.1)"
    )


def run(args: argparse.Namespace) -> int:
    """Tune, print the parameters and write them to `DIR/detector.yaml`."""
    robot = None if args.robot is None else RobotModel.from_profile(args.robot)
    joints = args.joints or (None if robot is None else list(robot.joint_names))
    if args.bag.suffix.lower() in TABLES:
        chosen = column_map(args)
        tell(open_table(args.bag, chosen, joints or (), degrees=args.degrees).notes)
        names, samples = samples_in_table(args.bag, joints, chosen, degrees=args.degrees)
    else:
        with Bag(args.bag) as bag:
            names, samples = samples_in_bag(bag, args.topic, joints, degrees=args.degrees)
    times = samples.times
    kept = (times - times[0] >= args.begin) & (times - times[0] <= args.end)
    if not kept.any():
        raise InvalidInputError(
            "--begin, --end", f"{args.begin} .. {args.end} s", f"a part of {times[-1] - times[0]:.1f} s"
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
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        write_whole(args.out / "detector.yaml", yaml.safe_dump(result, sort_keys=False))
    print(json_text(result) if args.json else yaml.safe_dump(result, sort_keys=False).rstrip())
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
