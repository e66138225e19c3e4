"""Where a node gets its robot model from: a profile by name, or the `robot_description` topic."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from std_msgs.msg import String

from impact_aware.errors import ImpactAwareError
from impact_aware.robot import RobotModel
from impact_aware.robot.load import arm_of_urdf
from impact_aware.robot.urdf_text import try_foreign_urdf, urdf_tree
from impact_aware.ros.qos import LATCHED_QOS
from impact_aware.ros.qos_match import expect_messages

UNKNOWN_INERTIA = "a URDF has no motor inertia: predictions are those of the links alone, inertia M; a profile has it"


def described_arm(urdf: str, tool_frame: str = "") -> RobotModel:
    """The arm of a `robot_description`: its base is the root link, its tool frame the last body where none is named.

    Raises:
        ImpactAwareError: The text describes no arm.
    """
    tree = urdf_tree(urdf)
    children = {child.get("link") for child in tree.findall("joint/child")}
    root = next((link.get("name", "") for link in tree.findall("link") if link.get("name") not in children), "")
    otherwise = "a robot profile has other joints"
    model = arm_of_urdf(urdf, otherwise, name=tree.get("name", "robot"), tool_frame=tool_frame or None, base_frame=root)
    model.notes = (UNKNOWN_INERTIA, *model.notes)
    return model


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
            model = described_arm(message.data, tool_frame)
        except ImpactAwareError as error:
            node.get_logger().error(f"robot_description can't be used: {error}")
            return
        given = True
        found = f"robot_description has the joints {', '.join(model.joint_names)}, and {model.tool_frame} hits"
        for note in (found, *model.notes):
            node.get_logger().info(note)
        callback(model)

    node.create_subscription(String, "robot_description", receive, LATCHED_QOS)
    node.get_logger().info("waiting for robot_description")
    expect_messages(node, "robot_description", lambda: given, "robot_state_publisher")
