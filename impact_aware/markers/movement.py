"""The object that is hit: where it is, where it was at the impact, where it goes as predicted, and its goal."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.markers import style as look
from impact_aware.markers.marker import UPRIGHT, Array, Marker, Sheet
from impact_aware.markers.style import MarkerStyle
from impact_aware.reference.rotation import rotation_from_quaternion


def ghosts(
    sheet: Sheet,
    position: ArrayLike,
    twist: ArrayLike,
    half_extents: ArrayLike,
    style: MarkerStyle,
    orientation: ArrayLike = UPRIGHT,
) -> list[Marker]:
    """The object at the impact, and `style.ghost_time` later if it kept its velocity.

    Args:
        sheet: Where to draw.
        position: (3,) Its centre at the impact, m.
        twist: (6,) As predicted just after, linear first, m/s and rad/s.
        half_extents: (3,) m; nothing is drawn of an object that has none.
        style: Lengths and times.
        orientation: (4,) At the impact, quaternion x, y, z, w.
    """
    edges, velocities = 2.0 * np.asarray(half_extents, dtype=float), np.asarray(twist, dtype=float)
    if not edges.all():
        return []
    before = np.asarray(position, dtype=float)
    moved = before + style.ghost_time * velocities[:3]
    rotated = _rotated(orientation, style.ghost_time * velocities[3:])
    words = f"+{1e3 * style.ghost_time:.0f} ms, {float(np.linalg.norm(velocities[:3])):.2f} m/s"
    above = moved + [0.0, 0.0, 0.5 * edges[2] + style.text_height]
    return [
        sheet.lines("object_before", 0, box_edges(before, edges, orientation), 0.003, look.GHOST_BEFORE),
        sheet.lines("object_after", 0, box_edges(moved, edges, rotated), 0.004, look.GHOST_AFTER),
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


def object_box(sheet: Sheet, position: ArrayLike, half_extents: ArrayLike, orientation: ArrayLike) -> list[Marker]:
    """The object where it is now."""
    edges = 2.0 * np.asarray(half_extents, dtype=float)
    # Edges only: an arrow within a translucent box would take its colour.
    return (
        [sheet.lines("object", 0, box_edges(position, edges, orientation), 0.005, look.OBJECT)] if edges.all() else []
    )


def box_edges(centre: ArrayLike, edges: Array, orientation: ArrayLike) -> Array:
    """(24, 3) The twelve edges of a box as pairs of points."""
    signs = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    pairs = [(a, b) for a in range(8) for b in range(a + 1, 8) if np.count_nonzero(signs[a] != signs[b]) == 1]
    corners = (signs * edges) @ rotation_from_quaternion(orientation).T + np.asarray(centre, dtype=float)
    return np.asarray(corners[np.array(pairs).ravel()])


def _rotated(orientation: ArrayLike, rotation_vector: Array) -> Array:
    """A quaternion (4,) after a rotation about a base-frame axis."""
    x, y, z, w = np.asarray(orientation, dtype=float)
    return np.array((pin.Quaternion(pin.exp3(rotation_vector)) * pin.Quaternion(w, x, y, z)).coeffs())
