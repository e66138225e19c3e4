"""Jumps of both sides and the detectors that detect them: a hand-made motion with one jump, at 100 Hz."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from impact_aware.detection import ImpactDetector, make_detector
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.impact_finder import Find, ImpactFinder
from impact_aware.records import ImpactEvent

PERIOD = 0.01
HIT = 1.237


def finds(shift: float) -> list[Find]:
    """What is found with a detector whose events come `shift` seconds from where it has them."""

    def make(period: float) -> ImpactDetector:
        detector = make_detector("adaptive_window", 2, sampling_period=period)
        process = detector.process

        def shifted(*signals: Any) -> list[ImpactEvent]:
            return [replace(event, time=event.time + shift) for event in process(*signals)]

        detector.process = shifted  # type: ignore[method-assign]
        return detector

    time = np.arange(0.0, 2.4, PERIOD)
    position = 0.3 * time[:, None] * [1.0, -0.6] - np.maximum(time - HIT, 0.0)[:, None] * [0.8, -0.5]
    position += 1e-5 * np.random.default_rng(2).standard_normal(position.shape)
    finder = ImpactFinder([make])
    finder.feed(ArmSamples(time, position))
    finder.finish()
    return finder.found


@pytest.mark.parametrize(
    ("shift", "detector"),
    [(0.0, "adaptive_window"), (0.02, "adaptive_window"), (-0.02, "two_sided"), (0.04, "two_sided")],
)
def test_a_jump_is_one_find_at_its_own_time_whatever_a_detector_has(shift: float, detector: str) -> None:
    (only,) = finds(shift)
    assert only.candidate.is_jump and only.event is not None and only.window is not None
    assert only.time == only.event.time == pytest.approx(HIT, abs=4e-3)
    assert only.detectors == (only.event.detector,) == (detector,)
    assert HIT < only.event.time_detected < HIT + 0.05


def test_a_slow_beginning_does_not_end_the_search() -> None:
    """A driver that starts at 20 Hz: what comes faster is searched."""
    slow, fast = np.arange(-4.5, 0.0, 0.05), np.arange(0.0, 2.4, PERIOD)
    finder = ImpactFinder()
    for time in (*np.split(slow, 3), *np.split(fast, 4)):
        position = 0.3 * time[:, None] * [1.0, -0.6] - np.maximum(time - HIT, 0.0)[:, None] * [0.8, -0.5]
        position += 1e-5 * np.random.default_rng(2).standard_normal(position.shape)
        finder.feed(ArmSamples(time, position))
    finder.finish()
    assert finder.rate == pytest.approx(1.0 / PERIOD) and len(finder.found) == 1
