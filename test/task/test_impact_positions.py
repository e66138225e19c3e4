"""The sampled map against direct predictions; the single-arm prediction by position has its tests with its command."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact import Contact
from impact_aware.contact.box import homogeneous_box
from impact_aware.contact.shape import PlacedShape
from impact_aware.impact import predict
from impact_aware.impact.table_support import TableSupport
from impact_aware.task import load_task
from impact_aware.task.grasp import predict_grasp
from impact_aware.task.impact_positions import IntendedImpact, impact_coordinates, sample_impact_map
from impact_aware.task.make_field import base_placement

SEED = 20261121


@pytest.fixture(scope="module")
def grasp(robot):
    return IntendedImpact(load_task("dual_arm_grab"), [robot, robot])


def test_the_impact_state_is_the_places_along_the_planes(robot):
    task = load_task("dual_arm_grab")
    tools = np.array([[0.5, 0.2, 0.4], [0.6, -0.2, 0.3]])
    np.testing.assert_array_equal(impact_coordinates(task, tools), [0.5, 0.4, 0.6, 0.3])


def test_of_an_object_that_is_turned_the_impact_planes_are_its_own(robot):
    """The same places of the turned box have the same coordinates along its axes, through the frame's origin."""
    task = load_task("dual_arm_grab")
    task = dataclasses.replace(task, object=dataclasses.replace(task.object, orientation_rpy=(0.0, 0.0, 0.3)))
    turn = pin.utils.rotate("z", 0.3)
    tools = np.array([[0.5, 0.2, 0.4], [0.6, -0.2, 0.3]]) @ turn.T
    np.testing.assert_allclose(impact_coordinates(task, tools), [0.5, 0.4, 0.6, 0.3], atol=1e-12)
    own = IntendedImpact(task, [robot, robot])
    moved = own.tool_positions(own.nominal + [0.01, -0.02, 0.0, 0.015]) - own.tool_positions(own.nominal)
    np.testing.assert_allclose(moved, np.array([[0.01, 0.0, -0.02], [0.0, 0.0, 0.015]]) @ turn.T, atol=1e-12)
    wanted = np.array([arm.impact_position for arm in own.field.arms])
    np.testing.assert_allclose(own.tool_positions(own.nominal), wanted, atol=1e-12)


def test_by_place_it_is_the_prediction_of_the_posture_with_the_tools_there(grasp, robot):
    moved = grasp.nominal + [0.01, -0.02, 0.0, 0.015]
    q = np.concatenate([grasp.state(index, tool)[0] for index, tool in enumerate(grasp.tool_positions(moved))])
    np.testing.assert_array_equal(grasp(moved), predict_grasp(grasp.task, [robot, robot], grasp.field, q))


def test_the_map_of_a_grasp_interpolates_to_some_millimetres_per_second(grasp, robot):
    sampled = sample_impact_map(grasp)
    assert sampled.states.shape == (81, 4)
    generator = np.random.default_rng(SEED)
    places = grasp.nominal + generator.uniform(-0.03, 0.03, (10, 4))
    errors = np.array([np.abs(sampled(place) - grasp(place)).max() for place in places])
    # The map has kinks where a corner of a palm leaves, which three samples a side can't follow: 4 mm/s of some 90.
    assert errors.mean() < 6e-3 and errors.max() < 1.2e-2, f"seed {SEED}: {errors}"


def test_the_map_of_a_push_is_exact_at_its_samples_and_says_what_it_is_of(robot):
    task = load_task("hit_and_push").with_object("parcel")
    sampled = sample_impact_map(IntendedImpact(task, [robot]))
    np.testing.assert_allclose(sampled(sampled.states), sampled.values, atol=1e-9)
    assert (sampled.notes["object"], sampled.notes["mass"]) == ("parcel", 0.60)
    # The lighter the object, the less speed it takes from the tool.
    heavy = sample_impact_map(IntendedImpact(load_task("hit_and_push"), [robot]))
    assert abs(sampled.values[12, 1]) > abs(heavy.values[12, 1])


@pytest.mark.parametrize(("method", "inertia"), [("coulomb", "M+B_theta"), ("frictionless", "M")])
def test_a_push_is_predicted_with_every_number_of_the_task(robot, method, inertia):
    entries = {"half_extents": [0.12, 0.065, 0.08], "friction_tool": 0.13, "friction_table": 0.9, "restitution": 0.35}
    fields = {"ante_radius_min": 0.1, "ante_radius_ratio": 1.3}
    task = load_task("hit_and_push", {"object": entries, "fields": fields})
    leaning = dataclasses.replace(task.arms[0], base_rpy=(0.05, 0.03, 0.1))
    task = dataclasses.replace(task, arms=(leaning,))
    base = base_placement(task.arms[0])
    direct = IntendedImpact(task, [robot], method=method, inertia=inertia)
    tool = np.array([0.55, 0.065 + robot.tool_radius, 0.14])
    q, dq = direct.state(0, tool)
    # So far aside that the field asks for another velocity than that of the impact.
    assert abs(direct.field.ante_impact().velocity(tool)[0]) > 0.01
    moving = base.rotation @ robot.frame_jacobian(q)[:3] @ dq
    np.testing.assert_allclose(moving, direct.field.ante_impact().velocity(tool), atol=1e-9)
    normal, place = base.rotation[1], base.actInv(np.array(task.object.position))
    contact = Contact(robot.tool_frame, normal, radius=robot.tool_radius, friction=0.13, restitution=0.35)
    box = homogeneous_box(2.2, [0.12, 0.065, 0.08], place, rotation=base.rotation.T)
    how = {"obstacle": box, "method": method, "inertia": inertia}
    if method == "coulomb":
        standing = PlacedShape(task.object.solid, place, base.rotation.T)
        how["table"] = TableSupport(standing, box, 0.9, base.rotation[2])
    expected = predict(robot, q, dq, contact, **how).object_twist_after[:3]
    np.testing.assert_allclose(direct([0.55, 0.14]), base.rotation @ expected, atol=1e-12)


def test_the_axes_of_a_map_are_those_of_the_impact_plane(robot):
    task = load_task("hit_and_push")
    sampled = sample_impact_map(IntendedImpact(task, [robot]), half_width=0.02, count=2)
    assert sampled.input_names == ("x [m]", "z [m]")
    np.testing.assert_allclose(sampled.states, [[0.48, 0.08], [0.48, 0.12], [0.52, 0.08], [0.52, 0.12]], atol=1e-9)
    assert len(sample_impact_map(IntendedImpact(task, [robot])).states) == 25
    assert (sampled.notes["axes"], sampled.notes["frame"], sampled.notes["mass"]) == ([0, 2], "panda_link0", 2.2)
    np.testing.assert_allclose(sampled.notes["nominal"], [0.5, 0.065 + robot.tool_radius, 0.1])
    narrow = sample_impact_map(IntendedImpact(task, [robot]), half_width=0.02, count=2, shape=0.7)
    assert narrow.shape == 0.7
