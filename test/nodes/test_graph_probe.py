"""What `impact-aware doctor` finds in a graph: each thing that is wrong has a remedy, and nothing else."""

import json
import time

import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from impact_aware.nodes.graph_probe import GraphProbeNode
from impact_aware.nodes.ros.messages import stamp

JOINTS = [f"panda_joint{number}" for number in range(1, 8)]


@pytest.fixture
def probe(ros_context, monkeypatch):
    """What is found beside a driver whose messages have these stamps and joints, by name."""
    made, printed = [], []
    monkeypatch.setattr("builtins.print", lambda text, **_how: printed.append(text))

    def probe(*, age=0.0, joints=JOINTS, count=300, twice=False, stamped=True, topic="joint_states"):
        driver, other = Node("driver"), Node("other")
        node = GraphProbeNode(parameter_overrides=[Parameter("robot", value="panda")])
        made.extend((driver, other, node))
        driver.create_publisher(JointState, topic, 10)
        if twice:
            other.create_publisher(JointState, "joint_states", 10)
        driver.create_publisher(String, "words", 10)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        other.create_subscription(String, "words", print, latched)
        message, begin = JointState(name=joints, position=[0.0] * len(joints)), time.time()
        for k in range(count):
            # Handed over at once, whatever the machine does: 300 messages in 0.5 s are 600 Hz.
            message.header.stamp = stamp(begin - age + 1e-4 * k) if stamped else stamp(0.0)
            node._on_state(message)
        node._settings = type(node._settings)(robot="panda", seconds=0.001 * max(count, 500))
        node._print()
        assert node.finished
        return {own["name"]: own for own in map(json.loads, printed)}

    yield probe
    for node in made:
        node.destroy_node()


def wrong(found):
    return {name for name, own in found.items() if own["advice"]}


def test_a_good_driver_has_no_remedy_but_the_mismatch_of_others_is_named(probe):
    found = probe()
    assert wrong(found) == {"quality of service"}
    assert found["quality of service"]["advice"] == (
        "/words from /driver to /other: Volatile publisher and transient local subscription"
    )
    assert found["/joint_states from"]["found"] == "/driver"
    assert found["joints"]["found"].startswith("7: panda_joint1, ") and found["rate"]["found"] == "600 Hz"


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"age": 3.0}, "stamps", "synchronise"),
        ({"stamped": False}, "stamps", "stamp its messages"),
        ({"joints": JOINTS[:-1]}, "joints", "panda_joint7 of panda"),
        ({"count": 20}, "rate", "the driver's own topic"),
        ({"twice": True}, "/joint_states from", "one driver"),
        ({"count": 0}, "/joint_states", "no message came"),
    ],
)
def test_each_fault_has_its_remedy(probe, change, name, words):
    found = probe(**change)
    assert wrong(found) == {"quality of service", name}
    assert words in found[name]["advice"]


def test_states_of_nobody_are_one_finding(probe):
    found = probe(count=0, topic="states_of_another")
    assert "/joint_states from" not in found and found["/joint_states"]["found"] == "no message"
