import json

import numpy as np
import pytest

from impact_aware.experiments.random_report import draw_random, format_random, summarise_random


def row(number, cause="", **figures):
    drawn = {"mass_kg": 0.5 + 0.1 * number, "displacement_m": [0.0, 0.001 * number]}
    return {
        "key": str(number),
        "number": number,
        "controller": "proposed",
        "success": cause == "",
        "cause": cause,
        "drawn": json.dumps(drawn),
        "peak": 10.0,
        **figures,
    }


@pytest.fixture
def rows():
    return [
        row(0),
        row(1),
        row(2, "goal missed", off_centre_m=0.008),
        row(3, "safe mode: QP_INFEASIBLE"),
        row(4, "safe mode: EXCEPTION"),
        row(5, "start refused: start: got ...", peak=float("nan")),
    ]


def test_failures_are_counted_by_class_with_their_details(rows):
    own = summarise_random(rows)["controllers"]["proposed"]
    assert (own["trials"], own["done"], own["successes"]) == (6, 5, 2)
    assert own["success_rate"] == pytest.approx(2 / 6) and own["success_rate_of_done"] == pytest.approx(2 / 5)
    assert {name: entry["runs"] for name, entry in own["failures"].items()} == {
        "safe mode": 2,
        "goal missed": 1,
        "start refused": 1,
    }
    assert own["failures"]["safe mode"]["details"] == {"safe mode: QP_INFEASIBLE": 1, "safe mode: EXCEPTION": 1}
    assert own["peak"] == 10.0 and np.isnan(own["slip_m"])


def test_text_and_figure_say_why(rows, tmp_path):
    text = format_random(summarise_random(rows))
    assert "(touched 8.0 mm off centre)" in text
    for part in ("2 of 6 trials succeed", "1 refused", "safe mode", "0.5..2.5 kg"):
        assert part in text
    draw_random(rows, tmp_path / "random.png", "hit-and-push")
    assert (tmp_path / "random.png").stat().st_size > 5_000
