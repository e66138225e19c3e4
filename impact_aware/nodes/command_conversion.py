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
from impact_aware.nodes.geometry import point, twist, vector3


def command_to_message(
    command: Command,
    *,
    header: Header,
    arm: str,
    joint_names: Sequence[str],
    joint_reference_velocity: NDArray[np.float64],
) -> ControllerState:
    """What one arm's controller did in a cycle; the counts and times of the node are left to the node."""
    target = command.target_acceleration[0]
    own = ArmControl(
        arm=arm,
        tool_position=point(command.tool_position[0]),
        tool_velocity=twist(command.tool_twist[0]),
        reference_velocity=twist(command.reference_twist[0]),
        target_acceleration=Accel(linear=vector3(target[:3]), angular=vector3(target[3:])),
        joint_names=joint_names,
        joint_reference_velocity=array.array("d", joint_reference_velocity),
        effort=array.array("d", command.effort),
    )
    return ControllerState(
        header=header,
        mode=int(command.mode),
        reason=str(command.reason or ""),
        detail=command.detail,
        blend=float(command.blend),
        arms=[own],
        solver_status=int(command.qp_status),
    )
