"""The jump of every joint as a small chart in the scene: bars before, predicted after, as observed."""

from __future__ import annotations

import numpy as np

from impact_aware.markers import style as look
from impact_aware.markers.marker import Array, Color, Marker, Sheet
from impact_aware.markers.style import MarkerStyle
from impact_aware.records import Impact, Outcome

JOINT_SPACING = 0.075
"""Between two joints of the chart, m."""

BAR_WIDTH = 0.014
"""m."""


def joint_chart(sheet: Sheet, impact: Impact, style: MarkerStyle, outcome: Outcome | None = None) -> list[Marker]:
    """Bars along z over the joints along x, one marker per meaning, and a text with the numbers of each joint."""
    n = len(impact.joint_names)
    if not 0 < n == len(impact.velocity_before) == len(impact.velocity_after):
        return []
    origin = np.array(style.chart_position)
    places = origin + np.outer(JOINT_SPACING * np.arange(n), [1.0, 0.0, 0.0])
    estimated = None if outcome is None else outcome.picked(impact.joint_names)
    rows: tuple[tuple[str, Array | None, Color], ...] = (
        ("joint_before", impact.velocity_before, look.BEFORE),
        ("joint_predicted", impact.velocity_after, look.PREDICTED),
        ("joint_estimated", estimated, look.ESTIMATED),
    )
    axis = np.array([places[0] - [0.03, 0.0, 0.0], places[-1] + [0.05, 0.0, 0.0]])
    markers = [sheet.lines("joint_axis", 0, axis, 0.003, look.NORMAL)]
    for column, (item, velocities, color) in enumerate(rows):
        if velocities is None:
            continue
        feet = places + [column * BAR_WIDTH * 1.15, 0.0, 0.0]
        heads = feet + np.outer(style.joint_scale * velocities, [0.0, 0.0, 1.0])
        bars = np.stack((feet, heads), axis=1)
        markers.append(sheet.lines(item, 0, bars, BAR_WIDTH, color))
    # Below the longest bar, so that no number hides one.
    values = np.concatenate([row for _, row, _ in rows if row is not None])
    below = min(0.0, style.joint_scale * float(values.min())) - 1.5 * style.text_height
    for joint in range(n):
        words = f"{joint + 1}\n{impact.velocity_after[joint] - impact.velocity_before[joint]:+.2f}"
        place = places[joint] + [BAR_WIDTH, 0.0, below]
        markers.append(sheet.text("joint_text", joint, place, words, 0.7 * style.text_height, look.TEXT))
    title = "joint velocities, predicted jump in rad/s"
    top = max(0.0, style.joint_scale * float(values.max())) + 1.5 * style.text_height
    middle = 0.5 * (places[0] + places[-1]) + [0.0, 0.0, top]
    markers.append(sheet.text("joint_text", n, middle, title, style.text_height, look.TEXT))
    return markers
