"""A source that can't show impacts is called so, with the reason."""

import numpy as np
import pytest

from impact_aware.detection import JointSample
from impact_aware.detection.input_monitor import InputMonitor
from impact_aware.errors import InvalidInputError


def judge(times, positions):
    monitor = InputMonitor(positions.shape[1])
    for time, position in zip(times, positions, strict=True):
        monitor.update(JointSample(float(time), position))
    return monitor.quality()


def moving(times):
    return np.stack((np.sin(times), np.cos(2 * times)), axis=1)


def test_good_source():
    times = np.arange(1000) * 1e-3
    quality = judge(times, moving(times))
    assert quality.reason is None
    assert quality.rate == pytest.approx(1000.0)
    assert quality.fresh_rate == pytest.approx(1000.0)
    assert quality.jitter < 1e-9


def test_slow_source_is_named():
    times = np.arange(100) / 30.0
    quality = judge(times, moving(times))
    assert quality.rate == pytest.approx(30.0)
    assert "30 Hz" in quality.reason and "topic" in quality.reason


def test_held_samples_are_named():
    times = np.arange(1000) * 1e-3
    quality = judge(times, moving(times[np.arange(1000) // 33 * 33]))
    assert quality.fresh_rate == pytest.approx(30.0, rel=0.1)
    assert "repeated" in quality.reason


def test_rest_is_no_fault():
    times = np.arange(1000) * 1e-3
    quality = judge(times, np.zeros((1000, 2)))
    assert quality.reason is None and not quality.moving


def test_coming_to_rest_is_no_repetition():
    times = np.arange(1000) * 1e-3
    late = np.exp(-times / 0.03)
    positions = np.round(np.stack((late, 0.3 * late), axis=1) / 1e-6) * 1e-6
    quality = judge(times[:500], positions[:500])
    assert quality.reason is None and quality.fresh_rate == pytest.approx(1000.0)


def test_broken_and_missing_samples_are_named():
    times = np.arange(1000) * 1e-3
    positions = moving(times)
    positions[::5, 1] = np.nan
    assert "20 %" in judge(times, positions).reason
    kept = np.random.default_rng(1).random(1000) > 0.1
    assert "missing" in judge(times[kept], moving(times[kept])).reason


def test_scattered_stamps_are_named():
    times = np.cumsum(np.random.default_rng(2).exponential(1e-3, 1000))
    assert judge(times, moving(times)).reason is not None


def test_nonsense_and_few_samples_are_survived():
    monitor = InputMonitor(2)
    monitor.update(JointSample(float("nan"), np.zeros(2)))
    monitor.update(JointSample(0.0, "left"))
    assert monitor.quality().reason is None
    with pytest.raises(InvalidInputError, match="lowest_rate"):
        InputMonitor(2, lowest_rate=0.0)
