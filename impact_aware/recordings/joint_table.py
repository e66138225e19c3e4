"""Joint states from tables, with a map that says which column is what.

The map has the entries `time`, `q`, `dq`, `tau` (columns, or one array of (k, n)), `joints` (names) and `time_scale`
(seconds per unit of `time`). What it leaves out is looked for under the usual names: `time` or `t`; `q1 ... qn`,
`q_JOINT`, `position_JOINT` or the bare joint names; `dq...`, `qd...` or `velocity_JOINT`; `tau...` or `effort_JOINT`;
in NumPy and HDF5 files also arrays `q`, `dq`, `tau`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from impact_aware.columns import MOST_COLUMNS, ColumnFile, Name, open_columns
from impact_aware.errors import InvalidInputError
from impact_aware.recordings.joint_state_reader import JointBatch
from impact_aware.resources import read_mapping

Columns: TypeAlias = "tuple[Name, ...]"

_QUANTITIES = {
    "q": ("q", "position", "positions", "pos"),
    "dq": ("dq", "qd", "qdot", "velocity", "velocities", "vel"),
    "tau": ("tau", "effort", "efforts", "torque", "torques"),
}
_TIMES = ("time", "t", "stamp", "timestamp", "Time", "__time")


@dataclass(frozen=True)
class ColumnMap:
    """Which column is what; columns are names, or numbers from 0 where a file has no names.

    Attributes:
        time: Column of the stamps; the usual names when None.
        q: Columns of the positions, rad; the usual names when empty.
        dq: Columns of the velocities, rad/s.
        tau: Columns of the torques, N m.
        joints: Joint names, in the order of `q`; from the columns' names, else the robot's, when empty.
        time_scale: Seconds per unit of `time`.
    """

    time: str | int | None = None
    q: Columns = ()
    dq: Columns = ()
    tau: Columns = ()
    joints: tuple[str, ...] = ()
    time_scale: float = 1.0


@dataclass(frozen=True, eq=False)
class JointTable:
    """A table that is going to be read.

    Attributes:
        joint_names: (n,) From the map, the column names or the robot; `q1 ... qn` when nothing says it.
        pieces: Reads the rows, in pieces.
    """

    joint_names: tuple[str, ...]
    pieces: Callable[[], Iterator[JointBatch]] = field(repr=False)


def read_column_map(text: str) -> ColumnMap:
    """A map from a YAML file, or from words such as `time=t q=q1,q2 dq=7:14`.

    Raises:
        InvalidInputError: No such file, or an entry that is not known.
    """
    if "=" in text:
        content: dict[str, Any] = {}
        for word in text.split():
            key, mark, value = word.partition("=")
            if not mark:
                raise InvalidInputError("columns", word, "words like time=t q=q1,q2")
            content[key] = value
    else:
        content = read_mapping("columns", Path(text))
    known = tuple(ColumnMap.__dataclass_fields__)
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            raise InvalidInputError("columns", repr(key), "one of " + ", ".join(known))
        if key == "time":
            values[key] = _listed(value)[0] if _listed(value) else None
        elif key == "time_scale":
            try:
                values[key] = float(value)
            except (TypeError, ValueError) as error:
                raise InvalidInputError("columns: time_scale", repr(value), "seconds per unit of time") from error
        else:
            values[key] = tuple(str(v) for v in _listed(value)) if key == "joints" else _listed(value)
    return ColumnMap(**values)


def open_table(path: Path, columns: ColumnMap | None = None, robot_joints: Sequence[str] = ()) -> JointTable:
    """Find the columns of a table.

    Args:
        path: The file.
        columns: What is known about them.
        robot_joints: Joints of the robot, by which columns may be named, or which `q1 ... qn` stand for.

    Raises:
        InvalidInputError: The file can't be read, or lacks times or positions.
    """
    source = open_columns(path)
    chosen = _resolved(source, columns or ColumnMap(), tuple(robot_joints))
    names = _joint_names(source, chosen, tuple(robot_joints))
    return JointTable(names, lambda: _pieces(source, chosen, names))


def _resolved(source: ColumnFile, chosen: ColumnMap, robot_joints: tuple[str, ...]) -> ColumnMap:
    """The map with every column filled in and checked."""
    time = chosen.time
    if time is None:
        # The last part of a path within an HDF5 file counts too.
        time = next((name for usual in _TIMES for name in source.widths if str(name).split("/")[-1] == usual), None)
        if time is None and 0 in source.widths:
            time = 0
    if time is None or time not in source.widths:
        raise InvalidInputError(f"columns: time of {source.path}", time, f"one of its {source.described()}")
    if source.widths[time] != 1:
        given = f"{time} with {source.widths[time]} numbers per row"
        raise InvalidInputError(f"columns: time of {source.path}", given, "one number per row")
    found = {
        quantity: _checked(source, quantity, getattr(chosen, quantity))
        or _usual(source, quantity, chosen.joints or robot_joints)
        for quantity in _QUANTITIES
    }
    if not found["q"]:
        raise InvalidInputError(
            f"columns: q of {source.path}", "nothing by the usual names", f"one of its {source.described()}"
        )
    count = _total(source, found["q"])
    if count > MOST_COLUMNS:
        given = f"{count} numbers per row"
        raise InvalidInputError(f"columns: q of {source.path}", given, f"{MOST_COLUMNS} at most")
    for quantity in ("dq", "tau"):
        width = _total(source, found[quantity])
        if width not in (0, count):
            if getattr(chosen, quantity):
                raise InvalidInputError(f"columns: {quantity}", f"{width} columns", f"{count} as q has")
            found[quantity] = ()
    return replace(chosen, time=time, q=found["q"], dq=found["dq"], tau=found["tau"])


def _checked(source: ColumnFile, quantity: str, columns: Columns) -> Columns:
    for column in columns:
        if column not in source.widths:
            raise InvalidInputError(
                f"columns: {quantity} of {source.path}", repr(column), f"one of its {source.described()}"
            )
    return columns


def _usual(source: ColumnFile, quantity: str, joints: tuple[str, ...]) -> Columns:
    """Columns of a quantity under one of its usual names."""
    names = [str(name) for name in source.widths]
    for word in _QUANTITIES[quantity]:
        whole = [name for name in names if name.split("/")[-1] == word]
        if whole:
            return (whole[0],)
        named = tuple(name for joint in joints for name in names if name in (f"{word}_{joint}", f"{word}/{joint}"))
        if named and len(named) == len(joints):
            return named
        pattern = re.compile(rf"{word}_?\[?(\d+)\]?$")
        numbered = sorted((int(match[1]), name) for name in names if (match := pattern.fullmatch(name)))
        if numbered:
            return tuple(name for _, name in numbered)
        prefixed = tuple(name for name in names if name.startswith(f"{word}_"))
        if prefixed:
            return prefixed
    if quantity == "q" and joints and all(joint in names for joint in joints):
        return joints
    return ()


def _joint_names(source: ColumnFile, chosen: ColumnMap, robot_joints: tuple[str, ...]) -> tuple[str, ...]:
    count = _total(source, chosen.q)
    if chosen.joints:
        if len(chosen.joints) != count:
            raise InvalidInputError("columns: joints", f"{len(chosen.joints)} names", f"{count} as q has columns")
        return chosen.joints
    names = [str(name) for name in chosen.q]
    if len(names) == count and robot_joints and set(robot_joints) <= set(names):
        return tuple(names)
    stripped = [re.sub(r"^(q|position|positions|pos)[_/]", "", name) for name in names]
    if len(stripped) == count and all(s != n and not s.isdigit() for s, n in zip(stripped, names, strict=True)):
        return tuple(stripped)
    if len(robot_joints) == count:
        return robot_joints
    return tuple(f"q{index + 1}" for index in range(count))


def _pieces(source: ColumnFile, chosen: ColumnMap, names: tuple[str, ...]) -> Iterator[JointBatch]:
    assert chosen.time is not None
    wanted = list(dict.fromkeys([chosen.time, *chosen.q, *chosen.dq, *chosen.tau]))
    for piece in source.pieces(wanted):
        times = piece[chosen.time].reshape(-1) * chosen.time_scale
        columns = {
            quantity: np.column_stack([piece[name] for name in getattr(chosen, quantity)])
            if getattr(chosen, quantity)
            else None
            for quantity in _QUANTITIES
        }
        positions = columns["q"]
        assert positions is not None
        yield JointBatch(names, np.arange(len(times)), times, times, positions, columns["dq"], columns["tau"])


def _total(source: ColumnFile, columns: Columns) -> int:
    return sum(source.widths[column] for column in columns)


def _listed(value: Any) -> Columns:
    """A list of columns from YAML or from words; `3:6` is 3, 4, 5."""
    parts = value if isinstance(value, list) else str(value).split(",")
    found: list[str | int] = []
    for part in parts:
        text = str(part).strip()
        if re.fullmatch(r"\d+:\d+", text):
            begin, end = (int(word) for word in text.split(":"))
            found += range(begin, end)
        elif text.isdigit():
            found.append(int(text))
        elif text:
            found.append(text)
    return tuple(found)
