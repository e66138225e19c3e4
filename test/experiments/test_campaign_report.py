import itertools
import json

import pytest

from impact_aware.control import VARIANTS
from impact_aware.experiments.campaign_report import draw_groups, format_table, summarise

PEAKS = {"proposed": 3.0, "no_rs": 13.0, "no_interim": 4.0, "no_impact_map": 7.0}


def rows():
    setups = itertools.product(("juice_pack", "parcel"), (0, 1), (-0.03, 0.0), VARIANTS)
    return [
        {
            "object": name,
            "start": start,
            "displacement": shift,
            "controller": controller,
            "success": controller != "no_rs" or start == 0,
            "cause": "" if controller != "no_rs" or start == 0 else "goal missed",
            "peak": PEAKS[controller] + (1.0 if name == "juice_pack" else 0.0),
            "peak_linear": 3.0 if controller == "no_interim" and shift else PEAKS[controller],
            "peak_linear_after": 0.5 * PEAKS[controller],
            "torque_jump": 0.01,
            "torque_swing": 0.15 if controller == "no_rs" and shift else 0.05,
            "time_to_track_s": float("inf") if controller == "no_rs" and start else 0.1,
            "goal_error_m": 0.005,
            "detection_delay_s": 0.002,
            "false_detections": 0,
            "prediction_error": 0.03,
        }
        for name, start, shift, controller in setups
    ]


def test_groups_are_means_over_all_runs_with_that_value():
    summary = summarise(rows())
    assert summary["groups"]["object"]["juice_pack"] == {name: peak + 1.0 for name, peak in PEAKS.items()}
    assert summary["groups"]["initial"]["1"]["proposed"] == pytest.approx(3.5)
    assert list(summary["groups"]["displacement"]) == ["-30 mm", "0 mm"]


def test_success_rates_failures_and_shares():
    summary = summarise(rows())
    assert summary["success_rate"]["proposed"] == 1.0
    assert summary["success_rate"]["no_rs"] == 0.5
    assert summary["failures"]["no_rs"] == {"goal missed": 4}
    assert summary["proposed_lowest_in"] == 1.0
    # Where the displaced runs alone are counted, another controller is as low.
    assert summary["proposed_lowest_in_linear"] == pytest.approx(5 / 6)
    assert summary["proposed_lowest_or_tied_in_linear"] == 1.0
    assert summary["proposed_lowest_in_linear_after"] == 1.0
    assert summary["torque_jump"]["proposed"] == {"largest": 0.01, "mean": 0.01, "over_10_percent": 0.0}
    assert summary["torque_swing"]["no_rs"] == {
        "largest": 0.15,
        "mean": pytest.approx(0.10),
        "over_10_percent": 0.5,
    }
    assert summary["time_to_track_s"]["no_rs"] == pytest.approx(0.1)
    assert summary["never_tracked"] == {"proposed": 0, "no_rs": 4, "no_interim": 0, "no_impact_map": 0}
    assert summary["detection_delay_ms"]["mean"] == pytest.approx(2.0)
    json.dumps(summary)


def test_our_own_variant_is_no_baseline():
    better = [
        {**row, "controller": "proposed_completion", "peak": 1.0} for row in rows() if row["controller"] == "proposed"
    ]
    summary = summarise([*rows(), *better])
    assert summary["peak"]["proposed_completion"] == 1.0
    assert summary["proposed_lowest_in"] == 1.0


def test_rows_of_failed_runs_do_not_spoil_the_means():
    failed = [{**row, "peak": float("nan"), "success": False, "cause": "E"} for row in rows()[:4]]
    summary = summarise([*rows(), *failed])
    assert summary["groups"]["object"]["juice_pack"]["proposed"] == pytest.approx(4.0)


def test_table_and_figure_name_every_group(tmp_path):
    summary = summarise(rows())
    table = format_table(summary)
    for text in ("juice_pack", "displacement -30 mm", "initial 2", "success", "no interim mode"):
        assert text in table
    draw_groups(summary, tmp_path / "groups.png", "hit-and-push")
    assert (tmp_path / "groups.png").stat().st_size > 10_000
