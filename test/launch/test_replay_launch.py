"""The replay launch file, evaluated by the real launch: nodes, then the player, then the end."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from impact_aware.errors import InvalidInputError

ROOT = Path(__file__).resolve().parents[2]
TYPES = get_typestore(Stores.ROS2_JAZZY)
PANDA = [f"panda_joint{number}" for number in range(1, 8)]


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


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    """One joint state of each of two arms."""
    types = TYPES.types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](1, 0), "")
    message = types["sensor_msgs/msg/JointState"](header, PANDA, np.zeros(7), np.zeros(7), np.zeros(7))
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for arm in ("left", "right"):
            connection = writer.add_connection(f"/{arm}/joint_states", message.__msgtype__, typestore=TYPES)
            writer.write(connection, 10**9, TYPES.serialize_cdr(message, message.__msgtype__))
    return tmp_path / "bag"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("replay_launch", ROOT / "launch" / "replay.launch.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def evaluate(arguments: dict[str, str]) -> tuple[list[Any], Any]:
    """The actions that the launch file comes to, without starting them, and their context."""
    from launch import LaunchContext

    context = LaunchContext()
    context.launch_configurations.update(arguments)
    actions: list[Any] = []
    for entity in load().generate_launch_description().entities:
        actions += entity.visit(context) or []
    return actions, context


def words_of(action: Any, context: Any) -> list[str]:
    from launch.utilities import perform_substitutions

    return [perform_substitutions(context, part) for part in action.cmd]


def executables(actions: list[Any]) -> list[str]:
    return [action.node_executable for action in actions if hasattr(action, "node_executable")]


def player_of(actions: list[Any]) -> Any:
    from launch.actions import ExecuteProcess

    (player,) = [action for action in actions if type(action) is ExecuteProcess]
    return player


def test_every_arm_is_watched_and_the_player_comes_last(bag: Path) -> None:
    from launch.actions import RegisterEventHandler

    actions, context = evaluate({"bag": str(bag), "rate": "0.5", "start_paused": "true"})
    assert executables(actions).count("impact_detector") == 2
    words = words_of(player_of(actions), context)
    assert words[:4] == ["ros2", "bag", "play", str(bag)]
    assert words[words.index("--rate") + 1] == "0.5"
    assert "--start-paused" in words
    qos = yaml.safe_load(Path(words[words.index("--qos-profile-overrides-path") + 1]).read_text())
    assert qos["/left/joint_states"]["reliability"] == "reliable"
    # The end of the recording ends the nodes.
    assert isinstance(actions[-1], RegisterEventHandler)


def test_with_rviz_everything_stays_after_the_end_and_each_arm_has_its_frames(bag: Path) -> None:
    from launch.actions import RegisterEventHandler

    actions, context = evaluate({"bag": str(bag), "rviz": "true"})
    assert not any(isinstance(action, RegisterEventHandler) for action in actions)
    names = executables(actions)
    assert names.count("rviz2") == 1
    assert names.count("robot_state_publisher") == names.count("static_transform_publisher") == 2
    rviz = next(action for action in actions if getattr(action, "node_executable", "") == "rviz2")
    # Parameters follow, as files that launch writes when it starts.
    words = words_of_arguments(rviz, context)
    assert Path(words[words.index("-d") + 1]) == ROOT / "rviz" / "dual_arm.rviz"
    assert words[words.index("-f") + 1] == "world"


def words_of_arguments(action: Any, context: Any) -> list[str]:
    from launch.utilities import perform_substitutions

    return [perform_substitutions(context, part) for part in action.cmd[1:5]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": "fast"}, "rate: got 'fast', expected a number"),
        ({"rate": "0"}, "rate: got 0.0"),
        ({"namespaces": "left,middle"}, "namespaces: got 'middle'"),
        ({"bag": "/nowhere"}, "bag: got /nowhere, expected an existing recording"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(bag: Path, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refusal:
        evaluate({"bag": str(bag), **arguments})
    assert "\n" not in str(refusal.value)


def test_every_argument_says_what_it_is() -> None:
    from launch.actions import DeclareLaunchArgument

    entities = load().generate_launch_description().entities
    arguments = [entity for entity in entities if isinstance(entity, DeclareLaunchArgument)]
    assert arguments and all(argument.description for argument in arguments)
    assert [argument.name for argument in arguments if argument.default_value is None] == ["bag"]
