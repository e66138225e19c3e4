"""Markers of one contact: position, surface, friction cone, velocities, impulse, and what they mean in words."""

from __future__ import annotations

import math

import numpy as np

from impact_aware.contact.geometry import contact_axes
from impact_aware.markers import style as look
from impact_aware.markers.marker import Array, Color, Marker, Sheet
from impact_aware.markers.style import MarkerStyle
from impact_aware.markers.velocities import ContactVelocities, contact_velocities
from impact_aware.records import ContactImpulse, Impact, Outcome
from impact_aware.reference.rotation import quaternion_from_rotation
from impact_aware.robot import RobotModel

PATCH = 0.12
"""Edge of the drawn part of the surface, m."""

CONE_HEIGHT = 0.09
"""Height of the drawn friction cone, m."""

CONE_SIDES = 24

ARROW_SPACING = 0.02
"""Between the feet of the arrows before, predicted after and as observed, m."""

BESIDE, BELOW = (0.10, 0.32, 0.12), (0.12, 0.24, -0.1)
"""Offset of the first line of text from the contact point, m: away from the base, along the normal, and up."""

ROOM = 0.25
"""Height of a contact above the base from which on there is room for its words below it, m."""

STEP_DOWN = 0.75
"""How far a line of words is below the one above it, as a share of how far it is in front of it."""

MODE_SIZE = 0.8
"""Height of the words about the mode, as a share of that of the speeds."""

THINNEST = 2e-3
"""Shortest diameter of an ellipsoid, m: a flat one would not be seen."""


def contact_orientation(normal: Array) -> Array:
    """(4,) Quaternion of the contact frame: z is the normal, x and y the contact's tangents."""
    return np.array(quaternion_from_rotation(contact_axes(normal)[[1, 2, 0]].T))


def contact_markers(
    sheet: Sheet,
    number: int,
    impact: Impact,
    robot: RobotModel | None,
    style: MarkerStyle,
    outcome: Outcome | None = None,
    *,
    alone: bool = False,
) -> list[Marker]:
    """Everything about contact `number` of an impact; `alone`: predicted without the other arms that hit, too."""
    contact = impact.contacts[number]
    velocities = contact_velocities(impact, contact, robot, outcome)
    point = contact.point
    # Just behind the surface, so that what lies in it does not flicker.
    patch = point - 1e-3 * contact.normal
    # Aside, as the impulse mostly lies along it.
    normal_foot = point - 2.0 * ARROW_SPACING * _aside(contact.normal)
    markers = [
        sheet.sphere("contact", number, point, 0.014, look.CONTACT),
        sheet.arrow("normal", number, normal_foot, 0.17 * contact.normal, look.NORMAL, 0.004),
        sheet.box("surface", number, patch, (PATCH, PATCH, 1e-3), look.SURFACE, contact_orientation(contact.normal)),
        sheet.arrow("impulse", number, point, style.impulse_scale * contact.impulse, look.IMPULSE),
    ]
    if contact.friction > 0.0:
        markers.append(sheet.triangles("friction_cone", number, friction_cone(contact), look.CONE))
    markers += _velocity_arrows(sheet, number, contact, velocities, style)
    markers += _words(sheet, number, impact, contact, velocities, style, alone)
    scale, spread = style.velocity_scale, velocities.covariance
    if spread is not None and velocities.after is not None:
        tip = point + scale * velocities.after
        markers.append(_ellipsoid(sheet, "uncertainty", number, tip, spread, scale, style, look.SPREAD))
    scale, spread = style.impulse_scale, contact.impulse_covariance
    if spread is not None:
        tip = point + scale * contact.impulse
        markers.append(_ellipsoid(sheet, "impulse_uncertainty", number, tip, spread, scale, style, look.IMPULSE_SPREAD))
    return markers


def mode_text(impact: Impact, contact: ContactImpulse) -> str:
    """Mode, friction, and what the impact is about, a line each: a long line would be cut off in a near view."""
    words = [contact.mode or "contact"]
    if impact.mode_may_change:
        words[0] += " (may change)"
    if contact.friction > 0.0:
        words.append(f"friction {contact.friction:.2f}")
    words.append(f"impulse {float(np.linalg.norm(contact.impulse)):.2f} N s")
    if contact.effective_mass > 0.0:
        words.append(f"effective mass {contact.effective_mass:.1f} kg")
    if impact.source == "look_ahead" and impact.time_to_impact > 0.0:
        words.append(f"in {1e3 * impact.time_to_impact:.0f} ms")
    return "\n".join(words)


def friction_cone(contact: ContactImpulse) -> Array:
    """(3 m, 3) Corners of the cone of impulses that friction allows, from the contact point along the normal, m."""
    normal, first, second = contact_axes(contact.normal)
    # Where mu is large, the cone would fill the scene: keep its slope, not its height.
    height = CONE_HEIGHT / math.hypot(1.0, contact.friction)
    angles = np.linspace(0.0, 2.0 * math.pi, CONE_SIDES + 1)
    circle = np.cos(angles)[:, None] * first + np.sin(angles)[:, None] * second
    rim = contact.point + height * (normal + contact.friction * circle)
    corners = np.empty((CONE_SIDES, 3, 3))
    corners[:, 0], corners[:, 1], corners[:, 2] = contact.point, rim[:-1], rim[1:]
    return corners.reshape(-1, 3)


def spoken_speeds(velocities: ContactVelocities, *, alone: bool = False) -> tuple[tuple[str, Color], ...]:
    """Labels of the speeds before, predicted and measured, with the colours of their arrows; empty if unknown."""
    rows = (
        ("before", velocities.before, look.BEFORE),
        ("predicted alone" if alone else "predicted", velocities.after, look.PREDICTED),
        ("measured", velocities.estimated, look.ESTIMATED),
    )
    return tuple(
        ("" if velocity is None else f"{meaning} {float(np.linalg.norm(velocity)):.2f} m/s", color)
        for meaning, velocity, color in rows
    )


def _velocity_arrows(
    sheet: Sheet, number: int, contact: ContactImpulse, velocities: ContactVelocities, style: MarkerStyle
) -> list[Marker]:
    """Side by side, as they mostly lie along one line and the longest would hide the others."""
    arrows: tuple[tuple[str, Array | None, Color, float], ...] = (
        ("velocity_before", velocities.before, look.BEFORE, -1.0),
        ("velocity_after", velocities.after, look.PREDICTED, 0.0),
        ("velocity_estimated", velocities.estimated, look.ESTIMATED, 1.0),
    )
    aside = _aside(contact.normal)
    return [
        sheet.arrow(item, number, contact.point + place * ARROW_SPACING * aside, style.velocity_scale * velocity, color)
        for item, velocity, color, place in arrows
        if velocity is not None
    ]


def _words(
    sheet: Sheet,
    number: int,
    impact: Impact,
    contact: ContactImpulse,
    velocities: ContactVelocities,
    style: MarkerStyle,
    alone: bool,
) -> list[Marker]:
    """The speeds in their arrows' colours, below them the mode: beside the contact or below, where no link hides them.

    Two arms that hit from both sides each have theirs on their own side.
    """
    away = _aside(contact.normal)
    away = away if away @ contact.point >= 0.0 else -away
    forwards, back, up = BELOW if contact.point[2] > ROOM else BESIDE
    top = contact.point + forwards * away + back * contact.normal + [0.0, 0.0, up]
    step = 1.3 * style.text_height
    # Down, and towards who stands in front of the arm: seen from above, too, no line is on another.
    down = away - [0.0, 0.0, STEP_DOWN]
    rows = spoken_speeds(velocities, alone=alone)
    # An id per meaning, so that a line that comes later does not rename the others.
    markers = [
        sheet.text(
            "velocity_text",
            len(rows) * number + row,
            top + row * step * down,
            text,
            style.text_height,
            look.readable(color),
        )
        for row, (text, color) in enumerate(rows)
        if text
    ]
    words = mode_text(impact, contact)
    # A text of several lines is centred on its position; RViz sets them 1.8 heights apart.
    half = 0.5 * words.count("\n") * 1.8 * MODE_SIZE * style.text_height
    place = top + len(rows) * step * down + half * (0.5 * away - [0.0, 0.0, 1.0])
    return [*markers, sheet.text("mode", number, place, words, MODE_SIZE * style.text_height, look.TEXT)]


def _aside(normal: Array) -> Array:
    """The horizontal direction in the surface; any of them where the surface is horizontal."""
    level = np.cross([0.0, 0.0, 1.0], normal)
    length = float(np.linalg.norm(level))
    return np.asarray(level / length) if length > 1e-3 else contact_axes(normal)[1]


def _ellipsoid(
    sheet: Sheet,
    item: str,
    number: int,
    centre: Array,
    covariance: Array,
    scale: float,
    style: MarkerStyle,
    color: Color,
) -> Marker:
    """Points `style.deviations` standard deviations away, at the scale of the arrow whose tip is the centre."""
    variances, axes = np.linalg.eigh(0.5 * (covariance + covariance.T))
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    diameters = 2.0 * style.deviations * scale * np.sqrt(np.maximum(variances, 0.0))
    return sheet.sphere(item, number, centre, np.maximum(diameters, THINNEST), color, quaternion_from_rotation(axes))
