"""Every validation holds, and the command says so in the promised form."""

import json
import math
from dataclasses import replace

import pytest

from impact_aware.cli import validate
from impact_aware.cli.main import main
from impact_aware.cli.validate import format_checks
from impact_aware.control.parameters import ControlParameters
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.experiments.validation import VALIDATIONS, Check, run_validation
from impact_aware.experiments.validation import joint_signals as delay_module
from impact_aware.experiments.validation import velocity_horizon as horizon_module
from impact_aware.experiments.validation.check import KINDS, Source, ValidationContext

# Those with random impacts or long simulations are run with few trials and no figures here.
SLOW = {
    "flexible-joint", "flexible-joint-7", "coulomb", "mujoco-palms", "simultaneous", "engines", "end-of-compression",
    "push", "fit-delay", "sensitive-joint", "spread",
}  # fmt: skip
QUICK = [name for name in VALIDATIONS if name not in SLOW]


@pytest.mark.parametrize("name", QUICK)
def test_the_papers_numbers_are_reproduced(name):
    checks = run_validation(name, ValidationContext())
    assert checks
    failed = [
        f"{check.quantity}: expected {check.expected}, computed {check.computed}" for check in checks if not check.ok
    ]
    assert not failed
    assert all(check.name == name and check.paper and check.quantity for check in checks)
    assert_kinds_are_declared(name, checks)


def assert_kinds_are_declared(name, checks):
    """Of every kind that the list names there is a check, and only a printed number counts as printed."""
    assert {check.kind for check in checks} == set(VALIDATIONS[name].kinds)
    assert all((check.printed is None) == (check.kind != "printed") for check in checks)
    assert all(check.expected is not None for check in checks if check.kind != "aim")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW & set(VALIDATIONS)))
def test_statistical_validations_hold_with_few_trials(name):
    checks = run_validation(name, ValidationContext(trials=6, seed=3))
    assert [check.quantity for check in checks if check.mark == "FAIL"] == []
    assert_kinds_are_declared(name, checks)


@pytest.mark.parametrize(
    ("relation", "computed", "ok"),
    [
        ("equal", 1.05, True),
        ("equal", 1.15, False),
        ("equal", 0.85, False),
        ("at most", 0.0, True),
        ("at most", 1.2, False),
        ("at least", 5.0, True),
        ("at least", 0.8, False),
        ("equal", math.nan, False),
        ("at most", math.nan, False),
    ],
)
def test_a_check_holds_as_its_relation_says(relation, computed, ok):
    assert Check("paper", "quantity", "aim", 1.0, computed, 0.1, relation).ok is ok


def test_a_value_that_is_only_reported_has_nothing_to_miss_but_has_to_be_a_number():
    source = Source("paper", "aim", "assumed")
    shown = source.reported("quantity", 7.0)
    assert shown.ok and shown.expected is None and shown.printed is None and shown.assumption == "assumed"
    assert not source.reported("quantity", math.nan).ok


def test_only_what_a_paper_prints_is_given_as_printed():
    checks = [Source("paper", kind).at_least("quantity", 3.0, 4.0, 0.5) for kind in KINDS]
    assert [check.printed for check in checks] == [3.0, None, None]
    assert [(row["kind"], row["expected"], row["printed"]) for row in (check.as_dict() for check in checks)] == [
        ("printed", 3.0, 3.0),
        ("aim", 3.0, None),
        ("consistency", 3.0, None),
    ]


@pytest.mark.parametrize("name", ["two-mass", "detection-delay", "push"])
def test_a_printed_number_is_held_from_both_sides_to_its_last_digit(name):
    """What is one-sided, or has a tolerance of ours, is an aim."""
    printed = [check for check in run_validation(name, ValidationContext(trials=6)) if check.kind == "printed"]
    assert all(check.relation == "equal" and check.tolerance <= 0.005 for check in printed)
    assert len(printed) == (name == "two-mass")


def test_json_has_the_promised_fields_and_figures_are_files(tmp_path, capsys):
    assert main(["validate", "sliding-errors", "viscoelastic", "--json", "--out", str(tmp_path)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["ok"] is True
    for check in result["checks"]:
        fields = {"name", "paper", "quantity", "kind", "expected", "printed", "computed", "tolerance", "relation", "ok"}
        assert fields <= set(check)
    assert {check["name"] for check in result["checks"]} == {"sliding-errors", "viscoelastic"}
    assert len(result["figures"]) == 3
    for figure in result["figures"]:
        assert (tmp_path / figure.rsplit("/", 1)[1]).stat().st_size > 10_000
    assert json.loads((tmp_path / "validate.json").read_text()) == result


def test_text_shows_both_values_and_the_assumption(capsys):
    assert main(["validate", "sliding-errors"]) == 0
    shown = capsys.readouterr().out
    row = next(line.split() for line in shown.splitlines() if "7.2891" in line)
    assert row[:8] == ["ok", "Aouaj", "2021", "Table", "II", "printed", "=", "7.3"]
    assert "[1] mean of 2|p - e|" in shown


def test_text_shows_what_is_only_reported_without_a_bound():
    shown = format_checks([Source("paper", "aim").reported("spread", 2.5)]).splitlines()[1].split()
    assert shown == ["ok", "paper", "aim", "-", "2.5", "-", "spread"]


def test_list_names_them_all(capsys):
    assert main(["validate", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert set(listed) == set(VALIDATIONS)
    assert all(entry["kinds"] and set(entry["kinds"]) <= set(KINDS) for entry in listed.values())
    assert main(["validate", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, entry in listed.items():
        assert any(line.split()[0] == name and ", ".join(entry["kinds"]) in line for line in lines if line)


def test_unknown_names_and_empty_trials_are_refused(capsys):
    with pytest.raises(UnknownNameError, match="two-mass"):
        run_validation("three-mass", ValidationContext())
    assert main(["validate", "three-mass"]) == 2
    assert "expected one of" in capsys.readouterr().err
    with pytest.raises(InvalidInputError, match="trials"):
        ValidationContext(trials=0)


def test_a_check_that_fails_ends_the_command_with_1(monkeypatch, capsys):
    failed = Source("paper", "aim").at_most("quantity", 1.0, 2.0)
    monkeypatch.setattr(validate, "run_validation", lambda name, context: [failed])
    assert main(["validate", "viscoelastic", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_an_aim_that_is_known_as_missed_is_shown_and_ends_the_command_with_0(monkeypatch, capsys):
    missed = replace(Source("paper", "aim").at_most("quantity", 1.0, 2.0), known_miss=True)
    monkeypatch.setattr(validate, "run_validation", lambda name, context: [missed, replace(missed, computed=0.5)])
    assert main(["validate", "viscoelastic"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines if "paper" in line[:2]][1:] == ["miss", "ok"]
    assert lines[-1] == "1 of 2 checks hold, 1 aims are known as missed".split()
    assert main(["validate", "viscoelastic", "--json"]) == 0
    assert [check["ok"] for check in json.loads(capsys.readouterr().out)["checks"]] == [False, True]


def test_a_horizon_of_one_period_changes_no_torque(monkeypatch):
    found = run_validation("velocity-horizon", ValidationContext(trials=10))
    assert found[0].computed > 50.0 and 0.0 < found[1].computed < found[2].computed
    one_period = ControlParameters(velocity_horizon=ControlParameters().period)
    monkeypatch.setattr(horizon_module, "ControlParameters", lambda: one_period)
    found = run_validation("velocity-horizon", ValidationContext(trials=10))
    assert [check.computed for check in found] == [0.0, 0.0, 0.0]


def test_of_several_delays_the_longest_is_reported(monkeypatch):
    delays = iter([2e-3, 1e-3, 3.5e-3, 1e-3, 4.5e-3, 2e-3])
    monkeypatch.setattr(delay_module, "_run", lambda *_: None)
    monkeypatch.setattr(delay_module, "_delay", lambda run, parameters: next(delays))
    found = run_validation("detection-delay", ValidationContext())
    assert [(check.computed, check.ok) for check in found] == [(pytest.approx(3.5), True), (pytest.approx(4.5), False)]
