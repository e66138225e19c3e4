"""Joint states from tables, whose columns `impact_aware.joint_columns` finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from impact_aware.columns import ColumnFile, Name, open_columns
from impact_aware.joint_columns import ColumnMap, check_angles, joint_names, resolved, stacked
from impact_aware.recordings.joint_state_reader import JointBatch
from impact_aware.time_columns import passed_over, time_scale


@dataclass(frozen=True, eq=False)
class JointTable:
    """A table that is going to be read.

    Attributes:
        joint_names: (n,) From the map, the column names or the robot; `q1 ... qn` when nothing says it.
        notes: What was judged about it, one sentence each.
        source: Its columns.
        time: Column of its times.
        time_scale: Seconds per unit of them.
        commands: Columns of the commands, as many as joints; empty without any.
        pieces: Reads the rows, in pieces.
    """

    joint_names: tuple[str, ...]
    notes: tuple[str, ...]
    source: ColumnFile
    time: Name
    time_scale: float
    commands: tuple[Name, ...]
    pieces: Callable[[], Iterator[JointBatch]] = field(repr=False)


def open_table(
    path: Path, columns: ColumnMap | None = None, robot_joints: Sequence[str] = (), *, degrees: bool = False
) -> JointTable:
    """Find the columns of a table.

    Args:
        path: The file.
        columns: What is known about them.
        robot_joints: Joints of the robot, by which columns may be named, or which `q1 ... qn` stand for.
        degrees: Whether angles are in degrees.

    Raises:
        InvalidInputError: The file can't be read, lacks times or positions, or names another unit.
    """
    source = open_columns(path)
    chosen = resolved(source, columns or ColumnMap(), tuple(robot_joints))
    check_angles(source, (*chosen.q, *chosen.dq), degrees=degrees)
    names = joint_names(source, chosen, tuple(robot_joints))
    assert chosen.time is not None
    scale, note = time_scale(source, chosen.time, chosen.time_scale)
    notes = tuple(said for said in (note, passed_over(source, chosen.rate)) if said)
    return JointTable(
        names, notes, source, chosen.time, scale, chosen.command, lambda: _pieces(source, chosen, names, scale)
    )


def _pieces(source: ColumnFile, chosen: ColumnMap, names: tuple[str, ...], scale: float) -> Iterator[JointBatch]:
    assert chosen.time is not None
    wanted = list(dict.fromkeys([chosen.time, *chosen.q, *chosen.dq, *chosen.tau]))
    for piece in source.pieces(wanted):
        times = piece[chosen.time].reshape(-1) * scale
        velocities, efforts = (stacked(piece, columns) if columns else None for columns in (chosen.dq, chosen.tau))
        yield JointBatch(names, np.arange(len(times)), times, times, stacked(piece, chosen.q), velocities, efforts)
