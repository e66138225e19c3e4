"""The object of `impact-aware predict`: its mass, shape, size and where it is."""

from __future__ import annotations

import argparse

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.cli.numbers import number, numbers
from impact_aware.contact import Contact, FreeObject
from impact_aware.contact.box import Box
from impact_aware.contact.hull import mesh_vertices
from impact_aware.contact.shape import PlacedShape, Shape
from impact_aware.contact.shape_registry import SHAPES, shape_named
from impact_aware.errors import InvalidInputError, UnknownNameError

_CUBE = ("0.1", "0.1", "0.1")
_WITH_MASS = tuple(f"object_{name}" for name in ("inertia", "half_sizes", "position", "twist", "shape", "mesh", "rpy"))


def add_object_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Declare what is said of the object; returns the group of these options."""
    thing = parser.add_argument_group("free object (without --object-mass the obstacle is a fixed surface)")
    thing.add_argument("--object-mass", metavar="KG", help="mass of the touched object")
    thing.add_argument(
        "--object-shape",
        metavar="|".join(SHAPES),
        help=f"its shape, a cylinder about its own z axis; {Box.name} when absent",
    )
    thing.add_argument(
        "--object-half-sizes",
        nargs="+",
        metavar="M",
        help="x y z: half edges of the box, m; 0.1 each when absent; of a cylinder radius, radius, half length",
    )
    thing.add_argument("--object-mesh", metavar="FILE", help="with the shape hull: STL, OBJ or DAE, in m")
    thing.add_argument(
        "--object-rpy", nargs="+", metavar="RAD", help="roll pitch yaw of its axes, base frame; zeros when absent"
    )
    thing.add_argument(
        "--object-inertia",
        nargs="+",
        metavar="I",
        help="Ixx Iyy Izz along its axes, kg m^2; that of its shape with one density when absent",
    )
    thing.add_argument(
        "--object-position",
        nargs="+",
        metavar="M",
        help="centre of mass x y z, m; central behind the contact when absent; needed with --states",
    )
    thing.add_argument("--object-twist", nargs="+", metavar="V", help="vx vy vz wx wy wz; at rest when absent")
    return thing


def object_shape(args: argparse.Namespace) -> Shape:
    """The shape that the options tell.

    Raises:
        InvalidInputError: Sizes that make none, or options that go with another one.
    """
    name = args.object_shape or Box.name
    if name not in SHAPES:
        raise UnknownNameError("object-shape", name, tuple(SHAPES))
    if (args.object_mesh is not None) != (name == "hull"):
        got = f"object-shape {name}" if args.object_mesh is not None else "nothing"
        raise InvalidInputError("object-mesh", got, "a file along with the shape hull, and only there")
    if args.object_mesh is not None:
        if args.object_half_sizes is not None:
            raise InvalidInputError("object-half-sizes", "a value along with object-mesh", "one of them, not both")
        return shape_named(name, np.zeros(3), mesh_vertices(args.object_mesh))
    half = numbers("object-half-sizes", args.object_half_sizes or _CUBE)
    if half.shape != (3,) or not (np.isfinite(half).all() and (half > 0.0).all()):
        raise InvalidInputError("object-half-sizes", half.tolist(), "three lengths > 0 m")
    return shape_named(name, half)


def object_rotation(args: argparse.Namespace) -> Array:
    """Of its axes (3, 3), base frame.

    Raises:
        InvalidInputError: Angles that are not three finite numbers.
    """
    angles = np.zeros(3) if args.object_rpy is None else numbers("object-rpy", args.object_rpy)
    if angles.shape != (3,) or not np.isfinite(angles).all():
        raise InvalidInputError("object-rpy", angles.tolist(), "roll, pitch and yaw, rad")
    return np.asarray(pin.rpy.rpyToMatrix(*angles))


def free_object(args: argparse.Namespace, shape: Shape, contact: Contact, point: Array) -> FreeObject | None:
    """The object, which is central behind the contact at `point` (3,), m, where nothing else is said.

    Raises:
        InvalidInputError: Numbers that make none, or an option that needs a mass beside it.
    """
    if args.object_mass is None:
        for option in _WITH_MASS:
            if getattr(args, option) is not None:
                raise InvalidInputError(option.replace("_", "-"), "no object-mass", "object-mass along with it")
        return None
    mass, rotation = number("object-mass", args.object_mass), object_rotation(args)
    behind = PlacedShape(shape, np.zeros(3), rotation)
    body = behind.free_object(mass)
    inertia = body.inertia
    if args.object_inertia is not None:
        diagonal = numbers("object-inertia", args.object_inertia)
        if diagonal.shape != (3,):
            raise InvalidInputError("object-inertia", f"{diagonal.size} values", "3: Ixx Iyy Izz")
        inertia = rotation @ np.diag(diagonal) @ rotation.T
    place = point - behind.plane_point(contact.normal)
    return FreeObject(
        mass=mass,
        inertia=inertia,
        position=place if args.object_position is None else numbers("object-position", args.object_position),
        twist=np.zeros(6) if args.object_twist is None else numbers("object-twist", args.object_twist),
    )
