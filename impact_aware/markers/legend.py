"""The legend: one line per namespace that can be seen, in its colour."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from impact_aware.markers.contact import STEP_DOWN
from impact_aware.markers.marker import Marker, Sheet
from impact_aware.markers.style import LEGEND, MarkerStyle, readable


def legend_markers(sheet: Sheet, namespaces: Iterable[str], style: MarkerStyle) -> list[Marker]:
    """Texts one below the other; ids stay the same whichever lines are there."""
    seen = {namespace.rpartition("/")[2] for namespace in namespaces}
    top = np.array(style.legend_position)
    lines: list[Marker] = []
    for number, (item, color, meaning) in enumerate(LEGEND):
        if item in seen:
            # Down, and forwards: seen from above, too, no line is on another.
            place = top + 1.4 * style.text_height * len(lines) * np.array([1.0, 0.0, -STEP_DOWN])
            lines.append(sheet.text("legend", number, place, meaning, style.text_height, readable(color)))
    return lines
