"""Touches of an arm at rest: external torque without a jump of the velocity, as where a hand pushes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_closing, label

from impact_aware.arrays import Array
from impact_aware.detection.momentum_observer import threshold_of
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import effort_kind_of

PERIOD = 0.01
"""Time between two samples that are looked at, s: pushes of hands are slower."""

SLOW = 0.1
"""Speed of the fastest joint from which torques of motion are too large, rad/s."""

GIVES_WAY = 0.3
"""Longest time for which a touched arm may move faster, s."""

SHORTEST = 0.12
"""Shortest touch, s: joints that swing rarely exceed the threshold for longer, hands push for 0.25 s and more."""

BEGINS = 0.5
"""Share of the threshold at which a touch begins and ends."""

EARLIER, AFTERWARDS = 0.3, 0.1
"""Time before and after a touch in which what happens belongs to it, s."""


@dataclass(frozen=True, eq=False)
class Touch:
    """A push on an arm at rest.

    Attributes:
        begin: s.
        end: s.
        joint: Joint with the largest external torque over its threshold.
        torque: Of that joint, N m.
        force: Norm of the force at the tool that explains the external torques best, N.
    """

    begin: float
    end: float
    joint: int
    torque: float
    force: float

    def covers(self, time: float) -> bool:
        """Whether something at a time, s, belongs to the touch, as an impact does whose tool presses on."""
        return self.begin - EARLIER < time < self.end + AFTERWARDS

    def evidence(self, joint_names: Sequence[str]) -> str:
        """Size and duration in one sentence."""
        return (
            f"nothing jumps; an external torque of {self.torque:.1f} N m at {joint_names[self.joint]} for "
            f"{self.end - self.begin:.2f} s, as by {self.force:.0f} N at the tool"
        )


class TouchFinder:
    """Finds touches in the measured torques of one arm, which at rest are those of gravity but for contacts."""

    def __init__(self, robot: RobotModel | None) -> None:
        """Without a robot, or with one whose profile does not state that efforts are torques, nothing is found."""
        self._robot = robot if robot is not None and effort_kind_of(robot.profile).is_torque else None
        self._kept: list[ArmSamples] = []
        self._next = -np.inf

    def feed(self, samples: ArmSamples) -> None:
        """Take clean samples in, whose efforts contain gravity."""
        if self._robot is None or samples.efforts is None:
            return
        known = np.flatnonzero(np.isfinite(samples.efforts).all(axis=1))
        steps = np.floor(samples.times[known] / PERIOD)
        chosen = known[np.diff(steps, prepend=self._next) != 0.0]
        if len(chosen):
            self._next = float(steps[-1])
            self._kept.append(samples.rows(chosen))

    def touches(self) -> list[Touch]:
        """Touches of all samples so far, in order of time."""
        robot = self._robot
        if robot is None or not self._kept:
            return []
        times = np.concatenate([part.times for part in self._kept])
        positions = np.concatenate([part.positions for part in self._kept])
        efforts = np.concatenate([part.efforts for part in self._kept if part.efforts is not None])
        if len(times) < 3 or not np.ptp(efforts, axis=0).any():
            return []
        found: list[Touch] = []
        # Across a gap or a step of the clock nothing shows whether the arm rests.
        for part in np.split(np.arange(len(times)), np.flatnonzero(np.diff(times) > GIVES_WAY) + 1):
            for rows in _at_rest(times[part], positions[part]):
                stretch = part[rows]
                external = efforts[stretch] - np.array([robot.gravity(q) for q in positions[stretch]])
                external -= np.median(external, axis=0)
                found += _in_rest(robot, times[stretch], positions[stretch], external)
        return found


def _at_rest(times: Array, positions: Array) -> Iterator[slice]:
    """Stretches of samples (k,), (k, n) in which the arm rests or, for a short time between, gives way."""
    place = np.arange(len(times))
    before, after = np.maximum(place - 1, 0), np.minimum(place + 1, len(times) - 1)
    speed = np.abs(positions[after] - positions[before]).max(axis=1) / np.maximum(times[after] - times[before], PERIOD)
    slow = speed < SLOW
    closed = binary_closing(np.pad(slow, 1, mode="edge"), np.ones(round(GIVES_WAY / PERIOD)))[1:-1]
    return _stretches(closed | slow)


def _in_rest(robot: RobotModel, times: Array, positions: Array, external: Array) -> Iterable[Touch]:
    """Touches in samples (k,) at rest with external torques (k, n), N m."""
    shares = np.abs(external) / threshold_of(robot)
    level = shares.max(axis=1)
    for rows in _stretches(level > BEGINS):
        peak = rows.start + int(np.argmax(level[rows]))
        begin, end = float(times[rows][0]), float(times[rows][-1])
        if level[peak] < 1.0 or end - begin < SHORTEST:
            continue
        joint = int(np.argmax(shares[peak]))
        jacobian = robot.frame_jacobian(positions[peak])[:3]
        force = np.linalg.lstsq(jacobian.T, -external[peak], rcond=None)[0]
        yield Touch(begin, end, joint, float(abs(external[peak, joint])), float(np.linalg.norm(force)))


def _stretches(chosen: Array) -> Iterator[slice]:
    """Stretches of true values (k,)."""
    numbers, count = label(chosen)
    for number in range(1, count + 1):
        rows = np.flatnonzero(numbers == number)
        yield slice(int(rows[0]), int(rows[-1]) + 1)
