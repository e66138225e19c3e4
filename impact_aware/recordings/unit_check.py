"""Check of a recording's units: positions in radians, efforts in N m."""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.robot import RobotModel
from impact_aware.robot.plausible import implausible_position, position_range

LARGEST_UNKNOWN = 4.0 * np.pi
"""Position that is accepted of a joint whose limits are not known, rad: two turns."""

LEAST_DEGREES = float(np.radians(2.0 * np.pi))
"""Positions that never come this far, rad, are likelier radians that were taken for degrees."""

SHARE = 0.5
"""Share of implausible samples that is accepted: spoilt readings are few, those in another unit are nearly all."""


LARGEST_EFFORT = 500.0
"""Typical effort of a joint whose limit is not known, N m, above which it is in another unit."""

BEYOND = 2.0
"""Ratio of the typical effort to a joint's limit from which it is in another unit; limits of some URDFs are coarse."""


class UnitCheck:
    """Counts samples that can't be in radians, and measures the size of the efforts."""

    def __init__(self, joint_names: tuple[str, ...], robot: RobotModel | None) -> None:
        """Without a robot only positions of more than `LARGEST_UNKNOWN` are counted."""
        self._names, self._robot = joint_names, robot
        self._seen = self._beyond = 0
        self._largest = 0.0
        self._worst: tuple[int, float] | None = None
        limits = np.zeros(len(joint_names)) if robot is None else robot.limits.effort
        known = (limits > 0.0) & np.isfinite(limits)
        self._most_effort = np.where(known, BEYOND * limits, LARGEST_EFFORT)
        self._efforts: list[Array] = []

    def feed(self, samples: ArmSamples) -> None:
        """Count the next samples."""
        self._largest = max(self._largest, float(np.abs(samples.positions).max(initial=0.0)))
        if samples.efforts is not None:
            known = np.isfinite(samples.efforts).all(axis=1)
            if known.any():
                self._efforts.append(np.median(np.abs(samples.efforts[known]), axis=0))
        if self._robot is None:
            beyond = np.abs(samples.positions) > LARGEST_UNKNOWN
        else:
            beyond = implausible_position(self._robot, samples.positions)
        self._seen += len(beyond)
        if not beyond.any():
            return
        self._beyond += int(np.count_nonzero(beyond.any(axis=1)))
        if self._worst is None:
            row, joint = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
            self._worst = int(joint), float(samples.positions[row, joint])

    def note(self, *, degrees: bool) -> str:
        """A doubt about positions that were read as degrees; empty without one."""
        if not degrees or not 0.0 < self._largest < LEAST_DEGREES:
            return ""
        most = np.degrees(self._largest)
        return f"read as degrees, no joint is ever further than {most:.2g} deg from zero: radians need no --degrees"

    def effort_note(self) -> str:
        """A doubt about the unit of the efforts; empty without one."""
        typical = np.median(self._efforts, axis=0) if self._efforts else np.zeros(len(self._names))
        joint = int(np.argmax(typical / self._most_effort))
        if typical[joint] <= self._most_effort[joint]:
            return ""
        return (
            f"efforts can't be in N m: that of {self._names[joint]} is {typical[joint]:.4g} in the median, more than "
            f"{self._most_effort[joint]:.4g}; they may be currents in mA"
        )

    def check(self, source: str) -> None:
        """Refuse the recording `source` when most of its samples can't be in radians.

        Raises:
            InvalidInputError: With the joint and its value.
        """
        if self._worst is None or self._beyond <= SHARE * self._seen:
            return
        joint, value = self._worst
        limit = f"radians within two turns, {LARGEST_UNKNOWN:.4g}"
        expected = limit if self._robot is None else position_range(self._robot, joint)
        share = f"in {self._beyond} of {self._seen} samples"
        given = f"{value:.4g} for {self._names[joint]}, and the like {share}"
        raise InvalidInputError(f"positions of {source}", given, f"{expected}; --degrees if they are degrees")
