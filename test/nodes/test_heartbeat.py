"""Who lives is heard, on every middleware: senders, and what a listener makes of silence."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from impact_aware_msgs.msg import Heartbeat, ImpactEvent
from patience import patient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from impact_aware.nodes.ros import heartbeat, middleware, upstream
from impact_aware.nodes.ros.heartbeat import HeartbeatSender, HeartbeatWatch
from impact_aware.nodes.ros.upstream import Upstream


def beat(count: int, session: int = 7) -> Heartbeat:
    return Heartbeat(session=session, count=count, state=Heartbeat.STATE_WORKING)


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


def until(executor, condition, patience: float = 20.0) -> bool:
    deadline = time.monotonic() + patient(patience)
    while not condition() and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.02)
    return condition()


def test_a_node_says_that_it_lives_though_a_callback_takes_long_until_it_is_destroyed(heard):
    node = Node("detector")
    sender = HeartbeatSender(node, ["impacts"])
    # Nobody serves the node meanwhile.
    assert until(heard.executor, lambda: len(heard.messages) >= 3)
    counts = [message.count for message in heard.messages]
    assert counts == list(range(counts[0], counts[0] + len(counts)))
    assert {message.session for message in heard.messages} == {sender._session}
    assert {message.state for message in heard.messages} == {Heartbeat.STATE_WORKING}
    node.destroy_node()
    time.sleep(3.0 * heartbeat.PERIOD)
    until(heard.executor, lambda: False, 0.2)
    before = len(heard.messages)
    until(heard.executor, lambda: False, 5.0 * heartbeat.PERIOD)
    assert len(heard.messages) == before


def test_a_node_that_is_not_served_any_more_falls_silent(heard, monkeypatch):
    monkeypatch.setattr(heartbeat, "HUNG", 0.0)
    node = Node("detector")
    HeartbeatSender(node, ["impacts"])
    assert not until(heard.executor, lambda: bool(heard.messages), 5.0 * heartbeat.PERIOD)
    monkeypatch.setattr(heartbeat, "HUNG", 60.0)
    assert until(heard.executor, lambda: bool(heard.messages))
    node.destroy_node()


def test_a_node_that_is_served_goes_on(heard, monkeypatch):
    monkeypatch.setattr(heartbeat, "HUNG", 0.3)
    node = Node("detector")
    HeartbeatSender(node, ["impacts"])
    heard.executor.add_node(node)
    # More than there is time for until a node that is not served falls silent.
    assert until(heard.executor, lambda: len(heard.messages) >= 8)
    heard.executor.remove_node(node)
    node.destroy_node()


def test_each_topic_has_its_own_and_a_count_that_is_full_begins_anew(heard):
    node = Node("detector")
    sender = HeartbeatSender(node, ["predicted_jumps", "impacts"])
    sender._count = 2**32 - 2
    assert until(heard.executor, lambda: len(heard.messages) >= 4)
    counts = [message.count for message in heard.messages[:4]]
    assert counts == [(2**32 - 2 + k) % 2**32 for k in range(4)]
    node.destroy_node()


def test_two_lives_of_a_node_are_told_apart(node):
    assert HeartbeatSender(node, ["a"])._session != HeartbeatSender(node, ["b"])._session


# Listening


def test_what_is_repeated_is_no_life():
    watch = HeartbeatWatch(0.05)
    assert watch.take(beat(1))
    assert not watch.take(beat(1))
    assert watch.take(beat(2))
    assert watch.take(beat(2, session=8))
    for step in range(4):
        watch.look(0.05 * step)
    watch.take(beat(2, session=8))
    assert watch.silent == pytest.approx(0.15)
    watch.take(beat(3, session=8))
    assert watch.silent == 0.0


class Listener:
    """An `Upstream` of one topic, with a clock that a test sets."""

    def __init__(self, node: Node, monkeypatch) -> None:
        self.now, self.lost, self.count = 50.0, [], 0
        monkeypatch.setattr(upstream, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.upstream = Upstream(node, self.lost.append, 0.5)
        self.upstream.listen(ImpactEvent, "impacts", print)

    def hear(self, session: int = 7) -> None:
        self.count += 1
        self.upstream._on_beat("impacts", beat(self.count, session))

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds / upstream.LOOK_PERIOD)):
            self.now += upstream.LOOK_PERIOD
            self.upstream._look()


@pytest.fixture
def listener(node, monkeypatch):
    return Listener(node, monkeypatch)


def test_silence_of_who_was_heard_is_told_once_within_its_time(listener):
    listener.hear()
    listener.wait(0.5)
    assert listener.lost == []
    listener.wait(0.1)
    assert listener.lost == ["impacts"]
    listener.wait(5.0)
    assert listener.lost == ["impacts"]
    assert listener.upstream.refusal() == (
        "the node that publishes /impacts is gone: no further message came on /impacts/heartbeat"
    )


def test_who_is_silent_and_still_there_is_not_called_gone(node, listener):
    publisher = node.create_publisher(ImpactEvent, "impacts", 10)
    listener.hear()
    listener.wait(1.0)
    assert listener.upstream.refusal() == (
        "the node that publishes /impacts is held up: no further message came on /impacts/heartbeat"
    )
    node.destroy_publisher(publisher)


def test_who_is_started_anew_is_known_with_its_first_heartbeat(listener):
    listener.hear()
    listener.wait(1.0)
    listener.hear(session=8)
    assert listener.upstream.refusal() == ""
    listener.wait(1.0)
    assert listener.lost == ["impacts", "impacts"]


def test_who_never_had_a_heartbeat_is_not_missed_where_the_middleware_tells(listener):
    listener.wait(10.0)
    assert listener.lost == []
    assert listener.upstream.refusal() == ""


def test_only_a_middleware_that_tells_of_death_is_asked_for_it(node, monkeypatch):
    asked = {}
    real = node.create_subscription

    def create(kind, topic, *arguments, event_callbacks=None, **more):
        asked[topic] = event_callbacks is not None
        return real(kind, topic, *arguments, **more)

    monkeypatch.setattr(node, "create_subscription", create)
    Listener(node, monkeypatch)
    assert asked == {"impacts": True, "impacts/heartbeat": False}
    monkeypatch.setattr(middleware, "get_rmw_implementation_identifier", lambda: "rmw_zenoh_cpp")
    Listener(node, monkeypatch)
    assert asked == {"impacts": False, "impacts/heartbeat": False}


def test_where_the_middleware_does_not_tell_a_heartbeat_must_be_heard(node, monkeypatch):
    monkeypatch.setattr(middleware, "get_rmw_implementation_identifier", lambda: "rmw_zenoh_cpp")
    listener = Listener(node, monkeypatch)
    assert listener.upstream.refusal() == (
        "no message came on /impacts/heartbeat, and rmw_zenoh_cpp does not report the death of the node that "
        "publishes /impacts"
    )
    listener.hear()
    assert listener.upstream.refusal() == ""
    listener.wait(1.0)
    assert listener.lost == ["impacts"]
