"""Which column of a table holds the times of its rows, and in what unit."""

from __future__ import annotations

import re

import numpy as np

from impact_aware.column_names import is_time
from impact_aware.columns import ColumnFile, Name
from impact_aware.errors import InvalidInputError
from impact_aware.ranges import Range

TIMES = ("time", "times", "t", "stamp", "timestamp", "__time")

TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Seconds per unit of a time."""

RATE = Range(1.0, 1e5, "Hz")
"""Of rows that have no times, one like the other."""

_WORDS = {"sec": "s", "secs": "s", "seconds": "s", "msec": "ms", "usec": "us", "nsec": "ns", "nanoseconds": "ns"}

_LONGEST_STEP = 0.2
"""Between two samples, s: an arm that is recorded more slowly shows no impact."""

_FEWEST = 10
"""Steps of time by which a unit is judged."""


def time_column(source: ColumnFile) -> Name | None:
    """The column with a usual name of time; the first one of a table without names; None without either."""
    for usual in TIMES:
        for name in source.widths:
            # The last part of a path within an HDF5 file counts too.
            word, _ = _split_unit(str(name).split("/")[-1])
            if word == usual:
                return name
    own = next((name for name in source.widths if isinstance(name, str) and is_time(name)), None)
    return own if own is not None else 0 if 0 in source.widths else None


def time_scale(source: ColumnFile, name: Name, stated: float | None = None) -> tuple[float, str]:
    """Seconds per unit of a column of time, and a note where they were judged from its steps and are no seconds.

    Args:
        source: The table.
        name: The column.
        stated: What the user says, which is taken as it is.
    """
    if stated is not None:
        return stated, ""
    _, said = _split_unit(str(name))
    first = next(source.pieces([name]), None)
    steps = np.diff(np.zeros(0) if first is None else first[name].reshape(-1))
    steps = steps[steps > 0.0]
    if len(steps) < _FEWEST:
        return TIME_UNITS[said or "s"], ""
    step = float(np.median(steps))
    if said:
        slow = TIME_UNITS[said] * step > _LONGEST_STEP
        note = f"{name} counts in {said} by its name, in steps of {TIME_UNITS[said] * step:.3g} s; if that is not so, "
        return TIME_UNITS[said], f"{note}--time-unit states the unit" if slow else ""
    unit = next((unit for unit, scale in TIME_UNITS.items() if step * scale <= _LONGEST_STEP), "ns")
    note = f"{name} counts in {unit}, estimated from its steps of {step:.6g}; --time-unit states another one"
    return TIME_UNITS[unit], "" if unit == "s" else note


def passed_over(source: ColumnFile, rate: float | None) -> str:
    """A note where a table has a column of times although a rate was given; else empty."""
    time = None if rate is None else time_column(source)
    if rate is None or not isinstance(time, str):
        # The first column of a table without names is only guessed to have times.
        return ""
    return f"{time} is not read: a rate of {rate:g} Hz was given; without it the times of {time} are taken"


def check_one_part(source: ColumnFile, time: Name) -> None:
    """Refuse the seconds of a stamp whose nanoseconds are in a column of their own.

    Raises:
        InvalidInputError: With both columns.
    """
    match = re.fullmatch(r"(.*?)(secs?|seconds)", str(time), re.IGNORECASE)
    begin = "" if match is None else match[1]
    parts = [f"{begin}{word}" for word in ("nanosec", "nsec", "nsecs", "nanosecs", "nanoseconds")]
    other = next((part for part in parts if part in source.widths), None) if match is not None else None
    if other is not None:
        raise InvalidInputError(
            f"columns: time of {source.path}", f"{time} and {other}", f"one column: {time} + 1e-9 {other}"
        )


def _split_unit(name: str) -> tuple[str, str]:
    """A name in small letters without its unit of time, as `time [ms]` or `stamp_ns` have one; and that unit or ''."""
    word = name.strip().lower()
    match = re.fullmatch(r"(.*?)[\s_.]*(?:\[(\w+)\]|\((\w+)\)|(?<=[\s_.])(\w+))", word)
    if match:
        unit = next(part for part in match.groups()[1:] if part)
        unit = _WORDS.get(unit, unit)
        if unit in TIME_UNITS and match[1]:
            return match[1].rstrip(" _."), unit
    return word, ""
