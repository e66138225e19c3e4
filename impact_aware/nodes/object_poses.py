"""Where the object is: listened to once, in one frame, and judged; every node that needs it has it from here."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pinocchio as pin
from numpy.typing import ArrayLike
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from impact_aware.contact.shape import Shape
from impact_aware.errors import InvalidInputError, one_line
from impact_aware.messages.object_pose import TYPES, ObjectPose, detected_object, object_pose
from impact_aware.nodes.object_follower import ObjectFollower
from impact_aware.nodes.ros.frames import Frames
from impact_aware.nodes.ros.messages import message_class
from impact_aware.nodes.ros.qos_match import why_silent
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.parameters import described
from impact_aware.task.object_watch import ObjectLimits
from impact_aware.transform_buffer import FrameError

TOPIC = "object_pose"

# A motion capture's best effort is received, and so are reliable publishers.
OBJECT_QOS = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)

LOOK_PERIOD = 0.02
"""Wall time between two looks at what TF has new, s."""


@dataclass(frozen=True)
class ObjectPoseSettings(ObjectLimits):
    """Parameters of every node that follows an object."""

    object_pose_type: str = described("pose", "what object_pose is published as", choices=tuple(TYPES))
    object_class: str = described("", "class or id of the object among detections; empty: there is only one")
    object_frame: str = described("", "frame of TF that is the object; empty: the topic object_pose is listened to")
    tf_base_frame: str = described("", "name of the base frame in TF; empty: the robot's, or that of the task")
    object_pose_required: bool = described(False, "no motion begins while no pose of the object was received at all")


def object_pose_settings(node: Node) -> ObjectPoseSettings:
    """The parameters of a node that follows an object, declared.

    Raises:
        InvalidInputError: One of them is out of its range.
    """
    return load_settings(node, ObjectPoseSettings)


class ObjectPoses:
    """Poses of the object in the base frame, by topic or by TF."""

    def __init__(
        self,
        node: Node,
        base_frames: Sequence[str],
        follow: Callable[[ObjectPose], None],
        refuse: Callable[[str, str], None],
        up: ArrayLike = (0.0, 0.0, 1.0),
        frames: Frames | None = None,
        settings: ObjectPoseSettings | None = None,
    ) -> None:
        """Listen.

        Args:
            node: Whose parameters say to what.
            base_frames: Names of the base frame; the first is the one in TF.
            follow: Called with each pose that is to be followed, in the base frame.
            refuse: Called with a reason and a phrase for the log, for each that can't be.
            up: (3,) The vertical in the base frame.
            frames: TF as the node knows it; its own when None.
            settings: Its parameters, where they are loaded already.

        Raises:
            InvalidInputError: A type of messages that is not installed.
        """
        self._node = node
        self._settings = settings = object_pose_settings(node) if settings is None else settings
        self._base = settings.tf_base_frame or base_frames[0]
        self._refuse = refuse
        self.frames = Frames(node) if frames is None else frames
        # A pose without a frame is one in the base frame.
        own = {"", *base_frames, *filter(None, [settings.tf_base_frame])}
        self._follower = ObjectFollower(self._base, own, settings, self.frames.pose, follow, refuse, up)
        self._looking = False
        self._latest_stamp = -math.inf
        if settings.object_frame:
            self._look_often(self.look)
        else:
            node.create_subscription(message_class(TYPES[settings.object_pose_type]), TOPIC, self.receive, OBJECT_QOS)

    @property
    def seen(self) -> bool:
        """Whether a pose was followed at all."""
        return self._follower.watch.seen

    def stand(self, up: ArrayLike) -> None:
        """The base stands differently, with the vertical (3,) in its frame: what was seen in it so far is forgotten."""
        self._follower.forget(up)

    @property
    def shape(self) -> Shape:
        """Of the object, which says what of its orientation can be told."""
        return self._follower.watch.turn.shape

    @shape.setter
    def shape(self, shape: Shape) -> None:
        self._follower.watch.turn.shape = shape

    def receive(self, message: Any) -> None:
        """Take a message."""
        try:
            settings = self._settings
            several = settings.object_pose_type == "detections"
            seen = detected_object(message, settings.object_class) if several else object_pose(message)
        except InvalidInputError as error:
            self._follower.problem = str(error)
            self._refuse("object_pose not usable", f"an {error}")
            return
        if seen is None:
            # Detections of other objects: this one ages.
            return
        if self._follower.is_late(seen, self._present()):
            return
        if self._follower.receive(seen, time.monotonic()):
            self._look_often(self._retry)

    def look(self) -> None:
        """Take the pose of `object_frame` at the latest time that TF has."""
        frame = self._settings.object_frame
        try:
            pose, stamp = self.frames.latest(self._base, frame)
        except FrameError as error:
            self._follower.problem = f"the pose of {one_line(frame)} is not known: {error}"
            return
        seen = ObjectPose(self._base, stamp, pose)
        if stamp != self._latest_stamp:
            self._latest_stamp = stamp
            if not self._follower.is_late(seen, self._present()):
                self._follower.take(seen, pin.SE3.Identity(), time.monotonic())

    def refusal(self) -> str:
        """Why no motion may begin towards the object, in one sentence; empty when it may."""
        refusal = self._follower.refusal(time.monotonic())
        if refusal or self._follower.watch.seen or not self._settings.object_pose_required:
            return refusal
        topic = self._node.resolve_topic_name(TOPIC)
        return f"no {topic} was received: {why_silent(self._node, TOPIC, 'the perception')}"

    def values(self) -> dict[str, object]:
        """For diagnostics."""
        values = self._follower.watch.values(time.monotonic())
        values |= {f"refused: {reason}": count for reason, count in self.frames.refused.items()}
        if self._follower.delay is not None:
            values["object_pose_delay"] = self._follower.delay
        problem = self._follower.problem
        return values | ({"object_pose_problem": problem} if problem else {})

    def _present(self) -> float:
        """By the clock that stamps are of, s."""
        return 1e-9 * float(self._node.get_clock().now().nanoseconds)

    def _look_often(self, look: Callable[[], None]) -> None:
        """From now on; poses in the base frame need no timer, which would share the process with the controller."""
        if not self._looking:
            self._looking = True
            self._node.create_timer(LOOK_PERIOD, look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _retry(self) -> None:
        self._follower.retry(time.monotonic())
