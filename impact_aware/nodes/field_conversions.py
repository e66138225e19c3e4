"""`ReferenceField` between library and message: the same fields on both sides, so only copying."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Wrench
from impact_aware_msgs.msg import ArmReference as ArmReferenceMessage
from impact_aware_msgs.msg import ReferenceField as ReferenceFieldMessage

from impact_aware.nodes.geometry import array3, array4, point, quaternion, vector3
from impact_aware.nodes.stamps import stamp
from impact_aware.reference import ArmReference, ReferenceField

_SAME_NAMES = (
    "task", "revision", "event_sequence", "alpha", "ante_radius_min", "ante_radius_max", "ante_rotation_gain",
    "start_ramp", "object_velocity_predicted", "post_gain", "post_radius_min", "post_radius_max", "post_rotation_gain",
    "object_mass", "object_friction",
)  # fmt: skip

_POINTS = ("object_position", "object_position_at_impact", "goal")

_VECTORS = ("object_half_extents", "object_velocity_after")


def field_to_message(field: ReferenceField, time: float) -> ReferenceFieldMessage:
    """Library to message; `time` goes into the header, s."""
    message = ReferenceFieldMessage()
    message.header.stamp = stamp(time)
    message.header.frame_id = field.frame
    for name in _SAME_NAMES:
        setattr(message, name, getattr(field, name))
    for name in _POINTS:
        setattr(message, name, point(getattr(field, name)))
    for name in _VECTORS:
        setattr(message, name, vector3(getattr(field, name)))
    message.arms = [_arm_to_message(arm) for arm in field.arms]
    return message


def field_from_message(message: ReferenceFieldMessage) -> ReferenceField:
    """Message to library.

    Raises:
        InvalidInputError: The message makes no field.
    """
    values: dict[str, Any] = {name: getattr(message, name) for name in _SAME_NAMES}
    values.update({name: array3(getattr(message, name)) for name in (*_POINTS, *_VECTORS)})
    arms = tuple(_arm_from_message(arm) for arm in message.arms)
    return ReferenceField(arms=arms, frame=message.header.frame_id, **values)


def _arm_to_message(arm: ArmReference) -> ArmReferenceMessage:
    return ArmReferenceMessage(
        arm=arm.arm,
        tool_frame=arm.tool_frame,
        impact_position=point(arm.impact_position),
        impact_velocity=vector3(arm.impact_velocity),
        normal=vector3(arm.normal),
        orientation_before=quaternion(arm.orientation_before),
        orientation_after=quaternion(arm.orientation_after),
        null_space_joint=int(arm.null_space_joint),
        null_space_position=float(arm.null_space_position),
        feedforward_wrench=Wrench(
            force=vector3(arm.feedforward_wrench[:3]), torque=vector3(arm.feedforward_wrench[3:])
        ),
    )


def _arm_from_message(message: ArmReferenceMessage) -> ArmReference:
    wrench = message.feedforward_wrench
    return ArmReference(
        arm=message.arm,
        tool_frame=message.tool_frame,
        impact_position=array3(message.impact_position),
        impact_velocity=array3(message.impact_velocity),
        normal=array3(message.normal),
        orientation_before=array4(message.orientation_before),
        orientation_after=array4(message.orientation_after),
        null_space_joint=message.null_space_joint,
        null_space_position=message.null_space_position,
        feedforward_wrench=np.concatenate((array3(wrench.force), array3(wrench.torque))),
    )
