"""Both fields and the reference as data against numbers that were worked out by hand, without symmetry."""

import dataclasses

import numpy as np
import pytest

from impact_aware.reference import AnteImpactField, ArmAfterImpact, ArmReference, PostImpactField, ReferenceField
from impact_aware.reference.rotation import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_rpy,
)

LEVEL = np.array([0.0, 0.0, 0.0, 1.0])


def about(axis, angle):
    """Rotation about one of the axes, element by element."""
    rotation, (i, j) = np.eye(3), ((axis + 1) % 3, (axis + 2) % 3)
    rotation[i, i] = rotation[j, j] = np.cos(angle)
    rotation[j, i], rotation[i, j] = np.sin(angle), -np.sin(angle)
    return rotation


def approach(**changes):
    """Impact at the origin at 0.5 m/s along -y; the object's centre lies 0.06 m behind, at (0, -0.06, 0)."""
    values = {
        "impact_position": np.zeros(3),
        "impact_velocity": np.array([0.0, -0.5, 0.0]),
        "object_position": np.array([0.0, -0.06, 0.0]),
        "orientation": LEVEL,
        "alpha": 5.0,
        "r_min": 0.07,
        "r_max": 0.2,
        "kappa_r": 10.0,
    }
    return AnteImpactField(**{**values, **changes})


def reference():
    """Two arms with nothing in common."""
    left = ArmReference(
        arm="left",
        tool_frame="palm",
        impact_position=np.array([0.02, 0.1, 0.01]),
        impact_velocity=np.array([0.0, -0.5, 0.1]),
        normal=np.array([0.0, 1.0, 0.0]),
        orientation_before=np.array([0.6, 0.0, 0.0, 0.8]),
        orientation_after=np.array([0.0, 0.6, 0.0, 0.8]),
        null_space_joint=1,
        null_space_position=0.2,
        feedforward_wrench=np.arange(6.0),
    )
    right = dataclasses.replace(
        left,
        arm="right",
        impact_position=np.array([-0.1, 0.03, 0.0]),
        impact_velocity=np.array([0.3, 0.1, 0.0]),
        normal=np.array([-1.0, 0.0, 0.0]),
        orientation_before=np.array([0.0, 0.0, 0.6, 0.8]),
        orientation_after=np.array([0.28, 0.0, 0.0, 0.96]),
    )
    return ReferenceField(
        task="t",
        arms=(left, right),
        alpha=4.0,
        ante_radius_min=0.15,
        ante_radius_max=0.31,
        ante_rotation_gain=21.0,
        start_ramp=0.3,
        object_position=np.array([0.0, 0.01, 0.02]),
        object_position_at_impact=np.array([0.03, 0.0, 0.02]),
        object_half_extents=np.array([0.1, 0.07, 0.05]),
        object_velocity_after=np.array([0.1, -0.3, 0.05]),
        object_velocity_predicted=True,
        goal=np.array([0.4, -0.5, 0.3]),
        post_gain=1.5,
        post_radius_min=0.09,
        post_radius_max=0.33,
        post_rotation_gain=27.0,
        object_mass=2.0,
        object_friction=0.3,
        revision=4,
        event_sequence=2,
        frame="bench",
    )


@pytest.mark.parametrize(
    ("position", "alpha", "velocity"),
    [
        # p_t = (0, 0.5, 0), so the aim is (0, -0.5, 0) + 5 (-0.3, 0.1, 0) = (-1.5, 0, 0).
        ((0.3, 0.4, 0.0), 5.0, (-0.5, 0.0, 0.0)),
        # With a smaller alpha (0, -0.5, 0) + 2 (-0.3, 0.1, 0) = (-0.6, -0.3, 0).
        ((0.3, 0.4, 0.0), 2.0, (-1.0 / np.sqrt(5.0), -0.5 / np.sqrt(5.0), 0.0)),
        # The same out of the plane: z takes the part of x.
        ((0.0, 0.4, -0.3), 5.0, (0.0, 0.0, 0.5)),
        # Straight before the impact.
        ((0.0, 0.7, 0.0), 5.0, (0.0, -0.5, 0.0)),
    ],
)
def test_the_approach_aims_at_the_point_as_far_before_the_impact(position, alpha, velocity):
    field = approach(alpha=alpha)
    np.testing.assert_allclose(field.velocity(np.array(position)), velocity, atol=1e-12)
    np.testing.assert_allclose(field.evaluate(np.array(position), np.eye(3))[0][:3], velocity, atol=1e-12)


def test_the_approach_is_blended_into_the_impact_by_the_distance_from_the_object():
    # 0.5 m from the impact, and sqrt(0.3^2 + 0.46^2) from the object: half-way between the two radii.
    distance = np.hypot(0.3, 0.46)
    field = approach(r_min=distance - 0.1, r_max=distance + 0.1)
    np.testing.assert_allclose(field.velocity(np.array([0.3, 0.4, 0.0])), [-0.25, -0.25, 0.0], atol=1e-12)
    # A quarter of the way: 3/16 - 2/64 = 5/32.
    field = approach(r_min=distance - 0.05, r_max=distance + 0.15)
    np.testing.assert_allclose(
        field.velocity(np.array([0.3, 0.4, 0.0])), [-0.5 * 5 / 32, -0.5 * 27 / 32, 0.0], atol=1e-12
    )


def test_the_start_ramp_scales_every_part_of_the_twist():
    field, rotation = approach(start_ramp=0.8), about(0, 0.1)
    full, _ = field.evaluate(np.array([0.3, 0.4, 0.0]), rotation, 0.8)
    early, _ = field.evaluate(np.array([0.3, 0.4, 0.0]), rotation, 0.2)
    np.testing.assert_allclose(full, [-0.5, 0, 0, -1.0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(early, full * 5 / 32, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_rotated_tool_is_rotated_back_about_the_axis_of_the_base(axis):
    """The tool looks down (rpy = pi, 0, 0), so about y and z base axes and tool axes are opposite."""
    down = quaternion_from_rotation(rotation_from_rpy((np.pi, 0.0, 0.0)))
    rotation = about(axis, 0.3) @ about(0, np.pi)
    omega = np.zeros(3)
    omega[axis] = -0.3
    twist, acceleration = approach(orientation=down, kappa_r=10.0).evaluate(np.zeros(3), rotation)
    np.testing.assert_allclose(twist[3:], 10.0 * omega, atol=1e-12)
    np.testing.assert_allclose(acceleration[3:], -100.0 * omega, atol=1e-11)
    post = PostImpactField(np.ones(3), np.zeros(3), None, down, kappa_r=4.0)
    twist, acceleration = post.evaluate(np.zeros(3), rotation)
    np.testing.assert_allclose(twist[3:], 4.0 * omega, atol=1e-12)
    np.testing.assert_allclose(acceleration[3:], -16.0 * omega, atol=1e-11)


def test_the_object_is_led_to_its_goal_in_every_axis():
    goal, start = np.array([0.4, -0.2, 0.1]), np.array([0.1, 0.1, 0.3])
    plain = PostImpactField(goal, start, None, LEVEL, kappa_p=2.0, r_min=0.1, r_max=0.3)
    np.testing.assert_allclose(plain.velocity(start), [0.6, -0.6, -0.4], atol=1e-15)
    # v' = -kappa v.
    np.testing.assert_allclose(plain.evaluate(start, np.eye(3))[1][:3], [-1.2, 1.2, 0.8], atol=1e-15)
    after = np.array([0.05, -0.3, 0.02])
    field = PostImpactField(goal, start, after, LEVEL, kappa_p=2.0, r_min=0.1, r_max=0.3)
    np.testing.assert_array_equal(field.velocity(start + [0.0, -0.1, 0.0]), after)
    # Half-way between the radii: the mean of the prediction and 2 (0.3, -0.1, -0.2).
    np.testing.assert_allclose(field.velocity(start + [0.0, -0.2, 0.0]), [0.325, -0.25, -0.19], atol=1e-12)
    np.testing.assert_allclose(field.velocity(start + [0.0, -0.3, 0.0]), [0.6, 0.0, -0.4], atol=1e-12)


def test_each_arm_has_its_own_fields():
    data = reference()
    for index, own in enumerate(data.arms):
        ante, post = data.ante_impact(index), data.post_impact(index)
        np.testing.assert_array_equal(ante.impact_position, own.impact_position)
        np.testing.assert_array_equal(ante.impact_velocity, own.impact_velocity)
        np.testing.assert_array_equal(ante.orientation, own.orientation_before)
        np.testing.assert_array_equal(post.orientation, own.orientation_after)
        np.testing.assert_array_equal(ante.object_position, data.object_position)
        assert (ante.alpha, ante.r_min, ante.r_max, ante.kappa_r, ante.start_ramp) == (4.0, 0.15, 0.31, 21.0, 0.3)
        np.testing.assert_array_equal(post.goal, data.goal)
        np.testing.assert_array_equal(post.object_position_at_impact, data.object_position_at_impact)
        np.testing.assert_array_equal(post.object_velocity_after, data.object_velocity_after)
        assert (post.kappa_p, post.r_min, post.r_max, post.kappa_r) == (1.5, 0.09, 0.33, 27.0)
    assert data.ante_impact().impact_position is data.arms[0].impact_position
    assert dataclasses.replace(data, object_velocity_predicted=False).post_impact().object_velocity_after is None


def test_the_object_is_found_between_the_tools():
    data = reference()
    # Left has gone 0.02 m too far along -y, right 0.03 m too far along +x; across their normals nothing counts.
    tools = np.array([[0.5, 0.08, 0.3], [-0.07, -0.4, 0.2]])
    np.testing.assert_allclose(data.object_position_from_tools(tools), [0.015, 0.0, 0.02], atol=1e-15)


def test_an_impact_changes_what_it_must_and_nothing_else():
    data = reference()
    after = data.after_impact([0.1, 0.2, 0.3], [0.4, 0.5, 0.6], event_sequence=9)
    np.testing.assert_array_equal(after.object_position_at_impact, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(after.object_velocity_after, [0.4, 0.5, 0.6])
    assert (after.revision, after.event_sequence) == (5, 9)
    changed = {"object_position_at_impact", "object_velocity_after", "revision", "event_sequence"}
    for entry in dataclasses.fields(data):
        if entry.name not in changed:
            assert getattr(after, entry.name) is getattr(data, entry.name)
    kept = data.after_impact([0.1, 0.2, 0.3], None)
    np.testing.assert_array_equal(kept.object_velocity_after, data.object_velocity_after)
    assert (kept.object_velocity_predicted, kept.event_sequence, kept.revision) == (True, 2, 5)
    unknown = dataclasses.replace(data, object_velocity_predicted=False).after_impact([0.1, 0.2, 0.3], None)
    assert not unknown.object_velocity_predicted
    # What is predicted of one arm leaves the other one's.
    first, second = ArmAfterImpact(np.zeros(3), 0.2), ArmAfterImpact(np.array([0.1, 0.0, 0.0]))
    both = data.with_arms_after({1: second}).with_arms_after({0: first})
    assert [own.after_impact for own in both.arms] == [first, second]


def test_quaternions_are_x_y_z_w_and_angles_are_about_fixed_axes():
    np.testing.assert_allclose(rotation_from_quaternion([0, 0, np.sin(0.2), np.cos(0.2)]), about(2, 0.4), atol=1e-15)
    np.testing.assert_allclose(rotation_from_quaternion([np.sin(0.2), 0, 0, np.cos(0.2)]), about(0, 0.4), atol=1e-15)
    expected = about(2, 0.3) @ about(1, 0.2) @ about(0, 0.1)
    np.testing.assert_allclose(rotation_from_rpy((0.1, 0.2, 0.3)), expected, atol=1e-15)
    # 0.75 of a turn is a quarter back: w stays positive.
    np.testing.assert_allclose(
        quaternion_from_rotation(about(1, 1.5 * np.pi)), [0, -np.sqrt(0.5), 0, np.sqrt(0.5)], atol=1e-12
    )
    np.testing.assert_allclose(quaternion_from_rotation(about(2, 3.0)), [0, 0, np.sin(1.5), np.cos(1.5)], atol=1e-12)
    slightly_long = np.array([0.0, 0.0, 0.6, 0.8]) * 1.0005
    np.testing.assert_allclose(rotation_from_quaternion(slightly_long), rotation_from_quaternion([0, 0, 0.6, 0.8]))
