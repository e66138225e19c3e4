"""Which columns of a table hold time, positions, velocities and torques of joints, in what unit the time counts.

A map says it, with the entries `time`, `q`, `dq`, `tau`, `command` (columns, patterns, or one array of (k, n)),
`joints` (names) and `time_scale` (seconds per unit of `time`). What it leaves out is looked for under the usual names,
in any case: `time`, `time_s`, `t`, `stamp`, `timestamp`; `q1 ... qn`, `q_JOINT`, `position_JOINT`, `JOINT_pos` or the
bare joint names; `dq...`, `qd...` or `velocity_JOINT`; `tau...` or `effort_JOINT`; `command...`, `tau_cmd...` or
`tau_d...`; or one column of vectors `q`, `dq`, `tau`, `command`, `JointPosition`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from impact_aware.arrays import Array
from impact_aware.column_names import angle_unit, best_groups, groups_of, quantity_of
from impact_aware.column_names import listed as shown
from impact_aware.columns import MOST_COLUMNS, ROW_NUMBER, ColumnFile, Name
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.resources import read_mapping
from impact_aware.time_columns import RATE, TIME_UNITS, check_one_part, time_column

Columns: TypeAlias = "tuple[Name, ...]"

QUANTITIES = {
    "q": ("q", "position", "positions", "pos"),
    "dq": ("dq", "qd", "qdot", "velocity", "velocities", "vel"),
    "tau": ("tau", "effort", "efforts", "torque", "torques"),
    "command": ("command", "commands", "tau_cmd", "tau_d", "tau_j_d", "tau_des", "commanded_torque", "effort_command"),
}
"""Names by which positions, velocities, torques and commands go, the preferred one first."""

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
        rate: Of rows that come one like the other, Hz, in place of a column of times.
        object_position: Columns of where the object is, m; `object_position` or `object_position_x ... _z` when empty.
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
    object_position: Columns = ()
    object_velocity: Columns = ()
    object_quaternion: Columns = ()
    object_time: Columns = ()
    object_table: str | None = None


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
    """A map from what a YAML file says.

    Raises:
        InvalidInputError: An entry that is not known, or a scale that is no number.
    """
    known = tuple(ColumnMap.__dataclass_fields__)
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            raise InvalidInputError("columns", repr(key), "one of " + ", ".join(known))
        if key == "time":
            values[key] = _listed(value)[0] if _listed(value) else None
        elif key == "object_table":
            values[key] = str(value)
        elif key == "rate":
            values[key] = checked_rate(value)
        elif key == "time_scale":
            try:
                values[key] = float(value)
            except (TypeError, ValueError) as error:
                raise InvalidInputError("columns: time_scale", repr(value), "seconds per unit of time") from error
            if not (np.isfinite(values[key]) and values[key] > 0.0):
                raise InvalidInputError("columns: time_scale", repr(value), "seconds per unit of time, > 0")
        else:
            values[key] = tuple(str(v) for v in _listed(value)) if key == "joints" else _listed(value)
    return ColumnMap(**values)


def with_time_unit(chosen: ColumnMap | None, unit: str | None) -> ColumnMap | None:
    """The map with the unit of time that an option names.

    Raises:
        UnknownNameError: None of `TIME_UNITS`.
    """
    if unit is None:
        return chosen
    if unit not in TIME_UNITS:
        raise UnknownNameError("time-unit", unit, tuple(TIME_UNITS))
    return replace(chosen or ColumnMap(), time_scale=TIME_UNITS[unit])


def with_rate(chosen: ColumnMap | None, rate: Any) -> ColumnMap | None:
    """The map with the rate that an option gives, Hz.

    Raises:
        InvalidInputError: No number, out of `RATE`.
    """
    return chosen if rate is None else replace(chosen or ColumnMap(), rate=checked_rate(rate))


def checked_rate(value: Any) -> float:
    """A rate in Hz.

    Raises:
        InvalidInputError: No number, out of `RATE`.
    """
    try:
        rate = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError) as error:
        raise InvalidInputError("rate", repr(value), "a number of rows per second") from error
    RATE.check("rate", rate)
    return rate


def completed(chosen: ColumnMap | None, beside: ColumnMap | None) -> ColumnMap | None:
    """A map with what it leaves out taken from another one; times and a rate stand in for each other."""
    if chosen is None or beside is None:
        return chosen or beside
    taken = {name: getattr(beside, name) for name in ColumnMap.__dataclass_fields__ if not getattr(chosen, name)}
    if chosen.rate is not None:
        taken |= {"time": None, "time_scale": None}
    elif chosen.time is not None:
        taken["rate"] = None
    return replace(chosen, **taken)


def joint_columns(source: ColumnFile, quantity: str, joints: Sequence[str] = (), chosen: Columns = ()) -> Columns:
    """Columns of a quantity: those chosen, patterns among them filled in, else those with one of the usual names.

    Args:
        source: The table.
        quantity: One of `QUANTITIES`.
        joints: Of the robot, in its order; columns that are named after them come in it.
        chosen: Names or patterns; `q_*` is one, `re:...` a regular expression.

    Raises:
        InvalidInputError: A chosen column or pattern that the table does not have.
    """
    if not chosen:
        return _usual(source, quantity, tuple(joints))
    found: list[Name] = []
    for column in chosen:
        matching = [column] if column in source.widths else _matching(source, str(column), joints)
        if not matching:
            given = f"columns: {quantity} of {source.path}"
            raise InvalidInputError(given, repr(column), f"one of its {source.described()}")
        found += matching
    return tuple(dict.fromkeys(found))


def resolved(source: ColumnFile, chosen: ColumnMap, robot_joints: tuple[str, ...]) -> ColumnMap:
    """The map with every column filled in and checked.

    Raises:
        InvalidInputError: The table lacks times or positions, or has numbers of columns that don't fit.
    """
    chosen = _counted(chosen)
    time = time_column(source) if chosen.time is None else chosen.time
    if time == ROW_NUMBER:
        pass
    elif time is None or time not in source.widths:
        given = "nothing by the usual names" if time is None else time
        wanted = _wanted(source, "time=COLUMN") + ", or --rate HZ for rows that come one like the other"
        raise InvalidInputError(f"columns: time of {source.path}", given, wanted)
    elif source.widths[time] != 1:
        given = f"{time} with {source.widths[time]} numbers per row"
        raise InvalidInputError(f"columns: time of {source.path}", given, "one number per row")
    check_one_part(source, time)
    joints = chosen.joints or robot_joints
    found = {quantity: joint_columns(source, quantity, joints, getattr(chosen, quantity)) for quantity in QUANTITIES}
    if not found["q"]:
        given, wanted = "nothing by the usual names", _wanted(source, "q=COLUMNS", timed=chosen.rate is None)
        raise InvalidInputError(f"columns: q of {source.path}", given, wanted)
    count = total_width(source, found["q"])
    if count > MOST_COLUMNS:
        given = f"{count} numbers per row"
        raise InvalidInputError(f"columns: q of {source.path}", given, f"{MOST_COLUMNS} at most")
    if not chosen.tau:
        # `tau_cmd_1` begins as a torque's name does.
        found["tau"] = tuple(name for name in found["tau"] if name not in found["command"])
    for quantity in ("dq", "tau", "command"):
        width = total_width(source, found[quantity])
        if width not in (0, count):
            if getattr(chosen, quantity):
                raise InvalidInputError(f"columns: {quantity}", f"{width} columns", f"{count} as q has")
            found[quantity] = ()
    return replace(chosen, time=time, q=found["q"], dq=found["dq"], tau=found["tau"], command=found["command"])


def _counted(chosen: ColumnMap) -> ColumnMap:
    """The map with the rate made the unit of the rows' numbers."""
    if chosen.rate is None:
        return chosen
    if chosen.time is not None or chosen.time_scale is not None:
        given = "a unit of the times" if chosen.time is None else f"a column of times, {chosen.time},"
        raise InvalidInputError("columns: time", f"{given} and a rate of {chosen.rate:g} Hz", "one of them")
    return replace(chosen, time=ROW_NUMBER, time_scale=1.0 / chosen.rate)


def check_angles(source: ColumnFile, columns: Iterable[Name], *, degrees: bool) -> None:
    """Refuse columns that say another unit than what is taken for theirs.

    Args:
        source: The table.
        columns: Of positions and velocities.
        degrees: Whether they are taken for degrees, else for radians.

    Raises:
        InvalidInputError: With the first such column.
    """
    other = "rad" if degrees else "deg"
    name = next((name for name in columns if angle_unit(str(name)) == other), None)
    if name is not None:
        wanted = "radians by their names: leave out --degrees" if degrees else "--degrees, as its name has degrees"
        raise InvalidInputError(f"columns of {source.path}", f"{name}", wanted)


def joint_names(source: ColumnFile, chosen: ColumnMap, robot_joints: tuple[str, ...]) -> tuple[str, ...]:
    """(n,) Of a map with every column filled in: its own, the columns', the robot's, else `q1 ... qn`.

    Raises:
        InvalidInputError: As many names as the map gives do not fit its columns.
    """
    count = total_width(source, chosen.q)
    if chosen.joints:
        if len(chosen.joints) != count:
            raise InvalidInputError("columns: joints", f"{len(chosen.joints)} names", f"{count} as q has columns")
        return chosen.joints
    names = [str(name) for name in chosen.q]
    if len(names) == count and robot_joints and set(robot_joints) <= set(names):
        return tuple(names)
    if len(names) == count == len(robot_joints) and all(j in n for j, n in zip(robot_joints, names, strict=True)):
        return robot_joints
    stripped = [re.sub(r"^(q|position|positions|pos)[_/]", "", name) for name in names]
    if len(stripped) == count and all(s != n and not s.isdigit() for s, n in zip(stripped, names, strict=True)):
        return tuple(stripped)
    if len(robot_joints) == count:
        return robot_joints
    return tuple(f"q{index + 1}" for index in range(count))


def stacked(piece: dict[Name, Array], columns: Iterable[Name]) -> Array:
    """Columns (k, m) beside each other."""
    return np.column_stack([piece[name] for name in columns])


def total_width(source: ColumnFile, columns: Columns) -> int:
    """Numbers per row of several columns."""
    return sum(source.widths[column] for column in columns)


def _matching(source: ColumnFile, pattern: str, joints: Sequence[str]) -> list[Name]:
    """Columns that a pattern fits: in the robot's order, else by the numbers in their names, else as they stand."""
    if not (pattern.startswith("re:") or any(mark in pattern for mark in "*?[")):
        return []
    try:
        expression = re.compile(pattern[3:] if pattern.startswith("re:") else translate(pattern))
    except re.error as error:
        raise InvalidInputError("columns", repr(pattern), f"a pattern ({error})") from error
    found = [name for name in source.widths if expression.fullmatch(str(name))]
    return _ordered(found, joints)


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


def _usual(source: ColumnFile, quantity: str, joints: tuple[str, ...]) -> Columns:
    """Columns of a quantity under one of its usual names."""
    names = [str(name) for name in source.widths if not isinstance(name, int)]
    for word in QUANTITIES[quantity]:
        whole = [name for name in names if name.split("/")[-1].lower() == word]
        if len(whole) == 1:
            return (whole[0],)
        named = tuple(
            name
            for joint in joints
            for name in names
            if name in (f"{word}_{joint}", f"{word}/{joint}", f"{joint}_{word}", f"{joint}/{word}")
        )
        if named and len(named) == len(joints):
            return named
        pattern = re.compile(rf"{word}_?\[?(\d+)\]?$", re.IGNORECASE)
        numbered = sorted((int(match[1]), name) for name in names if (match := pattern.fullmatch(name)))
        if numbered:
            return tuple(name for _, name in numbered)
    best = best_groups(groups_of(names, joints), quantity, len(joints))
    if len(best) > 1 and quantity == "q":
        both = " and ".join(shown(group.columns) for group in best)
        raise InvalidInputError(f"columns: q of {source.path}", both, "one of them, by --columns q=COLUMNS")
    if len(best) == 1:
        return best[0].columns
    if vectors := _vectors(source, quantity):
        return vectors
    for word in QUANTITIES[quantity]:
        for expression in (rf"{word}_.+", rf".*\d[_/. ]{word}"):
            found: list[Name] = [name for name in names if re.fullmatch(expression, name, re.IGNORECASE)]
            if found:
                return tuple(_ordered(found, joints) if expression.startswith(".") else found)
    if quantity == "q" and joints and all(joint in names for joint in joints):
        return joints
    return ()


def _vectors(source: ColumnFile, quantity: str) -> Columns:
    """The column of vectors whose words say the quantity of the joints best: `JointPosition`, `actual_q`.

    Raises:
        InvalidInputError: Several say the positions equally well.
    """
    said = {name: quantity_of(str(name)) for name, width in source.widths.items() if width > 1}
    ranks = {name: rank for name, (kind, rank) in said.items() if kind == quantity}
    best = tuple(name for name, rank in ranks.items() if rank == min(ranks.values()))
    if not best and quantity == "q":
        # LeRobot: the measured joints, without a word of what of them.
        best = tuple(name for name in said if name == "observation.state")
    if len(best) > 1 and quantity == "q":
        both = " and ".join(str(name) for name in best)
        raise InvalidInputError(f"columns: q of {source.path}", both, "one of them, by --columns q=COLUMNS")
    return best if len(best) == 1 else ()


def _wanted(source: ColumnFile, words: str, *, timed: bool = True) -> str:
    """What to say where columns are not found by their names."""
    if not source.widths:
        return "a table with columns; this one has none"
    if all(isinstance(name, int) for name in source.widths):
        count = len(source.widths)
        words = f"time=0 q=1:{min(8, count)}" if timed else f"q=0:{min(7, count)}"
    return f"--columns '{words}' with some of its {source.described()}"


def _listed(value: Any) -> Columns:
    """A list of columns from YAML or from words; `3:6` is 3, 4, 5."""
    parts = value if isinstance(value, list) else _words(str(value))
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


def _words(text: str) -> list[str]:
    """Words between commas; a regular expression, in which commas have a meaning, is one word."""
    return [text] if text.startswith("re:") else text.split(",")
