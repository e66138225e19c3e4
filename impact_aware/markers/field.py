"""The reference field as arrows on a grid and as streamlines, before and after the impact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from impact_aware.contact.shape_registry import shape_of
from impact_aware.markers import style as look
from impact_aware.markers.marker import Array, Marker, Sheet
from impact_aware.markers.movement import outline
from impact_aware.markers.style import MarkerStyle
from impact_aware.reference import ReferenceField, streamline

HEAD = 0.3
"""Length of an arrow's head, as a share of the arrow."""


def field_markers(sheet: Sheet, field: ReferenceField, arm: int, style: MarkerStyle) -> list[Marker]:
    """What leads one arm to the impact; from the impact on, what leads the object to its goal."""
    markers: list[Marker] = []
    if field.event_sequence == 0:
        markers += ante_streamlines(sheet, field, arm, style)
        ante, centre = field.ante_impact(arm).velocity, field.arms[arm].impact_position
        markers += _grid(sheet, "ante_field", ante, centre, style, look.REFERENCE)
    else:
        post, centre = field.post_impact(arm).velocity, 0.5 * (field.object_position_at_impact + field.goal)
        markers += _grid(sheet, "post_field", post, centre, style, look.REFERENCE)
    if field.object_velocity_predicted:
        markers += post_streamline(sheet, field, arm)
    return markers


def goal_marker(sheet: Sheet, field: ReferenceField) -> list[Marker]:
    """Where the object shall end."""
    if not np.any(field.object_half_extents):
        return []
    lines = outline(shape_of(field), field.goal, field.object_orientation)
    return [sheet.lines("object_goal", 0, lines, 0.004, look.REFERENCE)]


def ante_streamlines(sheet: Sheet, field: ReferenceField, arm: int, style: MarkerStyle) -> list[Marker]:
    """Paths to the impact position from three positions in front of it: straight on, from either side."""
    own, ante = field.arms[arm], field.ante_impact(arm)
    speed = float(np.linalg.norm(own.impact_velocity))
    if not speed > 0.0:
        return []
    along = own.impact_velocity / speed
    up = np.array([0.0, 0.0, 1.0])
    side = np.cross(along, up)
    side = side / np.linalg.norm(side) if np.linalg.norm(side) > 1e-6 else np.array([1.0, 0.0, 0.0])

    def arrived(position: Array) -> bool:
        return float((position - own.impact_position) @ along) >= 0.0

    lines = []
    for number, (across, above) in enumerate(((0.0, 0.3), (0.8, 0.1), (-0.8, 0.1))):
        start = own.impact_position + style.field_radius * (across * side + above * up - along)
        path = streamline(ante.velocity, start, duration=3.0, step=0.02, stop=arrived)
        lines.append(sheet.lines("ante_streamline", number, path, 0.005, look.REFERENCE, strip=True))
    return lines


def post_streamline(sheet: Sheet, field: ReferenceField, arm: int) -> list[Marker]:
    """The path of the object from the impact to its goal."""
    post = field.post_impact(arm)

    def arrived(position: Array) -> bool:
        return float(np.linalg.norm(position - field.goal)) < 5e-3

    path = streamline(post.velocity, field.object_position_at_impact, duration=4.0, step=0.02, stop=arrived)
    return [sheet.lines("post_streamline", 0, path, 0.006, look.REFERENCE, strip=True)]


def _grid(
    sheet: Sheet,
    item: str,
    velocity: Callable[[Array], Array],
    centre: Array,
    style: MarkerStyle,
    color: tuple[float, float, float, float],
) -> list[Marker]:
    """Arrows of a field in the horizontal plane through `centre`, all of them in one marker."""
    if style.field_count == 0 or style.field_radius == 0.0:
        return []
    ticks = np.linspace(-style.field_radius, style.field_radius, style.field_count)
    points: list[Array] = []
    for x in ticks:
        for y in ticks:
            start = np.asarray(centre) + [x, y, 0.0]
            points += _flat_arrow(start, style.field_time * velocity(start))
    return [sheet.lines(item, 0, np.array(points), 0.003, color)]


def _flat_arrow(start: Array, along: Array) -> list[Array]:
    """Shaft and the two strokes of the head, as pairs of points."""
    tip = start + along
    side = np.array([-along[1], along[0], 0.0])
    if not side.any():
        side = np.array([along[2], 0.0, 0.0])
    back = tip - HEAD * along
    return [start, tip, back + 0.5 * HEAD * side, tip, back - 0.5 * HEAD * side, tip]
