"""How a text of numbers is laid out: what separates its cells, where its rows begin, what its columns are called.

Loggers, spreadsheets and scripts write such texts in many ways: cells between `,`, `;`, tabs or blanks; lines about the
laboratory above the header; a line of units below it; vectors in one cell, `"[0.1 0.2 0.3]"`; decimal commas.
"""

from __future__ import annotations

import codecs
import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from impact_aware.arrays import Array
from impact_aware.ranges import read_number

BLANKS = " "
"""As a delimiter: any number of blanks and tabs."""

DELIMITERS = (",", ";", "\t", BLANKS)

MISSING = ("", " ", "NA", "N/A", "#N/A", "null", "NULL")
"""Cells without a number."""

NAMED = 0.1
"""What a header with as many cells as the rows is worth, as a share of cells that are numbers."""

_MOST_METADATA = 10
"""Lines about the laboratory that have by chance as many cells as the table, a number among them."""

_LINES, _LONGEST_LINE = 400, 1 << 20
"""Lines that the layout is estimated from, and characters of each."""

_COMMENT = re.compile(r"^\s*(#|%|//)+\s*")
_UNIT = re.compile(
    r"[\[(]?(s|sec|ms|us|µs|ns|rad|deg|°|rad/s|deg/s|1/s|m|mm|m/s|N|Nm|N m|N\*m|kg|A|V|Hz|-|1|)[\])]?", re.IGNORECASE
)
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?)\s*(?:(Z)|([-+])(\d\d):?(\d\d))?")
_BRACKETS = str.maketrans("[](){},;", " " * 8)


class CellError(ValueError):
    """Cells that can't be separated, in a line of the text."""

    def __init__(self, line: int, reason: str) -> None:
        """Remember both."""
        self.line, self.reason = line, reason
        super().__init__(f"line {line}: {reason}")


@dataclass(frozen=True)
class TextLayout:
    """The layout of one text of c columns.

    Attributes:
        delimiter: One of `DELIMITERS`.
        decimal: `.`, or `,` where numbers are written 0,5.
        names: (c,) Names of the columns; numbers from 0 where no line names them.
        widths: (c,) Numbers per cell.
        plain: (c,) Whether each cell is a number alone: no vector, no date, no brackets.
        above: Lines above the first row.
        encoding: Python's name of it.
    """

    delimiter: str
    decimal: str
    names: tuple[str | int, ...]
    widths: tuple[int, ...]
    plain: tuple[bool, ...]
    above: int
    encoding: str


class _Row(NamedTuple):
    """Cells of a line, and whether it is marked as a remark."""

    line: int
    cells: list[str]
    remark: bool


def layout_of(path: Path) -> TextLayout:
    """Estimate the layout of a text from its first lines.

    Raises:
        OSError, UnicodeDecodeError, CellError: It can't be read.
    """
    encoding = _encoding(path)
    with open(path, newline="", encoding=encoding) as file:
        lines = list(islice(_lines(file), _LINES))
    guesses = [guess for delimiter in DELIMITERS if (guess := _guess(lines, delimiter, encoding)) is not None]
    if not guesses:
        return TextLayout(",", ".", (), (), (), 0, encoding)
    return max(guesses, key=lambda guess: guess[0])[1]


def rows_of(path: Path, layout: TextLayout, empty: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header, each with the number of its last line; those of empty cells only if wanted.

    Raises:
        CellError: Cells that can't be separated.
    """
    with open(path, newline="", encoding=layout.encoding) as file:
        next(islice(file, layout.above, layout.above), None)
        try:
            for number, cells in _cells(_lines(file), layout.delimiter):
                if cells if empty else any(cells):
                    yield layout.above + number, cells
        except CellError as error:
            raise CellError(layout.above + error.line, error.reason) from error


def is_json(path: Path) -> bool:
    """Whether a text begins as a JSON object does."""
    with open(path, "rb") as file:
        return re.match(rb"\s*\{\s*\"", file.read(_LONGEST_LINE).removeprefix(codecs.BOM_UTF8)) is not None


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers, without those of blanks.

    Raises:
        CellError: A line without end.
    """
    with open(path, encoding=_encoding(path)) as file:
        yield from ((number, line) for number, line in enumerate(_lines(file), start=1) if line.strip())


def read_cell(word: str, decimal: str = ".") -> list[float]:
    """The numbers of a cell: one, those of a vector between blanks or in brackets, or the seconds since 1970 of a date.

    NaN for a missing one.

    Raises:
        ValueError: Something else.
    """
    if word in MISSING:
        return [math.nan]
    with suppress(ValueError):
        return [read_number(word.replace(",", ".") if decimal == "," else word)]
    if match := _DATE.fullmatch(word):
        stamp = np.datetime64(match[1].replace(" ", "T").replace(",", "."), "ns")
        ahead = 0 if match[3] is None else int(match[3] + "1") * (3600 * int(match[4]) + 60 * int(match[5]))
        return [1e-9 * int(stamp.astype(np.int64)) - ahead]
    if decimal == ",":
        word = word.strip("[](){} ").replace(",", ".")
    elif word[:1] in ("[", "(", "{"):
        word = word.translate(_BRACKETS)
    if not (numbers := [read_number(part) for part in word.split()]):
        raise ValueError("no number")
    return numbers


def read_numbers(words: Sequence[str]) -> Array:
    """Return the numbers (k,) that k words are, as `read_number` reads them, but faster.

    Raises:
        ValueError: A word is none.
    """
    text = "".join(words)
    if "_" in text or not text.isascii():
        raise ValueError("a word that is no number")
    return np.fromiter(map(float, words), dtype=np.float64, count=len(words))


def _encoding(path: Path) -> str:
    """UTF-8, with the byte order mark of spreadsheets or without, else what its first bytes show."""
    with open(path, "rb") as file:
        head = file.read(_LONGEST_LINE)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        # A letter that is cut in two at the end is no fault.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        # NUL is in no text.
        return "utf-8-sig" if b"\0" in head else "cp1252"
    return "utf-8-sig"


def _lines(file: TextIO) -> Iterator[str]:
    """The lines of a text; one without an end, as a file of zeros has, would fill the memory."""
    number = 0
    while line := file.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            raise CellError(number, f"{_LONGEST_LINE} characters or more")
        yield line


def _cells(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    if delimiter == BLANKS:
        for number, line in enumerate(lines, start=1):
            yield number, line.split()
        return
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        for row in reader:
            yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise CellError(reader.line_num, str(error)) from error


def _guess(
    lines: Sequence[str], delimiter: str, encoding: str
) -> tuple[tuple[float, bool, bool, int], TextLayout] | None:
    """A layout with this delimiter, below its evidence, the strongest first; None for a text of nothing."""
    remarks = {number for number, line in enumerate(lines, start=1) if _COMMENT.match(line)}
    rows: list[_Row] = []
    # Cells that can't be separated are refused, with their line, when the rows are read.
    with suppress(CellError):
        for number, cells in _cells([_COMMENT.sub("", line) for line in lines], delimiter):
            if any(cells):
                rows.append(_Row(number, cells, number in remarks))
    if not rows:
        return None
    # Most cells are in the table, however many lines about the laboratory stand above it.
    filled: Counter[int] = Counter()
    table = [row for row in rows if not row.remark] or rows
    for row in table:
        filled[len(row.cells)] += len(row.cells)
    count = max(filled, key=lambda size: (filled[size], size))
    commas = delimiter != "," and any(
        _DECIMAL_COMMA.fullmatch(cell) for row in table if len(row.cells) == count for cell in row.cells
    )
    decimal = "," if commas else "."
    header, above = _header(rows, count, decimal)
    below = [row.cells for row in rows if row.line > above and not row.remark and len(row.cells) == count]
    words = [word for cells in below for word in cells]
    known = sum(_numbers(word, decimal) > 0 for word in words)
    names: tuple[str | int, ...] = tuple(range(count)) if header is None else tuple(header)
    # The first cell of a column with a number in it is like all others.
    typical = [
        next((cells[place] for cells in below if place < count and cells[place] not in MISSING
              and _numbers(cells[place], decimal)), "")
        for place in range(len(names))
    ]  # fmt: skip
    widths = tuple(max(_numbers(word, decimal), 1) for word in typical)
    plain = tuple(not word or _is_plain(word, decimal) for word in typical)
    agrees = header is not None and len(header) == count
    # Columns that are named, one by one, are no chance.
    share = (round(known / len(words), 2) if words else 0.0) + (NAMED if agrees else 0.0)
    layout = TextLayout(delimiter, decimal, names, widths, plain, above, encoding)
    return (share, agrees, decimal == ".", count), layout


def _header(rows: Sequence[_Row], count: int, decimal: str) -> tuple[list[str] | None, int]:
    """The names of the columns, or None, and the line above the first row."""
    shapes = [tuple(_numbers(word, decimal) > 0 for word in row.cells) for row in rows]
    wide = [len(row.cells) == count and not row.remark for row in rows]
    rowlike = [
        fits and any(word not in MISSING and known for word, known in zip(row.cells, shape, strict=True))
        for row, shape, fits in zip(rows, shapes, wide, strict=True)
    ]
    if not any(rowlike):
        # No row of numbers: the first line that is as wide as the table names its columns.
        row = rows[wide.index(True) if any(wide) else 0]
        return row.cells, row.line
    first, start = rowlike.index(True), 0
    # Lines above a header may look like rows: `HitTime,12.3,Operator,A`.
    for index in range(first + 1, min(first + _MOST_METADATA + 1, len(rows) - 1)):
        named = wide[index] and not any(shapes[index]) and len(set(rows[index].cells)) == count
        if named and rowlike[index + 1]:
            alike = any(len(shape) == count and shape == shapes[index + 1] for shape in shapes[first:index])
            first, start = (first, 0) if alike else (index + 1, index)
            break
    begin = first
    while begin > start and len(rows[begin - 1].cells) == count and rows[begin].line - rows[begin - 1].line == 1:
        begin -= 1
    named_rows = [row for row in rows[begin:first] if not row.remark] or list(rows[begin:first])[-1:]
    if not named_rows:
        # A line of another width that still looks like a header: its rows will be refused by their number of cells.
        before = rows[first - 1] if first else None
        if before is not None and not before.remark and len(before.cells) > max(1.0, 0.5 * count):
            return before.cells, before.line
        return None, rows[first].line - 1
    above = named_rows[0].line
    for row in named_rows[1:]:
        if not all(_UNIT.fullmatch(unit) for unit in row.cells):
            break
        above = row.line
    return named_rows[0].cells, above


def _numbers(word: str, decimal: str) -> int:
    """How many numbers a cell has, 1 for a missing one; 0 for a cell of something else."""
    try:
        return len(read_cell(word, decimal))
    except ValueError:
        return 0


def _is_plain(word: str, decimal: str) -> bool:
    with suppress(ValueError):
        read_number(word.replace(",", ".") if decimal == "," else word)
        return True
    return False
