"""Impacts and force profiles from tables: CSV with a header line, or NumPy archives with the same names.

Three kinds of file are told apart by their columns:

* impacts, one per row: `q_JOINT`, `before_JOINT`, `after_JOINT` for every joint, optionally `error_JOINT` (standard
  error of `after`), `normal_x`, `normal_y`, `normal_z`, `friction`, `restitution`;
* recordings, one sample per row: `time` and `q_JOINT` (or the bare joint names); the impact times come with the call;
* force profiles, one sample per row: `time` and `force`, optionally `approach_speed` and `effective_mass`.

In an archive the first two may also hold `q`, `before`, `after`, `error` as (k, n) arrays in the robot's joint order,
and `normal` as (k, 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.box import homogeneous_box
from impact_aware.contact.geometry import Contact, FreeObject, contact_point
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.contact_identification import ForceProfile
from impact_aware.estimation.estimate import position_at
from impact_aware.estimation.trials import ImpactTrial, trial_from_recording
from impact_aware.robot import RobotModel

# Standard error of a velocity when a table gives none, rad/s; only ratios between trials matter.
_UNKNOWN_ERROR = 2e-3


@dataclass(frozen=True, eq=False)
class BoxDefaults:
    """The free object that was hit, a homogeneous box at rest, as far as a table does not say it.

    Attributes:
        mass: kg; 0 for a fixed surface.
        half_extents: (3,) Half edges along the base frame's axes, m.
        position: (3,) Centre, base frame, m; centrally behind the contact point when None.
    """

    mass: float = 0.0
    half_extents: tuple[float, float, float] = (0.1, 0.1, 0.1)
    position: tuple[float, float, float] | None = None

    def behind(self, robot: RobotModel, q: Array, contact: Contact) -> FreeObject | None:
        """The box as it was touched at posture q (n,); None for a fixed surface.

        Raises:
            InvalidInputError: A mass or a half edge that no box has.
        """
        if self.mass == 0.0:
            return None
        if self.position is not None:
            return homogeneous_box(self.mass, self.half_extents, self.position)
        depth = float(np.abs(contact.normal) @ np.asarray(self.half_extents))
        return homogeneous_box(self.mass, self.half_extents, contact_point(robot, q, contact) - depth * contact.normal)


@dataclass(frozen=True, eq=False)
class ContactDefaults:
    """The contact, as far as a table does not say it.

    Attributes:
        frame: Frame that touches.
        normal: (3,) From the obstacle into the robot, base frame; None when the table must say it.
        friction: Known friction coefficient.
        restitution: Known restitution.
        radius: Radius of a spherical tip, m.
        box: The free object.
    """

    frame: str
    normal: Array | None = None
    friction: float = 0.0
    restitution: float = 0.0
    radius: float = 0.0
    box: BoxDefaults = BoxDefaults()


def read_table(path: str | Path) -> dict[str, Array]:
    """Columns of a CSV file, or arrays of an `.npz` archive, by name.

    Raises:
        InvalidInputError: No such file, no header, or an entry that is not a number.
    """
    path = Path(path)
    if not path.is_file():
        raise InvalidInputError("file", str(path), "an existing table (.csv or .npz)")
    if path.suffix == ".npz":
        try:
            with np.load(path) as archive:
                return {name: np.asarray(archive[name], dtype=float) for name in archive.files}
        except (ValueError, OSError) as error:
            raise InvalidInputError("file", str(path), f"a NumPy archive of numbers ({error})") from error
    header, *rows = [line for line in path.read_text().splitlines() if line.strip()] or [""]
    names = [name.strip() for name in header.split(",")]
    if not rows:
        raise InvalidInputError(str(path), "no rows", "columns of numbers below one header line")
    try:
        values = np.loadtxt(rows, delimiter=",", ndmin=2)
    except ValueError as error:
        raise InvalidInputError(str(path), str(error).splitlines()[0], "numbers below one header line") from error
    if values.shape[1] != len(names):
        raise InvalidInputError(
            str(path), f"{values.shape[-1]} columns in {values.shape[0]} rows", f"{len(names)} as named"
        )
    return {name: values[:, index] for index, name in enumerate(names)}


def read_trials(
    path: str | Path, robot: RobotModel, defaults: ContactDefaults, impact_times: Sequence[float] | None = None
) -> list[ImpactTrial]:
    """Impacts of a table of impacts or of a recording.

    Args:
        path: The file.
        robot: Whose joints the columns are named after.
        defaults: The contact, where the table is silent.
        impact_times: When the impacts of a recording were, s.

    Raises:
        InvalidInputError: A column that is missing, or a recording without impact times.
    """
    path = Path(path)
    table = read_table(path)
    if "time" in table:
        if not impact_times:
            raise InvalidInputError(str(path), "a recording", "impact times with it (--impact-time)")
        positions = _joint_columns(table, robot, ("q", ""), path)
        ordered = sorted(impact_times)
        contact = _contact(table, defaults, None, path)
        return recorded_trials(robot, table["time"], positions, ordered, contact, [defaults.box] * len(ordered))
    q = _joint_columns(table, robot, ("q",), path)
    before = _joint_columns(table, robot, ("before", "velocity_before"), path)
    after = _joint_columns(table, robot, ("after", "velocity_after"), path)
    errors = np.full(q.shape, _UNKNOWN_ERROR)
    if "error" in table or f"error_{robot.joint_names[0]}" in table:
        errors = _joint_columns(table, robot, ("error",), path)
    trials = []
    for row in range(q.shape[0]):
        contact = _contact(table, defaults, row, path)
        obstacle = _box(table, defaults, row).behind(robot, q[row], contact)
        trials.append(ImpactTrial(q[row], before[row], after[row], errors[row], contact, obstacle))
    return trials


def recorded_trials(
    robot: RobotModel,
    times: Array,
    positions: Array,
    impact_times: Sequence[float],
    contact: Contact,
    boxes: Sequence[BoxDefaults],
) -> list[ImpactTrial]:
    """Trials of a recording's impacts, each used up to the next one.

    Args:
        robot: The arm.
        times: (k,) s.
        positions: (k, n) rad, in the robot's joint order.
        impact_times: When the impacts were, s, increasing.
        contact: Where the robot touched.
        boxes: What it touched, per impact.

    Raises:
        InvalidInputError: As `trial_from_recording` does.
    """
    return [
        trial_from_recording(
            times,
            positions,
            time,
            contact,
            until=until,
            obstacle=box.behind(robot, position_at(times, positions, time), contact),
        )
        for time, until, box in zip(impact_times, [*impact_times[1:], None], boxes, strict=True)
    ]


def read_force_profile(
    path: str | Path, *, approach_speed: float | None = None, effective_mass: float | None = None
) -> ForceProfile:
    """A force profile; speed and mass from the call, else from the file.

    Raises:
        InvalidInputError: A column or figure that is missing.
    """
    table = read_table(path)
    figures = {}
    for name, given in (("approach_speed", approach_speed), ("effective_mass", effective_mass)):
        if given is None and name not in table:
            raise InvalidInputError(name, "nothing", f"a column in {path}, or --{name.replace('_', '-')}")
        figures[name] = float(np.ravel(table[name])[0]) if given is None else float(given)
    for name in ("time", "force"):
        if name not in table:
            raise InvalidInputError(str(path), f"columns {', '.join(table)}", f"a column '{name}'")
    return ForceProfile(table["time"], table["force"], **figures)


def _joint_columns(table: dict[str, Array], robot: RobotModel, prefixes: tuple[str, ...], path: Path) -> Array:
    """Values (k, n) in the robot's joint order, under the first of the prefixes that the table has."""
    for prefix in prefixes:
        if prefix in table and table[prefix].ndim == 2:
            if table[prefix].shape[1] != robot.n:
                raise InvalidInputError(f"{path}: {prefix}", f"shape {table[prefix].shape}", f"(k, {robot.n})")
            return table[prefix]
        names = [f"{prefix}_{joint}" if prefix else joint for joint in robot.joint_names]
        if names[0] in table:
            missing = [name for name in names if name not in table]
            if missing:
                raise InvalidInputError(str(path), f"no column '{missing[0]}'", "one per joint of " + robot.name)
            return np.stack([table[name] for name in names], axis=1)
    raise InvalidInputError(
        str(path), f"no column '{prefixes[0]}_{robot.joint_names[0]}'", f"one per joint of {robot.name}"
    )


def _box(table: dict[str, Array], defaults: ContactDefaults, row: int) -> BoxDefaults:
    box = defaults.box
    if "object_mass" in table:
        box = replace(box, mass=float(table["object_mass"][row]))
    if "object_x" in table and "object_y" in table and "object_z" in table:
        x, y, z = (float(table[f"object_{axis}"][row]) for axis in "xyz")
        box = replace(box, position=(x, y, z))
    return box


def _contact(table: dict[str, Array], defaults: ContactDefaults, row: int | None, path: Path) -> Contact:
    normal = defaults.normal
    if normal is None and row is not None and "normal" in table:
        normal = np.atleast_2d(table["normal"])[row if np.ndim(table["normal"]) == 2 else 0]
    if normal is None and "normal_x" in table:
        normal = np.array([table[f"normal_{axis}"][row or 0] for axis in "xyz" if f"normal_{axis}" in table])
    if normal is None:
        raise InvalidInputError(
            "normal", "nothing", f"columns normal_x, normal_y, normal_z in {path}, or --normal X Y Z"
        )
    friction, restitution = (
        float(table[name][row]) if row is not None and name in table else float(getattr(defaults, name))
        for name in ("friction", "restitution")
    )
    return Contact(defaults.frame, normal, friction=friction, restitution=restitution, radius=defaults.radius)
