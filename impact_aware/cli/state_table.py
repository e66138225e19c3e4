"""Tables of states to predict at, and of what was predicted: `impact-aware predict --states`."""

from __future__ import annotations

import csv
import itertools
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.impact.contact_impulse import MODES
from impact_aware.robot import RobotModel

if TYPE_CHECKING:
    from impact_aware.impact.batch import BatchPrediction

_FIELD = "states"
_PREDICTIONS = "predictions.csv"


class StateTable(NamedTuple):
    """States just before an impact, one per row.

    Attributes:
        q: (m, n) Joint positions, rad.
        dq: (m, n) Joint velocities, rad/s.
    """

    q: Array
    dq: Array


def read_states(path: Path, robot: RobotModel) -> StateTable:
    """Read a table of states.

    An `.npz` file holds the arrays `q` and `dq`, each (m, n). Any other file is a CSV table: with a header, the columns
    `q_<joint>` and `dq_<joint>` in any order and among others; without one, 2 n columns, positions first.

    Raises:
        InvalidInputError: No such file, other columns, a row with something else than finite numbers, or no row.
    """
    try:
        table = _read_npz(path, robot) if path.suffix == ".npz" else _read_csv(path, robot)
    except InvalidInputError:
        raise
    except OSError as error:
        raise InvalidInputError(_FIELD, str(path), f"a readable .csv or .npz file ({error.strerror})") from error
    except (ValueError, EOFError, zipfile.BadZipFile, csv.Error) as error:
        raise InvalidInputError(_FIELD, str(path), f"a table of states, .csv or .npz ({error})") from error
    if len(table.q) == 0:
        raise InvalidInputError(_FIELD, f"no rows in {path}", "at least one state")
    return table


def write_predictions(folder: Path, robot: RobotModel, prediction: BatchPrediction) -> Path:
    """Write one row per state: velocities after by joint (rad/s), impulse (N s) and mode.

    Raises:
        InvalidInputError: The file exists already, or the folder can't be written to.
    """
    path = folder / _PREDICTIONS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(path, "x", newline="") as file:
            writer = csv.writer(file)
            joints = [f"velocity_after_{name}" for name in robot.joint_names]
            writer.writerow([*joints, "impulse_x", "impulse_y", "impulse_z", "mode"])
            rows = zip(prediction.velocity_after.tolist(), prediction.impulse.tolist(), prediction.mode, strict=True)
            writer.writerows([*velocity, *impulse, MODES[mode]] for velocity, impulse, mode in rows)
    except FileExistsError as error:
        raise InvalidInputError("out", str(folder), f"a folder without {_PREDICTIONS}") from error
    except OSError as error:
        raise InvalidInputError("out", str(folder), f"a folder to write to ({error.strerror})") from error
    return path


def to_json(prediction: BatchPrediction) -> dict[str, Any]:
    """The predictions as one JSON object: SI units, base frame, joints in the model's order."""
    return {
        "states": len(prediction.mode),
        "modes": count_modes(prediction),
        "velocity_after": prediction.velocity_after.tolist(),
        "impulse": prediction.impulse.tolist(),
        "mode": prediction.mode_names(),
    }


def format_predictions(prediction: BatchPrediction, seconds: float) -> str:
    """The predictions in four lines for people; `seconds` is what all of them took."""
    count = len(prediction.mode)
    # Without the states that separate: many of them would make the median zero.
    touching = prediction.mode != MODES.index("separate")
    sizes = np.linalg.norm(prediction.impulse[touching], axis=1) if touching.any() else np.zeros(1)
    modes = ", ".join(f"{number} {mode}" for mode, number in count_modes(prediction).items() if number)
    return "\n".join(
        (
            f"states          {count}",
            f"modes           {modes}",
            f"impulse         median {np.median(sizes):.4f}  max {sizes.max():.4f}  N s, of {touching.sum()} impacts",
            f"time per state  {seconds / count:.2e} s",
        )
    )


def count_modes(prediction: BatchPrediction) -> dict[str, int]:
    """How many states are of each mode, including the modes that none is of."""
    return {mode: int(np.count_nonzero(prediction.mode == index)) for index, mode in enumerate(MODES)}


def _read_npz(path: Path, robot: RobotModel) -> StateTable:
    content = np.load(path, allow_pickle=False)
    if not isinstance(content, np.lib.npyio.NpzFile):
        raise InvalidInputError(_FIELD, f"a single array in {path}", "arrays q and dq")
    with content:
        missing = [name for name in StateTable._fields if name not in content]
        if missing:
            held = ", ".join(content.files) or "nothing"
            raise InvalidInputError(_FIELD, f"an .npz file with {held}", "arrays q and dq")
        table = StateTable(content["q"], content["dq"])
    for name, array in zip(table._fields, table, strict=True):
        if array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[1] != robot.n:
            given = f"{name} of shape {array.shape}, {array.dtype}"
            raise InvalidInputError(_FIELD, given, f"numbers of shape (m, {robot.n}) for {robot.name}")
        bad = ~np.isfinite(array).all(axis=1)
        if bad.any():
            row = int(np.argmax(bad))
            raise InvalidInputError(_FIELD, f"{array[row].tolist()} in row {row + 1} of {name}", "finite numbers")
    if len(table.q) != len(table.dq):
        raise InvalidInputError(_FIELD, f"{len(table.q)} rows of q and {len(table.dq)} of dq", "as many of both")
    return StateTable(table.q.astype(float), table.dq.astype(float))


def _read_csv(path: Path, robot: RobotModel) -> StateTable:
    # utf-8-sig, because spreadsheets put a byte order mark first.
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        lines = ((reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row)))
        first = next(lines, None)
        if first is None:
            raise InvalidInputError(_FIELD, f"an empty file {path}", "at least one state")
        names = [f"{kind}_{joint}" for kind in ("q", "dq") for joint in robot.joint_names]
        if all(map(_is_number, first[1])):
            if len(first[1]) != len(names):
                expected = f"{len(names)} for {robot.name}: positions first, then velocities"
                raise InvalidInputError(_FIELD, f"{len(first[1])} columns without names", expected)
            header, first_rows = names, [first]
        else:
            header, first_rows = first[1], []
        rows = itertools.chain(first_rows, lines)
        values = _values(rows, header, _columns(header, names))
    return StateTable(values[:, : robot.n], values[:, robot.n :])


def _columns(header: list[str], names: list[str]) -> list[int]:
    """Where in the header the names are."""
    for name in names:
        count = header.count(name)
        if count != 1:
            given = f"{'no' if count == 0 else count} column{'s' if count > 1 else ''} {name}"
            raise InvalidInputError(_FIELD, given, f"one of each of {names[0]} .. {names[-1]}")
    return [header.index(name) for name in names]


def _values(rows: Iterable[tuple[int, list[str]]], header: list[str], columns: list[int]) -> Array:
    """The wanted columns of every row, (m, columns)."""
    values: list[list[float]] = []
    for number, (line, row) in enumerate(rows, start=1):
        where = f"row {number} (line {line})"
        if len(row) != len(header):
            raise InvalidInputError(_FIELD, f"{len(row)} columns in {where}", f"{len(header)} as in the first line")
        try:
            wanted = [float(row[column]) for column in columns]
        except ValueError:
            wanted = [np.nan]
        if not np.isfinite(wanted).all():
            column = next(c for c in columns if not (_is_number(row[c]) and np.isfinite(float(row[c]))))
            raise InvalidInputError(_FIELD, f"{row[column]!r} for {header[column]} in {where}", "a finite number")
        values.append(wanted)
    return np.array(values, dtype=float).reshape(-1, len(columns))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
