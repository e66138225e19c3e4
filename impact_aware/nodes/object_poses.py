"""Poses of the object: transformed to the base frame, checked, and passed on when they are plausible."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from impact_aware.contact.shape import Shape
from impact_aware.errors import ImpactAwareError, InvalidInputError, one_line
from impact_aware.messages.object_pose import TYPES, ObjectPose, detected_object, object_pose
from impact_aware.parameters import described
from impact_aware.ros.frames import Frames
from impact_aware.ros.messages import message_class
from impact_aware.ros.qos_match import why_silent
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.timers import steady_timer
from impact_aware.task.object_watch import ObjectLimits, ObjectWatch
from impact_aware.transform_buffer import FrameError, FutureError

TOPIC = "object_pose"

# A motion capture's best effort is received, and so are reliable publishers.
OBJECT_QOS = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)

LOOK_PERIOD = 0.02
"""Wall time between two looks at what TF has new, s."""

AHEAD = 0.02
"""By how much a stamp may be in the future, s: clocks never agree quite."""

OTHER_CLOCK = 86400.0
"""Difference from the present time, s, beyond which a stamp is of another clock, whose age is not checked."""

MOST_WAITING = 20
"""Poses that wait for TF of their time."""


@dataclass(frozen=True)
class ObjectPoseSettings(ObjectLimits):
    """Parameters of every node that follows an object."""

    object_pose_type: str = described("pose", "what object_pose is published as", choices=tuple(TYPES))
    object_class: str = described("", "class or id of the object among detections; empty: there is only one")
    object_frame: str = described("", "frame of TF that is the object; empty: the topic object_pose is listened to")
    tf_base_frame: str = described("", "name of the base frame in TF; empty: the robot's, or that of the task")
    object_pose_required: bool = described(False, "no motion begins while no pose of the object was received at all")


class ObjectPoses:
    """Poses of the object in the base frame, by topic or by TF.

    Attributes:
        frames: TF as the node knows it.
        watch: Rejects outliers among the poses and estimates the object's motion.
        seen: The pose that is followed as it was seen, in the base frame; None before the first.
    """

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
            follow: Called with each pose that is to be followed, in the base frame, with the mean orientation of the
                last ones; an error means that the task can't be done with the object there, and no motion may begin.
            refuse: Called with a reason and a phrase for the log, for each that can't be.
            up: (3,) The vertical in the base frame.
            frames: TF as the node knows it; its own when None.
            settings: Its parameters, where they are loaded already.

        Raises:
            InvalidInputError: A parameter out of its range, or a type of messages that is not installed.
        """
        self._node, self._follow, self._refuse = node, follow, refuse
        self._settings = settings = load_settings(node, ObjectPoseSettings) if settings is None else settings
        self._base = settings.tf_base_frame or base_frames[0]
        # A pose without a frame is one in the base frame.
        self._own = {"", *base_frames, *filter(None, [settings.tf_base_frame])}
        self.frames = Frames(node) if frames is None else frames
        self.watch = ObjectWatch(settings, up)
        self.seen: ObjectPose | None = None
        self._problem, self._delay = "", math.nan
        self._stamped, self._looking = True, False
        self._latest_stamp = -math.inf
        self._waiting: deque[ObjectPose] = deque(maxlen=MOST_WAITING)
        if settings.object_frame:
            self._look_often(self._look)
        else:
            node.create_subscription(message_class(TYPES[settings.object_pose_type]), TOPIC, self._receive, OBJECT_QOS)

    def stand(self, up: ArrayLike) -> None:
        """The base stands differently, with the vertical (3,) in its frame: what was seen in it so far is forgotten."""
        self.watch, self._problem = ObjectWatch(self._settings, up), ""

    @property
    def shape(self) -> Shape:
        """Shape of the object, whose symmetry limits which rotations can be observed."""
        return self.watch.turn.shape

    @shape.setter
    def shape(self, shape: Shape) -> None:
        self.watch.turn.shape = shape

    def refusal(self) -> str:
        """Why no motion may begin towards the object, in one sentence; empty when it may."""
        refusal = self._problem or self.watch.refusal(time.monotonic())
        if refusal:
            return refusal
        if not self._stamped and self.watch.velocity.any():
            return "the object moves, and its poses have no stamps"
        if self.watch.seen or not self._settings.object_pose_required:
            return ""
        topic = self._node.resolve_topic_name(TOPIC)
        return f"no {topic} was received: {why_silent(self._node, TOPIC, 'the perception')}"

    def values(self) -> dict[str, object]:
        """For diagnostics."""
        values = self.watch.values(time.monotonic())
        values |= {f"refused: {reason}": count for reason, count in self.frames.refused.items()}
        if not math.isnan(self._delay):
            values["object_pose_delay"] = self._delay
        return values | ({"object_pose_problem": self._problem} if self._problem else {})

    def _receive(self, message: Any) -> None:
        try:
            settings = self._settings
            several = settings.object_pose_type == "detections"
            seen = detected_object(message, settings.object_class) if several else object_pose(message)
        except InvalidInputError as error:
            self._complain("object_pose not usable", f"an {error}", str(error))
            return
        # Without the object among the detections, it ages.
        if seen is None or self._is_late(seen):
            return
        if seen.frame.lstrip("/") in self._own:
            self._take(seen, pin.SE3.Identity())
            return
        self._waiting.append(seen)
        self._retry()
        self._look_often(self._retry)

    def _look(self) -> None:
        """Take the pose of `object_frame` at the latest time that TF has."""
        frame = self._settings.object_frame
        try:
            pose, stamp = self.frames.latest(self._base, frame)
        except FrameError as error:
            self._problem = f"the pose of {one_line(frame)} is not known: {error}"
            return
        seen = ObjectPose(self._base, stamp, pose)
        if stamp != self._latest_stamp:
            self._latest_stamp = stamp
            if not self._is_late(seen):
                self._take(seen, pin.SE3.Identity())

    def _look_often(self, look: Callable[[], None]) -> None:
        """From now on; poses in the base frame need no timer, which would share the process with the controller."""
        if not self._looking:
            self._looking = True
            steady_timer(self._node, LOOK_PERIOD, look)

    def _is_late(self, seen: ObjectPose) -> bool:
        """Whether a pose that has just come is refused for its stamp, by the node's clock."""
        delay, limit = 1e-9 * self._node.get_clock().now().nanoseconds - seen.time, self._settings.object_delay_limit
        self._delay = delay if seen.time and abs(delay) < OTHER_CLOCK else math.nan
        if math.isnan(self._delay) or not limit or -AHEAD <= delay <= limit:
            return False
        how = f"is stamped {-delay:.3g} s in the future"
        if delay > 0.0:
            how = f"comes {delay:.3g} s late, over object_delay_limit, {limit:g} s"
        why = f"object_pose {how}: do the clocks of perception and robot agree?"
        self._complain("object_pose stamped too early or late", f"a pose: {why}", why)
        return True

    def _retry(self) -> None:
        """Take those whose time TF knows by now, in order."""
        while self._waiting:
            seen = self._waiting[0]
            reason, why = "object_pose in a frame that TF does not have", ""
            try:
                placement = self.frames.pose(self._base, seen.frame, seen.time or None)
            except FutureError:
                if len(self._waiting) < MOST_WAITING:
                    return
                reason, why = "object_pose ahead of TF", "TF is behind the poses by more than 20 of them"
            except FrameError as error:
                why = str(error)
            self._waiting.popleft()
            if why:
                why = f"object_pose in frame '{one_line(seen.frame[:100])}' can't be used: {why}"
                self._complain(reason, f"an {why}", why)
            else:
                self._take(seen, placement)

    def _take(self, seen: ObjectPose, placement: pin.SE3) -> None:
        """Take a pose whose frame has the pose `placement` in the base frame."""
        own, now = seen.seen_from(self._base, placement), time.monotonic()
        self._problem = ""
        jumps = self.watch.jumps
        # Without stamps, each message is a new sight.
        if self.watch.take(own.time or now, np.array(own.pose.translation), own.pose.rotation, now):
            self._stamped, self.seen = bool(own.time), own
            changes: dict[str, Any] = {"pose": pin.SE3(self.watch.turn.rotation, self.watch.position)}
            if self._stamped:
                changes["velocity"] = self.watch.velocity
            try:
                self._follow(dataclasses.replace(own, **changes))
            except ImpactAwareError as error:
                why = f"the object makes the task impossible: {error}"
                self._complain("object_pose makes the task impossible", f"an object_pose: {why}", why)
        elif self.watch.jumps > jumps:
            self._refuse("object_pose jumps", "an object_pose that is far from the one before")

    def _complain(self, reason: str, what: str, problem: str) -> None:
        """Refuse a pose; `problem` is why no motion may begin until a good one comes."""
        self._problem = problem
        self._refuse(reason, what)
