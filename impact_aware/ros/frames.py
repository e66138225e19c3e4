"""Poses of frames from `/tf` and `/tf_static`, which a node listens to from its first question on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import pinocchio as pin
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from impact_aware.errors import InvalidInputError
from impact_aware.messages.geometry import quaternion, vector
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.ros.messages import message_class
from impact_aware.transform_buffer import FrameError, TransformBuffer, checked_pose

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
        self._buffer = TransformBuffer()
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
        self._node.get_logger().info("listens to TF")
        self._node.create_subscription(kind, "/tf", partial(self.take, static=False), _MOVING_QOS)
        self._node.create_subscription(kind, "/tf_static", partial(self.take, static=True), _STATIC_QOS)
