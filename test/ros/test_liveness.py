"""Liveness of publishers, on every middleware: what senders publish, and how a listener detects silence."""

import time
from types import SimpleNamespace

import patience
import pytest
import rclpy
from impact_aware_msgs.msg import Heartbeat, ImpactEvent
from node_harness import send, tick
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from impact_aware.ros import liveness
from impact_aware.ros.liveness import LOOK_PERIOD, HeartbeatSender, Upstream, WatchdogLink, reports_death

# Sending


@pytest.fixture
def heard(ros_context):
    """What a listener hears on `impacts/heartbeat`, and its executor."""
    messages: list[Heartbeat] = []
    listener = Node("listener")
    listener.create_subscription(Heartbeat, "impacts/heartbeat", messages.append, 10)
    executor = SingleThreadedExecutor()
    executor.add_node(listener)
    yield SimpleNamespace(messages=messages, executor=executor)
    executor.shutdown()
    listener.destroy_node()


def until(executor, condition, seconds=20.0):
    return patience.until(condition, lambda: executor.spin_once(timeout_sec=0.02), seconds)


def test_a_node_says_that_it_lives_though_a_callback_takes_long_until_it_is_destroyed(heard):
    node = Node("detector")
    HeartbeatSender(node, ["predicted_jumps", "impacts"])
    # Nobody serves the node meanwhile.
    assert until(heard.executor, lambda: len(heard.messages) >= 3)
    counts = [message.count for message in heard.messages]
    assert counts == list(range(counts[0], counts[0] + len(counts)))
    assert len({message.session for message in heard.messages}) == 1
    assert {message.state for message in heard.messages} == {Heartbeat.STATE_WORKING}
    node.destroy_node()
    time.sleep(3.0 * liveness.PERIOD)
    until(heard.executor, lambda: False, 0.2)
    before = len(heard.messages)
    until(heard.executor, lambda: False, 5.0 * liveness.PERIOD)
    assert len(heard.messages) == before
    again = Node("detector")
    HeartbeatSender(again, ["impacts"])
    assert until(heard.executor, lambda: heard.messages[-1].session != heard.messages[0].session)
    again.destroy_node()


def test_a_node_that_is_not_served_any_more_falls_silent(heard, monkeypatch):
    monkeypatch.setattr(liveness, "HUNG", 0.0)
    node = Node("detector")
    HeartbeatSender(node, ["impacts"])
    assert not until(heard.executor, lambda: bool(heard.messages), 5.0 * liveness.PERIOD)
    monkeypatch.setattr(liveness, "HUNG", 0.3)
    heard.executor.add_node(node)
    # More than there is time for until a node that is not served falls silent.
    assert until(heard.executor, lambda: len(heard.messages) >= 8)
    heard.executor.remove_node(node)
    node.destroy_node()


# Listening


class Listener:
    """Who listens to a heartbeat, with a clock that a test sets; what it was told is in `said`."""

    def __init__(self, node, monkeypatch, topic):
        self.node, self.topic, self.now, self.said, self.count = node, topic, 50.0, [], 0
        monkeypatch.setattr(liveness, "time", SimpleNamespace(monotonic=lambda: self.now))

    def hear(self, session=7, state=Heartbeat.STATE_WORKING, count=None, detail=""):
        self.count += 1
        number = self.count if count is None else count
        send(self.node, f"{self.topic}/heartbeat", Heartbeat(session=session, count=number, state=state, detail=detail))

    def wait(self, seconds):
        for _ in range(round(seconds / LOOK_PERIOD)):
            self.now += LOOK_PERIOD
            tick(self.node)


@pytest.fixture
def listen(node, monkeypatch):
    """Makes an `Upstream` of `impacts`."""

    def make():
        listener = Listener(node, monkeypatch, "impacts")
        listener.link = Upstream(node, listener.said.append, 0.5)
        listener.link.listen(ImpactEvent, "impacts", print)
        return listener

    return make


@pytest.fixture
def linked(node, monkeypatch):
    """A `WatchdogLink`."""
    listener = Listener(node, monkeypatch, "command_watchdog")
    listener.link = WatchdogLink(node, 0.09, listener.said.append)
    return listener


def test_silence_of_who_was_heard_is_told_once_within_its_time(node, listen):
    listener = listen()
    # Who never had one is not missed where the middleware reports deaths.
    listener.wait(10.0)
    assert listener.said == [] and listener.link.refusal() == ""
    listener.hear()
    listener.wait(0.5)
    assert listener.said == []
    listener.wait(0.1)
    assert listener.said == ["impacts"]
    listener.wait(5.0)
    assert listener.said == ["impacts"]
    words = "the node that publishes /impacts is {}: no further message came on /impacts/heartbeat"
    assert listener.link.refusal() == words.format("gone")
    publisher = node.create_publisher(ImpactEvent, "impacts", 10)
    assert listener.link.refusal() == words.format("held up")
    node.destroy_publisher(publisher)


def test_what_is_repeated_is_no_life_and_who_is_started_anew_is_known_with_its_first_heartbeat(listen):
    listener = listen()
    for _ in range(8):
        listener.hear(count=1)
        listener.wait(0.1)
    assert listener.said == ["impacts"]
    listener.hear(session=8, count=1)
    assert listener.link.refusal() == ""
    listener.wait(1.0)
    assert listener.said == ["impacts", "impacts"]


def test_a_lease_that_runs_out_is_a_loss_only_of_a_node_without_a_heartbeat(listen):
    listener, ended = listen(), SimpleNamespace(alive_count=0, alive_count_change=-1)
    listener.link.on_change("impacts", ended)
    assert listener.said == ["impacts"]
    # As after this process stood still: nothing renewed the lease meanwhile, and the heartbeats go on.
    listener.hear()
    listener.link.on_change("impacts", ended)
    assert listener.said == ["impacts"]


def test_without_a_watchdogs_heartbeat_nothing_begins_and_a_motion_ends(linked):
    assert linked.link.refusal() == "no message came on /command_watchdog/heartbeat: does command_watchdog run?"
    linked.hear(count=500)
    assert linked.link.refusal() == ""
    linked.wait(0.1)
    assert linked.said == []
    linked.wait(0.04)
    assert linked.said[0] == "no message came on /command_watchdog/heartbeat for 100 ms"
    linked.hear(count=500)
    assert linked.link.refusal() != ""
    linked.hear(session=2, count=0)
    assert linked.link.refusal() == ""


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (Heartbeat.STATE_STOPPED, "command_watchdog stopped the arms: why"),
        (Heartbeat.STATE_WAITING, "command_watchdog can't stop the arms: why"),
    ],
)
def test_a_watchdog_that_has_stopped_or_could_not_stop_ends_the_motion(linked, state, words):
    linked.hear(state=state, detail="why")
    assert linked.said == [words] and linked.link.refusal() == words


# Middlewares


@pytest.mark.parametrize(
    ("name", "reports"),
    [("rmw_fastrtps_cpp", True), ("rmw_fastrtps_dynamic_cpp", True), ("rmw_cyclonedds_cpp", True),
     ("rmw_connextdds", True), ("rmw_zenoh_cpp", False), ("rmw_of_tomorrow", False), ("rmw_fastrtps", False)],
)  # fmt: skip
def test_callbacks_are_requested_of_a_middleware_that_reports_death(node, listen, monkeypatch, name, reports):
    assert liveness.middleware() == rclpy.get_rmw_implementation_identifier()
    requested, real = {}, node.create_subscription

    def create(kind, topic, *arguments, event_callbacks=None, **more):
        requested[topic] = event_callbacks is not None
        return real(kind, topic, *arguments, **more)

    monkeypatch.setattr(node, "create_subscription", create)
    monkeypatch.setattr(liveness, "get_rmw_implementation_identifier", lambda: name)
    listen()
    assert requested == {"impacts": reports, "impacts/heartbeat": False} and reports_death() is reports


def test_where_the_middleware_does_not_tell_a_heartbeat_must_be_heard(listen, monkeypatch):
    monkeypatch.setattr(liveness, "get_rmw_implementation_identifier", lambda: "rmw_zenoh_cpp")
    listener = listen()
    assert listener.link.refusal() == (
        "no message came on /impacts/heartbeat, and rmw_zenoh_cpp does not report the death of the node that "
        "publishes /impacts"
    )
    listener.hear()
    assert listener.link.refusal() == ""
    listener.wait(1.0)
    assert listener.said == ["impacts"]
