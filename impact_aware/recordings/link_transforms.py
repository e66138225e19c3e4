"""TF of an arm's links from its recorded joint states, for viewers of a recording that has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.bags.message_types import RECORDED, annotation_types
from impact_aware.messages.geometry import write_quaternion, write_vector
from impact_aware.robot import JointOrder, RobotModel

JOINT_STATE_TYPE, TRANSFORMS_TYPE = "sensor_msgs/msg/JointState", "tf2_msgs/msg/TFMessage"
_TRANSFORM = "geometry_msgs/msg/TransformStamped"

PERIOD = 1_000_000_000 // 60
"""Least time between two poses of the arm, ns: what a screen shows."""


class LinkTransforms:
    """Makes a TFMessage of some of an arm's joint states: every link in the arm's base frame."""

    def __init__(self, robot: RobotModel) -> None:
        """Begin before the first message."""
        self._robot = robot
        self._order = JointOrder(robot.joint_names)
        self._position = np.zeros(robot.n)
        self._due: int | None = None
        self._links = [
            (frame.name, number)
            for number, frame in enumerate(robot.model.frames)
            if frame.type == pin.FrameType.BODY and frame.name != robot.base_frame
        ]

    def message(self, data: bytes, stamp: int) -> bytes | None:
        """The TFMessage that goes with a serialized JointState; None where the last one is still new, or joints lack.

        `stamp` is the joint states' own, ns; one that goes back begins another run.
        """
        if self._due is not None and self._due - PERIOD <= stamp < self._due:
            return None
        try:
            state: Any = annotation_types().deserialize_cdr(data, JOINT_STATE_TYPE)
        except Exception:  # one broken message must not end the copy
            return None
        if not (self._order.locate(state.name) and self._order.pick(state.position, self._position)):
            return None
        self._due = stamp + PERIOD
        model, poses = self._robot.model, self._robot.data
        pin.framesForwardKinematics(model, poses, self._position)
        message = RECORDED.new(TRANSFORMS_TYPE)
        for name, number in self._links:
            link, pose = RECORDED.new(_TRANSFORM), poses.oMf[number]
            link.header.stamp, link.header.frame_id = state.header.stamp, self._robot.base_frame
            link.child_frame_id = name
            write_vector(link.transform.translation, pose.translation)
            write_quaternion(link.transform.rotation, pin.Quaternion(pose.rotation).coeffs())
            message.transforms.append(link)
        return RECORDED.serialize(message, TRANSFORMS_TYPE)
