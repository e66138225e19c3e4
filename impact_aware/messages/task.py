"""`Task`, its object and arms as messages, read in the layout of a task file, whose reader checks them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.errors import UnknownNameError
from impact_aware.messages.geometry import quaternion, vector, write_quaternion, write_vector
from impact_aware.messages.reference_field import SHAPES, corners, shape_name
from impact_aware.messages.stamps import write_stamp
from impact_aware.messages.types import MessageTypes, give, given
from impact_aware.reference.rotation import quaternion_from_rotation, rotation_from_rpy
from impact_aware.task import ArmTask, Task, TaskObject
from impact_aware.task.task import MOST_ARMS
from impact_aware.task.task_file import FURTHER, parse_task, task_yaml
from impact_aware.transform_buffer import checked_pose
from impact_aware.yaml_text import read_yaml_mapping

TYPE = "impact_aware_msgs/msg/Task"

OBJECT_NUMBERS = ("mass", "friction_table", "friction_tool", "restitution")
ARM_TEXTS = ("name", "robot", "joint_prefix", "base_in_tf")
ARM_NUMBERS = ("null_space_position", "load_share", "clamping_margin", "clamping_floor")
ARM_VECTORS = ("impact_velocity", "impact_offset")


def task_to_message(task: Task, number: int, time: float, types: MessageTypes) -> Any:
    """Library to message; `time` goes into the header, s."""
    message = types.new(TYPE)
    write_stamp(message.header.stamp, time)
    message.header.frame_id = task.frame
    message.number = number
    message.name = task.name
    write_vector(message.goal, task.goal)
    _write_object(message.object, task.object, types)
    message.arms = [_arm_to_message(arm, types) for arm in task.arms]
    message.yaml = task_yaml(task, FURTHER)
    return message


def task_from_message(message: Any) -> tuple[Task, int]:
    """Message to library: the task and its number.

    Raises:
        InvalidInputError: Numbers that make no task.
        UnknownNameError: An entry that a task, or its yaml, does not have.
    """
    content = read_yaml_mapping("yaml", "of the task", message.yaml) if message.yaml else {}
    for key in content:
        if key not in FURTHER:
            raise UnknownNameError("yaml entry of the task", str(key), FURTHER)
    content |= {"name": message.name, "frame": message.header.frame_id, "goal": vector(message.goal).tolist()}
    content |= {"object": object_entries(message.object), "arms": arms_entries(message.arms)}
    return parse_task(content), int(message.number)


def _write_object(message: Any, thing: TaskObject, types: MessageTypes) -> None:
    message.name = thing.name
    for name in OBJECT_NUMBERS:
        setattr(message, name, float(getattr(thing, name)))
    message.shape = SHAPES.index(thing.shape)
    write_vector(message.half_extents, thing.solid.half_extents)
    message.vertices = types.doubles(np.ravel(np.array(thing.vertices)))
    write_vector(message.pose.position, thing.position)
    write_quaternion(message.pose.orientation, quaternion_from_rotation(thing.rotation))


def object_entries(message: Any) -> dict[str, Any]:
    """A `TaskObject` in the layout of a task's file.

    Raises:
        InvalidInputError: No shape, corners of other than three numbers, or no unit quaternion.
    """
    entries = {"name": message.name, "shape": shape_name(message.shape, "object.shape")}
    entries |= {name: getattr(message, name) for name in OBJECT_NUMBERS}
    half = vector(message.half_extents).tolist()
    sizes = {"box": {"half_extents": half}, "cylinder": {"radius": half[0], "half_length": half[2]}}
    entries |= sizes.get(entries["shape"]) or {"vertices": corners(message.vertices, "object.vertices").tolist()}
    place = {"position": vector(message.pose.position).tolist()}
    return entries | place | {"orientation_rpy": _rpy(message.pose.orientation, "object")}


def _arm_to_message(arm: ArmTask, types: MessageTypes) -> Any:
    message = types.new("impact_aware_msgs/msg/TaskArm")
    for name in (*ARM_TEXTS, *ARM_NUMBERS):
        setattr(message, name, getattr(arm, name))
    for name in ARM_VECTORS:
        write_vector(getattr(message, name), getattr(arm, name))
    message.has_base = arm.base_is_told
    if message.has_base:
        write_vector(message.base.position, arm.base_position)
        write_quaternion(message.base.orientation, quaternion_from_rotation(rotation_from_rpy(arm.base_angles)))
    write_quaternion(message.orientation, arm.start_orientation)
    give(message, "null_space_joint", arm.null_space_joint if arm.null_space_joint >= 0 else None)
    message.posture = types.doubles(np.array(arm.posture))
    for start in arm.starts:
        write_vector(point := types.new("geometry_msgs/msg/Point"), start)
        message.starts.append(point)
    message.has_pad = any(arm.pad_half_sizes)
    write_vector(message.pad_half_sizes, arm.pad_half_sizes)
    write_stamp(message.pad_time_constant, arm.pad_time_constant)
    return message


def arms_entries(messages: Any) -> list[dict[str, Any]]:
    """`TaskArm`s in the layout of a task's file, of more than a task may have one too many.

    Raises:
        InvalidInputError: No unit quaternion.
    """
    return [_arm_entries(message, f"arms[{index}]") for index, message in enumerate(messages[: MOST_ARMS + 1])]


def _arm_entries(message: Any, label: str) -> dict[str, Any]:
    entries = {name: getattr(message, name) for name in (*ARM_TEXTS, *ARM_NUMBERS)}
    entries |= {name: vector(getattr(message, name)).tolist() for name in ARM_VECTORS}
    if message.has_base:
        entries["base_position"] = vector(message.base.position).tolist()
        entries["base_rpy"] = _rpy(message.base.orientation, f"{label}.base")
    entries["orientation_rpy"] = _rpy(message.orientation, label)
    entries["null_space_joint"] = int(given(message, "null_space_joint", -1))
    entries |= {"starts": [vector(start).tolist() for start in message.starts], "posture": list(message.posture)}
    if message.has_pad:
        entries["pad_half_sizes"] = vector(message.pad_half_sizes).tolist()
        entries["pad_time_constant"] = given(message, "pad_time_constant", 0.0)
    return entries


def _rpy(message: Any, label: str) -> list[float]:
    """Roll, pitch, yaw of a quaternion, rad."""
    rotation = checked_pose(np.zeros(3), quaternion(message), label).rotation
    return [float(angle) + 0.0 for angle in pin.rpy.matrixToRpy(rotation)]
