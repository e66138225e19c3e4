"""A control cycle as a message."""

from __future__ import annotations

import array
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Accel
from impact_aware_msgs.msg import ArmControl, ControllerState
from numpy.typing import NDArray
from std_msgs.msg import Header

from impact_aware.control import Command
from impact_aware.messages.geometry import point, twist, vector3
from impact_aware.nodes.arms import Arm


def command_to_message(
    command: Command, *, header: Header, arms: Sequence[Arm], joint_reference_velocity: NDArray[np.float64]
) -> ControllerState:
    """What the controller did in a cycle; the counts and times of the node are left to the node.

    Args:
        command: Result of the cycle.
        header: Stamp of the state it answered and frame of the arms.
        arms: In the controller's order.
        joint_reference_velocity: (n,) Of all arms, arm after arm, rad/s.
    """
    messages, first = [], 0
    for index, arm in enumerate(arms):
        joints = slice(first, first + arm.robot.n)
        first += arm.robot.n
        target = command.target_acceleration[index]
        messages.append(
            ArmControl(
                arm=arm.name,
                tool_position=point(command.tool_position[index]),
                tool_velocity=twist(command.tool_twist[index]),
                reference_velocity=twist(command.reference_twist[index]),
                target_acceleration=Accel(linear=vector3(target[:3]), angular=vector3(target[3:])),
                joint_names=arm.robot.joint_names,
                joint_reference_velocity=array.array("d", joint_reference_velocity[joints]),
                effort=array.array("d", command.effort[joints]),
            )
        )
    return ControllerState(
        header=header,
        mode=int(command.mode),
        reason=str(command.reason or ""),
        detail=command.detail,
        blend=float(command.blend),
        arms=messages,
        solver_status=int(command.qp_status),
    )
