"""When did it happen, was it expected, is it over: impacts found in joint signals."""

from __future__ import annotations

from impact_aware.detection.adaptive_window import AdaptiveWindowDetector, AdaptiveWindowParameters
from impact_aware.detection.bounce import BounceDetector, ContactLoss
from impact_aware.detection.completion import CompletionDetector, ContactCompletion
from impact_aware.detection.detector import ImpactDetector
from impact_aware.detection.events import JointSample
from impact_aware.detection.expectation import ExpectationClassifier, Verdict
from impact_aware.detection.impact_watch import ExpectedJump, ImpactWatch, WatchEvent, WatchEventKind
from impact_aware.detection.input_monitor import InputMonitor, InputQuality
from impact_aware.detection.motion_window import DropCounts
from impact_aware.detection.registry import DETECTORS, make_detector
from impact_aware.detection.tuning import Tuning, tune

__all__ = [
    "DETECTORS",
    "AdaptiveWindowDetector",
    "AdaptiveWindowParameters",
    "BounceDetector",
    "CompletionDetector",
    "ContactCompletion",
    "ContactLoss",
    "DropCounts",
    "ExpectationClassifier",
    "ExpectedJump",
    "ImpactDetector",
    "ImpactWatch",
    "InputMonitor",
    "InputQuality",
    "JointSample",
    "WatchEvent",
    "WatchEventKind",
    "Tuning",
    "Verdict",
    "make_detector",
    "tune",
]
