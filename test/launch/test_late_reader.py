"""A bag of the suite's nodes reaches a Transient Local reader that comes after a player has published it."""

import importlib.util
import signal
import subprocess
import sys
from pathlib import Path

import bag_player
import pytest
from impact_aware_msgs.msg import ReferenceField, Task
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from impact_aware.bringup.processes import quiet_environment

pytestmark = [pytest.mark.dds, pytest.mark.slow]

LATCHED = {"/task": Task, "/reference_field": ReferenceField, "/robot_description": String}
LATE = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)

if importlib.util.find_spec("tf2_msgs"):
    from tf2_msgs.msg import TFMessage

    LATCHED["/tf_static"] = TFMessage


@pytest.fixture
def bag(suite, tmp_path) -> Path:
    """Simulator and field, and static frames of somebody else, recorded until each was there once."""
    suite.driving = False
    if "/tf_static" in LATCHED:
        static = suite.node.create_publisher(LATCHED["/tf_static"], "/tf_static", LATE)
        static.publish(LATCHED["/tf_static"]())
    recorder = suite.start("bag_recorder", bag=str(tmp_path / "bag"))
    suite.start("sim_robot")
    suite.start("reference_field")
    wanted = [*LATCHED, "/joint_states"]
    suite.until(lambda: all(suite.node.count_subscribers(topic) for topic in wanted), f"a recorder of {wanted}")
    received = []
    for topic, kind in LATCHED.items():
        suite.node.create_subscription(kind, topic, lambda _, topic=topic: received.append(topic), LATE)
    suite.until(lambda: set(received) == set(LATCHED), f"each of {list(LATCHED)}")
    for process in reversed(suite.processes):
        process.signal(signal.SIGINT)
    suite.until(lambda: not any(process.running for process in suite.processes), "the end of all")
    if "/tf_static" in LATCHED:
        suite.node.destroy_publisher(static)
    assert recorder.process.returncode == 0
    return tmp_path / "bag"


def test_a_reader_that_comes_after_the_bag_was_played_gets_what_is_latched(suite, bag):
    played = [*LATCHED, "/joint_states"]
    received = {}
    command = [sys.executable, bag_player.__file__, str(bag), *played]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=quiet_environment(suite.domain), **pipes) as player:
        assert player.stdout.readline() == "played\n"
        for topic, kind in {**LATCHED, "/joint_states": JointState}.items():
            suite.node.create_subscription(kind, topic, lambda own, topic=topic: received.setdefault(topic, own), LATE)
        suite.until(lambda: len(received) == len(LATCHED), f"each of {list(LATCHED)}", 20.0)
        player.communicate("")
    # States are not latched: whoever comes late is late.
    assert set(received) == set(LATCHED)
    assert received["/task"].name == received["/reference_field"].task == "hit_and_push"
    assert "<robot" in received["/robot_description"].data
