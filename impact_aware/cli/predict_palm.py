"""The palm of `impact-aware predict`: a flat face that hits with all its corners, and the table under a pushed box."""

from __future__ import annotations

import argparse

from impact_aware.arrays import Array
from impact_aware.cli.numbers import number, numbers
from impact_aware.cli.predict_object import object_rotation
from impact_aware.contact import Contact, FreeObject
from impact_aware.contact.geometry import FRICTION
from impact_aware.contact.shape import PlacedShape, Shape
from impact_aware.errors import InvalidInputError
from impact_aware.impact import DEFAULT_METHOD
from impact_aware.impact.palm import PalmPrediction, checked_palm, face_middle, predict_palm
from impact_aware.robot import RobotModel


def add_palm_arguments(where: argparse._ArgumentGroup, thing: argparse._ArgumentGroup) -> None:
    """Declare the options of a palm in the groups of the contact and of the object."""
    where.add_argument(
        "--pad-half-sizes",
        nargs="+",
        metavar="M",
        help="x y z: half edges of a flat palm along the contact frame's axes, m; it hits with all corners of its face "
        "at once instead of a tip",
    )
    thing.add_argument(
        "--table-friction",
        metavar="MU",
        help="with a palm: the box stands on a horizontal table with this Coulomb's coefficient; held by nothing when "
        "absent",
    )


def palm_of(args: argparse.Namespace) -> Array | None:
    """Half edges (3,) of the palm, m; None without one.

    Raises:
        InvalidInputError: Sizes that make no palm, or options that go with a tip or with an object only.
    """
    if args.pad_half_sizes is None:
        if args.table_friction is not None:
            raise InvalidInputError("table-friction", "no pad-half-sizes", "pad-half-sizes along with it")
        return None
    half = checked_palm(numbers("pad-half-sizes", args.pad_half_sizes))
    if half is None:
        raise InvalidInputError("pad-half-sizes", "three zeros", "three lengths > 0 m")
    for option in ("states", "covariance", "tool_radius"):
        if getattr(args, option) is not None:
            other = option.replace("_", "-")
            raise InvalidInputError(other, "a value along with pad-half-sizes", f"{other} or pad-half-sizes, not both")
    if numbers("offset", args.offset).any():
        raise InvalidInputError("offset", "a value along with pad-half-sizes", "a palm about its frame's origin")
    if args.method != DEFAULT_METHOD:
        raise InvalidInputError("method", args.method, f"{DEFAULT_METHOD}: a palm's corners have one map of their own")
    if args.table_friction is not None and args.object_mass is None:
        raise InvalidInputError("table-friction", "no object-mass", "object-mass along with it")
    return half


def palm_point(robot: RobotModel, q: Array, contact: Contact, half: Array) -> Array:
    """Middle of the face (3,) that hits, base frame, m."""
    return face_middle(contact.normal, robot.placement(q, contact.frame), half)


def predict_with_palm(
    args: argparse.Namespace,
    robot: RobotModel,
    q: Array,
    dq: Array,
    contact: Contact,
    half: Array,
    obstacle: FreeObject | None,
    shape: Shape,
) -> PalmPrediction:
    """The prediction that the options ask for; `shape` is that of the object.

    Raises:
        InvalidInputError: A friction that is none.
    """
    friction = None
    if args.table_friction is not None:
        friction = number("table-friction", args.table_friction)
        FRICTION.check("table-friction", friction)
    body = None if obstacle is None else PlacedShape(shape, obstacle.position, object_rotation(args))
    return predict_palm(
        robot, q, dq, contact, half, obstacle=obstacle, shape=body, table_friction=friction, inertia=args.inertia
    )
