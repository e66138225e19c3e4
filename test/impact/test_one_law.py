"""One contact and several follow one law: what is far away, or given twice, changes nothing."""

import dataclasses

import numpy as np
import pytest

import impact_aware as ia
from impact_aware.contact.box import Box
from impact_aware.contact.shape import PlacedShape
from impact_aware.impact import IMPACT_MAPS
from impact_aware.impact.hit import predict_hit

SEED, STATES = 42, 200
EXACT = 1e-9


def drawn(robot, number):
    """An arm that hits a box with its tool, and the prediction of that contact alone."""
    generator = np.random.default_rng([SEED, number])
    q = generator.uniform(robot.limits.position_lower, robot.limits.position_upper)
    dq = generator.uniform(-1.0, 1.0, robot.n)
    normal, point = generator.normal(size=3), robot.placement(q).translation.copy()
    if normal @ robot.frame_jacobian(q)[:3] @ dq > 0.0:
        normal = -normal
    friction, restitution = generator.uniform(0.0, 1.0, 2)
    contact = ia.Contact(robot.tool_frame, normal, point=point, friction=friction, restitution=restitution)
    mass = generator.uniform(0.1, 5.0)
    box = ia.FreeObject(mass, 0.01 * mass * np.eye(3), point - 0.1 * contact.normal, 0.1 * generator.normal(size=6))
    pair = ia.BodyContact("arm", contact.normal, point, "box", friction=friction, restitution=restitution)
    return ia.ArmState(robot, q, dq), contact, box, pair, generator


def stone(generator):
    """A body five metres away that falls on its floor, beside its centre."""
    body = ia.FreeObject(1.0, 0.1 * np.eye(3), (5.0, 0.0, 0.0), [0.0, 0.0, -1.0, *generator.normal(size=3)])
    return body, ia.BodyContact("stone", (0.0, 0.0, 1.0), (5.1, 0.0, -0.1), friction=0.5, restitution=0.4)


@pytest.mark.parametrize("method", IMPACT_MAPS)
@pytest.mark.parametrize("given", ["far away", "twice", "from the other side"])
def test_the_single_map_is_exact_whatever_else_is_given(robot, method, given):
    for number in range(STATES):
        arm, contact, box, pair, generator = drawn(robot, number)
        alone = ia.predict(robot, arm.q, arm.dq, contact, obstacle=box, method=method)
        objects, contacts = {"box": box}, [pair]
        if given == "far away":
            objects["stone"], ground = stone(generator)
            contacts.append(ground)
        else:
            back = ia.BodyContact("box", -pair.normal, pair.point, "arm", pair.friction, pair.restitution)
            contacts.append(pair if given == "twice" else back)
        found = ia.predict_simultaneous(contacts, arms={"arm": arm}, objects=objects, method=method)
        told = f"{SEED=} {number=}"
        np.testing.assert_allclose(found.velocity_after["arm"], alone.velocity_after, rtol=0, atol=EXACT, err_msg=told)
        np.testing.assert_allclose(found.velocity_after["box"], alone.object_twist_after, rtol=0, atol=EXACT)
        assert found.modes[0] == alone.mode, told
        mine = found.impulse[0] if given == "far away" else 2.0 * found.impulse[0]
        np.testing.assert_allclose(mine, alone.impulse, rtol=0, atol=EXACT)
        if given == "from the other side":
            np.testing.assert_allclose(found.impulse[1], -found.impulse[0], rtol=0, atol=EXACT)


@pytest.mark.parametrize("method", IMPACT_MAPS)
def test_a_palm_that_touches_with_one_point_is_one_contact(robot, method):
    """It misses the box's face, which its nearest point stands for."""
    hits = 0
    for number in range(STATES):
        arm, contact, _, _, _ = drawn(robot, number)
        tool = robot.placement(arm.q)
        contact = dataclasses.replace(contact, normal=-tool.rotation[:, 2], point=None)
        if contact.normal @ robot.frame_jacobian(arm.q)[:3] @ arm.dq > 0.0:
            arm = ia.ArmState(robot, arm.q, -arm.dq)
        body = PlacedShape(Box((0.05, 0.05, 0.05)), tool.act(np.array([0.1, 0.08, 0.07])), tool.rotation)
        box = body.free_object(1.5)
        found = predict_hit(robot, arm.q, arm.dq, contact, (0.04, 0.02, 0.02), obstacle=box, shape=body, method=method)
        one = dataclasses.replace(contact, normal=found.contact.normal, point=found.point)
        alone = ia.predict(robot, arm.q, arm.dq, one, obstacle=box, method=method)
        np.testing.assert_allclose(found.velocity_after, alone.velocity_after, rtol=0, atol=EXACT, err_msg=f"{number=}")
        np.testing.assert_allclose(found.object_twist_after, alone.object_twist_after, rtol=0, atol=EXACT)
        assert found.mode == alone.mode
        hits += found.mode != "separate"
    assert hits > STATES // 2


@pytest.mark.parametrize("restitution", [0.0, 0.4])
@pytest.mark.parametrize("given", ["far away", "twice"])
def test_a_palm_is_not_changed_by_what_is_far_away_or_given_twice(robot, given, restitution):
    for number in range(STATES):
        arm, _, box, pair, generator = drawn(robot, number)
        centre = ia.BodyContact("arm", pair.normal, pair.point, "box", pair.friction, restitution)
        palm = centre.patch(generator.normal(size=3), 0.03, 0.02)
        alone = ia.predict_simultaneous(palm, arms={"arm": arm}, objects={"box": box}, search=False)
        other, ground = stone(generator)
        contacts, objects = (palm + palm, {"box": box})
        if given == "far away":
            contacts, objects = [*palm, ground], {"box": box, "stone": other}
        found = ia.predict_simultaneous(contacts, arms={"arm": arm}, objects=objects, search=False)
        for name, velocity in alone.velocity_after.items():
            np.testing.assert_allclose(found.velocity_after[name], velocity, rtol=0, atol=EXACT, err_msg=f"{number=}")


def test_pads_that_meet_one_after_another_leave_a_contact_alone_that_is_alone(robot):
    """A contact of other bodies, which closes within the impact or after it, gets its own single-contact map."""
    for number in range(STATES):
        arm, contact, box, pair, generator = drawn(robot, number)
        pair = ia.BodyContact("arm", pair.normal, pair.point, "box", pair.friction)
        other, ground = stone(generator)
        ground = ia.BodyContact("stone", ground.normal, ground.point, friction=0.5)
        speed = -ia.predict_simultaneous([ground], objects={"stone": other}).contact_velocity_before[0, 2]
        contact = dataclasses.replace(contact, restitution=0.0)
        alone = ia.predict(robot, arm.q, arm.dq, contact, obstacle=box)
        apart = ia.predict_simultaneous([ground], objects={"stone": other}).velocity_after["stone"]
        for gap, lands in ((0.0, True), (0.004 * speed, True), (0.006 * speed, False)):
            if speed <= 0.0:
                continue
            found = ia.predict_simultaneous(
                [pair, ground], arms={"arm": arm}, objects={"box": box, "stone": other},
                gaps=np.array([0.0, gap]), time_constant=1e-3,
            )  # fmt: skip
            np.testing.assert_allclose(found.velocity_after["arm"], alone.velocity_after, rtol=0, atol=EXACT)
            expected = apart if lands else other.twist
            np.testing.assert_allclose(found.velocity_after["stone"], expected, rtol=0, atol=EXACT)
