"""`ControllerState`: a control cycle as a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from impact_aware.arrays import Array
from impact_aware.control import Command, SafeReason
from impact_aware.messages.geometry import write_twist, write_vector
from impact_aware.messages.types import MessageTypes
from impact_aware.task.arms import Arm

TYPE = "impact_aware_msgs/msg/ControllerState"

REASONS: dict[SafeReason | None, int] = {None: 0, **{reason: number for number, reason in enumerate(SafeReason, 1)}}
"""Reason of the safe mode -> ControllerState.REASON_*."""


def command_to_message(
    command: Command,
    types: MessageTypes,
    *,
    header: Any,
    arms: Sequence[Arm],
    joint_reference_velocity: Array,
    message: Any = None,
) -> Any:
    """What the controller did in a cycle; the counts and times of the node are left to the node.

    Args:
        command: Result of the cycle.
        types: Message classes.
        header: Stamp of the state it answered and frame of the arms.
        arms: In the controller's order.
        joint_reference_velocity: (n,) Of all arms, arm after arm, rad/s.
        message: An earlier one of these arms to be overwritten: nested messages take longer to make than to fill in.
    """
    if message is None:
        message = types.new(TYPE)
        message.arms = [types.new("impact_aware_msgs/msg/ArmControl") for _ in arms]
        for part, arm in zip(message.arms, arms, strict=True):
            part.arm, part.joint_names = arm.name, list(arm.robot.joint_names)
    message.header = header
    message.mode = int(command.mode)
    message.reason = REASONS[command.reason]
    message.detail = command.detail
    message.blend = float(command.blend)
    message.solver_status = int(command.qp_status)
    first = 0
    for index, (part, arm) in enumerate(zip(message.arms, arms, strict=True)):
        joints = slice(first, first + arm.robot.n)
        first += arm.robot.n
        write_vector(part.tool_position, command.tool_position[index])
        write_twist(part.tool_velocity, command.tool_twist[index])
        write_twist(part.reference_velocity, command.reference_twist[index])
        write_twist(part.target_acceleration, command.target_acceleration[index])
        part.joint_reference_velocity = types.doubles(joint_reference_velocity[joints])
        part.effort = types.doubles(command.effort[joints])
    return message
