"""The object that is hit: where it is, where it was at the impact, where it goes as predicted, and its goal."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.contact.shape import PlacedShape, Shape
from impact_aware.markers import style as look
from impact_aware.markers.marker import UPRIGHT, Array, Marker, Sheet
from impact_aware.markers.style import MarkerStyle
from impact_aware.reference.rotation import quaternion_from_rotation, rotation_from_quaternion


def ghosts(
    sheet: Sheet,
    position: ArrayLike,
    twist: ArrayLike,
    shape: Shape | None,
    style: MarkerStyle,
    orientation: ArrayLike = UPRIGHT,
) -> list[Marker]:
    """The object at the impact, and `style.ghost_time` later if it kept its velocity.

    Args:
        sheet: Where to draw.
        position: (3,) Its centre at the impact, m.
        twist: (6,) As predicted just after, linear first, m/s and rad/s.
        shape: Its shape; nothing is drawn of one that is not known.
        style: Lengths and times.
        orientation: (4,) At the impact, quaternion x, y, z, w.
    """
    if shape is None:
        return []
    velocities = np.asarray(twist, dtype=float)
    before = np.asarray(position, dtype=float)
    moved = before + style.ghost_time * velocities[:3]
    rotated = _rotated(orientation, style.ghost_time * velocities[3:])
    words = f"+{1e3 * style.ghost_time:.0f} ms, {float(np.linalg.norm(velocities[:3])):.2f} m/s"
    above = moved + [0.0, 0.0, float(shape.half_extents[2]) + style.text_height]
    return [
        sheet.lines("object_before", 0, outline(shape, before, orientation), 0.003, look.BEFORE),
        sheet.lines("object_after", 0, outline(shape, moved, rotated), 0.004, look.PREDICTED),
        sheet.text("object_text", 0, above, words, style.text_height, look.readable(look.PREDICTED)),
    ]


def object_velocities(
    sheet: Sheet, position: ArrayLike, predicted: ArrayLike | None, measured: ArrayLike, words: str, style: MarkerStyle
) -> list[Marker]:
    """How the object left a hit, as predicted and as its track has it, both (3,), m/s, at its centre."""
    foot = np.asarray(position, dtype=float)
    after = style.velocity_scale * np.asarray(measured, dtype=float)
    above = foot + after + [0.0, 0.0, 2.0 * style.text_height]
    markers = [
        sheet.arrow("object_measured", 0, foot, after, look.ESTIMATED),
        sheet.text("object_measured_text", 0, above, words, style.text_height, look.readable(look.ESTIMATED)),
    ]
    if predicted is not None:
        markers.append(
            sheet.arrow("object_predicted", 0, foot, style.velocity_scale * np.asarray(predicted), look.PREDICTED)
        )
    return markers


def object_outline(sheet: Sheet, position: ArrayLike, shape: Shape | None, orientation: ArrayLike) -> list[Marker]:
    """The object where it is now; nothing of one whose shape is not known."""
    # Edges only: an arrow within a translucent body would take its colour.
    return (
        [] if shape is None else [sheet.lines("object", 0, outline(shape, position, orientation), 0.005, look.OBJECT)]
    )


def outline(shape: Shape, centre: ArrayLike, orientation: ArrayLike) -> Array:
    """(2 m, 3) The lines of a shape with an orientation (4,), as pairs of points."""
    rotation = rotation_from_quaternion(orientation)
    return PlacedShape(shape, np.asarray(centre, dtype=float), rotation).outline()


def _rotated(orientation: ArrayLike, rotation_vector: Array) -> Array:
    """A quaternion (4,) after a rotation about a base-frame axis."""
    return quaternion_from_rotation(pin.exp3(rotation_vector) @ rotation_from_quaternion(orientation))
