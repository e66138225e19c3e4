"""`impact-aware campaign`: which runs, with which options, what it leaves behind and what it refuses."""

import csv
import dataclasses
import json

import numpy as np
import pytest
from episodes import episode

from impact_aware.cli import campaign as command
from impact_aware.cli.main import main
from impact_aware.experiments import campaign, campaign_plan

DONE = {"success": True, "cause": "", "peak": 3.0, "torque_jump": 0.02, "detection_delay_s": 0.002}


@pytest.fixture
def made(monkeypatch):
    """Runs that cost nothing: each takes its figures from its setup; returns what was asked for."""
    asked = []

    def run(setup, options):
        asked.append((setup, options))
        return {
            "key": setup.key,
            **dataclasses.asdict(setup),
            **DONE,
            "slip_m": float("nan"),
            "wall_s": 9.0,
            "cpu_s": 0.5,
        }

    monkeypatch.setattr("impact_aware.experiments.campaign_store.run_setup", run)
    monkeypatch.setattr(command, "simulate", lambda setup, options: episode(("left", "right")))
    return asked


def summary_of(capsys, *arguments, out):
    assert main(["campaign", *arguments, "--json", "--out", str(out)]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert json.loads((out / "summary.json").read_text()) == summary
    return summary


def test_the_papers_setups_are_run_once_each_and_summed_up(made, tmp_path, capsys):
    summary = summary_of(capsys, "dual-arm-grab", "--repeats", "1", "--workers", "1", "--seed", "7", out=tmp_path)
    assert {setup.controller for setup, _ in made} == set(campaign_plan.VARIANTS)
    assert {setup.campaign for setup, _ in made} == {"dual-arm-grab"}
    assert len(made) == summary["runs"] == 60
    assert {options.seed for _, options in made} == {7}
    assert (summary["task"], summary["seed"], summary["impact_map"]) == ("dual-arm-grab", 7, "direct")
    assert (summary["resumed"], summary["plant"]) == (0, "flexible")
    assert summary["cpu_s"] == pytest.approx(30.0)
    assert summary["success_rate"] == dict.fromkeys(campaign_plan.VARIANTS, 1.0)
    # What is not known is null in JSON.
    assert summary["slip_m"]["proposed"] is None
    assert {path.name for path in tmp_path.iterdir()} == {
        ".impact_aware.json",
        "runs.sqlite",
        "runs.csv",
        "summary.json",
        "groups.png",
        "comparison.png",
    }
    with (tmp_path / "runs.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["key"] for row in table] == [setup.key for setup, _ in made]
    assert (table[0]["peak"], table[0]["torque_jump"], table[0]["detection_delay_s"]) == ("3.0", "0.02", "0.002")


def test_a_campaign_goes_on_where_it_stopped(made, tmp_path, capsys):
    arguments = ("hit-and-push", "--workers", "1", "--controllers", "no_rs", "proposed_completion", "--no-figures")
    summary_of(capsys, *arguments, "--repeats", "1", out=tmp_path)
    assert {setup.controller for setup, _ in made} == {"no_rs", "proposed_completion"}
    made.clear()
    summary = summary_of(capsys, *arguments, "--repeats", "2", out=tmp_path)
    assert {setup.repeat for setup, _ in made} == {1}
    assert (summary["resumed"], summary["runs"]) == (30, 60)
    assert not list(tmp_path.glob("*.png"))


def test_options_reach_every_run(made, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "keep_maps", lambda setups, options: None)
    arguments = ("--impact-map", "sampled", "--plant", "rigid", "--repeats", "1", "--workers", "1", "--no-figures")
    summary = summary_of(capsys, "hit-and-push", *arguments, out=tmp_path)
    assert (summary["impact_map"], summary["plant"]) == ("sampled", "rigid")
    options = made[0][1]
    assert (options.impact_map, options.plant, options.maps) == ("sampled", "rigid", str(tmp_path))


def test_the_table_is_printed_for_people(made, tmp_path, capsys):
    assert main(["campaign", "hit-and-push", "--repeats", "1", "--workers", "1", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "displacement -30 mm" in text and f"60 runs, results in {tmp_path}" in text


def test_the_comparison_shows_the_nominal_run_of_each_controller(made, tmp_path, capsys, monkeypatch):
    shown = []

    def simulate(setup, options):
        shown.append(setup)
        return episode(("left", "right"))

    monkeypatch.setattr(command, "simulate", simulate)
    summary_of(capsys, "dual-arm-grab", "--repeats", "2", "--workers", "1", out=tmp_path)
    assert [setup.controller for setup in shown] == list(campaign_plan.VARIANTS)
    assert {(s.object, s.start, s.displacement, s.repeat) for s in shown} == {("cat_food", 0, 0.015, 0)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "0"], "--workers"),
        (["--repeats", "0"], "repeats"),
        (["--controllers", "best"], "controller"),
    ],
)
def test_what_can_not_be_run_is_refused_before_the_folder_is_touched(made, tmp_path, capsys, arguments, message):
    out = tmp_path / "new"
    assert main(["campaign", "hit-and-push", *arguments, "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists() and not made


def test_a_row_is_a_line_also_when_an_error_is_not(made, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(campaign, "simulate", lambda *_: (_ for _ in ()).throw(ValueError("two\nlines")))
    row = campaign.run_setup(campaign_plan.plan("hit-and-push", 1)[0])
    assert row["cause"] == "error: ValueError: two\nlines" and np.isfinite(row["wall_s"])
