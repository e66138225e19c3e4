"""The node graph as data: who is in it, what they are told, and how a process of its own is told the same."""

import copy
import re
from pathlib import Path

import pytest
import yaml
from graph_texts import KEPT, graphs_text
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_texts import assert_same

from impact_aware.bringup.graph import DualArmOptions, SingleArmOptions, dual_arm_graph, select_nodes, single_arm_graph
from impact_aware.bringup.node_spec import NodeSpec, in_one_process, node_of_word, node_word
from impact_aware.errors import InvalidInputError

ROOT = Path(__file__).resolve().parents[2]
WATCHING = SingleArmOptions(simulation=False, control=False, markers=False)
# What YAML reads as something else, or not at all, unless it is quoted.
AWKWARD = ["", "1", "1e3", "yes", "null", "a b", "a: b", "- a", "#a", "'", '"', "\\", "{}", "[1]", "x:=y", "é", "🤖"]


def names(graph: tuple[NodeSpec, ...]) -> list[str]:
    return [spec.name for spec in graph]


def test_every_executable_is_a_node_of_the_package() -> None:
    for spec in single_arm_graph(SingleArmOptions()):
        assert (ROOT / "impact_aware" / "nodes" / f"{spec.executable}.py").is_file()
        assert spec.name == spec.executable


def test_every_graph_is_as_it_was_when_somebody_last_looked_at_it() -> None:
    assert_same(graphs_text(), KEPT)


def test_no_name_is_absolute() -> None:
    """An absolute name would break two arms under namespaces."""
    topics = {"joint_states": "arm/states", "commands": "arm/torque"}
    one = single_arm_graph(SingleArmOptions(namespace="left", **topics))
    for spec in (*one, *dual_arm_graph(DualArmOptions(namespace="cell", **topics))):
        for name in (spec.name, *spec.remappings, *spec.remappings.values()):
            assert not name.startswith("/")


def test_hardware_never_waits_for_anybody() -> None:
    for spec in single_arm_graph(SingleArmOptions(simulation=False, lockstep=True)):
        assert "lockstep" not in spec.parameters
        assert not {"state_timeout", "state_age_limit"} & set(spec.parameters)


@pytest.mark.parametrize("control", [False, True])
def test_a_driver_of_the_suite_has_the_address_of_its_arm_and_holds_it_in_control_alone(control: bool) -> None:
    made = {"driver": "franka_fci_relay", "addresses": ("10.0.0.2", "10.0.0.3"), "command_interface": "local_law"}
    graph = dual_arm_graph(DualArmOptions(simulation=False, control=control, **made))
    own = {spec.namespace: spec.parameters for spec in graph if spec.name == "franka_fci_relay"}
    assert {arm: (each["address"], each["control"]) for arm, each in own.items()} == {
        "left": ("10.0.0.2", control), "right": ("10.0.0.3", control),
    }  # fmt: skip


def test_two_arms_in_one_place_are_refused(tmp_path: Path) -> None:
    content = yaml.safe_load((ROOT / "config" / "tasks" / "dual_arm_grab.yaml").read_text())
    first, second = content["arms"]
    for key in ("base_position", "base_yaw", "base_rpy"):
        second.pop(key, None)
        second |= copy.deepcopy({key: first[key]}) if key in first else {}
    file = tmp_path / "one_place.yaml"
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(
        InvalidInputError, match=r"arms\[.*\].base_position: got .*, expected another place than that of"
    ):
        dual_arm_graph(DualArmOptions(task=str(file)))


def test_selected_nodes_keep_the_order_of_the_graph() -> None:
    graph = single_arm_graph(SingleArmOptions())
    assert names(select_nodes(graph, " sim_robot, impact_detector,")) == ["impact_detector", "sim_robot"]
    assert select_nodes(graph, "") == graph
    assert select_nodes(graph, " , ") == graph


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
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=("Cs", "Cc"))),
    st.sampled_from(AWKWARD),
    st.lists(st.sampled_from(AWKWARD), min_size=1),
))  # fmt: skip
def test_parameters_survive_the_command_line(value: object) -> None:
    """ROS reads the text after `:=` as YAML; a number without point or exponent is an integer to it."""
    text = overrides(NodeSpec("run", "node", parameters={"value": value}).ros_arguments())["value"]
    # YAML 1.1 wants a point beside an exponent, ROS does not.
    read = float(text) if isinstance(value, float) and set(text) & set(".e") else yaml.safe_load(text)
    assert read == value
    assert type(read) is type(value)


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


WATCHERS = [
    "cell/left/impact_detector", "cell/right/impact_detector", "cell/left/jump_predictor", "cell/right/jump_predictor",
    "cell/reference_field", "cell/left/impact_markers", "cell/right/impact_markers",
]  # fmt: skip


def test_one_process_holds_all_but_the_plant_and_starts_the_controller_first() -> None:
    graph = dual_arm_graph(DualArmOptions(namespace="cell"))
    recorder = NodeSpec("bag_recorder", "bag_recorder")
    group, *alone = in_one_process((recorder, *graph))
    assert [spec.name for spec in alone] == ["bag_recorder", "sim_robot"]
    assert [spec.full_name for spec in group.members] == ["cell/rs_controller", *WATCHERS]
    assert {spec.full_name for spec in (*group.members, *alone)} == {spec.full_name for spec in (recorder, *graph)}
    assert group.arguments() == [node_word(spec) for spec in group.members]


def test_who_only_watches_shares_a_process_without_the_controller() -> None:
    graph = dual_arm_graph(DualArmOptions(namespace="cell", watchdog=True))
    group, *alone = in_one_process(graph, "watchers")
    assert [spec.full_name for spec in alone] == ["cell/rs_controller", "cell/command_watchdog", "cell/sim_robot"]
    assert [spec.full_name for spec in group.members] == WATCHERS
    assert in_one_process(graph, "none") == graph


def test_a_node_without_company_needs_no_group() -> None:
    graph = select_nodes(single_arm_graph(SingleArmOptions()), "rs_controller,sim_robot")
    assert in_one_process(graph) == graph
    assert graph[0].arguments() == graph[0].ros_arguments()


OTHER_THAN_DECLARED = {
    ("impact_markers", "legend_position"): None,
    ("sim_robot", "encoder_resolution"): 1e-6,
    ("sim_robot", "position_noise"): 1e-6,
    ("sim_robot", "velocity_noise"): 5e-4,
    ("sim_robot", "delay"): 1,
}
"""What the files of parameters set to something else than what the nodes declare; None: each to its own."""


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
            assert OTHER_THAN_DECLARED.get((node, name)) in (None, value), (node, name, value)
