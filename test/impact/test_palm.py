"""A palm's impact: all corners at once, checked by momentum, energy and the two ends it lies between."""

import numpy as np
import pinocchio as pin
import pytest
from palm_hits import BOX, CONTACT, DQ, HALF, NORMAL, ROBOT, ROWS, TOOL, Q

from impact_aware.contact import Contact
from impact_aware.contact.box import Box, homogeneous_box
from impact_aware.contact.geometry import contact_point
from impact_aware.contact.shape import PlacedShape
from impact_aware.errors import InvalidInputError
from impact_aware.impact.bodies import ArmState, BodyContact
from impact_aware.impact.hit import not_unique, predict_hit
from impact_aware.impact.jump_predictor import JumpPredictor
from impact_aware.impact.palm import (
    checked_palm,
    palm_contacts,
    palm_gaps,
    shared_corners,
    summed_contact,
    table_contacts,
)
from impact_aware.impact.predictor import predict
from impact_aware.impact.simultaneous import predict_simultaneous

BOX_HALF = BOX.half_extents


def box(lower=0.0, aside=0.0):
    """A box before the palm, whose centre is lower than the palm's, m."""
    centre = TOOL.translation - (0.03 + BOX_HALF[1]) * NORMAL + [aside, 0.0, -lower]
    return homogeneous_box(2.2, BOX_HALF, centre)


def on_table(thing):
    return {"shape": PlacedShape(Box(BOX_HALF), thing.position), "table_friction": 0.3}


def kinetic(found, thing, velocity, twist):
    mass = ROBOT.mass_matrix(Q, found.inertia)
    turning = twist[3:] @ thing.inertia @ twist[3:]
    return 0.5 * (velocity @ mass @ velocity + thing.mass * twist[:3] @ twist[:3] + turning)


def test_what_the_palm_gives_the_object_takes_and_the_energy_is_that_of_both():
    thing = box(lower=0.02, aside=0.015)
    found = predict_hit(ROBOT, Q, DQ, CONTACT, HALF, obstacle=thing)
    np.testing.assert_allclose(thing.mass * found.object_twist_after[:3], -found.impulse, atol=1e-9)
    lost = kinetic(found, thing, DQ, np.zeros(6)) - kinetic(
        found, thing, found.velocity_after, found.object_twist_after
    )
    assert found.energy_loss == pytest.approx(lost, abs=1e-9) and lost > 0.1
    # The middle of the face: 0.03 m from the tool frame, whichever of the palm's axes that is.
    facing = int(np.argmax(np.abs(TOOL.rotation.T @ NORMAL)))
    np.testing.assert_allclose(found.point, TOOL.translation - HALF[facing] * NORMAL, atol=1e-12)
    np.testing.assert_allclose(found.contact_velocity_before, [0.06, -0.5, 0.04], atol=1e-9)
    assert found.mode == "stick" and found.method == "palm"


def test_a_sentence_on_what_is_not_unique_has_the_energies():
    assert not_unique(0.5114, ()).endswith("contacts that yield alike, which loses 0.511 J")
    assert not_unique(0.5, (0.25, 0.7, 0.1)).endswith("which loses 0.5 J; others lose 0.1 to 0.7 J")
    assert not_unique(0.5, (0.25, 0.25001)).endswith("; others lose 0.25 J")


def test_object_and_tool_go_on_as_one_where_all_corners_stick():
    thing = box(lower=0.02, aside=0.015)
    found = predict_hit(ROBOT, Q, DQ, CONTACT, HALF, obstacle=thing)
    tool, twist = ROBOT.frame_jacobian(Q) @ found.velocity_after, found.object_twist_after
    np.testing.assert_allclose(tool[3:], twist[3:], atol=1e-6)
    at_tool = twist[:3] + np.cross(twist[3:], TOOL.translation - thing.position)
    np.testing.assert_allclose(tool[:3], at_tool, atol=1e-6)
    assert np.linalg.norm(twist[3:]) > 0.05


def test_a_palm_of_no_size_is_a_tip():
    """A tip may turn about its point; four corners a micrometre apart may as well."""
    thing, tiny = box(lower=0.02, aside=0.015), np.where(np.abs(TOOL.rotation.T @ NORMAL) > 0.5, 0.03, 1e-6)
    tip = predict(ROBOT, Q, DQ, CONTACT, obstacle=thing)
    found = predict_hit(ROBOT, Q, DQ, CONTACT, tiny, obstacle=thing)
    np.testing.assert_allclose(found.velocity_after, tip.velocity_after, atol=1e-3)
    np.testing.assert_allclose(found.impulse, tip.impulse, atol=1e-3)
    assert found.effective_mass == pytest.approx(tip.effective_mass, rel=1e-6)
    real = predict_hit(ROBOT, Q, DQ, CONTACT, HALF, obstacle=thing)
    assert np.linalg.norm(real.velocity_after - tip.velocity_after) > 0.05


def test_the_table_holds_an_object_that_is_hit_above_its_centre():
    thing = box(lower=0.05)
    free = predict_hit(ROBOT, Q, DQ, CONTACT, HALF, obstacle=thing)
    held = predict_hit(ROBOT, Q, DQ, CONTACT, HALF, obstacle=thing, **on_table(thing))
    assert abs(free.object_twist_after[3]) > 0.05
    corners = [[x, y, -BOX_HALF[2]] for x in (-0.1, 0.1) for y in (-0.065, 0.065)]

    def lowest(twist):
        return min((twist[:3] + np.cross(twist[3:], corner))[2] for corner in corners)

    assert lowest(free.object_twist_after) < -1e-3 <= lowest(held.object_twist_after)


def test_no_corner_of_a_palm_goes_into_a_fixed_surface():
    """It may tip onto an edge, and nothing pulls it back."""
    found = predict_hit(ROBOT, Q, DQ, CONTACT, HALF)
    assert found.object_twist_after is None and found.obstacle is None
    twist = ROBOT.frame_jacobian(Q) @ found.velocity_after
    facing = int(np.argmax(np.abs(TOOL.rotation.T @ NORMAL)))
    along, across = (TOOL.rotation[:, axis] * HALF[axis] for axis in range(3) if axis != facing)
    leaving = [
        (twist[:3] + np.cross(twist[3:], s * along + t * across - 0.03 * NORMAL)) @ NORMAL
        for s in (-1, 1)
        for t in (-1, 1)
    ]
    assert min(leaving) == pytest.approx(0.0, abs=1e-6)
    assert found.impulse @ NORMAL > 1.0 and found.energy_loss > 0.1


def test_the_predictor_takes_the_palm_for_its_own_contact_only():
    settings = {"object_mass": 2.2, "shape": Box(BOX_HALF), "object_position": box(0.03).position}
    predictor = JumpPredictor(ROBOT, CONTACT, pad_half_sizes=HALF, table_friction=0.3, **settings)
    expected = predict_hit(ROBOT, Q, DQ, CONTACT, HALF, obstacle=box(0.03), **on_table(box(0.03)))
    found = predictor.predict(Q, DQ)
    np.testing.assert_allclose(found.outcome.velocity_after, expected.velocity_after, atol=1e-9)
    assert found.uncertain is None
    free = JumpPredictor(ROBOT, CONTACT, pad_half_sizes=HALF, **settings).predict(Q, DQ).outcome
    assert np.linalg.norm(free.velocity_after - expected.velocity_after) > 1e-2
    other = Contact(ROBOT.tool_frame, NORMAL, friction=0.6, radius=0.03)
    tip = predict(ROBOT, Q, DQ, other, obstacle=box(0.03))
    asked = predictor.predict(Q, DQ, contact=other).outcome
    np.testing.assert_allclose(asked.velocity_after, tip.velocity_after, atol=1e-9)
    # Another mass of the same object is still the palm's.
    heavy = predictor.predict(Q, DQ, object_mass=4.4).outcome
    assert heavy.method == "palm" and abs(heavy.object_twist_after[1]) < abs(found.outcome.object_twist_after[1])


@pytest.mark.parametrize("pad", [HALF, np.zeros(3)])
@pytest.mark.parametrize("naming", [np.eye(3), np.roll(np.eye(3), 1, axis=0) * [1.0, -1.0, -1.0]])
def test_a_box_that_is_seen_turned_is_hit_as_the_turned_arm_would_hit_it(pad, naming):
    """All about the first joint's axis, turned by 0.35 rad with the box: the same joint velocities after.

    The box may call its axes otherwise.
    """
    turn, centre = pin.utils.rotate("z", 0.35), box(0.03).position
    settings = {"object_mass": 2.2, "table_friction": 0.3, "pad_half_sizes": pad}
    here = JumpPredictor(ROBOT, CONTACT, shape=Box(BOX_HALF), object_position=centre, **settings)
    half = np.abs(naming).T @ BOX_HALF
    there = JumpPredictor(
        ROBOT, CONTACT, shape=Box(half), object_position=[0.4, 0.0, 0.0], object_rotation=naming, **settings
    )
    there.see_object(turn @ centre, rotation=turn @ naming)
    np.testing.assert_allclose(there.contact.normal, turn @ NORMAL, atol=1e-12)
    np.testing.assert_allclose(there.plane_point, turn @ here.plane_point, atol=1e-12)
    expected = here.predict(Q, DQ).outcome
    found = there.predict(Q + 0.35 * np.eye(7)[0], DQ).outcome
    np.testing.assert_allclose(found.velocity_after, expected.velocity_after, atol=1e-7)
    np.testing.assert_allclose(found.object_twist_after[:3], turn @ expected.object_twist_after[:3], atol=1e-7)


@pytest.mark.parametrize("pad", [HALF, np.zeros(3)])
def test_a_box_that_is_carried_is_hit_as_one_at_rest_by_an_arm_that_moves_along(pad):
    """Only relative velocities matter: all jumps are the same, and the table takes nothing from what it carries."""
    along, centre = np.array([0.12, -0.07, 0.0]), box(0.03).position
    settings = {"object_mass": 2.2, "shape": Box(BOX_HALF), "table_friction": 0.3, "pad_half_sizes": pad}
    still = JumpPredictor(ROBOT, CONTACT, object_position=centre, **settings)
    carried = JumpPredictor(ROBOT, CONTACT, object_position=[0.4, 0.0, 0.0], **settings)
    carried.see_object(centre - 0.4 * along, velocity=along, time=2.0)
    faster = DQ + np.linalg.solve(ROWS, [*along, 0.0, 0.0, 0.0, 0.0])
    expected = still.predict(Q, DQ).outcome
    found = carried.predict(Q, faster, time=2.4).outcome
    np.testing.assert_allclose(found.velocity_after - faster, expected.velocity_after - DQ, atol=1e-6)
    np.testing.assert_allclose(found.object_twist_after[:3], expected.object_twist_after[:3] + along, atol=1e-6)
    # From 4 cm away they meet as soon, at the face where it is by then.
    away = -0.04 * NORMAL
    still.see_object(centre + away)
    carried.see_object(centre + away - 0.4 * along, velocity=along, time=2.0)
    ahead, met = still.look_ahead(Q, DQ, 1.0), carried.look_ahead(Q, faster, 1.0, time=2.4)
    assert met.time_to_impact == pytest.approx(ahead.time_to_impact, rel=1e-9)
    assert met.distance == pytest.approx(0.04, abs=1e-9)
    assert carried.look_ahead(Q, faster, 1.0, time=2.3).distance == pytest.approx(0.04 + 0.1 * along[1] * NORMAL[1])


def test_a_box_stands_on_the_face_that_looks_down_whatever_its_axes_are_called():
    turn, naming = pin.utils.rotate("z", 0.35), np.roll(np.eye(3), 1, axis=0) * [1.0, -1.0, -1.0]
    half, place = np.abs(naming).T @ BOX_HALF, np.array([0.5, -0.2, 0.3])
    own = table_contacts("box", PlacedShape(Box(half), place, turn @ naming), 0.3)
    corners = np.array([[x, y, -0.12] for x in (-0.1, 0.1) for y in (-0.065, 0.065)]) @ turn.T + place
    found = np.array(sorted(contact.point.tolist() for contact in own))
    np.testing.assert_allclose(found, sorted(corners.tolist()), atol=1e-12)
    assert all(np.allclose(contact.normal, [0.0, 0.0, 1.0]) and contact.friction == 0.3 for contact in own)
    # In a frame that lies on its side another face looks down.
    side = table_contacts("box", PlacedShape(Box(half), place, naming), 0.3, up=(0.0, -1.0, 0.0))
    np.testing.assert_allclose([contact.point[1] for contact in side], [-0.2 + 0.065] * 4)
    np.testing.assert_allclose(side[0].normal, [0.0, -1.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("wrong", [[0.0, 0.04, 0.03], [0.04, -0.04, 0.03], [np.nan, 0.04, 0.03], [0.04, 0.03]])
def test_sizes_that_make_no_palm_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="pad_half_sizes"):
        checked_palm(wrong)
    assert checked_palm([0.0, 0.0, 0.0]) is None


def test_gaps_of_a_palm_that_is_askew_are_the_heights_of_its_corners_over_the_face():
    tilt = np.deg2rad(0.4)
    # The palm's face looks along its -y axis; turned about z, the corners at its +x end come first.
    tool = pin.SE3(pin.utils.rotate("z", -tilt), np.array([0.3, 0.25, 0.1]))
    middle = BodyContact("arm", NORMAL, tool.translation, "object")
    body = PlacedShape(Box((0.3, 0.1, 0.3)), np.array([0.3, 0.12, 0.1]))
    contacts = palm_contacts(middle, tool, HALF, body)
    gaps = palm_gaps(contacts, tool, HALF)
    # 8 cm apart along the face, but for the cosine of the tilt.
    farther = np.array([contact.point[0] < 0.3 for contact in contacts])
    assert farther.sum() == 2
    np.testing.assert_allclose(gaps[~farther], 0.0, atol=1e-15)
    np.testing.assert_allclose(gaps[farther], 0.08 * np.tan(tilt), rtol=1e-4)


PALM_SIZES = (0.04, 0.03)


@pytest.mark.parametrize(
    ("ring", "shared"),
    [
        # A larger face: the whole palm.
        (
            [[0.1, 0.1], [-0.1, 0.1], [-0.1, -0.1], [0.1, -0.1]],
            [(-0.04, -0.03), (-0.04, 0.03), (0.04, -0.03), (0.04, 0.03)],
        ),
        # A smaller one, aside: over one edge of the palm.
        (
            [[0.05, 0.02], [0.01, 0.02], [0.01, -0.01], [0.05, -0.01]],
            [(0.01, -0.01), (0.01, 0.02), (0.04, -0.01), (0.04, 0.02)],
        ),
        # A triangle whose corner comes in over the upper edge.
        ([[0.0, -0.01], [0.08, 0.07], [-0.08, 0.07]], [(-0.04, 0.03), (0.0, -0.01), (0.04, 0.03)]),
        # A line through the palm, and one that ends on it.
        ([[-0.02, -0.1], [-0.02, 0.1]], [(-0.02, -0.03), (-0.02, 0.03)]),
        ([[0.01, 0.0], [0.09, 0.08]], [(0.01, 0.0), (0.04, 0.03)]),
        # A point.
        ([[0.01, -0.02]], [(0.01, -0.02)]),
        # Nothing in common: the nearest point of the palm to the middle of the face.
        ([[0.1, 0.01], [0.2, 0.01]], [(0.04, 0.01)]),
    ],
)
def test_the_corners_of_what_is_shared(ring, shared):
    for way in (ring, ring[::-1]):
        np.testing.assert_allclose(sorted(shared_corners(way, PALM_SIZES).round(9).tolist()), shared, atol=1e-12)


@pytest.mark.parametrize(
    ("modes", "whole"),
    [
        (("stick", "slide", "separate", "stick"), "slide"),
        (("stick", "separate", "stick", "separate"), "stick"),
        (("separate",) * 4, "separate"),
    ],
)
def test_the_contacts_of_a_palm_as_one(modes, whole):
    middle = BodyContact("arm", NORMAL, TOOL.translation, None, 0.6, frame=ROBOT.tool_frame)
    found = predict_simultaneous(palm_contacts(middle, TOOL, HALF), arms={"arm": ArmState(ROBOT, Q, DQ)})
    summed = summed_contact(found._replace(modes=modes), "arm")
    assert (summed.mode, summed.frame, summed.friction) == (whole, ROBOT.tool_frame, 0.6)
    np.testing.assert_allclose(summed.impulse, found.impulse.sum(axis=0))
    np.testing.assert_allclose(summed.velocity_before, [0.06, -0.5, 0.04], atol=1e-9)


def test_what_a_tilted_palm_has_still_to_close_is_along_the_normal():
    one = BodyContact("arm", np.array([0.0, 0.0, 1.0]), np.array([0.1, 0.03, 0.0]))
    tool = pin.SE3(pin.utils.rotate("x", 0.3), np.array([0.1, 0.0, 0.5]))
    gaps = palm_gaps([one, one.at([0.1, -0.03, 0.0])], tool, (0.04, 0.03, 0.02))
    assert gaps == pytest.approx([0.06 * np.tan(0.3), 0.0], abs=1e-12)


def test_the_mass_together_with_an_object_counts_its_rotation():
    aside = homogeneous_box(1.7, BOX.half_extents, contact_point(ROBOT, Q, CONTACT) - [0.03, 0.065, 0.04])
    found = predict_hit(ROBOT, Q, DQ, CONTACT, obstacle=aside)
    lever = np.cross(found.point - aside.position, found.contact.normal)
    turning = lever @ np.linalg.solve(aside.inertia, lever)
    assert 1.0 / found.reduced_mass == pytest.approx(1.0 / found.effective_mass + 1.0 / aside.mass + turning)
    assert turning > 0.01 / aside.mass
