"""Positions and torques that decide together.

Either the adaptive window or the momentum observer finds an impact by its own rule, which takes two samples in a row,
or both are over `JOINT_SHARE` of their bounds at the same sample: encoder and torque sensor fail independently.
Without a robot that measures torques the adaptive window decides alone.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import ClassVar

from impact_aware.detection.adaptive_window import AdaptiveWindowDetector, AdaptiveWindowParameters
from impact_aware.detection.detector import ImpactDetector
from impact_aware.detection.events import JointSample
from impact_aware.detection.momentum_observer import MomentumObserverDetector, MomentumObserverParameters
from impact_aware.detection.motion_window import DropCounts
from impact_aware.detection.windowed_detector import WindowedDetector, WindowParameters
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import effort_kind_of

JOINT_SHARE = 0.8
"""Share of their bounds that positions and torques both have to reach at the same sample."""


class FusionDetector(ImpactDetector):
    """Finds impacts by the adaptive window and, with a robot that measures torques, the momentum observer."""

    name: ClassVar[str] = "fusion"

    def __init__(
        self, joint_count: int, parameters: WindowParameters | None = None, *, robot: RobotModel | None = None
    ) -> None:
        """Make the members from the parameters of the source; `robot` can't be shared with another thread.

        Raises:
            InvalidInputError: The robot has another number of joints.
        """
        self.joint_count = joint_count
        source = asdict(parameters or WindowParameters())
        self._main = AdaptiveWindowDetector(joint_count, AdaptiveWindowParameters(**source))
        self.members: list[WindowedDetector] = [self._main]
        if robot is not None and effort_kind_of(robot.profile).is_torque:
            observer = MomentumObserverDetector(joint_count, MomentumObserverParameters(**source), robot=robot)
            self.members.append(observer)

    @property
    def drops(self) -> DropCounts:
        """What was refused or mended since construction; every member sees the same samples."""
        return self._main.drops

    def reset(self) -> None:
        """Forget every sample and event; the drop counts stay."""
        for member in self.members:
            member.reset()

    def rearm(self) -> None:
        """End the refractory time, since the next impact may come at once."""
        for member in self.members:
            member.rearm()

    def update(self, sample: JointSample) -> ImpactEvent | None:
        """Take the next sample in; see `ImpactDetector.update`."""
        found: ImpactEvent | None = None
        finder: WindowedDetector | None = None
        for member in self.members:
            event = member.update(sample)
            if event is not None and found is None:
                found, finder = event, member
        if found is None:
            if len(self.members) < 2 or min(member.level for member in self.members) < JOINT_SHARE:
                return None
            found, finder = self._main.conclude(self._main.suspect()), self._main
        for member in self.members:
            if member is not finder:
                member.acknowledge()
        return replace(found, detector=self.name)
