"""Two arms below their names, one controller over both: what single_arm.launch.py does for one arm.

ros2 launch impact_aware dual_arm.launch.py                          watches left/joint_states and right/joint_states
ros2 launch impact_aware dual_arm.launch.py simulation:=true control:=true rviz:=true

The names of the arms, their robots and where their bases stand are those of the task.
"""

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import OpaqueFunction
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from impact_aware.bringup.graph import DualArmOptions, dual_arm_graph
from impact_aware.bringup.launching import (
    base_transform,
    drawn_by_driver,
    graph_actions,
    graph_arguments,
    graph_options,
    switched_on,
)
from impact_aware.resources import find_resource
from impact_aware.robot import load_profile
from impact_aware.robot.shown_urdf import shown_urdf
from impact_aware.task import ArmTask, load_task

ARGUMENTS = graph_arguments("dual_arm_grab")


def start_nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The nodes of the graph that the arguments ask for."""
    options = DualArmOptions(**graph_options(context))
    actions = graph_actions(context, dual_arm_graph(options))
    if options.simulation or switched_on(context, "rviz"):
        actions += view(options, rviz=switched_on(context, "rviz"), drawn=drawn_by_driver(context))
    return actions


def view(options: DualArmOptions, *, rviz: bool, drawn: bool) -> list[LaunchDescriptionEntity]:
    """RViz in the frame of both arms, and the robots' frames, unless their driver has them `drawn`."""
    task = load_task(options.task)
    viewer = Node(
        package="rviz2",
        executable="rviz2",
        namespace=options.namespace,
        parameters=[{"use_sim_time": options.simulation}],
        arguments=["-d", str(find_resource("rviz", "dual_arm.rviz")), "-f", task.frame],
    )
    frames = [action for arm in task.arms for action in arm_view(options, task.frame, arm, drawn=drawn)]
    return [viewer, *frames] if rviz else frames


def arm_view(options: DualArmOptions, frame: str, arm: ArmTask, *, drawn: bool) -> list[LaunchDescriptionEntity]:
    """One arm's frames, with its name in front, unless its driver publishes them; and its base in the common frame."""
    profile = load_profile(arm.robot)
    namespace = "/".join(filter(None, (options.namespace, arm.name)))
    description = {
        "use_sim_time": options.simulation,
        "robot_description": ParameterValue(shown_urdf(profile, arm.pad_half_sizes), value_type=str),
        "frame_prefix": f"{arm.name}/",
    }
    publisher = Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=namespace,
        parameters=[description],
        remappings=[("joint_states", options.joint_states)],
    )
    words = base_transform(arm, frame, f"{arm.name}/{profile.base_frame}", from_tf=options.bases_from_tf)
    base = Node(package="tf2_ros", executable="static_transform_publisher", namespace=namespace, arguments=words)
    return [*([] if drawn else [publisher]), *([base] if words else [])]


def generate_launch_description() -> LaunchDescription:
    """Arguments first, then the nodes."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start_nodes)])
