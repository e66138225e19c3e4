"""A task as a message and back: each of its numbers in a field of its own, or in the yaml beside them."""

import dataclasses

import numpy as np
import pytest
from impact_aware_msgs.msg import Task as TaskMessage
from rclpy.serialization import deserialize_message, serialize_message

from impact_aware.errors import ImpactAwareError
from impact_aware.messages.task import task_from_message, task_to_message
from impact_aware.ros.messages import ROS
from impact_aware.task import FieldParameters, base_placement, load_task, task_names

ROUNDING = 1e-14
"""Of angles that become a quaternion and angles again."""


def sent(task):
    return deserialize_message(serialize_message(task_to_message(task, 3, 2.5, ROS)), TaskMessage)


def uncommon():
    """Every number another one, and none the default."""
    task = load_task("dual_arm_grab")
    left = dataclasses.replace(
        task.arms[0], joint_prefix="l_", base_yaw=0.0, base_position=(0.1, 0.2, 0.3), base_rpy=(0.1, -0.2, 0.3),
        impact_offset=(0.01, 0.02, 0.03), orientation_rpy=(0.4, 0.5, -0.6), null_space_joint=2, null_space_position=0.7,
        starts=((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), posture=(0.1, 0.2), pad_time_constant=0.004, load_share=0.4,
        clamping_margin=1.5, clamping_floor=2.5,
    )  # fmt: skip
    nothing = {"base_position": (0.0, 0.0, 0.0), "base_yaw": 0.0, "base_rpy": (0.0, 0.0, 0.0), "null_space_joint": -1}
    nothing |= {"pad_half_sizes": (0.0, 0.0, 0.0), "pad_time_constant": 0.0}
    right = dataclasses.replace(task.arms[1], base_in_tf="right_base", **nothing)
    thing = dataclasses.replace(task.object, orientation_rpy=(0.0, 0.0, 0.3), friction_table=0.31, restitution=0.2)
    return dataclasses.replace(task, arms=(left, right), object=thing, fields=FieldParameters(alpha=3.5))


@pytest.mark.parametrize("task", [*map(load_task, task_names()), uncommon()], ids=[*task_names(), "uncommon"])
def test_a_task_there_and_back(task):
    message = sent(task)
    assert (message.number, message.header.frame_id, message.header.stamp.nanosec) == (3, task.frame, 500_000_000)
    back, number = task_from_message(message)
    assert number == 3
    angles = {"orientation_rpy", "turn_rpy", "base_position", "base_yaw", "base_rpy", "base_in_urdf"}
    for one, other in ((task.object, back.object), *zip(task.arms, back.arms, strict=True)):
        for entry in dataclasses.fields(one):
            if entry.name not in angles:
                assert getattr(other, entry.name) == getattr(one, entry.name), entry.name
    for one, other in zip(task.arms, back.arms, strict=True):
        np.testing.assert_allclose(other.orientation, one.orientation, atol=ROUNDING)
        assert other.base_is_told == one.base_is_told
        if one.base_is_told:
            np.testing.assert_allclose(base_placement(other), base_placement(one), atol=ROUNDING)
    np.testing.assert_allclose(back.object.rotation, task.object.rotation, atol=ROUNDING)
    rest = {entry.name for entry in dataclasses.fields(task)} - {"object", "arms"}
    assert {name: getattr(back, name) for name in rest} == {name: getattr(task, name) for name in rest}


def test_numbers_stand_in_the_fields_that_clients_read():
    message = sent(uncommon())
    left, right = message.arms
    assert (left.base.position.y, left.starts[1].z, list(left.posture)) == (0.2, 0.6, [0.1, 0.2])
    assert (left.has_null_space_joint, left.null_space_joint, right.has_null_space_joint) == (True, 2, False)
    assert (left.has_base, right.has_base, right.base_in_tf) == (True, False, "right_base")
    assert (left.has_pad, right.has_pad, left.pad_time_constant.nanosec) == (True, False, 4_000_000)
    assert message.object.pose.orientation.z == pytest.approx(np.sin(0.15))
    assert (message.object.friction_table, message.object.restitution) == (0.31, 0.2)
    assert "alpha: 3.5" in message.yaml and "mass" not in message.yaml.partition("objects")[0]


def test_a_task_of_defaults_needs_no_yaml():
    task = dataclasses.replace(uncommon(), fields=FieldParameters(), objects=())
    assert sent(task).yaml == ""


def test_more_arms_than_a_task_may_have_are_refused_before_they_are_read():
    message = sent(uncommon())
    message.arms = [message.arms[0]] * 5
    with pytest.raises(ImpactAwareError, match="arms: got 3 entries"):
        task_from_message(message)
