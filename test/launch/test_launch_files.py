"""The launch files, evaluated by the real launch: the nodes they start are those of the graph, told the same."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from impact_aware.bringup.graph import (
    PACKAGE,
    DualArmOptions,
    NodeSpec,
    SingleArmOptions,
    dual_arm_graph,
    select_nodes,
    single_arm_graph,
)
from impact_aware.errors import InvalidInputError, UnknownNameError

ROOT = Path(__file__).resolve().parents[2]


def missing_package() -> str:
    """The first package that is not installed; a folder called `launch` on the path is none."""
    for name in ("launch", "launch_ros"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            return name
    return ""


MISSING = missing_package()
pytestmark = [
    pytest.mark.launch,
    pytest.mark.skipif(
        bool(MISSING), reason=f"the package {MISSING} is not installed: it comes with an installed ROS 2"
    ),
]

WATCHING = {"simulation": False, "control": False, "autostart": False}
FRANKA = {"joint_states": "franka/joint_states", "commands": "impact_effort_controller/commands"}
SINGLE, DUAL = "single_arm", "dual_arm"
CASES: list[tuple[str, dict[str, str], tuple[NodeSpec, ...]]] = [
    (SINGLE, {}, single_arm_graph(SingleArmOptions(**WATCHING))),
    (SINGLE, {"markers": "false"}, single_arm_graph(SingleArmOptions(**WATCHING, markers=False))),
    (SINGLE, {"control": "true"}, single_arm_graph(SingleArmOptions(simulation=False, autostart=False))),
    (
        SINGLE,
        {"simulation": "true", "control": "true", "autostart": "true", "lockstep": "true", "seed": "7"},
        single_arm_graph(SingleArmOptions(lockstep=True, seed=7)),
    ),
    (
        SINGLE,
        {"simulation": "true", "control": "true", "namespace": "/left/", "task": "hit_and_push"},
        single_arm_graph(SingleArmOptions(namespace="left", autostart=False)),
    ),
    (
        SINGLE,
        {"control": "true", "joint_states": "franka/joint_states", "commands": "torque/commands"},
        single_arm_graph(
            SingleArmOptions(
                simulation=False, autostart=False, joint_states="franka/joint_states", commands="torque/commands"
            )
        ),
    ),
    (SINGLE, {"robot": "fr3"}, single_arm_graph(SingleArmOptions(**WATCHING, robot="fr3"))),
    (SINGLE, {"hardware": "franka"}, single_arm_graph(SingleArmOptions(**WATCHING, robot="fr3", **FRANKA))),
    (
        SINGLE,
        {"hardware": "franka", "robot": "panda", "commands": "torque/commands", "control": "true"},
        single_arm_graph(
            SingleArmOptions(
                simulation=False,
                autostart=False,
                joint_states="franka/joint_states",
                commands="torque/commands",
            )
        ),
    ),
    (
        SINGLE,
        {"hardware": "ros2_control", "robot": "panda", "period": "0.002", "control": "true"},
        single_arm_graph(SingleArmOptions(simulation=False, autostart=False, period=0.002)),
    ),
    (
        SINGLE,
        {"hardware": "kuka_fri", "robot": "kuka_lwr4", "namespace": "lbr"},
        single_arm_graph(SingleArmOptions(**WATCHING, robot="kuka_lwr4", namespace="lbr", period=0.002)),
    ),
    # The same topics before the arm is there: the plant stands behind them.
    (
        SINGLE,
        {"hardware": "franka", "simulation": "true", "control": "true"},
        single_arm_graph(SingleArmOptions(autostart=False, robot="fr3", **FRANKA)),
    ),
    (
        DUAL,
        {"hardware": "franka", "control": "true"},
        dual_arm_graph(DualArmOptions(simulation=False, autostart=False, **FRANKA)),
    ),
    (DUAL, {}, dual_arm_graph(DualArmOptions(**WATCHING))),
    (
        DUAL,
        {"simulation": "true", "control": "true", "autostart": "true", "lockstep": "true", "namespace": "cell"},
        dual_arm_graph(DualArmOptions(lockstep=True, namespace="cell")),
    ),
    (
        DUAL,
        {"control": "true", "joint_states": "franka/joint_states", "commands": "torque/commands"},
        dual_arm_graph(
            DualArmOptions(
                simulation=False, autostart=False, joint_states="franka/joint_states", commands="torque/commands"
            )
        ),
    ),
]


def load(path: Path) -> ModuleType:
    """The launch file as a module."""
    spec = importlib.util.spec_from_file_location(path.name.partition(".")[0], path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def launch_file(name: str) -> ModuleType:
    return load(ROOT / "launch" / f"{name}.launch.py")


def evaluate(arguments: dict[str, str], name: str = SINGLE) -> tuple[list[Any], Any]:
    """The actions that the launch file comes to, without starting them, and their context."""
    from launch import LaunchContext
    from launch.actions import DeclareLaunchArgument, OpaqueFunction

    context = LaunchContext()
    context.launch_configurations.update(arguments)
    actions: list[Any] = []
    for entity in launch_file(name).generate_launch_description().entities:
        assert isinstance(entity, (DeclareLaunchArgument, OpaqueFunction))
        actions += entity.visit(context) or []
    return actions, context


class Told:
    """What a node action passes to its process."""

    def __init__(self, action: Any, context: Any) -> None:
        from launch.utilities import perform_substitutions

        action._perform_substitutions(context)
        self.package, self.executable = action.node_package, action.node_executable
        context.extend_locals(
            {"ros_specific_arguments": {"name": "__node:=NAME", "ns": f"__ns:={action.expanded_node_namespace}"}}
        )
        # The first word is the executable, found in the installed package.
        words = [perform_substitutions(context, part) for part in action.cmd[1:]]
        self.full_name = action.node_name
        self.files: list[Path] = []
        self.parameters: dict[str, Any] = {}
        self.rules: dict[str, str] = {}
        for word, following in zip(words, words[1:], strict=False):
            if word == "-r":
                source, _, target = following.partition(":=")
                self.rules[source] = target
            elif word == "--params-file":
                self._read(Path(following))
            else:
                assert word != "-p"

    def _read(self, path: Path) -> None:
        if path.is_relative_to(ROOT):
            self.files.append(path)
            return
        # Launch writes lists as tuples of Python; ROS does not look at the tag.
        content = yaml.load(path.read_text(), Loader=yaml.FullLoader)
        assert len(content) == 1
        for name, value in next(iter(content.values()))["ros__parameters"].items():
            self.parameters[name] = list(value) if isinstance(value, tuple) else value


def told(arguments: dict[str, str], name: str = SINGLE) -> list[Told]:
    actions, context = evaluate(arguments, name)
    return [Told(action, context) for action in actions]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    CASES,
    ids=lambda case: ",".join(case) if isinstance(case, dict) else case if isinstance(case, str) else "",
)
def test_launch_starts_the_graph(name: str, arguments: dict[str, str], expected: tuple[NodeSpec, ...]) -> None:
    started = told(arguments, name)
    assert [node.executable for node in started] == [spec.executable for spec in expected]
    for node, spec in zip(started, expected, strict=True):
        assert_same(node, spec)


def assert_same(node: Told, spec: NodeSpec) -> None:
    assert node.package == PACKAGE
    assert node.full_name == ("/" + spec.namespace if spec.namespace else "") + "/" + spec.name
    assert node.files == list(spec.parameter_files)
    assert node.parameters == spec.parameters
    assert {name: type(value) for name, value in node.parameters.items()} == {
        name: type(value) for name, value in spec.parameters.items()
    }
    rules = {source: target for source, target in node.rules.items() if not source.startswith("__")}
    assert rules == spec.remappings


def test_only_the_nodes_that_are_asked_for() -> None:
    arguments = {"nodes": "jump_predictor, impact_detector"}
    expected = select_nodes(single_arm_graph(SingleArmOptions(**WATCHING)), arguments["nodes"])
    assert [node.executable for node in told(arguments)] == [spec.executable for spec in expected]


def test_a_parameter_file_of_the_user_replaces_the_packages(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("/**/impact_detector: {ros__parameters: {lowest_rate: 10.0}}")
    for node in told({"parameter_file": str(mine)}):
        assert not node.files
        if node.executable == "impact_detector":
            assert node.parameters["lowest_rate"] == 10.0


def test_the_namespace_of_an_including_launch_file_comes_in_front() -> None:
    """Two arms by including the file twice, each after `PushRosNamespace`."""
    actions, context = evaluate({"namespace": "arm"})
    context.launch_configurations["ros_namespace"] = "/left"
    assert Told(actions[0], context).full_name == "/left/arm/impact_detector"


def test_text_that_looks_like_a_number_stays_text() -> None:
    from launch import LaunchContext
    from launch_ros.actions import Node

    from impact_aware.bringup.launching import typed

    parameters = {"a": "1", "b": "yes", "c": "", "d": "x: y", "e": 2, "f": [0.0, 1.0], "g": True}
    action = Node(package=PACKAGE, executable="run", name="node", namespace="", parameters=[typed(parameters)])
    assert Told(action, LaunchContext()).parameters == parameters


def test_rviz_stands_in_the_robots_frame_and_in_its_namespace() -> None:
    actions, context = evaluate({"rviz": "true", "simulation": "true", "namespace": "left"})
    rviz, publisher = actions[-2:]
    from launch.utilities import perform_substitutions

    words = [perform_substitutions(context, part) for part in rviz.cmd[1:6]]
    assert words[words.index("-f") + 1] == "panda_link0"
    assert Path(words[words.index("-d") + 1]) == ROOT / "rviz" / "single_arm.rviz"
    for action in (rviz, publisher):
        node = Told(action, context)
        assert node.rules["__ns"] == "/left"
        assert node.parameters["use_sim_time"] is True
    assert node.executable == "robot_state_publisher"
    assert node.parameters["robot_description"].lstrip().startswith("<")


def test_rviz_for_two_arms_stands_in_their_common_frame() -> None:
    from launch.utilities import perform_substitutions

    actions, context = evaluate({"rviz": "true", "simulation": "true", "namespace": "cell"}, DUAL)
    # One window, then publisher and base of either arm.
    rviz, *_, publisher, base = actions[-5:]
    words = [perform_substitutions(context, part) for part in rviz.cmd[1:6]]
    assert words[words.index("-f") + 1] == "world"
    assert Path(words[words.index("-d") + 1]) == ROOT / "rviz" / "dual_arm.rviz"
    assert Told(rviz, context).rules["__ns"] == "/cell"
    told_publisher = Told(publisher, context)
    assert told_publisher.rules["__ns"] == "/cell/right"
    assert told_publisher.parameters["frame_prefix"] == "right/"
    place = [perform_substitutions(context, part) for part in base.cmd[1:]]
    assert place[place.index("--y") + 1] == "-0.35"
    assert place[place.index("--child-frame-id") + 1] == "right/panda_link0"


@pytest.mark.parametrize(
    ("name", "arguments", "error", "message"),
    [
        (SINGLE, {"robot": "pandaa"}, UnknownNameError, "robot: got 'pandaa', expected one of"),
        (SINGLE, {"task": "juggle"}, InvalidInputError, "task: got 'juggle'"),
        (
            SINGLE,
            {"nodes": "impact_detector,rs_controller"},
            UnknownNameError,
            "node: got 'rs_controller', expected one of",
        ),
        (SINGLE, {"seed": "x"}, InvalidInputError, "seed: got 'x', expected a whole number"),
        (SINGLE, {"hardware": "frank"}, UnknownNameError, "hardware: got 'frank', expected one of franka, kuka_fri"),
        (SINGLE, {"hardware": "missing.yaml"}, InvalidInputError, "hardware: got missing.yaml, expected an existing"),
        (SINGLE, {"hardware": "ros2_control"}, InvalidInputError, "robot: got nothing, expected a profile of your arm"),
        (
            SINGLE,
            {"hardware": "kuka_fri", "robot": "kuka_lwr4", "control": "true"},
            InvalidInputError,
            "commands: got nothing for hardware kuka_fri, expected a topic that takes efforts alone",
        ),
        (DUAL, {"hardware": "kuka_fri", "control": "true"}, InvalidInputError, "commands: got nothing for hardware"),
        (SINGLE, {"period": "fast"}, InvalidInputError, "period: got 'fast', expected a number"),
        (SINGLE, {"period": "0.5"}, InvalidInputError, "period: got 0.5, expected a period from"),
        (SINGLE, {"parameter_file": "missing.yaml"}, InvalidInputError, "parameter_file: got missing.yaml"),
        (SINGLE, {"simulation": "maybe"}, RuntimeError, "simulation"),
        (SINGLE, {"task": "dual_arm_grab"}, InvalidInputError, "task: got dual_arm_grab, expected a task for one arm"),
        (DUAL, {"task": "hit_and_push"}, InvalidInputError, "task: got hit_and_push, expected a task for several arms"),
        (DUAL, {"nodes": "middle/impact_detector"}, UnknownNameError, "node: got 'middle/impact_detector'"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    name: str, arguments: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as refusal:
        evaluate(arguments, name)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", [SINGLE, DUAL])
def test_every_argument_says_what_it_is(name: str) -> None:
    from launch.actions import DeclareLaunchArgument

    entities = launch_file(name).generate_launch_description().entities
    arguments = [entity for entity in entities if isinstance(entity, DeclareLaunchArgument)]
    assert arguments
    for argument in arguments:
        assert argument.description and argument.default_value is not None
