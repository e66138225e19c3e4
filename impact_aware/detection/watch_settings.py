"""From plain numbers to a detector with everything that asks about its impacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from impact_aware.detection.bounce import BounceDetector
from impact_aware.detection.completion import CompletionDetector, CompletionParameters
from impact_aware.detection.detector import ImpactDetector
from impact_aware.detection.events import Array
from impact_aware.detection.expectation import ExpectationClassifier, ExpectationParameters
from impact_aware.detection.fusion import MEMBERS
from impact_aware.detection.impact_watch import ImpactWatch
from impact_aware.detection.registry import NEEDS, OPTIONS, PARAMETERS, make_detector
from impact_aware.detection.ringing import RingingTest
from impact_aware.detection.tuning import measured_noise
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import effort_kind_of

NOISE_SAMPLES = 50
"""Samples from which the noise of the positions is measured."""

NOISE_MARGIN = 1.5
"""Factor on the measured noise, as a standard deviation from so few samples may be that much too small."""

JOINT_SHARE = 0.8
"""Share of their bounds that positions and momentum both have to reach in the fusion of these two."""


@dataclass(frozen=True)
class WatchSettings:
    """What makes a watch.

    Attributes:
        detector: Name of the detector.
        fusion_members: Members of the fusion; empty for the adaptive window, with the momentum observer if there is a
            robot. The torque residual is none of them, since it needs the torques to expect.
        normal: Contact normal from the obstacle into the robot, base frame; empty if not known.
        sampling_period: s.
        encoder_resolution: rad.
        position_noise: Standard deviation beside the steps, rad.
        refractory_time: Time after an impact in which no other is reported, s.
        expectation: Tell whether impacts were predicted.
        expectation_limit: u up to which an impact is the predicted one.
        bounce: Tell when contact is lost; needs the robot.
        completion: Tell when a sequence of impacts is over.
        ringing: Tell joints that ring after an impact from a second one.
        expected_contacts: Impacts that make it complete.
        completion_quiet_time: s.
        completion_ripple: rad/s.
        completion_longest: s.
    """

    detector: str = "adaptive_window"
    fusion_members: Sequence[str] = ()
    normal: Sequence[float] = ()
    sampling_period: float = 1e-3
    encoder_resolution: float = 1e-5
    position_noise: float = 0.0
    refractory_time: float = 0.04
    expectation: bool = True
    expectation_limit: float = 0.07
    bounce: bool = True
    completion: bool = True
    ringing: bool = True
    expected_contacts: int = 1
    completion_quiet_time: float = 0.015
    completion_ripple: float = 0.02
    completion_longest: float = 0.5


def make_watch(
    joint_count: int,
    settings: WatchSettings,
    *,
    robot: RobotModel | None = None,
    tuning: Mapping[str, Any] | None = None,
) -> ImpactWatch:
    """Build the detector and what asks about its impacts.

    Args:
        joint_count: Number of joints n.
        settings: The numbers.
        robot: The arm, if it is known; one of another number of joints counts for the detector only.
        tuning: Parameters of the detector that win over the settings, as `impact-aware tune-detector` writes them.

    Raises:
        InvalidInputError: A value out of range, or a detector without the robot or normal that it needs.
        UnknownNameError: No such detector.
    """
    source: dict[str, Any] = {
        "sampling_period": settings.sampling_period,
        "encoder_resolution": settings.encoder_resolution,
        "position_noise": settings.position_noise,
    }
    return ImpactWatch(
        _detector(joint_count, settings, source, robot, tuning or {}),
        expectation=ExpectationClassifier(
            joint_count, ExpectationParameters(limit=settings.expectation_limit, **source)
        )
        if settings.expectation
        else None,
        completion=CompletionDetector(
            joint_count,
            CompletionParameters(
                expected_contacts=settings.expected_contacts,
                quiet_time=settings.completion_quiet_time,
                ripple=settings.completion_ripple,
                longest=settings.completion_longest,
                **source,
            ),
        )
        if settings.completion
        else None,
        bounce=BounceDetector(robot) if settings.bounce and robot is not None and robot.n == joint_count else None,
        ringing=RingingTest(
            joint_count,
            settings.sampling_period,
            np.hypot(settings.encoder_resolution / np.sqrt(12.0), settings.position_noise),
        )
        if settings.ringing
        else None,
        robot=robot if robot is not None and robot.n == joint_count else None,
        normal=np.array(settings.normal) if len(settings.normal) == 3 else None,
    )


def noise_of(positions: Sequence[Array], encoder_resolution: float) -> float | None:
    """Noise to allow for, rad, from the first samples, each (n,); None while there are too few."""
    if len(positions) < NOISE_SAMPLES:
        return None
    return NOISE_MARGIN * measured_noise(np.array(positions), encoder_resolution)


def _detector(
    joint_count: int,
    settings: WatchSettings,
    source: Mapping[str, Any],
    robot: RobotModel | None,
    tuning: Mapping[str, Any],
) -> ImpactDetector:
    name = settings.detector
    common = {**source, "refractory_time": settings.refractory_time}
    parameters: dict[str, Any] = {**common, **tuning}
    if name == "fusion":
        members = tuple(settings.fusion_members)
        if not members:
            torques = robot is not None and effort_kind_of(robot.profile).is_torque
            members = ("adaptive_window", "momentum_observer") if torques else ("adaptive_window",)
        parameters = {
            "members": members,
            "joint_share": JOINT_SHARE,
            **{member: PARAMETERS[member](**common) for member in MEMBERS},
            **tuning,
        }
    wanted = (*NEEDS.get(name, ()), *OPTIONS.get(name, ()))
    if "robot" in wanted and robot is not None:
        parameters["robot"] = robot
    if "normal" in wanted and len(settings.normal):
        parameters["normal"] = np.array(settings.normal)
    return make_detector(name, joint_count, **parameters)
