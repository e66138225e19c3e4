"""The node between the topics and the simulated arm: states, laws, a reflex by its name, recovery, the end."""

import time

import numpy as np
import pytest
from impact_aware_msgs.msg import Heartbeat
from impact_aware_msgs.msg import LocalLaw as LawMessage
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from impact_aware.control.command import Mode
from impact_aware.control.local_law import LocalLaw
from impact_aware.franka.channel import FOLLOWING, HOLDING
from impact_aware.messages.local_law import law_to_message
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.robot import RobotModel
from impact_aware.ros.messages import ROS
from impact_aware.ros.qos import COMMAND_QOS, HEARTBEAT_QOS, state_qos
from impact_aware_rigs.franka import SimulatedFranka

FR3 = RobotModel.from_profile("fr3")
PATIENCE = 120.0
"""For what comes at once of the arm's own time, s of wall time."""


class Relayed:
    """The relay of an arm, a node beside it, and what the relay published."""

    def __init__(self, arm, **parameters) -> None:
        from impact_aware.nodes.franka_fci_relay import FrankaFciRelayNode

        own = {"address": arm.address, "control": True, "realtime": "ignore", "use_sim_time": True, **parameters}
        self.relay = FrankaFciRelayNode(parameter_overrides=[Parameter(name, value=own[name]) for name in own])
        self.beside, self.states, self.beats = Node("beside"), [], []
        self.beside.create_subscription(JointState, "joint_states", self.states.append, state_qos(reliable=True))
        self.beside.create_subscription(Heartbeat, "driver/heartbeat", self.beats.append, HEARTBEAT_QOS)
        self.laws = self.beside.create_publisher(LawMessage, "local_law", COMMAND_QOS)
        self.executor = SingleThreadedExecutor()
        for node in (self.relay, self.beside):
            self.executor.add_node(node)
        self.sequence = 0

    def until(self, condition, each=lambda: None):
        """Serve both nodes until the condition holds."""
        limit = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < limit, (self.relay.phase, self.beats[-1:])
            each()
            self.executor.spin_once(timeout_sec=0.01)

    def law(self, names=FR3.joint_names) -> None:
        """Answer the newest state with a law that holds the arm where it is."""
        state, none, square = self.states[-1], np.zeros(7), np.zeros((7, 7))
        self.sequence += 1
        q = np.array(state.position)
        arrays = FR3.gravity(q), none, square, 2.0 * np.eye(7), q, none
        law = LocalLaw(names, *arrays, stamp_seconds(state), 0.4, self.sequence, Mode.HOLD)
        self.laws.publish(law_to_message(law, ROS, frame="fr3_link0"))

    def end(self) -> None:
        self.relay.prepare_stop()
        self.relay.close()
        for node in (self.relay, self.beside):
            node.destroy_node()


@pytest.fixture
def relayed(ros_context):
    """At a quarter of real time, which both nodes keep up with on any machine."""
    with SimulatedFranka(task="", rate=0.25) as arm:
        found = Relayed(arm)
        found.arm = arm
        yield found
        found.end()


def test_states_are_the_arms_and_laws_over_dds_are_followed(relayed):
    relayed.until(lambda: relayed.relay.phase == HOLDING and relayed.states)
    state = relayed.states[-1]
    assert tuple(state.name) == FR3.joint_names
    np.testing.assert_allclose(state.position, relayed.arm.q, atol=1e-3)
    # What the sensors measure has gravity in it.
    np.testing.assert_allclose(state.effort, FR3.gravity(np.array(state.position)), atol=2.0)
    count = len(relayed.states)
    relayed.until(lambda: len(relayed.states) > count + 30, lambda: relayed.law(tuple(reversed(FR3.joint_names))))
    assert relayed.relay.phase == HOLDING
    relayed.until(lambda: relayed.relay.phase == FOLLOWING, relayed.law)
    assert relayed.beats[-1].state == Heartbeat.STATE_WORKING
    relayed.until(lambda: relayed.relay.phase == HOLDING)


def test_a_reflex_is_reported_by_name_and_the_service_recovers_the_arm(relayed):
    relayed.until(lambda: relayed.relay.phase == HOLDING and relayed.beats)
    relayed.arm.trip("joint_reflex")
    relayed.until(lambda: relayed.beats[-1].state == Heartbeat.STATE_STOPPED)
    assert relayed.beats[-1].detail == "joint_reflex"
    response = relayed.relay._on_recover(Trigger.Request(), Trigger.Response())
    assert response.success, response.message
    relayed.until(lambda: relayed.relay.phase == HOLDING and relayed.beats[-1].state == Heartbeat.STATE_WORKING)
    assert relayed.arm.errors == ()


def test_at_its_end_the_arm_is_at_rest_and_its_motion_finished(relayed):
    relayed.until(lambda: relayed.relay.phase == HOLDING)
    relayed.relay.prepare_stop()
    relayed.until(lambda: relayed.relay.finished)
    assert relayed.arm.mode == "Idle" and relayed.arm.errors == ()


def test_the_process_with_libfranka_is_reported_when_it_is_killed_while_it_follows_laws_and_started_anew(relayed):
    relayed.until(lambda: relayed.relay.phase == HOLDING and relayed.states)
    relayed.until(lambda: relayed.relay.phase == FOLLOWING, relayed.law)
    relayed.relay._process.kill()
    relayed.until(lambda: relayed.beats and relayed.beats[-1].state == Heartbeat.STATE_STOPPED)
    assert "has ended" in relayed.beats[-1].detail
    response = relayed.relay._on_recover(Trigger.Request(), Trigger.Response())
    assert response.success, response.message
    relayed.until(lambda: relayed.relay.phase == HOLDING and relayed.beats[-1].state == Heartbeat.STATE_WORKING)
