import dataclasses
import re
from pathlib import Path

import pytest

from impact_aware.control import VARIANTS, ControlParameters, Mode
from impact_aware.control.qp import QpStatus
from impact_aware.errors import InvalidInputError
from impact_aware.messages.controller_state import REASONS
from impact_aware.parameters import parameter_rows

ROOT = Path(__file__).parents[2]


def test_the_defaults_are_table_one_of_paper_002():
    defaults = ControlParameters()
    assert (defaults.period, defaults.track_damping, defaults.track_stiffness) == (0.001, 40.0, 40.0)
    assert (defaults.null_space_stiffness, defaults.interim_duration) == (250.0, 0.1)
    assert (defaults.track_weight, defaults.null_space_weight) == (1.0, 1.0)
    # Not 10 and 1, with which shipped starts hit up to 80 ms apart (docs/papers.md).
    assert (defaults.sync_stiffness, defaults.sync_weight) == (100.0, 100.0)


def test_the_variants_differ_in_what_the_paper_takes_away():
    has = {name: ControlParameters(variant=name) for name in VARIANTS}
    assert {name: (p.uses_interim, p.uses_prediction) for name, p in has.items()} == {
        "proposed": (True, True),
        "no_rs": (False, False),
        "no_interim": (False, True),
        "no_impact_map": (True, False),
    }


def test_every_parameter_is_described():
    assert all(row.text for row in parameter_rows(ControlParameters))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("period", 0.0),
        ("track_damping", -1.0),
        ("track_damping", float("nan")),
        ("interim_duration", 100.0),
        ("variant", "best"),
        ("interim_end", "soon"),
        ("regularisation", 0.0),
    ],
)
def test_refuses_a_value_out_of_its_range_by_name(field, value):
    with pytest.raises(InvalidInputError, match=field):
        ControlParameters(**{field: value})


PAGE = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8").partition("ControlParameters`):")[2]
STATED = {
    name: (float(default), float(low), float(high))
    for name, default, low, high in re.findall(
        r"^\| `(\w+)` \| `([-\d.e]+)` \| (\S+) to (\S+) \|", PAGE.partition("\n## ")[0], re.MULTILINE
    )
}


def test_every_number_has_a_default_and_a_range_on_the_page_of_parameters():
    numbers = {entry.name for entry in dataclasses.fields(ControlParameters) if not entry.metadata["choices"]}
    assert set(STATED) == numbers


@pytest.mark.parametrize("name", STATED)
def test_a_number_is_as_the_page_of_parameters_says(name):
    default, low, high = STATED[name]
    assert getattr(ControlParameters(), name) == default
    for value in (low, high):
        assert getattr(ControlParameters(**{name: value}), name) == value
    for value in (low - 1e-9, high + 1e-9, float("inf"), float("nan")):
        with pytest.raises(InvalidInputError, match=name):
            ControlParameters(**{name: value})


def test_modes_reasons_and_solver_states_have_the_numbers_of_the_message():
    text = (ROOT / "msg" / "msg" / "ControllerState.msg").read_text(encoding="utf-8")
    for kind, prefix in ((Mode, "MODE"), (QpStatus, "SOLVER")):
        stated = re.findall(rf"uint8 {prefix}_(\w+) = (\d+)", text)
        assert {own.name: own.value for own in kind} == {name: int(number) for name, number in stated}
    stated = re.findall(r"uint8 REASON_(\w+) = (\d+)", text)
    reasons = {"NONE" if reason is None else reason.name: number for reason, number in REASONS.items()}
    assert reasons == {name: int(number) for name, number in stated}
