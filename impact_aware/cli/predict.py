"""`impact-aware predict`: predictions from the command line, at one state, at a table of them, or from a saved map."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.cli.options import add_options, chosen
from impact_aware.cli.output import keep_json, plain, row, show, show_notes
from impact_aware.contact import Contact, FreeObject, contact_point
from impact_aware.contact.box import Box
from impact_aware.contact.geometry import FRICTION
from impact_aware.contact.hull import mesh_vertices
from impact_aware.contact.options import ContactOptions, ObjectOptions, Vector
from impact_aware.contact.shape import PlacedShape, Shape
from impact_aware.contact.shape_registry import SHAPES, shape_named
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.impact import DEFAULT_METHOD, IMPACT_MAPS, ImpactPrediction, predict
from impact_aware.impact.hit import HitPrediction, not_unique, predict_hit
from impact_aware.impact.hit_uncertainty import predict_hit_with_covariance
from impact_aware.impact.material import INSIDE, MATERIALS, RIGID_PADS, Pads
from impact_aware.impact.palm import checked_palm, face_middle
from impact_aware.impact.uncertainty import InputCovariance, UncertainPrediction, predict_with_covariance
from impact_aware.parameters import Options, described, shared
from impact_aware.ranges import Range
from impact_aware.resources import read_text
from impact_aware.robot import INERTIA_CHOICES, RobotModel, load_robot
from impact_aware.robot.plausible import check_state, limit_notes, robot_notes
from impact_aware.tables.options import TableOptions

LENGTH = Range(0.0, 10.0, "m", open_below=True)

_DEGREES = "; --degrees if they are degrees"
_CUBE = (0.1, 0.1, 0.1)
_ONE_STATE = ("covariance", "pad_half_sizes", "table_friction", "material", "pad_stiffness_ratio")


@dataclass(frozen=True, kw_only=True)
class StateOptions(Options):
    """Robot and state just before the impact."""

    robot: str = described("panda", "profile name, profile file or URDF", metavar="NAME_OR_FILE")
    q: tuple[float, ...] | None = described(None, "joint positions, rad", metavar="RAD", absent="the robot's home")
    dq: tuple[float, ...] | None = described(None, "joint velocities before the impact, rad/s", metavar="RAD/S")
    degrees: bool = shared(TableOptions, "degrees", False)
    inertia: str = described("M+B_theta", "inertia in the impact map", choices=INERTIA_CHOICES)
    apparent_motor_inertia: tuple[float, ...] | None = described(
        None, "B_theta of each joint, kg m^2, for a URDF or to override the profile", metavar="B"
    )
    states: Path | None = described(
        None, "table of states in place of --q and --dq: columns q_JOINT and dq_JOINT, or arrays q and dq"
    )
    columns: tuple[str, ...] = shared(TableOptions, "columns", ())


@dataclass(frozen=True, kw_only=True)
class MapOptions(Options):
    """The contact beside `ContactOptions`, and the impact map."""

    pad_half_sizes: Vector | None = described(
        None, "half edges of a flat palm along the contact frame's axes, which hits in place of a tip", within=LENGTH
    )
    method: str = described(DEFAULT_METHOD, "impact map", choices=tuple(IMPACT_MAPS))
    material: str | None = shared(Pads, "material", None, absent=Pads.material)
    pad_stiffness_ratio: float | None = shared(Pads, "stiffness_ratio", None, absent=f"{Pads.stiffness_ratio:g}")
    covariance: Path | None = described(
        None,
        f"JSON with covariances of {', '.join(entry.name for entry in fields(InputCovariance))}: each a variance, a "
        "list of variances or a matrix, SI units; adds the spread of the prediction",
    )


@dataclass(frozen=True, kw_only=True)
class BodyOptions(Options):
    """The free object beside its mass; None where its default of the description is meant."""

    object_shape: str | None = described(None, "its shape; a cylinder is about its z axis", choices=tuple(SHAPES))
    object_half_extents: Vector | None = described(
        None, "half edges; of a cylinder radius, radius, half length", within=LENGTH, absent="0.1 0.1 0.1"
    )
    object_mesh: Path | None = described(None, "STL, OBJ or DAE in m, with the shape hull")
    object_rpy: Vector | None = described(
        None, "roll, pitch and yaw of its axes, base frame, rad", metavar="RAD", absent="0 0 0"
    )
    object_inertia: Vector | None = described(
        None, "Ixx Iyy Izz along its axes", metavar="I", within=Range(1e-15, 1e12, "kg m^2"),
        absent="that of its shape with one density",
    )
    object_position: Vector | None = described(
        None, "centre of mass, m; needed with --states", absent="central behind the contact"
    )
    object_twist: tuple[float, float, float, float, float, float] | None = described(
        None, "vx vy vz wx wy wz, m/s and rad/s", metavar="V", absent="at rest"
    )
    table_friction: float | None = described(
        None, "with a palm, Coulomb coefficient of the table under the box", within=FRICTION, absent="no table"
    )


@dataclass(frozen=True, kw_only=True)
class SavedMapOptions(Options):
    """A saved map in place of everything else."""

    map: Path | None = described(None, "map that sample-map saved")
    position: Vector | None = described(None, "tool at the impact, task frame, m")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `predict`."""
    add_options(parser.add_argument_group("robot and state"), StateOptions)
    contact = parser.add_argument_group("contact")
    add_options(contact, ContactOptions, absent={"normal": "0 0 1, a table touched from above"})
    add_options(contact, MapOptions)
    thing = parser.add_argument_group("free object (without --object-mass a fixed surface is hit)")
    add_options(thing, ObjectOptions, "object_mass")
    add_options(thing, BodyOptions)
    add_options(parser.add_argument_group("from a saved map, in place of all of the above"), SavedMapOptions)


def run(args: argparse.Namespace) -> int:
    """Predict and print; raises `ImpactAwareError` on bad input."""
    if args.map is not None or args.position is not None:
        return _run_map(args)
    if args.states is not None:
        return _run_states(args)
    robot, unit = _robot(args), np.pi / 180.0 if args.degrees else 1.0
    if args.dq is None:
        raise InvalidInputError("--dq", "nothing", f"{robot.n} joint velocities, rad/s")
    contact = _contact(args, robot)
    q = robot.check_configuration(robot.home if args.q is None else unit * np.array(args.q), "--q")
    dq = robot.check_configuration(unit * np.array(args.dq), "--dq")
    check_state(robot, q, dq, _DEGREES)
    palm, pads = _palm(args), _pads(args)
    if palm is None:
        point = contact_point(robot, q, contact)
    else:
        point = face_middle(contact.normal, robot.placement(q, contact.frame), palm)
    shape = _shape(args)
    obstacle = _object(args, shape, contact, point)
    choices: dict[str, Any] = {"method": args.method, "inertia": args.inertia}
    uncertain: UncertainPrediction[Any] | None = None
    prediction: ImpactPrediction | HitPrediction
    if palm is not None:
        body = None if obstacle is None else PlacedShape(shape, obstacle.position, _rotation(args))
        table = {"shape": body, "table_friction": args.table_friction}
        choices |= {"obstacle": obstacle, **table}
        if args.covariance is None and not pads.laws:
            prediction = predict_hit(robot, q, dq, contact, palm, search=True, **choices)
        else:
            spread = InputCovariance() if args.covariance is None else _covariance(args.covariance)
            choices["pads"] = pads
            uncertain = predict_hit_with_covariance(robot, q, dq, contact, palm, spread, **choices)
            prediction = uncertain.prediction
    elif args.covariance is None:
        prediction = predict(robot, q, dq, contact, obstacle=obstacle, **choices)
    else:
        spread = _covariance(args.covariance)
        uncertain = predict_with_covariance(robot, q, dq, contact, spread, obstacle=obstacle, **choices)
        prediction = uncertain.prediction
    result = to_json(robot, prediction)
    notes = (*robot_notes(robot), *limit_notes(robot, q))
    result["notes"] = list(notes)
    text = format_prediction(robot, prediction)
    if uncertain is not None:
        result["covariance"] = {
            "velocity_after": uncertain.velocity_after_covariance.tolist(),
            "impulse": uncertain.impulse_covariance.tolist(),
            "mode_may_change": uncertain.mode_may_change,
        }
        text += "\n" + format_spread(robot, uncertain, pads)
    keep_json(args.out, "prediction.json", result, replace=False)
    show(args, result, text)
    if not args.json:
        show_notes(notes)
    return 0


def _run_states(args: argparse.Namespace) -> int:
    """Predict at every state of a table."""
    # Columns of tables are read by code that one prediction has no need of.
    from impact_aware.cli import state_table
    from impact_aware.impact.batch import predict_batch

    _refuse(args, "states", ("q", "dq", *_ONE_STATE))
    if args.object_mass is not None and args.object_position is None:
        raise InvalidInputError("--object-position", "nothing", "the object's position, the same for all states")
    robot = _robot(args)
    contact = _contact(args, robot)
    obstacle = _object(args, _shape(args), contact, np.zeros(3))
    columns = TableOptions(columns=tuple(args.columns)).column_map()
    table = state_table.read_states(args.states, robot, degrees=args.degrees, columns=columns)
    check_state(robot, table.q, table.dq, _DEGREES)
    notes = (*robot_notes(robot), *limit_notes(robot, table.q))
    show_notes(notes)
    start = time.perf_counter()
    prediction = predict_batch(
        robot, table.q, table.dq, contact, obstacle=obstacle, method=args.method, inertia=args.inertia
    )
    text = state_table.format_predictions(prediction, time.perf_counter() - start)
    if args.out is not None:
        text += f"\nwritten         {state_table.write_predictions(args.out, robot, prediction)}"
    show(args, {**state_table.to_json(prediction), "notes": list(notes)}, text)
    return 0


def _run_map(args: argparse.Namespace) -> int:
    """Interpolate a saved map at one position."""
    if args.map is None or args.position is None:
        missing = "--map" if args.map is None else "--position"
        raise InvalidInputError(missing, "nothing", "--map and --position together")
    _refuse(args, "map", ("q", "dq", "states", *_ONE_STATE))
    # Tasks bring the compiler along with their fields.
    from impact_aware.cli import sample_map

    answer = sample_map.answer_position(args.map, np.array(args.position))
    keep_json(args.out, "prediction.json", answer, replace=False)
    show(args, answer, lambda: sample_map.format_answer(answer))
    return 0


def _refuse(args: argparse.Namespace, option: str, others: tuple[str, ...]) -> None:
    """Refuse options that exclude `option`."""
    for other in others:
        if getattr(args, other) is not None:
            named = f"--{other.replace('_', '-')}"
            raise InvalidInputError(named, f"a value along with --{option}", f"--{option} or {named}, not both")


_FIGURES = (
    "method", "inertia", "mode", "velocity_before", "velocity_after", "impulse", "effective_mass", "reduced_mass",
    "contact_velocity_before", "contact_velocity_after", "object_twist_before", "object_twist_after", "energy_loss",
    "unique", "other_energy_losses",
)  # fmt: skip


def to_json(robot: RobotModel, prediction: ImpactPrediction | HitPrediction) -> dict[str, Any]:
    """The prediction as one JSON object: SI units, base frame, joints in the model's order."""
    return {
        "robot": robot.name,
        "joints": list(robot.joint_names),
        "contact_frame": prediction.contact.frame,
        "contact_point": prediction.point.tolist(),
        **plain(prediction, *_FIGURES),
    }


def format_prediction(robot: RobotModel, prediction: ImpactPrediction | HitPrediction) -> str:
    """The prediction as a table for people."""
    width = max(len("joint"), *(len(name) for name in robot.joint_names))
    lines = [f"{'joint':<{width}}  {'before':>9}  {'after':>9}  {'jump':>9}   rad/s"]
    columns = zip(
        robot.joint_names, prediction.velocity_before, prediction.velocity_after, prediction.jump, strict=True
    )
    lines += [f"{name:<{width}}  {before:9.4f}  {after:9.4f}  {jump:+9.4f}" for name, before, after, jump in columns]
    method = f"{prediction.method}, inertia {prediction.inertia}"
    lines += ["", f"mode            {prediction.mode}  ({method})"]
    lines += [
        f"{label:<15} {row(values)}  {unit}"
        for label, values, unit in (
            ("impulse", prediction.impulse, "N s"),
            ("contact before", prediction.contact_velocity_before, "m/s"),
            ("contact after", prediction.contact_velocity_after, "m/s"),
            ("object before", prediction.object_twist_before, "m/s, rad/s"),
            ("object after", prediction.object_twist_after, "m/s, rad/s"),
        )
        if values is not None
    ]
    lines.append(f"effective mass  {prediction.effective_mass:9.4f}  kg along the normal")
    if prediction.obstacle is not None:
        lines.append(f"with the object {prediction.reduced_mass:9.4f}  kg")
    lines.append(f"energy loss     {prediction.energy_loss:9.4f}  J")
    if not prediction.unique:
        lines.append(not_unique(prediction.energy_loss, prediction.other_energy_losses))
    return "\n".join(lines)


def format_spread(robot: RobotModel, uncertain: UncertainPrediction[Any], pads: Pads = RIGID_PADS) -> str:
    """The prediction's standard deviations for people, with those of drawn materials where they are in."""
    width = max(len(name) for name in robot.joint_names)
    deviations = np.sqrt(np.diag(uncertain.velocity_after_covariance))
    lines = ["", "standard deviations" + ("" if pads.laws else ", first order")]
    pairs = zip(robot.joint_names, deviations, strict=True)
    lines += [f"{name:<{width}}  {deviation:9.5f}  rad/s" for name, deviation in pairs]
    lines.append(f"impulse         {row(np.sqrt(np.diag(uncertain.impulse_covariance)))}  N s")
    if pads.laws:
        held = f"two deviations hold {100.0 * INSIDE:.0f} % of them"
        lines.append(f"the prediction is the mean of {pads.draws} drawn materials of the pads: {held}")
    elif uncertain.mode_may_change:
        lines.append("the mode may change within this spread: take the deviations as a hint only")
    return "\n".join(lines)


def _covariance(path: Path) -> InputCovariance:
    text = read_text("covariance", path, "JSON file")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("covariance", str(path), f"valid JSON ({error})") from error
    known = tuple(entry.name for entry in fields(InputCovariance))
    if not isinstance(content, dict):
        raise InvalidInputError("covariance", str(path), "a JSON object with entries of " + ", ".join(known))
    for key in content:
        if key not in known:
            raise UnknownNameError("covariance entry", key, known)
    return InputCovariance(**content)


def _robot(args: argparse.Namespace) -> RobotModel:
    b_theta = args.apparent_motor_inertia
    return load_robot(args.robot, None if b_theta is None else tuple(b_theta))


def _contact(args: argparse.Namespace, robot: RobotModel) -> Contact:
    given = ContactOptions(**chosen(args, ContactOptions))
    frame = given.contact_frame or robot.tool_frame
    robot.frame_id(frame)
    own_radius = robot.tool_radius if frame == robot.tool_frame else 0.0
    return Contact(
        frame=frame,
        normal=np.array(given.normal or (0.0, 0.0, 1.0)),
        offset=np.array(given.offset or (0.0, 0.0, 0.0)),
        friction=given.friction or 0.0,
        restitution=given.restitution or 0.0,
        radius=own_radius if given.tool_radius is None else given.tool_radius,
    )


def _palm(args: argparse.Namespace) -> Array | None:
    """Half edges (3,) of the palm, m; None without one."""
    if args.pad_half_sizes is None:
        for name in ("table-friction", "material", "pad-stiffness-ratio"):
            if getattr(args, name.replace("-", "_")) is not None:
                raise InvalidInputError(f"--{name}", "no --pad-half-sizes", "--pad-half-sizes along with it")
        return None
    _refuse(args, "pad-half-sizes", ("states", "tool_radius", "offset"))
    if args.method != DEFAULT_METHOD:
        expected = f"{DEFAULT_METHOD}: a palm's corners have one map of their own"
        raise InvalidInputError("--method", args.method, expected)
    if args.table_friction is not None and args.object_mass is None:
        raise InvalidInputError("--table-friction", "no --object-mass", "--object-mass along with it")
    return checked_palm(args.pad_half_sizes)


def _pads(args: argparse.Namespace) -> Pads:
    """What is known of the pads."""
    ratio = args.pad_stiffness_ratio
    pads = Pads(material=args.material or Pads.material, stiffness_ratio=ratio or Pads.stiffness_ratio)
    if ratio is not None and not pads.laws:
        raise InvalidInputError("--pad-stiffness-ratio", "rigid pads", f"--material {' or '.join(MATERIALS[1:])}")
    return pads


def _shape(args: argparse.Namespace) -> Shape:
    """Shape of the object."""
    name = args.object_shape or Box.name
    if (args.object_mesh is not None) != (name == "hull"):
        got = f"--object-shape {name}" if args.object_mesh is not None else "nothing"
        raise InvalidInputError("--object-mesh", got, "a file along with --object-shape hull, and only there")
    if args.object_mesh is None:
        return shape_named(name, np.array(args.object_half_extents or _CUBE))
    _refuse(args, "object-mesh", ("object_half_extents",))
    return shape_named(name, np.zeros(3), mesh_vertices(args.object_mesh))


def _rotation(args: argparse.Namespace) -> Array:
    """Rotation (3, 3) from the object's axes to the base frame."""
    return np.asarray(pin.rpy.rpyToMatrix(*(args.object_rpy or (0.0, 0.0, 0.0))))


def _object(args: argparse.Namespace, shape: Shape, contact: Contact, point: Array) -> FreeObject | None:
    """The object, which is central behind the contact at `point` (3,), m, where no position is given."""
    mass = ObjectOptions(object_mass=args.object_mass).object_mass
    if mass is None:
        for name, value in chosen(args, BodyOptions).items():
            if value is not None and name != "table_friction":
                flag = f"--{name.replace('_', '-')}"
                raise InvalidInputError(flag, "no --object-mass", "--object-mass along with it")
        return None
    rotation = _rotation(args)
    behind = PlacedShape(shape, np.zeros(3), rotation)
    inertia = behind.free_object(mass).inertia
    if args.object_inertia is not None:
        inertia = rotation @ np.diag(args.object_inertia) @ rotation.T
    place = point - behind.plane_point(contact.normal)
    return FreeObject(
        mass=mass,
        inertia=inertia,
        position=place if args.object_position is None else np.array(args.object_position),
        twist=np.array(args.object_twist or np.zeros(6)),
    )
