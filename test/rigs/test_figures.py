"""Percentiles and repeated calls."""

from types import SimpleNamespace

import pytest

from impact_aware_rigs import figures
from impact_aware_rigs.figures import best_processor_times, percentiles


def test_percentiles_are_in_microseconds():
    # 0 to 200 us: linear interpolation puts the median at 100 and the 99th percentile at 198.
    assert percentiles([1e-6 * k for k in range(201)]) == pytest.approx({"p50_us": 100.0, "p99_us": 198.0})
    assert percentiles([3e-4]) == pytest.approx({"p50_us": 300.0, "p99_us": 300.0})
    assert percentiles([]) == {"p50_us": 0.0, "p99_us": 0.0}


@pytest.fixture
def clock(monkeypatch):
    """A clock that only calls advance."""
    clock = SimpleNamespace(now=5.0)
    read = lambda: clock.now  # noqa: E731
    monkeypatch.setattr(figures, "time", SimpleNamespace(perf_counter=read, process_time=read))
    return clock


def test_of_several_turns_the_best_counts_per_call_and_the_first_call_of_a_turn_does_not(clock):
    spent = iter([9.0, 2.0, 2.0, 9.0, 0.5, 1.5, 9.0, 4.0, 4.0])

    def contender():
        clock.now += next(spent)

    assert best_processor_times({"a": contender}, 2) == {"a": 1e6}
