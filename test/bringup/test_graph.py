"""The node graph as data: who is in it, what they are told, and how a process of its own is told the same."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.bringup.graph import DualArmOptions, SingleArmOptions, dual_arm_graph, select_nodes, single_arm_graph
from impact_aware.bringup.node_spec import NodeSpec, in_one_process, node_of_word, node_word
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.robot import load_profile
from impact_aware.task import hit_normal, load_task

ROOT = Path(__file__).resolve().parents[2]
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
    topics = {"joint_states": "arm/states", "commands": "arm/torque"}
    one = single_arm_graph(SingleArmOptions(namespace="left", **topics))
    for spec in (*one, *dual_arm_graph(DualArmOptions(namespace="cell", **topics))):
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
    assert parameters["normal"] == hit_normal(task, task.arms[0]).tolist()
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
        assert not {"state_timeout", "state_age_limit"} & set(spec.parameters)


@pytest.mark.parametrize("autostart", [True, False])
def test_the_controller_starts_by_itself_only_when_asked_to(autostart: bool) -> None:
    assert by_name(SingleArmOptions(autostart=autostart))["rs_controller"].parameters["autostart"] is autostart


def by_full_name(options: DualArmOptions) -> dict[str, NodeSpec]:
    return {spec.full_name: spec for spec in dual_arm_graph(options)}


def test_two_arms_have_detector_and_predictor_each_and_one_controller() -> None:
    graph = by_full_name(DualArmOptions(markers=False))
    assert list(graph) == [
        "left/impact_detector", "left/jump_predictor", "right/impact_detector", "right/jump_predictor",
        "reference_field", "rs_controller", "sim_robot",
    ]  # fmt: skip
    parameters = graph["rs_controller"].parameters
    assert parameters["arms"] == ["left", "right"]
    assert parameters["robots"] == ["panda", "panda"]
    assert parameters["bases"] == [*[0.0, 0.35, 0, 0, 0, 0], *[0.0, -0.35, 0, 0, 0, 0]]


@pytest.mark.parametrize("namespace", ["", "cell"])
def test_a_grab_is_complete_when_both_arms_have_hit(namespace: str) -> None:
    graph = dual_arm_graph(DualArmOptions(namespace=namespace))
    told = {spec.full_name: spec.parameters for spec in graph if spec.name == "impact_detector"}
    above = f"/{namespace}" if namespace else ""
    left = told[f"{above}/left/impact_detector".lstrip("/")]
    assert left["other_impacts"] == [f"{above}/right/impacts"]
    assert left["expected_contacts"] == 2
    assert left["expected_jumps"] == f"{above}/common_jumps"


def test_watching_two_arms_moves_neither() -> None:
    graph = by_full_name(DualArmOptions(simulation=False, control=False, markers=False))
    assert not any("rs_controller" in name or "sim_robot" in name for name in graph)


def test_each_arm_sees_the_contact_from_its_own_base() -> None:
    graph = by_full_name(DualArmOptions())
    left, right = (graph[f"{arm}/jump_predictor"].parameters for arm in ("left", "right"))
    assert left["object_position"] == [0.55, -0.35, 0.4]
    assert right["object_position"] == [0.55, 0.35, 0.4]
    assert (left["normal"], right["normal"]) == ([0.0, 1.0, 0.0], [0.0, -1.0, 0.0])
    assert (left["arm"], right["arm"]) == ("left", "right")


@pytest.mark.parametrize("yaw", [0.5 * math.pi, math.pi])
def test_a_rotated_base_rotates_what_its_arm_is_given(tmp_path: Path, yaw: float) -> None:
    content = yaml.safe_load((ROOT / "config" / "tasks" / "dual_arm_grab.yaml").read_text())
    content["arms"][0]["base_yaw"] = yaw
    task = tmp_path / "turned.yaml"
    task.write_text(yaml.safe_dump(content))
    told = by_full_name(DualArmOptions(task=str(task)))["left/jump_predictor"].parameters
    c, s = round(math.cos(yaw)), round(math.sin(yaw))
    assert told["normal"] == [float(s), float(c), 0.0]
    assert told["object_position"] == pytest.approx([0.55 * c - 0.35 * s, -0.55 * s - 0.35 * c, 0.4])
    assert told["object_half_extents"] == content["object"]["half_extents"]
    axes = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(pin.rpy.rpyToMatrix(*told["object_rpy"]), axes, atol=1e-11)


def moved_left_arm(tmp_path: Path) -> Path:
    content = yaml.safe_load((ROOT / "config" / "tasks" / "dual_arm_grab.yaml").read_text())
    content["arms"][0] |= {"base_yaw": 0.4, "base_position": [0.1, 0.3, 0.05]}
    content["object"] |= {"friction_tool": 0.7, "restitution": 0.2, "mass": 1.9, "friction_table": 0.25}
    task = tmp_path / "moved.yaml"
    task.write_text(yaml.safe_dump(content))
    return task


def test_a_base_anywhere_gives_each_node_the_task_in_its_own_frame(tmp_path: Path) -> None:
    graph = by_full_name(DualArmOptions(task=str(moved_left_arm(tmp_path))))
    c, s = math.cos(0.4), math.sin(0.4)
    predictor, detector = graph["left/jump_predictor"].parameters, graph["left/impact_detector"].parameters
    # The face that looks along y is hit, as seen from a base that is rotated by 0.4 rad about z.
    assert predictor["normal"] == detector["normal"] == pytest.approx([s, c, 0.0])
    x, y, z = 0.55 - 0.1, 0.0 - 0.3, 0.40 - 0.05
    assert predictor["object_position"] == pytest.approx([c * x + s * y, -s * x + c * y, z])
    # The object's own edges, and its axes as the turned base sees them: turned the other way.
    assert predictor["object_half_extents"] == [0.1, 0.065, 0.1]
    assert predictor["object_rpy"] == pytest.approx([0.0, 0.0, -0.4])
    assert graph["rs_controller"].parameters["bases"] == [*[0.1, 0.3, 0.05, 0, 0, 0.4], *[0, -0.35, 0, 0, 0, 0]]
    for name in ("friction", "restitution", "object_mass", "object_name"):
        assert graph["right/jump_predictor"].parameters[name] == predictor[name]
    assert [predictor[name] for name in ("friction", "restitution", "object_mass")] == [0.7, 0.2, 1.9]
    assert predictor["object_name"] == "juice_pack"
    assert (detector["robot"], detector["base_frame"], detector["arm"]) == ("panda", "panda_link0", "left")


def test_arms_on_one_topic_are_told_apart_by_the_prefixes_of_their_joints(tmp_path: Path) -> None:
    content = yaml.safe_load((ROOT / "config" / "tasks" / "dual_arm_grab.yaml").read_text())
    for arm in content["arms"]:
        arm["joint_prefix"] = f"{arm['name']}_"
    task = tmp_path / "prefixed.yaml"
    task.write_text(yaml.safe_dump(content))
    graph = by_full_name(DualArmOptions(task=str(task), joint_states="/joint_states"))
    controller = graph["rs_controller"]
    assert controller.parameters["joint_prefixes"] == ["left_", "right_"]
    assert controller.remappings == {"left/joint_states": "/joint_states", "right/joint_states": "/joint_states"}
    for name in ("left", "right"):
        detector, predictor = graph[f"{name}/impact_detector"], graph[f"{name}/jump_predictor"]
        assert detector.parameters["joints"] == [f"{name}_panda_joint{number}" for number in range(1, 8)]
        assert detector.parameters["base_frame"] == f"{name}_panda_link0"
        assert predictor.parameters["joint_prefix"] == f"{name}_"
        assert detector.remappings == predictor.remappings == {"joint_states": "/joint_states"}
        assert graph[f"{name}/impact_markers"].parameters["frame_prefix"] == f"{name}_"
    assert "joint_prefixes" not in by_full_name(DualArmOptions())["rs_controller"].parameters


def test_a_tilted_base_gives_each_node_the_task_in_its_own_frame(tmp_path: Path) -> None:
    content = yaml.safe_load((ROOT / "config" / "tasks" / "hit_and_push.yaml").read_text())
    content["arms"][0] |= {"base_rpy": [0.3, 0.0, 0.4], "base_position": [0.1, -0.05, 0.2]}
    content["frame"] = "cell"
    task = tmp_path / "rotated.yaml"
    task.write_text(yaml.safe_dump(content))
    nodes = by_name(SingleArmOptions(task=str(task)))
    assert nodes["impact_detector"].parameters["base_rpy"] == [0.3, 0.0, 0.4]
    for node, name in (("rs_controller", "bases"), ("jump_predictor", "base")):
        assert nodes[node].parameters[name] == [0.1, -0.05, 0.2, 0.3, 0.0, 0.4]
    # The face that looks along y: back by the yaw about z, then back by the roll about x.
    seen = [math.sin(0.4), math.cos(0.4) * math.cos(0.3), -math.cos(0.4) * math.sin(0.3)]
    assert nodes["impact_detector"].parameters["normal"] == pytest.approx(seen)
    assert nodes["jump_predictor"].parameters["normal"] == pytest.approx(seen)


@pytest.mark.parametrize(
    ("options", "detector", "controller"),
    [
        ({"period": 0.002, "simulation": False}, 0.002, 0.002),
        ({"period": 0.002, "simulation": True}, 0.002, 0.002),
        ({"simulation": False}, None, None),
    ],
)
def test_the_period_of_the_hardware_reaches_detector_and_controller(options, detector, controller) -> None:
    graph = by_name(SingleArmOptions(**options))
    assert graph["impact_detector"].parameters.get("sampling_period") == detector
    assert graph["rs_controller"].parameters.get("period") == controller


def test_the_plant_knows_task_robot_and_seed() -> None:
    plant = by_name(SingleArmOptions(seed=42))["sim_robot"].parameters
    assert (plant["robot"], plant["task"], plant["seed"]) == ("panda", "hit_and_push", 42)
    assert "robot" not in by_full_name(DualArmOptions(seed=42))["sim_robot"].parameters


def test_lockstep_reports_every_cycle_and_waits_for_a_slow_machine() -> None:
    parameters = by_name(SingleArmOptions(lockstep=True))["rs_controller"].parameters
    assert (parameters["state_timeout"], parameters["state_decimation"]) == (30.0, 1)
    free = by_name(SingleArmOptions(lockstep=False))["rs_controller"].parameters
    # A plant in wall time may be held up by the machine; its arms are too.
    assert (free["state_timeout"], free["state_age_limit"]) == (1.0, 0.1) and "state_decimation" not in free
    assert "state_age_limit" not in parameters
    # A simulated arm follows a law for as long as it accepts old states: only steel must not.
    assert "law_validity" not in free and "law_validity" not in parameters
    for lockstep, wanted in ((False, 0.1), (True, None)):
        options = SingleArmOptions(command_interface="local_law", lockstep=lockstep)
        laws = next(spec for spec in single_arm_graph(options) if spec.executable == "rs_controller").parameters
        assert laws.get("law_validity") == wanted


def test_markers_of_two_arms_are_told_apart_by_arm_and_frame_prefix() -> None:
    graph = by_full_name(DualArmOptions())
    for name in ("left", "right"):
        looks = graph[f"{name}/impact_markers"].parameters
        # What the colours mean is said once.
        once = {} if name == "left" else {"legend": False}
        assert looks == {"robot": "panda", "arm": name, "frame_prefix": f"{name}/", "whole_scene": True, **once}
    watched = by_full_name(DualArmOptions(simulation=False))["left/impact_markers"].parameters
    assert "whole_scene" not in watched


def test_the_predictor_knows_of_a_palm_and_of_the_table_that_holds_what_is_pushed() -> None:
    push = by_name(SingleArmOptions(task="hit_and_push_palm"))["jump_predictor"].parameters
    assert (push["pad_half_sizes"], push["table_friction"]) == ([0.04, 0.04, 0.03], 0.3)
    ball = by_name(SingleArmOptions())["jump_predictor"].parameters
    lifted = by_full_name(DualArmOptions())["left/jump_predictor"].parameters
    assert lifted["pad_half_sizes"] == [0.04, 0.04, 0.03]
    assert not {"pad_half_sizes", "table_friction"} & ball.keys() and "table_friction" not in lifted


@pytest.mark.parametrize("namespace", ["", "cell"])
def test_lockstep_waits_for_both_arms_by_their_names_below_the_simulator(namespace: str) -> None:
    graph = by_full_name(DualArmOptions(lockstep=True, namespace=namespace))
    plant = next(spec for name, spec in graph.items() if name.endswith("sim_robot"))
    assert plant.parameters["lockstep_participants"] == [
        "left/impact_detector", "left/jump_predictor", "right/impact_detector", "right/jump_predictor", "rs_controller",
    ]  # fmt: skip


def test_topics_of_two_arms_are_remapped_below_their_names() -> None:
    graph = by_full_name(DualArmOptions(joint_states="franka/joint_states", commands="torques"))
    states = {f"{arm}/joint_states": f"{arm}/franka/joint_states" for arm in ("left", "right")}
    commands = {f"{arm}/effort_controller/commands": f"{arm}/torques" for arm in ("left", "right")}
    assert graph["rs_controller"].remappings == states | commands
    assert graph["sim_robot"].remappings == states | commands
    assert graph["left/impact_detector"].remappings == {"joint_states": "franka/joint_states"}


def test_a_task_for_another_number_of_arms_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="task: got dual_arm_grab, expected a task for one arm, not for 2"):
        single_arm_graph(SingleArmOptions(task="dual_arm_grab"))
    with pytest.raises(InvalidInputError, match="task: got hit_and_push, expected a task for several arms"):
        dual_arm_graph(DualArmOptions(task="hit_and_push"))


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


def test_one_arms_node_is_selected_by_its_full_name() -> None:
    graph = dual_arm_graph(DualArmOptions())
    selected = [spec.full_name for spec in select_nodes(graph, "impact_detector, left/jump_predictor")]
    assert selected == ["left/impact_detector", "left/jump_predictor", "right/impact_detector"]


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


@settings(max_examples=100)
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
@settings(max_examples=100)
def test_floats_stay_floats_on_the_command_line(value: float) -> None:
    """A number without point or exponent would be an integer to ROS, and refused by a float parameter."""
    text = overrides(NodeSpec("run", "node", parameters={"value": value}).ros_arguments())["value"]
    assert any(character in text for character in ".e")
    assert float(text) == value


def test_every_parameter_of_the_graph_survives_the_command_line() -> None:
    one = single_arm_graph(SingleArmOptions(namespace="left", lockstep=True))
    for spec in (*one, *dual_arm_graph(DualArmOptions(namespace="cell", lockstep=True))):
        texts = overrides(spec.ros_arguments())
        assert {name: json.loads(text) for name, text in texts.items()} == spec.parameters


@pytest.mark.parametrize(
    ("file", "graph"),
    [
        ("single_arm.yaml", single_arm_graph(SingleArmOptions())),
        ("dual_arm.yaml", dual_arm_graph(DualArmOptions())),
    ],
)
def test_the_parameter_file_names_nodes_of_the_graph_in_any_namespace(file: str, graph: tuple[NodeSpec, ...]) -> None:
    content = yaml.safe_load((ROOT / "config" / file).read_text())
    known = names(graph)
    for key, entry in content.items():
        prefix, _, name = key.rpartition("/")
        assert prefix == "/**", "only this wildcard fits whatever the namespace is"
        assert name in known
        assert list(entry) == ["ros__parameters"]


# In one process


def test_every_node_of_a_graph_survives_as_a_word() -> None:
    graph = [*dual_arm_graph(DualArmOptions(namespace="cell", lockstep=True, joint_states="fast", seed=3))]
    for spec in graph:
        assert node_of_word(node_word(spec)) == spec
    own = NodeSpec("a", "b", "c/d", (Path("/x/y.yaml"), Path("/z.yaml")), {"f": 1.0, "n": 1, "t": AWKWARD}, {"s": "é"})
    found = node_of_word(node_word(own))
    assert found == own
    assert [type(found.parameters[name]) for name in "fn"] == [float, int]


@pytest.mark.parametrize("word", ["", "detector", "[1]", "1", "{}", '{"executable": "a", "name": "b", "nodes": 1}'])
def test_a_word_that_is_no_node_is_refused(word: str) -> None:
    with pytest.raises(InvalidInputError, match="argument: got .*, expected a node as JSON"):
        node_of_word(word)


def test_one_process_holds_all_but_the_plant_and_starts_the_controller_first() -> None:
    graph = dual_arm_graph(DualArmOptions(namespace="cell"))
    recorder = NodeSpec("bag_recorder", "bag_recorder")
    group, *alone = in_one_process((recorder, *graph))
    assert [spec.name for spec in alone] == ["bag_recorder", "sim_robot"]
    assert [spec.full_name for spec in group.members] == [
        "cell/rs_controller",
        "cell/left/impact_detector",
        "cell/right/impact_detector",
        "cell/left/jump_predictor",
        "cell/right/jump_predictor",
        "cell/reference_field",
        "cell/left/impact_markers",
        "cell/right/impact_markers",
    ]
    assert {spec.full_name for spec in (*group.members, *alone)} == {spec.full_name for spec in (recorder, *graph)}
    assert group.arguments() == [node_word(spec) for spec in group.members]


def test_who_only_watches_shares_a_process_without_the_controller() -> None:
    graph = dual_arm_graph(DualArmOptions(namespace="cell", watchdog=True))
    group, *alone = in_one_process(graph, "watchers")
    assert [spec.full_name for spec in alone] == ["cell/rs_controller", "cell/command_watchdog", "cell/sim_robot"]
    assert [spec.full_name for spec in group.members] == [
        "cell/left/impact_detector",
        "cell/right/impact_detector",
        "cell/left/jump_predictor",
        "cell/right/jump_predictor",
        "cell/reference_field",
        "cell/left/impact_markers",
        "cell/right/impact_markers",
    ]
    assert in_one_process(graph, "none") == graph


def test_a_node_without_company_needs_no_group() -> None:
    graph = select_nodes(single_arm_graph(SingleArmOptions()), "rs_controller,sim_robot")
    assert in_one_process(graph) == graph
    assert graph[0].arguments() == graph[0].ros_arguments()


def test_only_the_plant_knows_that_the_object_stands_elsewhere() -> None:
    graph = by_name(SingleArmOptions(displacement=(0.02, -0.01, 0.0), turn=0.3, belt=(0.1, -0.05)))
    assert graph["sim_robot"].parameters["belt"] == [0.1, -0.05]
    assert (graph["sim_robot"].parameters["displacement"], graph["sim_robot"].parameters["turn"]) == (
        [0.02, -0.01, 0.0],
        0.3,
    )
    others = [own.parameters for name, own in graph.items() if name != "sim_robot"]
    assert not any({"displacement", "turn", "belt"} & parameters.keys() for parameters in others)
    assert not {"displacement", "turn", "belt"} & by_name(SingleArmOptions())["sim_robot"].parameters.keys()


def test_controller_and_plant_agree_on_what_the_arms_are_commanded_by() -> None:
    graph = by_name(SingleArmOptions(command_interface="local_law"))
    taking = {name for name, own in graph.items() if own.parameters.get("command_interface") == "local_law"}
    assert taking == {"rs_controller", "sim_robot"}
    two = dual_arm_graph(DualArmOptions(command_interface="local_law"))
    assert {own.name for own in two if "command_interface" in own.parameters} == taking
    assert not any("command_interface" in own.parameters for own in by_name(SingleArmOptions()).values())


OTHER_THAN_DECLARED = {
    ("impact_markers", "legend_position"),
    ("sim_robot", "encoder_resolution"),
    ("sim_robot", "position_noise"),
    ("sim_robot", "velocity_noise"),
    ("sim_robot", "delay"),
}
"""What the files of parameters set to something else than what the nodes declare."""


@pytest.mark.parametrize("file", ["single_arm.yaml", "dual_arm.yaml"])
def test_the_parameter_file_repeats_what_is_declared_but_for_what_is_meant_to_differ(file: str) -> None:
    content = yaml.safe_load((ROOT / "config" / file).read_text())
    # docs/parameters.md is written from the declarations.
    sections = (ROOT / "docs" / "parameters.md").read_text().split("\n## ")
    declared = {
        (section.partition("\n")[0], name): default.strip('"')
        for section in sections
        for name, default in re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", section, flags=re.MULTILINE)
    }
    for key, entry in content.items():
        node = key.rpartition("/")[2]
        for name, value in entry["ros__parameters"].items():
            same = str(value) == declared[node, name]
            assert same != ((node, name) in OTHER_THAN_DECLARED), (node, name, value, declared[node, name])
