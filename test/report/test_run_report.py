"""The report of a run from a hand-made recording, beyond the figures that `test_looked_at.py` holds."""

import json
import re
from pathlib import Path
from types import SimpleNamespace as Message

import numpy as np
import pytest
from hand_made_run import event, header, recording, xyz

from impact_aware.bags.bag import BagError
from impact_aware.report import run_series
from impact_aware.report.run_figure import MODE_COLORS
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


def test_the_first_valid_prediction_of_both_arms_counts(pair):
    left, right = (pair.summary["arms"][name] for name in ("left", "right"))
    assert left["prediction_error_relative"] is None
    assert right["prediction_error_relative"] == pytest.approx(1.0 / 5.0)
    assert right["prediction_error_alone"] == pytest.approx(0.1)
    assert right["velocity_after_predicted"] == [1.0, 1.0, 3.0]
    # Of the arm that hits last, 15 ms after the first.
    assert pair.grasp["lead_s"] == pytest.approx(0.015)
    assert pair.grasp["object_speed_plant"] == pytest.approx(np.linalg.norm([0.03, 0.28, 0.08]))


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


def test_a_recording_of_version_0_9_has_the_cycle_time_in_seconds():
    bag, now = recording([""]), recording([""])
    for _, state in bag.messages("controller_state"):
        state.cycle_time = 1e-9 * state.cycle_time.nanosec
    np.testing.assert_array_equal(read_run(bag).cycle_times, read_run(now).cycle_times)


def test_the_summary_is_written_as_it_is(single, tmp_path):
    report = RunReport(tmp_path, single.arms, single.grasp, single.summary)
    report.write_summary()
    assert json.loads((tmp_path / "summary.json").read_text()) == single.summary
    # From the event's first publication on; of 1010 states 10 were missed.
    assert single.summary["impact"]["prediction_delay_ms"] == pytest.approx(10.0)
    assert single.summary["states_lost"] == pytest.approx(10.0 / 1010.0)


@pytest.mark.parametrize(("late", "found"), [(0.0, True), (0.0499, True), (0.0501, False), (-0.0001, False)])
def test_a_detection_up_to_fifty_milliseconds_late_is_that_of_the_contact(late, found):
    bag = recording([""])
    bag.replace("/impacts", event(2, 2.394, 2.395 + late))
    if found:
        assert summarise(read_run(bag), Path()).summary["impact"]["delay_ms"] == pytest.approx(1e3 * late, abs=1e-6)
    else:
        with pytest.raises(BagError, match="was not detected"):
            summarise(read_run(bag), Path())


def test_renewals_of_a_contact_are_counted_apart_from_false_detections():
    bag = recording([""])
    renewal, early, false = event(3, 2.51, 2.512), event(4, 2.29, 2.292), event(5, 2.53, 2.532)
    renewal.cause = early.cause = run_series.CAUSE_CONTACT_RENEWED
    bag.replace("/impacts", *(message for _, message in bag.messages("/impacts") if message.sequence == 2))
    bag.add("/impacts", renewal, early, false)
    report = summarise(read_run(bag), Path())
    # One before the contact of the plant renews nothing.
    assert report.summary["impact"]["false_detections"] == 2
    assert report.summary["impact"]["renewed_contacts"] == 1
    assert "false detections: 2, renewed contacts: 1\n" in report.table()


def test_constants_are_those_of_the_messages():
    folder = Path(__file__).parents[2] / "msg" / "msg"
    stated = {
        name: int(number)
        for path in ("ImpactEvent", "ImpactPrediction", "ControllerState")
        for name, number in re.findall(r"^uint8 (\w+) *= *(\d+)", (folder / f"{path}.msg").read_text(), re.MULTILINE)
    }
    assert run_series.CONTACT_MADE == stated["KIND_CONTACT_MADE"]
    assert run_series.CAUSE_CONTACT_RENEWED == stated["CAUSE_CONTACT_RENEWED"]
    assert (run_series.SOURCE_LOOK_AHEAD, run_series.SOURCE_AT_IMPACT) == (
        stated["SOURCE_LOOK_AHEAD"], stated["SOURCE_AT_IMPACT"],
    )  # fmt: skip
    assert (run_series.MODE_IDLE, run_series.MODE_INTERIM, run_series.MODE_SAFE) == (
        stated["MODE_IDLE"], stated["MODE_INTERIM"], stated["MODE_SAFE"],
    )  # fmt: skip
    assert [stated[f"MODE_{name}"] for name in ("ANTE", "INTERIM", "POST", "SAFE", "HOLD")] == list(MODE_COLORS)


def test_the_columns_of_the_joints_hold_the_longest_name(single):
    (arm,) = single.arms.values()
    arm["joint_names"] = ["a", "a_long_name", "c"]
    lines = single.table().splitlines()
    header = next(index for index, line in enumerate(lines) if line.startswith("joint"))
    rows = lines[header : header + 4]
    assert len({len(row.removesuffix("   rad/s")) for row in rows}) == 1
    assert rows[2].startswith("a_long_name    -2.0000") and rows[1].startswith("a             ")
