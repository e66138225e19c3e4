"""Tables II and III of Rey Arias 2024 from an analysis: errors per joint by inertia and by friction, in deg/s."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from impact_aware.recordings.ablation import AblationGroup
from impact_aware.recordings.verdict import DECISIVE

ESSENTIAL = 1.0
"""Difference of two errors from which on it counts, deg/s (Rey Arias 2024, IV-B)."""

INERTIAS = ("M+B_theta", "M+B_rho", "M")
"""Order of the columns; the first two are compared, as in Table II."""


@dataclass(frozen=True)
class Cell:
    """One figure, and `better` where it is essentially less than that of the other of the first two columns."""

    text: str
    verdict: str = ""


@dataclass(frozen=True)
class Line:
    """One label: errors by joint and variant, with the velocities for reference.

    Attributes:
        label: Of the experiments.
        count: Impacts averaged.
        cells: One per joint and variant.
        velocities: One per joint: mean velocity after, and before in brackets; empty for a table without them.
        norms: Mean norm of the error, one per variant.
    """

    label: str
    count: int
    cells: tuple[Cell, ...]
    velocities: tuple[str, ...]
    norms: tuple[Cell, ...]


@dataclass(frozen=True)
class AblationTable:
    """One table.

    Attributes:
        title: Above it.
        caption: What it shows.
        joint_names: (n,) Groups of columns.
        variants: Columns within each group.
        lines: Rows.
    """

    title: str
    caption: str
    joint_names: tuple[str, ...]
    variants: tuple[str, ...]
    lines: tuple[Line, ...]


def ablation_tables(groups: Sequence[AblationGroup]) -> list[AblationTable]:
    """By inertia and by friction, for every set of joints that the recordings have."""
    tables: list[AblationTable] = []
    error = "Mean absolute error of the predicted velocity after the impact, deg/s, by"
    for robot, joints in dict.fromkeys((group.robot, group.joint_names) for group in groups):
        own = [group for group in groups if group.robot == robot and group.joint_names == joints]
        of_robot = f", {robot}" if len({group.robot for group in groups}) > 1 else ""
        known = [inertia for inertia in INERTIAS if any(group.inertia == inertia for group in own)]
        first = [group for group in own if group.inertia in known[:1]]
        frictions = sorted({group.friction for group in first}, reverse=True)
        if len(known) > 1:
            most = [(found, max(group.friction for group in found)) for found in _by_label(own)]
            rows = [[_find(found, inertia, friction) for inertia in known] for found, friction in most]
            caption = (
                f"{error} inertia, with friction. The last column has the mean estimated velocity after and, in "
                "brackets, before the impact."
            )
            lines = tuple(_line(columns, with_velocities=True) for columns in rows)
            tables.append(AblationTable(f"By inertia{of_robot}", caption, joints, tuple(known), lines))
        if len(frictions) > 1:
            rows = [[_find(found, known[0], friction) for friction in frictions] for found in _by_label(first)]
            variants = tuple(f"μ = {friction:g}" for friction in frictions)
            lines = tuple(_line(columns, with_velocities=False) for columns in rows)
            caption = f"{error} friction μ, with {known[0]}."
            tables.append(AblationTable(f"By friction{of_robot}", caption, joints, variants, lines))
    return tables


def _by_label(groups: Sequence[AblationGroup]) -> list[list[AblationGroup]]:
    return [[group for group in groups if group.label == label] for label in dict.fromkeys(own.label for own in groups)]


def _find(groups: Sequence[AblationGroup], inertia: str, friction: float) -> AblationGroup | None:
    return next((group for group in groups if group.inertia == inertia and group.friction == friction), None)


def _line(columns: Sequence[AblationGroup | None], *, with_velocities: bool) -> Line:
    known = [column for column in columns if column is not None]
    cells: list[Cell] = []
    for joint in range(len(known[0].joint_names)):
        cells += _compared(columns, slice(joint, joint + 1))
    velocities = []
    if with_velocities:
        for after, before in zip(known[0].velocity_after_mean, known[0].velocity_before_mean, strict=True):
            velocities.append(f"{math.degrees(after):.2f} ({math.degrees(before):.2f})".replace("-", "\u2212"))
    norms = _compared(columns, slice(None))
    return Line(known[0].label, known[0].count, tuple(cells), tuple(velocities), tuple(norms))


def _compared(columns: Sequence[AblationGroup | None], joints: slice) -> list[Cell]:
    """Cells of one joint, or of the norm over all; the better of the first two is marked where the data decide."""
    errors, misfits = [], []
    for column in columns:
        own = np.full(1, np.nan) if column is None else column.joint_error_mean[joints]
        norm = math.nan if column is None else column.error_mean
        errors.append(math.degrees(float(own[0]) if len(own) == 1 else norm))
        unsure = np.ones(1) if column is None else np.maximum(column.mean_error[joints], 1e-9)
        misfits.append(float(np.sum((own / unsure) ** 2)))
    best = int(errors[1] < errors[0])
    clear = errors[1 - best] - errors[best] > ESSENTIAL and misfits[1 - best] - misfits[best] >= DECISIVE
    texts = [f"{error:.2f}" if math.isfinite(error) else "–" for error in errors]
    return [Cell(text, "better" if clear and index == best else "") for index, text in enumerate(texts)]
