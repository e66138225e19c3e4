"""Poses of frames that stand on each other in a tree, over time: the lookups of tf2, without ROS.

Names, interpolation and refusals are those of tf2: a pose between two samples is interpolated, linear in position and
along the shortest rotation, and none is invented before the first or after the last one.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.errors import ImpactAwareError, InvalidInputError

HISTORY = 10.0
"""How long moving frames are remembered, s, as tf2 does."""

MOST_FRAMES = 500
"""Largest number of frames with a parent; a sender of more is broken or hostile."""

LONGEST_NAME = 256
"""Characters of a frame's name, without a slash before it."""

MOST_SAMPLES = 2000
"""Samples kept per frame: 10 s at 200 Hz, and less of a faster one."""

UNIT_TOLERANCE = 1e-2
"""By how much a quaternion's length may differ from 1; it is normalised."""

FARTHEST = 1e6
"""Longest translation that is taken, m."""


class FrameError(ImpactAwareError):
    """The pose of a frame can't be known: one of both is unknown, they are not connected, or the time has no data."""


class FutureError(FrameError):
    """The time is after the latest sample, which may still come."""


def checked_pose(translation: ArrayLike, quaternion: ArrayLike, label: str) -> pin.SE3:
    """A pose from (3,), m, and a unit quaternion (4,) x, y, z, w, which is normalised.

    Raises:
        InvalidInputError: Not finite, further than `FARTHEST`, or no unit quaternion.
    """
    position, numbers = np.asarray(translation, dtype=float), np.asarray(quaternion, dtype=float).tolist()
    # What is not finite is within no bound.
    if not all(abs(each) <= FARTHEST for each in position.tolist()):
        raise InvalidInputError(f"{label} position", position.tolist(), "three finite numbers, m")
    length = math.hypot(*numbers)
    if not abs(length - 1.0) <= UNIT_TOLERANCE:
        raise InvalidInputError(f"{label} orientation", numbers, "a unit quaternion x, y, z, w")
    x, y, z, w = (each / length for each in numbers)
    return pin.SE3(pin.Quaternion(w, x, y, z).toRotationMatrix(), position)


def pose_between(base: str, frame: str, step: Callable[[str], tuple[str, pin.SE3] | None]) -> pin.SE3 | None:
    """Pose of `frame` in `base`; None where no ancestor is common to both.

    Args:
        base: In which the pose is wanted.
        frame: Whose pose is wanted.
        step: Parent of a frame, and the frame's pose in it; None for a root.

    Raises:
        FrameError: Frames that stand on themselves.
    """
    to_root = dict(_ancestors(base, step))
    for name, pose in _ancestors(frame, step):
        if name in to_root:
            return to_root[name].inverse() * pose
    return None


def _ancestors(frame: str, step: Callable[[str], tuple[str, pin.SE3] | None]) -> list[tuple[str, pin.SE3]]:
    """The frame and its ancestors, each with the frame's pose in it."""
    chain, seen = [(frame, pin.SE3.Identity())], {frame}
    while (above := step(chain[-1][0])) is not None:
        parent, pose = above
        if parent in seen:
            raise FrameError(f"frame '{parent}' stands on itself")
        seen.add(parent)
        chain.append((parent, pose * chain[-1][1]))
    return chain


def path_between(base: str, frame: str, parents: Mapping[str, str]) -> list[str]:
    """Frames whose poses in their parents lead from one frame to the other, those of the base's side first.

    Args:
        base: Without a slash before it.
        frame: Likewise.
        parents: Parent of each frame but the roots.

    Raises:
        FrameError: An unknown frame, two that are not connected, or frames that stand on themselves.
    """
    names = set(parents) | set(parents.values())
    for name in (base, frame):
        if name not in names:
            raise FrameError(f"TF has no frame '{name[:100]}'")

    def step(name: str) -> tuple[str, pin.SE3] | None:
        return (parents[name], pin.SE3.Identity()) if name in parents else None

    chains = [[name for name, _ in _ancestors(end, step)] for end in (base, frame)]
    if chains[0][-1] != chains[1][-1]:
        raise FrameError(f"TF does not connect '{base[:100]}' and '{frame[:100]}'")
    return [name for name in (*chains[0], *chains[1]) if (name in chains[0]) != (name in chains[1])]


def checked_transform(parent: str, child: str, time: float, known: Collection[str]) -> tuple[str, str]:
    """Parent and child of a transform without the slash that old systems put before them.

    Args:
        parent: Frame in which the pose is given.
        child: Frame whose pose it is.
        time: When it is so, s.
        known: Frames that have a parent already.

    Raises:
        InvalidInputError: No names or long ones, a frame in itself, a time that is not finite, or too many frames.
    """
    parent, child = parent.lstrip("/"), child.lstrip("/")
    if not parent or not child or parent == child:
        raise InvalidInputError("transform", f"'{child}' in '{parent}'", "two frames with names that differ")
    if max(len(parent), len(child)) > LONGEST_NAME:
        raise InvalidInputError("transform", f"'{child}' in '{parent}'", f"names of {LONGEST_NAME} characters at most")
    if not math.isfinite(time):
        raise InvalidInputError("transform time", time, "a finite number, s")
    if child not in known and len(known) >= MOST_FRAMES:
        raise InvalidInputError("transform", f"'{child}', one frame more", f"{MOST_FRAMES} frames at most")
    return parent, child


@dataclass
class _Track:
    """Samples of one moving frame, in order of time."""

    parent: str
    samples: list[tuple[float, pin.SE3]] = field(default_factory=list)

    def add(self, time: float, pose: pin.SE3) -> None:
        samples = self.samples
        if samples and time < samples[-1][0] - HISTORY:
            # The clock went back, as when a recording is played anew; or one stamp was far ahead.
            samples.clear()
        if not samples or time > samples[-1][0]:
            samples.append((time, pose))
        else:
            index = bisect_right(samples, time, key=_time_of)
            if samples[index - 1][0] == time and index:
                samples[index - 1] = (time, pose)
            else:
                insort(samples, (time, pose), key=_time_of)
        if samples[0][0] < samples[-1][0] - 1.5 * HISTORY or len(samples) > MOST_SAMPLES:
            oldest = max(
                bisect_right(samples, samples[-1][0] - HISTORY, key=_time_of), len(samples) - MOST_SAMPLES // 2
            )
            del samples[: min(oldest, len(samples) - 1)]

    def at(self, time: float, name: str) -> pin.SE3:
        samples = self.samples
        index = bisect_right(samples, time, key=_time_of)
        if index and samples[index - 1][0] == time:
            return samples[index - 1][1]
        if index == 0:
            gap = samples[0][0] - time
            raise FrameError(f"frame '{name}' is known only from {gap:.3g} s after that time on")
        if index == len(samples):
            gap = time - samples[-1][0]
            raise FutureError(f"frame '{name}' is known only until {gap:.3g} s before that time")
        (before, first), (after, second) = samples[index - 1], samples[index]
        return _interpolated(first, second, (time - before) / (after - before))


class TransformBuffer:
    """Recent transforms of `/tf` and `/tf_static`."""

    def __init__(self) -> None:
        """Know no frame."""
        self._parents: dict[str, str] = {}
        self._static: dict[str, tuple[str, pin.SE3]] = {}
        self._moving: dict[str, _Track] = {}

    def add(self, parent: str, child: str, time: float, pose: pin.SE3, *, static: bool) -> None:
        """Take the pose of `child` in `parent` at `time`, s; a static one holds for all times.

        Raises:
            InvalidInputError: As `checked_transform`.
        """
        parent, child = checked_transform(parent, child, time, self._parents)
        self._parents[child] = parent
        if static:
            self._moving.pop(child, None)
            self._static[child] = (parent, pose)
            return
        self._static.pop(child, None)
        track = self._moving.get(child)
        if track is None or track.parent != parent:
            # A frame that was taken off one thing and put onto another one was not between both.
            track = self._moving[child] = _Track(parent)
        track.add(time, pose)

    def pose(self, base: str, frame: str, time: float | None) -> pin.SE3:
        """Pose of `frame` in `base` at `time`, s; None: at the latest time that all frames between them know.

        Raises:
            FutureError: The time is after the latest sample of a frame between them.
            FrameError: An unknown frame, two that are not connected, or a time before the first sample.
        """
        base, frame = base.lstrip("/"), frame.lstrip("/")
        if base == frame:
            return pin.SE3.Identity()
        path = set(path_between(base, frame, self._parents))
        if time is None:
            time = self._latest_time(path)

        def step(name: str) -> tuple[str, pin.SE3] | None:
            if name not in path:
                return None
            track = self._moving.get(name)
            return self._static.get(name) if track is None else (track.parent, track.at(time, name))

        pose = pose_between(base, frame, step)
        assert pose is not None
        return pose

    def latest(self, base: str, frame: str) -> tuple[pin.SE3, float]:
        """The pose at the latest time that all frames between them know, and that time, s; 0 where none of them moves.

        Raises:
            FrameError: As `pose`.
        """
        pose = self.pose(base, frame, None)
        base, frame = base.lstrip("/"), frame.lstrip("/")
        same = base == frame
        return pose, 0.0 if same else self._latest_time(set(path_between(base, frame, self._parents)))

    def _latest_time(self, path: set[str]) -> float:
        return min((self._moving[name].samples[-1][0] for name in path if name in self._moving), default=0.0)


def _time_of(sample: tuple[float, pin.SE3]) -> float:
    return sample[0]


def _interpolated(first: pin.SE3, second: pin.SE3, share: float) -> pin.SE3:
    turn = pin.Quaternion(first.rotation).slerp(share, pin.Quaternion(second.rotation))
    place = (1.0 - share) * first.translation + share * second.translation
    return pin.SE3(turn.toRotationMatrix(), place)
