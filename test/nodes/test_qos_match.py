"""What does not match is found before it is silence: each policy, types, and the ends of real topics."""

import itertools

import pytest
import rclpy
from node_harness import introduced
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from impact_aware.detection import JointSample
from impact_aware.detection.input_monitor import InputMonitor
from impact_aware.nodes.arm_connections import rate_mismatch
from impact_aware.ros import qos
from impact_aware.ros.qos_match import mismatches, qos_gap, silenced, why_silent

BEST_EFFORT, RELIABLE = qos.state_qos(reliable=False), qos.state_qos(reliable=True)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
OWN = [RELIABLE, qos.COMMAND_QOS, qos.STREAM_QOS, qos.EVENT_QOS, qos.LATCHED_QOS, qos.LATCHED_EVENT_QOS]


def test_every_profile_of_the_suite_matches_itself_and_a_gap_is_named():
    for profile in OWN:
        assert qos_gap(profile, profile) == ""
        assert qos_gap(profile, QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)) == ""
    assert qos_gap(BEST_EFFORT, LATCHED) == (
        "Best effort publisher and reliable subscription; Volatile publisher and transient local subscription"
    )
    assert qos_gap(LATCHED, BEST_EFFORT) == ""
    assert qos_gap(qos.STREAM_QOS, qos.EVENT_QOS)


class Pair:
    """Two nodes with a DDS participant each, as those of two processes."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(context=self.context)
        self.own, self.other = Node("own"), Node("driver", namespace="robot", context=self.context)

    def wait(self, topic: str, publishers: int = 0, subscribers: int = 0) -> None:
        introduced(self.own, topic, publishers, subscribers, "/robot")


@pytest.fixture
def pair(ros_context):
    made = Pair()
    yield made
    made.own.destroy_node()
    made.other.destroy_node()
    made.context.shutdown()


def test_one_who_matches_is_enough_against_silence(pair):
    pair.own.create_subscription(JointState, "qn/joint_states", lambda message: None, RELIABLE)
    for profile in (BEST_EFFORT, RELIABLE):
        pair.other.create_publisher(JointState, "/qn/joint_states", profile)
    pair.wait("/qn/joint_states", 2, 1)
    assert mismatches(pair.own, ["another"]) == []
    assert mismatches(pair.own) == [
        "/robot/driver publishes /qn/joint_states, but no message passes: "
        "Best effort publisher and reliable subscription"
    ]
    assert silenced(pair.own) == []


def test_another_type_on_the_same_topic(pair):
    pair.own.create_subscription(JointState, "qm/typed", lambda message: None, BEST_EFFORT)
    pair.other.create_publisher(String, "/qm/typed", RELIABLE)
    pair.wait("/qm/typed", 1, 1)
    assert mismatches(pair.own) == [
        "/robot/driver publishes /qm/typed as std_msgs/msg/String, but here it is sensor_msgs/msg/JointState"
    ]


def test_why_nothing_is_heard(pair):
    pair.own.create_subscription(JointState, "qm/quiet", lambda message: None, BEST_EFFORT)
    told = why_silent(pair.own, "qm/quiet", "the driver")
    assert told.startswith("no node publishes it in ROS domain ")
    assert told.endswith(", is the driver running there?")
    pair.other.create_publisher(JointState, "/qm/quiet", RELIABLE)
    pair.wait("/qm/quiet", 1, 1)
    assert why_silent(pair.own, "qm/quiet") == "/robot/driver can publish it, but no message came"


@pytest.mark.parametrize(
    ("rate", "every", "period", "fits"),
    [(1000.0, 1, 0.001, True), (500.0, 1, 0.001, False), (1000.0, 4, 0.001, True), (500.0, 1, 0.002, True)],
)
def test_the_rate_of_the_source_and_the_period_of_control(rate, every, period, fits):
    """`every`: one state of so many gets lost, which says nothing about the source."""
    monitor = InputMonitor(1)
    for index in itertools.islice(itertools.count(), 500):
        if every == 1 or index % every:
            monitor.update(JointSample(1.0 + index / rate, [0.0]))
    told = rate_mismatch("joint_states", monitor.quality(), period)
    assert (told == "") is fits
    assert fits or told.startswith("joint_states comes at 500 Hz, but parameter period is 0.001 s, 1000 Hz: set it to")


def test_a_rate_that_is_not_known_yet_is_no_mismatch():
    assert rate_mismatch("joint_states", None, 0.001) == ""
    assert rate_mismatch("joint_states", InputMonitor(1).quality(), 0.001) == ""
