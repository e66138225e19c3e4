"""The plan of the starts, their circumstances, and what is said of those that fail."""

from __future__ import annotations

import argparse

import pytest

from impact_aware.errors import InvalidInputError
from impact_aware_rigs.bench import starts
from impact_aware_rigs.bench.starts import Start, measured, planned, summary


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    starts.add_arguments(parser)
    return parser.parse_args(words)


def test_thirty_starts_meet_every_circumstance_with_either_task() -> None:
    plan = planned(arguments("--runs", "30"))
    assert len(plan) == 30
    for task in starts.TASKS:
        own = [start for start in plan if start.task == task]
        assert len(own) == 15
        assert {start.busy for start in own} == {0, 1, 2}
        assert {start.busy for start in own if start.cold} == {0, 1, 2}
        assert 4 <= sum(start.cold for start in own) <= 6
        orders = [start.order for start in own if start.order is not None]
        assert len(orders) == len(set(orders)) >= 7
    assert planned(arguments("--runs", "30", "--seed", "100"))[1].order == 101


def test_circumstances_can_be_fixed() -> None:
    plan = planned(arguments("--runs", "12", "--task", "dual-arm-grab", "--busy", "1", "--warm"))
    assert {(start.task, start.busy, start.cold) for start in plan} == {("dual-arm-grab", 1, False)}


@pytest.mark.slow
def test_a_start_that_fails_is_counted_with_its_own_words() -> None:
    row = measured(Start("hit-and-push", busy=1, cold=False, order=3), ["--robot", "pandaa"])
    assert row["run"] == "hit-and-push, warm, 1 busy, order 3"
    assert "pandaa" in row["reason"]
    assert row["goal_error_m"] is None


def test_the_summary_counts_reasons_and_takes_times_and_losses_of_all() -> None:
    rows = [
        {
            "reason": reason, "seconds": seconds, "states_lost": lost, "real_time_factor": factor,
            "false_detections": false,
        }
        for reason, seconds, lost, factor, false in (
            ("", 1.0, 0.0, 1.0, 0),
            ("a", 5.0, None, None, None),
            ("a", 3.0, None, None, None),
            ("", 2.0, 0.5, 0.7, 2),
        )
    ]
    found = summary(rows)
    assert (found["runs"], found["failed"], found["reasons"]) == (4, 2, {"a": 2})
    assert found["seconds"] == {"p50": 2.5, "max": 5.0}
    assert found["states_lost"] == {"p50": 0.25, "max": 0.5}
    assert found["real_time_factor"] == {"p50": 0.85, "min": 0.7}
    assert found["false_detections"] == 2


def test_no_start_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="--runs: got 0, expected a number >= 1"):
        starts.run(arguments("--runs", "0"))
