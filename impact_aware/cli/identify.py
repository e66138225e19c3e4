"""`impact-aware identify`: friction, inertia, restitution, pads or contact parameters from recorded impacts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from impact_aware.bags.bag import is_recording
from impact_aware.cli import identify_contact_point, identify_plan
from impact_aware.cli.options import add_common, add_options, chosen, refuse_given
from impact_aware.cli.output import keep_json, plain, show, show_notes
from impact_aware.cli.predict import BodyOptions, MapOptions
from impact_aware.contact.box import Box
from impact_aware.contact.force_models import FORCE_MODELS
from impact_aware.contact.geometry import Contact
from impact_aware.contact.options import ContactOptions, ObjectOptions, Vector
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.contact_identification import DEFAULT_FORCE_MODEL, identify_contact
from impact_aware.estimation.identification import (
    Identification,
    identify_friction,
    identify_motor_inertia,
    identify_restitution,
)
from impact_aware.estimation.material_identification import identify_material
from impact_aware.estimation.trial_tables import (
    BoxDefaults,
    ContactDefaults,
    read_force_profile,
    read_trials,
    recorded_trials,
)
from impact_aware.estimation.trials import ImpactTrial
from impact_aware.impact.registry import DEFAULT_METHOD
from impact_aware.json_text import finite
from impact_aware.parameters import Options, described, shared
from impact_aware.ranges import Range
from impact_aware.recordings.file_options import common_option, completed_by, completed_table, file_options
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.robot import RobotModel, load_robot
from impact_aware.robot.plausible import limit_notes
from impact_aware.tables.column_file import open_columns
from impact_aware.tables.joint_table import clock_of
from impact_aware.tables.options import ColumnMap, TableOptions

if TYPE_CHECKING:
    from impact_aware.estimation.object_motion import ObjectTrack

# ImpactEvent.KIND_CONTACT_MADE; the message itself need not be installed to read a bag.
_CONTACT_MADE = 0

DEFAULT_ROBOT = "panda"
"""Arm of recordings that name none."""

PARTS = {
    "friction": "friction coefficient, from the joints' jumps",
    "inertia": "apparent motor inertia, from the joints' jumps",
    "restitution": "coefficient of restitution, from the joints' jumps",
    "material": "law and stiffness ratio of a palm's pads, from the joints' jumps",
    "contact": "stiffness and damping, from force profiles",
    "contact-point": "point of the tool that touches, from the joints' jumps",
    "plan": "impacts to record that determine the motor inertia",
}


@dataclass(frozen=True, kw_only=True)
class IntervalOptions(Options):
    """Confidence intervals."""

    confidence: float = described(0.95, "confidence of the intervals", within=Range(0.0, 1.0, open_below=True))


@dataclass(frozen=True, kw_only=True)
class RecordedOptions(Options):
    """Recorded impacts."""

    files: tuple[Path, ...] = described((), "tables of impacts, recordings or bags", metavar="FILE", positional=True)
    robot: str | None = shared(
        AnalysisOptions, "robot", None, absent=f"that of the files' options, else {DEFAULT_ROBOT}"
    )
    impact_time: tuple[float, ...] | None = described(
        None, "times of the impacts in a recording, s", metavar="S", absent="found by analyze"
    )


@dataclass(frozen=True, kw_only=True)
class ImpactMapOptions(Options):
    """What the impact map needs beside the contact."""

    method: str = shared(AnalysisOptions, "method", DEFAULT_METHOD)
    object_half_extents: Vector = described(
        (0.1, 0.1, 0.1), "half edges of the touched box along the base frame's axes, m"
    )
    object_position: Vector | None = described(
        None, "its centre, m", absent="that of its track, else central behind the contact"
    )


@dataclass(frozen=True, kw_only=True)
class PalmOptions(Options):
    """The palm whose pads are identified, and the table of what it hit."""

    pad_half_sizes: Vector | None = shared(MapOptions, "pad_half_sizes", None)
    table_friction: float | None = shared(BodyOptions, "table_friction", None)


@dataclass(frozen=True, kw_only=True)
class RatioOptions(Options):
    """What only the motor inertia has."""

    common_ratio: bool = described(False, "one factor on the profile's B_theta for all joints")


@dataclass(frozen=True, kw_only=True)
class ForceOptions(Options):
    """Force profiles."""

    files: tuple[Path, ...] = described((), "tables of time and force", metavar="FILE", positional=True)
    model: str = described(DEFAULT_FORCE_MODEL, "contact-force model", choices=tuple(FORCE_MODELS))
    effective_mass: float | None = described(None, "effective mass along the normal, kg", metavar="KG")
    approach_speed: tuple[float, ...] | None = described(
        None, "approach speed, m/s, one or one per file", metavar="M/S"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the quantities, each with its own options."""
    parts = parser.add_subparsers(dest="quantity", metavar="QUANTITY", required=True)
    for name, text in PARTS.items():
        part = parts.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        add_common(part, default=False)
        settings: tuple[type, ...]
        if name == "plan":
            settings = identify_plan.OPTIONS
        elif name == "contact":
            settings = (ForceOptions, IntervalOptions)
        else:
            settings = (RecordedOptions, TableOptions)
        for options in settings:
            add_options(part, options)
        if name == "contact-point":
            identify_contact_point.add_arguments(part)
        elif name not in ("plan", "contact"):
            known = [option for option in ("contact_frame", "normal", "friction", "restitution") if option != name]
            add_options(part, ContactOptions, *known, absent={"normal": "the table's"})
            more = {"inertia": (RatioOptions,), "material": (PalmOptions,)}.get(name, ())
            for options in (ObjectOptions, *more, IntervalOptions):
                add_options(part, options)
            of_map = ("object_half_extents", "object_position", *(("method",) if name != "material" else ()))
            add_options(part, ImpactMapOptions, *of_map)


def run(args: argparse.Namespace) -> int:
    """Identify and print."""
    if args.quantity == "plan":
        return identify_plan.run(args)
    if not args.files:
        raise InvalidInputError("FILE", "none", "a table of impacts, a recording, a bag or a force profile")
    bags = [path.is_dir() or is_recording(path) for path in args.files]
    if all(bags):
        expected = "a table among the files: a bag has names and stamps of its own"
        refuse_given(args, ("columns", "time_unit", "rate"), expected)
    if not any(bags):
        expected = "a bag among the files; --columns object_position=... names a table's columns"
        refuse_given(args, ("object_topic", "object_frame"), expected)
    if args.quantity != "contact":
        args.robot = args.robot or common_option("robot", args.files) or DEFAULT_ROBOT
    if args.quantity == "contact-point":
        return identify_contact_point.run(args)
    result = _contact(args) if args.quantity == "contact" else _impacts(args)
    summary = as_dict(result)
    keep_json(args.out, f"identify_{args.quantity}.json", summary)
    show(args, summary, lambda: as_text(result))
    return 0


def as_dict(result: Identification) -> dict[str, Any]:
    """The result as JSON knows it; an open end of an interval is null."""
    return {
        **plain(result, "quantity", "unit", "trials", "confidence", "error", "warnings"),
        "parameters": {
            name: {
                "value": float(result.values[index]),
                "lower": finite(float(result.lower[index])),
                "upper": finite(float(result.upper[index])),
                "determined": bool(result.determined[index]),
            }
            for index, name in enumerate(result.names)
        },
    }


def as_text(result: Identification) -> str:
    """The result as a small table."""
    width = max(len(name) for name in result.names)
    lines = [f"{result.quantity} from {result.trials} impact{'s' if result.trials > 1 else ''} [{result.unit}]"]
    for index, name in enumerate(result.names):
        mark = "" if result.determined[index] else "   undetermined"
        lines.append(
            f"  {name:<{width}}  {result.values[index]:.4g}   {100 * result.confidence:g} %:"
            f" {result.lower[index]:.4g} .. {result.upper[index]:.4g}{mark}"
        )
    unit = "N" if result.quantity == "contact" else "rad/s"
    lines.append(f"  left unexplained: {result.error:.3g} {unit} rms")
    return "\n".join(lines + [f"  warning: {line}" for line in result.warnings])


def _impacts(args: argparse.Namespace) -> Identification:
    robot = load_robot(args.robot)
    show_notes(robot.notes)
    given = TableOptions(**chosen(args, TableOptions))
    trials = []
    for path in args.files:
        beside = file_options(path)
        defaults = _defaults(args, completed_by(vars(args), beside), robot)
        columns, degrees, given_times = completed_table(given, args.impact_time, beside)
        bag = path.is_dir() or is_recording(path)
        times = given_times or _found_times(path, args.robot, None if bag else columns, degrees=degrees)
        if bag:
            track = (args.object_topic, args.object_frame)
            trials += trials_from_bag(path, robot, defaults, times, degrees=degrees, track=track)
        else:
            moved = _track(path, columns)
            found = read_trials(path, robot, defaults, times, columns=columns, degrees=degrees, track=moved)
            show_notes(_unused(path, moved, found))
            trials += found
    if args.quantity == "material":
        return _of_pads(args, robot, trials)
    options = {"method": args.method, "confidence": args.confidence}
    if args.quantity == "friction":
        result = identify_friction(robot, trials, **options)
    elif args.quantity == "restitution":
        result = identify_restitution(robot, trials, **options)
    else:
        result = identify_motor_inertia(robot, trials, common_ratio=args.common_ratio, **options)
    return replace(result, warnings=(*result.warnings, *limit_notes(robot, np.array([trial.q for trial in trials]))))


def _of_pads(args: argparse.Namespace, robot: RobotModel, trials: list[ImpactTrial]) -> Identification:
    """Material of the palm's pads."""
    if args.pad_half_sizes is None:
        raise InvalidInputError("--pad-half-sizes", "nothing", "the half edges of the palm, m")
    if args.table_friction is not None and not any(trial.obstacle for trial in trials):
        raise InvalidInputError("--table-friction", "no --object-mass", "--object-mass along with it")
    how = {"shape": Box(tuple(args.object_half_extents)), "table_friction": args.table_friction}
    return identify_material(robot, trials, args.pad_half_sizes, **how, confidence=args.confidence)


def _defaults(args: argparse.Namespace, known: dict[str, Any], robot: RobotModel) -> ContactDefaults:
    """Contact and object of one recording, where its table has none."""
    if args.object_position is not None and not known["object_mass"]:
        raise InvalidInputError("--object-position", "no --object-mass", "--object-mass along with it")
    frame = known["contact_frame"] or robot.tool_frame
    radius = robot.tool_radius if frame == robot.tool_frame else 0.0
    place = None if args.object_position is None else tuple(args.object_position)
    return ContactDefaults(
        frame=frame,
        normal=None if known["normal"] is None else np.array(known["normal"]),
        friction=known["friction"] or 0.0,
        restitution=known["restitution"] or 0.0,
        radius=radius if known["tool_radius"] is None else known["tool_radius"],
        box=BoxDefaults(known["object_mass"] or 0.0, tuple(args.object_half_extents), place),
    )


def _found_times(path: Path, robot: str, columns: ColumnMap | None, *, degrees: bool) -> list[float] | None:
    """Times of the impacts that `analyze` finds in a recording, s; None in a table of impacts and in a bag of them."""
    from impact_aware.bags.bag import Bag
    from impact_aware.recordings.impact_analysis import analyze

    if path.is_dir() or is_recording(path):
        with Bag(path) as bag:
            if any(topic.rpartition("/")[2] == "impacts" for topic in bag.topics):
                return None
    elif not path.is_file() or identify_contact_point.has_columns(path, "before", "velocity_before"):
        return None
    options = AnalysisOptions(robot=robot, columns=columns, degrees=degrees, ablation=False)
    times = [impact.time for impact in analyze([path], options).impacts]
    shown = ", ".join(f"{time:.4f}" for time in times) or "no time"
    show_notes([f"{path.name}: impacts at {shown} s, found by analyze"])
    return times or None


def trials_from_bag(
    path: Path,
    robot: RobotModel,
    defaults: ContactDefaults,
    impact_times: Sequence[float] | None,
    *,
    degrees: bool = False,
    track: tuple[str | None, str | None] = (None, None),
) -> list[ImpactTrial]:
    """Impacts of a rosbag2 recording: positions from `joint_states`, times from its `impacts` unless given.

    Args:
        path: The bag.
        robot: Whose joints are picked by name.
        defaults: The contact.
        impact_times: Header time of each impact, s.
        degrees: Whether angles are in degrees.
        track: Topic and TF frame of the object, where one is known; else its `object_pose` is looked for.

    Raises:
        BagError: It can't be read, or has neither `impacts` nor given times.
        InvalidInputError: A joint is missing, or no normal was given.
    """
    # Imported here, because tables need no bag reader.
    from impact_aware.bags.bag import Bag, BagError
    from impact_aware.messages.stamps import stamp_seconds
    from impact_aware.recordings.object_track import track_of_bag
    from impact_aware.recordings.whole_recording import samples_in_bag

    if defaults.normal is None:
        raise InvalidInputError("normal", "nothing", f"--normal X Y Z, since {path} has none")
    with Bag(path) as bag:
        _, samples = samples_in_bag(bag, "joint_states", robot.joint_names, degrees=degrees)
        if not impact_times:
            events = [message for _, message in bag.messages("impacts")]
            impact_times = [stamp_seconds(event) for event in events if event.kind == _CONTACT_MADE]
            if not impact_times:
                raise BagError(f"{path}: no contact made in impacts; give --impact-time")
        ordered = sorted(set(impact_times))
        moved = track_of_bag(bag, *track, robot.base_frame)
    fresh = np.concatenate([[True], np.diff(samples.times) > 0.0])
    known = {name: getattr(defaults, name) for name in ("friction", "restitution", "radius")}
    contact = Contact(defaults.frame, defaults.normal, **known)
    trials = recorded_trials(
        robot, samples.times[fresh], samples.positions[fresh], ordered, contact, defaults.box, track=moved
    )
    show_notes(_unused(path, moved, trials))
    return trials


def _unused(path: Path, track: ObjectTrack | None, trials: Sequence[ImpactTrial]) -> list[str]:
    """Return a note where an object was tracked whose mass is not given."""
    if track is None or any(trial.obstacle is not None for trial in trials):
        return []
    return [f"{path.name}: its track of an object is not used without --object-mass: a fixed surface is assumed"]


def _track(path: Path, columns: ColumnMap | None) -> ObjectTrack | None:
    """The object's columns in a recording; None in one without them and in a table of impacts."""
    from impact_aware.recordings.object_track import track_of_table

    if identify_contact_point.has_columns(path, "before", "velocity_before"):
        return None
    source = open_columns(path)
    clock = clock_of(source, columns or ColumnMap())
    if clock is None or isinstance(clock.column, int):
        return None
    if columns is not None and columns.rate is not None and clock.note:
        show_notes([clock.note])
    return track_of_table(source, clock, columns)


def _contact(args: argparse.Namespace) -> Identification:
    speeds = args.approach_speed or [None]
    if len(speeds) == 1:
        speeds = speeds * len(args.files)
    if len(speeds) != len(args.files):
        raise InvalidInputError(
            "--approach-speed", f"{len(speeds)} speeds", f"one, or one for each of {len(args.files)} files"
        )
    profiles = [
        read_force_profile(path, approach_speed=speed, effective_mass=args.effective_mass)
        for path, speed in zip(args.files, speeds, strict=True)
    ]
    return identify_contact(profiles, model=args.model, confidence=args.confidence)
