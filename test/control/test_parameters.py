import pytest

from impact_aware.control import VARIANTS, ControlParameters
from impact_aware.errors import InvalidInputError
from impact_aware.parameters import parameter_rows


def test_the_defaults_are_table_one_of_paper_002():
    defaults = ControlParameters()
    assert (defaults.period, defaults.track_damping, defaults.track_stiffness) == (0.001, 40.0, 40.0)
    assert (defaults.null_space_stiffness, defaults.sync_stiffness, defaults.interim_duration) == (250.0, 10.0, 0.1)
    assert (defaults.track_weight, defaults.null_space_weight, defaults.sync_weight) == (1.0, 1.0, 1.0)


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
