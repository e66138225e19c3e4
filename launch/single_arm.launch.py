"""One arm: detector, predictor, markers, and on request reference field and controller, on hardware or simulated.

ros2 launch impact_aware single_arm.launch.py                        watches a robot's joint_states
ros2 launch impact_aware single_arm.launch.py simulation:=true control:=true rviz:=true
ros2 launch impact_aware single_arm.launch.py hardware:=franka       watches an FR3 behind franka_ros2
"""

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from impact_aware.bringup.graph import SingleArmOptions, single_arm_graph
from impact_aware.bringup.launching import (
    base_transform,
    drawn_by_driver,
    graph_actions,
    graph_arguments,
    graph_options,
    single_robot,
    switched_on,
)
from impact_aware.resources import find_resource
from impact_aware.robot import load_profile
from impact_aware.robot.shown_urdf import shown_urdf
from impact_aware.task import load_task
from impact_aware.task.arms import base_numbers

ARGUMENTS = [
    DeclareLaunchArgument(
        "robot",
        default_value="",
        description="robot profile: a name in config/robots or a file; empty: the hardware's, or panda",
    ),
    *graph_arguments("hit_and_push"),
]


def start_nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The nodes of the graph that the arguments ask for."""
    options = SingleArmOptions(robot=single_robot(context), **graph_options(context))
    actions = graph_actions(context, single_arm_graph(options))
    if options.simulation or switched_on(context, "rviz"):
        actions += view(options, rviz=switched_on(context, "rviz"), drawn=drawn_by_driver(context))
    return actions


def view(options: SingleArmOptions, *, rviz: bool, drawn: bool) -> list[LaunchDescriptionEntity]:
    """RViz, and the robot's frames, unless the driver has it `drawn` by a robot_state_publisher of its own."""
    profile = load_profile(options.robot)
    time = {"use_sim_time": options.simulation}
    task = load_task(options.task)
    own, from_tf = task.arms[0], options.bases_from_tf and bool(task.arms[0].base_in_tf)
    words = base_transform(own, task.frame, profile.base_frame, from_tf=from_tf)
    shown = words if from_tf else any(base_numbers(own))
    base = Node(
        package="tf2_ros", executable="static_transform_publisher", namespace=options.namespace, arguments=words
    )
    urdf = shown_urdf(profile, task.arms[0].pad_half_sizes)
    description = {"robot_description": ParameterValue(urdf, value_type=str)}
    publisher = Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=options.namespace,
        parameters=[time | description],
        remappings=[("joint_states", options.joint_states)],
    )
    viewer = Node(
        package="rviz2",
        executable="rviz2",
        namespace=options.namespace,
        parameters=[time],
        arguments=["-d", str(find_resource("rviz", "single_arm.rviz")), "-f", profile.base_frame],
    )
    there = (rviz, viewer), (not drawn, publisher), (shown, base)
    return [node for started, node in there if started]


def generate_launch_description() -> LaunchDescription:
    """Arguments first, then the nodes."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start_nodes)])
