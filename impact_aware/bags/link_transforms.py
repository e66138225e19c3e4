"""TF of an arm's links for recordings in which no robot_state_publisher has published them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.bags.message_types import RECORDED, annotation_types
from impact_aware.messages.geometry import write_quaternion, write_vector
from impact_aware.robot import JointOrder, RobotModel

JOINT_STATE_TYPE, TRANSFORMS_TYPE = "sensor_msgs/msg/JointState", "tf2_msgs/msg/TFMessage"

TF, TF_STATIC = "/tf", "/tf_static"

PERIOD = 1_000_000_000 // 60
"""Least time between two poses of the arm, ns: what a screen shows."""


class LinkTransforms:
    """Makes a TFMessage of some of an arm's joint states: every link and the tool frame in the arm's base frame.

    Attributes:
        base: Name of the base frame, with its prefix.
    """

    def __init__(self, robot: RobotModel, prefix: str = "") -> None:
        """Begin before the first message; `prefix` stands before the names of links, such as `left/`."""
        self._robot = robot
        self._order = JointOrder(robot.joint_names)
        self._position = np.zeros(robot.n)
        self._due: int | None = None
        self.base = robot.base_frame if robot.base_frame.startswith(prefix) else prefix + robot.base_frame
        frames = [
            (prefix + own.name, number)
            for number, own in enumerate(robot.model.frames)
            if own.type == pin.FrameType.BODY or own.name == robot.tool_frame
        ]
        self._links = [(name, number) for name, number in frames if name != self.base]

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
        model, data_of_model = self._robot.model, self._robot.data
        pin.framesForwardKinematics(model, data_of_model, self._position)
        return transforms(self.base, {name: data_of_model.oMf[k] for name, k in self._links}, state.header.stamp)


def transforms(parent: str, poses: Mapping[str, pin.SE3], stamp: Any = None) -> bytes:
    """A serialized TFMessage: poses of frames in a parent, at a stamp of RECORDED, or at time 0 as of static ones."""
    message = RECORDED.new(TRANSFORMS_TYPE)
    for name, pose in poses.items():
        link = RECORDED.new("geometry_msgs/msg/TransformStamped")
        link.header.frame_id, link.child_frame_id = parent, name
        link.header.stamp = link.header.stamp if stamp is None else stamp
        write_vector(link.transform.translation, pose.translation)
        write_quaternion(link.transform.rotation, pin.Quaternion(pose.rotation).coeffs())
        message.transforms.append(link)
    return RECORDED.serialize(message, TRANSFORMS_TYPE)
