"""When did it happen, was it expected, is it over: impacts found in joint signals."""

from __future__ import annotations

from impact_aware.detection.adaptive_window import AdaptiveWindowDetector, AdaptiveWindowParameters
from impact_aware.detection.detector import ImpactDetector
from impact_aware.detection.events import ImpactEvent, JointSample
from impact_aware.detection.motion_window import DropCounts
from impact_aware.detection.registry import DETECTORS, make_detector

__all__ = [
    "DETECTORS",
    "AdaptiveWindowDetector",
    "AdaptiveWindowParameters",
    "DropCounts",
    "ImpactDetector",
    "ImpactEvent",
    "JointSample",
    "make_detector",
]
