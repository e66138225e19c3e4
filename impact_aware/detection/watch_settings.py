"""Build a detector with the tests of its events from plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from impact_aware.contact.geometry import unit_vector
from impact_aware.detection.bounce import BounceDetector
from impact_aware.detection.completion import CompletionDetector
from impact_aware.detection.events import Array
from impact_aware.detection.expectation import ExpectationClassifier
from impact_aware.detection.impact_watch import ImpactWatch
from impact_aware.detection.registry import make_detector
from impact_aware.detection.ringing import RingingTest
from impact_aware.detection.tuning import measured_noise
from impact_aware.detection.windowed_detector import WindowParameters
from impact_aware.robot import RobotModel

NOISE_SAMPLES = 50
"""Samples from which the noise of the positions is measured."""

NOISE_MARGIN = 1.5
"""Factor on the measured noise, as a standard deviation from so few samples may be that much too small."""


@dataclass(frozen=True)
class WatchSettings:
    """What makes a watch.

    Attributes:
        detector: Name of the detector.
        normal: Contact normal from the obstacle into the robot, base frame; empty if not known.
        sampling_period: s.
        encoder_resolution: rad.
        position_noise: Standard deviation beside the steps, rad.
        refractory_time: Time after an impact in which no other is reported, s.
        expectation: Compare impacts with predictions.
        bounce: Detect the loss of contact; needs the robot.
        completion: Detect the end of a sequence of impacts.
        expected_contacts: Impacts that make it complete.
        completion_longest: Time after the first impact at which the sequence counts as over in any case, s.
    """

    detector: str = "adaptive_window"
    normal: Sequence[float] = ()
    sampling_period: float = 1e-3
    encoder_resolution: float = 1e-5
    position_noise: float = 0.0
    refractory_time: float = 0.04
    expectation: bool = True
    bounce: bool = True
    completion: bool = True
    expected_contacts: int = 1
    completion_longest: float = 0.5


def make_watch(
    joint_count: int,
    settings: WatchSettings,
    *,
    robot: RobotModel | None = None,
    tuning: Mapping[str, Any] | None = None,
) -> ImpactWatch:
    """Build the detector with the tests of its events.

    Args:
        joint_count: Number of joints n.
        settings: The numbers.
        robot: The arm, if it is known; one of another number of joints counts for the detector only.
        tuning: Parameters of the detector that win over the settings, as `impact-aware tune-detector` writes them.

    Raises:
        InvalidInputError: A value out of range, or a detector without the robot or normal that it needs.
        UnknownNameError: No such detector.
    """
    source = WindowParameters(
        settings.sampling_period, settings.encoder_resolution, settings.position_noise, settings.refractory_time
    )
    normal = unit_vector("normal", settings.normal) if len(settings.normal) else None
    parameters = {**asdict(source), **(tuning or {})}
    detector = make_detector(settings.detector, joint_count, robot=robot, normal=normal, **parameters)
    own = robot if robot is not None and robot.n == joint_count else None
    completion = CompletionDetector(
        joint_count, source, expected_contacts=settings.expected_contacts, longest=settings.completion_longest
    )
    return ImpactWatch(
        detector,
        expectation=ExpectationClassifier(joint_count, source) if settings.expectation else None,
        completion=completion if settings.completion else None,
        bounce=BounceDetector(own) if settings.bounce and own is not None else None,
        ringing=RingingTest(joint_count, settings.sampling_period, np.sqrt(source.position_variance(joint_count))),
        robot=own,
        normal=normal,
        period=settings.sampling_period,
    )


def noise_of(positions: Sequence[Array], encoder_resolution: float) -> float | None:
    """Noise to allow for, rad, from the first samples, each (n,); None while there are too few."""
    if len(positions) < NOISE_SAMPLES:
        return None
    return NOISE_MARGIN * measured_noise(np.array(positions), encoder_resolution)
