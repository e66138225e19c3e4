"""Finds of live detectors and of both sides, brought together: a hand-made motion with one jump, at 100 Hz."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from impact_aware.detection import ImpactDetector, make_detector
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.impact_finder import FoundImpact, ImpactFinder
from impact_aware.records import ImpactEvent

PERIOD = 0.01
HIT = 1.237


def finds(shift: float) -> list[FoundImpact]:
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
    finder = ImpactFinder(2, [make])
    finder.feed(ArmSamples(time, position))
    finder.finish()
    return finder.found


@pytest.mark.parametrize("shift", [-0.033, -0.011, 0.0, 0.024])
def test_a_detectors_wrong_time_makes_no_second_impact(shift: float) -> None:
    (only,) = finds(shift)
    assert only.judged is not None and only.judged.is_jump
    assert only.event.time == pytest.approx(HIT, abs=4e-3) and only.event.detector == "adaptive_window"


def test_a_find_far_from_the_jump_stays_one_of_its_own() -> None:
    early, hit = finds(-0.2)
    assert early.event.time == pytest.approx(HIT - 0.2, abs=0.02) and hit.event.time == pytest.approx(HIT, abs=4e-3)
