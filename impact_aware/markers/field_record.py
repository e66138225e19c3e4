"""A reference field read from its message, ROS' own or that of a recording."""

from __future__ import annotations

from typing import Any

import numpy as np

from impact_aware.markers.records import quaternion, vector
from impact_aware.reference import ArmReference, ReferenceField

SAME_NAMES = (
    "task", "revision", "event_sequence", "alpha", "ante_radius_min", "ante_radius_max", "ante_rotation_gain",
    "start_ramp", "object_velocity_predicted", "post_gain", "post_radius_min", "post_radius_max", "post_rotation_gain",
    "object_mass", "object_friction",
)  # fmt: skip
"""Plain numbers and words, called the same in library and message."""

POINTS = ("object_position", "object_position_at_impact", "goal")

VECTORS = ("object_half_extents", "object_velocity_after")


def field_from_message(message: Any) -> ReferenceField:
    """Message to library: the same fields on both sides.

    Raises:
        InvalidInputError: The message makes no field.
    """
    values: dict[str, Any] = {name: getattr(message, name) for name in SAME_NAMES}
    values.update({name: vector(getattr(message, name)) for name in (*POINTS, *VECTORS)})
    arms = tuple(_arm_from_message(arm) for arm in message.arms)
    return ReferenceField(arms=arms, frame=message.header.frame_id, **values)


def _arm_from_message(message: Any) -> ArmReference:
    wrench = message.feedforward_wrench
    return ArmReference(
        arm=message.arm,
        tool_frame=message.tool_frame,
        impact_position=vector(message.impact_position),
        impact_velocity=vector(message.impact_velocity),
        normal=vector(message.normal),
        orientation_before=quaternion(message.orientation_before),
        orientation_after=quaternion(message.orientation_after),
        null_space_joint=int(message.null_space_joint),
        null_space_position=message.null_space_position,
        feedforward_wrench=np.concatenate((vector(wrench.force), vector(wrench.torque))),
    )
