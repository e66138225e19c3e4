"""What the commands print and write about results written by hand: every figure with its name and unit."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from impact_aware.cli import analyze, identify, identify_plan
from impact_aware.cli.main import main
from impact_aware.contact.geometry import Contact
from impact_aware.estimation.identification import Identification
from impact_aware.estimation.trials import ImpactTrial
from impact_aware.recordings.results import OtherEvent
from impact_aware.robot import RobotModel
from test.support.hand_made import GROUP, make_analysis, make_impact


def test_analyze_prints_arms_impacts_groups_and_notes():
    bare = make_impact(index=4, estimate=None, prediction=None, expected=None, notes=())
    analysis = make_analysis(make_impact(), bare, ablation_groups=(GROUP,))
    lines = analyze.format_analysis(analysis, Path("out")).splitlines()
    first = lines.index("can't tell (reasons: --json, or the report of --out)")
    assert lines[first + 1 : -2] == [
        "  impacts in which no joint jumps by 0.045 rad/s",
        "  what a model predicts, masses and impulses",
        "  the velocity after (impact 4)",
        "  restitution, and what the object did",
    ]
    assert lines[:first] == [
        "one.mcap left: 12345 messages, samples at 988 Hz, robot two",
        # By hand: 0.018 is of (0.39, 0.67) with 0.0104 and 0.0204; the verdict as in test_view.
        "  impact 3 at 12.5000 s +- 0.4 ms, detected 3.0 ms later, jump 0.775 +- 0.018 rad/s, slide, unexpected",
        "    prediction within the uncertainty of the estimate: no (4.7 standard errors per joint)",
        "    prediction off by 0.500 (0.180 to 0.820) rad/s, 64.5 % of the jump, from the estimate",
        "  impact 4 at 12.5000 s +- 0.4 ms, detected 3.0 ms later",
        "    prediction within the uncertainty of the estimate: can't tell: nothing was predicted",
        "  note: a note of the arm",
        "  note: first note",
        "  note: second note",
        "mean norm of the error of the predicted velocity after, deg/s",
        "  hard, friction 0.3, 7 impacts: M 28.65",
        "note: a note of all",
    ]
    assert lines[-2:] == ["read 12345 messages in 0.25 s (49,380 per second), 1.8 s for all", "results in out"]
    quiet = replace(analysis.arms[0], impacts=(), rate_hz=np.nan, robot="", notes=())
    lines = analyze.format_analysis(replace(analysis, arms=(quiet,), ablation_groups=(), notes=()), None).splitlines()
    assert lines[:2] == ["one.mcap left: 12345 messages, samples at unknown rate, robot unknown", "  no impact"]
    # A name makes no line of its own, which could be a result.
    strange = replace(quiet, file=Path("x\n  no impact\x1b"))
    found = analyze.format_analysis(replace(analysis, arms=(strange,), ablation_groups=(), notes=()), None).splitlines()
    assert found[0].startswith("x   no impact\\x1b left: ") and len(found) == len(lines)
    expected = analyze.format_analysis(make_analysis(make_impact(expected=True)), None)
    assert ", expected\n" in expected


def test_analyze_prints_the_first_events_notes_and_limitations_and_which_contact_is_a_second_one():
    analysis = make_analysis(make_impact(cause="second_contact"))
    events = tuple(
        OtherEvent("left", Path("one.mcap"), 12.6 + number, 2e-3, "contact_lost", f"evidence {number}")
        for number in range(23)
    )
    arm = replace(analysis.arms[0], other_events=events, notes=tuple(f"note {number}" for number in range(11)))
    lines = analyze.format_analysis(replace(analysis, arms=(arm,)), None).splitlines()
    assert ", second contact, jump 0.775 +- 0.018 rad/s" in lines[1]
    assert lines[4] == "  contact lost at 12.6000 s +- 2.0 ms: evidence 0"
    assert lines[7:9] == ["  contact lost at 15.6000 s +- 2.0 ms: evidence 3", "  19 more events that are no impacts"]
    assert lines[9] == "  note: note 0" and lines[12] == "  note: note 3"
    assert lines[13].startswith("  ") and lines[13].endswith("more notes (--json, or the report of --out)")
    # Everything about one impact fits a terminal.
    assert len(lines) <= 25
    # One that would only be counted is shown.
    text = analyze.format_analysis(replace(analysis, arms=(replace(arm, other_events=events[:5]),)), None)
    assert "evidence 4\n" in text and "more events" not in text


def test_annotated_copies_have_names_of_their_own():
    files = [Path("a/run"), Path("b/run"), Path("c/night.mcap.zst"), Path("day.db3")]
    names = [analyze._annotated_name(file, files) for file in files]
    assert names == ["run_1_annotated", "run_2_annotated", "night_annotated", "day_annotated"]


IDENTIFIED = Identification(
    quantity="inertia", unit="kg m^2", names=("a", "b"), values=np.array([0.25, 1.5]), lower=np.array([0.2, -np.inf]),
    upper=np.array([0.3, 4.5]), determined=np.array([True, False]), trials=12, error=0.0375, confidence=0.9,
    warnings=("look here",),
)  # fmt: skip


def test_identify_prints_and_writes_every_parameter():
    assert identify.as_text(IDENTIFIED).splitlines() == [
        "inertia from 12 impacts [kg m^2]",
        "  a  0.25   90 %: 0.2 .. 0.3",
        "  b  1.5   90 %: -inf .. 4.5   undetermined",
        "  left unexplained: 0.0375 rad/s rms",
        "  warning: look here",
    ]
    assert identify.as_dict(IDENTIFIED) == {
        "quantity": "inertia", "unit": "kg m^2", "trials": 12, "confidence": 0.9,
        "error": 0.0375, "warnings": ["look here"],
        "parameters": {
            "a": {"value": 0.25, "lower": 0.2, "upper": 0.3, "determined": True},
            "b": {"value": 1.5, "lower": None, "upper": 4.5, "determined": False},
        },
    }  # fmt: skip
    one = replace(IDENTIFIED, quantity="contact", trials=1, warnings=())
    assert identify.as_text(one).startswith("contact from 1 impact [") and "0.0375 N rms" in identify.as_text(one)


def test_the_plan_as_a_table(tmp_path, robot):
    q, velocity = np.arange(1.0, 8.0), -np.arange(11.0, 18.0)
    contact = Contact("tool", np.array([0.0, 0.6, 0.8]))
    identify_plan._write_table(tmp_path / "plan.csv", robot, [ImpactTrial(q, velocity, q, np.ones(7), contact)])
    with open(tmp_path / "plan.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    expected = {f"q_{name}": value for name, value in zip(robot.joint_names, q, strict=True)}
    expected |= {f"before_{name}": value for name, value in zip(robot.joint_names, velocity, strict=True)}
    expected |= {"normal_x": 0.0, "normal_y": 0.6, "normal_z": 0.8}
    assert {name: float(cell) for name, cell in row.items()} == expected


DQ = ["0.1", "0.2", "-0.3", "-0.5", "0.3", "-0.2", "0.1"]


def test_predictions_with_other_motor_inertias_leave_each_other_alone(capsys, robot):
    def answer(*words):
        assert main(["predict", "--dq", *DQ, "--normal", "0", "0", "1", *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    own = [str(value) for value in robot.apparent_motor_inertia]
    first = answer()
    heavy = answer("--apparent-motor-inertia", *["5.0"] * 7)
    bare = answer("--inertia", "M")
    assert first["effective_mass"] < heavy["effective_mass"] and bare["effective_mass"] < first["effective_mass"]
    assert answer() == first == answer("--apparent-motor-inertia", *own)
    assert answer("--apparent-motor-inertia", *["0"] * 7)["effective_mass"] == pytest.approx(bare["effective_mass"])
    np.testing.assert_array_equal(RobotModel.from_profile("panda").model.armature, robot.apparent_motor_inertia)
