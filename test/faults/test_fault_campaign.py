"""Faults in process: the trials judge what they must, and the controller takes a sample of them well."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from impact_aware.cli.main import main
from impact_aware.control.guard import GuardedController
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.faults.campaign import format_table, plan, summarise
from impact_aware.faults.classes import FAULT_CLASSES
from impact_aware.faults.trial import FaultBench
from impact_aware.faults.trial_result import MODES, Trial


@pytest.fixture(scope="module")
def bench():
    return FaultBench()


def test_the_plan_has_every_class_in_every_mode_alike():
    trials = plan(500, seed=2)
    assert len(trials) >= 500
    count = len(trials) // (len(FAULT_CLASSES) * len(MODES))
    for name in FAULT_CLASSES:
        for mode in MODES:
            assert sum(trial.fault == name and trial.mode == mode for trial in trials) == count
    assert len(set(trials)) == len(trials)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [((0,), InvalidInputError), ((1, 0, ["dance"]), UnknownNameError), ((1, 0, [], ["fast"]), InvalidInputError)],
)
def test_a_plan_that_can_not_be_is_refused(arguments, error):
    with pytest.raises(error):
        plan(*arguments)


@pytest.mark.parametrize(
    ("fault", "mode", "reason"),
    [
        ("huge_velocity", "post", "STATE_IMPLAUSIBLE"),
        ("object_gone", "ante", "IMPACT_MISSED"),
        ("slow_source", "interim", "STATE_STALE"),
        ("clock_forward", "safe", "REQUESTED"),
        ("reorder", "post", ""),
    ],
)
def test_a_sample_of_faults_ends_as_it_must(bench, fault, mode, reason):
    result = bench.run(Trial(fault, mode, 11))
    assert result.failures == ()
    assert result.reason == reason
    assert result.recovered
    assert max(result.peak_effort_share, result.peak_rate_share) <= 1.0 + 1e-6


def test_a_trial_is_repeated_by_its_seed(bench):
    first, second = (bench.run(Trial("nan", "interim", 5)) for _ in range(2))
    assert repr(first) == repr(second)


def test_a_controller_that_sends_too_much_is_found_out(bench, monkeypatch):
    real = GuardedController.update

    def loud(self, *args, **more):
        command = real(self, *args, **more)
        return dataclasses.replace(command, effort=command.effort * 10.0)

    monkeypatch.setattr(GuardedController, "update", loud)
    assert any("over its limit" in failure for failure in bench.run(Trial("inf", "ante", 0)).failures)


def test_an_exception_is_found_out(bench, monkeypatch):
    def broken(self, *args, **more):
        raise RuntimeError("a mistake")

    monkeypatch.setattr(GuardedController, "update", broken)
    assert "RuntimeError: a mistake" in bench.run(Trial("silence", "ante", 0)).failures


def test_summary_and_table_count_failures_by_class(bench):
    good = bench.run(Trial("duplicate", "safe", 0))
    bad = dataclasses.replace(good, failures=("a command over its limit",))
    summary = summarise([good, bad])
    assert (summary["runs"], summary["failed"]) == (2, 1)
    assert summary["failed_trials"][0]["fault"] == "duplicate"
    assert "| `duplicate` |" in format_table(summary)
    assert np.isfinite(summary["longest_rest_s"])


def test_the_command_prints_one_object_and_refuses_nonsense_in_one_line(capsys):
    assert main(["faults", "duplicate", "--modes", "safe", "--runs", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 1
    assert main(["faults", "dance"]) == 2
    assert "dance" in capsys.readouterr().err
    assert main(["faults", "--list"]) == 0
    assert "slow_source" in capsys.readouterr().out
