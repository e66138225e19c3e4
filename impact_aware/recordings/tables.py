"""Joint states from tables: CSV, Parquet, NumPy and HDF5, with a map that says which column is what.

The map has the entries `time`, `q`, `dq`, `tau` (columns, or one array of (k, n)), `joints` (names) and `time_scale`
(seconds per unit of `time`). What it leaves out is looked for under the usual names: `time` or `t`; `q1 ... qn`,
`q_JOINT`, `position_JOINT` or the bare joint names; `dq...`, `qd...` or `velocity_JOINT`; `tau...` or `effort_JOINT`;
in NumPy and HDF5 files also arrays `q`, `dq`, `tau`. Tables are read in pieces, so that they may be larger than memory;
arrays of an `.npz` file are read whole, one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import h5py
import numpy as np
import yaml
from pyarrow import ArrowException, csv, parquet

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.recordings.joint_state_reader import JointBatch

Columns: TypeAlias = "tuple[str | int, ...]"

SUFFIXES = (".csv", ".parquet", ".npz", ".npy", ".h5", ".hdf5")
"""Names of files that are read as tables."""

ROWS = 65536
"""Rows read at a time."""

_QUANTITIES = {
    "q": ("q", "position", "positions", "pos"),
    "dq": ("dq", "qd", "qdot", "velocity", "velocities", "vel"),
    "tau": ("tau", "effort", "efforts", "torque", "torques"),
}
_TIMES = ("time", "t", "stamp", "timestamp", "Time", "__time")


@dataclass(frozen=True)
class ColumnMap:
    """Which column is what; columns are names, or numbers from 0 in a `.npy` file.

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
        path: The file.
        joint_names: (n,) From the map or the column names; `q1 ... qn` when nothing says it.
        named: Whether the names were given, rather than made up.
        pieces: Reads the rows, in pieces.
    """

    path: Path
    joint_names: tuple[str, ...]
    named: bool
    pieces: Callable[[], Iterator[JointBatch]] = field(repr=False)


def is_table(path: Path) -> bool:
    """Whether the path's name is that of a table."""
    return path.suffix.lower() in SUFFIXES


def read_column_map(text: str) -> ColumnMap:
    """A map from a YAML file, or from words such as `time=t q=q1,q2 dq=7:14`.

    Raises:
        InvalidInputError: No such file, or an entry that is not known.
    """
    if "=" not in text:
        path = Path(text)
        try:
            content = yaml.safe_load(path.read_text())
        except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
            raise InvalidInputError("columns", text, "a YAML file, or words like time=t q=q1,q2") from error
    else:
        content = {}
        for word in text.split():
            key, mark, value = word.partition("=")
            if not mark:
                raise InvalidInputError("columns", word, "words like time=t q=q1,q2")
            content[key] = value
    if not isinstance(content, dict):
        raise InvalidInputError("columns", text, "a mapping of time, q, dq, tau to columns")
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
    chosen = columns or ColumnMap()
    opener = {".csv": _csv, ".parquet": _parquet, ".npz": _npz, ".npy": _npy}.get(path.suffix.lower(), _hdf5)
    if not path.is_file():
        raise InvalidInputError("table", str(path), "an existing file")
    try:
        source = opener(path)
        chosen = _resolved(path, source, chosen, tuple(robot_joints))
    except (OSError, ValueError, ArrowException, EOFError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError("table", str(path), f"a table that can be read ({_first_line(error)})") from error
    names, named = _joint_names(source, chosen, tuple(robot_joints))

    def pieces() -> Iterator[JointBatch]:
        try:
            yield from _pieces(source, chosen, names)
        except (OSError, ValueError, ArrowException, EOFError) as error:
            raise InvalidInputError("table", str(path), f"numbers in every row ({_first_line(error)})") from error

    return JointTable(path, names, named, pieces)


@dataclass(frozen=True)
class _Source:
    """A file's columns: widths by name (1, or n for an array), and how to read some of them piece by piece."""

    widths: dict[str | int, int]
    read: Callable[[list[str | int]], Iterator[dict[str | int, Array]]]


def _csv(path: Path) -> _Source:
    with csv.open_csv(path) as reader:
        names = reader.schema.names

    def read(wanted: list[str | int]) -> Iterator[dict[str | int, Array]]:
        types = {str(name): "float64" for name in wanted}
        convert = csv.ConvertOptions(include_columns=list(types), column_types=types)
        with csv.open_csv(path, convert_options=convert) as reader:
            for batch in reader:
                yield {name: _column(batch.column(str(name))) for name in wanted}

    return _Source(dict.fromkeys(names, 1), read)


def _parquet(path: Path) -> _Source:
    names = parquet.ParquetFile(path).schema_arrow.names

    def read(wanted: list[str | int]) -> Iterator[dict[str | int, Array]]:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=ROWS, columns=[str(name) for name in wanted]):
                yield {name: _column(batch.column(str(name))) for name in wanted}

    return _Source(dict.fromkeys(names, 1), read)


def _npz(path: Path) -> _Source:
    with np.load(path, allow_pickle=False) as archive:
        widths: dict[str | int, int] = {}
        for name in archive.files:
            widths[name] = _width(archive[name].shape)

    def read(wanted: list[str | int]) -> Iterator[dict[str | int, Array]]:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[str(name)]) for name in wanted}
        yield from _sliced(path, arrays)

    return _Source({name: width for name, width in widths.items() if width}, read)


def _npy(path: Path) -> _Source:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    names: list[str | int]
    if array.dtype.names:
        names = list(array.dtype.names)
    elif array.ndim == 2:
        names = list(range(array.shape[1]))
    else:
        raise InvalidInputError(
            "table", f"{path}, an array of shape {array.shape}", "rows of a time and n positions, or named fields"
        )

    def read(wanted: list[str | int]) -> Iterator[dict[str | int, Array]]:
        if array.dtype.names:
            yield from _sliced(path, {name: array[str(name)] for name in wanted})
        else:
            yield from _sliced(path, {name: array[:, int(name)] for name in wanted})

    return _Source(dict.fromkeys(names, 1), read)


def _hdf5(path: Path) -> _Source:
    widths: dict[str | int, int] = {}
    with h5py.File(path) as file:

        def note(name: str, item: object) -> None:
            if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu" and _width(item.shape):
                widths[name] = _width(item.shape)

        file.visititems(note)

    def read(wanted: list[str | int]) -> Iterator[dict[str | int, Array]]:
        with h5py.File(path) as file:
            yield from _sliced(path, {name: file[str(name)] for name in wanted})

    return _Source(widths, read)


def _width(shape: tuple[int, ...]) -> int:
    """Columns of an array; 0 for one that is no table."""
    return 1 if len(shape) == 1 else shape[1] if len(shape) == 2 else 0


def _column(values: Any) -> Array:
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _sliced(path: Path, arrays: dict[str | int, Any]) -> Iterator[dict[str | int, Array]]:
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InvalidInputError("table", f"{path} with rows {told}", "as many rows of each")
    for begin in range(0, next(iter(lengths.values()), 0), ROWS):
        yield {name: np.asarray(array[begin : begin + ROWS], dtype=np.float64) for name, array in arrays.items()}


def _resolved(path: Path, source: _Source, chosen: ColumnMap, robot_joints: tuple[str, ...]) -> ColumnMap:
    """The map with every column filled in and checked."""
    time = chosen.time
    if time is None:
        # The last part of a path within an HDF5 file counts too.
        time = next((name for usual in _TIMES for name in source.widths if str(name).split("/")[-1] == usual), None)
        if time is None and 0 in source.widths:
            time = 0
    if time is None or time not in source.widths:
        raise InvalidInputError(f"columns: time of {path}", time, _known(source))
    found = {
        quantity: _checked(path, source, quantity, getattr(chosen, quantity))
        or _usual(source, quantity, chosen.joints or robot_joints)
        for quantity in _QUANTITIES
    }
    if not found["q"]:
        raise InvalidInputError(f"columns: q of {path}", "nothing by the usual names", _known(source))
    count = _total(source, found["q"])
    for quantity in ("dq", "tau"):
        width = _total(source, found[quantity])
        if width not in (0, count):
            if getattr(chosen, quantity):
                raise InvalidInputError(f"columns: {quantity}", f"{width} columns", f"{count} as q has")
            found[quantity] = ()
    return replace(chosen, time=time, q=found["q"], dq=found["dq"], tau=found["tau"])


def _checked(path: Path, source: _Source, quantity: str, columns: Columns) -> Columns:
    for column in columns:
        if column not in source.widths:
            raise InvalidInputError(f"columns: {quantity} of {path}", repr(column), _known(source))
    return columns


def _usual(source: _Source, quantity: str, joints: tuple[str, ...]) -> Columns:
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


def _joint_names(source: _Source, chosen: ColumnMap, robot_joints: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    count = _total(source, chosen.q)
    if chosen.joints:
        if len(chosen.joints) != count:
            raise InvalidInputError("columns: joints", f"{len(chosen.joints)} names", f"{count} as q has columns")
        return chosen.joints, True
    names = [str(name) for name in chosen.q]
    if len(names) == count and robot_joints and set(robot_joints) <= set(names):
        return tuple(names), True
    stripped = [re.sub(r"^(q|position|positions|pos)[_/]", "", name) for name in names]
    if len(stripped) == count and all(s != n and not s.isdigit() for s, n in zip(stripped, names, strict=True)):
        return tuple(stripped), True
    if len(robot_joints) == count:
        return robot_joints, True
    return tuple(f"q{index + 1}" for index in range(count)), False


def _pieces(source: _Source, chosen: ColumnMap, names: tuple[str, ...]) -> Iterator[JointBatch]:
    assert chosen.time is not None
    wanted = list(dict.fromkeys([chosen.time, *chosen.q, *chosen.dq, *chosen.tau]))
    for piece in source.read(wanted):
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


def _total(source: _Source, columns: Columns) -> int:
    return sum(source.widths[column] for column in columns)


def _known(source: _Source) -> str:
    names = [str(name) for name in source.widths]
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"one of its columns {shown}" if names else "a table with columns"


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


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
