"""Marker descriptions: what stands where and how long, checked against the physics they show."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from impact_aware.contact import Contact
from impact_aware.contact.box import Box, homogeneous_box
from impact_aware.impact.predictor import predict
from impact_aware.markers import Kind, Marker, MarkerStyle, SceneMarkers
from impact_aware.markers.contact import contact_orientation, friction_cone
from impact_aware.markers.velocities import contact_velocities
from impact_aware.messages.impact_event import outcome_of_event
from impact_aware.messages.impact_prediction import drawable_impact
from impact_aware.reference import ReferenceField
from impact_aware.reference.rotation import rotation_from_quaternion
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field

HALF = np.array([0.1, 0.065, 0.1])


def xyz(values) -> SimpleNamespace:
    return SimpleNamespace(**dict(zip("xyz", (float(v) for v in values), strict=True)))


def twist(values) -> SimpleNamespace:
    return SimpleNamespace(linear=xyz(values[:3]), angular=xyz(values[3:]))


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return RobotModel.from_profile("panda")


def message(panda: RobotModel, *, source: int = 1, time: float = 2.0, covariance: bool = False) -> SimpleNamespace:
    """A prediction by the library in the shape of the message, for a box hit along -y."""
    q = panda.home
    velocity = np.array([0.1, -0.25, -0.9, -0.3, 0.5, 0.15, -1.3])
    contact = Contact(frame=panda.tool_frame, normal=np.array([0.0, 1.0, 0.0]), friction=0.3, radius=0.03)
    tip = panda.placement(q).translation - [0.0, 0.03, 0.0]
    box = homogeneous_box(2.2, HALF, tip - [0.0, HALF[1], 0.0])
    found = predict(panda, q, velocity, contact, obstacle=box)
    return SimpleNamespace(
        header=SimpleNamespace(frame_id="panda_link0", stamp=SimpleNamespace(sec=int(time), nanosec=0)),
        source=source,
        event_sequence=1,
        arm="",
        method="coulomb",
        inertia="M+B_theta",
        joint_names=list(panda.joint_names),
        position=q,
        velocity_before=velocity,
        velocity_after=found.velocity_after,
        velocity_after_covariance=(1e-4 * np.eye(7)).ravel() if covariance else [],
        mode_may_change=False,
        velocity_estimated=[],
        velocity_estimated_error=[],
        contacts=[
            SimpleNamespace(
                frame=panda.tool_frame,
                obstacle="box",
                point=xyz(found.point),
                normal=xyz(contact.normal),
                impulse=xyz(found.impulse),
                impulse_covariance=(1e-4 * np.eye(3)).ravel() if covariance else [],
                velocity_before=xyz(found.contact_velocity_before),
                velocity_after=xyz(found.contact_velocity_after),
                friction=0.3,
                restitution=0.0,
                effective_mass=found.effective_mass,
                mode=1,
            )
        ],
        object="box",
        object_position=xyz(box.position),
        object_twist_before=twist(box.twist),
        object_twist_after=twist(found.object_twist_after),
        energy_loss=found.energy_loss,
        time_to_impact=0.0,
        valid=True,
        reason="",
    )


def event(panda: RobotModel, velocity, time: float = 2.0) -> SimpleNamespace:
    stamp = SimpleNamespace(sec=int(time), nanosec=0)
    header = SimpleNamespace(stamp=stamp, frame_id="panda_link0")
    return SimpleNamespace(header=header, kind=0, joint_names=list(panda.joint_names), velocity_after=velocity)


def reference(panda: RobotModel, name: str) -> ReferenceField:
    task = load_task(name)
    return make_field(task, [panda] * len(task.arms))


def drawn(scene: SceneMarkers) -> dict[str, list[Marker]]:
    """Last part of the namespace -> markers, of all that changed."""
    found: dict[str, list[Marker]] = {}
    for group in scene.take_changes().values():
        for marker in group:
            found.setdefault(marker.namespace.rpartition("/")[2], []).append(marker)
    return found


def test_the_velocity_of_the_contact_is_the_same_with_and_without_the_robot(panda):
    """J dq, and the relative velocity plus the object's: two ways to the same material point."""
    impact = drawable_impact(message(panda))
    with_robot = contact_velocities(impact, impact.contacts[0], panda)
    without = contact_velocities(impact, impact.contacts[0], None)
    np.testing.assert_allclose(with_robot.before, without.before, atol=1e-12)
    np.testing.assert_allclose(with_robot.after, without.after, atol=1e-12)
    # Inelastic and sticking: the tool goes on with the face of the box.
    assert np.linalg.norm(with_robot.after) > 0.1


def test_arrows_have_the_length_their_scale_says_and_start_at_the_contact(panda):
    scene = SceneMarkers(MarkerStyle(velocity_scale=0.4, impulse_scale=0.2), robot=panda, shape=Box(HALF))
    given = message(panda)
    scene.add_impact(drawable_impact(given))
    markers = drawn(scene)
    contact = given.contacts[0]
    point = np.array([contact.point.x, contact.point.y, contact.point.z])
    start, end = markers["impulse"][0].points
    np.testing.assert_array_equal(start, point)
    np.testing.assert_allclose(end - start, 0.2 * np.array([contact.impulse.x, contact.impulse.y, contact.impulse.z]))
    velocities = contact_velocities(drawable_impact(given), drawable_impact(given).contacts[0], panda)
    for item, velocity in (("velocity_before", velocities.before), ("velocity_after", velocities.after)):
        start, end = markers[item][0].points
        np.testing.assert_allclose(end - start, 0.4 * velocity, atol=1e-12)
        # Side by side in the surface, 2 cm apart at most.
        assert abs((start - point)[1]) < 1e-12
        assert np.linalg.norm(start - point) <= 0.02 + 1e-12


def test_the_impulse_of_a_sticking_contact_lies_in_the_drawn_cone(panda):
    impact = drawable_impact(message(panda))
    contact = impact.contacts[0]
    corners = friction_cone(contact).reshape(-1, 3, 3)
    rim = corners[:, 1] - contact.point
    slope = np.linalg.norm(rim - np.outer(rim @ contact.normal, contact.normal), axis=1) / (rim @ contact.normal)
    np.testing.assert_allclose(slope, contact.friction)
    tangential = np.linalg.norm(contact.impulse - (contact.impulse @ contact.normal) * contact.normal)
    assert tangential <= contact.friction * contact.impulse @ contact.normal


@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (0.6, -0.8, 0.0)])
def test_the_contact_frame_has_the_normal_as_its_z_axis(normal):
    rotation = rotation_from_quaternion(contact_orientation(np.array(normal)))
    np.testing.assert_allclose(rotation[:, 2], normal, atol=1e-12)


def test_the_ellipsoid_has_the_spread_of_the_contact_velocity(panda):
    style = MarkerStyle(velocity_scale=0.5, deviations=2.0)
    scene = SceneMarkers(style, robot=panda, shape=Box(HALF))
    impact = drawable_impact(message(panda, covariance=True))
    scene.add_impact(impact)
    markers = drawn(scene)
    ball = markers["uncertainty"][0]
    velocities = contact_velocities(impact, impact.contacts[0], panda)
    np.testing.assert_allclose(ball.position, impact.contacts[0].point + 0.5 * velocities.after)
    axes = rotation_from_quaternion(ball.orientation)
    # Half axis = 2 standard deviations at the scale of the arrow; the covariance comes back from it.
    spread = axes @ np.diag((ball.scale / (2.0 * 2.0 * 0.5)) ** 2) @ axes.T
    np.testing.assert_allclose(spread, velocities.covariance, atol=1e-9)
    assert markers["impulse_uncertainty"][0].scale == pytest.approx(np.full(3, 2.0 * 2.0 * 0.2 * 1e-2))


def test_the_ghost_stands_where_the_twist_takes_the_box(panda):
    scene = SceneMarkers(MarkerStyle(ghost_time=0.3), robot=panda, shape=Box(HALF))
    impact = drawable_impact(message(panda))
    scene.add_impact(impact)
    markers = drawn(scene)
    ghost = markers["object_after"][0]
    centre = impact.object_position + 0.3 * impact.object_twist_after[:3]
    np.testing.assert_allclose(ghost.points.mean(axis=0), centre)
    # The rotation that takes the edges at the impact to those of the ghost.
    before = markers["object_before"][0].points - impact.object_position
    rotation = np.linalg.lstsq(before, ghost.points - centre, rcond=None)[0].T
    angle = 0.3 * np.linalg.norm(impact.object_twist_after[3:])
    assert np.arccos(0.5 * (np.trace(rotation) - 1.0)) == pytest.approx(angle, abs=1e-9)
    # Twelve edges of the box at the impact.
    assert markers["object_before"][0].points.shape == (24, 3)


def test_bars_show_every_joint_before_predicted_and_as_it_turned_out(panda):
    style = MarkerStyle(joint_scale=0.1, joint_chart=True)
    scene = SceneMarkers(style, robot=panda, shape=Box(HALF))
    given = message(panda)
    scene.add_impact(drawable_impact(given))
    first_look = given.velocity_after + 0.05
    scene.add_outcome(outcome_of_event(event(panda, first_look)))
    markers = drawn(scene)
    rows = (("before", given.velocity_before), ("predicted", given.velocity_after), ("estimated", first_look))
    for item, values in rows:
        bars = markers[f"joint_{item}"][0].points.reshape(7, 2, 3)
        np.testing.assert_allclose((bars[:, 1] - bars[:, 0])[:, 2], 0.1 * values, atol=1e-12)
    assert "velocity_estimated" in markers


def test_the_better_founded_outcome_stays(panda):
    scene = SceneMarkers(robot=panda)
    given = message(panda)
    scene.add_impact(drawable_impact(given))
    estimate = message(panda, source=3)
    estimate.velocity_estimated, estimate.velocity_estimated_error = np.full(7, 0.5), np.full(7, 0.01)
    scene.add_impact(drawable_impact(estimate))
    scene.add_outcome(outcome_of_event(event(panda, np.zeros(7))))
    assert scene.outcome.origin == "estimate"
    np.testing.assert_array_equal(scene.outcome.velocity, np.full(7, 0.5))


def test_an_estimate_that_comes_after_the_next_impact_does_not_replace_it(panda):
    scene = SceneMarkers(robot=panda)
    scene.add_impact(drawable_impact(message(panda, time=3.0)))
    scene.add_outcome(outcome_of_event(event(panda, np.ones(7), time=3.0)))
    late = message(panda, source=3, time=2.0)
    late.velocity_estimated, late.velocity_estimated_error = np.full(7, 0.5), np.full(7, 0.01)
    scene.add_impact(drawable_impact(late))
    assert scene.impact.time == 3.0
    np.testing.assert_array_equal(scene.outcome.velocity, np.ones(7))


def test_an_outcome_of_another_impact_is_not_drawn_here(panda):
    scene = SceneMarkers(robot=panda)
    scene.add_outcome(outcome_of_event(event(panda, np.zeros(7), time=1.0)))
    scene.add_impact(drawable_impact(message(panda, time=2.0)))
    assert scene.outcome is None
    assert "velocity_estimated" not in drawn(scene)


def test_what_was_ahead_goes_when_it_has_happened(panda):
    scene = SceneMarkers(robot=panda, shape=Box(HALF))
    scene.add_impact(drawable_impact(message(panda, source=0)))
    ahead = scene.take_changes()["look_ahead"]
    assert ahead and all(0.0 < marker.lifetime < 1.0 for marker in ahead)
    scene.add_impact(drawable_impact(message(panda)))
    changes = scene.take_changes()
    assert changes["look_ahead"] == []
    assert all(marker.lifetime == 0.0 for marker in changes["at_impact"])


@pytest.mark.parametrize("arm", ["left", "right"])
def test_two_arms_have_namespaces_and_frames_of_their_own(panda, arm):
    scene = SceneMarkers(robot=panda, arm=arm, shape=Box(HALF), frame_prefix=f"{arm}/")
    scene.add_impact(drawable_impact(message(panda)))
    scene.add_field(reference(panda, "dual_arm_grab"), 0.0)
    scene.add_object("panda_link0", 0.0, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    groups = scene.take_changes()
    assert {marker.frame for marker in groups["object"]} == {f"{arm}/panda_link0"}
    for marker in groups["at_impact"]:
        assert marker.namespace.startswith(f"{arm}/at_impact/")
        assert marker.frame == f"{arm}/panda_link0"
    assert {marker.frame for marker in groups["field"]} == {"world"}
    # The goal is one for both, so one of them draws it.
    goals = [marker for marker in groups["field"] if marker.namespace.endswith("object_goal")]
    assert len(goals) == (1 if arm == "left" else 0)


def test_names_are_unique_and_every_number_is_finite(panda):
    scene = SceneMarkers(robot=panda, shape=Box(HALF))
    given = message(panda, covariance=True)
    given.contacts = given.contacts * 2
    scene.add_field(reference(panda, "hit_and_push"), 0.0)
    scene.add_impact(drawable_impact(given))
    scene.add_object("panda_link0", 0.0, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    markers = [marker for group in scene.take_changes().values() for marker in group]
    names = [marker.name for marker in markers]
    assert len(set(names)) == len(names)
    for marker in markers:
        values = np.concatenate([marker.position, marker.orientation, marker.scale, marker.points.ravel()])
        assert np.isfinite(values).all()
        assert np.linalg.norm(marker.orientation) == pytest.approx(1.0)
        if marker.kind in (Kind.CUBE, Kind.SPHERE, Kind.ARROW):
            assert (marker.scale > 0.0).all()


def test_the_field_changes_from_approach_to_push_at_the_impact(panda):
    field = reference(panda, "hit_and_push")
    scene = SceneMarkers()
    scene.add_field(field, 0.0)
    before = drawn(scene)
    assert "ante_field" in before and "post_field" not in before
    grid = before["ante_field"][0].points.reshape(-1, 6, 3)
    style = MarkerStyle()
    assert len(grid) == style.field_count**2
    velocity = field.ante_impact().velocity
    for shaft in grid[:: len(grid) // 7]:
        np.testing.assert_allclose(shaft[1] - shaft[0], style.field_time * velocity(shaft[0]), atol=1e-12)
    scene.add_field(field.after_impact(field.object_position, [0.0, -0.3, 0.0], event_sequence=1), 1.0)
    after = drawn(scene)
    assert "post_field" in after and "ante_field" not in after
    way = after["post_streamline"][0].points
    np.testing.assert_allclose(way[0], field.object_position)
    assert np.linalg.norm(way[-1] - field.goal) < 5e-3


def test_streamlines_end_in_the_plane_of_the_impact(panda):
    field = reference(panda, "hit_and_push")
    scene = SceneMarkers()
    scene.add_field(field, 0.0)
    own = field.arms[0]
    along = own.impact_velocity / np.linalg.norm(own.impact_velocity)
    for line in drawn(scene)["ante_streamline"]:
        # One step of 20 ms at 0.5 m/s beyond it at most.
        assert 0.0 <= (line.points[-1] - own.impact_position) @ along < 0.011
        assert np.linalg.norm(line.points[-1] - own.impact_position) < 0.03


def test_the_legend_names_what_is_there_and_nothing_else(panda):
    scene = SceneMarkers(robot=panda, shape=Box(HALF))
    scene.add_impact(drawable_impact(message(panda)))
    shown = [marker for group in scene.take_changes().values() for marker in group]
    legend = scene.legend({marker.namespace for marker in shown})
    colors = {marker.namespace.rpartition("/")[2]: marker.color[:3] for marker in shown}
    words = {marker.text: marker.color[:3] for marker in legend}
    assert words["impulse on the robot"] == colors["impulse"]
    assert "spread of the prediction" not in words
    heights = [marker.position[2] for marker in legend]
    assert heights == sorted(heights, reverse=True)


@pytest.mark.parametrize("fields", [{"valid": False}, {"contacts": []}, {"source": 2}])
def test_what_is_no_impact_is_not_read(panda, fields):
    given = message(panda)
    for name, value in fields.items():
        setattr(given, name, value)
    assert drawable_impact(given) is None
