"""Where a node gets its robot model from: a profile by name, or the `robot_description` topic."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from std_msgs.msg import String

from impact_aware.errors import ImpactAwareError
from impact_aware.nodes.ros.qos import LATCHED_QOS
from impact_aware.nodes.ros.qos_match import expect_messages
from impact_aware.robot import RobotModel
from impact_aware.robot.urdf_text import try_foreign_urdf


def provide_robot(node: Node, robot: str, tool_frame: str, callback: Callable[[RobotModel], None]) -> None:
    """Call back with the robot: at once for a profile, later, and once, when it comes as `robot_description`.

    Without the name or file of a profile, `robot`, it waits for the description, whose tool frame is `tool_frame`, or
    its last body where that is empty.

    Raises:
        ImpactAwareError: The profile can't be loaded.
    """
    if robot:
        callback(RobotModel.from_profile(robot))
        return
    given = False

    def receive(message: String) -> None:
        nonlocal given
        if given:
            return
        try:
            try_foreign_urdf(message.data)
            model = RobotModel.from_urdf(message.data, tool_frame=tool_frame or None)
        except ImpactAwareError as error:
            node.get_logger().error(f"robot_description can't be used: {error}")
            return
        given = True
        callback(model)

    node.create_subscription(String, "robot_description", receive, LATCHED_QOS)
    node.get_logger().info("waiting for robot_description")
    expect_messages(node, "robot_description", lambda: given, "robot_state_publisher")
