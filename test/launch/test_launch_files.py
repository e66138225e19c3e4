"""The launch files: what each would start, with which names, topics, parameters and arguments, for every choice.

What is started for choices of drivers and switches is held by `started.txt`.
"""

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from kept_texts import assert_same
from launch_started import ROOT, Started, evaluate, launch_file, started, started_by
from launch_texts import DUAL, KEPT, SINGLE, started_text

from impact_aware.bringup.node_spec import node_of_word
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.resources import find_resource

pytestmark = [pytest.mark.launch, pytest.mark.usefixtures("launch_packages")]


@pytest.fixture(autouse=True)
def processors_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each node has a process of its own, whatever this machine has."""
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(8)))


def test_what_each_choice_starts_is_as_it_was_when_somebody_last_looked_at_it() -> None:
    assert_same(started_text(), KEPT)


def test_without_arguments_a_robot_is_only_watched_and_drawn() -> None:
    for name in (SINGLE, DUAL):
        assert started(name, {}) == started(name, {"markers": "true"})
    assert [node.full_name for node in started(SINGLE, {})] == [
        "/impact_detector",
        "/jump_predictor",
        "/impact_markers",
    ]


def test_an_arm_that_somebody_else_brings_up_is_watched_without_profile_and_task() -> None:
    words = {"namespace": "/left/", "joint_states": "/joint_states", "surface_point": "0.4, 0 0.02"}
    nodes = {node.executable: node for node in started("watch", words | {"sampling_period": "0.002"})}
    assert [node.full_name for node in nodes.values()] == [
        "/left/impact_detector", "/left/jump_predictor", "/left/impact_markers",
    ]  # fmt: skip
    assert {str(node.remappings) for node in nodes.values()} == {"{'joint_states': '/joint_states'}"}
    detector, predictor = nodes["impact_detector"].parameters, nodes["jump_predictor"].parameters
    assert detector["from_description"] and detector["lowest_rate"] == 250.0
    assert (predictor["robot"], predictor["surface_point"]) == ("", [0.4, 0.0, 0.02])
    assert len(started("watch", {"markers": "False"})) == 2
    with pytest.raises(InvalidInputError, match="normal: got '0 1', expected three numbers"):
        started("watch", {"normal": "0 1"})
    page = (ROOT / "docs" / "interfaces.md").read_text(encoding="utf-8").partition("```xml")[2].partition("```")[0]
    included = {arg.get("name"): arg.get("value") for arg in ElementTree.fromstring(page).iter("arg")}
    assert started("watch", included) and included.keys() < launch_file("watch").TEXTS.keys()


def test_what_is_said_goes_before_what_the_hardware_says() -> None:
    words = {
        "hardware": "franka",
        "control": "true",
        "robot": "panda",
        "joint_states": "fast",
        "commands": "torque/commands",
    }
    nodes = {node.executable: node for node in started(SINGLE, {**words, "period": "0.004"})}
    assert nodes["rs_controller"].remappings == {
        "joint_states": "fast",
        "effort_controller/commands": "torque/commands",
    }
    assert nodes["impact_detector"].remappings == {"joint_states": "fast"}
    assert nodes["rs_controller"].parameters["robot"] == "panda"
    assert (
        nodes["rs_controller"].parameters["period"] == nodes["impact_detector"].parameters["sampling_period"] == 0.004
    )
    # The hardware's own period gives way too.
    nodes = {
        n.executable: n for n in started(SINGLE, {"hardware": "kuka_fri", "robot": "kuka_lwr4", "period": "0.005"})
    }
    assert nodes["impact_detector"].parameters["sampling_period"] == 0.005


def test_laws_need_no_topic_for_efforts() -> None:
    words = {"hardware": "kuka_fri", "robot": "kuka_lwr4", "control": "true"}
    kortex = "commands: got nothing for hardware kinova, expected .* as ros2_kortex 0.2.5 exports an effort"
    with pytest.raises(InvalidInputError, match=kortex):
        evaluate(SINGLE, words | {"hardware": "kinova"})
    nodes = {node.executable: node for node in started(SINGLE, {**words, "command_interface": "local_law"})}
    assert nodes["rs_controller"].parameters["command_interface"] == "local_law"
    assert "kuka_fri_relay" not in nodes, "it takes torques"
    nodes = {node.executable: node for node in started(SINGLE, {**words, "commands": "mine/efforts"})}
    assert "kuka_fri_relay" not in nodes, "somebody else's does it"
    assert nodes["command_watchdog"].parameters["hardware_components"] == ["lbr_system_interface"]
    assert "command_interface" not in nodes["command_watchdog"].parameters
    nodes = {node.executable: node for node in started(DUAL, {"control": "true", "simulation": "true"})}
    assert not any("command_interface" in node.parameters for node in nodes.values())


def test_a_driver_of_the_suite_is_started_for_each_arm_and_takes_laws() -> None:
    words = {"hardware": "franka_fci", "address": "10.0.0.2"}
    (relay,) = [node for node in started(SINGLE, words) if node.executable == "franka_fci_relay"]
    assert (relay.parameters["address"], relay.parameters["robot"]) == ("10.0.0.2", "fr3")
    assert relay.parameters["control"] is False
    nodes = {node.executable: node for node in started(SINGLE, {**words, "control": "true"})}
    assert nodes["franka_fci_relay"].parameters["control"] is True
    assert nodes["rs_controller"].parameters["command_interface"] == "local_law"
    assert "command_watchdog" not in nodes, "laws end by themselves"
    assert "franka_fci_relay" not in {node.executable for node in started(SINGLE, {**words, "simulation": "true"})}
    both = [node for node in started(DUAL, {"hardware": "franka_fci", "address": "10.0.0.2,10.0.0.3"})]
    own = [(n.full_name, n.parameters["address"]) for n in both if n.executable == "franka_fci_relay"]
    assert own == [("/left/franka_fci_relay", "10.0.0.2"), ("/right/franka_fci_relay", "10.0.0.3")]
    with pytest.raises(InvalidInputError, match="address: got 10.0.0.2, expected 2, one per arm"):
        evaluate(DUAL, words)
    with pytest.raises(InvalidInputError, match="command_interface: got effort, expected local_law, as franka_fci"):
        evaluate(SINGLE, {**words, "command_interface": "effort"})


def test_a_controller_without_a_timeout_is_not_run_without_the_watchdog() -> None:
    words = {"control": "true", "command_interface": "linear_feedback", "watchdog": "false"}
    with pytest.raises(InvalidInputError, match="watchdog: got false, expected auto or true, as linear_feedback_"):
        evaluate(SINGLE, words)
    assert started(SINGLE, {**words, "control": "false"})


def watchdogs(name: str, **words: str) -> list[Started]:
    return [node for node in started(name, {"control": "true", **words}) if node.executable == "command_watchdog"]


def test_whoever_takes_the_commands_is_taken_off_the_arm_by_the_watchdog() -> None:
    for words, controllers in (
        ({"commands": "forward_effort_controller/commands"}, ["forward_effort_controller"]),
        ({"commands": "/cell/torque/commands"}, ["torque"]),
        ({"commands": "torque/commands", "controller": "mine"}, ["mine"]),
        ({"hardware": "franka", "command_interface": "linear_feedback"}, ["linear_feedback_controller"]),
        ({"hardware": "kuka_fri", "robot": "kuka_lwr4", "command_interface": "linear_feedback"}, None),
    ):
        (node,) = watchdogs(SINGLE, **words)
        assert node.parameters["controllers"] == (controllers or ["linear_feedback_controller"]), words
    (node,) = watchdogs(SINGLE, command_interface="linear_feedback")
    assert node.parameters["command_interface"] == "linear_feedback"


def test_a_watchdog_is_there_where_nobody_else_stops_the_arm_or_where_it_is_asked_for() -> None:
    assert watchdogs(SINGLE, watchdog="false") == []
    assert watchdogs(SINGLE, command_interface="local_law") == []
    assert watchdogs(SINGLE, simulation="true") == []
    assert len(watchdogs(SINGLE, simulation="true", watchdog="true")) == 1
    assert len(watchdogs(DUAL)) == 1, "one for both arms"
    assert watchdogs(SINGLE, control="false", watchdog="true") == []
    expected = "controller: got nothing, expected the name of the controller that takes local_law"
    with pytest.raises(InvalidInputError, match=expected):
        evaluate(SINGLE, {"control": "true", "command_interface": "local_law", "watchdog": "true"})


def test_the_seed_and_the_task_reach_the_plant_and_a_namespace_loses_its_slashes(tmp_path: Path) -> None:
    task = tmp_path / "mine.yaml"
    text = (ROOT / "config" / "tasks" / "hit_and_push.yaml").read_text()
    task.write_text(text.replace("mass: 2.20", "mass: 1.75"))
    words = {"simulation": "true", "control": "true", "seed": "7", "task": str(task), "namespace": "/left/"}
    nodes = {node.executable: node for node in started(SINGLE, words)}
    assert nodes["sim_robot"].parameters["seed"] == 7
    assert nodes["sim_robot"].parameters["task"] == nodes["reference_field"].parameters["task"] == str(task)
    assert nodes["jump_predictor"].parameters["object_mass"] == 1.75
    assert {node.namespace for node in nodes.values()} == {"/left"}


@pytest.fixture
def rotated_task(tmp_path: Path) -> Path:
    """The grab with a right arm whose base is displaced and rotated, while every base that ships is straight."""
    path = tmp_path / "rotated.yaml"
    text = (ROOT / "config" / "tasks" / "dual_arm_grab.yaml").read_text()
    path.write_text(
        text.replace("base_position: [0.0, -0.35, 0.0]", "base_position: [0.1, -0.35, 0.0]\n    base_yaw: 0.4")
    )
    return path


@pytest.mark.parametrize("drawn_as", ["left/panda_link0", "left_mount"])
def test_a_base_in_tf_is_told_to_nobody_and_not_published_again(tmp_path: Path, drawn_as: str) -> None:
    path = tmp_path / "cell.yaml"
    text = (ROOT / "config" / "tasks" / "dual_arm_grab.yaml").read_text()
    path.write_text(text.replace("base_position: [0.0, 0.35, 0.0]", f"base_in_tf: {drawn_as}"))
    words = {"task": str(path), "control": "true", "hardware": "franka", "rviz": "true"}
    nodes = {node.full_name: node for node in started(DUAL, words)}
    assert nodes["/rs_controller"].parameters["bases_from_task"] and "bases" not in nodes["/rs_controller"].parameters
    for arm in ("left", "right"):
        for name in ("impact_detector", "jump_predictor"):
            assert nodes[f"/{arm}/{name}"].parameters["base_from_task"]
    transform = nodes.get("/left/static_transform_publisher")
    if drawn_as == "left_mount":
        assert transform.arguments == ["--frame-id", "left_mount", "--child-frame-id", "left/panda_link0"]
    else:
        assert transform is None
    assert nodes["/right/static_transform_publisher"].option("--y") == "-0.35"
    # A simulated arm stands where numbers have it; this one has none.
    simulated = {key: value for key, value in words.items() if key != "hardware"} | {"simulation": "true"}
    with pytest.raises(InvalidInputError, match=r"arms\[left\].base_in_tf: got .*, expected base_position"):
        started(DUAL, simulated)
    looked_up = started(DUAL, simulated | {"bases_from_tf": "true", "rviz": "false"})
    assert "bases_from_task" in {name for node in looked_up for name in node.parameters}


def test_a_rotated_base_reaches_everybody_who_needs_it(rotated_task: Path) -> None:
    words = {"task": str(rotated_task), "simulation": "true", "control": "true", "rviz": "true"}
    nodes = {node.full_name: node for node in started(DUAL, words)}
    assert nodes["/rs_controller"].parameters["bases"] == [*[0.0, 0.35, 0, 0, 0, 0], *[0.1, -0.35, 0, 0, 0, 0.4]]
    transform = nodes["/right/static_transform_publisher"]
    assert [transform.option(f"--{name}") for name in ("x", "y", "z", "yaw")] == ["0.1", "-0.35", "0.0", "0.4"]
    # By hand: sin 0.4 = 0.389418342309 and cos 0.4 = 0.921060994003, rotated back by the yaw.
    right = nodes["/right/jump_predictor"].parameters
    assert right["normal"] == pytest.approx([-0.389418342309, -0.921060994003, 0.0], abs=1e-11)
    assert right["object_position"] == pytest.approx([0.550773867109, 0.147133093862, 0.4], abs=1e-11)
    assert right["object_half_extents"] == [0.1, 0.065, 0.1]
    assert right["object_rpy"] == pytest.approx([0.0, 0.0, -0.4], abs=1e-11)
    assert nodes["/right/impact_detector"].parameters["normal"] == right["normal"]
    assert nodes["/left/jump_predictor"].parameters["object_position"] == [0.55, -0.35, 0.4]


@pytest.mark.parametrize(
    ("base", "numbers"),
    [
        ("base_position: [0.0, 0.2, 0.0]", [0.0, 0.2, 0.0, 0.0, 0.0, 0.0]),
        ("base_yaw: 0.4", [0.0, 0.0, 0.0, 0.0, 0.0, 0.4]),
        ("base_rpy: [0.1, -0.2, 0.3]", [0.0, 0.0, 0.0, 0.1, -0.2, 0.3]),
    ],
)
def test_where_the_base_of_one_arm_stands_reaches_everybody_who_needs_it(
    tmp_path: Path, base: str, numbers: list[float]
) -> None:
    task = tmp_path / "mine.yaml"
    text = (ROOT / "config" / "tasks" / "hit_and_push.yaml").read_text()
    elsewhere = text.replace("  - robot: panda\n", f"  - robot: panda\n    {base}\n")
    task.write_text(elsewhere.replace("frame: panda_link0", "frame: cell"))
    words = {"task": str(task), "control": "true", "simulation": "true", "rviz": "true"}
    nodes = {node.executable: node for node in started(SINGLE, words)}
    assert nodes["rs_controller"].parameters["bases"] == numbers
    assert nodes["jump_predictor"].parameters["base"] == numbers
    assert nodes["jump_predictor"].parameters["task_frame"] == "cell"
    assert nodes["impact_detector"].parameters.get("base_rpy", [0.0] * 3) == numbers[3:]
    transform = nodes["static_transform_publisher"]
    options = ("x", "y", "z", "roll", "pitch", "yaw")
    assert [float(transform.option(f"--{name}")) for name in options] == numbers
    assert transform.option("--frame-id") == "cell"
    assert transform.option("--child-frame-id") == "panda_link0"
    task.write_text(elsewhere)
    with pytest.raises(InvalidInputError, match="frame: got panda_link0, expected another name than that of the base"):
        started(SINGLE, words)
    straight = {node.executable: node for node in started(SINGLE, words | {"task": "hit_and_push"})}
    assert "bases" not in straight["rs_controller"].parameters
    assert "static_transform_publisher" not in straight


@pytest.mark.parametrize(
    ("name", "wanted", "found"),
    [
        (SINGLE, "jump_predictor, impact_detector", ["/impact_detector", "/jump_predictor"]),
        (DUAL, "impact_detector", ["/left/impact_detector", "/right/impact_detector"]),
        (DUAL, "right/jump_predictor,reference_field", ["/right/jump_predictor", "/reference_field"]),
    ],
)
def test_only_the_nodes_that_are_asked_for(name: str, wanted: str, found: list[str]) -> None:
    assert [node.full_name for node in started(name, {"nodes": wanted})] == found


def test_a_parameter_file_of_the_user_replaces_the_packages(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("/**/impact_detector: {ros__parameters: {lowest_rate: 10.0}}")
    for node in started(SINGLE, {"parameter_file": str(mine)}):
        # The real launch may read the file into the node's own.
        assert (
            node.files == [mine]
            or (not node.files and node.executable != "impact_detector")
            or (node.parameters["lowest_rate"] == 10.0)
        )


def test_the_namespace_of_an_including_launch_file_comes_in_front() -> None:
    """Two arms by including the file twice, each after `PushRosNamespace`."""
    nodes = started(SINGLE, {"namespace": "arm"}, ros_namespace="/left")
    assert nodes[0].full_name == "/left/arm/impact_detector"


@pytest.mark.parametrize("name", [SINGLE, DUAL])
def test_one_process_holds_the_same_nodes_but_the_plant(name: str) -> None:
    words = {"simulation": "true", "control": "true", "lockstep": "true", "namespace": "cell"}
    apart = {node.full_name: node for node in started(name, words) if node.package == "impact_aware"}
    group, plant, *frames = started(name, words | {"single_process": "true"})
    assert (group.executable, group.name, plant) == ("node_group", "", apart["/cell/sim_robot"])
    assert {node.package for node in frames} <= {"robot_state_publisher", "tf2_ros"}
    members = [node_of_word(word) for word in group.arguments]
    assert [spec.executable for spec in members][:2] == ["rs_controller", "impact_detector"]
    assert {f"/{spec.full_name}" for spec in members} == set(apart) - {"/cell/sim_robot"}
    for spec in members:
        node = apart[f"/{spec.full_name}"]
        assert (spec.executable, [*spec.parameter_files]) == (node.executable, node.files)
        assert (spec.parameters, spec.remappings) == (node.parameters, node.remappings)


@pytest.mark.parametrize(
    ("name", "words", "processors", "expected"),
    [
        (DUAL, {}, 2, True),
        (DUAL, {}, 3, False),
        (SINGLE, {}, 2, False),
        (SINGLE, {}, 1, True),
        (DUAL, {"lockstep": "true"}, 2, False),
        (DUAL, {"simulation": "false"}, 1, False),
        (DUAL, {"single_process": "false"}, 2, False),
        (SINGLE, {"single_process": "watchers", "simulation": "false"}, 8, True),
    ],
)
def test_those_that_watch_share_a_process_beside_a_plant_in_wall_time_on_few_processors(
    monkeypatch: pytest.MonkeyPatch, name: str, words: dict[str, str], processors: int, expected: bool
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(processors)))
    nodes = started(name, {"simulation": "true", "control": "true", **words})
    groups = [node for node in nodes if node.executable == "node_group"]
    assert len(groups) == expected
    for group in groups:
        assert "rs_controller" not in {node_of_word(word).executable for word in group.arguments}
        assert {node.executable for node in nodes} >= {"rs_controller", "node_group"}


def test_the_namespace_of_an_including_launch_file_comes_in_front_of_each_member() -> None:
    words = {"single_process": "true", "namespace": "inner", "nodes": "impact_detector,jump_predictor"}
    (group,) = started(SINGLE, words, ros_namespace="/outer")
    names = [node_of_word(word).full_name for word in group.arguments]
    assert names == ["outer/inner/impact_detector", "outer/inner/jump_predictor"]


def test_text_that_looks_like_a_number_stays_text() -> None:
    from launch import LaunchContext
    from launch_ros.actions import Node

    from impact_aware.bringup.launching import typed

    parameters = {"a": "1", "b": "yes", "c": "", "d": "x: y", "e": 2, "f": [0.0, 1.0], "g": True}
    action = Node(package="impact_aware", executable="run", name="node", namespace="", parameters=[typed(parameters)])
    assert started_by(action, LaunchContext()).parameters == parameters


def test_every_node_shows_its_log_on_the_screen() -> None:
    actions, _ = evaluate(SINGLE, {"simulation": "true", "control": "true"})
    own = [action for action in actions if action.node_package == "impact_aware"]
    assert len(own) > 4 and all(output_of(action) == "screen" for action in own)


def output_of(action: Any) -> str:
    """Where a process writes; the real launch keeps it as a substitution."""
    output = action.output if hasattr(action, "output") else action._ExecuteLocal__output
    return output if isinstance(output, str) else output[0].text


@pytest.mark.parametrize(
    ("name", "arguments", "error", "message"),
    [
        (SINGLE, {"robot": "pandaa"}, UnknownNameError, "robot: got 'pandaa', expected one of"),
        (SINGLE, {"task": "juggle"}, InvalidInputError, "task: got 'juggle'"),
        (
            SINGLE,
            {"nodes": "impact_detector,rs_controller"},
            UnknownNameError,
            "node: got 'rs_controller', expected one",
        ),
        (SINGLE, {"seed": "x"}, InvalidInputError, "seed: got 'x', expected a whole number"),
        (SINGLE, {"realtime_priority": "high"}, InvalidInputError, "realtime_priority: got 'high', expected a whole"),
        (DUAL, {"realtime_priority": "100"}, InvalidInputError, "realtime_priority: got 100, expected 0 to 99"),
        (SINGLE, {"hardware": "frank"}, UnknownNameError, "hardware: got .frank., expected one of franka, franka_fci"),
        (SINGLE, {"hardware": "missing.yaml"}, InvalidInputError, "hardware: got missing.yaml, expected an existing"),
        (SINGLE, {"hardware": "ros2_control"}, InvalidInputError, "robot: got nothing, expected a profile of your arm"),
        (SINGLE, {"hardware": "kuka_fri"}, InvalidInputError, "robot: got nothing, expected a profile of your arm"),
        (SINGLE, {"period": "fast"}, InvalidInputError, "period: got 'fast', expected a number"),
        (SINGLE, {"period": "0.5"}, InvalidInputError, "period: got 0.5, expected a period from"),
        (SINGLE, {"parameter_file": "missing.yaml"}, InvalidInputError, "parameter_file: got missing.yaml"),
        (SINGLE, {"command_interface": "law"}, RuntimeError, "command_interface"),
        (SINGLE, {"simulation": "maybe"}, RuntimeError, "simulation"),
        (DUAL, {"single_process": "maybe"}, RuntimeError, "single_process"),
        (SINGLE, {"task": "dual_arm_grab"}, InvalidInputError, "task: got dual_arm_grab, expected a task for one arm"),
        (DUAL, {"task": "hit_and_push"}, InvalidInputError, "task: got hit_and_push, expected a task for several arms"),
        (DUAL, {"nodes": "middle/impact_detector"}, UnknownNameError, "node: got 'middle/impact_detector'"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    name: str, arguments: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as refusal:
        evaluate(name, arguments)
    assert "\n" not in str(refusal.value)


def test_the_nodes_of_the_loop_are_as_urgent_as_asked_for() -> None:
    words = {"control": "true", "hardware": "kuka_fri", "robot": "panda", "realtime_priority": "30"}
    found = {node.executable: node.parameters.get("realtime_priority") for node in started(SINGLE, words)}
    assert {name for name, priority in found.items() if priority == 30} == {"impact_detector"}
    answering = {"rs_controller", "kuka_fri_relay", "command_watchdog"}
    assert {name for name, priority in found.items() if priority == 31} == answering
    assert {name for name, priority in found.items() if priority == 29} == {"jump_predictor", "reference_field"}
    assert {name for name, priority in found.items() if priority is None} == {"impact_markers"}


def test_switches_may_be_written_as_python_writes_them() -> None:
    for lower, upper in (("true", "True"), ("false", "False")):
        names = ("simulation", "control", "autostart", "single_process", "watchdog", "bases_from_tf", "markers")
        assert started(SINGLE, dict.fromkeys(names, upper)) == started(SINGLE, dict.fromkeys(names, lower))


@pytest.mark.parametrize("hardware", ["franka", "kuka_fri"])
def test_a_profile_that_takes_gravity_otherwise_than_its_driver_is_refused(tmp_path: Path, hardware: str) -> None:
    shipped = find_resource("config", "robots", "fr3.yaml")
    text = shipped.read_text().replace("command_includes_gravity: false", "command_includes_gravity: true")
    own = tmp_path / "mine.yaml"
    own.write_text(text.replace("urdf: fr3.urdf", f"urdf: {shipped.parent / 'fr3.urdf'}"))
    words, task = {"hardware": hardware, "robot": str(own), "control": "true"}, tmp_path / "two.yaml"
    text = (ROOT / "config" / "tasks" / "dual_arm_grab.yaml").read_text()
    task.write_text(text.replace("name: right\n    robot: panda", f"name: right\n    robot: {own}"))
    of_two = {"hardware": hardware, "task": str(task), "control": "true"}
    for name, given in ((SINGLE, words), (DUAL, of_two)):
        with pytest.raises(InvalidInputError, match="gravity: got true, expected false, as the driver of"):
            evaluate(name, given)
    # Who only watches, or simulates, commands no driver.
    evaluate(SINGLE, words | {"control": "false"})
    evaluate(SINGLE, words | {"simulation": "true"})


@pytest.mark.parametrize(
    ("name", "own", "task"), [(SINGLE, {"robot": ""}, "hit_and_push"), (DUAL, {}, "dual_arm_grab")]
)
def test_every_argument_has_a_description_and_the_default_of_the_documentation(
    name: str, own: dict[str, str], task: str
) -> None:
    from launch.actions import DeclareLaunchArgument

    entities = launch_file(name).generate_launch_description().entities
    arguments = [entity for entity in entities if isinstance(entity, DeclareLaunchArgument)]
    assert all(argument.description for argument in arguments)
    defaults = {argument.name: text_of(argument.default_value) for argument in arguments}
    assert defaults == {
        **own,
        "simulation": "false",
        "lockstep": "false",
        "control": "false",
        "autostart": "false",
        "markers": "true",
        "single_process": "auto",
        "bases_from_tf": "auto",
        "rviz": "false",
        "namespace": "",
        "task": task,
        "parameter_file": "",
        "hardware": "",
        "joint_states": "",
        "commands": "",
        "controller": "",
        "watchdog": "auto",
        "period": "",
        "seed": "0",
        "realtime_priority": "0",
        "plant": "flexible",
        "address": "",
        "command_interface": "auto",
        "nodes": "",
    }


def text_of(default: Any) -> str:
    """A default, which the real launch keeps as a list of substitutions."""
    return default if isinstance(default, str) else "".join(part.text for part in default)
