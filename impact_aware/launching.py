"""What the launch files share: their arguments, and the node graph as actions of `launch_ros`."""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from impact_aware.errors import InvalidInputError
from impact_aware.graph import PACKAGE, NodeSpec, select_nodes

SWITCH = ("true", "false")

_WORDS = {
    "namespace": ("", "namespace of every node, such as cell"),
    "task": ("", "task: a name in config/tasks or a file"),
    "parameter_file": ("", "parameters of all nodes, instead of config/"),
    "joint_states": ("joint_states", "an arm's full-rate joint states, such as franka/joint_states"),
    "commands": ("effort_controller/commands", "where an arm's effort commands go"),
    "seed": ("0", "seed of the simulator's sensor noise"),
    "nodes": ("", "only these nodes, separated by commas; empty: all"),
}

_SWITCHES = {
    "simulation": ("false", "start sim_robot as the plant"),
    "lockstep": ("false", "the simulator waits for the controller"),
    "control": ("false", "start the controller too"),
    "autostart": ("false", "the controller activates itself; otherwise `ros2 lifecycle set` does it, on purpose"),
    "markers": ("true", "start impact_markers"),
    "rviz": ("false", "start RViz"),
}


def graph_arguments(task: str) -> list[DeclareLaunchArgument]:
    """The arguments that every launch file has; `task` is the default one."""
    words = {**_WORDS, "task": (task, _WORDS["task"][1])}
    return [
        *(
            DeclareLaunchArgument(name, default_value=default, choices=SWITCH, description=description)
            for name, (default, description) in _SWITCHES.items()
        ),
        *(
            DeclareLaunchArgument(name, default_value=default, description=description)
            for name, (default, description) in words.items()
        ),
    ]


def graph_options(context: LaunchContext) -> dict[str, Any]:
    """The arguments as the fields of `GraphOptions`.

    Raises:
        InvalidInputError: A seed that is no whole number.
    """
    switches = ("simulation", "lockstep", "control", "autostart", "markers")
    words = ("task", "joint_states", "commands")
    return {
        **{name: switched_on(context, name) for name in switches},
        **{name: text(context, name) for name in words},
        "namespace": text(context, "namespace").strip("/"),
        "parameter_file": text(context, "parameter_file") or None,
        "seed": whole_number("seed", text(context, "seed")),
    }


def graph_actions(context: LaunchContext, graph: tuple[NodeSpec, ...]) -> list[LaunchDescriptionEntity]:
    """The nodes of a graph that the argument `nodes` asks for.

    Raises:
        UnknownNameError: A node that the graph does not have.
    """
    return [
        Node(
            package=PACKAGE,
            executable=spec.executable,
            name=spec.name,
            namespace=spec.namespace,
            parameters=[*map(str, spec.parameter_files), typed(spec.parameters)],
            remappings=list(spec.remappings.items()),
            output="screen",
        )
        for spec in select_nodes(graph, text(context, "nodes"))
    ]


def text(context: LaunchContext, name: str) -> str:
    """The value of an argument."""
    return LaunchConfiguration(name).perform(context)


def switched_on(context: LaunchContext, name: str) -> bool:
    """Whether a switch is true."""
    return text(context, name) == "true"


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
