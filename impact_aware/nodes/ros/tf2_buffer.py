"""The frames of `/tf` and `/tf_static` in the buffer of `tf2_ros`, behind the interface of `TransformBuffer`.

Only where `tf2_ros` is installed, which ROS 2 from wheels does not have. The lookups are tf2's; what it refuses is said
in the words of `TransformBuffer`, so that a reader of logs need not know which of both it was.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import TransformStamped
from rclpy.time import Time

from impact_aware.errors import one_line
from impact_aware.messages.geometry import quaternion, vector, write_quaternion, write_vector
from impact_aware.messages.stamps import to_nanoseconds, write_stamp
from impact_aware.transform_buffer import (
    HISTORY,
    FrameError,
    FutureError,
    TransformBuffer,
    checked_pose,
    checked_transform,
    path_between,
)

try:
    import tf2_ros
except ImportError:
    tf2_ros = None

_AUTHORITY = "impact_aware"
_LATEST = Time()
_EARLIEST = re.compile(r"(?:earliest data is at|but only) time (-?[0-9.]+)")


def is_installed() -> bool:
    """Whether `tf2_ros` can be imported here."""
    return tf2_ros is not None


def new_buffer() -> TransformBuffer | Tf2Buffer:
    """An empty buffer: tf2's where it is installed."""
    return Tf2Buffer() if is_installed() else TransformBuffer()


class Tf2Buffer:
    """What `/tf` and `/tf_static` said lately, as `tf2_ros.Buffer` keeps it."""

    def __init__(self) -> None:
        """Know no frame."""
        # Without a node: the buffer would offer the service tf2_frames under that node's name.
        self._buffer: Any = tf2_ros.Buffer()
        self._parents: dict[str, str] = {}
        self._newest: dict[str, float] = {}

    def add(self, parent: str, child: str, time: float, pose: pin.SE3, *, static: bool) -> None:
        """Take the pose of `child` in `parent` at `time`, s; a static one holds for all times.

        Raises:
            InvalidInputError: As `TransformBuffer.add`.
        """
        parent, child = checked_transform(parent, child, time, self._parents)
        message = TransformStamped(child_frame_id=child)
        message.header.frame_id = parent
        write_stamp(message.header.stamp, _nonzero(time))
        write_vector(message.transform.translation, pose.translation)
        write_quaternion(message.transform.rotation, pin.Quaternion(np.asfortranarray(pose.rotation)).coeffs())
        self._parents[child] = parent
        if static:
            self._newest.pop(child, None)
            self._buffer.set_transform_static(message, _AUTHORITY)
            return
        newest = self._newest.get(child, -math.inf)
        if time < newest - HISTORY:
            # The clock went back, as when a recording is played anew; tf2 would leave out all that comes.
            self._buffer.clear()
            self._newest.clear()
            newest = -math.inf
        self._newest[child] = max(time, newest)
        self._buffer.set_transform(message, _AUTHORITY)

    def pose(self, base: str, frame: str, time: float | None) -> pin.SE3:
        """Pose of `frame` in `base` at `time`, s; None: at the latest time that all frames between them know.

        Raises:
            FutureError: The time is after the latest sample of a frame between them.
            FrameError: An unknown frame, two that are not connected, or a time before the first sample.
        """
        base, frame = base.lstrip("/"), frame.lstrip("/")
        if base == frame:
            return pin.SE3.Identity()
        # tf2 would go through a loop of two frames, and has other words for frames that nothing connects.
        path = path_between(base, frame, self._parents)
        moment = _LATEST if time is None else _moment(time)
        try:
            transform = self._buffer.lookup_transform_core(base, frame, moment).transform
        except tf2_ros.TransformException as error:
            raise self._refusal(path, base, frame, moment, str(error)) from error
        return checked_pose(vector(transform.translation), quaternion(transform.rotation), "transform")

    def latest(self, base: str, frame: str) -> tuple[pin.SE3, float]:
        """The pose at the latest time that all frames between them know, and that time, s; 0 where none of them moves.

        Raises:
            FrameError: As `pose`.
        """
        pose = self.pose(base, frame, None)
        base, frame = base.lstrip("/"), frame.lstrip("/")
        if base == frame:
            return pose, 0.0
        return pose, 1e-9 * int(self._buffer.get_latest_common_time(base, frame).nanoseconds)

    def _refusal(self, path: list[str], base: str, frame: str, moment: Time, what: str) -> FrameError:
        """Why tf2 does not know a pose, in the words of `TransformBuffer`: the first frame on the way that is short."""
        if moment == _LATEST:
            moment = self._buffer.get_latest_common_time(base, frame)
        for name in path:
            try:
                self._buffer.lookup_transform_core(self._parents[name], name, moment)
            except tf2_ros.TransformException as error:
                return self._gap(name, moment, str(error))
        return FrameError(one_line(what))

    def _gap(self, name: str, moment: Time, what: str) -> FrameError:
        """What is missing of one frame, which tf2 does not know at a time."""
        newest = self._buffer.get_latest_common_time(self._parents[name], name)
        if moment > newest:
            gap = 1e-9 * (moment.nanoseconds - newest.nanoseconds)
            return FutureError(one_line(f"frame '{name}' is known only until {gap:.3g} s before that time"))
        match = _EARLIEST.search(what)
        if match is None:
            return FrameError(one_line(what))
        gap = float(match[1]) - 1e-9 * moment.nanoseconds
        return FrameError(one_line(f"frame '{name}' is known only from {gap:.3g} s after that time on"))


def _nonzero(time: float) -> float:
    """A time, s, as tf2 takes it: its 0 means the latest one, here it is the first nanosecond."""
    return time or 1e-9


def _moment(time: float) -> Time:
    """A time, s.

    Raises:
        FrameError: One before 1970, which ROS has no stamp for.
    """
    if not 0.0 <= time < 2.0**31:
        raise FrameError(f"there are no frames at the time {time:g} s")
    return Time(nanoseconds=to_nanoseconds(_nonzero(time)))
