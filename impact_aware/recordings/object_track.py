"""The track of the object that is hit: columns of a table, a topic of poses or odometry, or a frame of TF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.bags.bag import Bag, BagError
from impact_aware.bags.recorded_predictions import RecordedFrames, transforms_of
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.object_motion import ObjectTrack
from impact_aware.messages.geometry import quaternion, vector
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.tables.column_file import ColumnFile, open_columns
from impact_aware.tables.joint_table import Clock, clock_of, joint_columns, total_width
from impact_aware.tables.names import Columns, Name
from impact_aware.tables.options import ColumnMap

USUAL_TOPIC = "object_pose"

POSE_TYPES = ("geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/PoseWithCovarianceStamped", "nav_msgs/msg/Odometry")
"""Messages with a pose of the object."""

TWIST_TYPES = ("geometry_msgs/msg/TwistStamped", "geometry_msgs/msg/TwistWithCovarianceStamped")
"""Messages with its velocity alone, which is summed up to positions."""


def track_of_table(source: ColumnFile, clock: Clock, chosen: ColumnMap | None = None) -> ObjectTrack | None:
    """The track in the columns of a table; None without one.

    `object_position`, as one column of vectors or with `_x`, `_y`, `_z` behind it, or `object_velocity` alike;
    `object_quaternion` (x, y, z, w); `object_time` where the object has a clock of its own, else the joints'. All of
    them in `object_table`, where the map names one.

    Args:
        source: The table.
        clock: Times of the joints.
        chosen: What is known about the columns.

    Raises:
        InvalidInputError: Columns that are not there, of another width, or numbers that are none.
    """
    chosen = chosen or ColumnMap()
    if chosen.object_table is not None:
        source, clock = _other_table(source, chosen)
    place = _columns(source, "object_position", 3, "xyz", chosen.object_position)
    speed = _columns(source, "object_velocity", 3, "xyz", chosen.object_velocity)
    if not place and not speed:
        if chosen.object_table is not None:
            wanted_words = "object_position=COLUMNS or object_velocity=COLUMNS, of its " + source.described()
            raise InvalidInputError(f"columns: object_table {source.path.name}", "no track", wanted_words)
        return None
    turn = _columns(source, "object_quaternion", 4, "xyzw", chosen.object_quaternion) if place else []
    clocks = joint_columns(source, "object_time", (), chosen.object_time) if chosen.object_time else ()
    usual = (name for name in source.widths if str(name).split("/")[-1].startswith("object_time"))
    own = next(iter(clocks or usual), None)
    time, scale, _ = clock if own is None else _clock_of_column(source, own)
    wanted = list(dict.fromkeys([time, *(place or speed), *turn]))
    pieces = list(source.pieces(wanted))
    table = {name: np.concatenate([piece[name] for piece in pieces]) for name in wanted} if pieces else {}
    if not table:
        return None
    rows = np.column_stack([table[name] for name in wanted])
    kept = np.isfinite(rows).all(axis=1)
    values = {name: table[name][kept] for name in wanted}
    times = scale * values[time].reshape(-1)
    positions = np.column_stack([values[name] for name in (place or speed)])
    if not place:
        positions = _summed(times, positions)
    quaternions = np.column_stack([values[name] for name in turn]) if turn else None
    words = ", ".join(str(name) for name in (place or speed))
    return _track(times, positions, quaternions, f"columns {words}")


def _other_table(source: ColumnFile, chosen: ColumnMap) -> tuple[ColumnFile, Clock]:
    """The table with the track that stands beside the joints', and the clock of its rows."""
    given, beside = _places(source, chosen)
    if not given.exists() and not beside.exists():
        wanted = f"a file beside {source.path.name} or in the working folder: {beside} or {given.absolute()}"
        raise InvalidInputError("columns: object_table", str(given), wanted)
    other = open_columns(beside if beside.exists() else given)
    named = joint_columns(other, "object_time", (), chosen.object_time) if chosen.object_time else (None,)
    return other, _clock_of_column(other, named[0])


def two_tables_note(source: ColumnFile, chosen: ColumnMap | None) -> str:
    """Which of two files of one name has the track, where `object_table` may be either; else an empty text."""
    if chosen is None or chosen.object_table is None:
        return ""
    given, beside = _places(source, chosen)
    several = given.exists() and beside.exists() and not beside.samefile(given)
    return f"{beside} has the track of the object; {given.absolute()} is not read" if several else ""


def _places(source: ColumnFile, chosen: ColumnMap) -> tuple[Path, Path]:
    """The object's table in the working folder, and beside the joints'."""
    assert chosen.object_table is not None
    return Path(chosen.object_table), source.path.parent / chosen.object_table


def _clock_of_column(source: ColumnFile, column: Name | None) -> Clock:
    clock = clock_of(source, ColumnMap(time=column))
    if clock is None:
        where = f"columns: object_time of {source.path.name}"
        raise InvalidInputError(where, "nothing by the usual names", f"one of {source.described()}")
    return clock


class RecordedBase(NamedTuple):
    """Where an arm's base stands.

    Attributes:
        frame: Frame that several arms have in common.
        pose: Of the base in it.
    """

    frame: str
    pose: pin.SE3


def track_of_bag(
    bag: Bag,
    topic: str | None,
    frame: str | None,
    base_frame: str,
    *,
    beside: str = "",
    base: RecordedBase | None = None,
) -> ObjectTrack | None:
    """The track on a topic, or of a TF frame; None without either and without a topic `object_pose`.

    Of several such topics it is the arm's own, else the one above all arms.

    Args:
        bag: The recording.
        topic: Of poses, odometry or twists.
        frame: Of TF.
        base_frame: In which the track is wanted.
        beside: Namespace of the arm, whose own topic comes before others.
        base: Where its base stands: poses in the common frame are turned into the base's.

    Raises:
        BagError: No such topic or frame, or a topic of another type.
    """
    if frame is not None:
        return _track_of_frame(bag, frame, base_frame)
    asked = topic is not None
    if topic is None:
        usual = [t for t in bag.topics if t.rsplit("/", 1)[-1] == USUAL_TOPIC and bag.topics[t] in POSE_TYPES]
        if not usual:
            return None
        above = beside.rsplit("/", 1)[0]
        known = [name for name in (f"{beside}/{USUAL_TOPIC}", f"{above}/{USUAL_TOPIC}") if name in usual]
        topic = known[0] if known else USUAL_TOPIC
    name = bag.topic_named(topic)
    kind = bag.topics[name]
    if kind not in (*POSE_TYPES, *TWIST_TYPES):
        listed = ", ".join(word.rsplit("/", 1)[-1] for word in (*POSE_TYPES, *TWIST_TYPES))
        raise BagError(f"{bag.path}: {name} is of type {kind}, and no track of an object is read from it but {listed}")
    rows = list(_rows(bag, name, twists=kind in TWIST_TYPES))
    if not rows and not asked:
        return None
    track = _track_of_rows(rows, name, twists=kind in TWIST_TYPES)
    if base is None or rows[0][3] != base.frame:
        return track
    back = base.pose.inverse()
    turned = None if track.rotations is None else back.rotation @ track.rotations
    # A track of velocities begins anywhere.
    shift = np.zeros(3) if kind in TWIST_TYPES else back.translation
    return ObjectTrack(track.times, track.positions @ back.rotation.T + shift, turned, track.source)


def _track_of_rows(rows: Sequence[tuple[float, Array, Array, str]], name: str, *, twists: bool) -> ObjectTrack:
    times = np.array([row[0] for row in rows])
    positions = np.array([row[1] for row in rows]).reshape(-1, 3)
    if twists:
        return _track(times, _summed(times, positions), None, name)
    return _track(times, positions, np.array([row[2] for row in rows]).reshape(-1, 4), name)


def _rows(bag: Bag, topic: str, *, twists: bool) -> Iterator[tuple[float, Array, Array, str]]:
    for _, message in bag.messages(topic):
        frame = str(message.header.frame_id).lstrip("/")
        if twists:
            inner = message.twist.twist if hasattr(message.twist, "twist") else message.twist
            yield stamp_seconds(message), vector(inner.linear), np.zeros(4), frame
        else:
            pose = message.pose.pose if hasattr(message.pose, "pose") else message.pose
            yield stamp_seconds(message), vector(pose.position), quaternion(pose.orientation), frame


def _track_of_frame(bag: Bag, frame: str, base_frame: str) -> ObjectTrack:
    """Every stamp at which TF has the frame; its parent has to be connected to the base by frames that stand still."""
    found = [transform for transform in transforms_of(bag) if transform.child == frame]
    if not found:
        raise BagError(f"{bag.path}: its TF has no frame {frame}")
    times = np.array([each.stamp for each in found])
    positions, quaternions = (np.array([each[column] for each in found]) for column in (3, 4))
    track = _track(times, positions, quaternions, f"TF frame {frame}")
    if len({each.parent for each in found}) > 1:
        raise BagError(f"{bag.path}: frame {frame} has several parents in TF")
    parent = found[0].parent
    if parent == base_frame:
        return track
    pose = RecordedFrames(bag, [float(times[0])]).pose(base_frame, parent, float(times[0]))
    if pose is None:
        raise BagError(f"{bag.path}: TF leads from {base_frame} to no frame {frame}")
    rotation, shift = np.array(pose.rotation), np.array(pose.translation)
    turned = None if track.rotations is None else rotation @ track.rotations
    return ObjectTrack(track.times, track.positions @ rotation.T + shift, turned, track.source)


def _track(times: Array, positions: Array, quaternions: Array | None, source: str) -> ObjectTrack:
    """In order of time, each stamp once."""
    order = np.argsort(times, kind="stable")
    order = order[np.concatenate(([True], np.diff(times[order]) > 0.0))] if len(order) else order
    if not len(order):
        raise InvalidInputError(f"object track ({source})", "no sample", "at least one")
    rotations = None
    if quaternions is not None:
        lengths = np.linalg.norm(quaternions, axis=1)
        if not (lengths > 0.5).all():
            raise InvalidInputError(f"object track ({source})", "a quaternion of no length", "unit quaternions")
        rotations = np.array(
            [pin.Quaternion(w, x, y, z).normalized().toRotationMatrix() for x, y, z, w in quaternions[order].tolist()]
        )
    return ObjectTrack(times[order], positions[order], rotations, source)


def _summed(times: Array, velocities: Array) -> Array:
    """Positions (m, 3) from velocities by the trapezoidal rule, from zero on."""
    steps = 0.5 * (velocities[1:] + velocities[:-1]) * np.diff(times)[:, None]
    return np.concatenate((np.zeros((1, velocities.shape[1])), np.cumsum(steps, axis=0)))


def _columns(source: ColumnFile, name: str, width: int, axes: str, chosen: Columns) -> list[Name]:
    """One column of vectors, or one per axis; none at all where the table has neither."""
    if chosen:
        found = list(joint_columns(source, name, (), chosen))
        if total_width(source, tuple(found)) != width:
            words = ", ".join(str(column) for column in found)
            raise InvalidInputError(f"columns: {name} of {source.path}", words, f"{width} numbers per row")
        return found
    whole = next((column for column in source.widths if str(column).split("/")[-1] == name), None)
    if whole is not None:
        if source.widths[whole] != width:
            given = f"{whole} of width {source.widths[whole]} in {source.path}"
            raise InvalidInputError("object track", given, f"{width} numbers per row")
        return [whole]
    split: list[Name] = [f"{name}_{axis}" for axis in axes]
    return split if all(column in source.widths for column in split) else []
