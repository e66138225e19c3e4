"""Options for reading a table of joint states: its columns, clock and units."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from impact_aware.errors import InvalidInputError
from impact_aware.parameters import Options, described
from impact_aware.ranges import Range
from impact_aware.resources import read_mapping
from impact_aware.tables.names import TIME_UNITS, Columns

RATE = Range(1.0, 1e5, "Hz")
"""Rate of rows that have no times, at equal distances."""

_SCALE = Range(0.0, unit="seconds per unit of time", open_below=True)


@dataclass(frozen=True)
class ColumnMap:
    """Which column is what; columns are names, patterns, or numbers from 0 where a file has no names.

    Attributes:
        time: Column of the stamps; the usual names when None.
        q: Columns of the positions, rad; the usual names when empty.
        dq: Columns of the velocities, rad/s.
        tau: Columns of the torques, N m.
        command: Columns of what was commanded to the joints, torques in N m as a rule.
        joints: Joint names, in the order of `q`; from the columns' names, else the robot's, when empty.
        time_scale: Seconds per unit of `time`; from its column's name, else from the size of its steps, when None.
        rate: Rate of rows at equal distances, Hz, in place of a column of times.
        episode: Value of `episode_index` in the rows to read, in a file of several; the least when None.
        object_position: Columns of the object's position, m; `object_position` or `object_position_x ... _z` when
            empty.
        object_velocity: Columns of its velocity, m/s; `object_velocity ...` when empty.
        object_quaternion: Columns of its orientation, in the order x, y, z, w; `object_quaternion ...` when empty.
        object_time: Column of the object's own clock; `object_time` when empty, else the joints'.
        object_table: Another table with the object's track, beside the joints' or in the working folder; the columns
            of the object are then its columns.
    """

    time: str | int | None = None
    q: Columns = ()
    dq: Columns = ()
    tau: Columns = ()
    command: Columns = ()
    joints: tuple[str, ...] = ()
    time_scale: float | None = None
    rate: float | None = None
    episode: int | None = None
    object_position: Columns = ()
    object_velocity: Columns = ()
    object_quaternion: Columns = ()
    object_time: Columns = ()
    object_table: str | None = None


@dataclass(frozen=True, kw_only=True)
class TableOptions(Options):
    """Columns, clock and unit of a table; None where they are found out from the table."""

    columns: tuple[str, ...] = described(
        (), "YAML file, or 'time=t q=q1,q2 dq=joint_*_vel tau=... joints=...'; several times", metavar="NAME=COLUMN",
        absent="the usual names", repeated=True,
    )  # fmt: skip
    time_unit: str | None = described(
        None, "unit of the times", choices=tuple(TIME_UNITS), absent="estimated from the times"
    )
    rate: float | None = described(None, "rows per second of a table without times", within=RATE)
    degrees: bool = described(False, "positions and velocities are in degrees and deg/s")

    def column_map(self) -> ColumnMap | None:
        """What is given about columns; None when nothing is.

        Raises:
            InvalidInputError: An entry that is not known, or no such file.
        """
        return with_clock(read_column_map(" ".join(self.columns)) if self.columns else None, self.time_unit, self.rate)


def read_column_map(text: str) -> ColumnMap:
    """A map from a YAML file, or from words such as `time=t q=q1,q2 dq=7:14` or `q=joint_*_pos`.

    Raises:
        InvalidInputError: No such file, or an entry that is not known.
    """
    if "=" not in text:
        return column_map_of(read_mapping("columns", Path(text)))
    # Names of columns may have blanks in them: an entry ends where the next one begins.
    begin, *rest = re.split(r"(?:^|\s+)(\w+)=", text.strip())
    if begin:
        raise InvalidInputError("columns", begin, "words like time=t q=q1,q2")
    return column_map_of(dict(zip(rest[::2], rest[1::2], strict=True)))


def column_map_of(content: dict[str, Any]) -> ColumnMap:
    """A map from the entries of a YAML file.

    Raises:
        InvalidInputError: An entry that is not known, or a rate or scale out of range.
    """
    known = tuple(field.name for field in fields(ColumnMap))
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            raise InvalidInputError("columns", repr(key), "one of " + ", ".join(known))
        if key in ("rate", "time_scale"):
            (RATE if key == "rate" else _SCALE).check(f"columns: {key}", [value])
            values[key] = float(value)
        elif key == "object_table":
            values[key] = str(value)
        elif key == "episode":
            if not re.fullmatch("[0-9]{1,9}", str(value)):
                raise InvalidInputError("columns: episode", repr(value), "a number such as 0")
            values[key] = int(value)
        else:
            listed = _listed(value)
            values[key] = next(iter(listed), None) if key == "time" else listed
    return ColumnMap(**values | {"joints": tuple(map(str, values.get("joints", ())))})


def with_clock(chosen: ColumnMap | None, time_unit: str | None, rate: float | None) -> ColumnMap | None:
    """The map with the unit of time (one of `TIME_UNITS`) and the rate (Hz) that options give."""
    if time_unit is not None:
        chosen = replace(chosen or ColumnMap(), time_scale=TIME_UNITS[time_unit])
    return chosen if rate is None else replace(chosen or ColumnMap(), rate=rate)


def completed(chosen: ColumnMap | None, beside: ColumnMap | None) -> ColumnMap | None:
    """A map with what it leaves out taken from another one; times and a rate stand in for each other."""
    if chosen is None or beside is None:
        return chosen or beside
    missing = [field.name for field in fields(chosen) if getattr(chosen, field.name) in (None, ())]
    taken = {name: getattr(beside, name) for name in missing}
    if chosen.rate is not None:
        taken |= {"time": None, "time_scale": None}
    elif chosen.time is not None:
        taken["rate"] = None
    return replace(chosen, **taken)


def _listed(value: Any) -> Columns:
    """A list of columns from YAML or from words; `3:6` is 3, 4, 5."""
    parts = value if isinstance(value, list) else str(value).split(",")
    found: list[str | int] = []
    for word in (str(part).strip() for part in parts):
        if match := re.fullmatch(r"([0-9]{1,5})(?::([0-9]{1,5}))?", word):
            found += range(int(match[1]), int(match[2]) if match[2] else int(match[1]) + 1)
        elif word:
            found.append(word)
    return tuple(found)
