"""joint_states of some joints, as a driver of them publishes these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from impact_aware.arrays import Array
from impact_aware.messages.joint_state import learn_layout
from impact_aware.messages.stamps import STAMP, STAMP_OFFSET
from impact_aware.ros.qos import state_qos


class Reading(Protocol):
    """What sensors show of joints (n,): rad, rad/s, N m."""

    @property
    def q(self) -> Array: ...  # noqa: D102
    @property
    def dq(self) -> Array: ...  # noqa: D102
    @property
    def effort(self) -> Array: ...  # noqa: D102


class StatePublisher:
    """Publishes the readings of some joints on one topic.

    All its messages have the same bytes except for stamp and values, so they are written here into the bytes of the
    first one, which is quicker than to let ROS serialize each.
    """

    def __init__(self, node: Node, topic: str, names: Sequence[str], joints: slice = slice(None)) -> None:
        """Serialize the message once; `joints` are those of `names` (n,) in the arrays of a reading."""
        self._joints = joints
        zeros = [0.0] * len(names)
        state = JointState(name=list(names), position=zeros, velocity=zeros, effort=zeros)
        self._serialized = bytearray(serialize_message(state))
        layout = learn_layout(bytes(self._serialized), state)
        assert layout is not None, "ROS serializes in little-endian CDR"
        self._position, self._velocity, self._effort = (
            np.frombuffer(self._serialized, "<f8", count, begin) for begin, count in layout.blocks
        )
        self._publisher = node.create_publisher(JointState, topic, state_qos(reliable=True))

    def publish(self, reading: Reading, time: Time) -> None:
        """Publish what the sensors show."""
        STAMP.pack_into(self._serialized, STAMP_OFFSET, time.sec, time.nanosec)
        self._position[:] = reading.q[self._joints]
        self._velocity[:] = reading.dq[self._joints]
        self._effort[:] = reading.effort[self._joints]
        self._publisher.publish(bytes(self._serialized))
