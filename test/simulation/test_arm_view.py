"""An impact as one of several arms sees it."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.robot import RobotModel
from impact_aware.simulation.impact_truth import ImpactTruth, impact_of_truth

ROBOT = RobotModel.from_profile("panda")


@pytest.fixture
def truth():
    generator = np.random.default_rng(5)
    values = {
        field.name: generator.normal(size={"q": 14, "velocity_before": 14, "velocity_after": 14}.get(field.name, 3))
        for field in dataclasses.fields(ImpactTruth)
        if field.type == "Array"
    }
    values |= {name: generator.normal(size=6) for name in ("object_twist_before", "object_twist_after")}
    rest = {"arm": "left", "partner": "object", "losses": 0, "link": ""}
    numbers = {
        field.name: 0.1 + 0.01 * index
        for index, field in enumerate(dataclasses.fields(ImpactTruth))
        if field.name not in values.keys() | rest
    }
    return ImpactTruth(**values, **rest, **numbers)


def seen_by(truth, base, joints):
    return impact_of_truth(truth, ROBOT, base, joints, arm="right", object_name="box", start_time=2.0)


def test_points_move_and_vectors_rotate_with_the_base(truth):
    base = pin.SE3(pin.utils.rotate("z", 0.7), np.array([0.1, 0.35, 0.2]))
    seen = seen_by(truth, base, slice(7, 14))
    (contact,) = seen.contacts
    np.testing.assert_allclose(base.act(contact.point), truth.point, atol=1e-14)
    for name in ("normal", "impulse"):
        np.testing.assert_allclose(base.rotation @ getattr(contact, name), getattr(truth, name), atol=1e-14)
    for name in ("object_twist_before", "object_twist_after"):
        rotated = np.kron(np.eye(2), base.rotation) @ getattr(seen, name)
        np.testing.assert_allclose(rotated, getattr(truth, name), atol=1e-14)
    for mine, theirs in (
        ("position", "q"),
        ("velocity_before", "velocity_before"),
        ("velocity_after", "velocity_after"),
    ):
        np.testing.assert_array_equal(getattr(seen, mine), getattr(truth, theirs)[7:])
    # The work of the impulse at the contact does not depend on who looks.
    assert contact.impulse @ seen.object_twist_after[:3] == pytest.approx(truth.impulse @ truth.object_twist_after[:3])


def test_at_the_common_frame_only_the_joints_are_picked(truth):
    seen = seen_by(truth, pin.SE3.Identity(), slice(0, 7))
    np.testing.assert_array_equal(seen.contacts[0].point, truth.point)
    np.testing.assert_array_equal(seen.position, truth.q[:7])


def test_it_says_who_hit_what_and_when(truth):
    seen = seen_by(truth, pin.SE3.Identity(), slice(0, 7))
    assert (seen.source, seen.arm, seen.frame, seen.joint_names) == ("plant", "right", "panda_link0", ROBOT.joint_names)
    assert seen.time == pytest.approx(2.0 + truth.time)
    assert (seen.contacts[0].frame, seen.contacts[0].obstacle, seen.object) == ("tool", "box", "box")
    assert seen.contacts[0].restitution == pytest.approx(truth.separation_speed / truth.approach_speed)
    table = seen_by(dataclasses.replace(truth, partner="table"), pin.SE3.Identity(), slice(0, 7))
    assert table.contacts[0].obstacle == "table"
