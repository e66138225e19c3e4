"""Poses of frames from `/tf` and `/tf_static`, listened to from the first question on.

`tf2_ros` keeps them where it is installed, elsewhere the buffer of `impact_aware.transform_buffer`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time

from impact_aware.errors import InvalidInputError, one_line
from impact_aware.messages.geometry import quaternion, vector, write_quaternion, write_vector
from impact_aware.messages.stamps import stamp_seconds, to_nanoseconds, write_stamp
from impact_aware.nodes.ros.messages import message_class
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
    # ROS 2 from wheels does not have it.
    tf2_ros = None

Answer = TypeVar("Answer")

_TYPE = "tf2_msgs/msg/TFMessage"

# Best effort receives from reliable publishers too. The static ones are latched by each of many publishers.
_MOVING_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
_STATIC_QOS = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Frames:
    """The tree of frames, as it is known to one node.

    Attributes:
        refused: How many transforms could not be used, by reason.
    """

    def __init__(self, node: Node) -> None:
        """Listen to nothing yet: most nodes never need it."""
        self._node = node
        self._buffer = TransformBuffer() if tf2_ros is None else Tf2Buffer()
        self._listening = False
        self.refused: Counter[str] = Counter()

    def know(self, parent: str, child: str, pose: pin.SE3) -> None:
        """The pose of `child` in `parent` for all times, known without TF, which is not listened to for it."""
        self._buffer.add(parent, child, 0.0, pose, static=True)

    def pose(self, base: str, frame: str, time: float | None) -> pin.SE3:
        """Pose of `frame` in `base` at `time`, s, or at the latest common one.

        Raises:
            FrameError: It is not known, with the reason; a `FutureError` where it may still become known.
        """
        return self._asked(lambda: self._buffer.pose(base, frame, time))

    def latest(self, base: str, frame: str) -> tuple[pin.SE3, float]:
        """Pose of `frame` in `base`, and of when it is, s; 0 where nothing between them moves.

        Raises:
            FrameError: It is not known.
        """
        return self._asked(lambda: self._buffer.latest(base, frame))

    def take(self, message: Any, *, static: bool) -> None:
        """Take the transforms of a TFMessage; those that can't be are counted and left out."""
        for transform in message.transforms:
            part, parent, child = transform.transform, transform.header.frame_id, transform.child_frame_id
            try:
                pose = checked_pose(vector(part.translation), quaternion(part.rotation), "transform")
                self._buffer.add(parent, child, stamp_seconds(transform), pose, static=static)
            except InvalidInputError as error:
                self.refused[error.field] += 1
                self._node.get_logger().warning(f"refused a {error}", throttle_duration_sec=5.0)

    def _asked(self, question: Callable[[], Answer]) -> Answer:
        """The answer; TF is listened to from the first question on that can't be answered without it."""
        if not self._listening:
            try:
                return question()
            except FrameError:
                self._listen()
        return question()

    def _listen(self) -> None:
        try:
            kind = message_class(_TYPE)
        except InvalidInputError:
            raise FrameError("TF can't be listened to, as the package tf2_msgs is not installed") from None
        self._listening = True
        keeper = "this node itself, as tf2_ros is not installed" if tf2_ros is None else "tf2_ros"
        self._node.get_logger().info(f"listens to TF, which is kept by {keeper}")
        self._node.create_subscription(kind, "/tf", partial(self.take, static=False), _MOVING_QOS)
        self._node.create_subscription(kind, "/tf_static", partial(self.take, static=True), _STATIC_QOS)


class Tf2Buffer:
    """`tf2_ros.Buffer` behind the interface of `TransformBuffer`, with its bounds; refusals are in tf2's words."""

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
            self._buffer.set_transform_static(message, "impact_aware")
            return
        newest = self._newest.get(child, -math.inf)
        if time < newest - HISTORY:
            # The clock went back, as when a recording is played anew; tf2 would leave out all that comes.
            self._buffer.clear()
            self._newest.clear()
            newest = -math.inf
        self._newest[child] = max(time, newest)
        self._buffer.set_transform(message, "impact_aware")

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
        path_between(base, frame, self._parents)
        if time is not None and not 0.0 <= time < 2.0**31:
            raise FrameError(f"there are no frames at the time {time:g} s")
        moment = Time() if time is None else Time(nanoseconds=to_nanoseconds(_nonzero(time)))
        try:
            transform = self._buffer.lookup_transform_core(base, frame, moment).transform
        except tf2_ros.TransformException as error:
            refusal = FutureError if self._is_later(moment, base, frame) else FrameError
            raise refusal(one_line(str(error))) from error
        return checked_pose(vector(transform.translation), quaternion(transform.rotation), "transform")

    def _is_later(self, moment: Time, base: str, frame: str) -> bool:
        """Whether a time is after the latest that all frames between two know; not where they have none in common."""
        try:
            return bool(moment > self._buffer.get_latest_common_time(base, frame))
        except tf2_ros.TransformException:
            return False

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


def _nonzero(time: float) -> float:
    """A time, s, as tf2 takes it: its 0 means the latest one, here it is the first nanosecond."""
    return time or 1e-9
