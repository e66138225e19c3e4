"""`ReferenceField` between library and message: the same fields on both sides, so only copying."""

from __future__ import annotations

from geometry_msgs.msg import Wrench
from impact_aware_msgs.msg import ArmReference as ArmReferenceMessage
from impact_aware_msgs.msg import ReferenceField as ReferenceFieldMessage

from impact_aware.markers.field_record import POINTS, SAME_NAMES, VECTORS, field_from_message
from impact_aware.messages.geometry import point, quaternion, vector3
from impact_aware.messages.stamps import stamp
from impact_aware.reference import ArmReference, ReferenceField

__all__ = ["field_from_message", "field_to_message"]


def field_to_message(field: ReferenceField, time: float) -> ReferenceFieldMessage:
    """Library to message; `time` goes into the header, s."""
    message = ReferenceFieldMessage()
    message.header.stamp = stamp(time)
    message.header.frame_id = field.frame
    for name in SAME_NAMES:
        setattr(message, name, getattr(field, name))
    for name in POINTS:
        setattr(message, name, point(getattr(field, name)))
    for name in VECTORS:
        setattr(message, name, vector3(getattr(field, name)))
    message.arms = [_arm_to_message(arm) for arm in field.arms]
    return message


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
