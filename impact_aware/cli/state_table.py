"""Tables of states to predict at, and of what was predicted: `impact-aware predict --states`."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.columns import Name, open_columns
from impact_aware.errors import InvalidInputError
from impact_aware.impact.contact_impulse import MODES
from impact_aware.output_folder import write_whole
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


def read_states(path: Path, robot: RobotModel, *, degrees: bool = False) -> StateTable:
    """Read a table of states.

    It has columns `q_<joint>` and `dq_<joint>`, in any order and among others, or arrays `q` and `dq` of (m, n); a CSV
    table without a header has 2 n columns, positions first. With `degrees` all are in degrees and deg/s.

    Raises:
        InvalidInputError: No such file, other columns, a row with something else than finite numbers, or no row.
    """
    source = open_columns(path)
    n, names = robot.n, [[f"{kind}_{joint}" for joint in robot.joint_names] for kind in StateTable._fields]
    columns: list[list[Name]] = [[*kind] for kind in names]
    if all(kind in source.widths for kind in StateTable._fields):
        columns = [[kind] for kind in StateTable._fields]
        if any(source.widths[kind] != n for kind in StateTable._fields):
            widths = " and ".join(f"{kind} of width {source.widths[kind]}" for kind in StateTable._fields)
            raise InvalidInputError(_FIELD, f"{widths} in {path}", f"arrays of shape (m, {n}) for {robot.name}")
    elif all(isinstance(name, int) for name in source.widths):
        if not source.widths:
            raise InvalidInputError(_FIELD, f"no rows in {path}", "at least one state")
        if len(source.widths) != 2 * n:
            expected = f"{2 * n} for {robot.name}: positions first, then velocities"
            raise InvalidInputError(_FIELD, f"{len(source.widths)} columns without names in {path}", expected)
        columns = [[*range(n)], [*range(n, 2 * n)]]
    else:
        missing = next((name for kind in names for name in kind if name not in source.widths), None)
        if missing is not None:
            expected = f"one of each of {names[0][0]} .. {names[1][-1]}, or arrays q and dq"
            raise InvalidInputError(_FIELD, f"no column {missing} in {path}", expected)
    found = source.whole([name for kind in columns for name in kind])
    states = (np.column_stack([found[name] for name in kind]) for kind in columns)
    return StateTable(*(np.radians(values) if degrees else values for values in states))


def write_predictions(folder: Path, robot: RobotModel, prediction: BatchPrediction) -> Path:
    """Write one row per state: velocities after by joint (rad/s), impulse (N s) and mode.

    Raises:
        InvalidInputError: The file exists already, or the folder can't be written to.
    """
    path, text = folder / _PREDICTIONS, io.StringIO()
    writer = csv.writer(text)
    joints = [f"velocity_after_{name}" for name in robot.joint_names]
    writer.writerow([*joints, "impulse_x", "impulse_y", "impulse_z", "mode"])
    rows = zip(prediction.velocity_after.tolist(), prediction.impulse.tolist(), prediction.mode, strict=True)
    writer.writerows([*velocity, *impulse, MODES[mode]] for velocity, impulse, mode in rows)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.getvalue(), replace=False)
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
