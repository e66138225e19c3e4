"""Impacts on a cylinder and a hull: where palm and tip touch, and what the predictor makes of it."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from palm_hits import CONTACT, DQ, HALF, NORMAL, ROBOT, TOOL, Q

from impact_aware.contact.cylinder import Cylinder
from impact_aware.contact.geometry import contact_point
from impact_aware.contact.hull import Hull
from impact_aware.contact.shape import PlacedShape
from impact_aware.impact.bodies import BodyContact
from impact_aware.impact.hit import predict_hit
from impact_aware.impact.jump_predictor import JumpPredictor
from impact_aware.impact.palm import palm_contacts, table_contacts
from impact_aware.impact.predictor import predict

CAN = Cylinder(0.05, 0.08)
CENTRE_CONTACT = BodyContact("arm", NORMAL, np.zeros(3), "object", 0.4)


def touched(shape, tool, position, normal=NORMAL):
    centre = dataclasses.replace(CENTRE_CONTACT, normal=np.array(normal))
    body = PlacedShape(shape, np.array(position))
    return palm_contacts(centre, tool, HALF, body)


def test_a_palm_touches_the_side_of_an_upright_cylinder_along_a_line():
    # 35 mm of the palm's y axis stand upright, and its z axis looks out of the can by 0.1 rad aside.
    facing = pin.utils.rotate("z", 0.1)
    tool = pin.SE3(facing @ np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]), np.array([0.4, 0.02, 0.3]))
    outward = facing @ NORMAL
    can = tool.translation - (0.05 + 0.03) * outward + [0.0, 0.0, -0.06]
    found = touched(CAN, tool, can)
    # From 20 mm above the can's middle to its upper rim, 80 mm above it: from the palm's lower edge on.
    expected = [can + 0.05 * outward + [0.0, 0.0, z] for z in (0.025, 0.08)]
    np.testing.assert_allclose(sorted((c.point.tolist() for c in found), key=lambda p: p[2]), expected, atol=1e-9)
    for contact in found:
        np.testing.assert_allclose(contact.normal, outward, atol=1e-12)
        assert contact.friction == 0.4 and contact.other == "object"


def test_on_an_end_it_touches_where_both_are():
    tool = pin.SE3(np.diag([1.0, -1.0, -1.0]), np.array([0.4, 0.02, 0.3]))
    can = tool.translation + [0.03, 0.0, -0.03 - 0.08]
    found = np.array([contact.point for contact in touched(CAN, tool, can, normal=[0.0, 0.0, 1.0])])
    np.testing.assert_allclose(found[:, 2], 0.27, atol=1e-12)
    away = found - can
    # Corners of the can's rim within the palm, or on the palm's edge.
    edge = np.isclose(np.abs(found[:, 0] - 0.4), 0.04) | np.isclose(np.abs(found[:, 1] - 0.02), 0.035)
    assert np.all(np.isclose(np.hypot(away[:, 0], away[:, 1]), 0.05) | edge)
    assert np.all(np.hypot(away[:, 0], away[:, 1]) <= 0.05 + 1e-9) and found[:, 0].min() > 0.375
    assert found[:, 0].max() == pytest.approx(0.44)


def test_on_a_small_face_of_a_hull_it_touches_with_the_face():
    wedge = Hull(
        [[x, y, z] for z in (0.0, 0.05) for x, y in ((-0.02, -0.04), (0.03, -0.04), (0.03, 0.0), (-0.02, 0.02))]
    )
    outward = wedge.face(np.array([0.4, 1.0, 0.0]))
    np.testing.assert_allclose(outward, np.array([0.02, 0.05, 0.0]) / np.hypot(0.02, 0.05), atol=1e-12)
    turn = np.stack([np.cross(outward, [0.0, 0.0, 1.0]), [0.0, 0.0, -1.0], outward], axis=1)
    turn[:, 0] = np.cross(turn[:, 1], turn[:, 2])
    middle = wedge.footprint(outward).mean(axis=0)
    place = np.array([0.4, 0.02, 0.3])
    tool = pin.SE3(turn, place + middle + 0.03 * outward)
    found = sorted(contact.point.tolist() for contact in touched(wedge, tool, place, normal=outward))
    np.testing.assert_allclose(found, sorted((place + wedge.footprint(outward)).tolist()), atol=1e-9)


def test_a_lying_cylinder_stands_on_a_line_and_an_upright_one_on_its_end():
    place = np.array([0.5, -0.2, 0.3])
    lying = pin.utils.rotate("z", 0.35) @ pin.utils.rotate("x", np.pi / 2)
    found = [contact.point for contact in table_contacts("can", PlacedShape(CAN, place, lying), 0.3)]
    along = pin.utils.rotate("z", 0.35) @ [0.0, -1.0, 0.0]
    expected = [place + s * 0.08 * along - [0.0, 0.0, 0.05] for s in (-1.0, 1.0)]
    np.testing.assert_allclose(sorted(map(tuple, found)), sorted(map(tuple, expected)), atol=1e-12)
    upright = np.array([c.point for c in table_contacts("can", PlacedShape(CAN, place, np.eye(3)), 0.3)])
    np.testing.assert_allclose(upright[:, 2], 0.22)
    np.testing.assert_allclose(np.hypot(*(upright - place).T[:2]), 0.05)


def test_the_predictor_s_palm_hits_the_can_and_not_a_box_about_it():
    outward = NORMAL
    place = TOOL.translation - (0.03 + 0.05) * outward - [0.0, 0.0, 0.03]
    known = {"object_mass": 1.4, "object_position": place, "table_friction": 0.3}
    found = JumpPredictor(ROBOT, CONTACT, shape=CAN, pad_half_sizes=HALF, **known).predict(Q, DQ).outcome
    body = PlacedShape(CAN, place)
    how = {"obstacle": body.free_object(1.4), "shape": body, "table_friction": 0.3}
    expected = predict_hit(ROBOT, Q, DQ, CONTACT, HALF, **how)
    np.testing.assert_allclose(found.velocity_after, expected.velocity_after, atol=1e-9)
    # On a line the tool may turn about it, which a box's face would not let it.
    flat = JumpPredictor(ROBOT, CONTACT, pad_half_sizes=HALF, **known).predict(Q, DQ).outcome
    assert np.abs(flat.velocity_after - found.velocity_after).max() > 5e-3


def test_a_tip_beside_the_axis_hits_square_to_the_side():
    """5 mm aside of a can of 50 mm, with a tip of 30 mm: the normal is asin(5 / 80) aside, not along y."""
    sine = 5.0 / 80.0
    normal = np.array([sine, np.sqrt(1.0 - sine**2), 0.0])
    place = TOOL.translation - 0.08 * normal + [0.0, 0.0, 0.02]
    predictor = JumpPredictor(ROBOT, CONTACT, shape=CAN, object_mass=1.4, object_position=place)
    found = predictor.predict(Q, DQ).outcome
    there = dataclasses.replace(CONTACT, normal=normal)
    expected = predict(ROBOT, Q, DQ, there, obstacle=PlacedShape(CAN, place).free_object(1.4))
    np.testing.assert_allclose(found.contact.normal, normal, atol=1e-9)
    np.testing.assert_allclose(found.velocity_after, expected.velocity_after, atol=1e-9)
    straight = predict(ROBOT, Q, DQ, CONTACT, obstacle=PlacedShape(CAN, place).free_object(1.4))
    assert np.abs(straight.velocity_after - expected.velocity_after).max() > 1e-3


def test_looking_ahead_ends_where_the_tip_touches_the_side():
    aside, gap = 0.02, 0.004
    place = TOOL.translation - [aside, 0.08 + gap, 0.0]
    predictor = JumpPredictor(ROBOT, CONTACT, shape=CAN, object_mass=1.4, object_position=place)
    ahead = predictor.look_ahead(Q, DQ, 1.0)
    tool = ROBOT.placement(ahead.position).translation
    away = (tool - place)[:2]
    # A flat face across y would be touched 3 mm earlier.
    assert np.linalg.norm(away) == pytest.approx(0.08, abs=2e-4)
    assert np.linalg.norm(tool - place - [away[0], 0.08, 0.0]) > 2e-3
    point = contact_point(ROBOT, ahead.position, dataclasses.replace(CONTACT, normal=np.array([*away / 0.08, 0.0])))
    assert abs(PlacedShape(CAN, place).distance(point)) < 3e-4


def test_a_can_that_a_tracker_turns_about_its_axis_is_hit_alike():
    place = TOOL.translation - 0.08 * NORMAL
    known = {"shape": CAN, "object_mass": 1.4, "table_friction": 0.3, "pad_half_sizes": HALF, "object_position": place}
    first, other = JumpPredictor(ROBOT, CONTACT, **known), JumpPredictor(ROBOT, CONTACT, **known)
    other.see_object(place, rotation=pin.utils.rotate("z", 2.1) @ np.diag([1.0, -1.0, -1.0]))
    np.testing.assert_allclose(other.contact.normal, NORMAL, atol=1e-12)
    a, b = (each.predict(Q, DQ).outcome.velocity_after for each in (first, other))
    np.testing.assert_allclose(a, b, atol=1e-7)


def test_the_normal_of_a_hull_turns_with_it():
    wedge = Hull(
        [[x, y, z] for z in (0.0, 0.14) for x, y in ((-0.08, -0.06), (0.09, -0.06), (0.09, 0.03), (-0.08, 0.09))]
    )
    outward = wedge.face(NORMAL)
    contact = dataclasses.replace(CONTACT, normal=outward)
    predictor = JumpPredictor(ROBOT, contact, shape=wedge, object_mass=2.0, object_position=TOOL.translation)
    turn = pin.utils.rotate("z", -0.25)
    predictor.see_object(TOOL.translation, rotation=turn)
    np.testing.assert_allclose(predictor.contact.normal, turn @ outward, atol=1e-12)
    expected = TOOL.translation + wedge.depth(outward) * (turn @ outward)
    np.testing.assert_allclose(predictor.plane_point, expected, atol=1e-12)
