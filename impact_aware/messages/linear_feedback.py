"""`Control` of linear_feedback_controller_msgs: a law for the controller of that name in ros2_control.

linear_feedback_controller 4.0.3 (src/lf_controller.cpp) applies feedforward + feedback_gain [q_d - q; dq_d - dq] with
the state of the message's joint_state as the desired one, joints by their place, not by name. It keeps the last message
for ever, and subtracts gravity itself where its parameter `remove_gravity_compensation_effort` is set: torques are
whole ones here as in a LocalLaw.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control.local_law import LocalLaw
from impact_aware.messages.stamps import write_stamp
from impact_aware.messages.types import MessageTypes

TYPE = "linear_feedback_controller_msgs/msg/Control"


def law_to_control(law: LocalLaw, types: MessageTypes, *, frame: str) -> Any:
    """A law as that controller takes it; its mode, number and validity have no place there."""
    message = types.new(TYPE)
    state = message.initial_state
    for header in (message.header, state.header, state.joint_state.header):
        write_stamp(header.stamp, law.stamp)
        header.frame_id = frame
    _write_matrix(message.feedback_gain, np.hstack([law.position_gain, law.velocity_gain]), types)
    _write_matrix(message.feedforward, law.effort[:, np.newaxis], types)
    state.base_pose.orientation.w = 1.0
    state.joint_state.name = list(law.joint_names)
    state.joint_state.position = types.doubles(law.position)
    state.joint_state.velocity = types.doubles(law.velocity)
    state.joint_state.effort = types.doubles(law.effort)
    return message


def _write_matrix(message: Any, matrix: Array, types: MessageTypes) -> None:
    """A Float64MultiArray row by row, with the two dimensions that the controller's reader counts on."""
    rows, columns = matrix.shape
    dimensions = []
    for label, size, stride in (("rows", rows, rows * columns), ("cols", columns, columns)):
        dimension = types.new("std_msgs/msg/MultiArrayDimension")
        dimension.label, dimension.size, dimension.stride = label, size, stride
        dimensions.append(dimension)
    message.layout.dim = dimensions
    message.data = types.doubles(np.ravel(matrix))
