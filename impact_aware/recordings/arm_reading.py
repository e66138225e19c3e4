"""One arm of a recording while it is read: selection, cleaning, checks and the search for impacts, in this order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from impact_aware.detection import ImpactDetector, make_detector
from impact_aware.detection.tuning import load_parameters
from impact_aware.errors import InvalidInputError
from impact_aware.recordings.arm_samples import ArmSamples, ArmSelector
from impact_aware.recordings.arm_selection import ArmSource
from impact_aware.recordings.command_track import CommandTrack
from impact_aware.recordings.impact_finder import NOMINAL_PERIOD, ImpactFinder
from impact_aware.recordings.input_stage import InputStage
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.unit_check import UnitCheck
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import MOST_JOINTS


@dataclass(eq=False)
class ArmReading:
    """One arm while its recording is being read."""

    source: ArmSource
    selector: ArmSelector
    finder: ImpactFinder
    stage: InputStage
    units: UnitCheck
    notes: list[str]
    commands: CommandTrack | None = None

    def feed(self, samples: ArmSamples) -> None:
        """Take the next samples in, as recorded."""
        for clean in self.stage.feed(samples):
            self._take(clean)

    def finish(self) -> None:
        """No more samples come."""
        for clean in self.stage.finish():
            self._take(clean)
        self.finder.finish()

    def _take(self, clean: ArmSamples) -> None:
        self.units.feed(clean)
        self.finder.feed(clean)


def read_arm(source: ArmSource, options: AnalysisOptions) -> ArmReading:
    """Prepare to read one arm of a recording.

    Raises:
        InvalidInputError: Too many joints, or an option that does not fit.
    """
    count, names = len(source.message_names), source.message_names
    if count > MOST_JOINTS:
        expected = f"{MOST_JOINTS} at most; --robot picks those of an arm"
        raise InvalidInputError(f"joints of {source.topic or 'the table'}", f"{count} joints", expected)
    makers, notes = [], []
    for name in options.detectors:
        try:
            maker = _detector_maker(name, count, source.robot, options)
        except InvalidInputError as error:
            if len(options.detectors) == 1:
                raise
            notes.append(f"detector {name} was left out: {error}")
            continue
        makers.append(maker)
    if not makers:
        raise InvalidInputError("detector", options.detector, f"one that needs no more than is known ({notes[0]})")
    selector = ArmSelector(names, degrees=options.degrees)
    finder = ImpactFinder(makers, source.robot)
    return ArmReading(source, selector, finder, InputStage(), UnitCheck(names, source.robot), notes)


def _detector_maker(
    name: str, count: int, robot: RobotModel | None, options: AnalysisOptions
) -> Callable[[float], ImpactDetector]:
    tuned: dict[str, Any] = {} if options.tuning is None else load_parameters(options.tuning, name)

    def make(period: float) -> ImpactDetector:
        if spare and period == NOMINAL_PERIOD:
            return spare.pop()
        return make_detector(name, count, robot=robot, normal=options.normal, **{"sampling_period": period, **tuned})

    spare: list[ImpactDetector] = []
    # Made here, so that a parameter that is missing is reported before anything is read.
    spare.append(make(NOMINAL_PERIOD))
    return make


def why_nothing(arms: list[ArmReading]) -> str:
    """Reason why a recording has no usable sample, for an error."""
    if not arms:
        return "its messages of joint states name no joint"
    arm = arms[0]
    if arm.selector.messages == 0:
        return f"no message on {arm.source.topic} has the joints {', '.join(arm.source.message_names)}"
    return f"none of the {arm.selector.messages} messages on {arm.source.topic} has finite positions"
