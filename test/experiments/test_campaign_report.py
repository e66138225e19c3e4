"""The tables and plots of campaigns, on rows made by hand: unequal groups, failures, numbers that are missing."""

import math

import numpy as np
import pytest
from campaign_rows import KEPT, NAN, reports, rows
from episodes import ROWS, episode, event
from kept_texts import assert_same

from impact_aware.experiments.campaign_plots import plot_comparison, plot_groups
from impact_aware.experiments.campaign_report import summarise


def test_summaries_and_tables_are_as_they_were_when_somebody_last_looked_at_them():
    assert_same(reports(), KEPT)


def test_the_objects_keep_their_order_and_the_other_factors_are_sorted():
    summary = summarise(list(reversed(rows())))
    assert list(summary["groups"]["object"]) == ["parcel", "juice_pack"]
    assert list(summary["groups"]["displacement"]) == ["-30 mm", "0 mm"]


def test_a_displacement_has_its_sign():
    moved = [{**row, "displacement": -row["displacement"]} for row in rows()]
    assert list(summarise(moved)["groups"]["displacement"]) == ["0 mm", "+30 mm"]


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


def test_rows_without_a_proposed_controller_win_nothing():
    assert math.isnan(summarise([row for row in rows() if row["controller"] == "no_rs"])["proposed_lowest_in"])
