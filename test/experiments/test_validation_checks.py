"""Every validation holds, and the command says so in the promised form."""

import json
import math

import pytest

from impact_aware.cli.main import main
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.experiments.validation import VALIDATIONS, Check, run_validation
from impact_aware.experiments.validation.context import ValidationContext

# Those with random impacts or long simulations are run with few trials and no figures here.
SLOW = {"flexible-joint", "flexible-joint-7", "coulomb", "mujoco-surface", "mujoco-palms", "simultaneous"}
QUICK = [name for name in VALIDATIONS if name not in SLOW]


@pytest.mark.parametrize("name", QUICK)
def test_the_papers_numbers_are_reproduced(name):
    checks = run_validation(name, ValidationContext())
    assert checks
    failed = [
        f"{check.quantity}: printed {check.printed}, computed {check.computed}" for check in checks if not check.ok
    ]
    assert not failed
    assert all(check.name == name and check.paper and check.quantity for check in checks)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW & set(VALIDATIONS)))
def test_statistical_validations_hold_with_few_trials(name):
    checks = run_validation(name, ValidationContext(trials=6, seed=3))
    assert [check.quantity for check in checks if not check.ok] == []


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
    assert Check("paper", "quantity", 1.0, computed, 0.1, relation).ok is ok


def test_json_has_the_promised_fields_and_figures_are_files(tmp_path, capsys):
    assert main(["validate", "sliding-errors", "viscoelastic", "--json", "--out", str(tmp_path)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["ok"] is True
    for check in result["checks"]:
        assert {"name", "paper", "quantity", "printed", "computed", "tolerance", "ok"} <= set(check)
    assert {check["name"] for check in result["checks"]} == {"sliding-errors", "viscoelastic"}
    assert len(result["figures"]) == 3
    for figure in result["figures"]:
        assert (tmp_path / figure.rsplit("/", 1)[1]).stat().st_size > 10_000
    assert json.loads((tmp_path / "validate.json").read_text()) == result


def test_text_shows_both_values_and_the_assumption(capsys):
    assert main(["validate", "sliding-errors"]) == 0
    shown = capsys.readouterr().out
    assert "7.2891" in shown and "= 7.3" in shown and "[1] mean of 2|p - e|" in shown


def test_list_names_them_all(capsys):
    assert main(["validate", "--list", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == set(VALIDATIONS)


def test_unknown_names_and_empty_trials_are_refused(capsys):
    with pytest.raises(UnknownNameError, match="two-mass"):
        run_validation("three-mass", ValidationContext())
    assert main(["validate", "three-mass"]) == 2
    assert "expected one of" in capsys.readouterr().err
    with pytest.raises(InvalidInputError, match="trials"):
        ValidationContext(trials=0)
