"""Every cell and key of what an analysis writes, from numbers written by hand."""

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest

from impact_aware.recordings.ablation_results import AblationGroup
from impact_aware.recordings.results import CommonImpact
from impact_aware.records import ContactImpulse, Impact
from impact_aware.report.result_files import ablation_csv, impact_to_json, impacts_csv, to_json
from test.support.hand_made import make_analysis, make_impact

IMPACT = {
    "arm": "left",
    "index": 3,
    "file": "runs/one.mcap",
    "time": 12.5,
    "time_detected": 12.503,
    "time_standard_error": 4e-4,
    "detector": "kink",
    "detectors": ["kink", "other"],
    "confidence": 0.75,
    "residual": [1.5, 4.5],
    "first_joint": "b",
    "joint_names": ["a", "b"],
    "position": [1.0, -2.0],
    "velocity_before": [0.11, -0.72],
    "velocity_before_error": [0.003, 0.004],
    "velocity_after_predicted": [0.2, 0.35],
    "velocity_after_predicted_std": [0.15, 0.06],
    "velocity_after_estimated": [0.5, -0.05],
    "velocity_after_error": [0.01, 0.02],
    "joint_error": [0.3, 0.4],
    "error": 0.5,
    "velocity_after_true": None,
    # Of the estimated jump (0.39, 0.67).
    "relative_error": 0.5 / math.hypot(0.39, 0.67),
    "contact_frame": "flange",
    "normal_source": "tf",
    "point": [0.3, -0.2, 0.9],
    "normal": [0.0, 1.0, 0.0],
    "contact_velocity_before": [0.11, -1.44, 0.33],
    "contact_velocity_after_predicted": [0.2, 0.7, 0.6],
    "contact_velocity_after_estimated": [0.5, -0.1, 1.5],
    "impulse": [0.4, 1.7, -0.6],
    # B dv = (0.78, 3.35) = J' p: along y half of 3.35, the rest along (1, 0, 3).
    "impulse_estimated": [0.078, 1.675, 0.234],
    # The same of the velocities' errors, 0.01 and 0.003, 0.02 and 0.004.
    "impulse_error": [0.2 * math.hypot(0.01, 0.003), 2.5 * math.hypot(0.02, 0.004), 0.6 * math.hypot(0.01, 0.003)],
    "jump_error": [math.hypot(0.01, 0.003), math.hypot(0.02, 0.004)],
    "effective_mass": 1.25,
    "mode": "slide",
    "friction": 0.3,
    "restitution": 0.25,
    "inertia": "M+B_rho",
    "object_mass": 2.25,
    "expected": False,
    "label": "hard",
    "notes": ["first note", "second note"],
    "cause": "contact",
    "evidence": "",
}

SPREAD = math.sqrt(0.01**2 + 0.15**2 + 0.02**2 + 0.06**2)
"""Norm of the standard errors of estimate and prediction, rad/s."""

ROWS = [
    {
        "file": "runs/one.mcap", "arm": "left", "index": "3", "label": "hard", "cause": "contact", "time": "12.5",
        "time_standard_error": "0.0004", "time_detected": "12.503", "detector": "kink", "expected": "no",
        "mode": "slide", "normal_x": 0.0, "normal_y": 1.0, "normal_z": 0.0, "normal_source": "tf",
        "impulse_x": 0.4, "impulse_y": 1.7, "impulse_z": -0.6, "effective_mass": 1.25, "friction": "0.3",
        "restitution": "0.25", "inertia": "M+B_rho", "verdict_within": "no",
        "verdict_reference": "estimate", "error": 0.5, "relative_error": IMPACT["relative_error"], **joint,
    }
    for joint in (
        {
            "joint": "a", "position": "1.0", "velocity_before": "0.11", "velocity_before_error": "0.003",
            "velocity_after_predicted": "0.2", "velocity_after_predicted_std": "0.15",
            "velocity_after_estimated": "0.5", "velocity_after_error": "0.01", "joint_error": 0.3,
        },
        {
            "joint": "b", "position": "-2.0", "velocity_before": "-0.72", "velocity_before_error": "0.004",
            "velocity_after_predicted": "0.35", "velocity_after_predicted_std": "0.06",
            "velocity_after_estimated": "-0.05", "velocity_after_error": "0.02", "joint_error": 0.4,
        },
    )
]  # fmt: skip


def read(text):
    reader = csv.DictReader(io.StringIO(text))
    return reader.fieldnames, list(reader)


def check(found, expected):
    """Names and words to the letter, computed numbers to rounding."""
    assert list(found) == list(expected)
    for name, value in expected.items():
        if isinstance(value, float):
            assert float(found[name]) == pytest.approx(value, rel=1e-12, abs=1e-15), name
        else:
            assert found[name] == value, name


def test_every_key_of_an_impact_has_its_own_value():
    found = impact_to_json(make_impact())
    rows, comparison = found.pop("ablation"), found.pop("verdict")
    assert comparison.pop("interval") == pytest.approx([0.5 - 1.96 * SPREAD, 0.5 + 1.96 * SPREAD])
    # Squares of 0.3 / hypot(0.01, 0.15) and 0.4 / hypot(0.02, 0.06).
    assert comparison.pop("distance") == pytest.approx(math.sqrt(0.5 * (0.09 / 0.0226 + 0.16 / 0.004)))
    assert (comparison.pop("error"), comparison.pop("share")) == pytest.approx((0.5, IMPACT["relative_error"]))
    assert comparison == {"within": "no", "reason": "", "reference": "estimate", "assumed": []}
    assert found.pop("contact_check") is None and found.pop("object") is None and found.pop("common") is None
    assert set(found) == set(IMPACT)
    for name, value in IMPACT.items():
        if value is None or isinstance(value, str | bool) or (isinstance(value, list) and isinstance(value[0], str)):
            assert found[name] == value, name
        else:
            assert found[name] == pytest.approx(value, rel=1e-12, abs=1e-15), name
    assert rows == [
        {"inertia": "M", "friction": 0.3, "velocity_after": [0.6, 0.1], "joint_error": [0.1, 0.15], "error": 0.18,
         "relative_error": 0.23},
        {"inertia": "M+B_rho", "friction": 0.0, "velocity_after": [0.53, -0.01], "joint_error": [0.03, 0.04],
         "error": 0.05, "relative_error": 0.0645},
    ]  # fmt: skip


def test_every_column_of_the_impacts_has_its_own_cell():
    header, rows = read(impacts_csv([make_impact(), make_impact(index=4, expected=True)]))
    assert header == list(ROWS[0])
    assert [row["index"] for row in rows] == ["3", "3", "4", "4"]
    assert rows[2]["expected"] == "yes"
    for row, expected in zip(rows, ROWS, strict=False):
        check(row, expected)


def test_what_is_not_known_is_null_or_an_empty_cell():
    impact = make_impact(
        estimate=None, prediction=None, prediction_std=None, normal_source="", contact_frame="", expected=None,
        label=None, ablation=(),
    )  # fmt: skip
    found = impact_to_json(impact)
    unknown = {name for name, value in found.items() if value is None}
    assert unknown == {
        "velocity_after_predicted", "velocity_after_predicted_std", "velocity_after_estimated", "velocity_after_error",
        "joint_error", "error", "relative_error", "point", "normal", "contact_velocity_before",
        "contact_velocity_after_predicted", "contact_velocity_after_estimated", "impulse", "impulse_estimated",
        "impulse_error", "jump_error", "effective_mass", "object_mass", "expected", "label", "contact_check", "object",
        "common", "velocity_after_true",
    }  # fmt: skip
    # Without an estimate the velocity before is the detector's, whose error nobody knows.
    assert found["velocity_before"] == [0.15, -0.75] and found["velocity_before_error"] == [None, None]
    assert (found["mode"], found["friction"], found["inertia"]) == ("", 0.0, "")
    _, rows = read(impacts_csv([impact]))
    assert {name for name, cell in rows[1].items() if cell == ""} == {
        "label", "expected", "mode", "normal_x", "normal_y", "normal_z", "normal_source", "impulse_x", "impulse_y",
        "impulse_z", "effective_mass", "inertia", "verdict_reference", "error", "relative_error",
        "velocity_before_error",
        "velocity_after_predicted", "velocity_after_predicted_std", "velocity_after_estimated", "velocity_after_error",
        "joint_error",
    }  # fmt: skip
    assert rows[1]["velocity_before"] == "-0.75"


def test_a_prediction_without_an_estimate_has_no_error():
    found = impact_to_json(make_impact(estimate=None))
    assert found["velocity_after_predicted"] == [0.2, 0.35]
    assert found["error"] is found["joint_error"] is found["relative_error"] is found["impulse_estimated"] is None
    without_object = make_impact().prediction._replace(obstacle=None)
    assert impact_to_json(make_impact(prediction=without_object))["object_mass"] is None


def test_the_plants_truth_is_there_where_it_was_recorded():
    plant = Impact(source="plant", time=12.5, joint_names=("b", "a"), velocity_before=np.array([-0.7, 0.1]),
                   velocity_after=np.array([0.36, 0.18]))  # fmt: skip
    found = impact_to_json(make_impact(truth=plant))
    assert found["velocity_after_true"] == [0.18, 0.36] and found["verdict"]["reference"] == "plant"
    assert found["error"] == pytest.approx(math.hypot(0.02, 0.01))


def test_of_several_arms_at_once_the_common_impact_counts():
    contact = ContactImpulse(impulse=np.array([0.3, 0.1, -0.2]), friction=0.8, restitution=0.25, mode="slide")
    common = CommonImpact("grab", ("right",), np.array([0.4, 0.6]), contact, np.array([0.1, 0.0, 0.2]))
    found = impact_to_json(make_impact(common=common))
    assert found["velocity_after_predicted"] == found["common"]["velocity_after"] == [0.4, 0.6]
    estimated, before = np.array(found["velocity_after_estimated"]), np.array(found["velocity_before"])
    assert found["joint_error"] == pytest.approx(np.abs([0.4, 0.6] - estimated))
    error = np.linalg.norm([0.4, 0.6] - estimated)
    assert (found["error"], found["relative_error"]) == pytest.approx(
        (error, error / np.linalg.norm(estimated - before))
    )
    assert (found["impulse"], found["friction"], found["restitution"]) == ([0.3, 0.1, -0.2], 0.8, 0.25)
    assert (found["mode"], found["common"]["arms"]) == ("slide", ["right"])


def test_stamps_keep_every_digit_and_infinity_is_empty():
    event = make_impact().event
    stamp = 1_700_000_000.123456
    _, rows = read(impacts_csv([make_impact(event=replace(event, time=stamp, time_std=np.inf))]))
    assert float(rows[0]["time"]) == stamp
    assert rows[0]["time_standard_error"] == ""


GROUP = AblationGroup(
    label="hard",
    robot="two",
    joint_names=("a", "b"),
    inertia="M",
    friction=0.3,
    count=7,
    joint_error_mean=np.array([0.1, 0.2]),
    joint_error_max=np.array([0.3, 0.4]),
    error_mean=0.5,
    error_max=0.6,
    velocity_before_mean=np.array([-0.7, -0.8]),
    velocity_after_mean=np.array([0.9, 1.1]),
)


def test_every_column_of_the_ablation_has_its_own_cell():
    header, rows = read(ablation_csv([GROUP]))
    assert header == [
        "label", "robot", "inertia", "friction", "impacts", "error_mean", "error_max", "joint", "joint_error_mean",
        "joint_error_max", "velocity_before_mean", "velocity_after_mean",
    ]  # fmt: skip
    assert [list(row.values()) for row in rows] == [
        ["hard", "two", "M", "0.3", "7", "0.5", "0.6", "a", "0.1", "0.3", "-0.7", "0.9"],
        ["hard", "two", "M", "0.3", "7", "0.5", "0.6", "b", "0.2", "0.4", "-0.8", "1.1"],
    ]
    assert ablation_csv([]).splitlines() == [",".join(header)]


def test_the_whole_analysis_as_json():
    analysis = make_analysis(make_impact(), make_impact(index=4), ablation_groups=(GROUP,))
    found = to_json(analysis)
    assert [impact["index"] for impact in found.pop("impacts")] == [3, 4]
    assert found.pop("other_events") == []
    untold = found.pop("cannot_tell")
    assert {"file": "one.mcap", "arm": "left", "impacts": []}.items() <= untold[0].items()
    assert "restitution, and what the object did" in [entry["what"] for entry in untold]
    assert found == {
        "files": ["runs/one.mcap"],
        "messages": 12_345,
        "rate_hz": 987.6,
        "seconds_read": 0.25,
        "seconds": 1.75,
        "arms": [
            {
                "arm": "left", "file": "runs/one.mcap", "topic": "/left/joint_states", "robot": "two",
                "base_frame": "left_base", "joint_names": ["a", "b"], "messages": 12_345, "samples": 12_001,
                "rate_hz": 987.6, "first_time": 10.0, "last_time": 20.0, "impacts": 2, "quality": None,
                "smallest_jump": 0.045,
                "other_events": 0, "notes": ["a note of the arm"],
            }
        ],
        "ablation": [
            {
                "label": "hard", "robot": "two", "joint_names": ["a", "b"], "inertia": "M", "friction": 0.3,
                "impacts": 7, "error_mean": 0.5, "error_max": 0.6, "joint_error_mean": [0.1, 0.2],
                "joint_error_max": [0.3, 0.4], "velocity_before_mean": [-0.7, -0.8],
                "velocity_after_mean": [0.9, 1.1],
            }
        ],
        "settings": {"friction": 0.3},
        "versions": {"python": "3.11"},
        "notes": ["a note of all"],
    }  # fmt: skip


def test_the_rate_is_that_of_the_fastest_arm():
    analysis = make_analysis()
    arms = [replace(analysis.arms[0], rate_hz=rate) for rate in (30.0, 1000.0, np.nan)]
    assert to_json(replace(analysis, arms=tuple(arms)))["rate_hz"] == 1000.0
    assert to_json(replace(analysis, arms=tuple(arms[2:])))["rate_hz"] is None


def test_the_error_of_the_impulse_is_the_spread_that_the_jump_gives_it():
    impact = make_impact()
    random, estimate = np.random.default_rng(3), impact.estimate
    found = [
        replace(
            impact, estimate=replace(estimate, velocity_after=estimate.velocity_after + estimate.jump_error * draw)
        ).impulse_estimated
        for draw in random.standard_normal((2000, 2))
    ]
    np.testing.assert_allclose(impact.impulse_error, np.std(found, axis=0), rtol=0.06)
    assert (impact.impulse_error > 0.0).any()
    # Velocities of one fit share errors, which are not in its jump.
    alike = replace(estimate, jump_std=0.5 * estimate.jump_error)
    np.testing.assert_allclose(replace(impact, estimate=alike).impulse_error, 0.5 * impact.impulse_error)
