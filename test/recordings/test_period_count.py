"""Numbers of a source's periods at samples whose stamps and steps mislead one by one."""

import numpy as np
import pytest

from impact_aware.arrays import Array
from impact_aware.recordings.period_count import periods_counted

RATE = 500.0


def arm(times: Array, hit: float | None = None) -> Array:
    """Positions of three joints that go to and fro, as encoders of 10 urad see them."""
    positions = np.sin(np.outer(times, [1.1, 1.7, 2.3]) + [0.3, 1.0, 2.0]) * [0.4, 0.3, 0.2]
    if hit is not None:
        positions = positions + np.maximum(times - hit, 0.0)[:, None] * [0.5, -0.8, 0.3]
    return np.asarray(np.round(positions / 1e-5) * 1e-5)


def polled(seconds: float, ratio: float) -> tuple[Array, Array]:
    """Stamps and numbers of the latest sample, each sample once, of a poll every `ratio` periods on average."""
    rng = np.random.default_rng(3)
    intervals = rng.uniform(ratio - 0.25, ratio + 0.25, round(seconds * RATE / ratio))
    intervals[::400] += 9.0
    stamps = np.cumsum(intervals)
    numbers, first = np.unique(np.floor(stamps), return_index=True)
    return stamps[first] / RATE, numbers


@pytest.mark.parametrize("ratio", [0.94, 1.0, 1.06])
@pytest.mark.parametrize("hit", [None, 3.1])
def test_a_poll_at_any_time_of_the_period_counts_right(ratio: float, hit: float | None) -> None:
    stamps, numbers = polled(8.0, ratio)
    count, _, period = periods_counted(stamps, arm(numbers / RATE, hit))
    assert period * RATE == pytest.approx(1.0, abs=2e-4)
    wrong = np.diff(count) != np.diff(numbers)
    assert not wrong.any()


def test_late_stamps_and_lost_samples_differ_by_the_motion() -> None:
    rng = np.random.default_rng(4)
    numbers = np.delete(np.arange(4000.0), rng.choice(np.arange(10, 3990), 60, replace=False))
    stamps = numbers / RATE + np.minimum(3e-5 * np.abs(rng.standard_t(1.5, len(numbers))), 9e-3)
    order = np.argsort(stamps)
    stamps, numbers = stamps[order], numbers[order]
    count, _, period = periods_counted(stamps, arm(numbers / RATE))
    assert period * RATE == pytest.approx(1.0, abs=1e-5)
    assert np.diff(numbers).min() < -2.0
    np.testing.assert_array_equal(np.diff(count), np.diff(numbers))


def test_a_count_is_as_uncertain_as_it_is_wrong() -> None:
    """Steps of a slow arm are as small as the encoder's noise, and stamps show a period's number to one or so."""
    stamps, numbers = polled(16.0, 1.0)
    slow = np.abs(numbers / RATE - 8.0) < 4.0
    path = np.cumsum(np.diff(numbers, prepend=0.0) * np.where(slow, 0.02, 1.0)) / RATE
    count, std, _ = periods_counted(stamps, arm(path))
    error = count - numbers - np.median(count - numbers)
    assert 0.01 < np.mean(error[slow] ** 2) < np.mean(std[slow] ** 2) < 0.1 and not error[~slow].any()
    assert (std[~slow] < 0.05).all()
    assert np.mean(np.abs(error[slow]) <= 2.0 * std[slow] + 0.05) > 0.95


def test_at_rest_the_stamps_decide() -> None:
    numbers = np.delete(np.arange(2000.0), np.arange(900, 907))
    moving = arm(np.clip(numbers, 1200.0, None) / RATE)
    count, _, _ = periods_counted(numbers / RATE, moving)
    assert count[-1] == numbers[-1]


@pytest.mark.parametrize("samples", [2, 12, 30])
def test_few_samples_are_counted_one_by_one(samples: int) -> None:
    times = np.arange(samples) / RATE
    count, _, period = periods_counted(times, arm(times))
    np.testing.assert_array_equal(count, np.arange(samples))
    assert period == pytest.approx(1.0 / RATE)


@pytest.mark.parametrize("seconds", [0.7, 4.5])
def test_a_short_poll_that_moves_at_its_end_counts_right(seconds: float) -> None:
    stamps, numbers = polled(seconds, 1.0)
    begin = numbers[-1] - 200.0
    count, _, _ = periods_counted(stamps, arm(np.maximum(numbers, begin) / RATE))
    moving = numbers[:-1] > begin
    np.testing.assert_array_equal(np.diff(count)[moving], np.diff(numbers)[moving])


def test_a_step_of_the_clock_leaves_the_period() -> None:
    """It lasts more periods than are searched, and is in every pair of samples that the period is measured by."""
    stamps, numbers = polled(4.0, 1.0)
    later = np.arange(len(stamps)) >= 900
    count, _, period = periods_counted(stamps + 37.0 * later, arm(numbers / RATE))
    assert period * RATE == pytest.approx(1.0, abs=2e-4)
    assert np.flatnonzero(np.diff(count) != np.diff(numbers)).tolist() == [899]
    assert np.diff(count)[899] == pytest.approx(37.0 * RATE + 1.0, abs=5.0)


def test_stamps_that_come_three_times_each_are_counted_one_by_one() -> None:
    """The usual interval is 0, of which no gap is a multiple."""
    count, _, period = periods_counted(np.repeat(np.arange(20) / RATE, 3), np.zeros((60, 3)))
    np.testing.assert_array_equal(count, np.arange(60.0))
    assert period == 0.0
