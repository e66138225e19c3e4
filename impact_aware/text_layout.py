"""How a text of numbers is laid out: what separates its cells, where its rows begin, what its columns are called.

Loggers, spreadsheets and scripts write such texts in many ways: cells between `,`, `;`, tabs or blanks; lines about the
laboratory above the header; a line of units below it; vectors in one cell, `"[0.1 0.2 0.3]"`; decimal commas.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

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

_LINES = 400
"""Lines by which a text is judged."""

_LONGEST_LINE = 1 << 20
"""Characters of a line that is looked at."""

_COMMENT = re.compile(r"\s*(#|%|//)+\s*")
_UNIT = re.compile(
    r"[\[(]?(s|sec|ms|us|µs|ns|rad|deg|°|rad/s|deg/s|1/s|m|mm|m/s|N|Nm|N m|N\*m|kg|A|V|Hz|-|1|)[\])]?", re.IGNORECASE
)
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?)\s*(?:(Z)|([-+])(\d\d):?(\d\d))?")
_BRACKETS = str.maketrans("[](){},;", " " * 8)


class CellError(ValueError):
    """Cells that can't be told apart.

    Attributes:
        line: Where.
        reason: Why.
    """

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
        names: (c,) Of the columns; numbers from 0 where no line names them.
        widths: (c,) Numbers per cell: more than 1 for vectors; 0 for a vector of one number, in brackets.
        above: Lines above the first row.
        dates: Places of columns of dates with times of day, `2026-01-03 12:30:00.005`.
        encoding: Of the text, as Python calls it.
    """

    delimiter: str
    decimal: str
    names: tuple[str | int, ...]
    widths: tuple[int, ...]
    above: int
    dates: frozenset[int] = frozenset()
    encoding: str = "utf-8-sig"


@dataclass(frozen=True)
class _Guess:
    """A layout and what speaks for it, the strongest first."""

    layout: TextLayout
    score: tuple[float, bool, bool, int]


def layout_of(path: Path) -> TextLayout:
    """Judge a text by its first lines.

    Raises:
        OSError, UnicodeDecodeError: It can't be read.
    """
    encoding = _encoding(path)
    with open(path, newline="", encoding=encoding) as file:
        lines = [line for _ in range(_LINES) if (line := file.readline(_LONGEST_LINE))]
    guesses = [guess for delimiter in DELIMITERS if (guess := _guess(lines, delimiter)) is not None]
    if not guesses:
        return TextLayout(",", ".", (), (), 0)
    return replace(max(guesses, key=lambda guess: guess.score).layout, encoding=encoding)


def _encoding(path: Path) -> str:
    """UTF-8, with the byte order mark of spreadsheets or without, else what its first bytes say."""
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


def rows_of(path: Path, layout: TextLayout) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header, each with the number of its last line; those of nothing but blanks are left out.

    Raises:
        CellError: Cells that can't be told apart.
    """
    with open(path, newline="", encoding=layout.encoding) as file:
        next(islice(file, layout.above, layout.above), None)
        try:
            for number, cells in _cells(file, layout.delimiter):
                if any(cells):
                    yield layout.above + number, cells
        except CellError as error:
            raise CellError(layout.above + error.line, error.reason) from error


def is_number(word: str, decimal: str = ".") -> bool:
    """Whether a cell is one number."""
    if decimal == "," and _DECIMAL_COMMA.fullmatch(word):
        return True
    try:
        read_number(word)
    except ValueError:
        return False
    return True


def seconds_of(word: str) -> float | None:
    """Seconds since 1970 of a date with its time of day, in its own zone where it names one; None for another cell."""
    match = _DATE.fullmatch(word)
    if match is None:
        return None
    try:
        stamp = np.datetime64(match[1].replace(" ", "T").replace(",", "."), "ns")
    except ValueError:
        return None
    ahead = 0 if match[3] is None else int(match[3] + "1") * (3600 * int(match[4]) + 60 * int(match[5]))
    return 1e-9 * int(stamp.astype(np.int64)) - ahead


def numbers_in(word: str, decimal: str = ".") -> list[float] | None:
    """The numbers of a vector in one cell, between blanks or, in brackets, also commas; None when it is none."""
    if decimal == ",":
        words = word.strip("[](){} ").replace(",", ".").split()
    else:
        words = (word.translate(_BRACKETS) if word[:1] in ("[", "(", "{") else word).split()
    try:
        return [read_number(part) for part in words] or None
    except ValueError:
        return None


def _cells(lines: Iterator[str] | Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
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


def _guess(lines: Sequence[str], delimiter: str) -> _Guess | None:
    remarks = {number for number, line in enumerate(lines, start=1) if _COMMENT.match(line)}
    bare = [_COMMENT.sub("", line, count=1) if number in remarks else line for number, line in enumerate(lines, 1)]
    rows: list[tuple[int, list[str]]] = []
    # What can't be told apart is refused, with its line, by whoever reads the rows.
    with suppress(CellError):
        for number, cells in _cells(bare, delimiter):
            if any(cells):
                rows.append((number, cells))
    if not rows:
        return None
    tables = [row for row in rows if row[0] not in remarks] or rows
    # Most cells are in the table, however many lines about the laboratory stand above it.
    filled: dict[int, int] = {}
    for _, cells in tables:
        filled[len(cells)] = filled.get(len(cells), 0) + len(cells)
    count = max(filled, key=lambda size: (filled[size], size))
    decimal = "."
    if delimiter != "," and any(
        _DECIMAL_COMMA.fullmatch(c) for _, cells in tables if len(cells) == count for c in cells
    ):
        decimal = ","
    first = next(
        (i for i, (number, cells) in enumerate(rows) if number not in remarks and _is_row(cells, count, decimal)), None
    )
    begin = _header_below_metadata(rows, first, count, remarks, decimal)
    if begin is not None:
        rows, first = rows[begin:], 1
    header, above = _header(rows, first, count, remarks, decimal)
    below = [cells for number, cells in rows if number > above and number not in remarks and len(cells) == count]
    words = [word for cells in below for word in cells]
    known = sum(word in MISSING or _width(word, decimal) is not None for word in words)
    names: tuple[str | int, ...] = tuple(range(count)) if header is None else tuple(header)
    widths = [1] * len(names)
    for place in range(min(count, len(names))):
        found = next((w for cells in below if (w := _width(cells[place], decimal)) is not None), 1)
        widths[place] = found
    dates = frozenset(
        place for cells in below[:1] for place in range(min(count, len(names))) if seconds_of(cells[place]) is not None
    )
    layout = TextLayout(delimiter, decimal, names, tuple(widths), above, dates)
    agrees = header is not None and len(header) == count
    # Columns that are named, one by one, are no chance.
    share = (round(known / len(words), 2) if words else 0.0) + (NAMED if agrees else 0.0)
    return _Guess(layout, (share, agrees, decimal == ".", count))


def _header(
    rows: Sequence[tuple[int, list[str]]], first: int | None, count: int, remarks: set[int], decimal: str
) -> tuple[list[str] | None, int]:
    """The names of the columns, or None, and the line above the first row."""
    if first is None:
        # No row of numbers: the first line that is as wide as the table names its columns.
        number, cells = next((row for row in rows if len(row[1]) == count and row[0] not in remarks), rows[0])
        return cells, number
    begin = first
    while begin > 0 and len(rows[begin - 1][1]) == count and rows[begin][0] - rows[begin - 1][0] == 1:
        begin -= 1
    block = list(rows[begin:first])
    named = [row for row in block if row[0] not in remarks] or block[-1:]
    if not named:
        # A line of another width that still looks like a header: its rows will be refused by their number of cells.
        before = rows[first - 1] if first else None
        if before is not None and before[0] not in remarks and len(before[1]) > 1 and len(before[1]) > 0.5 * count:
            return before[1], before[0]
        return None, rows[first][0] - 1
    number, cells = named[0]
    for later, units in named[1:]:
        if not all(_UNIT.fullmatch(unit) for unit in units):
            break
        number = later
    return cells, number


def _header_below_metadata(
    rows: Sequence[tuple[int, list[str]]], first: int | None, count: int, remarks: set[int], decimal: str
) -> int | None:
    """The header, where lines above it look like rows: `HitTime,12.3,Operator,A`; None where nothing does."""
    if first is None:
        return None

    def shape(index: int) -> tuple[bool, ...]:
        return tuple(word in MISSING or _width(word, decimal) is not None for word in rows[index][1])

    for index in range(first + 1, min(first + _MOST_METADATA + 1, len(rows) - 1)):
        number, cells = rows[index]
        named = number not in remarks and len(cells) == count == len(set(cells)) and not any(shape(index))
        if named and _is_row(rows[index + 1][1], count, decimal):
            above = [place for place in range(first, index) if len(rows[place][1]) == count]
            return index if all(shape(place) != shape(index + 1) for place in above) else None
    return None


def _is_row(cells: list[str], count: int, decimal: str) -> bool:
    return len(cells) == count and any(_width(word, decimal) is not None for word in cells)


def _width(word: str, decimal: str) -> int | None:
    """Numbers in a cell: 1, more for a vector, 0 for a vector of one number; None for a cell without numbers."""
    if is_number(word, decimal) or seconds_of(word) is not None:
        return 1
    found = numbers_in(word, decimal)
    if found is None:
        return None
    return len(found) if len(found) > 1 else 0
