"""`impact-aware identify`: friction, inertia, restitution or contact parameters from recorded impacts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from impact_aware.cli.identify_contact_point import add_contact_point_arguments, run_contact_point
from impact_aware.cli.identify_plan import run_plan
from impact_aware.cli.numbers import real, whole
from impact_aware.cli.table_options import add_table_arguments, column_map, refuse_unused, remember_defaults, tell
from impact_aware.columns import ROW_NUMBER, open_columns
from impact_aware.contact.force_models import FORCE_MODELS
from impact_aware.contact.geometry import Contact
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.contact_identification import DEFAULT_FORCE_MODEL, identify_contact
from impact_aware.estimation.identification import (
    Identification,
    identify_friction,
    identify_motor_inertia,
    identify_restitution,
)
from impact_aware.estimation.trial_tables import (
    BoxDefaults,
    ContactDefaults,
    read_force_profile,
    read_trials,
    recorded_trials,
)
from impact_aware.estimation.trials import ImpactTrial
from impact_aware.impact.registry import DEFAULT_METHOD, IMPACT_MAPS
from impact_aware.joint_columns import ColumnMap, completed
from impact_aware.json_text import finite, json_text
from impact_aware.output_folder import write_whole
from impact_aware.recordings.bag import is_recording
from impact_aware.recordings.file_options import FileOptions, common_option, file_options
from impact_aware.robot import RobotModel, load_robot
from impact_aware.robot.plausible_state import limit_notes
from impact_aware.time_columns import passed_over, time_column, time_scale

if TYPE_CHECKING:
    from impact_aware.estimation.object_motion import ObjectTrack


# ImpactEvent.KIND_CONTACT_MADE; the message itself need not be installed to read a bag.
_CONTACT_MADE = 0


DEFAULT_ROBOT = "panda"
"""The arm of recordings that say nothing about theirs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "quantity",
        choices=("friction", "inertia", "restitution", "contact", "contact-point", "plan"),
        help="what to identify; contact: stiffness and damping; contact-point: where on the tool, from the joints' "
        "jumps; plan: which impacts to record so that they tell the motor inertia",
    )
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="table of impacts, recording, bag or force profile"
    )
    parser.add_argument(
        "--robot", metavar="NAME_OR_FILE", help="profile, or URDF file; else that of the files' options, else panda"
    )
    parser.add_argument("--method", default=DEFAULT_METHOD, choices=tuple(IMPACT_MAPS), help="impact map")
    parser.add_argument("--interval", default="likelihood", choices=("likelihood", "bootstrap"))
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (0.95)")
    add_table_arguments(parser)
    group = parser.add_argument_group("what the tables do not say")
    group.add_argument("--contact-frame", metavar="FRAME", help="frame that touches (the tool)")
    group.add_argument(
        "--normal", type=float, nargs=3, metavar=("X", "Y", "Z"), help="from the obstacle into the robot"
    )
    group.add_argument("--friction", type=float, default=0.0, help="known friction coefficient (0)")
    group.add_argument("--restitution", type=float, default=0.0, help="known restitution (0)")
    group.add_argument(
        "--impact-time", type=float, nargs="+", metavar="S", help="in a recording: when the impacts were"
    )
    thing = parser.add_argument_group("free object (without --object-mass a fixed surface was hit)")
    thing.add_argument("--object-mass", type=float, default=0.0, metavar="KG", help="mass of the touched box")
    thing.add_argument(
        "--object-half-extents",
        type=float,
        nargs=3,
        default=(0.1, 0.1, 0.1),
        metavar=("X", "Y", "Z"),
        help="its half edges along the base frame's axes, m (0.1 0.1 0.1)",
    )
    thing.add_argument(
        "--object-position",
        type=float,
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="its centre, m; that of its track, else centrally behind the contact, when absent",
    )
    thing.add_argument("--object-topic", metavar="TOPIC", help="a bag's poses, odometry or twists; else object_pose")
    thing.add_argument("--object-frame", metavar="FRAME", help="its frame in a bag's TF")
    add_contact_point_arguments(parser)
    parser.add_argument("--common-ratio", action="store_true", help="inertia: one factor on the profile's B_theta")
    plan = parser.add_argument_group("plan")
    plan.add_argument("--count", type=whole(1, 10_000), default=20, help="impacts to record (20)")
    plan.add_argument("--candidates", type=whole(1, 100_000), default=300, help="random impacts to choose from (300)")
    plan.add_argument("--velocity-error", type=real(1e-9, 10.0), default=2e-3, help="of the velocities, rad/s (0.002)")
    plan.add_argument("--seed", type=int, default=0, help="of the candidates (0)")
    contact = parser.add_argument_group("contact")
    contact.add_argument(
        "--model", default=DEFAULT_FORCE_MODEL, choices=tuple(FORCE_MODELS), help="contact-force model"
    )
    contact.add_argument("--effective-mass", type=float, metavar="KG", help="along the normal")
    contact.add_argument("--approach-speed", type=float, nargs="+", metavar="M/S", help="one, or one per file")
    remember_defaults(parser)


_TABLES, _BAGS = ("columns", "time_unit", "rate"), ("object_topic", "object_frame")
_RECORDED = ("robot", *_TABLES, "degrees", "contact_frame", "normal", "friction", "impact_time", "object_mass")
_FITTED = ("interval", "confidence")
_IMPACTS = (*_RECORDED, *_BAGS, *_FITTED, "restitution", "method", "object_half_extents", "object_position")

_READ = {
    "friction": tuple(name for name in _IMPACTS if name != "friction"),
    "inertia": (*_IMPACTS, "common_ratio"),
    "restitution": tuple(name for name in _IMPACTS if name != "restitution"),
    "contact": (*_FITTED, "model", "effective_mass", "approach_speed"),
    "contact-point": (*_RECORDED, "per_hit", "fit", "offset", "law_error"),
    "plan": ("robot", "normal", "friction", "restitution", "count", "candidates", "velocity_error", "seed"),
}
"""Options that each quantity reads."""


def _refuse_unused(args: argparse.Namespace) -> None:
    """Refuse options that the quantity, or the kind of the files, has no use for."""
    unused = [name for name in args.option_defaults if name not in (*_READ[args.quantity], "out", "json", "help")]
    refuse_unused(args, unused, f"options that identify {args.quantity} reads")
    bags = [path.is_dir() or is_recording(path) for path in args.files]
    if bags and all(bags):
        refuse_unused(args, _TABLES, "a table among the files: a bag has names and stamps of its own")
    if bags and not any(bags):
        refuse_unused(args, _BAGS, "a bag among the files; --columns object_position=... names a table's columns")


def run(args: argparse.Namespace) -> int:
    """Identify and print."""
    _refuse_unused(args)
    args.robot = args.robot or common_option("robot", args.files) or DEFAULT_ROBOT
    if args.quantity == "plan":
        return run_plan(args, load_robot(args.robot))
    if args.quantity == "contact-point":
        return run_contact_point(args)
    if not args.files:
        raise InvalidInputError("files", "none", "a table of impacts, a recording, a bag or a force profile")
    result = _contact(args) if args.quantity == "contact" else _impacts(args)
    summary = as_dict(result)
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        write_whole(args.out / f"identify_{args.quantity}.json", json_text(summary, indent=2) + "\n")
    print(json_text(summary) if args.json else as_text(result))
    return 0


def as_dict(result: Identification) -> dict[str, Any]:
    """The result as JSON knows it; an open end of an interval is null."""
    return {
        "quantity": result.quantity,
        "unit": result.unit,
        "trials": result.trials,
        "confidence": result.confidence,
        "interval": result.interval,
        "error": result.error,
        "parameters": {
            name: {
                "value": float(result.values[index]),
                "lower": finite(float(result.lower[index])),
                "upper": finite(float(result.upper[index])),
                "determined": bool(result.determined[index]),
            }
            for index, name in enumerate(result.names)
        },
        "warnings": list(result.warnings),
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
    tell(robot.notes)
    defaults = ContactDefaults(
        frame=args.contact_frame or robot.tool_frame,
        normal=None if args.normal is None else np.array(args.normal),
        friction=args.friction,
        restitution=args.restitution,
        radius=robot.tool_radius if args.contact_frame in (None, robot.tool_frame) else 0.0,
        box=_box(args),
    )
    trials, chosen = [], column_map(args)
    for path in args.files:
        beside = file_options(path)
        known, times, columns = _beside(beside, defaults, args.impact_time, chosen)
        degrees = args.degrees or (beside is not None and beside.degrees)
        bag = path.is_dir() or is_recording(path)
        times = times or _found_times(path, args.robot, None if bag else columns, degrees=degrees)
        if bag:
            track = (args.object_topic, args.object_frame)
            trials += trials_from_bag(path, robot, known, times, degrees=degrees, track=track)
        else:
            moved = _track(path, columns)
            found = read_trials(path, robot, known, times, columns=columns, degrees=degrees, track=moved)
            tell(_unused(path, moved, found))
            trials += found
    options = {"method": args.method, "interval": args.interval, "confidence": args.confidence}
    if args.quantity == "friction":
        result = identify_friction(robot, trials, **options)
    elif args.quantity == "restitution":
        result = identify_restitution(robot, trials, **options)
    else:
        result = identify_motor_inertia(robot, trials, common_ratio=args.common_ratio, **options)
    return replace(result, warnings=(*result.warnings, *limit_notes(robot, np.array([trial.q for trial in trials]))))


def _found_times(path: Path, robot: str, columns: ColumnMap | None, *, degrees: bool) -> list[float] | None:
    """Times of the impacts that `analyze` finds in a recording, s; None in a table of impacts and in a bag of them."""
    from impact_aware.recordings.bag import Bag
    from impact_aware.recordings.impact_analysis import analyze
    from impact_aware.recordings.options import AnalysisOptions

    if path.is_dir() or is_recording(path):
        with Bag(path) as bag:
            if any(topic.rpartition("/")[2] == "impacts" for topic in bag.topics):
                return None
    elif not path.is_file() or any(
        str(name).startswith(("before", "velocity_before")) for name in open_columns(path).widths
    ):
        return None
    options = AnalysisOptions(robot=robot, columns=columns, degrees=degrees, ablation=False)
    times = [impact.time for impact in analyze([path], options).impacts]
    tell([f"{path.name}: impacts at {', '.join(f'{time:.4f}' for time in times) or 'no time'} s, found by analyze"])
    return times or None


def _beside(
    found: FileOptions | None, defaults: ContactDefaults, times: Sequence[float] | None, columns: ColumnMap | None
) -> tuple[ContactDefaults, Sequence[float] | None, ColumnMap | None]:
    """Contact, impact times and columns of one recording: the command line's, completed by the file beside it."""
    if found is None:
        return defaults, times, columns
    known = replace(
        defaults,
        frame=found.contact_frame or defaults.frame,
        normal=np.array(found.normal) if defaults.normal is None and found.normal is not None else defaults.normal,
        friction=defaults.friction or found.friction or 0.0,
        restitution=defaults.restitution or found.restitution or 0.0,
        radius=defaults.radius if found.tool_radius is None else found.tool_radius,
        box=replace(defaults.box, mass=defaults.box.mass or found.object_mass or 0.0),
    )
    return known, times or list(found.impact_times) or None, completed(columns, found.columns)


def _box(args: argparse.Namespace) -> BoxDefaults:
    if args.object_mass < 0.0:
        raise InvalidInputError("--object-mass", args.object_mass, "a mass >= 0 kg, 0 for a fixed surface")
    if args.object_position is not None and args.object_mass == 0.0:
        raise InvalidInputError("--object-position", "no --object-mass", "--object-mass along with it")
    place = None if args.object_position is None else tuple(args.object_position)
    return BoxDefaults(args.object_mass, tuple(args.object_half_extents), place)


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
    from impact_aware.messages.stamps import stamp_seconds
    from impact_aware.recordings.bag import Bag, BagError
    from impact_aware.recordings.object_track import track_of_bag
    from impact_aware.recordings.whole_recording import samples_in_bag

    if defaults.normal is None:
        raise InvalidInputError("normal", "nothing", f"--normal X Y Z, since {path} does not say it")
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
    contact = Contact(
        defaults.frame,
        defaults.normal,
        friction=defaults.friction,
        restitution=defaults.restitution,
        radius=defaults.radius,
    )
    trials = recorded_trials(
        robot, samples.times[fresh], samples.positions[fresh], ordered, contact, defaults.box, track=moved
    )
    tell(_unused(path, moved, trials))
    return trials


def _unused(path: Path, track: ObjectTrack | None, trials: Sequence[ImpactTrial]) -> list[str]:
    """A note where an object was tracked whose mass nobody tells."""
    if track is None or any(trial.obstacle is not None for trial in trials):
        return []
    return [f"{path.name}: its track of an object is not used without --object-mass: a fixed surface is assumed"]


def _track(path: Path, columns: ColumnMap | None) -> ObjectTrack | None:
    """The object's columns in a recording; None in one without them and in a table of impacts."""
    from impact_aware.recordings.object_track import track_of_table

    source = open_columns(path)
    if any(str(name).startswith("before") for name in source.widths):
        return None
    if columns is not None and columns.rate is not None:
        tell([said] if (said := passed_over(source, columns.rate)) else ())
        return track_of_table(source, ROW_NUMBER, 1.0 / columns.rate, columns)
    time = (columns.time if columns is not None else None) or time_column(source)
    if not isinstance(time, str):
        return None
    scale, _ = time_scale(source, time, None if columns is None else columns.time_scale)
    return track_of_table(source, time, scale, columns)


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
    return identify_contact(profiles, model=args.model, interval=args.interval, confidence=args.confidence)
