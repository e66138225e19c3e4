"""Poses of the object as they come, in any frame: placed in the base frame, judged, and followed if they are good."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.errors import ImpactAwareError, one_line
from impact_aware.messages.object_pose import ObjectPose
from impact_aware.task.object_watch import ObjectLimits, ObjectWatch
from impact_aware.transform_buffer import FrameError, FutureError

AHEAD = 0.02
"""By how much a stamp may be in the future, s: clocks never agree quite."""

OTHER_CLOCK = 86400.0
"""A stamp farther from the present time is by another clock, s, as a simulator's or a recording's: it is not judged."""

MOST_WAITING = 20
"""Poses that wait for TF of their time."""


class ObjectFollower:
    """What is done with every pose of one object.

    Attributes:
        problem: Why the latest pose can't be used, in one sentence; empty when it can.
        watch: What judges those that can.
        delay: Present time less stamp of the latest one when it came, s; None where it had none, or by another clock.
    """

    def __init__(
        self,
        base: str,
        own: Collection[str],
        limits: ObjectLimits,
        lookup: Callable[[str, str, float | None], pin.SE3],
        follow: Callable[[ObjectPose], None],
        refuse: Callable[[str, str], None],
        up: ArrayLike = (0.0, 0.0, 1.0),
    ) -> None:
        """Follow nothing yet.

        Args:
            base: Name of the base frame in TF.
            own: Every name with which a pose is in the base frame.
            limits: What poses must be like.
            lookup: Pose of the second frame in the first one at a time, s, or at the latest; raises FrameError.
            follow: Called with each pose that is to be followed, in the base frame, with the mean orientation of the
                last ones; an error means that the task can't be done with the object there, and no motion may begin.
            refuse: Called with a reason and a phrase for the log, for each that can't be.
            up: (3,) The vertical in the base frame.
        """
        self._base, self._own, self._lookup = base, frozenset(own), lookup
        self._follow, self._refuse = follow, refuse
        self._waiting: deque[ObjectPose] = deque(maxlen=MOST_WAITING)
        self._limits = limits
        self.watch = ObjectWatch(limits, up)
        self.problem = ""
        self.delay: float | None = None
        self._stamped = True

    def forget(self, up: ArrayLike) -> None:
        """Begin anew in a base frame that stands differently, with the vertical (3,) in it."""
        self.watch, self.problem = ObjectWatch(self._limits, up), ""

    def is_late(self, seen: ObjectPose, present: float) -> bool:
        """Whether a pose that has just come is refused for its stamp; `present` is now by the clock of stamps, s."""
        delay, limit = present - seen.time, self._limits.object_delay_limit
        self.delay = delay if seen.time and abs(delay) < OTHER_CLOCK else None
        if self.delay is None or not limit or -AHEAD <= delay <= limit:
            return False
        asked = "do the clocks of perception and robot agree?"
        if delay < 0.0:
            self.problem = f"object_pose is stamped {-delay:.3g} s in the future: {asked}"
        else:
            self.problem = f"object_pose comes {delay:.3g} s late, over object_delay_limit, {limit:g} s: {asked}"
        self._refuse("object_pose stamped too early or late", f"a pose: {self.problem}")
        return True

    def receive(self, seen: ObjectPose, now: float) -> bool:
        """Take a pose in any frame at `now`, s, by a clock that never goes back; returns whether TF places it."""
        if seen.frame.lstrip("/") in self._own:
            self.take(seen, pin.SE3.Identity(), now)
            return False
        self._waiting.append(seen)
        self.retry(now)
        return True

    def retry(self, now: float) -> None:
        """Take those whose time TF knows by now, in order."""
        while self._waiting:
            seen = self._waiting[0]
            try:
                placement = self._lookup(self._base, seen.frame, seen.time or None)
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
                self.take(seen, placement, now)

    def take(self, seen: ObjectPose, placement: pin.SE3, now: float) -> None:
        """Take a pose whose frame has the pose `placement` in the base frame."""
        own = seen.seen_from(self._base, placement)
        self.problem = ""
        jumps = self.watch.jumps
        # Without stamps, each message is a new sight.
        if self.watch.take(own.time or now, np.array(own.pose.translation), own.pose.rotation, now):
            self._stamped = bool(own.time)
            changes: dict[str, Any] = {"pose": pin.SE3(self.watch.turn.rotation, self.watch.position)}
            if self._stamped:
                changes |= {"velocity": self.watch.velocity, "swing": self.watch.swing}
            seen = dataclasses.replace(own, **changes)
            try:
                self._follow(seen)
            except ImpactAwareError as error:
                self.problem = f"the object makes the task impossible: {error}"
                self._refuse("object_pose makes the task impossible", f"an object_pose: {self.problem}")
        elif self.watch.jumps > jumps:
            self._refuse("object_pose jumps", "an object_pose that is far from the one before")

    def refusal(self, now: float) -> str:
        """Why no motion may begin towards the object, in one sentence; empty when it may, or nothing was seen."""
        refusal = self.problem or self.watch.refusal(now)
        if not refusal and not self._stamped and (self.watch.velocity.any() or self.watch.swing is not None):
            return "the object moves, and its poses have no stamps"
        return refusal

    def _complain(self, reason: str, seen: ObjectPose, why: str) -> None:
        self.problem = f"object_pose in frame '{one_line(seen.frame[:100])}' can't be used: {why}"
        self._refuse(reason, f"an {self.problem}")
