"""What a stranger in the ROS domain can send: each is answered or refused in one line, counted, and no node ends."""

import os
import time

import pytest
from impact_aware_msgs.srv import PredictPostImpact, SetTask
from node_harness import call
from patience import until
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock as ClockMessage
from std_msgs.msg import String
from std_srvs.srv import Trigger

from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.resources import find_resource
from impact_aware.ros import diagnostics, runtime
from impact_aware.ros.diagnostics import ERROR, OK, DiagnosticsReporter
from impact_aware.ros.messages import message_class
from impact_aware.ros.robot_source import provide_robot
from impact_aware.ros.supervision import MOST_KINDS, OTHERS, Supervision
from impact_aware.ros.timers import steady_timer


@pytest.fixture
def field_node(make):
    return make(ReferenceFieldNode)


def test_set_task_opens_no_file_but_the_node_s_own(field_node, tmp_path):
    own = tmp_path / "mine.yaml"
    own.write_text(find_resource("config", "tasks", "hit_and_push.yaml").read_text())
    answer = call(field_node, "set_task", SetTask.Request(task=str(own)))
    assert not answer.success and "one of dual_arm_grab, dual_arm_grab_tilted, hit_and_push" in answer.message


def description_callback(node, robots):
    provide_robot(node, "", "", robots.append)
    (subscription,) = [s for s in node.subscriptions if s.topic_name.endswith("robot_description")]
    return subscription.callback


def test_a_description_is_never_a_path(node, tmp_path):
    robots = []
    receive = description_callback(node, robots)
    os.mkfifo(tmp_path / "pipe")
    for text in ("/dev/zero", str(tmp_path / "pipe"), "/etc/passwd", "", "\0", "<robot", "<robot>" + "<a>" * 100_000):
        receive(String(data=text))
    assert not robots


def test_the_state_of_a_request_has_to_be_possible(make):
    node = make(JumpPredictorNode)
    request = PredictPostImpact.Request(position=[0.0, -45.0, 0.0, -135.0, 0.0, 90.0, 45.0], velocity=[0.1] * 7)
    answer = call(node, "predict_post_impact", request)
    assert not answer.success and "got -45 for panda_joint2, expected radians" in answer.message
    request.position, request.object, request.object_mass = [0.0, -0.8, 0.0, -2.3, 0.0, 1.5, 0.8], 2, 1e300
    answer = call(node, "predict_post_impact", request)
    assert not answer.success and "object" in answer.message


TYPES = ("os/path/join", "antigravity/msg/x", "std_msgs/msg/__init__", "std_msgs/msg/String/x", "x", "", "../a/msg/B",
         "std_msgs/msg/sys", "impact_aware.nodes/msg/Evil", "Std_msgs/msg/String")  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_imported_only_from_an_installed_message_package(ros_context, tmp_path, name):
    with pytest.raises(ValueError, match="type"):
        message_class(name)


def test_a_module_that_is_no_message_package_is_not_imported(tmp_path, monkeypatch):
    folder = tmp_path / "evil_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (folder / "__init__.py").write_text("class Bad: pass")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match="evil_msgs/msg/Bad"):
        message_class("evil_msgs/msg/Bad")
    assert not (tmp_path / "ran").exists()
    assert message_class("std_msgs/msg/String") is String


class Raising:
    """An executor whose callbacks fail."""

    def __init__(self, *errors):
        self.errors = list(errors)

    def spin_once(self, timeout_sec):
        if self.errors:
            raise self.errors.pop(0)


@pytest.fixture
def supervision(monkeypatch):
    fresh = Supervision()
    monkeypatch.setattr(runtime, "SUPERVISION", fresh)
    monkeypatch.setattr(diagnostics, "SUPERVISION", fresh)
    return fresh


def test_a_failed_callback_is_counted_and_the_node_goes_on(node, supervision):
    reporter = DiagnosticsReporter(node, lambda: (OK, "fine", {"own": 1}))
    level, sentence, values = reporter._collect()
    assert (level, sentence, set(values)) == (OK, "fine", {"own", "listens on"})
    spinner = Raising(ZeroDivisionError("a"), MemoryError("b"), ZeroDivisionError("c"), RecursionError("d"))
    for _ in range(6):
        runtime.spin_once(spinner, [node], 0.01)
    assert supervision.failures.total() == 4
    level, sentence, values = reporter._collect()
    assert (level, sentence, values["own"]) == (ERROR, "4 callbacks failed", 1)
    counted = {key.split(" at ")[0]: value for key, value in values.items() if key.startswith("failed")}
    assert counted == {"failed: ZeroDivisionError": 2, "failed: MemoryError": 1, "failed: RecursionError": 1}


def test_kinds_of_failures_are_bounded(node):
    supervision = Supervision()
    for number in range(MOST_KINDS + 30):
        supervision.note([], type(f"Error{number}", (Exception,), {})())
    assert len(supervision.failures) == MOST_KINDS + 1
    assert supervision.failures[OTHERS] == 30


@pytest.mark.parametrize("spin", [runtime.spin_once, runtime.spin])
def test_a_timer_that_fails_does_not_end_a_real_executor(node, supervision, spin):
    calls = []

    def fail():
        calls.append(1)
        raise ValueError("a mistake")

    node.create_timer(0.005, fail, clock=Clock(clock_type=ClockType.STEADY_TIME))
    executor = runtime.make_executor()
    executor.add_node(node)
    until(lambda: len(calls) >= 3, lambda: spin(executor, [node], 0.05))
    executor.remove_node(node)
    executor.shutdown()
    assert len(calls) >= 3 and supervision.failures.total() >= 3


@pytest.mark.parametrize("kind", ["events", "single"])
def test_a_stretch_of_spinning_serves_many_callbacks_and_ends_although_more_come(node, monkeypatch, kind):
    calls = []
    node.create_timer(0.001, lambda: calls.append(time.monotonic()), clock=Clock(clock_type=ClockType.STEADY_TIME))
    monkeypatch.setenv("IMPACT_AWARE_EXECUTOR", kind)
    executor = runtime.make_executor()
    executor.add_node(node)
    begin = time.monotonic()
    runtime.spin(executor, [node], 0.3)
    took = time.monotonic() - begin
    executor.remove_node(node)
    executor.shutdown()
    assert 0.29 < took < 10.0
    assert len(calls) >= 3


def test_a_flood_leaves_nothing_to_do_for_a_node_that_rests(node):
    """Messages that the queue has dropped must not stand between a node and the next request."""
    node.create_subscription(String, "flood", lambda message: None, 10)
    publisher = node.create_publisher(String, "flood", 10)
    executor = runtime.make_executor(rest=0.02)
    executor.add_node(node)
    until(publisher.get_subscription_count, lambda: executor.spin_once(timeout_sec=0.01))
    for _ in range(20):
        executor.spin_once(timeout_sec=0.01)
    for number in range(3000):
        publisher.publish(String(data=str(number)))
    time.sleep(0.2)
    done = []
    node.create_timer(0.0, lambda: done.append(True), clock=Clock(clock_type=ClockType.STEADY_TIME))
    spins = 0
    while not done and spins < 3000:
        executor.spin_once(timeout_sec=0.1)
        spins += 1
    executor.remove_node(node)
    executor.shutdown()
    assert spins <= 20


def test_the_clock_of_a_running_node_stays_the_one_it_was_started_with(field_node):
    (result,) = field_node.set_parameters([Parameter("use_sim_time", value=True)])
    assert not result.successful and "when the node is started" in result.reason
    assert not field_node.get_parameter("use_sim_time").value


def test_a_parameter_without_a_name_is_refused(field_node):
    (result,) = field_node.set_parameters([Parameter("", value="mine")])
    assert (result.successful, result.reason) == (False, "a parameter has a name")
    assert not field_node.has_parameter("")


def test_a_clock_below_zero_does_not_end_a_node(ros_context, supervision):
    node = Node("timed", parameter_overrides=[Parameter("use_sim_time", value=True)])
    publisher = node.create_publisher(ClockMessage, "/clock", 10)
    executor = runtime.make_executor()
    executor.add_node(node)
    message = ClockMessage()

    def publish():
        publisher.publish(message)
        runtime.spin_once(executor, [node], 0.05)

    message.clock.sec = -5
    until(lambda: supervision.failures, publish)
    message.clock.sec = 7
    assert until(lambda: node.get_clock().now().nanoseconds == 7 * 10**9, publish)
    executor.remove_node(node)
    executor.shutdown()
    node.destroy_node()


def test_a_service_answers_also_when_its_callback_raises(node, supervision):
    def fail(request, response):
        raise RuntimeError("first line\nsecond")

    node.create_service(Trigger, "fail", fail)
    node.create_service(Trigger, "work", lambda request, response: Trigger.Response(success=True))
    supervision.answer_always([node])
    services = {service.srv_name.rpartition("/")[2]: service for service in node.services}
    assert services["work"].callback(Trigger.Request(), Trigger.Response()).success
    assert not supervision.failures
    assert services["fail"].callback(Trigger.Request(), Trigger.Response()) == Trigger.Response()
    assert supervision.failures.total() == 1 and next(iter(supervision.failures)).startswith("RuntimeError at test_")


def test_a_parameter_of_a_type_that_there_is_not_is_refused_with_the_reason(node, supervision):
    services = {service.srv_name.rpartition("/")[2]: service for service in node.services}
    supervision.answer_always([node])
    strange = ParameterMessage(name="a", value=ParameterValue(type=77))
    request = SetParameters.Request(parameters=[strange, strange])
    answer = services["set_parameters"].callback(request, SetParameters.Response())
    assert [(result.successful, result.reason) for result in answer.results] == [
        (False, "77 is not a valid Parameter.Type")
    ] * 2
    one = SetParametersAtomically.Request(parameters=[strange])
    answer = services["set_parameters_atomically"].callback(one, SetParametersAtomically.Response())
    assert (answer.result.successful, answer.result.reason) == (False, "77 is not a valid Parameter.Type")
    assert not supervision.failures


def test_a_timer_goes_on_while_the_clock_stands_still_and_after_it_was_set_back(ros_context, supervision):
    node = Node("still", parameter_overrides=[Parameter("use_sim_time", value=True)])
    executor = runtime.make_executor()
    executor.add_node(node)
    calls = []
    steady_timer(node, 0.01, lambda: calls.append(node.get_clock().now().nanoseconds))
    until(lambda: len(calls) >= 3, lambda: runtime.spin_once(executor, [node], 0.05))
    assert calls[:3] == [0, 0, 0]
    # rclpy#1490: as at each loop of a replay.
    publisher, message = node.create_publisher(ClockMessage, "/clock", 10), ClockMessage()

    def publish():
        publisher.publish(message)
        runtime.spin_once(executor, [node], 0.05)

    for seconds in (100, 5):
        message.clock.sec = seconds
        count = len(calls)
        assert until(lambda: calls[count:].count(seconds * 10**9) >= 3, publish)  # noqa: B023 - called at once
    executor.remove_node(node)
    executor.shutdown()
    node.destroy_node()
