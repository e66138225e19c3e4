"""A flat palm on an object, and the object on its table: the corners where they touch, and the sum of their contacts.

A single contact lets the tool turn about it; a palm that lies on the object's face does not turn (van Steen 2024).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import RADIUS, FreeObject
from impact_aware.contact.shape import PlacedShape
from impact_aware.errors import InvalidInputError
from impact_aware.impact.bodies import BodyContact
from impact_aware.impact.simultaneous import SimultaneousPrediction
from impact_aware.records import ContactImpulse

TABLE = "table"
"""What a table that moves is called in a prediction."""

HEAVIEST = 1e9
"""Mass of what no impact moves, kg."""

SAME_CORNER = 1e-6
"""Corners that are no farther apart are one, m."""


def palm_contacts(
    centre: BodyContact, tool: pin.SE3, half_sizes: ArrayLike, body: PlacedShape | None = None
) -> list[BodyContact]:
    """Where a palm touches: the corners of what its face that looks at the object shares with that of the object.

    On a box that is a rectangle, on the side of a cylinder a line. A palm that misses the object's face touches with
    its point that is nearest to the middle of that.

    Args:
        centre: The contact that stands for all; its point is not used, and its normal is that of the face which is
            meant.
        tool: Pose of the tool frame, in the frame of the contact.
        half_sizes: (3,) Half edges of the palm about the tool frame, along its axes, m.
        body: The object, in that frame; None for a surface that is larger than the palm.
    """
    half, facing = np.asarray(half_sizes, dtype=float), _facing(centre.normal, tool)
    if body is not None:
        centre = dataclasses.replace(centre, normal=palm_normal(centre.normal, tool, body))
    along, across = (axis for axis in range(3) if axis != facing)
    middle = centre.at(face_middle(centre.normal, tool, half))
    corners = middle.patch(tool.rotation[:, along], half[along], half[across])
    if body is None:
        return corners
    first = corners[0].point - corners[2].point
    axes = np.stack([first, np.cross(centre.normal, first)], axis=1) / np.linalg.norm(first)
    sizes = half[[along, across]]
    flat = shared_corners((body.footprint(centre.normal) - middle.point) @ axes, sizes)
    if len(flat) == len(corners) and np.allclose(np.abs(flat), sizes, rtol=0.0, atol=1e-9):
        # The whole palm touches.
        return corners
    return [middle.at(middle.point + axes @ corner) for corner in flat]


def palm_normal(normal: Array, tool: pin.SE3, body: PlacedShape) -> Array:
    """The object's normal (3,) where a palm touches it, whose face looks against `normal` (3,), that of a face."""
    facing = _facing(normal, tool)
    outward = tool.rotation[:, facing] * np.sign(tool.rotation[:, facing] @ normal)
    return body.normal_at_plane(outward, normal)


def face_middle(normal: Array, tool: pin.SE3, half_sizes: ArrayLike) -> Array:
    """Middle (3,) of the palm's face that looks against the normal (3,), in the frame of the tool's pose, m."""
    half = np.asarray(half_sizes, dtype=float)
    return np.asarray(tool.translation - half[_facing(normal, tool)] * normal)


def palm_gaps(contacts: list[BodyContact], tool: pin.SE3, half_sizes: ArrayLike) -> Array:
    """What each contact (m,) of a palm has still to close when its first one touches, along the normal, m.

    Args:
        contacts: Those of `palm_contacts`.
        tool: Pose of the tool frame, in the frame of the contacts.
        half_sizes: (3,) Half edges of the palm about the tool frame, along its axes, m.
    """
    heights = _heights(contacts, tool, half_sizes)
    return np.asarray(heights - heights.min())


def face_gaps(contacts: list[BodyContact], tool: pin.SE3, half_sizes: ArrayLike, body: PlacedShape) -> Array:
    """How far each contact (m,) of a palm is from the face of an object, along its normal, m; arguments as above."""
    normal = contacts[0].normal
    onto = np.array([contact.point for contact in contacts]) - body.plane_point(normal)
    return np.asarray(_heights(contacts, tool, half_sizes) + onto @ normal)


def _heights(contacts: list[BodyContact], tool: pin.SE3, half_sizes: ArrayLike) -> Array:
    """How far (m,) the palm's face is beyond its contacts, along their normal, m."""
    normal, facing = contacts[0].normal, _facing(contacts[0].normal, tool)
    outward = tool.rotation[:, facing] * np.sign(tool.rotation[:, facing] @ normal)
    middle = tool.translation - np.asarray(half_sizes, dtype=float)[facing] * outward
    # The palm's face is the plane through its middle across `outward`.
    return np.array([outward @ (middle - contact.point) for contact in contacts]) / float(outward @ normal)


def _facing(normal: Array, tool: pin.SE3) -> int:
    """The tool's axis that is nearest to the normal."""
    return int(np.argmax(np.abs(tool.rotation.T @ normal)))


def table_contacts(
    name: str,
    body: PlacedShape,
    friction: float,
    up: ArrayLike = (0.0, 0.0, 1.0),
    table: str | None = None,
) -> list[BodyContact]:
    """The corners of an object's base on its table, which lies along that base.

    Args:
        name: Of the object.
        body: The object.
        friction: Coulomb's coefficient between object and table.
        up: (3,) The vertical: the face that looks the most against it is the base.
        table: Name of a table that moves, among the objects; None for one that stands.
    """
    down = body.face(-np.asarray(up, dtype=float))
    base = BodyContact(name, -down, np.asarray(body.position), table, friction)
    return [base.at(corner) for corner in body.footprint(down)]


def moving_table(velocity: ArrayLike) -> FreeObject:
    """A table, or belt, that moves with a velocity (3,), m/s, whatever happens on it."""
    return FreeObject(HEAVIEST, HEAVIEST * np.eye(3), np.zeros(3), np.array([*np.asarray(velocity), 0.0, 0.0, 0.0]))


def summed_contact(prediction: SimultaneousPrediction, body: str) -> ContactImpulse:
    """All contacts of one body as one, in the frame of the prediction.

    It is at the middle of their points, with the normal and coefficients of the first of them; the velocities are
    those of the middle. It slides where any contact does, and separates where all of them do.
    """
    own = [number for number, contact in enumerate(prediction.contacts) if contact.body == body]
    modes, first = {prediction.modes[number] for number in own} - {"separate"}, prediction.contacts[own[0]]
    return ContactImpulse(
        frame=first.frame or "",
        point=np.mean([prediction.contacts[number].point for number in own], axis=0),
        normal=first.normal,
        impulse=prediction.impulse[own].sum(axis=0),
        velocity_before=prediction.contact_velocity_before[own].mean(axis=0),
        velocity_after=prediction.contact_velocity_after[own].mean(axis=0),
        friction=first.friction,
        restitution=first.restitution,
        mode="slide" if "slide" in modes else "stick" if modes else "separate",
    )


def checked_palm(half_sizes: ArrayLike) -> Array | None:
    """Half edges (3,) of a palm, m; None for the zeros that say that there is none.

    Raises:
        InvalidInputError: Neither three zeros nor three lengths.
    """
    half = np.asarray(half_sizes, dtype=float)
    if half.shape == (3,) and not half.any():
        return None
    if half.shape != (3,) or not ((half > 0.0) & (half <= RADIUS.high)).all():
        expected = f"three lengths > 0 and <= {RADIUS.high:g} m, or three zeros"
        raise InvalidInputError("pad_half_sizes", half.tolist(), expected)
    return half


def shared_corners(ring: ArrayLike, half_sizes: ArrayLike) -> Array:
    """Corners (k, 2) of what a convex face and a rectangle about the origin share: of a polygon, a line or a point.

    Where they share nothing, it is the point of the rectangle that is nearest to the middle of the face. The face is
    cut along one edge of the rectangle after the other (Sutherland and Hodgman, 1974).

    Args:
        ring: (m, 2) Corners of the face, around it; two of a line, one of a point, m.
        half_sizes: (2,) Half edges of the rectangle, m.
    """
    face, half = np.asarray(ring, dtype=float), np.asarray(half_sizes, dtype=float)
    corners = list(face)
    for axis in range(2):
        for side in (1.0, -1.0):
            corners = _cut(corners, axis, side, float(half[axis]))
    kept: list[Array] = []
    for corner in corners:
        if all(np.linalg.norm(corner - other) > SAME_CORNER for other in kept):
            kept.append(corner)
    return np.array(kept or [np.clip(face.mean(axis=0), -half, half)])


def _cut(corners: list[Array], axis: int, side: float, limit: float) -> list[Array]:
    """What of a polygon is no farther than the limit along an axis, on one side of the origin."""
    kept = []
    for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
        before, after = limit - side * start[axis], limit - side * end[axis]
        if before >= 0.0:
            kept.append(start)
        if before * after < 0.0:
            kept.append(start + before / (before - after) * (end - start))
    return kept
