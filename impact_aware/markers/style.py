"""Style of the scene: one colour per meaning, lengths of arrows, text of the legend."""

from __future__ import annotations

from dataclasses import dataclass

from impact_aware.markers.marker import Color

# Colours of Okabe and Ito, and a violet as far from them as can be: distinct for any kind of colour vision.
BEFORE: Color = (0.00, 0.45, 0.70, 1.0)
PREDICTED: Color = (0.84, 0.37, 0.00, 1.0)
ESTIMATED: Color = (0.00, 0.62, 0.45, 1.0)
IMPULSE: Color = (0.80, 0.15, 0.50, 1.0)
CONTACT: Color = (0.10, 0.10, 0.10, 1.0)
NORMAL: Color = (0.35, 0.35, 0.35, 1.0)
SURFACE: Color = (0.45, 0.45, 0.45, 0.25)
CONE: Color = (0.95, 0.90, 0.25, 0.35)
SPREAD: Color = (0.84, 0.37, 0.00, 0.30)
IMPULSE_SPREAD: Color = (0.80, 0.15, 0.50, 0.30)
OBJECT: Color = (0.45, 0.33, 0.18, 1.0)
REFERENCE: Color = (0.60, 0.30, 1.00, 0.9)
TEXT: Color = (0.15, 0.15, 0.15, 1.0)

BACKGROUND = (245 / 255, 245 / 255, 245 / 255)
"""Background of the shipped RViz views, red, green, blue."""

LUMINANCE = 0.16
"""Most that a text has, WCAG 2.1: a contrast of 4.5 to the background and a little more."""


def readable(color: Color) -> Color:
    """A colour darkened, opaque, until a text in it has the contrast of WCAG AA on the background."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in color[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    factor = min(1.0, LUMINANCE / luminance) if luminance > 0.0 else 1.0
    dark = [factor * value for value in linear]
    red, green, blue = (12.92 * v if v <= 0.0031308 else 1.055 * v ** (1.0 / 2.4) - 0.055 for v in dark)
    return red, green, blue, 1.0


LEGEND: tuple[tuple[str, Color, str], ...] = (
    ("velocity_before", BEFORE, "velocity of the contact point before"),
    ("velocity_after", PREDICTED, "velocity after, as predicted"),
    ("velocity_estimated", ESTIMATED, "velocity after, as measured"),
    ("uncertainty", SPREAD, "spread of the prediction"),
    ("impulse", IMPULSE, "impulse on the robot"),
    ("friction_cone", CONE, "friction cone"),
    ("normal", NORMAL, "normal of the surface"),
    ("object_before", BEFORE, "object at the impact"),
    ("object_after", PREDICTED, "object a moment later, as predicted"),
    ("object_predicted", PREDICTED, "velocity of the object after, as predicted"),
    ("object_measured", ESTIMATED, "velocity of the object after, as measured"),
    ("object_goal", REFERENCE, "goal of the object"),
    ("ante_field", REFERENCE, "reference before the impact"),
    ("post_field", REFERENCE, "reference after the impact"),
)
"""Last part of the namespace, colour, meaning."""


@dataclass(frozen=True)
class MarkerStyle:
    """Lengths and times of the drawing.

    Attributes:
        velocity_scale: Length of a velocity arrow, m per m/s.
        impulse_scale: Length of an impulse arrow, m per N s.
        look_ahead_lifetime: How long look-ahead markers stay, s.
        impact_lifetime: How long markers of an impact stay, s; 0 until the next one.
        ghost_time: The ghost stands where the object would be after this time, s.
        field_radius: Half width of the drawn part of a field, m.
        field_count: Arrows of a field along each side.
        field_time: Length of an arrow of a field: the displacement in this time, s.
        deviations: Half axes of an ellipsoid, in standard deviations.
        legend_position: (3,) First line of the legend, m.
        legend: Whether there is one.
        text_height: m.
    """

    velocity_scale: float = 0.4
    impulse_scale: float = 0.2
    look_ahead_lifetime: float = 0.3
    impact_lifetime: float = 0.0
    ghost_time: float = 0.3
    field_radius: float = 0.3
    field_count: int = 7
    field_time: float = 0.12
    deviations: float = 2.0
    legend_position: tuple[float, float, float] = (0.58, -0.21, 0.66)
    legend: bool = True
    text_height: float = 0.025
