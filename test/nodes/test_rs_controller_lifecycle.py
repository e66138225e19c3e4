"""The controller as a lifecycle node: only active it commands, and no client, error or end leaves the arm alone."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from controller_bench import FAILURE, SUCCESS
from impact_aware_msgs.msg import Heartbeat
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from node_harness import call, send, status, tick, upright
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from impact_aware.control import Mode, SafeReason
from impact_aware.control.ending import RELEASE_SHARE
from impact_aware.robot import RobotModel
from impact_aware.ros import runtime
from impact_aware.task import load_task, start_posture

ROBOT = RobotModel.from_profile("panda")
TASK = load_task("hit_and_push")
START = np.array(start_posture(TASK.arms[0], ROBOT))
AT_REST, MOVING = np.zeros(ROBOT.n), np.full(ROBOT.n, 0.3)


def ask(node, transition: int) -> bool:
    return call(node, "~/change_state", ChangeState.Request(transition=Transition(id=transition))).success


def test_active_it_answers_every_state_with_one_command_within_the_torque_limits(bench):
    bench.activate()
    bench.state(count=5)
    assert len(bench.commands) == 5
    assert np.all(np.abs(bench.commands) <= ROBOT.limits.effort)


def test_a_refused_transition_is_published_with_its_reason_and_forgotten_once_it_is_active(bench, sent):
    bench.configure()
    published = sent(bench.node, "controller_state")
    assert bench.node.trigger_activate() is FAILURE
    assert [message.detail[:35] for message in published] == ["can't activate: no joint_states yet"]
    assert status(bench.node)[1] == published[-1].detail
    # What autostart tries ten times a second is said once.
    assert bench.node.trigger_activate() is FAILURE
    assert len(published) == 1
    bench.field()
    bench.state(count=5)
    assert bench.node.state_label() == "inactive" and bench.commands == [], "configured it watches"
    assert bench.node.trigger_activate() is SUCCESS
    assert status(bench.node)[0] == b"\x00"


def test_deactivated_in_motion_it_brings_the_arm_to_rest_first(bench):
    bench.activate()
    bench.state(MOVING, count=3)
    assert bench.node.trigger_deactivate() is SUCCESS
    bench.forget()
    bench.state(MOVING, count=20)
    assert len(bench.commands) == 20
    assert bench.mode is Mode.HOLD
    assert bench.node.trigger_activate() is FAILURE, "not while the arm still moves"
    # The torque that braked it goes back to gravity at the allowed rate.
    bench.state(AT_REST, count=100)
    bench.forget()
    bench.state(AT_REST, count=5)
    assert bench.commands == []
    assert bench.node.trigger_activate() is SUCCESS


@pytest.mark.parametrize("how", ["end", "deactivate"])
def test_an_arm_that_presses_against_something_is_released_before_the_last_command(bench, how):
    bench.activate()
    # It does not follow: something is in its way.
    bench.state(count=400)
    assert np.abs(bench.commands[-1]).max() > 10.0
    if how == "end":
        bench.node.prepare_stop()
    else:
        assert bench.node.trigger_deactivate() is SUCCESS
    for _ in range(200):
        if bench.node.finished or not bench.session.active:
            break
        bench.state()
    assert bench.node.finished or not bench.session.active, (
        bench.mode,
        bench.session.command,
        bench.session.states.largest_speed,
        bench.session.violations,
        bench.session._law.gravity,
    )
    # A Panda adds gravity itself: nothing is left of what pressed.
    assert np.all(np.abs(bench.commands[-1]) <= RELEASE_SHARE * ROBOT.limits.effort)


def test_shut_down_it_does_not_command_for_ever(bench):
    bench.activate()
    bench.state(MOVING)
    assert bench.node.trigger_shutdown() is SUCCESS
    bench.state(AT_REST)
    bench.forget()
    bench.state(AT_REST, count=5)
    assert bench.commands == []
    assert bench.node.state_label() == "finalized"


@pytest.mark.parametrize("executor", ["events", "single"])
def test_cleaned_up_it_has_nothing_left_and_can_be_configured_again(bench, monkeypatch, executor):
    def entities():
        kinds = "publishers", "subscriptions", "services", "clients", "timers"
        return {kind: len(list(getattr(bench.node, kind))) for kind in kinds}

    monkeypatch.setenv("IMPACT_AWARE_EXECUTOR", executor)
    spinner = runtime.make_executor()
    spinner.add_node(bench.node)
    bare = entities()
    try:
        for _ in range(2):
            assert bench.node.trigger_configure() is SUCCESS
            configured = entities()
            bench.node.trigger_cleanup()
            assert (bench.node.state_label(), entities()) == ("unconfigured", bare)
            assert status(bench.node)[:2] == (b"\x00", "waiting to be configured")
            for _ in range(20):
                runtime.spin_once(spinner, [bench.node], 0.001)
        bench.activate()
        assert {**entities(), "subscriptions": entities()["subscriptions"] - 1} == configured, "but for the bench's own"
        bench.state(count=3)
        assert len(bench.commands) == 3
    finally:
        spinner.remove_node(bench.node)
        spinner.shutdown()


def test_it_is_not_cleaned_up_while_it_brings_the_arm_to_rest(bench, sent):
    bench.activate()
    bench.state(MOVING, count=3)
    assert bench.node.trigger_deactivate() is SUCCESS
    assert bench.node.trigger_cleanup() is FAILURE
    assert "being brought to rest" in sent(bench.node, "controller_state")[-1].detail
    assert bench.node.state_label() == "inactive"
    bench.state(AT_REST, count=120)
    assert bench.node.trigger_cleanup() is SUCCESS


def test_a_configuration_that_fails_says_why_and_leaves_nothing(make_bench):
    bench = make_bench(robot="no_such_robot")
    count = len(list(bench.node.publishers))
    assert bench.node.trigger_configure() is FAILURE
    level, sentence, _ = status(bench.node)
    assert level == b"\x01" and sentence.startswith("can't configure: ") and "no_such_robot" in sentence
    assert (bench.node.state_label(), len(list(bench.node.publishers))) == ("unconfigured", count)


def test_the_safe_mode_stays_through_deactivation_until_it_is_reset(bench, sent):
    bench.activate()
    call(bench.node, "~/safe_stop", Trigger.Request())
    assert bench.node.trigger_deactivate() is SUCCESS
    bench.state()
    assert bench.mode is Mode.SAFE
    assert bench.node.trigger_activate() is FAILURE
    assert bench.node.state_label() == "inactive", "a refusal must not end in error processing"
    assert "reset" in sent(bench.node, "controller_state")[-1].detail
    call(bench.node, "~/reset", Trigger.Request())
    assert bench.node.trigger_activate() is SUCCESS


def test_a_transition_that_its_state_does_not_have_is_refused(bench):
    bench.activate()
    assert not ask(bench.node, Transition.TRANSITION_CONFIGURE)
    assert not ask(bench.node, 99)
    assert bench.node.state_label() == "active"
    bench.state()
    assert len(bench.commands) == 1


@pytest.mark.parametrize("executor", ["events", "single"])
def test_an_error_in_any_callback_leads_to_the_safe_mode_and_not_to_an_arm_alone(bench, monkeypatch, executor):
    monkeypatch.setenv("IMPACT_AWARE_EXECUTOR", executor)
    bench.activate()
    spinner = runtime.make_executor()
    spinner.add_node(bench.node)
    failures = iter([ZeroDivisionError("a mistake")])

    def fail() -> None:
        for error in failures:
            raise error

    timer = bench.node.create_timer(0.001, fail)
    for _ in range(200):
        runtime.spin_once(spinner, [bench.node], 0.05)
        if bench.mode is Mode.SAFE:
            break
    timer.cancel()
    assert bench.mode is Mode.SAFE
    assert bench.session.command.reason is SafeReason.EXCEPTION
    assert bench.session.command.detail == "ZeroDivisionError: a mistake"
    bench.forget()
    bench.state(MOVING, count=3)
    assert len(bench.commands) == 3
    spinner.remove_node(bench.node)
    spinner.shutdown()


def test_an_error_while_it_only_watches_commands_nothing(bench):
    bench.configure()
    bench.node.survive(ZeroDivisionError("a mistake"))
    assert bench.mode is Mode.IDLE and not bench.commands


def test_a_rival_that_appears_in_motion_is_named_and_stops_it(bench):
    bench.activate()
    bench.state(count=3)
    tick(bench.node, 0.5)
    assert bench.mode is not Mode.SAFE
    rival = Node("pirate", namespace="/sea")
    publisher = rival.create_publisher(Float64MultiArray, "/effort_controller/commands", 1)
    named = ["/effort_controller/commands by /sea/pirate"]
    try:
        for _ in range(200):
            ends = bench.node.get_publishers_info_by_topic("/effort_controller/commands")
            if "pirate" in [end.node_name for end in ends]:
                break
            time.sleep(0.05)
        tick(bench.node, 0.5)
        bench.state(count=2)
        assert bench.session.command.reason is SafeReason.COMMAND_RIVAL
        assert bench.session.command.detail == f"another node sends commands too: {named[0]}"
    finally:
        rival.destroy_publisher(publisher)
        rival.destroy_node()


def test_a_second_source_of_commands_makes_activation_refused(bench):
    bench.configure()
    bench.field()
    bench.state()
    rival = bench.node.create_publisher(Float64MultiArray, "effort_controller/commands", 1)
    assert bench.node.trigger_activate() is FAILURE
    assert "running twice" in status(bench.node)[1]
    bench.node.destroy_publisher(rival)
    assert bench.node.trigger_activate() is SUCCESS


def test_each_mode_is_logged_once_also_when_the_watchdog_looks_before_the_first_command(bench, monkeypatch):
    said = []
    bench.activate()
    logger = SimpleNamespace(info=said.append, error=said.append, warning=said.append)
    monkeypatch.setattr(bench.node, "get_logger", lambda: logger)
    tick(bench.node, 0.02)
    bench.state()
    tick(bench.node, 0.02)
    bench.state()
    assert [line for line in said if line.startswith("mode ")] == [f"mode ANTE at {bench.time - 0.001:.3f} s"]


def test_a_safe_mode_is_reported_with_its_reason_before_its_first_command(bench):
    bench.activate()
    bench.state()
    # Its first command answers the next state, which may never come: the reason is known before.
    bench.session.upstream_lost("impacts")
    for _ in range(2):
        _, sentence, values = status(bench.node)
        assert (values["mode"], values["reason"]) == ("SAFE", "UPSTREAM_LOST")
        assert "impacts" in sentence
        bench.state()


@pytest.mark.parametrize(("task", "index"), [("hit_and_push", 0), ("dual_arm_grab", 1)])
def test_an_arm_that_stopped_by_itself_ends_the_motion_with_its_reason(make_bench, task, index):
    bench = make_bench(task)
    bench.activate()
    bench.state(count=3)
    arm = bench.arms[index]

    def report(state: int, detail: str = "") -> None:
        send(bench.node, arm.topic("driver/heartbeat"), Heartbeat(session=1, state=state, detail=detail))

    for state in (Heartbeat.STATE_WAITING, Heartbeat.STATE_WORKING):
        report(state)
        bench.state()
    assert bench.mode is not Mode.SAFE
    report(Heartbeat.STATE_STOPPED, "joint_reflex")
    bench.state()
    command = bench.session.command
    assert (command.mode, command.reason) == (Mode.SAFE, SafeReason.ARM_STOPPED)
    assert command.detail == f"the arm {arm.prefix}".rstrip() + " has stopped: joint_reflex"


@pytest.mark.parametrize(("frame", "taken"), [("panda_link0", True), ("camera", False)])
def test_after_the_impact_the_object_is_where_it_was_seen(bench, frame, taken):
    bench.activate()
    bench.state(count=3)
    session = bench.node.session
    bench.impact()
    bench.state(count=30)
    found = session.command.object_position + [0.01, 0.0, 0.0]
    send(bench.node, "reference_field/object", upright(found, frame, session.command.time))
    bench.state(count=200)
    assert bool(session.command.object_position[0] > found[0] - 0.002) is taken
