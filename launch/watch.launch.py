"""Detector, predictor and markers beside an arm that another launch file brings up: no profile, no task, no commands.

ros2 launch impact_aware watch.launch.py                             beside joint_states and robot_description
ros2 launch impact_aware watch.launch.py contact_frame:=tool0 normal:="0 0 1" surface_point:="0.4 0 0.02"

The joints are found by their names in robot_description. A URDF has no motor inertia: predictions are for inertia M.
"""

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from impact_aware.bringup.launching import SWITCH, graph_actions, number, switched_on, text
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.errors import InvalidInputError
from impact_aware.resources import find_resource

TEXTS = {
    "namespace": ("", "namespace of the nodes, such as left; events name the arm by it"),
    "joint_states": ("joint_states", "the arm's full-rate joint states; /joint_states for a topic above the namespace"),
    "robot_description": ("robot_description", "its URDF, as robot_state_publisher publishes it"),
    "sampling_period": ("0.001", "time between two states, s"),
    "contact_frame": ("", "frame of the URDF that hits; empty: its last body"),
    "normal": ("0 0 1", "normal of the surface that is hit, out of it, in the root link's axes"),
    "surface_point": ("0 0 0", "a point of that surface in the root link's frame, m"),
    "friction": ("0.0", "Coulomb coefficient of the contact"),
    "restitution": ("0.0", "coefficient of restitution of the contact, 0 to 1"),
    "parameter_file": ("", "further parameters of the nodes, instead of config/single_arm.yaml"),
    "nodes": ("", "only these nodes, separated by commas; empty: all"),
}

SWITCHES = {
    "markers": ("true", "start impact_markers"),
    "use_sim_time": ("false", "the nodes follow /clock"),
}

ARGUMENTS = [
    DeclareLaunchArgument(name, default_value=default, choices=choices, description=description)
    for arguments, choices in ((TEXTS, None), (SWITCHES, SWITCH))
    for name, (default, description) in arguments.items()
]


def start_nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The nodes that the arguments ask for."""
    contact = {name: number(name, text(context, name)) for name in ("friction", "restitution")}
    surface = {name: numbers(context, name) for name in ("normal", "surface_point")}
    period = number("sampling_period", text(context, "sampling_period"))
    parameters = {
        # Half of the rate that is expected: what is far slower is another source.
        "impact_detector": {"from_description": True, "sampling_period": period, "lowest_rate": 0.5 / period},
        "jump_predictor": {"robot": "", "contact_frame": text(context, "contact_frame"), **contact, **surface},
        "impact_markers": {"robot": ""},
    }
    parameters["impact_detector"]["normal"] = surface["normal"]
    if not switched_on(context, "markers"):
        del parameters["impact_markers"]
    graph = tuple(
        NodeSpec(
            executable=name,
            name=name,
            namespace=text(context, "namespace").strip("/"),
            parameter_files=(text(context, "parameter_file") or find_resource("config", "single_arm.yaml"),),
            parameters={**own, "use_sim_time": switched_on(context, "use_sim_time")},
            remappings={
                topic: text(context, topic)
                for topic in ("joint_states", "robot_description")
                if text(context, topic) != topic
            },
        )
        for name, own in parameters.items()
    )
    return graph_actions(context, graph)


def numbers(context: LaunchContext, name: str) -> list[float]:
    """An argument of three numbers, separated by blanks or commas.

    Raises:
        InvalidInputError: It is another text.
    """
    words = text(context, name).replace(",", " ").split()
    if len(words) != 3:
        raise InvalidInputError(name, repr(text(context, name)), "three numbers")
    return [number(name, word) for word in words]


def generate_launch_description() -> LaunchDescription:
    """Arguments first, then the nodes."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start_nodes)])
