"""The node graph as data: who is in it, what they are told, and how a process of its own is told the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.graph import NodeSpec, SingleArmOptions, select_nodes, single_arm_graph
from impact_aware.reference import hit_normal, load_task
from impact_aware.robot import load_profile

ROOT = Path(__file__).resolve().parents[1]
WATCHING = SingleArmOptions(simulation=False, control=False, markers=False)
# What YAML reads as something else, or not at all, unless it is quoted.
AWKWARD = ["", "1", "1e3", "yes", "null", "a b", "a: b", "- a", "#a", "'", '"', "\\", "{}", "[1]", "x:=y", "é", "🤖"]


def names(graph: tuple[NodeSpec, ...]) -> list[str]:
    return [spec.name for spec in graph]


def by_name(options: SingleArmOptions) -> dict[str, NodeSpec]:
    return {spec.name: spec for spec in single_arm_graph(options)}


def test_watching_starts_nothing_that_moves_the_arm() -> None:
    assert names(single_arm_graph(WATCHING)) == ["impact_detector", "jump_predictor"]


def test_each_switch_adds_its_nodes() -> None:
    watching = set(names(single_arm_graph(WATCHING)))
    added = {
        "markers": {"impact_markers"},
        "control": {"reference_field", "rs_controller"},
        "simulation": {"sim_robot"},
    }
    for switch, extra in added.items():
        options = SingleArmOptions(**{"simulation": False, "control": False, "markers": False, switch: True})
        assert set(names(single_arm_graph(options))) == watching | extra


def test_every_executable_is_a_node_of_the_package() -> None:
    for spec in single_arm_graph(SingleArmOptions()):
        assert (ROOT / "impact_aware" / "nodes" / f"{spec.executable}.py").is_file()
        assert spec.name == spec.executable


def test_every_node_gets_the_namespace_and_the_parameter_file(tmp_path: Path) -> None:
    for spec in single_arm_graph(SingleArmOptions(namespace="left")):
        assert spec.namespace == "left"
        assert spec.parameter_files == (ROOT / "config" / "single_arm.yaml",)
    mine = tmp_path / "mine.yaml"
    mine.touch()
    for spec in single_arm_graph(SingleArmOptions(parameter_file=str(mine))):
        assert spec.parameter_files == (mine,)


def test_no_name_is_absolute() -> None:
    """An absolute name would break two arms under namespaces."""
    for spec in single_arm_graph(SingleArmOptions(namespace="left", joint_states="arm/states", commands="arm/torque")):
        for name in (spec.name, *spec.remappings, *spec.remappings.values()):
            assert not name.startswith("/")


def test_whoever_reads_states_or_sends_commands_is_remapped() -> None:
    graph = by_name(SingleArmOptions(joint_states="franka/joint_states", commands="torques"))
    states, commands = ("joint_states", "franka/joint_states"), ("effort_controller/commands", "torques")
    for name, spec in graph.items():
        assert (states in spec.remappings.items()) == (name != "reference_field")
        assert (commands in spec.remappings.items()) == (name in ("rs_controller", "sim_robot"))
    assert not any(spec.remappings for spec in single_arm_graph(SingleArmOptions()))


def test_the_detector_watches_the_joints_of_the_arm_only() -> None:
    """Left to itself it would watch whatever the first message holds, such as a gripper."""
    profile = load_profile("panda")
    parameters = by_name(SingleArmOptions())["impact_detector"].parameters
    assert tuple(parameters["joints"]) == profile.joint_names
    assert parameters["base_frame"] == profile.base_frame


def test_the_predictor_knows_the_contact_of_the_task() -> None:
    task = load_task("hit_and_push")
    parameters = by_name(SingleArmOptions())["jump_predictor"].parameters
    assert parameters["normal"] == hit_normal(task.arms[0]).tolist()
    assert parameters["object_mass"] == task.object.mass
    assert parameters["friction"] == task.object.friction_tool


def test_lockstep_reaches_everybody_who_answers_a_state() -> None:
    graph = by_name(SingleArmOptions(lockstep=True))
    answering = {name for name, spec in graph.items() if spec.parameters.get("lockstep")}
    assert answering == {"impact_detector", "jump_predictor", "rs_controller", "sim_robot"}
    assert set(graph["sim_robot"].parameters["lockstep_participants"]) == answering - {"sim_robot"}


def test_hardware_never_waits_for_anybody() -> None:
    for spec in single_arm_graph(SingleArmOptions(simulation=False, lockstep=True)):
        assert "lockstep" not in spec.parameters
        assert "state_timeout" not in spec.parameters


@pytest.mark.parametrize("autostart", [True, False])
def test_the_controller_starts_by_itself_only_when_asked_to(autostart: bool) -> None:
    assert by_name(SingleArmOptions(autostart=autostart))["rs_controller"].parameters["autostart"] is autostart


def test_unknown_robot_and_task_are_refused_before_anything_starts() -> None:
    with pytest.raises(UnknownNameError, match=r"robot: got 'pandaa', expected one of .*panda"):
        single_arm_graph(SingleArmOptions(robot="pandaa"))
    with pytest.raises(InvalidInputError, match="task: got 'juggle'"):
        single_arm_graph(SingleArmOptions(task="juggle"))


def test_a_parameter_file_that_does_not_exist_is_refused() -> None:
    """Launch itself would warn and go on with default gains."""
    with pytest.raises(InvalidInputError, match=r"parameter_file: got missing.yaml, expected an existing file"):
        single_arm_graph(SingleArmOptions(parameter_file="missing.yaml"))


def test_selected_nodes_keep_the_order_of_the_graph() -> None:
    graph = single_arm_graph(SingleArmOptions())
    assert names(select_nodes(graph, " sim_robot, impact_detector,")) == ["impact_detector", "sim_robot"]
    assert select_nodes(graph, "") == graph
    assert select_nodes(graph, " , ") == graph


def test_an_unknown_node_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownNameError) as refusal:
        select_nodes(single_arm_graph(WATCHING), "impact_detector,rs_controller")
    assert refusal.value.value == "'rs_controller'"
    assert refusal.value.known == ("impact_detector", "jump_predictor")


def overrides(words: list[str]) -> dict[str, str]:
    """Name and text of each `-p`."""
    pairs = [words[index + 1] for index, word in enumerate(words) if word == "-p"]
    return {name: text for name, _, text in (pair.partition(":=") for pair in pairs)}


def test_ros_arguments_say_name_namespace_files_parameters_and_remappings() -> None:
    spec = NodeSpec("run", "node", "left", (Path("a b.yaml"), Path("c.yaml")), {"x": 1.5}, {"from": "to"})
    assert spec.ros_arguments() == [
        "--ros-args", "-r", "__node:=node", "-r", "__ns:=/left", "--params-file", "a b.yaml", "--params-file", "c.yaml",
        "-p", "x:=1.5", "-r", "from:=to",
    ]  # fmt: skip
    assert "__ns:=" not in " ".join(NodeSpec("run", "node").ros_arguments())


@settings(max_examples=100, deadline=None)
@given(value=st.one_of(
    st.booleans(),
    st.integers(-(2**31), 2**31 - 1),
    st.text(st.characters(exclude_categories=("Cs", "Cc"))),
    st.sampled_from(AWKWARD),
    st.lists(st.sampled_from(AWKWARD), min_size=1),
))  # fmt: skip
def test_parameters_survive_the_command_line(value: object) -> None:
    """ROS reads the text after `:=` as YAML."""
    text = overrides(NodeSpec("run", "node", parameters={"value": value}).ros_arguments())["value"]
    read = yaml.safe_load(text)
    assert read == value
    assert type(read) is type(value)


@given(value=st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=100, deadline=None)
def test_floats_stay_floats_on_the_command_line(value: float) -> None:
    """A number without point or exponent would be an integer to ROS, and refused by a float parameter."""
    text = overrides(NodeSpec("run", "node", parameters={"value": value}).ros_arguments())["value"]
    assert any(character in text for character in ".e")
    assert float(text) == value


def test_every_parameter_of_the_graph_survives_the_command_line() -> None:
    for spec in single_arm_graph(SingleArmOptions(namespace="left", lockstep=True)):
        texts = overrides(spec.ros_arguments())
        assert {name: json.loads(text) for name, text in texts.items()} == spec.parameters


def test_the_parameter_file_names_nodes_of_the_graph_in_any_namespace() -> None:
    content = yaml.safe_load((ROOT / "config" / "single_arm.yaml").read_text())
    known = names(single_arm_graph(SingleArmOptions()))
    for key, entry in content.items():
        prefix, _, name = key.rpartition("/")
        assert prefix == "/**", "only this wildcard fits whatever the namespace is"
        assert name in known
        assert list(entry) == ["ros__parameters"]
