"""Texts in long form, as a row per time: `time,joint,q` has a row per joint, `time,name,value` one per value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from impact_aware.errors import InvalidInputError
from impact_aware.tables.names import best_groups, listed, time_column
from impact_aware.tables.text import TextLayout, rows_of

_JOINTS = {"joint", "joint_name", "joint_id", "joint_index", "joint_number", "jointname", "name", "variable", "signal"}
_VALUES = {"value", "values"}

_ROWS = 400
"""Rows that show the order of the joints."""


class LongForm(NamedTuple):
    """How a text repeats the joints.

    Attributes:
        path: The text.
        column: Name of the column of joints.
        joints: (m,) Cells of that column, in their order at every time.
        place: Place of that column.
        shared: Places of columns of times, which a row per time has once.
        own: Places of the other ones, which it has once per joint.
        wide: Layout of the rows per time: the shared columns, then those of each joint.
    """

    path: Path
    column: str
    joints: tuple[str, ...]
    place: int
    shared: tuple[int, ...]
    own: tuple[int, ...]
    wide: TextLayout

    def merged(self, rows: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
        """The rows per time, each with its last line; one that the end of the text cuts is left out.

        Raises:
            InvalidInputError: Another joint, time or number of cells than expected, with the line.
        """
        table, round_of = f"table {self.path}", f"{self.column} = {listed(self.joints)} in turn at each time"
        found: list[list[str]] = []
        for line, cells in rows:
            if len(cells) != 1 + len(self.shared) + len(self.own):
                wanted = f"{1 + len(self.shared) + len(self.own)} as in the first line"
                raise InvalidInputError(table, f"{len(cells)} columns in line {line}", wanted)
            if cells[self.place] != self.joints[len(found)]:
                given = f"{cells[self.place]!r} for {self.column} in line {line}"
                raise InvalidInputError(table, given, f"{round_of}, or a column per joint")
            if found and any(cells[place] != found[0][place] for place in self.shared):
                raise InvalidInputError(table, f"another time in line {line} than in the line above", round_of)
            found.append(cells)
            if len(found) == len(self.joints):
                yield line, [*(cells[p] for p in self.shared), *(row[p] for row in found for p in self.own)]
                found = []


def long_form(path: Path, layout: TextLayout) -> LongForm | None:
    """The long form of a text; None where each row is a time of its own."""
    names = [str(name) for name in layout.names]
    place = next((place for place, name in enumerate(names) if name.lower() in _JOINTS), None)
    if place is None:
        return None
    shared = tuple(p for p, name in enumerate(names) if p != place and time_column({name: 1}) == name)
    own = tuple(p for p in range(len(names)) if p != place and p not in shared)
    melted = len(own) == 1 and names[own[0]].lower() in _VALUES
    wide = best_groups({names[p]: layout.widths[p] for p in own}, "q", ())
    positions = best_groups({names[p]: 2 for p in own}, "q", ())  # one number, or a vector of them
    if not shared or any(group.width > 1 for group in wide) or not (melted or positions):
        return None
    words = [cells[place] for _, cells in islice(rows_of(path, layout), _ROWS) if len(cells) == len(names)]
    turn = next((row for row, word in enumerate(words) if word in words[:row]), None)
    if turn is None:
        return None
    joints = tuple(words[:turn])
    labels = [re.sub(r"\.0*$", "", joint) for joint in joints]
    columns = [labels[i] if melted else f"{names[p]}_{labels[i]}" for i in range(len(joints)) for p in own]
    places = (*shared, *own * len(joints))
    layout = replace(
        layout,
        names=(*(names[p] for p in shared), *columns),
        widths=tuple(layout.widths[p] for p in places),
        plain=tuple(layout.plain[p] for p in places),
    )
    return LongForm(path, names[place], joints, place, shared, own, layout)
