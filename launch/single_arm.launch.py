"""One arm: detector, predictor, markers, and on request reference field and controller, on hardware or simulated.

ros2 launch impact_aware single_arm.launch.py                        watches a robot's joint_states
ros2 launch impact_aware single_arm.launch.py simulation:=true control:=true rviz:=true
"""

from typing import Any

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from impact_aware.errors import InvalidInputError
from impact_aware.graph import PACKAGE, SingleArmOptions, select_nodes, single_arm_graph
from impact_aware.resources import find_resource
from impact_aware.robot import load_profile

SWITCH = ["true", "false"]

ARGUMENTS = [
    DeclareLaunchArgument(
        "robot", default_value="panda", description="robot profile: a name in config/robots or a file"
    ),
    DeclareLaunchArgument("namespace", default_value="", description="namespace of every node, such as left"),
    DeclareLaunchArgument(
        "simulation", default_value="false", choices=SWITCH, description="start sim_robot as the plant"
    ),
    DeclareLaunchArgument(
        "lockstep", default_value="false", choices=SWITCH, description="the simulator waits for the controller"
    ),
    DeclareLaunchArgument(
        "control", default_value="false", choices=SWITCH, description="start reference_field and rs_controller too"
    ),
    DeclareLaunchArgument(
        "autostart",
        default_value="false",
        choices=SWITCH,
        description="the controller activates itself; otherwise `ros2 lifecycle set` does it, on purpose",
    ),
    DeclareLaunchArgument("markers", default_value="true", choices=SWITCH, description="start impact_markers"),
    DeclareLaunchArgument("rviz", default_value="false", choices=SWITCH, description="start RViz"),
    DeclareLaunchArgument("task", default_value="hit_and_push", description="task: a name in config/tasks or a file"),
    DeclareLaunchArgument(
        "parameter_file", default_value="", description="parameters of all nodes, instead of config/"
    ),
    DeclareLaunchArgument(
        "joint_states", default_value="joint_states", description="full-rate joint states, such as franka/joint_states"
    ),
    DeclareLaunchArgument(
        "commands", default_value="effort_controller/commands", description="where the effort commands go"
    ),
    DeclareLaunchArgument("seed", default_value="0", description="seed of the simulator's sensor noise"),
    DeclareLaunchArgument("nodes", default_value="", description="only these nodes, separated by commas; empty: all"),
]


def start_nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The nodes of the graph that the arguments ask for."""

    def text(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    def switch(name: str) -> bool:
        return text(name) == "true"

    options = SingleArmOptions(
        robot=text("robot"),
        namespace=text("namespace").strip("/"),
        simulation=switch("simulation"),
        lockstep=switch("lockstep"),
        control=switch("control"),
        autostart=switch("autostart"),
        markers=switch("markers"),
        task=text("task"),
        parameter_file=text("parameter_file") or None,
        joint_states=text("joint_states"),
        commands=text("commands"),
        seed=whole_number("seed", text("seed")),
    )
    actions: list[LaunchDescriptionEntity] = [
        Node(
            package=PACKAGE,
            executable=spec.executable,
            name=spec.name,
            namespace=spec.namespace,
            parameters=[*map(str, spec.parameter_files), typed(spec.parameters)],
            remappings=list(spec.remappings.items()),
            output="screen",
        )
        for spec in select_nodes(single_arm_graph(options), text("nodes"))
    ]
    if switch("rviz"):
        actions += view(options)
    return actions


def view(options: SingleArmOptions) -> list[LaunchDescriptionEntity]:
    """RViz, with the robot that it draws."""
    profile = load_profile(options.robot)
    time = {"use_sim_time": options.simulation}
    description = {"robot_description": ParameterValue(profile.urdf.read_text(), value_type=str)}
    return [
        Node(
            package="rviz2",
            executable="rviz2",
            namespace=options.namespace,
            parameters=[time],
            arguments=["-d", str(find_resource("rviz", "impact_aware.rviz")), "-f", profile.base_frame],
        ),
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            namespace=options.namespace,
            parameters=[time | description],
            remappings=[("joint_states", options.joint_states)],
        ),
    ]


def typed(parameters: dict[str, Any]) -> dict[str, Any]:
    """The same parameters, with strings that stay strings: launch would read `1` or `yes` as YAML."""
    return {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in parameters.items()
    }


def whole_number(name: str, value: str) -> int:
    """An integer argument.

    Raises:
        InvalidInputError: It is none.
    """
    try:
        return int(value)
    except ValueError:
        raise InvalidInputError(name, repr(value), "a whole number") from None


def generate_launch_description() -> LaunchDescription:
    """Arguments first, then the nodes."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start_nodes)])
