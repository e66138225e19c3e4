"""What a replay plays, and who listens, from what is in the recording."""

from pathlib import Path

import numpy as np
import pytest
from recorded_bag import PANDA, STORE, write_messages

from impact_aware.bringup.graph import SingleArmOptions, single_arm_graph
from impact_aware.bringup.replay_graph import plan_replay, player_arguments, player_qos
from impact_aware.errors import InvalidInputError
from impact_aware.resources import find_resource


def recording(path: Path, topics: dict[str, list[str]], others: tuple[str, ...] = ()) -> Path:
    """A bag with one joint state per topic, and empty strings on other topics."""
    types = STORE.types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](1, 0), "")
    zeros = {topic: [np.zeros(len(names))] * 3 for topic, names in topics.items()}
    states = {topic: types["sensor_msgs/msg/JointState"](header, topics[topic], *zeros[topic]) for topic in topics}
    words = dict.fromkeys(others, types["std_msgs/msg/String"](""))
    write_messages(path, [(topic, 1.0, message) for topic, message in (states | words).items()])
    return path


def test_measurements_are_played_and_neither_commands_nor_what_the_nodes_say(tmp_path: Path) -> None:
    others = (
        "/effort_controller/commands",
        "/impacts",
        "/predicted_jumps",
        "/impact_markers",
        "/clock",
        "/object_pose",
    )
    replay = plan_replay(recording(tmp_path / "bag", {"/joint_states": PANDA}, others))
    assert replay.topics == ("/joint_states", "/object_pose")


def test_bases_that_were_looked_up_come_with_the_recorded_task(tmp_path: Path) -> None:
    task = tmp_path / "cell.yaml"
    text = find_resource("config", "tasks", "hit_and_push.yaml").read_text()
    text = text.replace("  - robot: panda\n", "  - robot: panda\n    base_in_tf: mount\n")
    task.write_text(text.replace("frame: panda_link0", "frame: cell"))
    bag = recording(tmp_path / "bag", {"/joint_states": PANDA}, ("/task", "/reference_field"))
    replay = plan_replay(bag, task=str(task))
    assert replay.topics == ("/joint_states", "/reference_field", "/task")
    assert all(spec.parameters["base_from_task"] for spec in replay.nodes[:2])
    assert player_qos(replay.topics)["/task"]["durability"] == "transient_local"
    assert plan_replay(bag, task="hit_and_push").topics == ("/joint_states", "/reference_field")


def test_one_arm_is_watched_by_the_nodes_of_the_single_arm_graph_in_recorded_time(tmp_path: Path) -> None:
    replay = plan_replay(recording(tmp_path / "bag", {"/cell/joint_states": PANDA}), task="hit_and_push")
    assert (replay.namespaces, replay.robots) == (("cell",), ("panda",))
    watching = {"simulation": False, "control": False, "autostart": False}
    expected = single_arm_graph(SingleArmOptions(namespace="cell", **watching))
    found = {spec.executable: spec for spec in replay.nodes}
    assert found.keys() == {spec.executable for spec in expected}
    for spec in expected:
        assert found[spec.executable].namespace == "cell"
        assert found[spec.executable].parameters == {**spec.parameters, "use_sim_time": True}


def test_two_arms_are_found_by_their_joint_states(tmp_path: Path) -> None:
    bag = recording(tmp_path / "bag", {"/left/joint_states": PANDA, "/right/joint_states": PANDA})
    replay = plan_replay(bag)
    assert (replay.namespaces, replay.task) == (("left", "right"), "dual_arm_grab")
    detectors = [spec.full_name for spec in replay.nodes if spec.executable == "impact_detector"]
    assert detectors == ["left/impact_detector", "right/impact_detector"]
    # No field is recorded, so the node that makes one runs.
    assert "reference_field" in {spec.executable for spec in replay.nodes}


def test_one_of_two_arms_alone(tmp_path: Path) -> None:
    bag = recording(tmp_path / "bag", {"/left/joint_states": PANDA, "/right/joint_states": PANDA})
    replay = plan_replay(bag, namespaces=["/left/"], task="dual_arm_grab")
    assert replay.namespaces == ("left",)
    assert not any(spec.namespace == "right" for spec in replay.nodes)


@pytest.mark.parametrize(
    ("topics", "arguments", "message"),
    [
        (
            {"/joint_states": PANDA},
            {"namespaces": ["left"]},
            "namespaces: got 'left', expected .* joint_states: .none.",
        ),
        ({"/joint_states": ["a", "b"]}, {}, "robot: got nothing, expected a robot profile"),
        ({"/joint_states": PANDA}, {"task": "juggle"}, "task: got 'juggle'"),
        ({"/joint_states": PANDA, "/franka/joint_states": PANDA}, {}, "namespaces: got .none., franka, expected arms"),
        ({}, {}, "bag: got .*, expected a recording with a topic joint_states"),
    ],
)
def test_what_can_not_be_replayed_is_refused_in_one_line(tmp_path: Path, topics, arguments, message) -> None:
    bag = recording(tmp_path / "bag", topics, ("/other",))
    with pytest.raises(InvalidInputError, match=message) as refusal:
        plan_replay(bag, **arguments)
    assert "\n" not in str(refusal.value)


def test_the_player_is_told_rate_clock_and_topics() -> None:
    given = {"rate": 0.1, "start_paused": True, "loop": True, "delay": 3.0, "start_offset": 12.5, "qos_file": "q"}
    words = player_arguments("b", ["/joint_states"], **given)
    assert words[:4] == ["ros2", "bag", "play", "b"]
    assert words[-2:] == ["--topics", "/joint_states"]
    pairs = (("--clock", "100"), ("--rate", "0.1"), ("--delay", "3"), ("--qos-profile-overrides-path", "q"))
    for pair in (*pairs, ("--start-offset", "12.5")):
        assert words[words.index(pair[0]) + 1] == pair[1]
    assert {"--start-paused", "--loop"} <= set(words)


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"rate": float("nan")}, {"delay": -1.0}, {"start_offset": -1.0}])
def test_a_rate_that_is_none_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        player_arguments("b", ["/joint_states"], **wrong)


def test_states_are_played_reliably_and_fields_are_kept() -> None:
    qos = player_qos(["/left/joint_states", "/reference_field", "/object_pose", "/tf_static"])
    assert set(qos) == {"/left/joint_states", "/reference_field", "/tf_static"}
    assert qos["/left/joint_states"]["reliability"] == "reliable"
    assert qos["/reference_field"]["durability"] == qos["/tf_static"]["durability"] == "transient_local"
    # One field, but the static frames of several publishers.
    assert (qos["/reference_field"]["depth"], qos["/tf_static"]["depth"]) == (1, 100)
