"""What an analysis writes, beyond the files that `test_looked_at.py` holds."""

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest

from impact_aware.recordings.results import CommonImpact
from impact_aware.records import ContactImpulse, Impact
from impact_aware.report.result_files import impact_to_json, impacts_csv, to_json
from test.support.hand_made import make_analysis, make_impact


def read(text):
    reader = csv.DictReader(io.StringIO(text))
    return reader.fieldnames, list(reader)


def test_the_plants_truth_is_there_where_it_was_recorded():
    plant = Impact(source="plant", time=12.5, joint_names=("b", "a"), velocity_before=np.array([-0.7, 0.1]),
                   velocity_after=np.array([0.36, 0.18]))  # fmt: skip
    found = impact_to_json(make_impact(truth=plant))
    assert found["velocity_after_true"] == [0.18, 0.36] and found["verdict"]["reference"] == "plant"
    assert found["error"] == pytest.approx(math.hypot(0.02, 0.01))


def test_the_plants_truth_is_in_the_order_of_the_joints():
    plant = Impact(source="plant", time=12.5, joint_names=("c", "a", "b"), velocity_before=np.array([3.0, 1.0, 2.0]),
                   velocity_after=np.array([6.0, 4.0, 5.0]))  # fmt: skip
    reference = make_impact(joint_names=("a", "b", "c"), truth=plant).reference
    assert (reference.before.tolist(), reference.after.tolist()) == ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])


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


@pytest.mark.parametrize(("joint", "name"), [(0, "b"), (1, "a"), (-1, None)])
def test_the_joint_that_jumped_first_is_named(joint, name):
    impact = make_impact(joint_names=("b", "a"))
    assert impact_to_json(replace(impact, event=replace(impact.event, joint=joint)))["first_joint"] == name


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
