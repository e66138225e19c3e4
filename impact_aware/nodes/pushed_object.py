"""Where the object is that a controller's arm pushes, from `reference_field` to `rs_controller`."""

from __future__ import annotations

import pinocchio as pin
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rclpy.publisher import Publisher

from impact_aware.control import ControlSession
from impact_aware.messages.geometry import vector, write_quaternion, write_vector
from impact_aware.messages.stamps import seconds, write_stamp
from impact_aware.ros.qos import LATEST_QOS

TOPIC = "reference_field/object"


def pose_message(frame: str, time: float, pose: pin.SE3) -> PoseStamped:
    """A pose in a frame at a time, s."""
    message = PoseStamped()
    write_stamp(message.header.stamp, time)
    message.header.frame_id = frame
    write_vector(message.pose.position, pose.translation)
    write_quaternion(message.pose.orientation, pin.Quaternion(pose.rotation).coeffs())
    return message


def object_publisher(node: Node) -> Publisher:
    """For the poses that are followed, as they were seen, in the field's frame."""
    return node.create_publisher(PoseStamped, TOPIC, LATEST_QOS)


def listen_to_object(node: Node) -> None:
    """Pass poses in the field's frame to the `session` of a controller; several arms steer nothing."""

    def receive(message: PoseStamped) -> None:
        session: ControlSession | None = getattr(node, "session", None)
        if session is not None and session.field is not None and message.header.frame_id == session.field.frame:
            session.see_object(seconds(message.header.stamp), vector(message.pose.position))

    node.create_subscription(PoseStamped, TOPIC, receive, LATEST_QOS)
