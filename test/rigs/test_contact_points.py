"""Cases of several hits of one tip: drawn as said, and counted right."""

import argparse
from dataclasses import replace

import numpy as np
import pytest

from impact_aware.contact.geometry import Contact
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.contact_point import JointJump
from impact_aware.impact.predictor import predict
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench import contact_points
from impact_aware_rigs.bench.contact_points import PointScore, hits_of_case
from impact_aware_rigs.bench.lab_draw import ToolDraw, draw_hit, draw_tool


@pytest.fixture(scope="module")
def tool():
    robot = RobotModel.from_profile("panda")
    return ToolDraw(robot, robot, np.array([0.06, -0.03, 0.02]))


def hits_of(tool, count, seed=4, noise=2e-3):
    rng, hits = np.random.default_rng(seed), []
    while len(hits) < count:
        q, before = tool.robot.home + rng.uniform(-0.3, 0.3, 7), rng.uniform(-0.7, 0.7, 7)
        normal = rng.standard_normal(3)
        contact = Contact("tool", normal, offset=tool.offset, friction=0.3, radius=tool.robot.tool_radius)
        jump = predict(tool.robot, q, before, contact).velocity_after - before
        if np.abs(jump).max() > 0.3:
            hits.append(JointJump(q, jump + noise * rng.standard_normal(7), np.full(7, noise), before, normal))
    return hits


def test_a_case_is_counted_with_its_distance_its_errors_and_what_is_accused(tool):
    score, hits = PointScore(), hits_of(tool, 4)
    score.take(tool, [*hits, None], True)
    found = score.as_dict()
    assert (found["hits"], found["found"], found["cases"], found["cannot_tell"]) == (5, 4, 1, 0)
    assert found["error_cm"]["p50"] < 1.0 and found["within_2_cm"] == 1.0 and found["within_two_se"] == 1.0
    # The profile's tip is 7 cm from the true one.
    assert (found["right_point_accused"], found["wrong_points"], found["wrong_point_accused"]) == (0, 1, 1)
    # The same hits said to be of a tip that is 4 cm away.
    moved = replace(tool, offset=tool.offset + np.array([0.04, 0.0, 0.0]))
    score.take(moved, hits, True)
    found = score.as_dict()
    assert found["cases"] == 2 and found["right_point_accused"] == 1 and found["within_2_cm"] == 0.5
    assert found["within_two_se"] < 1.0 and found["error_cm"]["p90"] > 2.0
    assert found["error_in_all_directions_cm"]["p90"] >= found["error_cm"]["p90"]


def test_hits_of_two_tips_are_of_more_than_one_point_and_tell_none(tool):
    score, other = PointScore(), replace(tool, offset=tool.offset + np.array([0.0, 0.07, -0.06]))
    score.take(tool, hits_of(tool, 3) + hits_of(other, 3, seed=9), True)
    found = score.as_dict()
    assert found["of_more_than_one_point"] == 1 and found["cannot_tell"] == 1 and found["within_2_cm"] is None


def test_a_case_without_a_find_is_none(tool):
    score = PointScore()
    score.take(tool, [None, None], False)
    assert (score.as_dict()["cases"], score.as_dict()["found"]) == (0, 0)


def test_a_given_tip_is_hit_with_it_and_rigid_joints_are_rigid():
    tool = draw_tool(np.random.default_rng(6))
    draw = draw_hit(np.random.default_rng(7), "hold", tool=tool, elastic=False, after=0.2)
    assert draw.plant is tool.plant and draw.elasticity is None and draw.after == 0.2 and draw.control == "hold"
    place = tool.robot.placement(draw.touch).act(tool.offset)
    np.testing.assert_allclose(tool.plant.placement(draw.touch).translation, place, atol=1e-9)


@pytest.mark.slow
def test_the_jumps_of_a_rigid_case_tell_its_tip():
    tool, hits = hits_of_case(900004, 4, 500.0, elastic=False)
    score = PointScore()
    score.take(tool, hits, True)
    assert score.found == 4 and score.as_dict()["within_2_cm"] == 1.0


@pytest.mark.parametrize(("cases", "hits", "name"), [(0, [4], "--cases"), (2, [0, 4], "--hits")])
def test_what_makes_no_case_is_refused(cases, hits, name):
    with pytest.raises(InvalidInputError, match=name):
        contact_points.run(argparse.Namespace(cases=cases, hits=hits, joints=["rigid"], rate=200, seed=1))
