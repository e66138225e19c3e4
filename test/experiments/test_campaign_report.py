"""The tables and plots of campaigns, on rows made by hand: unequal groups, failures, numbers that are missing."""

import itertools
import json
import math

import numpy as np
import pytest
from episodes import ROWS, episode, event

from impact_aware.control import VARIANTS
from impact_aware.experiments.campaign_plots import plot_comparison, plot_groups, plot_random
from impact_aware.experiments.campaign_report import format_random, format_table, summarise, summarise_random

NAN, INF = float("nan"), float("inf")
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
            "peak_linear_after": 0.5 * PEAKS[controller] + (0.25 if start else 0.0),
            "torque_jump": 0.01 + (0.03 if start else 0.0),
            "torque_swing": 0.15 if controller == "no_rs" and shift else 0.05,
            "time_to_track_s": INF if controller == "no_rs" and start else 0.1,
            "goal_error_m": 0.005 if shift else 0.009,
            "slip_m": 0.001 if name == "parcel" else NAN,
            "detection_delay_s": 0.002 if start else 0.005,
            "false_detections": 1 if controller == "no_rs" else 0,
            "prediction_error": 0.03 if shift else 0.05,
            "object_prediction_error": 0.02 if shift else 0.04,
            "object_prediction_share": 0.1 if shift else 0.3,
            "object_prediction_closing": 0.02 if shift else 0.05,
            "object_prediction_difference": 0.001 if start else 0.007,
        }
        for name, start, shift, controller in setups
    ]


def test_groups_are_means_over_all_runs_with_that_value():
    summary = summarise(rows())
    assert summary["groups"]["object"]["juice_pack"] == {name: peak + 1.0 for name, peak in PEAKS.items()}
    assert list(summary["groups"]["initial"]) == ["1", "2"]
    assert summary["groups"]["initial"]["2"]["proposed"] == pytest.approx(3.5)
    assert list(summary["groups"]["displacement"]) == ["-30 mm", "0 mm"]
    assert summary["groups_linear"]["displacement"]["-30 mm"]["no_interim"] == pytest.approx(3.0)
    assert summary["groups_linear"]["object"]["parcel"]["no_interim"] == pytest.approx(3.5)
    assert summary["groups_linear_after"]["initial"]["1"]["no_rs"] == pytest.approx(6.5)
    assert summary["groups_linear_after"]["initial"]["2"]["no_rs"] == pytest.approx(6.75)


def test_the_objects_keep_their_order_and_the_other_factors_are_sorted():
    summary = summarise(list(reversed(rows())))
    assert list(summary["groups"]["object"]) == ["parcel", "juice_pack"]
    assert list(summary["groups"]["displacement"]) == ["-30 mm", "0 mm"]


def test_a_displacement_has_its_sign():
    moved = [{**row, "displacement": -row["displacement"]} for row in rows()]
    assert list(summarise(moved)["groups"]["displacement"]) == ["0 mm", "+30 mm"]


def test_means_by_controller():
    summary = summarise(rows())
    assert summary["peak"]["no_impact_map"] == pytest.approx(7.5)
    assert summary["peak_linear"]["no_interim"] == pytest.approx(3.5)
    assert summary["peak_linear_after"]["proposed"] == pytest.approx(1.625)
    assert summary["slip_m"]["proposed"] == pytest.approx(0.001)
    assert summary["goal_error_m"]["no_rs"] == pytest.approx(0.007)
    assert summary["prediction_error"] == pytest.approx(0.04)
    assert summary["object_prediction"] == {
        "error": pytest.approx(0.03),
        "share": pytest.approx(0.2),
        "closing": pytest.approx(0.035),
        "difference": pytest.approx(0.004),
        "largest_difference": 0.007,
    }
    assert summary["detection_delay_ms"] == {"mean": pytest.approx(3.5), "largest": pytest.approx(5.0)}
    assert summary["false_detections"] == 8
    assert summary["runs"] == 32
    json.dumps(summary)


def test_success_rates_failures_and_shares():
    summary = summarise(rows())
    assert summary["success_rate"] == {"proposed": 1.0, "no_rs": 0.5, "no_interim": 1.0, "no_impact_map": 1.0}
    assert summary["failures"]["no_rs"] == {"goal missed": 4}
    assert summary["failures"]["proposed"] == {}
    assert summary["proposed_lowest_in"] == 1.0
    # Where the displaced runs alone are counted, another controller is as low.
    assert summary["proposed_lowest_in_linear"] == pytest.approx(5 / 6)
    assert summary["proposed_lowest_or_tied_in_linear"] == 1.0
    assert summary["proposed_lowest_in_linear_after"] == 1.0
    assert summary["torque_jump"]["proposed"] == {
        "largest": 0.04,
        "mean": pytest.approx(0.025),
        "over_10_percent": 0.0,
    }
    assert summary["torque_swing"]["no_rs"] == {"largest": 0.15, "mean": pytest.approx(0.10), "over_10_percent": 0.5}
    assert summary["time_to_track_s"]["no_rs"] == pytest.approx(0.1)
    assert summary["never_tracked"] == {"proposed": 0, "no_rs": 4, "no_interim": 0, "no_impact_map": 0}


def test_a_group_in_which_a_baseline_is_lower_is_not_won():
    worse = [
        {**row, "peak": 20.0} if row["controller"] == "proposed" and row["object"] == "parcel" else row
        for row in rows()
    ]
    summary = summarise(worse)
    # Only the juice pack's group is left: in the others the mean of proposed is above that of no_interim.
    assert summary["proposed_lowest_in"] == summary["proposed_lowest_or_tied_in"] == pytest.approx(1 / 6)


def test_our_own_variant_is_no_baseline():
    better = [
        {**row, "controller": "proposed_completion", "peak": 1.0} for row in rows() if row["controller"] == "proposed"
    ]
    summary = summarise([*rows(), *better])
    assert summary["peak"]["proposed_completion"] == 1.0
    assert summary["proposed_lowest_in"] == 1.0


def test_rows_of_failed_runs_do_not_spoil_the_means():
    failed = [{**row, "peak": NAN, "success": False, "cause": "E"} for row in rows()[:4]]
    summary = summarise([*rows(), *failed])
    assert summary["groups"]["object"]["juice_pack"]["proposed"] == pytest.approx(4.0)
    nothing = summarise([{**row, "torque_jump": NAN} for row in rows()])["torque_jump"]["proposed"]
    assert all(math.isnan(value) for value in nothing.values())


def test_the_table_has_each_figure_under_its_controller():
    lines = {line[:26].strip(): line[26:].split() for line in format_table(summarise(rows())).splitlines()}
    assert lines["group"] == "proposed no RS no interim mode no impact map".split()
    assert lines["object juice_pack"] == "4.00 (1.62) 14.00 (6.62) 5.00 (2.12) 8.00 (3.62)".split()
    assert lines["initial 2"] == "3.50 (1.75) 13.50 (6.75) 4.50 (2.25) 7.50 (3.75)".split()
    assert lines["displacement -30 mm"][0] == "3.50"
    assert lines["success"] == "100.0 % 50.0 % 100.0 % 100.0 %".split()
    assert lines["torque jump, one cycle"] == "4.0 % 4.0 % 4.0 % 4.0 %".split()
    assert lines["torque jump, 10 cycles"] == "5.0 % 15.0 % 5.0 % 5.0 %".split()
    assert lines["time to track"] == "100 ms 100 ms 100 ms 100 ms".split()


def test_the_bars_are_the_groups_means_beside_each_other():
    figure = plot_groups(summarise(rows()), "hit-and-push")
    axis = figure.axes[1]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "2"]
    bars = {container.get_label(): container for container in axis.containers}
    assert [bar.get_height() for bar in bars["no RS"]] == [13.5, 13.5]
    assert [bar.get_height() for bar in bars["proposed"]] == [3.5, 3.5]
    centres = sorted(container[0].get_x() + 0.5 * container[0].get_width() for container in axis.containers)
    np.testing.assert_allclose(centres, [-0.3, -0.1, 0.1, 0.3])


def test_the_comparison_is_aligned_where_all_arms_have_been_detected():
    twist, reference, target = (np.zeros((ROWS, 2, 6)) for _ in range(3))
    twist[:, 1, 1], reference[:, 1, 1] = np.arange(ROWS), -np.arange(ROWS)
    target[:, 1, 1], target[:, 1, 0] = 2.0 * np.arange(ROWS), 99.0
    events = ((1, event(1.1)), (0, event(1.25)))
    run = episode(
        ("left", "right"), tool_twist=twist, reference_twist=reference, target_acceleration=target, events=events
    )
    figure = plot_comparison({"no_rs": run})
    measured, wanted = figure.axes[1].get_lines()[:2]
    # From 1.05 s, 0.2 s before the last detection, to the end at 1.399 s.
    np.testing.assert_allclose(measured.get_xdata()[[-100, -1]], [0.05, 0.149], atol=1e-9)
    assert measured.get_xdata().size in (349, 350)
    assert (measured.get_ydata()[-1], wanted.get_ydata()[-1]) == (399.0, -399.0)
    assert figure.axes[3].get_lines()[0].get_ydata()[-1] == 798.0
    assert [axis.get_title() for axis in figure.axes[:2]] == ["left", "right"]
    assert "velocity y" in figure.axes[0].get_ylabel()


def trial(number, cause="", **figures):
    drawn = {"mass_kg": 0.5 + 0.1 * number, "displacement_m": [0.002 * number, -0.003 * number]}
    return {
        "key": str(number),
        "number": number,
        "controller": "proposed",
        "success": cause == "",
        "cause": cause,
        "drawn": json.dumps(drawn),
        "peak": 10.0 + number,
        **figures,
    }


@pytest.fixture
def trials():
    return [
        trial(0, off_centre_m=0.001, arms_apart_s=0.010),
        trial(1, off_centre_m=0.004, arms_apart_s=0.020),
        trial(2, "goal missed", off_centre_m=0.008),
        trial(3, "safe mode: QP_INFEASIBLE", off_centre_m=0.003, arms_apart_s=0.050),
        trial(4, "safe mode: EXCEPTION", off_centre_m=0.002, arms_apart_s=0.070),
        trial(5, "start refused: start: got ...", peak=NAN),
    ]


def test_failures_are_counted_by_class_with_their_details(trials):
    own = summarise_random(trials)["controllers"]["proposed"]
    assert (own["trials"], own["done"], own["successes"]) == (6, 5, 2)
    assert own["success_rate"] == pytest.approx(2 / 6) and own["success_rate_of_done"] == pytest.approx(2 / 5)
    assert {name: entry["runs"] for name, entry in own["failures"].items()} == {
        "safe mode": 2,
        "goal missed": 1,
        "start refused": 1,
    }
    assert list(own["failures"])[0] == "safe mode"
    assert own["failures"]["safe mode"]["details"] == {"safe mode: QP_INFEASIBLE": 1, "safe mode: EXCEPTION": 1}
    assert own["failures"]["safe mode"]["off_centre_m"] == pytest.approx(0.0025)
    assert own["failures"]["safe mode"]["arms_apart_s"] == pytest.approx(0.06)
    assert own["touch"] == {"off_centre_m": pytest.approx(0.0025), "arms_apart_s": pytest.approx(0.015)}
    assert own["peak"] == pytest.approx(12.0) and np.isnan(own["slip_m"])


def test_controllers_are_summed_up_apart(trials):
    other = [{**row, "controller": "no_rs", "success": False, "cause": "start refused: no"} for row in trials[:2]]
    found = summarise_random([*trials, *other])["controllers"]
    assert list(found) == ["proposed", "no_rs"]
    assert (found["no_rs"]["trials"], found["no_rs"]["done"]) == (2, 0)
    assert np.isnan(found["no_rs"]["success_rate_of_done"])


def test_the_text_says_why_trials_failed(trials):
    lines = format_random(summarise_random(trials)).splitlines()
    assert "0.5..2.5 kg" in lines[0]
    assert lines[2] == "first contact: nothing in 6 of 6 runs"
    assert lines[4] == "proposed: 2 of 6 trials succeed (33.3 %); 1 refused before any motion; 40.0 % of those done"
    assert lines[5].split()[:3] == ["2", "safe", "mode"]
    assert lines[5].endswith("(touched 2.5 mm off centre, arms 60 ms apart)")
    assert lines[6].endswith("(touched 8.0 mm off centre)")
    assert lines[8].split() == "2 success (touched 2.5 mm off centre, arms 15 ms apart)".split()


def test_the_points_are_the_unknown_displacements_by_how_the_trials_ended(trials):
    axis = plot_random(trials, "hit-and-push").axes[0]
    points = {collection.get_label(): collection.get_offsets() for collection in axis.collections}
    assert list(points)[:2] == ["success (2)", "safe mode (2)"]
    np.testing.assert_allclose(points["safe mode (2)"], [[6.0, -9.0], [8.0, -12.0]])
    np.testing.assert_allclose(points["goal missed (1)"], [[4.0, -6.0]])


def test_rows_without_a_proposed_controller_win_nothing():
    assert math.isnan(summarise([row for row in rows() if row["controller"] == "no_rs"])["proposed_lowest_in"])
