"""The impact sequence ends when the joints are calm, not before, and in any case."""

import numpy as np
import pytest

from impact_aware.detection import JointSample
from impact_aware.detection.completion import CompletionDetector, CompletionParameters
from impact_aware.detection.events import ImpactEvent

PERIOD = 1e-3


def event(time):
    zeros = np.zeros(2)
    return ImpactEvent(time, time + 2e-3, 3e-4, "test", 0, zeros, zeros, zeros, zeros, 1.0)


def ringing(times, instant, amplitude, decay, frequency=40.0):
    late = np.maximum(times - instant, 0.0)
    swing = amplitude / (2 * np.pi * frequency) * np.sin(2 * np.pi * frequency * late) * np.exp(-late / decay)
    return np.stack((0.3 * times + 2.0 * times**2 + swing, -0.2 * times + 0.5 * swing), axis=1)


def run(times, positions, instants, **parameters):
    detector = CompletionDetector(2, CompletionParameters(**parameters))
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


def test_calm_joints_end_it_after_window_and_quiet_time():
    times = np.arange(400) * PERIOD
    completion = run(times, ringing(times, 0.1, 0.0, 0.01), [0.1])
    assert completion.time == pytest.approx(0.102 + 0.030 + 0.015, abs=2 * PERIOD)
    assert completion.contacts == 1


def test_second_contact_is_waited_for():
    times = np.arange(600) * PERIOD
    positions = ringing(times, 0.1, 0.0, 0.01)
    completion = run(times, positions, [0.1, 0.25], expected_contacts=2)
    assert completion.contacts == 2
    assert completion.time_last == 0.25
    assert completion.time > 0.25 + 0.03


def test_missing_second_contact_times_out():
    times = np.arange(800) * PERIOD
    completion = run(times, ringing(times, 0.1, 0.0, 0.01), [0.1], expected_contacts=2)
    assert completion.reason == "timeout"
    assert completion.time == pytest.approx(0.6, abs=2 * PERIOD)


def test_nothing_happens_without_an_impact():
    times = np.arange(300) * PERIOD
    assert run(times, ringing(times, 0.1, 0.3, 0.03), []) is None


def test_encoder_noise_is_no_shaking():
    times = np.arange(400) * PERIOD
    rng = np.random.default_rng(1)
    positions = np.round((ringing(times, 0.1, 0.0, 0.01) + rng.normal(0, 1e-4, (400, 2))) / 1e-4) * 1e-4
    completion = run(times, positions, [0.1], encoder_resolution=1e-4, position_noise=1e-4)
    assert completion.reason == "settled"


def test_the_longest_time_counts_from_the_first_impact():
    times = np.arange(900) * PERIOD
    completion = run(times, ringing(times, 0.1, 0.0, 0.01), [0.1, 0.25], expected_contacts=3)
    assert (completion.reason, completion.time_first, completion.time_last) == ("timeout", 0.1, 0.25)
    assert completion.time == pytest.approx(0.6, abs=2 * PERIOD)
