"""LeRobot data sets: one episode of a Parquet file; joint names and rate from `meta/info.json` of its folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.resources import read_text
from impact_aware.tables.column_file import ColumnFile
from impact_aware.tables.names import Name, time_column
from impact_aware.tables.options import RATE, ColumnMap

EPISODE, STATE, ACTION = "episode_index", "observation.state", "action"
"""Columns of a data set; actions are commanded positions where they are as many as the joints."""

_POSE = re.compile(r"(.*[._])?([xyz]|r[xyz]|q[xyzw]|roll|pitch|yaw)|gripper.*")
"""Names of what a state has where it holds the tool's pose."""


class _Episode(ColumnFile):
    """The rows of one episode."""

    def __init__(self, source: ColumnFile, number: int) -> None:
        self._source, self._number = source, number
        super().__init__(source.path)

    def _find(self) -> dict[Name, int]:
        return self._source.widths

    def _pieces(self, names: Sequence[Name]) -> Iterator[dict[Name, Array]]:
        for piece in self._source.pieces(list(dict.fromkeys([*names, EPISODE]))):
            rows = piece[EPISODE] == self._number
            yield {name: piece[name][rows] for name in names}


def one_episode(source: ColumnFile, chosen: int | None) -> tuple[ColumnFile, str]:
    """The rows of one episode, the first one unless another is chosen, and a note; all rows where there is but one.

    Raises:
        InvalidInputError: No such episode.
    """
    if source.widths.get(EPISODE) != 1:
        if chosen is not None:
            raise InvalidInputError("columns: episode", str(chosen), f"a table with the column {EPISODE}")
        return source, ""
    found = np.unique(np.concatenate([np.zeros(0), *(np.unique(piece[EPISODE]) for piece in source.pieces([EPISODE]))]))
    episodes = [int(number) for number in found if np.isfinite(number)]
    number = chosen if chosen is not None else min(episodes, default=0)
    if len(episodes) < 2 and number in (*episodes, 0):
        return source, ""
    span = f"{len(episodes)} episodes, {episodes[0]} to {episodes[-1]}" if episodes else "0 episodes"
    if number not in episodes:
        raise InvalidInputError("columns: episode", str(number), f"one of the {span} of {source.path}")
    other = next(other for other in episodes if other != number)
    note = f"{source.path.name} has {span}; {number} is read, --columns 'episode={other}' reads another one"
    return _Episode(source, number), note


def with_info(source: ColumnFile, chosen: ColumnMap) -> ColumnMap:
    """The map completed by the data set's `meta/info.json`: names of the joints, and the rate where times are missing.

    Raises:
        InvalidInputError: The file can't be read, or the states are poses of the tool.
    """
    if STATE not in source.widths or chosen.q not in ((), (STATE,)):
        return chosen
    path = next((p for up in source.path.absolute().parents[1:3] if (p := up / "meta" / "info.json").exists()), None)
    if path is None:
        return chosen
    text = read_text("LeRobot data set", path, "JSON file")
    try:
        info = json.loads(text)
        state, rate = info["features"][STATE], info.get("fps")
        names = _flat(state.get("names"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInputError("LeRobot data set", str(path), f"JSON with features of {STATE}") from error
    if not chosen.q and not chosen.joints and names and all(_POSE.fullmatch(name) for name in names):
        given = f"{STATE} of {source.path}, {', '.join(names)[:80]}"
        raise InvalidInputError("table", given, "joint positions, or --columns 'q=...' with the columns that hold them")
    if not chosen.joints and len(names) == len(set(names)) == source.widths[STATE]:
        chosen = replace(chosen, joints=names)
    timed = chosen.time is not None or chosen.rate is not None or time_column(source.widths) is not None
    if not timed and type(rate) in (int, float):
        RATE.check(f"fps of {path}", [rate])
        chosen = replace(chosen, rate=float(rate))
    return chosen


def _flat(names: Any) -> tuple[str, ...]:
    """Names in a list, in lists of it, or below `motors`, `axes` and the like; none for null."""
    if isinstance(names, str):
        return (names.removesuffix(".pos"),)
    inner = names.values() if isinstance(names, dict) else names if isinstance(names, list) else ()
    return tuple(name for part in inner for name in _flat(part))
