"""The node graph of the suite as data: read by the launch files and by `impact-aware demo`, without ROS imports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from impact_aware.bringup.command_path import COMMAND_TOPICS, watchdog_parameters
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.bringup.task_parameters import arm_parameters, contact_parameters, looked_up, provisional
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.resources import find_resource
from impact_aware.robot import load_profile
from impact_aware.robot.profile import SIMULATED_INTERFACES
from impact_aware.task import ArmTask, Task, load_task
from impact_aware.task.arms import base_numbers, check_frame, without_tf

PACKAGE = "impact_aware"

SIMULATION_TIMEOUT = 1.0
"""`state_timeout` beside a plant in wall time, s."""

LOCKSTEP_TIMEOUT = 30.0
"""`state_timeout` beside a plant that waits for its controller, s of wall time."""

SIMULATION_LEASE = 2.0
"""`upstream_timeout` beside a plant, s: as long as the lease of the publishers."""

SIMULATION_AGE = 0.1
"""Longest time between the states that a controller of a simulated arm in wall time gets to see, and between its laws,
s."""


@dataclass(frozen=True)
class GraphOptions:
    """Options of both graphs.

    Attributes:
        namespace: Namespace of every node; empty for none.
        simulation: Start `sim_robot` as the plant; otherwise real hardware provides joint_states.
        lockstep: The plant waits for its controller; otherwise it keeps wall time.
        control: Start `rs_controller`; otherwise the suite only watches.
        autostart: The controller configures and activates itself as soon as it has states and a field.
        markers: Start `impact_markers`.
        task: Task file, a name in config/tasks or a path.
        parameter_file: Parameters of all nodes.
        joint_states: Topic of an arm's full-rate joint states.
        commands: Topic of an arm's commands; empty for the one that goes with the interface.
        command_interface: What the controller commands the arms by: `effort`, `local_law` or `linear_feedback`.
        period: Time between two states of the hardware, or of the plant, s; None leaves it to the parameters.
        seed: Seed of the plant's sensor noise.
        watchdog: Start `command_watchdog` beside the controller, which then needs it.
        controller: ros2_control's controller of an arm's commands; empty for the one that their topic names.
        relay: Executable that passes an arm's commands on to its driver in another form; empty for none.
        driver: Executable of this suite that is the driver of each arm; empty for a driver of its own.
        addresses: Of the arms, for that driver, one each; empty for the usual one.
        component: Hardware component of the driver that the watchdog takes off too; empty for none.
        viewer: The plant shows itself in a window.
        plant: Joints of the plant: `flexible` or `rigid`; None leaves it to the parameters.
        displacement: (3,) Offset of the plant's object from the task's position, m; only the object's poses show it.
        turn: By how much it is turned from there about the vertical, rad.
        bases_from_tf: Look up in TF the bases that the task has there; otherwise its numbers hold.
        belt: (2,) With which a belt carries it along x and y until a tool meets it, m/s.
    """

    namespace: str = ""
    simulation: bool = True
    lockstep: bool = False
    control: bool = True
    autostart: bool = True
    markers: bool = True
    task: str = "hit_and_push"
    parameter_file: Path | str | None = None
    joint_states: str = "joint_states"
    commands: str = ""
    command_interface: str = "effort"
    period: float | None = None
    seed: int = 0
    watchdog: bool = False
    controller: str = ""
    relay: str = ""
    driver: str = ""
    addresses: tuple[str, ...] = ()
    component: str = ""
    viewer: bool = False
    plant: str | None = None
    displacement: tuple[float, ...] = (0.0, 0.0, 0.0)
    turn: float = 0.0
    belt: tuple[float, ...] = (0.0, 0.0)
    bases_from_tf: bool = False


@dataclass(frozen=True)
class SingleArmOptions(GraphOptions):
    """Options of the single-arm graph; `robot` is the name of a profile."""

    robot: str = "panda"


@dataclass(frozen=True)
class DualArmOptions(GraphOptions):
    """Options of the graph of several arms; the arms, their robots and bases are those of the task."""

    task: str = "dual_arm_grab"


def single_arm_graph(options: SingleArmOptions) -> tuple[NodeSpec, ...]:
    """The nodes for one arm.

    Raises:
        InvalidInputError: Unknown robot or task, a task for several arms, one whose frame is called as that of a base
            that stands elsewhere, or no such parameter file.
    """
    task = load_task(options.task)
    if len(task.arms) != 1:
        raise InvalidInputError("task", options.task, f"a task for one arm, not for {len(task.arms)}")
    check_frame(task, task.arms[0].joint_prefix + load_profile(options.robot).base_frame)
    return _task_graph(options, task, "single_arm.yaml", ("",), [options.robot])


def dual_arm_graph(options: DualArmOptions) -> tuple[NodeSpec, ...]:
    """The nodes for the arms of a task: detector and predictor below each arm's name, one controller over all.

    The field is there in watching, too: it publishes where the object is in each arm's frame.

    Raises:
        InvalidInputError: An unknown robot or task, a task without several named arms, or no such parameter file.
    """
    task = load_task(options.task)
    names = tuple(arm.name for arm in task.arms)
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise InvalidInputError("task", options.task, "a task for several arms with names that differ")
    return _task_graph(options, task, "dual_arm.yaml", names, [arm.robot for arm in task.arms])


def _task_graph(
    options: GraphOptions, task: Task, parameter_file: str, names: tuple[str, ...], robots: list[str]
) -> tuple[NodeSpec, ...]:
    """The nodes for the arms of a task, whose topics are below these names, empty for a single arm."""
    from_tf = looked_up(task, options.bases_from_tf)
    task = provisional(task) if from_tf else without_tf(task)
    build = _Builder(options, parameter_file, names, from_tf)
    arms, single = list(zip(task.arms, names, robots, strict=True)), names == ("",)
    prefixes, bases = [arm.joint_prefix for arm in task.arms], [base_numbers(arm) for arm in task.arms]
    robot = {"robot": robots[0]} if single else {}
    drivers = [build.driver(*own) for own in zip(range(len(arms)), names, robots, prefixes, bases, strict=True)]
    nodes = [spec for own in drivers for spec in own]
    nodes += [spec for arm, name, profile in arms for spec in build.watching(arm, profile, name, task)]
    if options.control or from_tf or not single:
        nodes.append(build.node("reference_field", {**robot, **build.field()}, states=not single))
    if options.control:
        own: dict[str, Any] = robot or {"arms": list(names), "robots": robots}
        prefixed = {"joint_prefixes": prefixes} if any(prefixes) else {}
        stand = build.base("bases", [number for base in bases for number in base])
        commanding = {**own, **prefixed, **stand, **build.control_parameters()}
        nodes.append(build.node("rs_controller", commanding, states=True, commands=True))
        for (arm, name, profile), base in zip(arms, bases, strict=True):
            nodes += build.relay(name, profile, arm.joint_prefix, build.base("base", base))
        nodes += build.watchdog({"robots": robots} if single else own)
    if options.markers:
        for arm, name, profile in arms:
            # A simulation's recording is looked at in viewers that jump in time.
            looks = {"robot": profile, **({"whole_scene": True} if options.simulation else {})}
            if name:
                looks |= {"arm": name, "frame_prefix": arm.joint_prefix or f"{name}/"}
            if arm is not task.arms[0]:
                # One is enough for all.
                looks["legend"] = False
            nodes.append(build.node("impact_markers", looks, arm=name, states=True))
    if options.simulation:
        nodes.append(build.simulator(nodes, robot))
    return tuple(nodes)


class _Builder:
    """Makes the nodes of a graph from its options."""

    def __init__(self, options: GraphOptions, parameter_file: str, arms: tuple[str, ...], from_tf: bool) -> None:
        """Check the parameter file.

        Args:
            options: Options of the graph.
            parameter_file: The package's own.
            arms: Names below which the arms' topics are, empty for a single one.
            from_tf: Whether the bases are looked up in TF, so that nodes have them from the task that is published.
        """
        file = Path(options.parameter_file) if options.parameter_file else find_resource("config", parameter_file)
        if not file.is_file():
            raise InvalidInputError("parameter_file", str(file), "an existing file")
        self._options = options
        self._file = file
        self._arms, self._from_tf = arms, from_tf
        self._lockstep = options.simulation and options.lockstep
        self._common: dict[str, Any] = {"lockstep": True} if self._lockstep else {}
        interface = options.command_interface
        if interface not in COMMAND_TOPICS:
            raise UnknownNameError("command_interface", interface, tuple(COMMAND_TOPICS))
        if options.simulation and interface not in SIMULATED_INTERFACES:
            expected = f"one of {', '.join(SIMULATED_INTERFACES)}, as sim_robot takes no other"
            raise InvalidInputError("command_interface", interface, expected)
        self._interface = {} if interface == GraphOptions.command_interface else {"command_interface": interface}

    def node(
        self,
        executable: str,
        parameters: dict[str, Any],
        *,
        arm: str = "",
        states: bool = False,
        commands: bool = False,
    ) -> NodeSpec:
        """One node, below an arm's name or above all arms; states and commands say whose topics it may be remapped."""
        remappings = {}
        for used, topic, wanted in (
            (states, "joint_states", self._options.joint_states),
            (commands, COMMAND_TOPICS[self._options.command_interface], self._options.commands),
        ):
            if used and wanted not in ("", topic):
                prefixes = ("",) if arm else tuple(f"{name}/" if name else "" for name in self._arms)
                # A topic of all arms, such as /joint_states, is absolute.
                above = wanted.startswith("/")
                remappings.update({f"{prefix}{topic}": wanted if above else f"{prefix}{wanted}" for prefix in prefixes})
        return NodeSpec(
            executable=executable,
            name=executable,
            namespace="/".join(filter(None, (self._options.namespace, arm))),
            parameter_files=(self._file,),
            parameters=parameters,
            remappings=remappings,
            arms=("",) if arm else self._arms,
        )

    def field(self) -> dict[str, Any]:
        """Parameters of the node that has the task."""
        task = load_task(self._options.task)
        numbers_hold = not self._from_tf and any(arm.base_in_tf for arm in task.arms)
        return {"task": self._options.task, **({"bases_from_tf": False} if numbers_hold else {})}

    def base(self, name: str, numbers: list[float]) -> dict[str, Any]:
        """Return the parameter `name` with the bases, or the one that takes them from the task; none for one at 0."""
        if self._from_tf:
            return {f"{name}_from_task": True}
        return {name: numbers} if any(numbers) or len(self._arms) > 1 else {}

    def watching(self, arm: ArmTask, robot: str, name: str, task: Task) -> list[NodeSpec]:
        """Detector and predictor of one arm; `name` is empty for a single one."""
        named = {"arm": name} if name else {}
        detector = {**named, **arm_parameters(task, arm, robot), **self._common, **self._timing("sampling_period")}
        others = [other for other in self._arms if name and other != name]
        if others:
            # The sequence of impacts is over when every arm has hit.
            above = f"/{self._options.namespace}" if self._options.namespace else ""
            detector["other_impacts"] = [f"{above}/{other}/impacts" for other in others]
            detector["expected_contacts"] = len(self._arms)
            # One palm's prediction takes the object for free, but the other palm holds it: compare with both palms'.
            detector["expected_jumps"] = f"{above}/common_jumps"
        if self._from_tf:
            detector.pop("base_rpy", None)
        from_task = {"base_from_task": True} if self._from_tf else {}
        detector |= from_task
        prefix = {"joint_prefix": arm.joint_prefix} if arm.joint_prefix else {}
        predictor = {**named, "robot": robot, **prefix, **self._common, **contact_parameters(task, arm), **from_task}
        base = base_numbers(arm)
        if not name and any(base) and not self._from_tf:
            predictor |= {"base": base, "task_frame": task.frame}
        if self._lockstep:
            # The last state stays the present one for as long as the plant waits.
            predictor["state_timeout"] = LOCKSTEP_TIMEOUT
        return [
            self.node("impact_detector", detector, arm=name, states=True),
            self.node("jump_predictor", predictor, arm=name, states=True),
        ]

    def control_parameters(self) -> dict[str, Any]:
        """Return the parameters that every controller has, for one arm or several."""
        options = self._options
        parameters = {**self._common, **self._interface, "autostart": options.autostart, **self._timing("period")}
        if options.watchdog:
            parameters["watchdog"] = True
        if options.simulation:
            # No steel moves on while a busy machine holds a node up.
            parameters["upstream_timeout"] = SIMULATION_LEASE
        if self._lockstep:
            # Wall time means nothing in lockstep: the plant may wait for a slow machine as long as it likes.
            parameters["state_timeout"] = LOCKSTEP_TIMEOUT
            # Nor does it matter then what publishing every cycle costs.
            parameters["state_decimation"] = 1
        elif options.simulation:
            # Of a plant that the machine holds up the arms stand still too. A controller that is held up alone, as a
            # machine without real time does for some 20 to 80 ms, makes no steel hit anything.
            parameters["state_timeout"] = SIMULATION_TIMEOUT
            parameters["state_age_limit"] = SIMULATION_AGE
            if options.command_interface == "local_law":
                parameters["law_validity"] = SIMULATION_AGE
        return parameters

    def watchdog(self, arms: dict[str, Any]) -> list[NodeSpec]:
        """The watchdog over the commands of all arms, where there is one."""
        if not self._options.watchdog:
            return []
        options = self._options
        more = watchdog_parameters(
            options.command_interface, options.commands, options.controller, options.relay, options.component
        )
        return [self.node("command_watchdog", {**arms, **self._interface, **more}, commands=True)]

    def relay(self, arm: str, robot: str, prefix: str, base: dict[str, Any]) -> list[NodeSpec]:
        """What stands between the controller and one arm's driver, where there is something; `base` is its pose."""
        if not self._options.relay:
            return []
        named = {"joint_prefix": prefix} if prefix else {}
        own = {"robot": robot, **named, **base, **self._common, **self._timing("period")}
        return [self.node(self._options.relay, own, arm=arm, states=True)]

    def driver(self, index: int, arm: str, robot: str, prefix: str, base: list[float]) -> list[NodeSpec]:
        """The driver of one arm, where that is a node of this suite."""
        if not self._options.driver or self._options.simulation:
            return []
        addresses = self._options.addresses
        if addresses and len(addresses) != len(self._arms):
            raise InvalidInputError("address", ",".join(addresses), f"{len(self._arms)}, one per arm, with commas")
        named = {"joint_prefix": prefix} if prefix else {}
        reached = {"address": addresses[index]} if addresses else {}
        own = {"robot": robot, **named, **reached, **self.base("base", base), "control": self._options.control}
        return [self.node(self._options.driver, own, arm=arm, states=True)]

    def _timing(self, name: str) -> dict[str, float]:
        """The time between two states as a parameter, where it is given."""
        period = self._options.period
        return {} if period is None else {name: period}

    def simulator(self, nodes: list[NodeSpec], robot: dict[str, Any]) -> NodeSpec:
        """The plant, which in lockstep waits for those of `nodes` that answer every state."""
        plant = {**robot, **self._common, **self._interface, "task": self._options.task, "seed": self._options.seed}
        plant |= self._timing("period")
        if self._options.viewer:
            plant["viewer"] = True
        if self._options.plant is not None:
            plant["plant"] = self._options.plant
        if any(self._options.displacement):
            plant["displacement"] = list(self._options.displacement)
        if self._options.turn:
            plant["turn"] = self._options.turn
        if any(self._options.belt):
            plant["belt"] = list(self._options.belt)
        if self._lockstep:
            above = f"{self._options.namespace}/" if self._options.namespace else ""
            answering = [spec for spec in nodes if spec.parameters.get("lockstep")]
            plant["lockstep_participants"] = [spec.full_name.removeprefix(above) for spec in answering]
        return self.node("sim_robot", plant, states=True, commands=True)


def select_nodes(graph: tuple[NodeSpec, ...], names: str) -> tuple[NodeSpec, ...]:
    """Only the named nodes, separated by commas; all of them when `names` is empty.

    `impact_detector` is that of every arm, `left/impact_detector` that of one.

    Raises:
        UnknownNameError: A name that the graph does not have.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    known = tuple(dict.fromkeys(spec.name for spec in graph))
    for name in wanted:
        if name not in known and all(name != spec.full_name for spec in graph):
            raise UnknownNameError("node", name, known)
    return tuple(spec for spec in graph if not wanted or spec.name in wanted or spec.full_name in wanted)
