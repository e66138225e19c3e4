"""What does not match is found before it is silence: each policy, types, and the ends of real topics."""

from __future__ import annotations

import itertools
import time

import pytest
import rclpy
from patience import patient
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from impact_aware.detection import InputMonitor, JointSample
from impact_aware.nodes.arm_connections import rate_mismatch
from impact_aware.nodes.ros import qos
from impact_aware.nodes.ros.qos_match import mismatches, qos_gap, silenced, unheard, why_silent

BEST_EFFORT, RELIABLE = qos.state_qos(reliable=False), qos.state_qos(reliable=True)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
OWN = {"states": RELIABLE, "commands": qos.COMMAND_QOS, "stream": qos.STREAM_QOS, "event": qos.EVENT_QOS}
OWN |= {"latched": qos.LATCHED_QOS, "latched event": qos.LATCHED_EVENT_QOS, "step": qos.STEP_DONE_QOS}


@pytest.mark.parametrize("name", OWN)
def test_every_profile_of_the_suite_matches_itself_and_whoever_asks_for_less(name):
    assert qos_gap(OWN[name], OWN[name]) is None
    assert qos_gap(OWN[name], QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)) is None


@pytest.mark.parametrize(
    ("offered", "asked", "gap"),
    [
        (BEST_EFFORT, RELIABLE, ("best effort", "reliable")),
        (RELIABLE, LATCHED, ("volatile", "transient local")),
        (qos.STREAM_QOS, qos.EVENT_QOS, ("no liveliness lease", "one of 2 s")),
        (
            QoSProfile(depth=1, deadline=Duration(seconds=2)),
            QoSProfile(depth=1, deadline=Duration(seconds=1)),
            ("a deadline of 2 s", "one of 1 s"),
        ),
        (
            QoSProfile(depth=1, liveliness=LivelinessPolicy.AUTOMATIC),
            QoSProfile(depth=1, liveliness=LivelinessPolicy.MANUAL_BY_TOPIC),
            ("automatic", "manual by topic"),
        ),
    ],
)
def test_an_offer_that_falls_short_is_told_and_the_reverse_is_none(offered, asked, gap):
    assert qos_gap(offered, asked) == gap
    assert qos_gap(asked, offered) is None


class Pair:
    """Two nodes with a DDS participant each, as those of two processes."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(context=self.context)
        self.own, self.other = Node("own"), Node("driver", namespace="robot", context=self.context)

    def wait(self, topic: str, publishers: int = 0, subscribers: int = 0) -> None:
        deadline = time.monotonic() + patient(10.0)
        while time.monotonic() < deadline:
            ends = self.own.count_publishers(topic) >= publishers and self.own.count_subscribers(topic) >= subscribers
            found = self.own.get_publishers_info_by_topic(topic) + self.own.get_subscriptions_info_by_topic(topic)
            # An end can be known before its node's name is.
            named = all("UNKNOWN" not in end.node_name for end in found)
            if ends and named and ("driver", "/robot") in self.own.get_node_names_and_namespaces():
                return
            time.sleep(0.01)
        pytest.fail(f"DDS did not introduce {topic}")


@pytest.fixture
def pair(ros_context):
    made = Pair()
    yield made
    made.own.destroy_node()
    made.other.destroy_node()
    made.context.shutdown()


def test_states_that_are_published_best_effort_while_lockstep_asks_for_reliable(pair):
    pair.own.create_subscription(JointState, "qm/joint_states", lambda message: None, RELIABLE)
    pair.other.create_publisher(JointState, "/qm/joint_states", BEST_EFFORT)
    pair.wait("/qm/joint_states", 1, 1)
    sentence = "/robot/driver offers /qm/joint_states with best effort, but requested is reliable: it can't be received"
    assert mismatches(pair.own) == silenced(pair.own, ["qm/joint_states"]) == [sentence]
    assert why_silent(pair.own, "qm/joint_states") == sentence
    assert mismatches(pair.own, ["another"]) == []


def test_one_who_matches_is_enough_against_silence(pair):
    pair.own.create_subscription(JointState, "qn/joint_states", lambda message: None, RELIABLE)
    for profile in (BEST_EFFORT, RELIABLE):
        pair.other.create_publisher(JointState, "/qn/joint_states", profile)
    pair.wait("/qn/joint_states", 2, 1)
    assert len(mismatches(pair.own)) == 1
    assert silenced(pair.own) == []


def test_a_driver_that_can_not_hear_the_commands(pair):
    pair.own.create_publisher(Float64MultiArray, "qm/commands", qos.COMMAND_QOS)
    assert unheard(pair.own, "qm/commands").startswith("no node subscribes to /qm/commands in ROS domain ")
    pair.other.create_subscription(Float64MultiArray, "/qm/commands", lambda message: None, LATCHED)
    pair.wait("/qm/commands", 1, 1)
    assert unheard(pair.own, "qm/commands") == ""
    assert silenced(pair.own) == [
        "/robot/driver asks for /qm/commands with transient local, but offered is volatile: it receives nothing"
    ]


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
