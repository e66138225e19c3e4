"""What the scene shows of a prediction by the library, beyond the hand-made one of `test_hand_made_scene.py`."""

from dataclasses import replace

import numpy as np
import pytest

from impact_aware.contact import Contact
from impact_aware.contact.box import Box, homogeneous_box
from impact_aware.impact.predictor import predict
from impact_aware.markers import Kind, SceneMarkers
from impact_aware.markers.velocities import contact_velocities
from impact_aware.messages.impact_prediction import predicted_impact
from impact_aware.records import Impact, Outcome
from impact_aware.task import load_task, make_field

HALF = np.array([0.1, 0.065, 0.1])


@pytest.fixture(scope="module")
def impact(robot) -> Impact:
    """A box hit along -y."""
    velocity = np.array([0.1, -0.25, -0.9, -0.3, 0.5, 0.15, -1.3])
    contact = Contact(frame=robot.tool_frame, normal=np.array([0.0, 1.0, 0.0]), friction=0.3, radius=0.03)
    tip = robot.placement(robot.home).translation - [0.0, 0.03, 0.0]
    box = homogeneous_box(2.2, HALF, tip - [0.0, HALF[1], 0.0])
    found = predict(robot, robot.home, velocity, contact, obstacle=box)
    return predicted_impact(
        found, source="at_impact", time=2.0, position=robot.home, frame=robot.base_frame,
        joint_names=robot.joint_names, object_name="box",
    )  # fmt: skip


def test_the_velocity_of_the_contact_is_the_same_with_and_without_the_robot(robot, impact):
    """J dq, and the relative velocity plus the object's: two ways to the same material point."""
    (contact,) = impact.contacts
    with_robot, without = (contact_velocities(impact, contact, known) for known in (robot, None))
    np.testing.assert_allclose(with_robot.before, without.before, atol=1e-12)
    np.testing.assert_allclose(with_robot.after, without.after, atol=1e-12)
    assert np.linalg.norm(with_robot.after) > 0.1


def test_an_estimate_that_comes_after_the_next_impact_does_not_replace_it(robot, impact):
    scene = SceneMarkers(robot=robot)
    scene.add_impact(replace(impact, time=3.0))
    scene.add_outcome(Outcome("first look", 3.0, robot.joint_names, np.ones(7), np.zeros(7)))
    scene.add_impact(replace(impact, source="estimate", estimated=np.full(7, 0.5), estimated_error=np.full(7, 0.01)))
    assert scene.impact.time == 3.0
    np.testing.assert_array_equal(scene.outcome.velocity, np.ones(7))


def test_what_was_ahead_goes_when_it_has_happened(robot, impact):
    scene = SceneMarkers(robot=robot, shape=Box(HALF))
    scene.add_impact(replace(impact, source="look_ahead"))
    ahead = scene.take_changes()["look_ahead"]
    assert ahead and all(0.0 < marker.lifetime < 1.0 for marker in ahead)
    scene.add_impact(impact)
    changes = scene.take_changes()
    assert changes["look_ahead"] == []
    assert all(marker.lifetime == 0.0 for marker in changes["at_impact"])


def test_names_are_unique_and_every_number_is_finite(robot, impact):
    scene = SceneMarkers(robot=robot, shape=Box(HALF), frame_prefix="left/")
    spread = replace(impact.contacts[0], impulse_covariance=1e-4 * np.eye(3))
    scene.add_field(make_field(load_task("hit_and_push"), [robot]), 0.0)
    scene.add_impact(replace(impact, covariance=1e-4 * np.eye(7), contacts=(spread, spread)))
    scene.add_object("panda_link0", 0.0, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    groups = scene.take_changes()
    assert {marker.frame for name in ("object", "at_impact") for marker in groups[name]} == {"left/panda_link0"}
    (ball, _) = (own for own in groups["at_impact"] if own.namespace.endswith("/impulse_uncertainty"))
    assert ball.scale == pytest.approx(np.full(3, 2.0 * 2.0 * 0.2 * 1e-2))
    markers = [marker for group in groups.values() for marker in group]
    names = [marker.name for marker in markers]
    assert len(set(names)) == len(names)
    for marker in markers:
        values = np.concatenate([marker.position, marker.orientation, marker.scale, marker.points.ravel()])
        assert np.isfinite(values).all() and np.linalg.norm(marker.orientation) == pytest.approx(1.0)
        if marker.kind in (Kind.CUBE, Kind.SPHERE, Kind.ARROW):
            assert (marker.scale > 0.0).all()
    # Impacts are drawn anew with the shape of another field's object.
    scene.add_field(make_field(load_task("hit_and_push"), [robot]), 1.0)
    assert scene.take_changes().keys() == {"field", "at_impact"}
