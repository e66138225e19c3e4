"""A recording played to the live nodes: detector, predictor and markers of every arm in it.

ros2 launch impact_aware replay.launch.py bag:=PATH
ros2 launch impact_aware replay.launch.py bag:=PATH rate:=0.1 start_paused:=true rviz:=true

Everything runs in the time of the recording. Only measurements are played, never commands.
"""

import tempfile
from xml.etree import ElementTree

import yaml
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction, RegisterEventHandler, TimerAction
from launch.actions import Shutdown as ShutDown
from launch.event_handlers import OnProcessExit
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from impact_aware.bringup.launching import SWITCH, base_transform, graph_actions, number, switched_on, text
from impact_aware.bringup.replay_graph import Replay, plan_replay, player_arguments, player_qos
from impact_aware.resources import find_resource
from impact_aware.robot import load_profile
from impact_aware.robot.shown_urdf import shown_urdf
from impact_aware.task import load_task
from impact_aware.task.arms import base_numbers

STAY = 2.0
"""How long the nodes stay after the last message, s."""

TEXTS = {
    "bag": (None, "the recording: a folder, or an .mcap or .db3 file"),
    "rate": ("1.0", "seconds of the recording per second"),
    "delay": ("3.0", "wait so long before the first message, until the nodes are there, s"),
    "start_offset": ("0.0", "seconds of the recording that are left out at its beginning"),
    "namespaces": ("", "arms to watch, separated by commas; empty: all that have joint_states"),
    "robot": ("", "robot profile of a single arm; empty: the one with the recorded joints"),
    "task": ("", "task with contact and object; empty: the recorded one"),
    "parameter_file": ("", "parameters of all nodes, instead of config/"),
    "nodes": ("", "only these nodes, separated by commas; empty: all"),
}

SWITCHES = {
    "start_paused": ("false", "wait for the space bar before the first message"),
    "loop": ("false", "begin again at the end"),
    "markers": ("true", "start impact_markers"),
    "rviz": ("false", "start RViz; it stays open at the end"),
}

APART = [("/tf", "description/tf"), ("/tf_static", "description/tf_static")]
"""Where robot_state_publisher sends the frames of an arm that the recording has already."""

ARGUMENTS = [
    *(
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in TEXTS.items()
    ),
    *(
        DeclareLaunchArgument(name, default_value=default, choices=SWITCH, description=description)
        for name, (default, description) in SWITCHES.items()
    ),
]


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The nodes first, then the player; the end of the recording ends everything, unless a viewer is open."""
    names = [name for name in text(context, "namespaces").split(",") if name.strip()]
    replay = plan_replay(
        text(context, "bag"),
        namespaces=[name.strip() for name in names] or None,
        robot=text(context, "robot"),
        task=text(context, "task"),
        parameter_file=text(context, "parameter_file") or None,
        markers=switched_on(context, "markers"),
    )
    words = player_arguments(
        text(context, "bag"),
        replay.topics,
        rate=number("rate", text(context, "rate")),
        delay=number("delay", text(context, "delay")),
        start_offset=number("start_offset", text(context, "start_offset")),
        start_paused=switched_on(context, "start_paused"),
        loop=switched_on(context, "loop"),
        qos_file=written_qos(replay),
    )
    # With a terminal of its own the player receives the space bar.
    player = ExecuteProcess(cmd=words, output="screen", emulate_tty=True, name="bag_player")
    actions = [*graph_actions(context, replay.nodes), player]
    if switched_on(context, "rviz"):
        return [*actions, *view(replay)]
    end = TimerAction(period=STAY, actions=[ShutDown(reason="the recording is over")])
    return [*actions, RegisterEventHandler(OnProcessExit(target_action=player, on_exit=[end]))]


def written_qos(replay: Replay) -> str:
    """The player's quality of service as a small temporary file, which stays as those of launch itself do."""
    with tempfile.NamedTemporaryFile("w", prefix="replay_qos_", suffix=".yaml", delete=False) as file:
        yaml.safe_dump(player_qos(replay.topics), file)
    return file.name


def view(replay: Replay) -> list[LaunchDescriptionEntity]:
    """RViz, and every arm's description in TF."""
    task = load_task(replay.task)
    single = len(task.arms) == 1
    arms = {arm.name: arm for arm in task.arms}
    time = {"use_sim_time": True}
    above = replay.namespaces[0] if single else replay.namespaces[0].rpartition("/")[0]
    file, frame = ("single_arm", load_profile(replay.robots[0]).base_frame) if single else ("dual_arm", task.frame)
    actions: list[LaunchDescriptionEntity] = [
        Node(
            package="rviz2",
            executable="rviz2",
            namespace=above,
            parameters=[time],
            arguments=["-d", str(find_resource("rviz", f"{file}.rviz")), "-f", frame],
        )
    ]
    for namespace, robot in zip(replay.namespaces, replay.robots, strict=True):
        profile = load_profile(robot)
        name = namespace.rpartition("/")[2]
        prefix = "" if single else f"{name}/"
        pads = arms[name].pad_half_sizes if not single else task.arms[0].pad_half_sizes
        urdf = shown_urdf(profile, pads)
        description = ParameterValue(urdf, value_type=str)
        joints = [
            own for own in ElementTree.fromstring(urdf).iterfind("joint") if own.get("name") in profile.joint_names
        ]
        recorded = {f"{prefix}{own.find('child').get('link')}" for own in joints} <= replay.frames
        actions.append(
            Node(
                package="robot_state_publisher",
                executable="robot_state_publisher",
                namespace=namespace,
                parameters=[time | {"robot_description": description, "frame_prefix": prefix}],
                remappings=APART if recorded else [],
            )
        )
        arm = task.arms[0] if single else arms[name]
        if not single or any(base_numbers(arm)):
            words = base_transform(arm, task.frame, f"{prefix}{profile.base_frame}")
            actions.append(Node(package="tf2_ros", executable="static_transform_publisher", arguments=words))
    return actions


def generate_launch_description() -> LaunchDescription:
    """Arguments first, then the nodes."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start)])
