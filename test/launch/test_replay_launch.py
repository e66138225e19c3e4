"""The replay launch file: nodes, then the player, then the end."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from launch_started import REAL, ROOT, evaluate, launch_file, started, started_by
from recorded_bag import PANDA, resting_bag

from impact_aware.errors import InvalidInputError
from impact_aware.robot import load_profile
from impact_aware.robot.shown_urdf import shown_urdf

pytestmark = [pytest.mark.launch, pytest.mark.usefixtures("launch_packages")]


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    """One joint state of each of two arms."""
    return resting_bag(tmp_path / "bag", "left", "right")


def player_of(actions: list[Any]) -> Any:
    from launch.actions import ExecuteProcess

    (player,) = [action for action in actions if type(action) is ExecuteProcess]
    return player


def words_of(player: Any, context: Any) -> list[str]:
    from launch.utilities import perform_substitutions

    return [perform_substitutions(context, part) for part in player.cmd]


ARM = ("impact_detector", "jump_predictor", "impact_markers")


def test_every_arm_is_watched_and_the_player_comes_last(bag: Path) -> None:
    from launch.actions import RegisterEventHandler, Shutdown, TimerAction

    arguments = {"bag": str(bag), "rate": "0.5", "start_offset": "2.5", "start_paused": "true", "loop": "true"}
    actions, context = evaluate("replay", arguments)
    words = words_of(player_of(actions), context)
    qos_file = words[words.index("--qos-profile-overrides-path") + 1]
    assert words == [
        *("ros2", "bag", "play", str(bag), "--clock", "100", "--rate", "0.5", "--start-paused", "--loop"),
        *("--delay", "3", "--start-offset", "2.5", "--qos-profile-overrides-path", qos_file),
        *("--topics", "/left/joint_states", "/right/joint_states"),
    ]
    reliable = {"reliability": "reliable", "durability": "volatile", "history": "keep_last", "depth": 1000}
    assert yaml.safe_load(Path(qos_file).read_text()) == {
        "/left/joint_states": reliable,
        "/right/joint_states": reliable,
    }
    # The end of the recording ends the nodes, a little later.
    *nodes, player, handler = actions
    assert player is player_of(actions)
    assert isinstance(handler, RegisterEventHandler)
    if not REAL:
        (timer,) = handler.event_handler.on_exit
        assert handler.event_handler.target_action is player
        assert isinstance(timer, TimerAction) and timer.period == 2.0
        assert isinstance(timer.actions[0], Shutdown)
    found = {node.full_name: node for node in (started_by(action, context) for action in nodes)}
    arms = {f"/{arm}/{name}" for arm in ("left", "right") for name in ARM}
    # Without a recorded field somebody must say where the object is.
    assert set(found) == arms | {"/reference_field"}
    assert all(node.parameters["use_sim_time"] is True for node in found.values())
    assert found["/right/jump_predictor"].parameters["object_position"] == [0.55, 0.35, 0.4]
    assert found["/left/impact_detector"].parameters["joints"] == PANDA


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"markers": "false"}, ["/left/impact_detector", "/left/jump_predictor"]),
        ({"nodes": "jump_predictor"}, ["/left/jump_predictor"]),
    ],
)
def test_what_of_one_arm_is_left(bag: Path, arguments: dict[str, str], names: list[str]) -> None:
    found = [node.full_name for node in started("replay", {"bag": str(bag), "namespaces": "left", **arguments})]
    assert [name for name in found if name != "/reference_field"] == names


def test_with_rviz_everything_stays_after_the_end_and_each_arm_has_its_frames(bag: Path) -> None:
    from launch.actions import RegisterEventHandler

    actions, _ = evaluate("replay", {"bag": str(bag), "rviz": "true"})
    assert not any(isinstance(action, RegisterEventHandler) for action in actions)
    view = [node for node in started("replay", {"bag": str(bag), "rviz": "true"}) if node.package != "impact_aware"]
    assert [node.full_name for node in view] == [
        "/rviz2",
        "/left/robot_state_publisher",
        "/static_transform_publisher",
        "/right/robot_state_publisher",
        "/static_transform_publisher",
    ]
    assert Path(view[0].option("-d")) == ROOT / "rviz" / "dual_arm.rviz"
    assert view[0].option("-f") == "world"
    assert all(node.parameters["use_sim_time"] is True for node in view if node.parameters)
    urdf = shown_urdf(load_profile("panda"), (0.04, 0.04, 0.03))
    for index, arm, y in ((1, "left", "0.35"), (3, "right", "-0.35")):
        assert view[index].parameters == {
            "use_sim_time": True,
            "robot_description": urdf,
            "frame_prefix": f"{arm}/",
        }
        words = ["--x", "0.0", "--y", y, "--z", "0.0", "--roll", "0.0", "--pitch", "0.0", "--yaw", "0.0"]
        words += ["--frame-id", "world", "--child-frame-id", f"{arm}/panda_link0"]
        assert view[index + 1].arguments == words


@pytest.mark.parametrize(("count", "apart"), [(7, True), (6, False)])
def test_links_that_are_in_the_recording_come_from_nobody_else(tmp_path: Path, count: int, apart: bool) -> None:
    frames = [f"left/panda_link{number}" for number in range(1, count + 1)]
    bag = resting_bag(tmp_path / "bag", "left", "right", frames=frames)
    found = started("replay", {"bag": str(bag), "rviz": "true"})
    left, right = (node for node in found if node.package == "robot_state_publisher")
    assert set(left.remappings) == ({"/tf", "/tf_static"} if apart else set()) and not right.remappings
    assert not {"/tf", "/tf_static"} & set(left.remappings.values())


def test_the_frames_of_a_rotated_base_are_rotated(bag: Path, tmp_path: Path) -> None:
    task = tmp_path / "rotated.yaml"
    text = (ROOT / "config" / "tasks" / "dual_arm_grab.yaml").read_text()
    task.write_text(
        text.replace("base_position: [0.0, -0.35, 0.0]", "base_position: [0.1, -0.35, 0.2]\n    base_yaw: 0.4")
    )
    found = started("replay", {"bag": str(bag), "rviz": "true", "task": str(task)})
    left, right = (node for node in found if node.executable == "static_transform_publisher")
    assert [right.option(f"--{name}") for name in ("x", "y", "z", "yaw")] == ["0.1", "-0.35", "0.2", "0.4"]
    assert [left.option(f"--{name}") for name in ("x", "y", "z", "yaw")] == ["0.0", "0.35", "0.0", "0.0"]


@pytest.fixture
def single_bag(tmp_path: Path) -> Path:
    """One joint state of one arm without a namespace."""
    return resting_bag(tmp_path / "single", "")


def test_a_single_arm_is_seen_in_its_base_frame_by_the_robot_with_the_recorded_joints(single_bag: Path) -> None:
    found = started("replay", {"bag": str(single_bag), "rviz": "true"})
    names = [f"/{name}" for name in (*ARM, "rviz2", "robot_state_publisher")]
    assert [node.full_name for node in found] == names
    rviz, publisher = found[-2:]
    assert (Path(rviz.option("-d")).name, rviz.option("-f")) == ("single_arm.rviz", "panda_link0")
    assert publisher.parameters["frame_prefix"] == ""
    assert found[0].parameters["robot"] == "panda"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": "fast"}, "rate: got 'fast', expected a number"),
        ({"rate": "0"}, "rate: got 0.0"),
        ({"start_offset": "-0.5"}, "start_offset: got -0.5"),
        ({"delay": "-1"}, "delay: got -1.0"),
        ({"namespaces": "left,middle"}, "namespaces: got 'middle'"),
        ({"bag": "/nowhere"}, "bag: got /nowhere, expected an existing recording"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(bag: Path, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refusal:
        evaluate("replay", {"bag": str(bag), **arguments})
    assert "\n" not in str(refusal.value)


def test_every_argument_says_what_it_is() -> None:
    from launch.actions import DeclareLaunchArgument

    entities = launch_file("replay").generate_launch_description().entities
    arguments = [entity for entity in entities if isinstance(entity, DeclareLaunchArgument)]
    assert arguments and all(argument.description for argument in arguments)
    assert [argument.name for argument in arguments if argument.default_value is None] == ["bag"]


def test_without_a_recording_it_does_not_start() -> None:
    with pytest.raises(RuntimeError, match="bag"):
        evaluate("replay", {})
