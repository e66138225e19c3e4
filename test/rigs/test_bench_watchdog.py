"""The figures of the watchdog's benchmark, and one run of it with real processes."""

from __future__ import annotations

import json

import pytest

from impact_aware.cli.main import main
from impact_aware_rigs.bench import watchdog


def bench(capsys, *options: str) -> dict:
    assert main(["bench", "watchdog", "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_figures_are_of_each_way_to_die_and_leave_false_stops_out(monkeypatch, capsys):
    rows = iter(
        [
            {"how": "killed", "held_ms": 21.0, "false_stop": False},
            {"how": "stopped", "held_ms": 40.0, "false_stop": False},
            {"how": "killed", "held_ms": 25.0, "false_stop": False},
            {"how": "stopped", "held_ms": 1.0, "false_stop": True},
        ]
    )
    asked = []
    monkeypatch.setattr(
        watchdog, "_measured", lambda how, seconds: asked.append(how) or next(rows) | {"late_looks": 2, "looks": 100}
    )
    result = bench(capsys, "--runs", "2")
    assert asked == ["killed", "stopped"] * 2
    assert result["held_ms"] == {"killed": {"p50": 23.0, "max": 25.0}, "stopped": {"p50": 40.0, "max": 40.0}}
    assert (result["within_aim"], result["false_stops"], result["late_looks"], result["looks"]) == (2, 1, 8, 400)


@pytest.mark.parametrize("options", [["--runs", "0"], ["--seconds", "0"], ["--seconds", "nan"]])
def test_no_run_and_no_time_are_refused(options, capsys):
    assert main(["bench", "watchdog", *options]) == 2
    assert f"{options[0]}: got" in capsys.readouterr().err


@pytest.mark.dds
@pytest.mark.slow
def test_a_source_that_is_killed_loses_the_arm(capsys, forked_nodes):
    result = bench(capsys, "--runs", "1", "--seconds", "0.2")
    assert result["runs"] == 2
    held = [own["max"] for own in result["held_ms"].values()]
    # Not how soon: that is the machine's.
    assert all(15.0 < value < 60e3 for value in held)
    assert result["false_stops"] + len(held) == 2
