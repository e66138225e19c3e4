"""Whoever predicts or draws takes the shape of the object, and not the box about it."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from impact_aware.contact import Contact
from impact_aware.contact.shape import PlacedShape
from impact_aware.control.safety.impact_check import expected_impact
from impact_aware.experiments.episode import predict_impact
from impact_aware.impact import predict
from impact_aware.impact.table_support import TableSupport
from impact_aware.markers import MarkerStyle, SceneMarkers
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field
from impact_aware.task.grasp import predict_grasp_impact
from impact_aware.task.impact_positions import IntendedImpact
from impact_aware.task.make_field import joint_velocity_of_tool, posture_with_tool_at, usual_posture

ROBOT = RobotModel.from_profile("panda")
# A tip of 30 mm beside the axis of a can of 65 mm: the normal is asin(0.6) aside there.
# It is so low that the hand stays above it.
LOW = {"shape": "cylinder", "radius": 0.065, "half_length": 0.05, "position": [0.5, 0.0, 0.05]}
CAN = load_task("hit_and_push", {"object": LOW, "goal": [0.5, -0.3, 0.05]})
CAN = dataclasses.replace(CAN, arms=(dataclasses.replace(CAN.arms[0], impact_offset=(0.039, 0.0, 0.02)),))
NORMAL = np.array([0.6, 0.8, 0.0])
FIELD = make_field(CAN, [ROBOT])
BODY = PlacedShape(CAN.object.solid, np.array(CAN.object.position)).free_object(2.2)


def state(place) -> tuple[np.ndarray, np.ndarray]:
    arm = CAN.arms[0]
    q = posture_with_tool_at(arm, ROBOT, place, usual_posture(arm, ROBOT))
    return q, joint_velocity_of_tool(arm, ROBOT, q, [0.05, -0.5, 0.0])


def true_hit(q, dq, normal, table=True):
    contact = Contact("tool", np.array(normal), radius=ROBOT.tool_radius, friction=0.3)
    support = TableSupport(CAN.object.standing, BODY, CAN.object.friction_table, [0.0, 0.0, 1.0]) if table else None
    return predict(ROBOT, q, dq, contact, obstacle=BODY, table=support)


def test_the_check_of_the_impact_hits_the_can():
    lifted = dataclasses.replace(CAN, arms=(dataclasses.replace(CAN.arms[0], load_share=1.0),))
    found = expected_impact(FIELD, ROBOT, task=lifted)
    expected = true_hit(found.posture, found.velocity_before, NORMAL, table=False)
    np.testing.assert_allclose(found.velocity_after, expected.velocity_after, atol=1e-9)


def test_the_predictions_of_campaign_and_arms_together_have_the_normal_where_the_tip_is():
    # The tip is 0.095 m from the axis, at another angle than the field has it.
    normal = np.array([0.28, 0.96, 0.0])
    q, dq = state(CAN.object.position + 0.095 * normal + [0.0, 0.0, 0.02])
    expected, free = true_hit(q, dq, normal), true_hit(q, dq, normal, table=False)
    field = dataclasses.replace(FIELD, arms=(dataclasses.replace(FIELD.arms[0], normal=normal, impact_position=(
        CAN.object.position + 0.095 * normal + np.array([0.0, 0.0, 0.02]))),))  # fmt: skip
    skewed = dataclasses.replace(field, arms=(dataclasses.replace(field.arms[0], normal=NORMAL),))
    event = SimpleNamespace(time=1.0, position=q, velocity_before=dq)
    for own in (field, skewed):
        found = predict_impact(CAN, 0, ROBOT, own, event)
        np.testing.assert_allclose(found.contact.normal, normal, atol=1e-5)
        np.testing.assert_allclose(found.velocity_after, expected.velocity_after, atol=1e-4)
    lifted = dataclasses.replace(CAN, arms=(dataclasses.replace(CAN.arms[0], load_share=1.0),))
    together = predict_grasp_impact(lifted, [ROBOT], skewed, [q], [dq])
    np.testing.assert_allclose(together.contacts[0].normal, normal, atol=1e-5)
    # The maps differ where a contact slips, but not in which body they hit.
    np.testing.assert_allclose(together.impulse[0], free.impulse, rtol=0.05, atol=0.01)


def test_the_intended_impact_is_that_of_the_can():
    direct = IntendedImpact(CAN, [ROBOT])
    tools = direct.tool_positions(direct.nominal + [0.01, 0.004])
    moved = tools[0] - FIELD.arms[0].impact_position
    assert moved @ NORMAL == pytest.approx(0.0, abs=1e-12) and np.linalg.norm(moved) > 0.01
    q, dq = direct.state(0, tools[0])
    away = (tools[0] - CAN.object.position) * [1.0, 1.0, 0.0]
    expected = true_hit(q, dq, away / np.linalg.norm(away)).object_twist_after[:3]
    np.testing.assert_allclose(direct(direct.nominal + [0.01, 0.004]), expected, atol=1e-9)


def test_markers_draw_the_can_at_the_start_and_at_the_goal():
    scene = SceneMarkers(MarkerStyle())
    scene.add_field(FIELD, 0.0)
    scene.add_object("panda_link0", 0.0, np.array([0.3, 0.1, 0.2]), np.array([0.0, 0.0, 0.0, 1.0]))
    drawn = {m.namespace.rpartition("/")[2]: m for group in scene.take_changes().values() for m in group}
    for name, centre in (("object", [0.3, 0.1, 0.2]), ("object_goal", CAN.goal)):
        away = drawn[name].points - centre
        np.testing.assert_allclose(np.hypot(away[:, 0], away[:, 1]), 0.065, atol=1e-12)
        np.testing.assert_allclose(np.abs(away[:, 2]), 0.05, atol=1e-12)
