"""Columns of numbers in a file: text, Parquet, NumPy, HDF5 and MATLAB, read in pieces or as a whole.

A column is one vector of k numbers, or an array of (k, m) in NumPy and HDF5 files and where the cells of a text hold
vectors. Columns have names; those of a text without a header line, or of an `.npy` file without fields, are numbers
from 0.
"""

from __future__ import annotations

import csv
import json
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.child_process import survives
from impact_aware.errors import InvalidInputError, one_reason
from impact_aware.ranges import read_number
from impact_aware.resources import check_readable
from impact_aware.tables.arrays import check_size, lies_across, open_arrays, recording_length
from impact_aware.tables.long_form import long_form
from impact_aware.tables.names import Name, listed
from impact_aware.tables.text import MISSING, CellError, is_json, layout_of, lines_of, read_cell, read_numbers, rows_of

ARRAYS = (".npz", ".npy", ".h5", ".hdf5", ".mat")

SUFFIXES = (".csv", ".txt", ".tsv", ".dat", ".log", ".asc", ".json", ".jsonl", ".parquet", *ARRAYS)
"""Suffixes of tables; a file with another suffix is read as CSV where a table is expected."""

KINDS = ".csv, .txt, .parquet, .npz, .npy, .h5, .mat"
"""Kinds of tables, for messages."""

ROWS = 65536
"""Rows of an array read at a time."""

ROW_NUMBER = "(row number)"
"""A column that every file has besides its own: how many rows come before each."""

MOST_COLUMNS = 4096
"""Columns of a table; two arms of seven joints with all that is known about them have some hundred."""

_UNREADABLE = (
    OSError, ValueError, EOFError, KeyError, TypeError, IndexError, AttributeError, RuntimeError, OverflowError,
    MemoryError, NotImplementedError, SyntaxError, struct.error, zlib.error, zipfile.BadZipFile, tokenize.TokenError,
    csv.Error,
)  # fmt: skip
"""What the libraries raise for files that are cut off or spoilt: NumPy's header is Python, HDF5's has any type."""


def _unreadable() -> tuple[type[Exception], ...]:
    arrow = sys.modules.get("pyarrow")
    return _UNREADABLE if arrow is None else (*_UNREADABLE, arrow.ArrowException)


class ColumnFile:
    """The columns of one file.

    Attributes:
        path: The file.
        widths: Numbers per row by column: 1, or m for an array (k, m).
    """

    def __init__(self, path: Path) -> None:
        """Find the columns; `open_columns` chooses the class and mends the errors."""
        self.path = path
        self.widths = self._find()
        if len(self.widths) > MOST_COLUMNS:
            raise InvalidInputError(f"table {path}", f"{len(self.widths)} columns", f"{MOST_COLUMNS} at most")

    def pieces(self, names: Sequence[Name]) -> Iterator[dict[Name, Array]]:
        """Some columns, a piece of all of them at a time; an entry that is missing is NaN.

        `ROW_NUMBER` may be among them, beside one of the file's own.

        Raises:
            InvalidInputError: An entry that is not a number, or columns of different lengths.
        """
        own, begin = [name for name in names if name != ROW_NUMBER], 0
        try:
            for piece in self._pieces(own):
                # A text leaves out rows of nothing, which count all the same.
                numbers = piece.pop(ROW_NUMBER, None)
                if len(own) < len(names):
                    count = len(piece[own[0]])
                    piece[ROW_NUMBER] = np.arange(begin, begin + count, dtype=float) if numbers is None else numbers
                    begin += count
                yield piece
        except InvalidInputError:
            raise
        except _unreadable() as error:
            fault = self._fault(own, "a number") or InvalidInputError(
                "table", str(self.path), f"numbers in every row ({one_reason(error)})"
            )
            raise fault from error

    def whole(self, names: Sequence[Name]) -> dict[Name, Array]:
        """Some columns, all entries of which are finite.

        Raises:
            InvalidInputError: An entry that is missing or not a finite number, with its column and row; columns of
                different lengths; no row.
        """
        parts, own = list(self.pieces(names)), [name for name in names if name != ROW_NUMBER]
        if not any(len(values) for part in parts for values in part.values()):
            raise InvalidInputError(f"table {self.path}", "no rows", "at least one")
        found = {name: np.concatenate([part[name] for part in parts]) for name in names}
        for name, values in found.items():
            bad = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
            if bad.any():
                row = int(np.argmax(bad))
                entry = f"{values[row].tolist()} in row {row + 1} of {name}"
                raise self._fault(own, "a finite number") or InvalidInputError(
                    f"table {self.path}", entry, "finite numbers"
                )
        return found

    def described(self) -> str:
        """The columns in words."""
        if not self.widths:
            return "no columns"
        if all(isinstance(name, int) for name in self.widths):
            return f"columns 0 ... {len(self.widths) - 1}, which no header names"
        return "columns " + listed(str(name) for name in self.widths)

    def _find(self) -> dict[Name, int]:
        with open_arrays(self.path) as arrays:
            shapes = {name: np.shape(array) for name, array in arrays.items()}
        # Some write joints in rows, one column per sample; the length of a vector of times shows it.
        rows = recording_length([shape for shape in shapes.values() if len(shape) == 1])
        self._across = {name for name, shape in shapes.items() if lies_across(shape, rows)}
        width = {name: shape[0 if name in self._across else 1] for name, shape in shapes.items() if len(shape) == 2}
        return {name: width.get(name, 1) for name, shape in shapes.items() if len(shape) < 3}

    def _pieces(self, names: Sequence[Name]) -> Iterator[dict[Name, Array]]:
        with open_arrays(self.path) as arrays:
            chosen = {name: np.asarray(arrays[name]).T if name in self._across else arrays[name] for name in names}
            lengths = {name: len(array) for name, array in chosen.items() if np.ndim(array)}
            if len(set(lengths.values())) > 1:
                listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
                raise InvalidInputError("table", f"{self.path} with rows {listed}", "as many rows of each")
            for name, array in chosen.items():
                if array.dtype.kind not in "fiub":
                    raise InvalidInputError(f"table {self.path}", f"{name} of type {array.dtype}", "numbers")
            count = next(iter(lengths.values()), 1)
            # A number that holds for all rows may stand alone.
            full = {n: array if np.ndim(array) else np.broadcast_to(array, count) for n, array in chosen.items()}
            for begin in range(0, count, ROWS):
                yield {n: np.asarray(array[begin : begin + ROWS], dtype=np.float64) for n, array in full.items()}

    def _fault(self, names: Sequence[Name], expected: str) -> InvalidInputError | None:
        """Return an error for the first row of a text file that can't be read; None for other files."""
        return None


def way_to_table(path: Path) -> str:
    """How to convert a file of another program to one that can be read; empty where nothing is known."""
    suffix = path.suffix.lower()
    if suffix == ".bag":
        return f"; rosbags-convert --src {path.name} --dst {path.stem} makes a rosbag2 folder of a bag of ROS 1"
    return "; save what is in it as .csv" if suffix in (".xlsx", ".xls", ".ods", ".pkl", ".pickle", ".feather") else ""


def open_columns(path: str | Path) -> ColumnFile:
    """Find the columns of a file.

    Raises:
        InvalidInputError: No such file, or not a table.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    check_readable("table", path, "regular file")
    if way_to_table(path):
        raise InvalidInputError("table", str(path), f"one of {KINDS}{way_to_table(path)}")
    kind = _Parquet if suffix == ".parquet" else ColumnFile if suffix in ARRAYS else None
    try:
        return (kind or (_StateLines if is_json(path) else _Text))(path)
    except InvalidInputError:
        raise
    except _unreadable() as error:
        raise InvalidInputError("table", str(path), f"a table that can be read ({one_reason(error)})") from error


class _Parquet(ColumnFile):
    def _find(self) -> dict[Name, int]:
        with _parquet_file(self.path) as file:
            groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]

            def size() -> int:
                # Values, not rows: one row of a vector can be a run of any length.
                columns = [group.column(place) for group in groups for place in range(group.num_columns)]
                return sum(max(8 * column.num_values, column.total_uncompressed_size) for column in columns)

            # Arrow ends the process where the histograms of a column don't fit its levels.
            if not survives(size):
                raise InvalidInputError("table", str(self.path), "a Parquet file whose columns Arrow can describe")
            check_size(self.path, size())
            schema = file.schema_arrow
            nested = [field.name for field in schema if _is_list(field.type)]
            found: dict[Name, int] = dict.fromkeys(schema.names, 1)
            first = next(file.iter_batches(batch_size=1, columns=nested), None) if nested else None
            if first is not None:
                found |= {name: max(len(first.column(name)[0].values or ()), 1) for name in nested}
            return found

    def _pieces(self, names: Sequence[Name]) -> Iterator[dict[Name, Array]]:
        with _parquet_file(self.path) as file:
            for batch in file.iter_batches(batch_size=ROWS, columns=[str(name) for name in names]):
                yield {name: self._values(name, batch.column(str(name))) for name in names}

    def _values(self, name: Name, column: Any) -> Array:
        """One column, its vectors as (k, m)."""
        if not _is_list(column.type):
            return _plain_column(column)
        width, values = self.widths[name], column.flatten()
        if len(values) != width * len(column):
            raise InvalidInputError(f"table {self.path}", f"{name} of different lengths", f"{width} numbers per row")
        return _of_width(_plain_column(values), width)


class _Text(ColumnFile):
    """Cells between commas, semicolons, tabs or blanks, laid out as `impact_aware.tables.text` estimates."""

    def _find(self) -> dict[Name, int]:
        self._layout = layout_of(self.path)
        self._long = long_form(self.path, self._layout)
        if self._long is not None:
            self._layout = self._long.wide
        return dict(zip(self._layout.names, self._layout.widths, strict=True))

    def _pieces(self, names: Sequence[Name]) -> Iterator[dict[Name, Array]]:
        places = {name: self._place(name) for name in names}
        rows, begin = (cells for _, cells in self._rows(empty=True)), 0
        while piece := list(islice(rows, ROWS)):
            if any(len(cells) != len(self._layout.names) for cells in piece):
                raise ValueError("rows of different lengths")
            found = {name: [cells[place] for cells in piece] for name, place in places.items()}
            # Spreadsheets write rows of nothing but commas below the last one.
            kept = ~np.logical_and.reduce([[word in MISSING for word in words] for words in found.values()])
            numbers = {name: self._numbers(words, places[name])[kept] for name, words in found.items()}
            yield {**numbers, ROW_NUMBER: begin + np.flatnonzero(kept).astype(np.float64)}
            begin += len(piece)

    def _numbers(self, words: Sequence[str], place: int) -> Array:
        """(k,) or (k, width) numbers of cells; NaN where one is empty.

        Raises:
            ValueError: A cell with another number of numbers.
        """
        width, decimal = self._layout.widths[place], self._layout.decimal
        if self._layout.plain[place] and decimal == ".":
            with suppress(ValueError):  # a missing number, or none: cell by cell
                return read_numbers(words)
        rows = [[np.nan] * width if word in MISSING else read_cell(word, decimal) for word in words]
        if any(len(row) != width for row in rows):
            raise ValueError("a vector of another length")
        return _of_width(np.array(rows, dtype=np.float64), width)

    def _place(self, name: Name) -> int:
        count = self._layout.names.count(name)
        if count > 1:
            raise InvalidInputError(f"table {self.path}", f"{count} columns {name}", "one of each")
        return self._layout.names.index(name)

    def _fault(self, names: Sequence[Name], expected: str) -> InvalidInputError | None:
        """With the line and the word."""
        layout, table = self._layout, f"table {self.path}"
        for number, (line, cells) in enumerate(self._rows(), start=1):
            where = f"row {number} (line {line})"
            if len(cells) != len(layout.names):
                wanted = f"{len(layout.names)} as in the first line"
                return InvalidInputError(table, f"{len(cells)} columns in {where}", wanted)
            for name in names:
                place = self._place(name)
                word, width = cells[place], layout.widths[place]
                try:
                    found = read_cell(word, layout.decimal)
                except ValueError:
                    found = []
                readable = len(found) == width or word in MISSING
                if not readable or (expected == "a finite number" and not np.isfinite(found).all()):
                    wanted = expected if width == 1 else f"{width} numbers"
                    return InvalidInputError(table, f"{word!r} for {name} in {where}", wanted)
        return None

    def _rows(self, empty: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The rows below the header, each with its line."""
        try:
            rows = rows_of(self.path, self._layout, empty and self._long is None)
            yield from rows if self._long is None else self._long.merged(rows)
        except CellError as error:
            given = f"line {error.line}"
            raise InvalidInputError(f"table {self.path}", given, f"cells ({error.reason})") from error


class _StateLines(ColumnFile):
    """JSON objects, one per line, as libfranka prints a robot's state."""

    def _find(self) -> dict[Name, int]:
        state = next(self._states(), {})
        cells = {name: cell if isinstance(cell, list) else [cell] for name, cell in state.items()}
        numeric = {name: all(type(part) in (int, float) for part in cell) for name, cell in cells.items()}
        return {name: len(cell) for name, cell in cells.items() if cell and numeric[name]}

    def _pieces(self, names: Sequence[Name]) -> Iterator[dict[Name, Array]]:
        rows = ([state[name] for name in names] for state in self._states())
        while piece := list(islice(rows, ROWS)):
            cells = dict(zip(names, zip(*piece, strict=True), strict=True))
            shapes = {name: (len(piece), self.widths[name]) for name in names}
            yield {n: _of_width(np.array(cells[n], dtype=np.float64).reshape(shapes[n]), shapes[n][1]) for n in names}

    def _states(self) -> Iterator[dict[Name, Any]]:
        for number, line in lines_of(self.path):
            try:
                yield dict(json.loads(line))
            except (ValueError, TypeError, RecursionError) as error:
                raise InvalidInputError(f"table {self.path}", f"line {number}", "a JSON object in each line") from error


def _parquet_file(path: Path) -> Any:
    # No other table needs it, and it is large: `pip install impact_aware` leaves it out.
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    columns = [file.schema.column(place) for place in range(len(file.schema))]
    # A text that repeats stays one: a small file can have a long one in every row.
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    return pyarrow.parquet.ParquetFile(path, read_dictionary=texts) if texts else file


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind))


def _plain_column(values: Any) -> Array:
    if hasattr(values, "dictionary"):
        missing = len(values.dictionary)
        return np.append(_plain_column(values.dictionary), np.nan)[values.indices.fill_null(missing).to_numpy()]
    found = values.to_numpy(zero_copy_only=False)
    if found.dtype == object:  # texts, which NumPy would read as Python does, and what is missing
        found = [read_number(word) if isinstance(word, str) else word for word in found]
    return np.asarray(found, dtype=np.float64)


def _of_width(values: Array, width: int) -> Array:
    return values.reshape(-1, width)[:, 0 if width == 1 else slice(None)]
