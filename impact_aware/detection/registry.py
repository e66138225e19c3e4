"""The detectors by name: a new one is one new file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from impact_aware.detection.adaptive_window import AdaptiveWindowDetector, AdaptiveWindowParameters
from impact_aware.detection.detector import ImpactDetector
from impact_aware.detection.fusion import FusionDetector, FusionParameters
from impact_aware.detection.momentum_observer import MomentumObserverDetector, MomentumObserverParameters
from impact_aware.detection.papers import (
    AccelerationDetector,
    AccelerationParameters,
    SensitiveJointDetector,
    SensitiveJointParameters,
    TorqueResidualDetector,
    TorqueResidualParameters,
)
from impact_aware.errors import InvalidInputError, UnknownNameError

_CLASSES: tuple[tuple[type[Any], type[Any]], ...] = (
    (AdaptiveWindowDetector, AdaptiveWindowParameters),
    (AccelerationDetector, AccelerationParameters),
    (TorqueResidualDetector, TorqueResidualParameters),
    (MomentumObserverDetector, MomentumObserverParameters),
    (SensitiveJointDetector, SensitiveJointParameters),
    (FusionDetector, FusionParameters),
)
DETECTORS = {detector.name: detector for detector, _ in _CLASSES}
PARAMETERS = {detector.name: parameters for detector, parameters in _CLASSES}

# What a detector needs beside numbers: the arm, and where it is going to touch.
NEEDS: dict[str, tuple[str, ...]] = {
    MomentumObserverDetector.name: ("robot",),
    SensitiveJointDetector.name: ("robot", "normal"),
}
OPTIONS: dict[str, tuple[str, ...]] = {
    SensitiveJointDetector.name: ("frame",),
    FusionDetector.name: ("robot",),
}


def make_detector(name: str, joint_count: int, **parameters: Any) -> ImpactDetector:
    """Build a detector by its name.

    Args:
        name: One of `DETECTORS`.
        joint_count: Number of joints n.
        **parameters: Fields of the detector's parameter class, the rest keeps its defaults; and what the detector
            `NEEDS` besides, such as `robot`.

    Raises:
        UnknownNameError: No such detector.
        InvalidInputError: No such parameter, one that is missing, or a value out of range.
    """
    if name not in DETECTORS:
        raise UnknownNameError("detector", name, tuple(DETECTORS))
    needs = NEEDS.get(name, ())
    for key in needs:
        if parameters.get(key) is None:
            raise InvalidInputError(f"parameter {key} of detector {name}", None, "to be given")
    others = {key: parameters.pop(key) for key in (*needs, *OPTIONS.get(name, ())) if key in parameters}
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
