"""The report of a run from a hand-made recording, of one arm and of two: every figure has a known answer."""

import json
import re
from pathlib import Path
from types import SimpleNamespace as Message

import numpy as np
import pytest
from hand_made_run import CYCLES_US, HOLD, INTERIM, JOINTS, POST, SAFE, TIMES, event, header, recording, xyz
from matplotlib.colors import to_hex

from impact_aware.recordings.bag import BagError
from impact_aware.report import run_series
from impact_aware.report.run_figure import MODE_COLORS, run_figure
from impact_aware.report.run_report import RunReport, summarise
from impact_aware.report.run_series import read_run


@pytest.fixture
def single():
    return summarise(read_run(recording([""])), Path("folder"), {"nodes": ["n"]})


@pytest.fixture
def pair():
    bag = recording(["left", "right"])
    bag.add("/common_jumps", Message(arm="right", valid=False, velocity_after=[9.0, 9.0, 9.0]))
    bag.add("/common_jumps", Message(arm="right", valid=True, velocity_after=[1.0, 1.0, 3.0]))
    bag.add("/common_jumps", Message(arm="right", valid=True, velocity_after=[9.0, 9.0, 9.0]))
    return summarise(read_run(bag), Path("folder"))


def test_the_impact_of_one_arm(single):
    impact = single.summary["impact"]
    assert impact["time_true"] == pytest.approx(2.395)
    assert impact["first_contact"] == "tool on table"
    assert impact["time_detected"] == pytest.approx(2.397)
    assert impact["time_refined"] == pytest.approx(2.394)
    assert impact["delay_ms"] == pytest.approx(2.0)
    assert impact["prediction_delay_ms"] == pytest.approx(10.0)
    assert impact["false_detections"] == 1
    assert impact["predictions_before_impact"] == 2
    assert impact["velocity_before"] == [1.0, -2.0, 0.0]
    assert impact["velocity_after_predicted"] == [1.0, 2.3, 2.6]
    assert impact["velocity_after_plant"] == [1.0, 2.0, 3.0]
    assert impact["object_velocity_predicted"] == [0.0, -0.3, 0.0]
    assert impact["object_velocity_plant"] == [0.03, -0.28, 0.04]
    assert single.summary["joint_names"] == JOINTS
    # |(0, 0.3, -0.4)| over |(0, 4, 3)|.
    assert single.summary["prediction_error_relative"] == pytest.approx(0.1)
    assert single.summary["nodes"] == ["n"]


def test_the_control_of_one_arm(single):
    control = single.summary["control"]
    assert control["peak_target_acceleration"] == pytest.approx(60.0)
    assert control["peak_target_acceleration_at_impact"] == pytest.approx(13.0)
    # Those of the last state; the idle state's cycle time is not counted.
    assert (control["cycles"], control["missed"]) == (1000, 10)
    assert single.summary["states_lost"] == pytest.approx(10 / 1010)
    assert control["cycle_us"]["p50"] == pytest.approx(np.percentile(CYCLES_US[1:], 50))
    assert control["cycle_us"]["p99"] == pytest.approx(np.percentile(CYCLES_US[1:], 99))


def test_the_distance_from_the_goal_is_horizontal_for_a_push_and_whole_for_a_lift(single, pair):
    assert single.summary["goal_error_m"] == pytest.approx(0.05)
    assert pair.summary["goal_error_m"] == pytest.approx(np.hypot(0.05, 0.01))


def test_each_arm_of_two(pair):
    left, right = (pair.summary["arms"][name] for name in ("left", "right"))
    assert (left["time_true"], right["time_true"]) == (pytest.approx(2.395), pytest.approx(2.41))
    assert right["delay_ms"] == pytest.approx(2.0)
    assert right["prediction_delay_ms"] == pytest.approx(30.0)
    assert right["control"]["peak_target_acceleration_at_impact"] == pytest.approx(26.0)
    assert left["prediction_error_alone"] == right["prediction_error_alone"] == pytest.approx(0.1)
    assert left["prediction_error_relative"] is None
    assert right["prediction_error_relative"] == pytest.approx(1.0 / 5.0)
    assert left["velocity_after_predicted"] == [1.0, 2.3, 2.6]
    assert right["velocity_after_predicted"] == [1.0, 1.0, 3.0]


def test_what_became_of_the_object_that_two_arms_lift(pair):
    grasp = pair.summary["grasp"]
    assert grasp["first_arm"] == "left"
    assert grasp["lead_s"] == pytest.approx(0.015)
    # Left's and right's at 2.3 s.
    assert grasp["false_detections"] == 2
    assert grasp["lift_m"] == pytest.approx(0.16)
    assert grasp["final_lift_m"] == pytest.approx(0.14)
    assert grasp["wanted_lift_m"] == pytest.approx(0.15)
    assert grasp["object_speed_predicted"] == pytest.approx(0.5)
    # After the last arm's impact.
    assert grasp["object_speed_plant"] == pytest.approx(np.linalg.norm([0.03, -0.28, 0.08]))
    # Relative to the object, which rises by 60 mm until 2.7 s, left slips by all of that, right by 2 mm less.
    assert grasp["slip_m"] == pytest.approx(0.06)


def test_the_slip_leaves_out_the_normal_and_what_happens_before_and_after():
    bag = recording(["left", "right"])
    poses = [(2.1, (9.0, 0.0, 9.0)), (2.59, (9.0, 0.0, 9.0)), (2.6, (0.5, 0.0, 0.4)), (2.8, (0.503, 0.7, 0.396))]
    poses += [(2.9, (0.5, 0.2, 0.4)), (2.91, (9.0, 0.0, 9.0))]
    bag.replace(
        "/object_pose", *(Message(header=header(t), pose=Message(position=xyz(*position))) for t, position in poses)
    )
    assert summarise(read_run(bag), Path()).grasp["slip_m"] == pytest.approx(np.hypot(0.003, 0.004 + 0.004))


def test_a_goal_missed_or_reached_is_judged_by_the_campaigns_criteria(single, pair):
    def judged(report, **figures):
        grasp = {**report.grasp, **figures} if report.grasp else {}
        error = figures.get("goal_error_m", report.summary["goal_error_m"])
        return RunReport(report.folder, report.arms, grasp, {**report.summary, "goal_error_m": error}).failure()

    assert judged(single) == "the object ended 50 mm from its goal"
    assert judged(single, goal_error_m=0.0201) == "the object ended 20 mm from its goal"
    assert judged(single, goal_error_m=0.0199) == ""
    held = {"slip_m": 0.0099, "goal_error_m": 0.049}
    assert judged(pair, **held) == ""
    assert judged(pair, **{**held, "goal_error_m": 0.0501}) == "the object ended 50 mm from its goal"
    assert judged(pair, **{**held, "slip_m": 0.0101}) == "the object slipped by 10 mm"
    assert judged(pair, **{**held, "slip_m": float("nan")}).startswith("the object slipped")
    assert judged(pair, **{**held, "lift_m": 0.0749}) == "the object was not lifted: 75 mm"
    assert judged(pair, **held, final_lift_m=0.0799) == "the object was dropped from 160 mm"
    assert judged(pair, **held, final_lift_m=0.0801) == ""


def test_the_tables_put_each_figure_into_its_place(single, pair):
    lines = single.table().splitlines()
    assert lines[0] == "impact at 2.3950 s, detected 2.0 ms later, predicted 10 ms after that; false detections: 1"
    assert lines[2].split() == ["joint", "before", "predicted", "plant", "error", "rad/s"]
    assert lines[4].split() == ["b", "-2.0000", "2.3000", "2.0000", "0.3000"]
    assert lines[7].split()[4:6] + lines[7].split()[7:8] == ["0.300", "m/s", "0.284"]
    assert lines[8].endswith(" 10.0 % of the jump")
    assert lines[9].split()[3] == "60.00" and "13.00 around the impact" in lines[9]
    assert lines[10].split() == ["first", "contact", "arm:", "tool", "on", "table"]
    assert "1000, missed 10 (0.99 %), 145 us median" in lines[11]
    assert lines[12].endswith(" 50.0 mm")
    lines = pair.table().splitlines()
    assert lines[0] == "left hit first, the last arm 15.0 ms later; false detections: 2"
    assert lines[4].split() == ["left", "2.3950", "s", "2.0", "ms", "-", "10.0", "%", "off", "13.00"]
    assert lines[5].split() == ["right", "2.4100", "s", "2.0", "ms", "20.0", "%", "off", "10.0", "%", "off", "26.00"]
    assert lines[7].endswith("0.500 m/s predicted, 0.293 m/s in the plant")
    assert lines[8].endswith(" 160 mm of 150 mm") and lines[9].endswith(" 60.0 mm")
    assert lines[10].endswith(" left: tool on table; right: tool on table")


def test_a_recording_that_lacks_something_is_refused_with_what_is_missing():
    for topic, message in (
        ("/impacts", "was not detected"),
        ("/predicted_jumps", "no prediction at the impact"),
        ("/true_impacts", "never touched the object"),
        ("/controller_state", "never active"),
        ("/object_pose", "no object_pose"),
        ("/reference_field", "no reference_field"),
        ("/joint_states", "no joint_states"),
    ):
        bag = recording([""])
        bag.replace(topic)
        with pytest.raises(BagError, match=message):
            summarise(read_run(bag), Path())
    late = recording([""])
    late.replace("/impacts", event(1, 2.38, 2.394), event(2, 2.44, 2.446))
    with pytest.raises(BagError, match="was not detected"):
        summarise(read_run(late), Path())


def test_the_summary_is_written_as_it_is(single, tmp_path):
    report = RunReport(tmp_path, single.arms, single.grasp, single.summary)
    report.write_summary()
    assert json.loads((tmp_path / "summary.json").read_text()) == single.summary


def test_the_figure_shows_each_arm_from_the_first_contact_on(pair):
    run = read_run(recording(["left", "right"]))
    figure = run_figure(run, pair.arms)
    left, tool, target, right, right_tool, right_target, body = figure.axes
    measured = {line.get_label(): line for line in right.get_lines()}["b"]
    # The first sample is outside of the time shown; times in ms from the left arm's contact at 2.395 s.
    np.testing.assert_allclose(measured.get_xdata(), [5.0, 55.0])
    np.testing.assert_allclose(measured.get_ydata(), [2.4, 2.45])
    predicted = [line for line in right.get_lines() if line.get_linewidth() == 3.5]
    assert [line.get_ydata()[0] for line in predicted] == [1.0, 1.0, 3.0]
    np.testing.assert_allclose(predicted[0].get_xdata(), [15.0, 45.0])
    assert left.get_title() == "left: predicted jump 10.0 % off the plant's; detected after 2.0 ms"
    assert right.get_title() == "right: predicted jump 20.0 % off the plant's; detected after 2.0 ms"
    speed, reference = tool.get_lines()[:2]
    np.testing.assert_allclose(speed.get_ydata()[:2], [0.29, 0.28])
    np.testing.assert_allclose(reference.get_ydata(), 0.4)
    np.testing.assert_allclose(right_tool.get_lines()[1].get_ydata(), -0.4)
    linear, angular = target.get_lines()[:2]
    assert (linear.get_ydata()[4], angular.get_ydata()[4]) == (pytest.approx(5.0), pytest.approx(12.0))
    assert right_target.get_lines()[1].get_ydata()[4] == pytest.approx(24.0)
    x, _, y, _, z, _ = body.get_lines()[:6]
    assert (x.get_ydata()[-1], y.get_ydata()[-1], z.get_ydata()[-1]) == pytest.approx((0.0, -300.0, 140.0))
    assert body.get_lines()[5].get_ydata()[0] == pytest.approx(150.0)
    shades = {text.get_text(): text.get_position()[0] for text in left.texts}
    assert shades["interim"] == pytest.approx(1e3 * (2.5 - 2.395) + 2.0)


@pytest.fixture
def axes_of_pair(pair):
    return run_figure(read_run(recording(["left", "right"])), pair.arms).axes


def test_every_panel_says_what_it_shows(axes_of_pair):
    *arms, body = axes_of_pair
    names = ["joint velocity, rad/s", "tool speed towards\nthe object, m/s", "target acceleration"]
    assert [axes.get_ylabel() for axes in arms] == 2 * names
    assert body.get_ylabel() == "displacement of\nthe object, mm"
    # Below the last panel of each column.
    assert [axes.get_xlabel() for axes in arms] == 2 * ["", "", "time from the first contact, ms"]
    assert body.get_xlabel() == "time from the first contact, s"
    assert [axes.get_xlim() for axes in arms] == 6 * [(-100.0, 300.0)]
    legends = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in (*arms[:3], body)]
    assert legends == [
        ["measured", "predicted after", "reference", *JOINTS],
        ["measured", "reference"],
        ["linear, m/s²", "angular, rad/s²"],
        ["x", "y", "z", "goal"],
    ]
    assert [bool(axes.get_title()) for axes in arms] == 2 * [True, False, False]


def uprights(axes):
    return [line.get_xdata()[0] for line in axes.get_lines() if list(line.get_ydata()) == [0, 1]]


def test_contact_and_detection_stand_upright_in_every_panel_of_their_arm(axes_of_pair):
    for axes in axes_of_pair[:3]:
        np.testing.assert_allclose(uprights(axes), [0.0, 2.0], atol=1e-6)
    for axes in axes_of_pair[3:6]:
        np.testing.assert_allclose(uprights(axes), [15.0, 17.0], atol=1e-6)


def test_joints_have_their_references_and_room(axes_of_pair):
    right = axes_of_pair[3]
    dashed = [line for line in right.get_lines() if line.get_linestyle() == "--"]
    for factor, line in zip((1.0, 2.0, 3.0), dashed, strict=True):
        np.testing.assert_allclose(line.get_xdata(), 1e3 * (TIMES[1:] - 2.395), atol=1e-6)
        np.testing.assert_allclose(line.get_ydata(), factor * np.arange(1, 11))
    measured = [line for line in right.get_lines() if line.get_label() in JOINTS]
    assert [line.get_color() for line in measured] == [line.get_color() for line in dashed]
    # Velocities from -2.45 to 2.45 rad/s, and 15 % of that beyond.
    assert right.get_ylim() == pytest.approx((-2.45 - 0.735, 2.45 + 0.735))


def test_modes_are_shaded_and_those_in_view_are_named(axes_of_pair):
    left, tool = axes_of_pair[:2]
    to_data = left.transData.inverted()
    shades = [(to_hex(patch.get_facecolor()), patch.get_extents().transformed(to_data)) for patch in left.patches]
    expected = {MODE_COLORS[INTERIM]: (2.5, 2.7), MODE_COLORS[POST]: (2.7, 2.9), MODE_COLORS[HOLD]: (2.9, 3.0)}
    found = {color: (box.x0, box.x1) for color, box in shades if color != MODE_COLORS[SAFE]}
    assert list(found) == list(expected)
    for color, ends in expected.items():
        np.testing.assert_allclose(found[color], 1e3 * (np.array(ends) - 2.395), atol=1e-6)
    assert [text.get_text() for text in left.texts] == ["interim"] and not tool.texts
    assert len(tool.patches) == len(left.patches) == 4


def test_the_object_moves_from_where_it_was_to_its_goal(axes_of_pair):
    body = axes_of_pair[-1]
    x, x_goal, y, y_goal, z, z_goal = body.get_lines()[:6]
    np.testing.assert_allclose(x.get_xdata(), np.array([2.1, 2.45, 2.6, 2.7, 2.8, 2.9]) - 2.395, atol=1e-6)
    np.testing.assert_allclose(x.get_ydata(), [0.0, 0.0, 0.0, 0.0, -4.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(y.get_ydata(), [0.0, 40.0, 60.0, 80.0, 80.0, -300.0], atol=1e-9)
    np.testing.assert_allclose(z.get_ydata(), [0.0, 0.0, 100.0, 160.0, 103.0, 140.0], atol=1e-9)
    goals = [line.get_ydata()[0] for line in (x_goal, y_goal, z_goal)]
    np.testing.assert_allclose(goals, [-30.0, -260.0, 150.0], atol=1e-9)


def test_one_arm_has_one_column_and_the_error_of_its_own_prediction(single):
    figure = run_figure(read_run(recording([""])), single.arms)
    assert len(figure.axes) == 4
    assert figure.axes[0].get_title() == "arm: predicted jump 10.0 % off the plant's; detected after 2.0 ms"


@pytest.mark.parametrize(("late", "found"), [(0.0, True), (0.0499, True), (0.0501, False), (-0.0001, False)])
def test_a_detection_up_to_fifty_milliseconds_late_is_that_of_the_contact(late, found):
    bag = recording([""])
    bag.replace("/impacts", event(2, 2.394, 2.395 + late))
    if found:
        assert summarise(read_run(bag), Path()).summary["impact"]["delay_ms"] == pytest.approx(1e3 * late, abs=1e-6)
    else:
        with pytest.raises(BagError, match="was not detected"):
            summarise(read_run(bag), Path())


def test_constants_are_those_of_the_messages():
    folder = Path(__file__).parents[2] / "msg" / "msg"
    stated = {
        name: int(number)
        for path in ("ImpactEvent", "ImpactPrediction", "ControllerState")
        for name, number in re.findall(r"^uint8 (\w+) *= *(\d+)", (folder / f"{path}.msg").read_text(), re.MULTILINE)
    }
    assert run_series.CONTACT_MADE == stated["KIND_CONTACT_MADE"]
    assert (run_series.SOURCE_LOOK_AHEAD, run_series.SOURCE_AT_IMPACT) == (
        stated["SOURCE_LOOK_AHEAD"], stated["SOURCE_AT_IMPACT"],
    )  # fmt: skip
    assert (run_series.MODE_IDLE, run_series.MODE_INTERIM, run_series.MODE_SAFE) == (
        stated["MODE_IDLE"], stated["MODE_INTERIM"], stated["MODE_SAFE"],
    )  # fmt: skip
    assert [stated[f"MODE_{name}"] for name in ("INTERIM", "POST", "SAFE", "HOLD")] == list(MODE_COLORS)


def test_the_columns_of_the_joints_hold_the_longest_name(single):
    (arm,) = single.arms.values()
    arm["joint_names"] = ["a", "a_long_name", "c"]
    lines = single.table().splitlines()
    header = next(index for index, line in enumerate(lines) if line.startswith("joint"))
    rows = lines[header : header + 4]
    assert len({len(row.removesuffix("   rad/s")) for row in rows}) == 1
    assert rows[2].startswith("a_long_name    -2.0000") and rows[1].startswith("a             ")
