"""Several detectors that decide together.

The rule: an impact takes two members. Either one member is convinced by its own rule, which asks for two samples in a
row; or at one and the same sample a member that looks at positions and one that looks at torques are both over
`joint_share` of their bounds: encoder and torque sensor fail independently. Members that lack their signal stay silent.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from impact_aware.detection.adaptive_window import AdaptiveWindowDetector, AdaptiveWindowParameters
from impact_aware.detection.detector import ImpactDetector
from impact_aware.detection.events import JointSample
from impact_aware.detection.momentum_observer import MomentumObserverDetector, MomentumObserverParameters
from impact_aware.detection.motion_window import DropCounts
from impact_aware.detection.papers import (
    AccelerationDetector,
    AccelerationParameters,
    TorqueResidualDetector,
    TorqueResidualParameters,
)
from impact_aware.detection.windowed_detector import Parameters, WindowedDetector, ranged
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel

MEMBERS: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (AdaptiveWindowDetector, AccelerationDetector, TorqueResidualDetector, MomentumObserverDetector)
}
POSITION_MEMBERS = ("adaptive_window", "acceleration")


@dataclass(frozen=True)
class FusionParameters(Parameters):
    """Parameters of the fusion.

    Attributes:
        members: Names of the members, among `MEMBERS`; `adaptive_window` must be one, as it makes the events, and
            `momentum_observer` needs the robot's model.
        joint_share: Share of their bounds that positions and torques both have to reach at the same sample.
        adaptive_window: Parameters of that member, as are the following of theirs.
    """

    members: tuple[str, ...] = ranged(
        ("adaptive_window", "torque_residual"),
        "adaptive_window and others of " + ", ".join(MEMBERS),
        lambda value: set(value) <= set(MEMBERS) and len(set(value)) == len(value) and "adaptive_window" in value,
    )
    joint_share: float = ranged(0.5, "more than 0 and at most 1", lambda value: 0.0 < value <= 1.0)
    adaptive_window: AdaptiveWindowParameters = field(default_factory=AdaptiveWindowParameters)
    acceleration: AccelerationParameters = field(default_factory=AccelerationParameters)
    torque_residual: TorqueResidualParameters = field(default_factory=TorqueResidualParameters)
    momentum_observer: MomentumObserverParameters = field(default_factory=MomentumObserverParameters)


class FusionDetector(ImpactDetector):
    """Finds impacts on which two of several detectors agree: `members`."""

    name: ClassVar[str] = "fusion"

    def __init__(
        self, joint_count: int, parameters: FusionParameters | None = None, *, robot: RobotModel | None = None
    ) -> None:
        """Make the members.

        Raises:
            InvalidInputError: The momentum observer is a member but there is no robot.
        """
        self.joint_count = joint_count
        self.parameters = chosen = parameters or FusionParameters()
        if "momentum_observer" in chosen.members:
            chosen.require("members", robot is not None, "no momentum_observer without a robot")
        made: dict[str, Any] = {
            member: MEMBERS[member](
                joint_count, getattr(chosen, member), **({"robot": robot} if member == "momentum_observer" else {})
            )
            for member in chosen.members
        }
        self._main: AdaptiveWindowDetector = made["adaptive_window"]
        self._on_positions: list[WindowedDetector] = [made[name] for name in made if name in POSITION_MEMBERS]
        self._on_torques: list[WindowedDetector] = [made[name] for name in made if name not in POSITION_MEMBERS]
        self.members = self._on_positions + self._on_torques

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
            share = self.parameters.joint_share
            if max(member.level for member in self._on_positions) < share or not self._on_torques:
                return None
            if max(member.level for member in self._on_torques) < share:
                return None
            found, finder = self._main.conclude(self._main.suspect()), self._main
        for member in self.members:
            if member is not finder:
                member.acknowledge()
        return replace(found, detector=self.name)
