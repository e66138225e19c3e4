"""Where the object is: listened to once, in one frame, and judged; every node that needs it has it from here."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from impact_aware.errors import InvalidInputError, one_line
from impact_aware.messages.object_pose import TYPES, ObjectPose, object_pose
from impact_aware.nodes.ros.frames import Frames
from impact_aware.nodes.ros.messages import message_class
from impact_aware.nodes.ros.qos_match import why_silent
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.parameters import described
from impact_aware.task.object_watch import ObjectLimits, ObjectWatch
from impact_aware.transform_buffer import FrameError, FutureError

TOPIC = "object_pose"

# A motion capture's best effort is received, and so are reliable publishers.
OBJECT_QOS = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)

MOST_WAITING = 20
"""Poses that wait for TF of their time."""

LOOK_PERIOD = 0.02
"""Wall time between two looks at what TF has new, s."""


@dataclass(frozen=True)
class ObjectPoseSettings(ObjectLimits):
    """Parameters of every node that follows an object."""

    object_pose_type: str = described("pose", "what object_pose is published as", choices=tuple(TYPES))
    object_frame: str = described("", "frame of TF that is the object; empty: the topic object_pose is listened to")
    tf_base_frame: str = described("", "name of the base frame in TF; empty: the robot's, or that of the task")
    object_pose_required: bool = described(False, "no motion begins while no pose of the object was received at all")


class ObjectPoses:
    """Poses of the object in the base frame, by topic or by TF."""

    def __init__(
        self,
        node: Node,
        base_frames: Sequence[str],
        follow: Callable[[ObjectPose], None],
        refuse: Callable[[str, str], None],
    ) -> None:
        """Listen.

        Args:
            node: Whose parameters say to what.
            base_frames: Names of the base frame; the first is the one in TF.
            follow: Called with each pose that is to be followed, in the base frame.
            refuse: Called with a reason and a phrase for the log, for each that can't be.

        Raises:
            InvalidInputError: A type of messages that is not installed.
        """
        self._node = node
        self._settings = settings = load_settings(node, ObjectPoseSettings)
        # A pose without a frame is one in the base frame.
        self._own = {"", *base_frames, *filter(None, [settings.tf_base_frame])}
        self._base = settings.tf_base_frame or base_frames[0]
        self._follow, self._refuse = follow, refuse
        self._watch = ObjectWatch(settings)
        self._waiting: deque[ObjectPose] = deque(maxlen=MOST_WAITING)
        self._problem = ""
        self.frames = Frames(node)
        self._looking = False
        if settings.object_frame:
            self._look_often(self.look)
        else:
            node.create_subscription(message_class(TYPES[settings.object_pose_type]), TOPIC, self.receive, OBJECT_QOS)

    def receive(self, message: Any) -> None:
        """Take a message."""
        try:
            seen = object_pose(message)
        except InvalidInputError as error:
            self._problem = str(error)
            self._refuse("object_pose not usable", f"an {error}")
            return
        if seen.frame.lstrip("/") in self._own:
            self._take(seen, pin.SE3.Identity())
        else:
            self._waiting.append(seen)
            self._look_often(self._retry)
            self._retry()

    def look(self) -> None:
        """Take the pose of `object_frame` at the latest time that TF has."""
        frame = self._settings.object_frame
        try:
            pose, stamp = self.frames.latest(self._base, frame)
        except FrameError as error:
            self._problem = f"the pose of {one_line(frame)} is not known: {error}"
            return
        self._take(ObjectPose(self._base, stamp, pose), pin.SE3.Identity())

    def refusal(self) -> str:
        """Why no motion may begin towards the object, in one sentence; empty when it may."""
        if self._problem:
            return self._problem
        refusal = self._watch.refusal(time.monotonic())
        if refusal or self._watch.seen or not self._settings.object_pose_required:
            return refusal
        topic = self._node.resolve_topic_name(TOPIC)
        return f"no {topic} was received: {why_silent(self._node, TOPIC, 'the perception')}"

    def values(self) -> dict[str, object]:
        """For diagnostics."""
        values = self._watch.values(time.monotonic())
        values |= {f"refused: {reason}": count for reason, count in self.frames.refused.items()}
        return values | ({"object_pose_problem": self._problem} if self._problem else {})

    def _look_often(self, look: Callable[[], None]) -> None:
        """From now on; poses in the base frame need no timer, which would share the process with the controller."""
        if not self._looking:
            self._looking = True
            self._node.create_timer(LOOK_PERIOD, look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _retry(self) -> None:
        """Take those whose time TF knows by now, in order."""
        while self._waiting:
            seen = self._waiting[0]
            try:
                placement = self.frames.pose(self._base, seen.frame, seen.time or None)
            except FutureError:
                if len(self._waiting) < MOST_WAITING:
                    return
                self._waiting.popleft()
                self._complain("object_pose ahead of TF", seen, "TF is behind the poses by more than 20 of them")
            except FrameError as error:
                self._waiting.popleft()
                self._complain("object_pose in a frame that TF does not have", seen, str(error))
            else:
                self._waiting.popleft()
                self._take(seen, placement)

    def _complain(self, reason: str, seen: ObjectPose, why: str) -> None:
        self._problem = f"object_pose in frame '{one_line(seen.frame[:100])}' can't be used: {why}"
        self._refuse(reason, f"an {self._problem}")

    def _take(self, seen: ObjectPose, placement: pin.SE3) -> None:
        own = seen.seen_from(self._base, placement)
        self._problem = ""
        jumps, arrival = self._watch.jumps, time.monotonic()
        # Without stamps, each message is a new sight.
        if self._watch.take(own.time or arrival, np.array(own.pose.translation), own.pose.rotation, arrival):
            self._follow(own)
        elif self._watch.jumps > jumps:
            self._refuse("object_pose jumps", "an object_pose that is far from the one before")
