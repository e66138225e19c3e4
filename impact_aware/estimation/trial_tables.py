"""Impacts and force profiles from tables.

Three kinds of table are distinguished by their columns:

* impacts, one per row: `q_JOINT`, `before_JOINT`, `after_JOINT` for every joint, optionally `error_JOINT` (standard
  error of `after`), `normal_x`, `normal_y`, `normal_z`, `friction`, `restitution`, `object_mass`, `object_x`,
  `object_y`, `object_z`;
* recordings, one sample per row: time and positions under any name that `impact_aware.tables.names` knows; the impact
  times come with the call;
* force profiles, one sample per row: `time` and `force`, optionally `approach_speed` and `effective_mass`.

NumPy archives and HDF5 files may also hold `q`, `before`, `after`, `error` as (k, n) arrays in the robot's joint order,
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
from impact_aware.estimation.object_motion import ObjectTrack, object_motion
from impact_aware.estimation.trials import ImpactTrial, trial_from_recording
from impact_aware.robot import RobotModel
from impact_aware.tables.column_file import ColumnFile, open_columns
from impact_aware.tables.joint_table import open_table, stacked
from impact_aware.tables.names import Name, time_column
from impact_aware.tables.options import ColumnMap

# Standard error of a velocity when a table gives none, rad/s; only ratios between trials matter.
_UNKNOWN_ERROR = 2e-3

# Of an object's velocity, m/s: what holds it up brakes it within the contact too.
_LEAST_GAIN_ERROR = 2e-3


_PER_JOINT = {"q": ("q",), "before": ("before", "velocity_before"), "after": ("after", "velocity_after")}

_PER_IMPACT: tuple[Name, ...] = (
    "normal", "normal_x", "normal_y", "normal_z", "friction", "restitution",
    "object_mass", "object_x", "object_y", "object_z",
)  # fmt: skip


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


def read_trials(
    path: str | Path,
    robot: RobotModel,
    defaults: ContactDefaults,
    impact_times: Sequence[float] | None = None,
    *,
    columns: ColumnMap | None = None,
    degrees: bool = False,
    track: ObjectTrack | None = None,
) -> list[ImpactTrial]:
    """Impacts of a table of impacts or of a recording.

    Args:
        path: The file.
        robot: Whose joints the columns are named after.
        defaults: The contact, where the table is silent.
        impact_times: When the impacts of a recording were, s.
        columns: What is known about the columns of a recording.
        degrees: Whether angles are in degrees.
        track: Of the object in a recording.

    Raises:
        InvalidInputError: A column that is missing, or a recording without impact times.
    """
    source = open_columns(path)
    impacts = any(str(name).startswith(_PER_JOINT["before"]) for name in source.widths)
    timed = columns is not None and (columns.time is not None or columns.rate is not None)
    timed = timed or isinstance(time_column(source.widths), str)
    if timed and not impacts:
        return _trials_of_recording(source, robot, defaults, impact_times, columns or ColumnMap(), degrees, track)
    per_joint = {kind: _joint_columns(source, robot, names) for kind, names in _PER_JOINT.items()}
    if f"error_{robot.joint_names[0]}" in source.widths or "error" in source.widths:
        per_joint["error"] = _joint_columns(source, robot, ("error",))
    once = [name for name in _PER_IMPACT if name in source.widths]
    table = source.whole([*(name for names in per_joint.values() for name in names), *once])
    unit = np.pi / 180.0 if degrees else 1.0
    q, before, after, *errors = (unit * stacked(table, names) for names in per_joint.values())
    error = errors[0] if errors else np.full(q.shape, _UNKNOWN_ERROR)
    trials = []
    for row in range(len(q)):
        contact = _contact(table, defaults, row, source.path)
        obstacle = _box(table, defaults, row).behind(robot, q[row], contact)
        trials.append(ImpactTrial(q[row], before[row], after[row], error[row], contact, obstacle))
    return trials


def _trials_of_recording(
    source: ColumnFile,
    robot: RobotModel,
    defaults: ContactDefaults,
    impact_times: Sequence[float] | None,
    columns: ColumnMap,
    degrees: bool,
    track: ObjectTrack | None,
) -> list[ImpactTrial]:
    if not impact_times:
        raise InvalidInputError(str(source.path), "a recording", "impact times with it (--impact-time)")
    table = open_table(source, columns, robot.joint_names, degrees=degrees)
    for joint in robot.joint_names:
        if joint not in table.joint_names:
            raise InvalidInputError(str(source.path), f"no column '{joint}'", "one per joint of " + robot.name)
    q = table.columns["q"]
    once = [name for name in _PER_IMPACT if name in source.widths]
    values = table.source.whole(list(dict.fromkeys([table.clock.column, *q, *once])))
    times = table.clock.scale * values[table.clock.column].reshape(-1)
    positions = stacked(values, q)[:, [table.joint_names.index(joint) for joint in robot.joint_names]]
    # A logger that repeats a sample repeats its stamp.
    fresh = np.concatenate(([True], np.diff(times) > 0.0))
    contact, ordered = _contact(values, defaults, 0, source.path), sorted(impact_times)
    if degrees:
        positions = np.radians(positions)
    return recorded_trials(
        robot, times[fresh], positions[fresh], ordered, contact, _box(values, defaults, 0), track=track
    )


def recorded_trials(
    robot: RobotModel,
    times: Array,
    positions: Array,
    impact_times: Sequence[float],
    contact: Contact,
    box: BoxDefaults,
    *,
    track: ObjectTrack | None = None,
) -> list[ImpactTrial]:
    """Trials of a recording's impacts, each used up to the next one.

    A track of the object gives its position at the hit, unless the box has one, and its velocity after.

    Args:
        robot: The arm.
        times: (k,) s.
        positions: (k, n) rad, in the robot's joint order.
        impact_times: When the impacts were, s, increasing.
        contact: Where the robot touched.
        box: What it touched.
        track: Of the object.

    Raises:
        InvalidInputError: As `trial_from_recording` does.
    """
    trials = []
    for time, until in zip(impact_times, [*impact_times[1:], None], strict=True):
        q = position_at(times, positions, time)
        obstacle, gain = box.behind(robot, q, contact), None
        if track is not None and obstacle is not None:
            obstacle, gain = _tracked(box, obstacle, track, time, until)
        trials.append(trial_from_recording(times, positions, time, contact, until=until, obstacle=obstacle, gain=gain))
    return trials


def _tracked(
    box: BoxDefaults, obstacle: FreeObject, track: ObjectTrack, time: float, until: float | None
) -> tuple[FreeObject, tuple[Array, Array] | None]:
    """Object with its pose and velocity at the hit, and its gain of velocity; None where the track does not show it.

    A pose that was published once, or seldom, gives at least the position of the object.
    """
    try:
        motion = object_motion(track, time, until)
    except InvalidInputError:
        seen = int(np.searchsorted(track.times, time, side="right"))
        if seen and box.position is None:
            obstacle = replace(obstacle, position=track.positions[seen - 1])
        return obstacle, None
    place = motion.position if box.position is None else obstacle.position
    twist = np.concatenate((motion.velocity_before, np.nan_to_num(motion.turn_before)))
    error = np.hypot(motion.velocity_after_error, motion.velocity_before_error)
    gain = (motion.velocity_after - motion.velocity_before, np.maximum(error, _LEAST_GAIN_ERROR))
    return replace(obstacle, position=place, twist=twist), gain


def read_force_profile(
    path: str | Path, *, approach_speed: float | None = None, effective_mass: float | None = None
) -> ForceProfile:
    """A force profile; speed and mass from the call, else from the file.

    Raises:
        InvalidInputError: A column or figure that is missing.
    """
    source = open_columns(path)
    for name in ("time", "force"):
        if name not in source.widths:
            raise InvalidInputError(str(path), source.described(), f"a column '{name}'")
    given = {"approach_speed": approach_speed, "effective_mass": effective_mass}
    table = source.whole(["time", "force", *(name for name in given if name in source.widths)])
    figures = {}
    for name, value in given.items():
        if value is None and name not in table:
            raise InvalidInputError(name, "nothing", f"a column in {path}, or --{name.replace('_', '-')}")
        figures[name] = float(table[name][0]) if value is None else float(value)
    return ForceProfile(table["time"], table["force"], **figures)


def _joint_columns(source: ColumnFile, robot: RobotModel, kinds: tuple[str, ...]) -> list[Name]:
    """Columns of a quantity in the robot's joint order, or its array, under the first of its names in the table."""
    for kind in kinds:
        if source.widths.get(kind, 0) > 1:
            if source.widths[kind] != robot.n:
                raise InvalidInputError(f"{source.path}: {kind}", f"{source.widths[kind]} columns", f"{robot.n}")
            return [kind]
        names: list[Name] = [f"{kind}_{joint}" if kind else joint for joint in robot.joint_names]
        if names[0] in source.widths:
            missing = [name for name in names if name not in source.widths]
            if missing:
                raise InvalidInputError(str(source.path), f"no column '{missing[0]}'", "one per joint of " + robot.name)
            return names
    first = f"no column '{kinds[0]}_{robot.joint_names[0]}' among its {source.described()}"
    raise InvalidInputError(str(source.path), first, f"one per joint of {robot.name}")


def _box(table: dict[Name, Array], defaults: ContactDefaults, row: int) -> BoxDefaults:
    box = defaults.box
    if "object_mass" in table:
        box = replace(box, mass=float(table["object_mass"][row]))
    if "object_x" in table and "object_y" in table and "object_z" in table:
        x, y, z = (float(table[f"object_{axis}"][row]) for axis in "xyz")
        box = replace(box, position=(x, y, z))
    return box


def _contact(table: dict[Name, Array], defaults: ContactDefaults, row: int, path: Path) -> Contact:
    normal = defaults.normal
    if normal is None and "normal" in table:
        normal = table["normal"][row]
    if normal is None and all(f"normal_{axis}" in table for axis in "xyz"):
        normal = np.array([table[f"normal_{axis}"][row] for axis in "xyz"])
    if normal is None:
        raise InvalidInputError(
            "normal", "nothing", f"columns normal_x, normal_y, normal_z in {path}, or --normal X Y Z"
        )
    friction, restitution = (
        float(table[name][row]) if name in table else float(getattr(defaults, name))
        for name in ("friction", "restitution")
    )
    return Contact(defaults.frame, normal, friction=friction, restitution=restitution, radius=defaults.radius)
