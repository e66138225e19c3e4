"""`impact-aware predict`: predictions from the command line, at one state, at a table of them, or from a saved map."""

from __future__ import annotations

import argparse
import json
import re
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_aware.cli import state_table
from impact_aware.cli.numbers import number, numbers
from impact_aware.cli.predict_object import add_object_arguments, free_object, object_shape
from impact_aware.cli.predict_palm import add_palm_arguments, palm_of, palm_point, predict_with_palm
from impact_aware.cli.table_options import add_table_arguments, column_map, tell
from impact_aware.contact import Contact, contact_point
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.impact import DEFAULT_METHOD, IMPACT_MAPS, ImpactPrediction, predict
from impact_aware.impact.palm import PalmPrediction
from impact_aware.impact.uncertainty import InputCovariance, UncertainPrediction, predict_with_covariance
from impact_aware.json_text import json_text
from impact_aware.output_folder import write_whole
from impact_aware.resources import read_text
from impact_aware.robot import INERTIA_CHOICES, RobotModel, load_robot
from impact_aware.robot.plausible_state import check_state, limit_notes

# Half edges of the cube that stands in for an object whose size is not given, m.

_DEGREES = "; --degrees if they are degrees"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `predict`.

    Numbers are read as text and checked later, so that every mistake is answered in one line that names the option.
    """
    # argparse takes -1e-3, -inf and -nan for options; anything that float() reads is a number here.
    parser._negative_number_matcher = re.compile(r"^-(\d|\.\d|inf|nan)", re.IGNORECASE)
    state = parser.add_argument_group("robot and state")
    state.add_argument("--robot", metavar="NAME_OR_URDF", default="panda", help="profile name, profile .yaml or .urdf")
    state.add_argument("--q", nargs="+", metavar="RAD", help="joint positions, rad; the robot's home when absent")
    state.add_argument("--dq", nargs="+", metavar="RAD/S", help="joint velocities just before the impact, rad/s")
    state.add_argument("--degrees", action="store_true", help="q, dq and the states are in degrees, not radians")
    state.add_argument("--inertia", default="M+B_theta", metavar="|".join(INERTIA_CHOICES), help="default M+B_theta")
    state.add_argument(
        "--apparent-motor-inertia",
        nargs="+",
        metavar="B",
        help="B_theta per joint, kg m^2; for a .urdf, or to override",
    )
    state.add_argument(
        "--states",
        metavar="FILE",
        help="many states at once: .csv with columns q_<joint> and dq_<joint> (or, without a header, q then dq), "
        "or .npz with arrays q and dq",
    )
    add_table_arguments(state, times=False, degrees=False)
    where = parser.add_argument_group("contact")
    where.add_argument("--contact-frame", metavar="FRAME", help="robot frame that touches; the tool frame when absent")
    where.add_argument("--offset", nargs="+", metavar="M", default=["0", "0", "0"], help="x y z in that frame, m")
    where.add_argument(
        "--tool-radius", metavar="M", help="radius of a spherical tip; the tool's own for the tool frame"
    )
    where.add_argument(
        "--normal", nargs="+", metavar="N", default=["0", "0", "1"],
        help="x y z from the obstacle into the robot, base frame; default 0 0 1, a table touched from above",
    )  # fmt: skip
    where.add_argument("--friction", metavar="MU", default="0", help="Coulomb's coefficient, >= 0; default 0")
    where.add_argument("--restitution", metavar="E", default="0", help="coefficient of restitution, 0..1; default 0")
    where.add_argument(
        "--method", default=DEFAULT_METHOD, metavar="|".join(IMPACT_MAPS), help=f"impact map; default {DEFAULT_METHOD}"
    )
    where.add_argument(
        "--covariance",
        metavar="FILE",
        help="JSON with covariances of position, velocity, normal, point, friction, restitution, motor_inertia: "
        "each a variance, a list of variances or a matrix, SI units; adds the spread of the answer",
    )
    thing = add_object_arguments(parser)
    add_palm_arguments(where, thing)
    saved = parser.add_argument_group("from a map that sample-map saved, instead of all of the above")
    saved.add_argument("--map", metavar="FILE", help="the map")
    saved.add_argument(
        "--position",
        "--place",
        dest="place",
        nargs="+",
        metavar="M",
        help="x y z of the tool at the impact, task frame, m",
    )


def run(args: argparse.Namespace) -> int:
    """Predict and print; raises `ImpactAwareError` on bad input."""
    if args.map is not None or args.place is not None:
        return _run_map(args)
    if args.states is not None:
        return _run_states(args)
    robot = _robot(args)
    unit = np.pi / 180.0 if args.degrees else 1.0
    q = robot.home if args.q is None else unit * numbers("q", args.q)
    if args.dq is None:
        raise InvalidInputError("dq", "nothing", f"{robot.n} joint velocities, rad/s")
    contact = _contact(args, robot)
    q, dq = robot.check_configuration(q, "q"), robot.check_configuration(unit * numbers("dq", args.dq), "dq")
    check_state(robot, q, dq, _DEGREES)
    palm = palm_of(args)
    point = contact_point(robot, q, contact) if palm is None else palm_point(robot, q, contact, palm)
    shape = object_shape(args)
    obstacle = free_object(args, shape, contact, point)
    choices = {"method": args.method, "inertia": args.inertia}
    uncertain = None
    prediction: ImpactPrediction | PalmPrediction
    if palm is not None:
        prediction = predict_with_palm(args, robot, q, dq, contact, palm, obstacle, shape)
    elif args.covariance is None:
        prediction = predict(robot, q, dq, contact, obstacle=obstacle, **choices)
    else:
        spread = _covariance(Path(args.covariance))
        uncertain = predict_with_covariance(robot, q, dq, contact, spread, obstacle=obstacle, **choices)
        prediction = uncertain.prediction
    result = to_json(robot, prediction)
    notes = (*robot.notes, *limit_notes(robot, q))
    result["notes"] = list(notes)
    if uncertain is not None:
        result["covariance"] = {
            "velocity_after": uncertain.velocity_after_covariance.tolist(),
            "impulse": uncertain.impulse_covariance.tolist(),
            "mode_may_change": uncertain.mode_may_change,
        }
    _keep(args, result)
    if args.json:
        print(json_text(result))
    else:
        print(format_prediction(robot, prediction))
        if uncertain is not None:
            print(format_spread(robot, uncertain))
        tell(notes)
    return 0


def _run_states(args: argparse.Namespace) -> int:
    """Predict at every state of a table."""
    _refuse(args, "states", ("q", "dq", "covariance", "pad_half_sizes", "table_friction"))
    if args.object_mass is not None and args.object_position is None:
        raise InvalidInputError("object-position", "nothing", "the object's position, the same for all states")
    robot = _robot(args)
    contact = _contact(args, robot)
    obstacle = free_object(args, object_shape(args), contact, np.zeros(3))
    table = state_table.read_states(Path(args.states), robot, degrees=args.degrees, columns=column_map(args))
    check_state(robot, table.q, table.dq, _DEGREES)
    notes = (*robot.notes, *limit_notes(robot, table.q))
    tell(notes)
    # The compiler takes longer to load than one prediction takes, so only tables pay for it.
    from impact_aware.impact.batch import predict_batch

    start = time.perf_counter()
    prediction = predict_batch(
        robot, table.q, table.dq, contact, obstacle=obstacle, method=args.method, inertia=args.inertia
    )
    seconds = time.perf_counter() - start
    written = None if args.out is None else state_table.write_predictions(args.out, robot, prediction)
    if args.json:
        print(json_text({**state_table.to_json(prediction), "notes": list(notes)}))
    else:
        print(state_table.format_predictions(prediction, seconds))
        if written is not None:
            print(f"written         {written}")
    return 0


def _run_map(args: argparse.Namespace) -> int:
    """Interpolate a saved map at one position."""
    if args.map is None or args.place is None:
        raise InvalidInputError("map" if args.map is None else "position", "nothing", "map and position together")
    _refuse(args, "map", ("q", "dq", "states", "covariance", "pad_half_sizes", "table_friction"))
    # Tasks bring the compiler along with their fields.
    from impact_aware.cli import sample_map

    answer = sample_map.answer_position(Path(args.map), numbers("position", args.place))
    _keep(args, answer)
    print(json_text(answer) if args.json else sample_map.format_answer(answer))
    return 0


def _keep(args: argparse.Namespace, result: dict[str, Any]) -> None:
    """Write the result into the folder for results, if one is wanted; an earlier one stays.

    Raises:
        InvalidInputError: There is a result already, or the folder can't be written to.
    """
    if args.out is None:
        return
    path = args.out / "prediction.json"
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        write_whole(path, json_text(result, indent=2) + "\n", replace=False)
    except FileExistsError as error:
        raise InvalidInputError("--out", str(path), "a folder without an earlier prediction.json") from error
    except OSError as error:
        raise InvalidInputError("--out", str(args.out), f"a folder that can be written ({error.strerror})") from error


def _refuse(args: argparse.Namespace, option: str, others: tuple[str, ...]) -> None:
    """Refuse options that say something else than `option` does."""
    for other in others:
        if getattr(args, other) is not None:
            named = other.replace("_", "-")
            raise InvalidInputError(named, f"a value along with {option}", f"{option} or {named}, not both")


def to_json(robot: RobotModel, prediction: ImpactPrediction | PalmPrediction) -> dict[str, Any]:
    """The prediction as one JSON object: SI units, base frame, joints in the model's order."""
    return {
        "robot": robot.name,
        "joints": list(robot.joint_names),
        "contact_frame": prediction.contact.frame,
        "method": prediction.method,
        "inertia": prediction.inertia,
        "mode": prediction.mode,
        "velocity_before": prediction.velocity_before.tolist(),
        "velocity_after": prediction.velocity_after.tolist(),
        "impulse": prediction.impulse.tolist(),
        "effective_mass": prediction.effective_mass,
        "reduced_mass": prediction.reduced_mass,
        "contact_point": prediction.point.tolist(),
        "contact_velocity_before": prediction.contact_velocity_before.tolist(),
        "contact_velocity_after": prediction.contact_velocity_after.tolist(),
        "object_twist_before": _list(prediction.object_twist_before),
        "object_twist_after": _list(prediction.object_twist_after),
        "energy_loss": prediction.energy_loss,
    }


def format_prediction(robot: RobotModel, prediction: ImpactPrediction | PalmPrediction) -> str:
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
        f"{label:<15} {_row(values)}  {unit}"
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
    return "\n".join(lines)


def format_spread(robot: RobotModel, uncertain: UncertainPrediction) -> str:
    """The prediction's standard deviations for people."""
    width = max(len(name) for name in robot.joint_names)
    deviations = np.sqrt(np.diag(uncertain.velocity_after_covariance))
    lines = ["", "standard deviations, first order"]
    pairs = zip(robot.joint_names, deviations, strict=True)
    lines += [f"{name:<{width}}  {deviation:9.5f}  rad/s" for name, deviation in pairs]
    lines.append(f"impulse         {_row(np.sqrt(np.diag(uncertain.impulse_covariance)))}  N s")
    if uncertain.mode_may_change:
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
    return load_robot(args.robot, None if b_theta is None else tuple(numbers("apparent-motor-inertia", b_theta)))


def _contact(args: argparse.Namespace, robot: RobotModel) -> Contact:
    frame = args.contact_frame or robot.tool_frame
    robot.frame_id(frame)
    own_radius = robot.tool_radius if frame == robot.tool_frame else 0.0
    return Contact(
        frame=frame,
        normal=numbers("normal", args.normal),
        offset=numbers("offset", args.offset),
        friction=number("friction", args.friction),
        restitution=number("restitution", args.restitution),
        radius=own_radius if args.tool_radius is None else number("tool-radius", args.tool_radius),
    )


def _row(values: NDArray[np.float64]) -> str:
    return "  ".join(f"{value:9.4f}" for value in values)


def _list(values: NDArray[np.float64] | None) -> list[float] | None:
    return None if values is None else values.tolist()
