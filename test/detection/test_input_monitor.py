"""A source that can't show impacts is called so, with the reason."""

import numpy as np
import pytest

from impact_aware.detection import JointSample
from impact_aware.detection.input_monitor import InputMonitor
from impact_aware.errors import InvalidInputError


def judge(times, positions, monitor=None):
    monitor = monitor or InputMonitor(positions.shape[1])
    for time, position in zip(times, positions, strict=True):
        monitor.update(JointSample(float(time), position))
    return monitor.quality()


def moving(times):
    return np.stack((np.sin(times), np.cos(2 * times)), axis=1)


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


def test_nonsense_and_few_samples_are_survived():
    monitor = InputMonitor(2)
    monitor.update(JointSample(float("nan"), np.zeros(2)))
    monitor.update(JointSample(0.0, "left"))
    assert monitor.quality().reason is None
    with pytest.raises(InvalidInputError, match="lowest_rate"):
        InputMonitor(2, lowest_rate=0.0)


@pytest.mark.parametrize("lowest", [200.0, 90.0])
def test_a_rate_below_the_lowest_is_too_slow(lowest):
    for share, fine in ((0.94, False), (0.96, True), (1.01, True)):
        times = np.arange(200) / (share * lowest)
        quality = judge(times, moving(times), InputMonitor(2, lowest_rate=lowest))
        assert quality.rate == pytest.approx(share * lowest)
        assert (quality.reason is None) is fine
        # Every value sent twice: they come quickly enough, and half of them are new.
        times = np.arange(400) / (2.0 * share * lowest)
        quality = judge(times, moving(times[np.arange(400) // 2 * 2]), InputMonitor(2, lowest_rate=lowest))
        assert (quality.rate, quality.fresh_rate) == (
            pytest.approx(2.0 * share * lowest), pytest.approx(share * lowest),
        )  # fmt: skip
        assert (quality.reason is None) is fine
    assert "repeated" in judge(np.arange(400) / 300.0, moving(np.arange(400) // 2 / 150.0)).reason


@pytest.mark.parametrize(("every", "counts"), [(19, True), (21, False)])
def test_broken_and_missing_samples_count_from_one_in_twenty_on(every, counts):
    number = np.arange(every * 20 + 1)
    positions = moving(1e-3 * number[:-1])
    positions[every - 1 :: every, 0] = np.inf
    broken = judge(1e-3 * number[:-1], positions, InputMonitor(2, samples=len(positions)))
    times = number[number % every != 5] * 1e-3
    missing = judge(times, moving(times), InputMonitor(2, samples=len(times)))
    assert (broken.broken_share, missing.missing_share) == pytest.approx((1.0 / every, 1.0 / every))
    for quality, words in ((broken, "have positions"), (missing, "are missing")):
        assert quality.reason is None if not counts else f"5 % of the samples {words}" in quality.reason


def test_samples_that_are_missing_are_no_scatter():
    """Sixteen of 500 in one gap are 3.2 %, which is no reason; the other stamps are as even as can be."""
    times = np.delete(np.arange(500) * 1e-3, np.arange(200, 216))
    quality = judge(times, moving(times))
    assert quality.missing_share == pytest.approx(16 / 499) and quality.reason is None
    assert quality.jitter < 0.05
    # Its intervals deviate by 0.7 of their mean.
    assert np.diff(times).std() / np.diff(times).mean() > 0.6


@pytest.mark.parametrize(("jitter", "fine"), [(0.29, True), (0.31, False)])
def test_stamps_scatter_by_the_standard_deviation_of_their_distances(jitter, fine):
    # Distances of 1 + j and 1 - j periods.
    intervals = 1e-3 * (1.0 + jitter * (-1.0) ** np.arange(400))
    times = np.concatenate([[0.0], np.cumsum(intervals)])
    quality = judge(times, moving(times))
    assert quality.jitter == pytest.approx(jitter, rel=1e-6) and quality.missing_share == 0.0
    assert quality.reason is None if fine else "31 % of their period" in quality.reason


def test_only_the_newest_samples_count():
    times = np.concatenate([np.arange(100) * 0.1, 9.9 + np.arange(1, 51) * 1e-3])
    monitor = InputMonitor(2, samples=50)
    assert judge(times, moving(times), monitor).rate == pytest.approx(1000.0)
    assert judge(times, moving(times), InputMonitor(2, samples=150)).rate < 20.0


@pytest.mark.parametrize(
    ("field", "value", "least"), [("joint_count", 0, 1), ("samples", 19, 20), ("lowest_rate", 0.0, 1e-9)]
)
def test_a_monitor_has_joints_samples_and_a_rate(field, value, least):
    with pytest.raises(InvalidInputError, match=field):
        InputMonitor(**{"joint_count": 2, field: value})
    InputMonitor(**{"joint_count": 2, field: least})


def test_ten_usable_samples_are_needed_and_twenty_of_any_kind_to_complain():
    times = np.arange(10) * 1e-3
    assert np.isnan(judge(times[:9], moving(times[:9])).rate)
    assert judge(times, moving(times)).rate == pytest.approx(1000.0)
    monitor = InputMonitor(2)
    monitor.update(JointSample(0.0, np.zeros(2)))
    for count in range(2, 25):
        monitor.update(JointSample(0.0, "left"))
        quality = monitor.quality()
        assert quality.broken_share == pytest.approx((count - 1) / count)
        assert (quality.reason is None) is (count < 20)
    assert "no usable positions" in quality.reason


def test_a_broken_sample_spoils_neither_the_steps_nor_the_stamps():
    monitor = InputMonitor(2)
    for k in range(100):
        time = k * 1e-3
        monitor.update(JointSample(time, moving(np.array([time]))[0]))
        if k == 50:
            for wrong in (JointSample(float("nan"), np.zeros(2)), JointSample(9.0, np.full(2, np.nan))):
                monitor.update(wrong)
            monitor.update(JointSample(9.0, np.zeros(3)))
            monitor.update(JointSample("never", np.zeros(2)))
    quality = monitor.quality()
    assert (quality.rate, quality.fresh_rate) == (pytest.approx(1000.0), pytest.approx(1000.0))
    assert quality.broken_share == pytest.approx(4 / 104) and quality.jitter < 1e-9


def test_time_that_runs_backwards_begins_anew():
    monitor = InputMonitor(2)
    times = np.arange(100) * 0.1
    judge(times, moving(times), monitor)
    later = np.arange(100) * 1e-3
    assert judge(later, moving(later), monitor).rate == pytest.approx(1000.0)


@pytest.mark.parametrize(("step", "is_moving"), [(2.1e-5, True), (1.9e-5, False)])
def test_steps_of_the_encoder_are_no_motion(step, is_moving):
    times = np.arange(100) * 1e-3
    positions = np.outer(np.arange(100) // 10 * step, [0.5, 1.0])
    quality = judge(times, positions)
    assert quality.moving is is_moving
    assert quality.fresh_rate == pytest.approx(100.0 if is_moving else 1000.0)


def test_what_is_wrong_is_told_in_per_cent():
    times = np.arange(500) * 1e-3
    positions = moving(times)
    positions[np.arange(500) % 5 < 3] = np.nan
    assert judge(times, positions).reason.startswith("60 % of the samples have positions")
    kept = times[np.arange(500) % 10 < 4]
    assert judge(kept, moving(kept)).reason.startswith("60 % of the samples are missing")


def test_stamps_that_stand_still_are_no_fault_of_the_positions():
    monitor = InputMonitor(2)
    for k in range(25):
        monitor.update(JointSample(3.0, moving(np.array([1e-3 * k]))[0]))
    assert "stamps stand still" in monitor.quality().reason
