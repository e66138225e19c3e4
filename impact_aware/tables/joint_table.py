"""Joint states from tables: columns by a map, which is completed by the usual names.

The usual names are those that `impact_aware.tables.names` understands, in any case: `time`, `time_s`, `t`, `stamp`;
`q1 ... qn`, `q_JOINT`, `position_JOINT`, `JOINT_pos` or the bare joint names; `dq...`, `qd...` or `velocity_JOINT`;
`tau...` or `effort_JOINT`; `command...`, `tau_cmd...` or `tau_d...`; or one column of vectors `q`, `JointPosition`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.tables.column_file import MOST_COLUMNS, ROW_NUMBER, ColumnFile, open_columns
from impact_aware.tables.lerobot import ACTION, one_episode, with_info
from impact_aware.tables.names import (
    QUANTITIES,
    TIME_UNITS,
    Columns,
    Name,
    angle_unit,
    best_groups,
    listed,
    split_time_unit,
    time_column,
    unknown_joints,
)
from impact_aware.tables.options import ColumnMap

_LONGEST_STEP = 0.2
"""Longest step between two samples, s: an arm that is recorded more slowly shows no impact."""

_FEWEST = 10
"""Fewest steps of time that show its unit."""


@dataclass(frozen=True, eq=False)
class JointBatch:
    """Joint states with the same names in the same order; k samples of m joints.

    Attributes:
        names: (m,) Joint names.
        rows: (k,) Where these samples are among those they were taken from, increasing.
        received: (k,) Recording times, s.
        times: (k,) Header stamps, s.
        positions: (k, m) rad; NaN where a sample has too few.
        velocities: (k, m) rad/s, or None where the samples have none.
        efforts: (k, m) N m, or None where the samples have none.
    """

    names: tuple[str, ...]
    rows: NDArray[np.intp]
    received: Array
    times: Array
    positions: Array
    velocities: Array | None
    efforts: Array | None


class Clock(NamedTuple):
    """The times of a table's rows.

    Attributes:
        column: Column of them.
        scale: Seconds per unit.
        note: One sentence where they were estimated and may be wrong; else empty.
    """

    column: Name
    scale: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class JointTable:
    """A table of joint states that is going to be read.

    Attributes:
        source: Its columns.
        joint_names: (n,) From the map, the column names or the robot; `q1 ... qn` when nothing gives them.
        clock: Its times.
        columns: The columns of each of `QUANTITIES`, as many numbers per row as joints; empty without any.
        notes: What was estimated about it, one sentence each.
    """

    source: ColumnFile
    joint_names: tuple[str, ...]
    clock: Clock
    columns: dict[str, Columns]
    notes: tuple[str, ...]

    def pieces(self) -> Iterator[JointBatch]:
        """Read the rows, some at a time.

        Raises:
            InvalidInputError: An entry that is not a number.
        """
        chosen = [self.columns[kind] for kind in ("q", "dq", "tau")]
        wanted = list(dict.fromkeys([self.clock.column, *(name for names in chosen for name in names)]))
        for piece in self.source.pieces(wanted):
            times = piece[self.clock.column].reshape(-1) * self.clock.scale
            velocities, efforts = (stacked(piece, names) if names else None for names in chosen[1:])
            rows = np.arange(len(times))
            yield JointBatch(self.joint_names, rows, times, times, stacked(piece, chosen[0]), velocities, efforts)


def open_table(
    table: Path | ColumnFile, columns: ColumnMap | None = None, joints: Sequence[str] = (), *, degrees: bool = False
) -> JointTable:
    """Find the columns of a table.

    Args:
        table: The file.
        columns: What is known about them.
        joints: Joints of the robot, by which columns may be named, or which `q1 ... qn` stand for.
        degrees: Whether angles are in degrees.

    Raises:
        InvalidInputError: The file can't be read, lacks times or positions, names another unit, or has numbers of
            columns that don't fit.
    """
    source = open_columns(table) if isinstance(table, Path) else table
    source, episode = one_episode(source, None if columns is None else columns.episode)
    chosen, joints = with_info(source, columns or ColumnMap()), tuple(joints)
    clock = _checked_clock(source, chosen)
    named = chosen.joints or joints
    found = {kind: joint_columns(source, kind, named, getattr(chosen, kind)) for kind in QUANTITIES}
    if not found["q"]:
        wanted = _wanted(source, "q=COLUMNS", timed=chosen.rate is None)
        raise InvalidInputError(f"columns: q of {source.path}", "nothing by the usual names", wanted)
    count = total_width(source, found["q"])
    if count > MOST_COLUMNS:
        given = f"{count} numbers per row"
        raise InvalidInputError(f"columns: q of {source.path}", given, f"{MOST_COLUMNS} at most")
    if not chosen.tau:
        # `tau_cmd_1` begins as a torque's name does.
        found["tau"] = tuple(name for name in found["tau"] if name not in found["command"])
    if not found["command"] and source.widths.get(ACTION) == count:
        found["command"] = (ACTION,)
    for kind in ("dq", "tau", "command"):
        width = total_width(source, found[kind])
        if width not in (0, count):
            if getattr(chosen, kind):
                raise InvalidInputError(f"columns: {kind}", f"{width} columns", f"{count} as q has")
            found[kind] = ()
    check_angles(source, (*found["q"], *found["dq"]), degrees=degrees)
    names = _joint_names(found["q"], count, chosen.joints, joints)
    return JointTable(source, names, clock, found, tuple(filter(None, (episode, clock.note))))


def clock_of(source: ColumnFile, chosen: ColumnMap) -> Clock | None:
    """The times of a table's rows; None where its names give none.

    Raises:
        InvalidInputError: A rate and a column of times or its unit.
    """
    usual = time_column(source.widths)
    if (rate := chosen.rate) is not None:
        if chosen.time is not None or chosen.time_scale is not None:
            given = "a unit of the times" if chosen.time is None else f"a column of times, {chosen.time},"
            raise InvalidInputError("columns: time", f"{given} and a rate of {rate:g} Hz", "one of them")
        # The first column of a table without names is only guessed to have times.
        passed = f"{usual} is not read: a rate of {rate:g} Hz was given; without it the times of {usual} are taken"
        return Clock(ROW_NUMBER, 1.0 / rate, passed if isinstance(usual, str) else "")
    column = usual if chosen.time is None else chosen.time
    if column is None or column not in source.widths:
        return None
    return Clock(column, *_time_scale(source, column, chosen.time_scale))


def joint_columns(source: ColumnFile, quantity: str, joints: Sequence[str] = (), chosen: Columns = ()) -> Columns:
    """Columns of a quantity: those chosen, patterns among them filled in, else those with one of the usual names.

    Args:
        source: The table.
        quantity: One of `QUANTITIES`; any name where columns are chosen.
        joints: Joints of the robot, in its order; columns that are named after them come in it.
        chosen: Names or patterns such as `q_*`.

    Raises:
        InvalidInputError: A chosen column or pattern that the table does not have; names that fit several arms.
    """
    if not chosen:
        return _usual(source, quantity, joints)
    found: list[Name] = []
    for column in chosen:
        matching = [column] if column in source.widths else _matching(source, str(column), joints)
        if not matching:
            given = f"columns: {quantity} of {source.path}"
            raise InvalidInputError(given, repr(column), f"one of its {source.described()}")
        found += matching
    return tuple(dict.fromkeys(found))


def check_angles(source: ColumnFile, columns: Iterable[Name], *, degrees: bool) -> None:
    """Refuse columns of positions and velocities whose names give another unit than degrees, or radians without.

    Raises:
        InvalidInputError: Naming the first such column.
    """
    other = "rad" if degrees else "deg"
    name = next((name for name in columns if angle_unit(str(name)) == other), None)
    if name is not None:
        wanted = "radians by their names: leave out --degrees" if degrees else "--degrees, as its name has degrees"
        raise InvalidInputError(f"columns of {source.path}", f"{name}", wanted)


def stacked(piece: dict[Name, Array], columns: Iterable[Name]) -> Array:
    """Columns (k, m) beside each other."""
    return np.column_stack([piece[name] for name in columns])


def total_width(source: ColumnFile, columns: Columns) -> int:
    """Numbers per row of several columns."""
    return sum(source.widths[column] for column in columns)


def _checked_clock(source: ColumnFile, chosen: ColumnMap) -> Clock:
    clock, where = clock_of(source, chosen), f"columns: time of {source.path}"
    if clock is None:
        given = "nothing by the usual names" if chosen.time is None else chosen.time
        wanted = _wanted(source, "time=COLUMN") + ", or --rate HZ for rows that come one like the other"
        raise InvalidInputError(where, given, wanted)
    time = clock.column
    if source.widths.get(time, 1) != 1:
        raise InvalidInputError(where, f"{time} with {source.widths[time]} numbers per row", "one number per row")
    if match := re.fullmatch(r"(.*?)(secs?|seconds)", str(time), re.IGNORECASE):
        parts = [match[1] + word for word in ("nanosec", "nsec", "nsecs", "nanosecs", "nanoseconds")]
        if other := next((part for part in parts if part in source.widths), None):
            raise InvalidInputError(where, f"{time} and {other}", f"one column: {time} + 1e-9 {other}")
    return clock


def _time_scale(source: ColumnFile, name: Name, stated: float | None) -> tuple[float, str]:
    """Seconds per unit of a column of time, and a note where its steps contradict its name or are no seconds."""
    if stated is not None:
        return stated, ""
    unit = split_time_unit(str(name))[1]
    first = next(source.pieces([name]), None)
    steps = np.diff(np.zeros(0) if first is None else first[name].reshape(-1))
    steps = steps[steps > 0.0]
    if len(steps) < _FEWEST:
        return TIME_UNITS[unit or "s"], ""
    step = float(np.median(steps))
    if unit:
        long = TIME_UNITS[unit] * step
        note = f"{name} counts in {unit} by its name, in steps of {long:.3g} s; if that is not so, "
        return TIME_UNITS[unit], f"{note}--time-unit states the unit" if long > _LONGEST_STEP else ""
    unit = next((unit for unit, scale in TIME_UNITS.items() if step * scale <= _LONGEST_STEP), "ns")
    note = f"{name} counts in {unit}, estimated from its steps of {step:.6g}; --time-unit states another one"
    return TIME_UNITS[unit], "" if unit == "s" else note


def _joint_names(q: Columns, count: int, chosen: tuple[str, ...], robot_joints: tuple[str, ...]) -> tuple[str, ...]:
    """(n,) Those of the map, the columns', the robot's, else `q1 ... qn`."""
    if chosen:
        if len(chosen) != count:
            raise InvalidInputError("columns: joints", f"{len(chosen)} names", f"{count} as q has columns")
        return chosen
    names = tuple(str(name) for name in q)
    if len(names) == count:
        if robot_joints and set(robot_joints) <= set(names):
            return names
        if len(robot_joints) == count and all(j in n for j, n in zip(robot_joints, names, strict=True)):
            return robot_joints
        stripped = tuple(re.sub(r"^(q|position|positions|pos)[_/]", "", name) for name in names)
        if all(s != n and not s.isdigit() for s, n in zip(stripped, names, strict=True)):
            return stripped
    return robot_joints if len(robot_joints) == count else tuple(f"q{index + 1}" for index in range(count))


def _matching(source: ColumnFile, pattern: str, joints: Sequence[str]) -> list[Name]:
    """Columns that a pattern fits: in the robot's order, else by the numbers in their names, else as they stand."""
    if not any(mark in pattern for mark in "*?["):
        return []
    return _ordered([name for name in source.widths if fnmatchcase(str(name), pattern)], joints)


def _ordered(found: list[Name], joints: Sequence[str]) -> list[Name]:
    # The longest joint name first, so that joint10 does not count as joint1.
    by_length = sorted(joints, key=len, reverse=True)
    owner = {name: next((joint for joint in by_length if joint in str(name)), None) for name in found}
    if joints and sorted(str(o) for o in owner.values()) == sorted(joints):
        return sorted(found, key=lambda name: list(joints).index(str(owner[name])))
    skeletons = {re.sub(r"\d+", "0", str(name)) for name in found}
    if len(skeletons) == 1:
        return sorted(found, key=lambda name: [int(number) for number in re.findall(r"\d+", str(name))])
    return found


def _usual(source: ColumnFile, quantity: str, joints: Sequence[str]) -> Columns:
    """Columns of a quantity under one of its usual names."""
    best = best_groups(source.widths, quantity, joints)
    if len(best) > 1 and quantity == "q":
        both = " and ".join(listed(map(str, group.columns)) for group in best)
        raise InvalidInputError(f"columns: q of {source.path}", both, "one of them, by --columns q=COLUMNS")
    if len(best) == 1:
        return best[0].columns
    found = unknown_joints((name for name in source.widths if isinstance(name, str)), quantity)
    return tuple(_ordered([*found], joints)) if found else ()


def _wanted(source: ColumnFile, words: str, *, timed: bool = True) -> str:
    """The option that names columns which are not found by their names."""
    if not source.widths:
        return "a table with columns; this one has none"
    if all(isinstance(name, int) for name in source.widths):
        count = len(source.widths)
        words = f"time=0 q=1:{min(8, count)}" if timed else f"q=0:{min(7, count)}"
    return f"--columns '{words}' with some of its {source.described()}"
