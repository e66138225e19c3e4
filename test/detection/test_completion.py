"""The impact sequence ends when the joints are calm, not before, and in any case."""

import numpy as np
import pytest

from impact_aware.detection import JointSample
from impact_aware.detection.completion import CompletionDetector
from impact_aware.detection.windowed_detector import WindowParameters
from impact_aware.errors import InvalidInputError
from impact_aware.records import ImpactEvent

PERIOD = 1e-3


def event(time):
    zeros = np.zeros(2)
    return ImpactEvent(time, time + 2e-3, 3e-4, "test", 0, zeros, zeros, zeros, zeros, 1.0)


def ringing(times, instant, amplitude, decay, frequency=40.0):
    late = np.maximum(times - instant, 0.0)
    swing = amplitude / (2 * np.pi * frequency) * np.sin(2 * np.pi * frequency * late) * np.exp(-late / decay)
    return np.stack((0.3 * times + 2.0 * times**2 + swing, -0.2 * times + 0.5 * swing), axis=1)


def run(times, positions, instants, source=None, **parameters):
    detector = CompletionDetector(2, source, **parameters)
    for time, position in zip(times, positions, strict=True):
        for instant in instants:
            if abs(time - (instant + 2e-3)) < 0.5 * PERIOD:
                detector.notify(event(instant))
        completion = detector.update(JointSample(float(time), position))
        if completion is not None:
            return completion
    return None


def test_completion_follows_the_decay():
    times = np.arange(600) * PERIOD
    ends = []
    for decay in (0.01, 0.03, 0.06):
        completion = run(times, ringing(times, 0.1, 0.3, decay), [0.1])
        assert completion.reason == "settled"
        assert completion.ripple <= 0.02
        ends.append(completion.time - 0.1)
        # A velocity swing of 0.3 rad/s has a root mean square of 0.02 rad/s after ln(0.3 / 0.028) decay times.
        assert ends[-1] == pytest.approx(decay * np.log(0.3 / 0.028), abs=0.06)
    assert ends == sorted(ends)


def test_encoder_noise_is_no_shaking():
    times = np.arange(400) * PERIOD
    rng = np.random.default_rng(1)
    positions = np.round((ringing(times, 0.1, 0.0, 0.01) + rng.normal(0, 1e-4, (400, 2))) / 1e-4) * 1e-4
    completion = run(times, positions, [0.1], WindowParameters(encoder_resolution=1e-4, position_noise=1e-4))
    assert completion.reason == "settled"


EXACT = 1.0 / 1024.0
"""A period whose multiples are numbers without rounding, s."""


def ends_at(instants=(100,), shaking=None, count=900, **parameters):
    """Number of the sample that ends the sequence, and its reason; an impact is known in its own sample."""
    detector = CompletionDetector(2, WindowParameters(EXACT), **{"longest": 512 * EXACT, **parameters})
    zeros = np.zeros(2)
    for k in range(count):
        if k in instants:
            time = k * EXACT
            detector.notify(ImpactEvent(time - 2 * EXACT, time, 3e-4, "test", 0, zeros, zeros, zeros, zeros, 1.0))
        position = np.array([0.3, -0.2]) * k * EXACT + (0.0 if shaking is None else shaking(k))
        completion = detector.update(JointSample(k * EXACT, position))
        if completion is not None:
            return k, completion
    return None


def test_window_and_quiet_time_follow_the_sample_of_the_last_impact():
    number, completion = ends_at()
    assert (number, completion.reason, completion.contacts) == (100 + 30 + 16, "settled", 1)
    assert ends_at((100, 120, 140), expected_contacts=3)[0] == 140 + 30 + 16
    number, completion = ends_at((100, 250), expected_contacts=2)
    assert (number, completion.contacts) == (250 + 30 + 16, 2)
    # A late impact within the quiet time starts it again, also where it is one more than expected.
    assert ends_at((100, 140))[0] == 140 + 30 + 16


def test_the_longest_time_ends_a_sequence_that_shakes_or_lacks_an_impact():
    shaking = {"shaking": lambda k: 0.01 * (-1) ** k}
    for more in ({"expected_contacts": 2}, {"expected_contacts": 3, "instants": (100, 250)}, shaking):
        number, completion = ends_at(**more)
        assert (number, completion.reason) == (98 + 512, "timeout")


def test_shaking_within_the_quiet_time_starts_it_again():
    # A single blow in the quiet time is in the window for 30 samples.
    number, _ = ends_at(shaking=lambda k: 0.05 * (k == 135))
    assert number == 135 + 30 + 16


def test_a_sequence_ends_once_and_the_next_begins_anew():
    detector = CompletionDetector(2, WindowParameters(EXACT))
    ends = []
    for k in range(400):
        if k in (100, 250):
            zeros, time = np.zeros(2), k * EXACT
            detector.notify(ImpactEvent(time, time, 3e-4, "test", 0, zeros, zeros, zeros, zeros, 1.0))
        completion = detector.update(JointSample(k * EXACT, np.array([0.3, -0.2]) * k * EXACT))
        if completion is not None:
            ends.append((k, completion.contacts))
    assert ends == [(146, 1), (296, 1)]


def test_time_that_ran_backwards_past_the_impact_forgets_it():
    detector = CompletionDetector(2, WindowParameters(EXACT))
    for k in range(60):
        detector.update(JointSample(k * EXACT, np.array([0.3, -0.2]) * k))
    zeros = np.zeros(2)
    detector.notify(ImpactEvent(50 * EXACT, 52 * EXACT, 3e-4, "test", 0, zeros, zeros, zeros, zeros, 1.0))
    for k in range(300):
        assert detector.update(JointSample((k + 10) * EXACT, np.array([0.3, -0.2]) * k)) is None


def test_the_ripple_is_what_a_cubic_leaves_of_the_worst_joint_as_a_velocity():
    times = np.arange(30) * PERIOD
    swing = np.stack((2e-4 * np.sin(900.0 * times), 5e-4 * np.sin(400.0 * times + 1.0)), axis=1)
    positions = np.stack((times**3, 3.0 * times**2 - times), axis=1) + swing
    detector = CompletionDetector(2, WindowParameters(encoder_resolution=6e-5, position_noise=4e-5))
    for k in range(30):
        # Between impacts it keeps nothing.
        assert detector.update(JointSample((k - 31) * PERIOD, np.array([0.1, 0.4]) * (-1) ** k)) is None
    zeros = np.zeros(2)
    detector.notify(ImpactEvent(-2 * PERIOD, -PERIOD, 3e-4, "test", 0, zeros, zeros, zeros, zeros, 1.0))
    for k in range(30):
        assert np.isnan(detector.ripple())
        detector.update(JointSample(float(times[k]), positions[k]))
    grid = np.linspace(-1.0, 1.0, 30)
    rest = positions - np.stack([np.polyval(np.polyfit(grid, column, 3), grid) for column in positions.T], axis=1)
    # 30 samples less the four of a cubic; encoder steps and noise have a share of their own.
    variance = (rest**2).sum(axis=0) / 26.0 - (6e-5**2 / 12.0 + 4e-5**2)
    assert detector.ripple() == pytest.approx(2.0 * np.pi / 0.030 * np.sqrt(variance.max()), rel=1e-6)
    assert variance.argmax() == 1


@pytest.mark.parametrize(("parameter", "value"), [("expected_contacts", 0), ("longest", 0.0), ("longest", np.nan)])
def test_a_sequence_has_contacts_and_a_length(parameter, value):
    with pytest.raises(InvalidInputError, match=parameter):
        CompletionDetector(2, **{parameter: value})
