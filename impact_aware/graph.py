"""The node graph of the suite as data: read by the launch files and by `impact-aware demo`, without ROS imports."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.reference import hit_normal, load_task
from impact_aware.resources import find_resource
from impact_aware.robot import load_profile

PACKAGE = "impact_aware"


@dataclass(frozen=True)
class NodeSpec:
    """One node to start.

    Attributes:
        executable: Executable of the package, which is also the module `impact_aware.nodes.EXECUTABLE`.
        name: Node name.
        namespace: Namespace, without slashes at its ends; empty for none.
        parameter_files: YAML files, later ones win.
        parameters: Single parameters, which win over the files.
        remappings: Topic names, from -> to.
    """

    executable: str
    name: str
    namespace: str = ""
    parameter_files: tuple[Path, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    remappings: dict[str, str] = field(default_factory=dict)

    def ros_arguments(self) -> list[str]:
        """The same as `--ros-args` for a process of its own."""
        words = ["--ros-args", "-r", f"__node:={self.name}"]
        if self.namespace:
            words += ["-r", f"__ns:=/{self.namespace}"]
        for path in self.parameter_files:
            words += ["--params-file", str(path)]
        for name, value in self.parameters.items():
            words += ["-p", f"{name}:={json.dumps(value, ensure_ascii=False)}"]
        for source, target in self.remappings.items():
            words += ["-r", f"{source}:={target}"]
        return words


@dataclass(frozen=True)
class SingleArmOptions:
    """What the single-arm graph can be asked for.

    Attributes:
        robot: Profile name.
        namespace: Namespace of every node; empty for none.
        simulation: Start `sim_robot` as the plant; otherwise real hardware provides joint_states.
        lockstep: The plant waits for its controller; otherwise it keeps wall time.
        control: Start `reference_field` and `rs_controller`; otherwise the suite only watches.
        autostart: The controller configures and activates itself as soon as it has states and a field.
        markers: Start `impact_markers`.
        task: Task file, a name in config/tasks or a path.
        parameter_file: Parameters of all nodes.
        joint_states: Topic of the robot's full-rate joint states.
        commands: Topic of the effort commands.
        seed: Seed of the plant's sensor noise.
    """

    robot: str = "panda"
    namespace: str = ""
    simulation: bool = True
    lockstep: bool = False
    control: bool = True
    autostart: bool = True
    markers: bool = True
    task: str = "hit_and_push"
    parameter_file: Path | str | None = None
    joint_states: str = "joint_states"
    commands: str = "effort_controller/commands"
    seed: int = 0


def single_arm_graph(options: SingleArmOptions) -> tuple[NodeSpec, ...]:
    """The nodes for one arm.

    Raises:
        InvalidInputError: An unknown robot or task, or no such parameter file.
    """
    file = Path(options.parameter_file) if options.parameter_file else find_resource("config", "single_arm.yaml")
    if not file.is_file():
        raise InvalidInputError("parameter_file", str(file), "an existing file")
    lockstep = options.simulation and options.lockstep
    common: dict[str, Any] = {"lockstep": True} if lockstep else {}
    state_topic = {"joint_states": options.joint_states} if options.joint_states != "joint_states" else {}
    command_topic = (
        {"effort_controller/commands": options.commands} if options.commands != "effort_controller/commands" else {}
    )
    base = NodeSpec(executable="", name="", namespace=options.namespace, parameter_files=(file,))

    def node(executable: str, parameters: dict[str, Any], remappings: dict[str, str] | None = None) -> NodeSpec:
        return replace(base, executable=executable, name=executable, parameters=parameters, remappings=remappings or {})

    robot = {"robot": options.robot}
    nodes = [
        node("impact_detector", {**_arm_of(options), **common}, state_topic),
        node("jump_predictor", {**robot, **common, **_contact_of(options.task)}, state_topic),
    ]
    if options.control:
        controller = {**robot, **common, "autostart": options.autostart}
        if lockstep:
            # Wall time means nothing in lockstep: the plant may wait for a slow machine as long as it likes.
            controller["state_timeout"] = 30.0
            # Nor does it matter then what telling every cycle costs.
            controller["state_decimation"] = 1
        nodes += [
            node("reference_field", {**robot, "task": options.task}),
            node("rs_controller", controller, {**state_topic, **command_topic}),
        ]
    if options.markers:
        nodes.append(node("impact_markers", dict(robot), state_topic))
    if options.simulation:
        plant = {**robot, **common, "task": options.task, "seed": options.seed}
        if lockstep:
            plant["lockstep_participants"] = [
                spec.executable
                for spec in nodes
                if spec.executable in ("impact_detector", "jump_predictor", "rs_controller")
            ]
        nodes.append(node("sim_robot", plant, {**state_topic, **command_topic}))
    return tuple(nodes)


def select_nodes(graph: tuple[NodeSpec, ...], names: str) -> tuple[NodeSpec, ...]:
    """Only the named nodes, separated by commas; all of them when `names` is empty.

    Raises:
        UnknownNameError: A name that the graph does not have.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    known = tuple(spec.name for spec in graph)
    for name in wanted:
        if name not in known:
            raise UnknownNameError("node", name, known)
    return tuple(spec for spec in graph if not wanted or spec.name in wanted)


def _arm_of(options: SingleArmOptions) -> dict[str, Any]:
    """What the detector must know of the arm: its joints, else it would watch a gripper's too, and where it hits."""
    profile = load_profile(options.robot)
    return {
        "robot": options.robot,
        "joints": list(profile.joint_names),
        "base_frame": profile.base_frame,
        "normal": hit_normal(load_task(options.task).arms[0]).tolist(),
    }


def _contact_of(task_name: str) -> dict[str, Any]:
    """What the predictor must know of the task's contact: the face that is hit and the object behind it."""
    task = load_task(task_name)
    return {
        "normal": hit_normal(task.arms[0]).tolist(),
        "friction": task.object.friction_tool,
        "restitution": task.object.restitution,
        "object_name": task.object.name,
        "object_mass": task.object.mass,
        "object_half_extents": list(task.object.half_extents),
        "object_position": list(task.object.position),
    }
