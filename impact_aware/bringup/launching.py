"""What the launch files share: their arguments, and the node graph as actions of `launch_ros`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from launch import LaunchContext, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from impact_aware.bringup.graph import PACKAGE, select_nodes
from impact_aware.bringup.hardware import Hardware, checked_period, load_hardware
from impact_aware.bringup.node_spec import ALL, NONE, ONLY_WATCHERS, NodeSpec, in_one_process, with_companions
from impact_aware.bringup.urgency import IN_THE_LOOP, checked_priority, leaves_room, simulated_period, urgent
from impact_aware.errors import InvalidInputError
from impact_aware.robot import load_profile
from impact_aware.robot.profile import INTERFACES, PLANTS
from impact_aware.task import ArmTask, load_task
from impact_aware.task.arms import base_numbers

SWITCH = ("true", "false", "True", "False")
"""Values of a switch; Python's spelling is what a launch file that includes this one may pass on."""

Number = TypeVar("Number", int, float)

_TEXTS = {
    "namespace": ("", "namespace of every node, such as cell"),
    "task": ("", "task: a name in config/tasks or a file"),
    "parameter_file": ("", "parameters of all nodes, instead of config/"),
    "hardware": ("", "driver of the arm, which sets the next three: a name in config/hardware or a file"),
    "joint_states": ("", "an arm's full-rate joint states; empty: the hardware's, or joint_states"),
    "commands": ("", "where an arm's commands go; empty: the hardware's, or the topic of the interface"),
    "controller": ("", "ros2_control's controller of the commands; empty: the hardware's, or whose topic they are"),
    "address": ("", "names or IP addresses of the arms, with commas, for a driver that is a node of this suite"),
    "period": ("", "time between two states, s; empty: the hardware's, the parameters', else as processors are"),
    "seed": ("0", "seed of the simulator's sensor noise"),
    "realtime_priority": (
        "0",
        "of simulator, controller, detectors, relay and watchdog under SCHED_FIFO; 0: ordinary, or the parameters'",
    ),
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

_PLANT = {"plant": (PLANTS[0], "joints of the simulated arms: elastic with motors and torque loop, or rigid")}

AUTO = "auto"

_PROCESS = {
    "single_process": (
        AUTO,
        "all nodes but the simulator in one process, or those that only watch; auto: these, beside a simulator in wall "
        "time where there are not more processors than arms",
    )
}

_SHARING = {"false": NONE, ONLY_WATCHERS: ONLY_WATCHERS, "true": ALL}

_WATCHDOG = {
    "watchdog": (AUTO, "start command_watchdog, without which the controller does not move; auto: beside hardware")
}

_BASES = {
    "bases_from_tf": (AUTO, "look up the bases that the task has in TF (base_in_tf); auto: unless they are simulated")
}

_INTERFACE = {
    "command_interface": (AUTO, "what the arms are commanded by: torques, or laws between two messages; auto: effort, "
        "or what the hardware takes")
}


def graph_arguments(task: str) -> list[DeclareLaunchArgument]:
    """The arguments that every launch file has; `task` is the default one."""
    texts = {**_TEXTS, "task": (task, _TEXTS["task"][1])}
    return [
        DeclareLaunchArgument(name, default_value=default, choices=choices, description=description)
        for arguments, choices in (
            (_SWITCHES, SWITCH),
            (_PROCESS, (AUTO, ONLY_WATCHERS, *SWITCH)),
            (_WATCHDOG, (AUTO, *SWITCH)),
            (_BASES, (AUTO, *SWITCH)),
            (texts, None),
            (_PLANT, PLANTS),
            (_INTERFACE, (AUTO, *INTERFACES)),
        )
        for name, (default, description) in arguments.items()
    ]


def graph_options(context: LaunchContext) -> dict[str, Any]:
    """The arguments as the fields of `GraphOptions`: what is not given comes from the hardware.

    Raises:
        InvalidInputError: A seed or a period that is none, unknown hardware, or control of hardware that takes no
            efforts alone.
    """
    switches = ("simulation", "lockstep", "control", "autostart", "markers")
    on = {name: switched_on(context, name) for name in switches}
    hardware = chosen_hardware(context)
    period = text(context, "period")
    interface, commands = chosen_interface(context), text(context, "commands")
    usual = hardware.period
    if on["simulation"]:
        usual = simulated_period(len(load_task(text(context, "task")).arms), wall_time=not on["lockstep"])
    # A relay of the hardware's takes the hardware's commands; with another topic the user has a relay of their own.
    relayed = interface == "effort" and not commands and not on["simulation"]
    if interface == "effort":
        commands = commands or hardware.commands
        if not commands and on["control"] and not on["simulation"]:
            why = hardware.no_commands or "this driver has none"
            expected = f"a topic that takes efforts alone, as {why}: docs/hardware.md"
            raise InvalidInputError("commands", f"nothing for hardware {hardware.name}", expected)
    return {
        **on,
        "task": text(context, "task"),
        "joint_states": text(context, "joint_states") or hardware.joint_states,
        "commands": commands,
        "command_interface": interface,
        "watchdog": on["control"] and _watched(text(context, "watchdog"), interface, on["simulation"]),
        "controller": text(context, "controller") or (hardware.controller if interface == "effort" else ""),
        "relay": hardware.relay if relayed else "",
        "driver": hardware.driver,
        "addresses": tuple(filter(None, text(context, "address").split(","))),
        "component": "" if on["simulation"] else hardware.component,
        "period": checked_period("period", number("period", period)) if period else usual,
        "namespace": text(context, "namespace").strip("/"),
        "parameter_file": text(context, "parameter_file") or None,
        "seed": number("seed", text(context, "seed"), int),
        "plant": text(context, "plant"),
        "bases_from_tf": _from_tf(text(context, "bases_from_tf"), on["simulation"]),
    }


def _watched(wanted: str, interface: str, simulation: bool) -> bool:
    """Whether a watchdog is started: a simulated arm brakes by itself, and laws of this suite end by themselves.

    Raises:
        InvalidInputError: None is wanted beside a controller that goes on with its last law for ever.
    """
    if wanted.lower() == "false" and interface == "linear_feedback":
        lacks = "linear_feedback_controller has no timeout and no limits: its last law goes on for ever"
        raise InvalidInputError("watchdog", wanted, f"auto or true, as {lacks}")
    return wanted.lower() == "true" or (wanted == AUTO and not simulation and interface != "local_law")


def _from_tf(wanted: str, simulation: bool) -> bool:
    """Whether bases are looked up in TF: simulated ones stand where the task's numbers have them."""
    return wanted.lower() == "true" or (wanted == AUTO and not simulation)


def chosen_hardware(context: LaunchContext) -> Hardware:
    """The argument `hardware`, or what holds without one.

    Raises:
        InvalidInputError: Unknown hardware, or a file that describes none.
    """
    name = text(context, "hardware")
    return load_hardware(name) if name else Hardware()


def chosen_interface(context: LaunchContext) -> str:
    """The argument `command_interface`, or the hardware's.

    Raises:
        InvalidInputError: Another one than a driver of this suite takes.
    """
    wanted, hardware = text(context, "command_interface"), chosen_hardware(context)
    interface = hardware.interface if wanted == AUTO else wanted
    if hardware.driver and interface != hardware.interface:
        raise InvalidInputError("command_interface", interface, f"{hardware.interface}, as {hardware.driver} takes")
    return interface


def drawn_by_driver(context: LaunchContext) -> bool:
    """Whether the hardware's own robot_state_publisher gives RViz its frames and the robot's description.

    A second one of that name would publish both a second time, with other links.
    """
    hardware = chosen_hardware(context)
    return bool(hardware.name) and not hardware.driver and not switched_on(context, "simulation")


def single_robot(context: LaunchContext) -> str:
    """The argument `robot`, or the hardware's usual robot, or without hardware the panda.

    Raises:
        InvalidInputError: Hardware that can be any robot, and none is named.
    """
    robot, hardware = text(context, "robot"), chosen_hardware(context)
    if robot or hardware.robot:
        return robot or hardware.robot
    if hardware.name:
        expected = f"a profile of your arm, as hardware {hardware.name} can be any"
        raise InvalidInputError("robot", "nothing", expected)
    return "panda"


def graph_actions(context: LaunchContext, graph: tuple[NodeSpec, ...]) -> list[LaunchDescriptionEntity]:
    """Start the nodes that the argument `nodes` selects, each as a process, or `single_process` of them in one.

    Raises:
        UnknownNameError: A node that the graph does not have.
        InvalidInputError: A priority that is none, or a robot profile that contradicts the hardware.
    """
    controllers = [spec.parameters for spec in graph if spec.executable == "rs_controller"]
    for own in controllers if controllers and not switched_on(context, "simulation") else ():
        if own.get("command_interface", "effort") != "effort":
            continue
        hardware = chosen_hardware(context)
        for robot in own.get("robots", [own.get("robot")]):
            hardware.check_profile(load_profile(robot))
        own["convention_declared"] = hardware.command_includes_gravity is not None
        own["joint_order_required"] = not hardware.relay
    above = context.launch_configurations.get("ros_namespace", "").strip("/")
    name = "realtime_priority"
    priority = checked_priority(name, number(name, context.launch_configurations.get(name, "0"), int))
    wanted = with_companions(urgent(select_nodes(graph, text(context, "nodes")), priority, IN_THE_LOOP), above)
    processes = in_one_process(wanted, _sharing(context, graph))
    return [_group_action(context, spec) if spec.members else _node_action(spec) for spec in processes]


def _sharing(context: LaunchContext, graph: tuple[NodeSpec, ...]) -> str:
    """Which nodes of a graph share a process; a launch file without that argument leaves each its own."""
    wanted = context.launch_configurations.get("single_process", "false")
    if wanted != AUTO:
        return _SHARING[wanted.lower()]
    paced = switched_on(context, "simulation") and not switched_on(context, "lockstep")
    return ONLY_WATCHERS if paced and not leaves_room(max(len(spec.arms) for spec in graph)) else NONE


def _node_action(spec: NodeSpec) -> Node:
    return Node(
        package=PACKAGE,
        executable=spec.executable,
        name=spec.name,
        namespace=spec.namespace,
        parameters=[*map(str, spec.parameter_files), typed(spec.parameters)],
        remappings=list(spec.remappings.items()),
        output="screen",
    )


def _group_action(context: LaunchContext, group: NodeSpec) -> Node:
    """A process that holds several nodes: launch sees only one, so the namespace around it is each member's."""
    above = context.launch_configurations.get("ros_namespace", "").strip("/")
    members = (replace(spec, namespace="/".join(filter(None, (above, spec.namespace)))) for spec in group.members)
    words = replace(group, members=tuple(members)).arguments()
    return Node(package=PACKAGE, executable=group.executable, arguments=words, output="screen")


def base_transform(arm: ArmTask, frame: str, base_frame: str, *, from_tf: bool = False) -> list[str]:
    """Return the arguments of static_transform_publisher for an arm's base: pose of `base_frame` in the task's `frame`.

    A base that is looked up in TF is there under its own name; no transform is needed where that is `base_frame`.
    """
    if from_tf and arm.base_in_tf:
        named = arm.base_in_tf.lstrip("/")
        return [] if named == base_frame else ["--frame-id", named, "--child-frame-id", base_frame]
    numbers = zip(("--x", "--y", "--z", "--roll", "--pitch", "--yaw"), base_numbers(arm), strict=True)
    words = [word for option, number in numbers for word in (option, str(number))]
    return [*words, "--frame-id", frame, "--child-frame-id", base_frame]


def text(context: LaunchContext, name: str) -> str:
    """The value of an argument."""
    return LaunchConfiguration(name).perform(context)


def switched_on(context: LaunchContext, name: str) -> bool:
    """Whether a switch is true."""
    return text(context, name).lower() == "true"


def typed(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with strings marked as strings: launch would read `1` or `yes` as YAML."""
    return {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in parameters.items()
    }


def number(name: str, value: str, kind: type[Number] = float) -> Number:
    """An argument that is a number, of this kind.

    Raises:
        InvalidInputError: It is none.
    """
    try:
        return kind(value)
    except ValueError:
        raise InvalidInputError(name, repr(value), "a whole number" if kind is int else "a number") from None
