"""Hits at the planned place and elsewhere are told apart within 10 ms, on both plants."""

import numpy as np
import pytest

from impact_aware.detection import JointSample
from impact_aware.detection.expectation import ExpectationClassifier
from impact_aware.detection.windowed_detector import WindowParameters
from impact_aware.errors import InvalidInputError
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.detection import score_expectation
from impact_aware_rigs.bench.detection_trials import MeasurementNoise, simulate_trial

PERIOD = 1e-3
JUMP = np.array([0.3, -0.2, 0.1])


def classify(
    jump, predicted, *, acceleration=(0.0, 0.0, 0.0), inertia=None, std=None, begin=0, noise=0.0, turned=1.0, step=0.0
):
    """The verdict on a motion rounded to a step, whose jump begins at the event's time, 0.1003 s."""
    times, instant = np.arange(begin, 120) * PERIOD, 0.1003
    since = (times - instant)[:, None]
    positions = [0.5, -0.2, 0.1] + since * [0.3, -0.1, 0.2] + 0.5 * since**2 * acceleration
    positions = positions + np.maximum(since, 0.0) * jump
    positions = positions + np.maximum(times - turned, 0.0)[:, None] * [3.0, 3.0, -3.0]
    positions = np.round(positions / step) * step if step else positions
    classifier = ExpectationClassifier(3, WindowParameters(encoder_resolution=step, position_noise=noise))
    zeros = np.zeros(3)
    for index, position in enumerate(positions, start=begin):
        answer = classifier.update(JointSample(float(times[index - begin]), position))
        if answer is not None:
            return answer
        if index == 102:
            event = ImpactEvent(instant, 0.102, 3e-4, "test", 0, zeros, zeros, zeros, zeros, 1.0)
            classifier.begin(event, predicted, inertia, std)
    return None


def test_same_direction_is_expected_and_another_is_not():
    right = classify(JUMP, JUMP, step=1e-6)
    assert right.expected and right.time < 0.1103
    assert right.unexplained < 0.01
    assert right.share == pytest.approx(1.0, abs=0.1)
    np.testing.assert_allclose(right.jump, JUMP, atol=0.02)
    for other in (-JUMP, [0.1, 0.3, 0.2], 20.0 * JUMP):
        assert not classify(JUMP, other, step=1e-6).expected


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


def test_the_jump_is_the_ramp_over_the_parabola_of_the_motion_before():
    found = classify(JUMP, 0.8 * JUMP, acceleration=(9.0, -7.0, 3.0))
    np.testing.assert_allclose(found.jump, JUMP, rtol=1e-6)
    assert found.share == pytest.approx(1.25, rel=1e-6)
    assert found.unexplained == pytest.approx(0.0, abs=1e-6)


def test_a_verdict_comes_when_answers_agree_or_when_it_is_time():
    # The first sample 3 ms behind the impact is 104; four answers, or the first one 9 ms behind it.
    assert classify(JUMP, JUMP).time == 107 * PERIOD
    # The jump turns from the predicted direction to another at 4 ms, which changes the answer within four samples.
    late = classify(JUMP, JUMP, turned=0.104)
    assert not late.expected and 107 * PERIOD < late.time <= 110 * PERIOD


@pytest.mark.parametrize(
    ("share", "expected"), [(0.19, False), (0.21, True), (1.98, True), (2.02, False), (-1.0, False)]
)
def test_an_expected_jump_is_a_fifth_to_twice_the_prediction(share, expected):
    found = classify(share * JUMP, JUMP)
    assert found.share == pytest.approx(share, rel=1e-6)
    assert found.expected is expected


def aside(sine, weights=(1.0, 1.0, 1.0)):
    """A unit vector, and one that is off it by an angle of this sine, in the norm of the weights."""
    one, other = np.array([1.0, 2.0, -2.0]) / 3.0, np.array([2.0, 1.0, 2.0]) / 3.0
    turned = np.sqrt(1.0 - sine**2) * one + sine * other
    return one / np.sqrt(weights), turned / np.sqrt(weights)


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (4.0, 0.5, 2.0)])
@pytest.mark.parametrize(("square", "expected"), [(0.068, True), (0.072, False), (0.5, False)])
def test_the_unexplained_share_is_the_squared_sine_in_the_norm_of_the_inertia(square, expected, weights):
    predicted, jump = aside(np.sqrt(square), weights)
    found = classify(jump, predicted, inertia=np.diag(weights))
    assert found.unexplained == pytest.approx(square, rel=1e-5)
    assert found.expected is expected


def test_masses_that_are_coupled_count_too():
    inertia = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]])
    predicted, jump = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    # (dv' M p)^2 / (dv' M dv  p' M p) = 0.25 / 2.
    assert classify(jump, predicted, inertia=inertia).unexplained == pytest.approx(0.875, rel=1e-6)


@pytest.mark.parametrize(("square", "expected"), [(0.168, True), (0.172, False)])
def test_a_predictions_variance_widens_the_limit(square, expected):
    weights, std = np.array([4.0, 0.5, 2.0]), np.array([0.05, 0.2, 0.1])
    predicted, jump = aside(np.sqrt(square), weights)
    # sum of m s^2 over p' M p, which is 1: 0.01 + 0.02 + 0.02; doubled by the size of the prediction.
    scale = np.sqrt(0.5)
    found = classify(scale * jump, scale * predicted, inertia=np.diag(weights), std=std)
    assert found.expected is expected


def test_noise_of_the_positions_is_no_unexplained_jump():
    # 1 mrad of noise is stated of a motion that has none: all of u, and no less than nothing, is taken off.
    predicted, jump = aside(np.sqrt(0.09))
    assert not classify(0.02 * jump, 0.02 * predicted).expected
    noisy = classify(0.02 * jump, 0.02 * predicted, noise=1e-4)
    assert noisy.expected and noisy.unexplained == 0.0


@pytest.mark.parametrize(("begin", "known"), [(89, True), (90, False)])
def test_twelve_samples_before_the_impact_are_needed(begin, known):
    # The impact is between samples 100 and 101.
    assert (classify(JUMP, JUMP, begin=begin) is not None) is known
