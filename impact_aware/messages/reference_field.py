"""`ReferenceField` between library and message: the same fields on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.messages.geometry import quaternion, vector, write_quaternion, write_vector
from impact_aware.messages.stamps import seconds, write_stamp
from impact_aware.messages.types import MessageTypes, give, given
from impact_aware.reference import ArmAfterImpact, ArmReference, ReferenceField

TYPE = "impact_aware_msgs/msg/ReferenceField"

PLAIN = (
    "task", "revision", "event_sequence", "alpha", "ante_radius_min", "ante_radius_max", "ante_rotation_gain",
    "object_velocity_predicted", "post_gain", "post_radius_min", "post_radius_max", "post_rotation_gain",
    "object_mass", "object_friction",
)  # fmt: skip
"""Numbers and texts."""

VECTORS = (
    "object_position", "object_position_at_impact", "goal", "object_half_extents", "object_velocity_after",
)  # fmt: skip

LIMITS = ("ante_rotation_deceleration", "post_sideways_radius", "push_lever")
"""Numbers that need not be given; the library has 0 then."""

SHAPES = ("box", "cylinder", "hull")
"""Shapes in the order of ReferenceField.OBJECT_*."""

ARM_PLAIN = ("arm", "tool_frame", "null_space_position")
ARM_VECTORS = ("impact_position", "impact_velocity", "normal")
ARM_QUATERNIONS = ("orientation_before", "orientation_after")


def field_to_message(field: ReferenceField, time: float, types: MessageTypes) -> Any:
    """Library to message; `time` goes into the header, s."""
    message = types.new(TYPE)
    write_stamp(message.header.stamp, time)
    message.header.frame_id = field.frame
    for name in (*PLAIN, "task_number"):
        setattr(message, name, getattr(field, name))
    for name in LIMITS:
        give(message, name, getattr(field, name) or None)
    write_stamp(message.start_ramp, field.start_ramp)
    write_quaternion(message.object_orientation, field.object_orientation)
    write_vector(message.object_velocity, field.object_velocity)
    write_stamp(message.object_stamp, field.object_time)
    for name in VECTORS:
        write_vector(getattr(message, name), getattr(field, name))
    message.object_shape = SHAPES.index(field.object_shape)
    message.object_vertices = field.object_vertices.ravel()
    message.arms = [_arm_to_message(arm, types) for arm in field.arms]
    return message


def field_from_message(message: Any) -> ReferenceField:
    """Message to library.

    Raises:
        InvalidInputError: The message makes no field.
    """
    values: dict[str, Any] = {name: getattr(message, name) for name in PLAIN}
    values["task_number"] = int(getattr(message, "task_number", 0))  # none in recordings of earlier versions
    values |= {name: given(message, name, 0.0) for name in LIMITS}
    values["start_ramp"] = given(message, "start_ramp", 0.0)
    if hasattr(message, "object_velocity"):
        values |= {"object_velocity": vector(message.object_velocity), "object_time": seconds(message.object_stamp)}
    if shape := getattr(message, "object_shape", 0):  # a name or missing in recordings of earlier versions
        values["object_shape"] = shape if isinstance(shape, str) else shape_name(shape, "object_shape")
        values["object_vertices"] = corners(message.object_vertices, "object_vertices")
    turned = getattr(message, "object_orientation", None)
    if turned is not None and any(quaternion(turned)):
        values["object_orientation"] = quaternion(turned)
    values.update({name: vector(getattr(message, name)) for name in VECTORS})
    arms = tuple(_arm_from_message(arm) for arm in message.arms)
    return ReferenceField(arms=arms, frame=message.header.frame_id, **values)


def shape_name(number: int, field: str) -> str:
    """Name of an OBJECT_* of a message; an InvalidInputError for another number."""
    if number >= len(SHAPES):
        raise InvalidInputError(field, number, f"0..{len(SHAPES) - 1}")
    return SHAPES[number]


def corners(numbers: Sequence[float], field: str) -> Array:
    """(k, 3) Corners of a hull from x, y, z of each; an InvalidInputError for a number too many."""
    if len(numbers) % 3:
        raise InvalidInputError(field, f"{len(numbers)} numbers", "three of each corner, m")
    return np.array(numbers, dtype=float).reshape(-1, 3)


def _arm_to_message(arm: ArmReference, types: MessageTypes) -> Any:
    message = types.new("impact_aware_msgs/msg/ArmReference")
    for name in ARM_PLAIN:
        setattr(message, name, getattr(arm, name))
    for name in ARM_VECTORS:
        write_vector(getattr(message, name), getattr(arm, name))
    for name in ARM_QUATERNIONS:
        write_quaternion(getattr(message, name), getattr(arm, name))
    give(message, "null_space_joint", arm.null_space_joint if arm.null_space_joint >= 0 else None)
    message.has_base, message.has_after = arm.base_known, arm.after_impact.known
    if arm.base_known:
        write_vector(message.base.position, arm.base_position)
        write_quaternion(message.base.orientation, arm.base_orientation)
    write_vector(message.angular_velocity_after, arm.after_impact.angular_velocity)
    message.null_space_velocity_after = arm.after_impact.null_space_velocity
    write_vector(message.feedforward_wrench.force, arm.feedforward_wrench[:3])
    write_vector(message.feedforward_wrench.torque, arm.feedforward_wrench[3:])
    return message


def _arm_from_message(message: Any) -> ArmReference:
    values: dict[str, Any] = {name: getattr(message, name) for name in ARM_PLAIN}
    values |= {name: vector(getattr(message, name)) for name in ARM_VECTORS}
    values |= {name: quaternion(getattr(message, name)) for name in ARM_QUATERNIONS}
    values["null_space_joint"] = int(given(message, "null_space_joint", -1))
    if base := given(message, "base", None):
        values |= {"base_position": vector(base.position), "base_orientation": quaternion(base.orientation)}
    turning = getattr(message, "angular_velocity_after", None)
    if turning is not None and getattr(message, "has_after", True):  # missing in recordings of earlier versions
        values["after_impact"] = ArmAfterImpact(vector(turning), float(message.null_space_velocity_after))
    wrench = message.feedforward_wrench
    return ArmReference(feedforward_wrench=np.concatenate((vector(wrench.force), vector(wrench.torque))), **values)
