"""Tables of states to predict at, and of what was predicted: `impact-aware predict --states`."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.cli.output import keep
from impact_aware.errors import InvalidInputError
from impact_aware.impact.contact_impulse import MODES
from impact_aware.robot import RobotModel
from impact_aware.tables.column_file import ColumnFile, open_columns
from impact_aware.tables.joint_table import check_angles, joint_columns, stacked, total_width
from impact_aware.tables.names import Columns
from impact_aware.tables.options import ColumnMap

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


def read_states(
    path: Path, robot: RobotModel, *, degrees: bool = False, columns: ColumnMap | None = None
) -> StateTable:
    """Read a table of states.

    It has columns `q_<joint>` and `dq_<joint>` or others of the usual names, in any order and among others, or arrays
    `q` and `dq` of (m, n); a table without names has 2 n columns, positions first. With `degrees` all are in degrees
    and deg/s.

    Args:
        path: The file.
        robot: The arm.
        degrees: Whether angles are in degrees.
        columns: What is known about its columns.

    Raises:
        InvalidInputError: No such file, other columns, a row with something else than finite numbers, or no row.
    """
    source = open_columns(path)
    chosen = columns or ColumnMap()
    found_columns = [
        joint_columns(source, kind, chosen.joints or robot.joint_names, getattr(chosen, kind))
        for kind in StateTable._fields
    ]
    if any(total_width(source, kind) != robot.n for kind in found_columns):
        found_columns = _strict(source, path, robot, bool(chosen.q or chosen.dq))
    check_angles(source, [name for kind in found_columns for name in kind], degrees=degrees)
    found = source.whole([name for kind in found_columns for name in kind])
    states = (stacked(found, kind) for kind in found_columns)
    return StateTable(*(np.radians(values) if degrees else values for values in states))


def _strict(source: ColumnFile, path: Path, robot: RobotModel, chosen: bool) -> list[Columns]:
    """The columns of a table without names; what is wrong with another one."""
    n, names = robot.n, [[f"{kind}_{joint}" for joint in robot.joint_names] for kind in StateTable._fields]
    if chosen or all(kind in source.widths for kind in StateTable._fields):
        widths = " and ".join(f"{kind} of width {source.widths.get(kind, 0)}" for kind in StateTable._fields)
        given = "other numbers of columns" if chosen else widths
        raise InvalidInputError(_FIELD, f"{given} in {path}", f"arrays of shape (m, {n}) for {robot.name}")
    if all(isinstance(name, int) for name in source.widths):
        if not source.widths:
            raise InvalidInputError(_FIELD, f"no rows in {path}", "at least one state")
        if len(source.widths) != 2 * n:
            expected = f"{2 * n} for {robot.name}: positions first, then velocities"
            raise InvalidInputError(_FIELD, f"{len(source.widths)} columns without names in {path}", expected)
        return [tuple(range(n)), tuple(range(n, 2 * n))]
    missing = next((name for kind in names for name in kind if name not in source.widths), None)
    expected = f"one of each of {names[0][0]} .. {names[1][-1]}, or arrays q and dq; --columns names others"
    raise InvalidInputError(_FIELD, f"no column {missing} in {path}", expected)


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
    return keep(path, text.getvalue())


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
