"""What `rs_controller` makes of its watchdog, and what it tells it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from impact_aware_msgs.msg import ControllerState, Heartbeat
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_aware.bringup.connections import connected
from impact_aware.bringup.graph import SingleArmOptions, single_arm_graph
from impact_aware.control import Mode, SafeReason
from impact_aware.messages.reference_field import field_to_message
from impact_aware.nodes.ros.messages import ROS, stamp
from impact_aware.nodes.rs_controller import RsControllerNode
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field, start_posture

ROBOT = RobotModel.from_profile("panda")
TASK = load_task("hit_and_push")
START = np.array(start_posture(TASK.arms[0], ROBOT))
SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
WORKING, STOPPED, WAITING = Heartbeat.STATE_WORKING, Heartbeat.STATE_STOPPED, Heartbeat.STATE_WAITING


class Bench:
    """A controller that is given heartbeats, and whose states are kept."""

    def __init__(self, *, listener: str = "driver") -> None:
        self.node = RsControllerNode()
        # Nor is it judged how soon the test beats.
        longer = {"state_timeout": 60.0, "watchdog": True, "watchdog_timeout": 60.0}
        self.node._settings = dataclasses.replace(self.node._settings, **longer)
        self.time, self.count = 1.0, 0
        assert self.node.trigger_configure() is SUCCESS
        self.node.create_subscription(Float64MultiArray, "effort_controller/commands", print, 1)
        self.modes: list[int] = []
        publisher = self.node._report._publisher
        publisher.publish = lambda message: self.modes.append(message.mode)
        self.node._on_field(field_to_message(make_field(TASK, [ROBOT]), self.time, ROS))
        self.state()

    def state(self) -> None:
        self.time += 0.001
        message = JointState(name=list(ROBOT.joint_names), position=START, velocity=np.zeros(ROBOT.n))
        message.header.stamp = stamp(self.time)
        self.node._session.states.readers[0]._receive(serialize_message(message))

    def beat(self, state: int, detail: str = "") -> None:
        self.count += 1
        heartbeat = Heartbeat(session=7, count=self.count, state=state, detail=detail)
        self.node._connections._watchdog._on_heartbeat(heartbeat)

    def activate(self) -> TransitionCallbackReturn:
        return self.node.trigger_activate()

    def end(self) -> None:
        """Let it come to rest."""
        for _ in range(3000):
            if not self.node._session.active:
                return
            self.state()
        pytest.fail("still active")


@pytest.fixture
def bench(ros_context):
    made = Bench()
    yield made
    made.node.destroy_node()


def test_nothing_moves_before_the_watchdog_can_stop_it(bench):
    assert bench.activate() is FAILURE
    assert "no message came on /command_watchdog/heartbeat" in bench.node._status()[1]
    bench.beat(WAITING, "there is no /controller_manager")
    assert bench.activate() is FAILURE
    assert (
        bench.node._status()[1]
        == "can't activate: command_watchdog can't stop the arms: there is no /controller_manager"
    )
    bench.beat(WORKING)
    assert bench.activate() is SUCCESS


def test_a_watchdog_that_listens_takes_no_commands(bench):
    for own in list(bench.node.subscriptions):
        if own.topic_name == "/effort_controller/commands":
            bench.node.destroy_subscription(own)
    bench.beat(WORKING)
    from rclpy.node import Node

    watchdog = Node("command_watchdog")
    watchdog.create_subscription(Float64MultiArray, "effort_controller/commands", print, 1)
    try:
        assert bench.activate() is FAILURE
        assert "is the effort controller loaded?" in bench.node._status()[1]
    finally:
        watchdog.destroy_node()


@pytest.mark.parametrize("state", [STOPPED, WAITING])
def test_a_motion_ends_when_the_watchdog_says_so(bench, state):
    bench.beat(WORKING)
    assert bench.activate() is SUCCESS
    bench.state()
    bench.beat(state, "why")
    bench.state()
    assert bench.node._session.mode is Mode.SAFE
    reason, detail = bench.node._session.safe_reason
    assert reason is SafeReason.WATCHDOG
    assert detail.endswith(": why")


def test_a_motion_ends_when_the_watchdog_is_silent(bench):
    bench.beat(WORKING)
    assert bench.activate() is SUCCESS
    bench.node._connections._watchdog._timeout = -1.0
    bench.node._connections._watchdog._look()
    bench.state()
    assert bench.node._session.safe_reason[0] is SafeReason.WATCHDOG


def test_the_end_of_the_commands_is_told_once_they_end_and_when_the_process_does(bench):
    bench.beat(WORKING)
    assert bench.activate() is SUCCESS
    for _ in range(20):
        bench.state()
    assert ControllerState.MODE_IDLE not in bench.modes
    assert bench.node.trigger_deactivate() is SUCCESS
    bench.end()
    assert bench.modes.count(ControllerState.MODE_IDLE) == 1
    bench.node.close()
    assert bench.modes[-1] == ControllerState.MODE_IDLE
    assert bench.modes.count(ControllerState.MODE_IDLE) == 2


def test_the_graph_has_both_hear_each_other():
    graph = connected(single_arm_graph(SingleArmOptions(simulation=False, watchdog=True)))
    peers = {spec.name: spec.parameters["peers"] for spec in graph}
    assert "/command_watchdog/heartbeat > /rs_controller" in peers["command_watchdog"]
    assert "/command_watchdog/heartbeat < /command_watchdog" in peers["rs_controller"]
    assert "/effort_controller/commands > /command_watchdog" in peers["rs_controller"]
    assert "/controller_state < /rs_controller" in peers["command_watchdog"]
    (controller,) = (spec for spec in graph if spec.name == "rs_controller")
    assert "/command_watchdog" in controller.parameters["companions"]
