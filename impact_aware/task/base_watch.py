"""Pose of an arm's base in TF: accepted once it stands still, and compared with the pose in the task."""

from __future__ import annotations

from collections import deque

import numpy as np
import pinocchio as pin

from impact_aware.errors import InvalidInputError, one_line
from impact_aware.task.arms import BASE_TOLERANCE, placed_on
from impact_aware.task.make_field import base_placement
from impact_aware.task.task import ArmTask

STILL_TIME = 1.0
"""A base that is not on `/tf_static` must have stood still for so long, s of its stamps."""

FEWEST = 5
"""Stamps within that time."""


class BaseWatch:
    """The base of one arm, as TF has it in the task's frame.

    Attributes:
        base: Its pose in the task's frame; None until it is known.
        problem: Why it can't be used, in one sentence; empty when it can.
    """

    def __init__(self, arm: ArmTask, frame: str, tolerance: float) -> None:
        """Know nothing yet.

        Args:
            arm: The arm, whose base TF calls `base_in_tf`; where it has numbers beside that, they are held against it.
            frame: The task's frame.
            tolerance: By how much TF may differ from those numbers, m and rad.
        """
        self._arm, self._frame, self._tolerance = arm, frame, tolerance
        self._samples: deque[tuple[float, pin.SE3]] = deque()
        self.base: pin.SE3 | None = None
        self.problem = f"{self._name} is not known yet"

    @property
    def _name(self) -> str:
        return one_line(f"the base of arm {self._arm.name}") if self._arm.name else "the base"

    def placed(self, arm: ArmTask) -> ArmTask:
        """The arm, of this or another task, with its base where TF has it.

        Raises:
            InvalidInputError: That is not known, too far away for a task, or not where the arm's numbers have it.
        """
        if self.base is None:
            raise InvalidInputError("base_in_tf", arm.base_in_tf, f"a base that stands still: {self.problem}")
        if self._differs(arm, self.base):
            expected = f"where TF has it: {self._difference(arm, self.base)}"
            raise InvalidInputError("base_position", list(arm.base_position), expected)
        return placed_on(arm, self.base)

    def _differs(self, arm: ArmTask, base: pin.SE3) -> bool:
        """Whether the numbers of an arm, where it has some, are not those of a base that TF has."""
        return arm.base_is_told and _apart(base_placement(arm), base) > self._tolerance

    def _difference(self, arm: ArmTask, base: pin.SE3) -> str:
        expected = base_placement(arm)
        return one_line(
            f"{self._name} stands {_shown(expected, base)} from where the task has it: TF has '{arm.base_in_tf}' at "
            f"{_numbers(base)} in '{self._frame}', the task {_numbers(expected)}"
        )

    def missing(self, why: str) -> None:
        """TF does not know it: no matter once it is known, as a base that stands does not go."""
        if self.base is None:
            self.problem = f"{self._name} is not known: {why}"

    def look(self, pose: pin.SE3, time: float) -> None:
        """Take the base's pose in the task's frame from TF; `time` is its stamp, s, 0 for a static transform."""
        present = self._still(pose, time)
        if present is None:
            return
        if self.base is not None:
            apart = _apart(self.base, present)
            self.problem = (
                f"{self._name} stands {_shown(self.base, present)} from where it was when the task began"
                if apart > BASE_TOLERANCE
                else ""
            )
            return
        if self._differs(self._arm, present):
            self.problem = self._difference(self._arm, present)
            return
        try:
            placed_on(self._arm, present)
        except InvalidInputError as error:
            self.problem = str(error)
            return
        self.base, self.problem = present.copy(), ""

    def _still(self, pose: pin.SE3, time: float) -> pin.SE3 | None:
        """Where it stands: the pose itself if that holds for ever, else the mean of the last second; None: it moves."""
        if not time:
            self._samples.clear()
            return pose
        samples = self._samples
        if samples and time < samples[-1][0]:
            # The clock went back.
            samples.clear()
        if not samples or time > samples[-1][0]:
            samples.append((time, pose.copy()))
        while len(samples) > 1 and samples[-1][0] - samples[1][0] >= STILL_TIME:
            samples.popleft()
        mean = _mean([sample for _, sample in samples])
        worst = max(samples, key=lambda sample: _apart(mean, sample[1]))[1]
        if _apart(mean, worst) > BASE_TOLERANCE:
            self.problem = f"{self._name} moves: TF has it up to {_shown(mean, worst)} beside its mean"
            return None
        if samples[-1][0] - samples[0][0] < STILL_TIME or len(samples) < FEWEST:
            if self.base is None:
                self.problem = f"{self._name} is on /tf, and was seen for less than {STILL_TIME:g} s"
            return None
        return mean


def _mean(poses: list[pin.SE3]) -> pin.SE3:
    """Return the mean of poses that are near each other."""
    first = poses[0]
    turn = np.mean([pin.log3(first.rotation.T @ pose.rotation) for pose in poses], axis=0)
    return pin.SE3(first.rotation @ pin.exp3(turn), np.mean([pose.translation for pose in poses], axis=0))


def _differences(one: pin.SE3, other: pin.SE3) -> tuple[float, float]:
    """Distance, m, and angle, rad."""
    shift = float(np.linalg.norm(other.translation - one.translation))
    return shift, float(np.linalg.norm(pin.log3(one.rotation.T @ other.rotation)))


def _apart(one: pin.SE3, other: pin.SE3) -> float:
    """By how much two bases differ, m or rad, whichever is more."""
    return max(_differences(one, other))


def _shown(one: pin.SE3, other: pin.SE3) -> str:
    shift, angle = _differences(one, other)
    return f"{1e3 * shift:.1f} mm and {np.degrees(angle):.2f} deg"


def _numbers(pose: pin.SE3) -> str:
    numbers = [*pose.translation, *pin.rpy.matrixToRpy(pose.rotation)]
    return "[" + ", ".join(f"{round(number, 4) + 0.0:g}" for number in numbers) + "]"
