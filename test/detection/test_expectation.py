"""Hits at the planned place and elsewhere are told apart within 10 ms, on both plants."""

import numpy as np
import pytest

from impact_aware.detection import JointSample
from impact_aware.detection.events import ImpactEvent
from impact_aware.detection.expectation import ExpectationClassifier, ExpectationParameters
from impact_aware.errors import InvalidInputError
from impact_aware.rigs.bench.detection import score_expectation
from impact_aware.rigs.bench.detection_trials import MeasurementNoise, simulate_trial
from impact_aware.robot import RobotModel

PERIOD = 1e-3


def verdict(jump, predicted, inertia=None, std=None):
    times = np.arange(120) * PERIOD
    instant = 0.1003
    positions = np.outer(times, [0.3, -0.1, 0.2]) + np.outer(np.maximum(times - instant, 0.0), jump)
    classifier = ExpectationClassifier(3, ExpectationParameters(encoder_resolution=1e-6))
    zeros = np.zeros(3)
    for time, position in zip(times, np.round(positions / 1e-6) * 1e-6, strict=True):
        answer = classifier.update(JointSample(float(time), position))
        if answer is not None:
            return answer
        if abs(time - 0.102) < 0.5 * PERIOD:
            event = ImpactEvent(instant, 0.102, 3e-4, "test", 0, zeros, zeros, zeros, zeros, 1.0)
            classifier.begin(event, predicted, inertia, std)
    return None


def test_same_direction_is_expected_and_another_is_not():
    jump = np.array([0.3, -0.2, 0.1])
    right = verdict(jump, jump)
    assert right.expected and right.time < 0.1103
    assert right.unexplained < 0.01
    assert right.share == pytest.approx(1.0, abs=0.1)
    np.testing.assert_allclose(right.jump, jump, atol=0.02)
    assert not verdict(jump, -jump).expected
    assert not verdict(jump, [0.1, 0.3, 0.2]).expected
    assert not verdict(jump, 20.0 * jump).expected


def test_inertia_decides_which_joints_count():
    jump, predicted = np.array([0.3, 0.0, 0.5]), np.array([0.3, 0.0, 0.0])
    assert not verdict(jump, predicted).expected
    assert verdict(jump, predicted, np.diag([1.0, 1.0, 1e-3])).expected


def test_uncertain_prediction_allows_more():
    jump, predicted = np.array([0.3, 0.12, 0.0]), np.array([0.3, 0.0, 0.0])
    assert not verdict(jump, predicted).expected
    assert verdict(jump, predicted, std=[0.05, 0.12, 0.05]).expected


def test_hits_on_both_plants():
    robot = RobotModel.from_profile("panda")
    trials = [simulate_trial(robot, plant, 40 + k) for k, plant in enumerate(["rigid_box", "rigid_table", "flexible"])]
    result = score_expectation(robot, trials, MeasurementNoise(), seed=1)
    assert result["hits"] == 2 * len(trials)
    assert result["right"] == result["hits"]
    assert result["decision_ms"]["max"] < 10.0


def test_wrong_predictions_are_refused():
    classifier = ExpectationClassifier(3)
    zeros = np.zeros(3)
    event = ImpactEvent(0.0, 0.002, 3e-4, "test", 0, zeros, zeros, zeros, zeros, 1.0)
    for arguments, field in (
        ((zeros,), "predicted_jump"),
        (([1.0, np.nan, 0.0],), "predicted_jump"),
        (([1.0, 0.0, 0.0], np.zeros((3, 3))), "inertia"),
        (([1.0, 0.0, 0.0], None, [-1.0, 0.0, 0.0]), "predicted_std"),
    ):
        with pytest.raises(InvalidInputError, match=field):
            classifier.begin(event, *arguments)
