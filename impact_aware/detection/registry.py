"""The detectors by name: a new one is one new file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from numpy.typing import ArrayLike

from impact_aware.detection.adaptive_window import AdaptiveWindowDetector, AdaptiveWindowParameters
from impact_aware.detection.detector import ImpactDetector
from impact_aware.detection.fusion import FusionDetector
from impact_aware.detection.momentum_observer import MomentumObserverDetector, MomentumObserverParameters
from impact_aware.detection.papers import (
    AccelerationDetector,
    AccelerationParameters,
    SensitiveJointDetector,
    TorqueResidualDetector,
    TorqueResidualParameters,
)
from impact_aware.detection.windowed_detector import WindowParameters
from impact_aware.errors import InvalidInputError, check_name
from impact_aware.robot import RobotModel

_CLASSES: tuple[tuple[type[Any], type[Any]], ...] = (
    (AdaptiveWindowDetector, AdaptiveWindowParameters),
    (AccelerationDetector, AccelerationParameters),
    (TorqueResidualDetector, TorqueResidualParameters),
    (MomentumObserverDetector, MomentumObserverParameters),
    (SensitiveJointDetector, AdaptiveWindowParameters),
    (FusionDetector, WindowParameters),
)
DETECTORS = {detector.name: detector for detector, _ in _CLASSES}
PARAMETERS = {detector.name: parameters for detector, parameters in _CLASSES}

NEEDS: dict[str, tuple[str, ...]] = {
    MomentumObserverDetector.name: ("robot",),
    SensitiveJointDetector.name: ("robot", "normal"),
}
"""What a detector needs beside numbers: the arm, and the normal of the surface that it is going to touch."""

TAKES = {**NEEDS, FusionDetector.name: ("robot",)}
"""What it takes."""


def make_detector(
    name: str,
    joint_count: int,
    *,
    robot: RobotModel | None = None,
    normal: ArrayLike | None = None,
    **parameters: Any,
) -> ImpactDetector:
    """Build a detector by its name.

    Args:
        name: One of `DETECTORS`.
        joint_count: Number of joints n.
        robot: The arm, for the detectors that take it.
        normal: Contact normal from the obstacle into the robot (3,), base frame, for the detectors that take it.
        **parameters: Fields of the detector's parameter class, the rest keeps its defaults.

    Raises:
        UnknownNameError: No such detector.
        InvalidInputError: No such parameter, a missing robot or normal, or a value out of range.
    """
    check_name("detector", name, DETECTORS)
    known = {"robot": robot, "normal": normal}
    for key in NEEDS.get(name, ()):
        if known[key] is None:
            raise InvalidInputError(f"parameter {key} of detector {name}", None, "to be given")
    others = {key: known[key] for key in TAKES.get(name, ())}
    detector: ImpactDetector = DETECTORS[name](joint_count, detector_parameters(name, parameters), **others)
    return detector


def detector_parameters(name: str, given: Mapping[str, Any]) -> Any:
    """Parameters of the detector of a name, checked; the rest keeps its defaults.

    Raises:
        InvalidInputError: No such parameter, or a value out of range.
    """
    known = tuple(field.name for field in fields(PARAMETERS[name]))
    for key in given:
        if key not in known:
            raise InvalidInputError(f"parameter of detector {name}", repr(key), "one of " + ", ".join(known))
    return PARAMETERS[name](**given)
