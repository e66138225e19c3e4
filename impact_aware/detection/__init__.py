"""When did it happen, was it expected, is it over: impacts found in joint signals."""

from impact_aware.detection.detector import ImpactDetector
from impact_aware.detection.events import JointSample
from impact_aware.detection.expectation import ExpectationClassifier
from impact_aware.detection.registry import DETECTORS, make_detector

__all__ = ["DETECTORS", "ExpectationClassifier", "ImpactDetector", "JointSample", "make_detector"]
