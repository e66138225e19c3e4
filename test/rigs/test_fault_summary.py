"""Figures of many fault trials, and the table made of them, on results written by hand."""

import math
from typing import Any

import pytest

from impact_aware_rigs.faults.campaign import DROPPED, format_table, summarise
from impact_aware_rigs.faults.classes import Trial, TrialResult


def result(fault: str = "nan", mode: str = "ante", seed: int = 3, **changes: Any) -> TrialResult:
    values: dict[str, Any] = {
        "trial": Trial(fault, mode, seed), "world": "perfect", "arms": ("left",), "severity": 0.0, "duration": 0.1,
        "reason": "STATE_STALE", "detail": "", "expected": ("STATE_STALE",), "outcome": "safe", "rest_time": 0.4,
        "recovered": True, "peak_effort_share": 0.5, "peak_rate_share": 0.25, "held": False, "fell": math.nan,
        "failures": (),
    }  # fmt: skip
    return TrialResult(**values | changes)


RESULTS = (
    result(),
    result("silence", reason="", outcome="done", rest_time=math.nan, peak_effort_share=0.75, world="noisy"),
    result("nan", rest_time=0.7, recovered=False, failures=("too late", "and more"), world="noisy", arms=("right",)),
    result("nan", "post", 7, reason="IMPACT_MISSED", rest_time=0.2, peak_rate_share=0.9, held=True, fell=0.2),
    result("silence", outcome="restarted", reason="", rest_time=math.nan, held=True, fell=DROPPED - 1e-4),
)


def test_figures_of_all_trials():
    summary = summarise(RESULTS)
    assert {key: summary[key] for key in ("runs", "failed", "longest_rest_s", "recovered")} == {
        "runs": 5, "failed": 1, "longest_rest_s": 0.7, "recovered": 4,
    }  # fmt: skip
    assert (summary["peak_effort_share"], summary["peak_rate_share"]) == (0.75, 0.9)
    assert summary["outcomes"] == {"STATE_STALE": 2, "done": 1, "IMPACT_MISSED": 1, "restarted": 1}


def test_table_has_a_row_per_class_in_the_order_of_its_head():
    lines = format_table(summarise(RESULTS)).splitlines()
    assert lines == [
        "| fault | what happens | runs | outcomes | rest within | recovered | failed |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| `nan` | a position is NaN | 3 | STATE_STALE 2, IMPACT_MISSED 1 | 0.70 s | 2 | 1 |",
        "| `silence` | no states at all | 2 | done 1, restarted 1 |  | 2 | 0 |",
    ]


@pytest.mark.parametrize(("fell", "dropped"), [(DROPPED, 0), (DROPPED + 1e-6, 1), (-0.01, 0)])
def test_an_object_was_dropped_when_it_came_down_further_than_the_limit(fell, dropped):
    assert summarise([result(held=True, fell=fell)])["objects"] == {"held": 1, "dropped": dropped}
