"""Every number of a reference field, from a task without any symmetry, against numbers written by hand."""

import dataclasses

import numpy as np
import pytest

from impact_aware.task import hit_normal, load_task, make_field, parse_task

OBJECT = {
    "name": "tin",
    "mass": 1.7,
    "half_extents": [0.11, 0.07, 0.05],
    "position": [0.48, 0.03, 0.06],
    "friction_table": 0.21,
    "friction_tool": 0.83,
    "restitution": 0.15,
}
FIELDS = {
    "alpha": 4.5,
    "ante_radius_min": 0.16,
    "ante_radius_ratio": 1.75,
    "ante_rotation_gain": 21.0,
    "start_ramp": 0.35,
    "post_gain": 1.9,
    "post_radius_min": 0.08,
    "post_radius_max": 0.17,
    "post_rotation_gain": 27.0,
}
ARM = {
    "robot": "panda",
    "impact_velocity": [0.05, -0.4, 0.1],
    "impact_offset": [0.02, 0.0, 0.03],
    "orientation_rpy": [np.pi, 0.0, 0.2],
    "null_space_joint": 2,
    "null_space_position": 0.1,
    "starts": [[0.5, 0.4, 0.15]],
}


def task_with(object_changes=None, **arm_changes):
    return parse_task(
        {
            "name": "asymmetric",
            "frame": "bench",
            "goal": [0.36, -0.13, 0.06],
            "object": {**OBJECT, **(object_changes or {})},
            "fields": FIELDS,
            "arms": [{**ARM, **arm_changes}],
        }
    )


@pytest.fixture(scope="module")
def field(robot):
    return make_field(task_with(), [robot], revision=7)


def test_every_entry_of_a_file_is_read_into_its_own_place():
    task = task_with()
    for part, entries in ((task.object, OBJECT), (task.fields, FIELDS), (task.arms[0], ARM)):
        for name, value in entries.items():
            np.testing.assert_equal(np.array(getattr(part, name)), np.array(value), err_msg=name)
    assert (task.name, task.frame, task.goal) == ("asymmetric", "bench", (0.36, -0.13, 0.06))


def test_numbers_of_the_object_and_of_the_fields(field):
    expected = {
        "task": "asymmetric",
        "frame": "bench",
        "revision": 7,
        "event_sequence": 0,
        "alpha": 4.5,
        "ante_radius_min": 0.16,
        "ante_radius_max": 0.28,
        "ante_rotation_gain": 21.0,
        "start_ramp": 0.35,
        "object_position": [0.48, 0.03, 0.06],
        "object_position_at_impact": [0.48, 0.03, 0.06],
        "object_half_extents": [0.11, 0.07, 0.05],
        "goal": [0.36, -0.13, 0.06],
        "post_gain": 1.9,
        "post_radius_min": 0.08,
        "post_radius_max": 0.17,
        "post_rotation_gain": 27.0,
        "object_mass": 1.7,
        # What it slides on, not what hits it.
        "object_friction": 0.21,
    }
    for name, value in expected.items():
        if isinstance(value, str):
            assert getattr(field, name) == value
        else:
            np.testing.assert_allclose(getattr(field, name), value, rtol=1e-12, err_msg=name)


def test_numbers_of_the_arm(field, robot):
    own = field.arms[0]
    # The face at y = 0.03 + 0.07, the tool's tip a radius before it, displaced along the face.
    np.testing.assert_allclose(own.impact_position, [0.50, 0.10 + robot.tool_radius, 0.09], atol=1e-12)
    np.testing.assert_allclose(own.impact_velocity, [0.05, -0.4, 0.1])
    np.testing.assert_array_equal(own.normal, [0.0, 1.0, 0.0])
    assert (own.arm, own.tool_frame) == ("", robot.tool_frame)
    assert (own.null_space_joint, own.null_space_position) == (2, 0.1)
    # Rz(0.2) Rx(pi): x, y, z, w.
    expected = np.array([np.cos(0.1), np.sin(0.1), 0.0, 0.0])
    np.testing.assert_allclose(own.orientation_before * np.sign(own.orientation_before[0]), expected, atol=1e-12)
    np.testing.assert_array_equal(own.orientation_after, own.orientation_before)
    # Sliding friction with the table towards the goal: direction (-3, -4, 0) / 5.
    force = 0.21 * 1.7 * 9.81
    np.testing.assert_allclose(own.feedforward_wrench, [-0.6 * force, -0.8 * force, 0, 0, 0, 0], atol=1e-12)


def test_no_prediction_is_none(robot):
    field = make_field(task_with(), [robot])
    assert not field.object_velocity_predicted and field.revision == 0
    np.testing.assert_array_equal(field.object_velocity_after, np.zeros(3))


def test_the_inner_radius_reaches_the_corners_when_the_file_gives_none(robot):
    task = task_with()
    task = dataclasses.replace(task, fields=dataclasses.replace(task.fields, ante_radius_min=0.0))
    field = make_field(task, [robot])
    assert field.ante_radius_min == pytest.approx(np.sqrt(0.11**2 + 0.07**2 + 0.05**2))
    assert field.ante_radius_max == pytest.approx(1.75 * field.ante_radius_min)


@pytest.mark.parametrize(
    ("velocity", "normal"),
    [
        ((0.3, 0.2, -0.1), (-1.0, 0.0, 0.0)),
        ((-0.3, 0.2, 0.1), (1.0, 0.0, 0.0)),
        ((0.1, 0.2, -0.1), (0.0, -1.0, 0.0)),
        ((0.1, 0.2, -0.3), (0.0, 0.0, 1.0)),
    ],
)
def test_the_face_that_is_hit_looks_against_the_fastest_axis(velocity, normal):
    task = load_task("hit_and_push")
    arm = dataclasses.replace(task.arms[0], impact_velocity=velocity)
    np.testing.assert_array_equal(hit_normal(task, arm), normal)


def test_a_hit_along_x_meets_the_face_that_looks_back(robot):
    task = task_with(
        {"position": [0.56, 0.03, 0.06]},
        impact_velocity=[0.3, 0.0, 0.05],
        impact_offset=[0.0, 0.02, 0.01],
        starts=[[0.36, 0.0, 0.2]],
        null_space_joint=-1,
    )
    own = make_field(dataclasses.replace(task, goal=(0.62, 0.03, 0.06)), [robot]).arms[0]
    np.testing.assert_allclose(own.impact_position, [0.45 - robot.tool_radius, 0.05, 0.07], atol=1e-12)


def test_tools_that_lift_press_against_their_faces_and_carry_their_share(robot):
    task = load_task("dual_arm_grab", {"object": {"mass": 3.0, "friction_tool": 0.6, "friction_table": 0.1}})
    left, right = task.arms
    task = dataclasses.replace(
        task,
        arms=(
            dataclasses.replace(left, load_share=0.7, clamping_floor=1.0),
            dataclasses.replace(right, load_share=0.3),
        ),
    )
    first, second = (own.feedforward_wrench for own in make_field(task, [robot, robot]).arms)
    load = 3.0 * 9.81
    # Four times what friction needs; the second arm's part is under its floor only where that is higher.
    np.testing.assert_allclose(first, [0, -4.0 * 0.7 * load / 0.6, 0.7 * load, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(second, [0, max(4.0 * 0.3 * load / 0.6, 25.0), 0.3 * load, 0, 0, 0], atol=1e-12)
    light = dataclasses.replace(task, object=dataclasses.replace(task.object, mass=0.2))
    np.testing.assert_allclose(make_field(light, [robot, robot]).arms[1].feedforward_wrench[1], 25.0)


def test_another_speed_keeps_each_arms_direction():
    task = load_task("dual_arm_grab").with_impact_speed(0.65)
    # (0, -0.30, 0.12) is 5 : 2; sqrt(29) of it.
    length = 0.65 / np.sqrt(29.0)
    np.testing.assert_allclose(task.arms[0].impact_velocity, [0.0, -5 * length, 2 * length])
    np.testing.assert_allclose(task.arms[1].impact_velocity, [0.0, 5 * length, 2 * length])
    assert task.arms[0].starts == load_task("dual_arm_grab").arms[0].starts
