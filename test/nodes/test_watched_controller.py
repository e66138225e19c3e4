"""What `rs_controller` makes of its watchdog, and what it tells it."""

import time

import pytest
from controller_bench import FAILURE, SUCCESS
from impact_aware_msgs.msg import ControllerState, Heartbeat
from node_harness import status, tick
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from impact_aware.bringup.graph import SingleArmOptions, single_arm_graph
from impact_aware.bringup.node_spec import with_companions
from impact_aware.control import Mode, SafeReason

WORKING, STOPPED, WAITING = Heartbeat.STATE_WORKING, Heartbeat.STATE_STOPPED, Heartbeat.STATE_WAITING


@pytest.fixture
def make_watched(make_bench):
    def make(**more):
        made = make_bench(watchdog=True, **more)
        made.configure()
        made.field()
        made.state()
        return made

    return make


@pytest.fixture
def bench(make_watched):
    return make_watched()


def test_nothing_moves_before_the_watchdog_can_stop_it(bench):
    assert bench.node.trigger_activate() is FAILURE
    assert "no message came on /command_watchdog/heartbeat" in status(bench.node)[1]
    bench.beat(WAITING, "there is no /controller_manager")
    assert bench.node.trigger_activate() is FAILURE
    assert (
        status(bench.node)[1]
        == "can't activate: command_watchdog can't stop the arms: there is no /controller_manager"
    )
    bench.beat(WORKING)
    assert bench.node.trigger_activate() is SUCCESS


def test_a_watchdog_that_listens_takes_no_commands(bench):
    for own in list(bench.node.subscriptions):
        if own.topic_name == "/effort_controller/commands":
            bench.node.destroy_subscription(own)
    bench.beat(WORKING)
    watchdog = Node("command_watchdog")
    watchdog.create_subscription(Float64MultiArray, "effort_controller/commands", print, 1)
    try:
        assert bench.node.trigger_activate() is FAILURE
        assert "is the effort controller loaded?" in status(bench.node)[1]
    finally:
        watchdog.destroy_node()


@pytest.mark.parametrize("state", [STOPPED, WAITING])
def test_a_motion_ends_when_the_watchdog_says_so(bench, state):
    bench.beat(WORKING)
    assert bench.node.trigger_activate() is SUCCESS
    bench.state()
    bench.beat(state, "why")
    bench.state()
    assert bench.session.mode is Mode.SAFE
    reason, detail = bench.session.safe_reason
    assert reason is SafeReason.WATCHDOG
    assert detail.endswith(": why")


def test_a_motion_ends_when_the_watchdog_is_silent(make_watched):
    bench = make_watched(watchdog_timeout=0.1)
    bench.beat(WORKING)
    assert bench.node.trigger_activate() is SUCCESS
    for _ in range(100):
        if bench.session.safe_reason[0] is not None:
            break
        time.sleep(0.02)
        tick(bench.node, 0.02)
    assert bench.session.safe_reason[0] is SafeReason.WATCHDOG
    assert "no message came on /command_watchdog/heartbeat for" in bench.session.safe_reason[1]


def test_the_end_of_the_commands_is_told_once_they_end_and_when_the_process_does(bench, sent):
    idle = lambda: [own.mode for own in sent(bench.node, "controller_state")].count(ControllerState.MODE_IDLE)  # noqa: E731
    bench.beat(WORKING)
    assert bench.node.trigger_activate() is SUCCESS
    bench.state(count=20)
    assert idle() == 0
    assert bench.node.trigger_deactivate() is SUCCESS
    for _ in range(3000):
        if not bench.session.active:
            break
        bench.state()
    assert not bench.session.active and idle() == 1
    bench.node.close()
    assert idle() == 2 and sent(bench.node, "controller_state")[-1].mode == ControllerState.MODE_IDLE


def test_the_graph_has_the_watchdog_found_before_a_motion():
    graph = with_companions(single_arm_graph(SingleArmOptions(simulation=False, watchdog=True)))
    (controller,) = (spec for spec in graph if spec.name == "rs_controller")
    assert "/command_watchdog" in controller.parameters["companions"]
