import dataclasses

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.messages.reference_field import field_from_message, field_to_message
from impact_aware.reference import ArmAfterImpact
from impact_aware.robot import RobotModel
from impact_aware.ros.messages import ROS
from impact_aware.task import load_task, make_field


@pytest.fixture(scope="module")
def field():
    task = load_task("hit_and_push", {"object": {"orientation_rpy": [0.0, 0.0, 0.2]}})
    made = make_field(task, [RobotModel.from_profile("panda")], revision=4)
    made = dataclasses.replace(made, object_velocity=np.array([0.1, -0.02, 0.03]), object_time=12.25)
    arms_after = {0: ArmAfterImpact(np.array([0.11, -0.07, 0.23]), -0.06)}
    return made.after_impact([0.5, -0.01, 0.1], [0.01, -0.31, 0.002], event_sequence=7, arms_after=arms_after)


def test_a_field_survives_the_way_through_a_message(field):
    back = field_from_message(field_to_message(field, 12.5, ROS))
    for entry in dataclasses.fields(field):
        if entry.name != "arms":
            np.testing.assert_array_equal(getattr(back, entry.name), getattr(field, entry.name), err_msg=entry.name)
    for mine, theirs in zip(field.arms, back.arms, strict=True):
        left, back_again = vars(mine.after_impact), vars(theirs.after_impact)
        np.testing.assert_array_equal(left["angular_velocity"], back_again["angular_velocity"])
        assert left["null_space_velocity"] == back_again["null_space_velocity"] == -0.06
        for entry in dataclasses.fields(mine):
            if entry.name == "after_impact":
                continue
            np.testing.assert_array_equal(getattr(theirs, entry.name), getattr(mine, entry.name), err_msg=entry.name)


def test_limits_that_are_zero_are_not_given_and_corners_come_in_threes(field):
    message = field_to_message(dataclasses.replace(field, post_sideways_radius=0.0), 0.0, ROS)
    assert not message.has_post_sideways_radius and field_from_message(message).post_sideways_radius == 0.0
    message.object_shape, message.object_vertices = 2, [0.1, 0.2, 0.3, 0.4]
    with pytest.raises(InvalidInputError, match="object_vertices"):
        field_from_message(message)


def test_both_sides_evaluate_alike(field):
    back = field_from_message(field_to_message(field, 0.0, ROS))
    place = np.array([0.47, 0.21, 0.13])
    np.testing.assert_array_equal(back.ante_impact().velocity(place), field.ante_impact().velocity(place))
    np.testing.assert_array_equal(back.post_impact().velocity(place), field.post_impact().velocity(place))


def test_a_field_whose_orientation_is_not_said_has_an_object_along_its_axes(field):
    message = field_to_message(field, 0.0, ROS)
    message.object_orientation = type(message.object_orientation)(x=0.0, y=0.0, z=0.0, w=0.0)
    np.testing.assert_array_equal(field_from_message(message).object_rotation, np.eye(3))
    message.object_orientation.x = 0.5
    with pytest.raises(InvalidInputError, match="object_orientation"):
        field_from_message(message)


@pytest.mark.parametrize("change", [{"x": 5.1}, {"y": float("nan")}])
def test_a_rotation_that_no_impact_leaves_is_refused_by_name(field, change):
    message = field_to_message(field, 0.0, ROS)
    for axis, value in change.items():
        setattr(message.arms[0].angular_velocity_after, axis, value)
    with pytest.raises(InvalidInputError, match="angular_velocity_after"):
        field_from_message(message)
