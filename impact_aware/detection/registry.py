"""The detectors by name: a new one is one new file and one line here."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from impact_aware.detection.adaptive_window import AdaptiveWindowDetector, AdaptiveWindowParameters
from impact_aware.detection.detector import ImpactDetector
from impact_aware.errors import InvalidInputError, UnknownNameError

DETECTORS: dict[str, type[Any]] = {
    AdaptiveWindowDetector.name: AdaptiveWindowDetector,
}

PARAMETERS: dict[str, type[Any]] = {
    AdaptiveWindowDetector.name: AdaptiveWindowParameters,
}


def make_detector(name: str, joint_count: int, **parameters: Any) -> ImpactDetector:
    """Build a detector by its name.

    Args:
        name: One of `DETECTORS`.
        joint_count: Number of joints n.
        **parameters: Fields of the detector's parameter class; the rest keeps its defaults.

    Raises:
        UnknownNameError: No such detector.
        InvalidInputError: No such parameter, or a value out of range.
    """
    if name not in DETECTORS:
        raise UnknownNameError("detector", name, tuple(DETECTORS))
    known = tuple(field.name for field in fields(PARAMETERS[name]))
    for key in parameters:
        if key not in known:
            raise InvalidInputError(f"parameter of detector {name}", repr(key), "one of " + ", ".join(known))
    detector: ImpactDetector = DETECTORS[name](joint_count, PARAMETERS[name](**parameters))
    return detector
