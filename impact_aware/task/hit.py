"""Where and how fast a tool meets an object that may stand askew."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.box import Box
from impact_aware.contact.shape import SurfacePoint, shortest_turn
from impact_aware.errors import InvalidInputError
from impact_aware.task.task import ArmTask, TaskObject
from impact_aware.task.task_object import as_vector

OBLIQUE = 0.7
"""Share of the angle of friction by which a hit may be more oblique to the face than the task has it."""

GRAZING = 1e-3
"""Sine of the angle to a face below which a velocity passes along it."""

_CUBE, _VERTICAL = Box((1.0, 1.0, 1.0)), np.array([0.0, 0.0, 1.0])


class Hit(NamedTuple):
    """What one arm shall do to the object, in the task's frame.

    Attributes:
        normal: (3,) Unit normal of the object where it is hit, from the object into the robot.
        point: (3,) Where that is, m.
        velocity: (3,) Of the tool, m/s.
        outward: (3,) Unit vector from the object's centre to the middle of all that touches: a force against it does
            not turn the object.
    """

    normal: Array
    point: Array
    velocity: Array
    outward: Array


def hit_of(thing: TaskObject, arm: ArmTask) -> Hit:
    """The hit of an arm on an object as it stands.

    The place is the one which the task means, wherever it looks now. On an object that is turned the tool
    keeps to the velocity of the task as long as friction holds it there, by `OBLIQUE`: its way from the start stays
    as long, and the object starts towards its goal. The place on the face moves along, by as much as keeps the impulse
    as far from the object's centre as it would be on an object that is not turned. With a table that leans all leans.

    Raises:
        InvalidInputError: The tool passes the object, or moves along its face or away from it.
    """
    turn, rotation, shape = thing.turn, thing.rotation, thing.solid
    place = middle_of_hit(thing, arm)
    normal, depth = rotation @ place.normal, shape.depth(place.normal)
    turned = turn @ arm.impact_velocity
    level = _CUBE.upright(turn, _VERTICAL, 0.5 * np.pi)
    wanted = turn @ level.T @ arm.impact_velocity
    velocity = _towards(turned, wanted, OBLIQUE * float(np.arctan(thing.friction_tool)))
    shift = _exit(velocity, normal, depth) - _exit(turned, normal, depth)
    if shift.any():
        place = shape.hit(rotation.T @ turn @ arm.outward, rotation.T @ (turn @ arm.impact_offset + shift))
        normal = rotation @ place.normal
    point = rotation @ place.point
    outward = point - turn @ arm.impact_offset
    return Hit(normal, thing.position + point, velocity, outward / np.linalg.norm(outward))


def middle_of_hit(thing: TaskObject, arm: ArmTask) -> SurfacePoint:
    """Where an object that is not turned is hit, in its own axes.

    Raises:
        InvalidInputError: The tool passes it.
    """
    own = thing.rotation.T @ thing.turn
    return thing.solid.hit(own @ arm.outward, own @ arm.impact_offset)


def aimed(thing: TaskObject, arm: ArmTask, velocity: Array, *, centred: bool = True) -> ArmTask:
    """The arm with the entries that hit an object as it stands with a velocity (3,), m/s, of the task's frame.

    `hit_of` turns an entry with the object: the entry is turned back by what it would add. Where it is `centred`, the
    line of the hit passes as far above the object's centre as `impact_offset` has it, and to neither side of it.

    Raises:
        InvalidInputError: The velocity passes along the face or away from it.
    """
    entry, above = velocity, np.array([0.0, 0.0, arm.impact_offset[2]])
    for _ in range(2):
        offset = as_vector(above) if centred else arm.impact_offset
        arm = replace(arm, impact_velocity=as_vector(entry), impact_offset=offset)
        if centred:
            place, turned = middle_of_hit(thing, arm), thing.turn @ entry
            aside = _exit(turned, thing.rotation @ place.normal, thing.solid.depth(place.normal))
            aside = thing.turn.T @ (aside - thing.rotation @ place.point)
            arm = replace(arm, impact_offset=as_vector(above + aside * (1.0, 1.0, 0.0)))
        entry = shortest_turn(hit_of(thing, arm).velocity, velocity) @ entry
    return replace(arm, impact_velocity=as_vector(entry))


def _towards(velocity: Array, wanted: Array, angle: float) -> Array:
    """A velocity (3,) turned towards another one (3,) of the same size, by no more than an angle, rad."""
    axis = np.cross(velocity, wanted)
    sine, cosine = float(np.linalg.norm(axis)), float(velocity @ wanted)
    if not sine > 0.0:
        return velocity
    apart = float(np.arctan2(sine, cosine))
    return np.asarray(pin.exp3(axis / sine * min(apart, angle)) @ velocity)


def _exit(velocity: Array, normal: Array, depth: float) -> Array:
    """From the object's centre against a velocity (3,) to the plane of its face (3,), m.

    Raises:
        InvalidInputError: The velocity does not lead into the face.
    """
    into = -float(velocity @ normal)
    if not into > GRAZING * float(np.linalg.norm(velocity)):
        expected = f"one into the face that is hit, whose normal is {np.round(normal, 3).tolist()}"
        raise InvalidInputError("impact_velocity", np.round(velocity, 3).tolist(), expected)
    return np.asarray(velocity * (-depth / into))
