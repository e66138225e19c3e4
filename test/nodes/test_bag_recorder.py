"""The recorder takes what it can: a topic of a type that this machine lacks must not end a recording."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rosbags.highlevel import AnyReader
from std_msgs.msg import String

from impact_aware.nodes import bag_recorder
from impact_aware.nodes.bag_recorder import BagRecorderNode

FOREIGN = {
    "/not_installed": "nobody_msgs/msg/Odd",
    "/no_such_message": "std_msgs/msg/Odd",
    "/arm/_action/feedback": "nobody_msgs/action/Move_FeedbackMessage",
    "/no_type_of_ours": "odd",
}


@pytest.fixture
def recorder(ros_context, monkeypatch, tmp_path):
    load = bag_recorder.load_settings
    monkeypatch.setattr(
        bag_recorder,
        "load_settings",
        lambda node, kind: dataclasses.replace(load(node, kind), bag=str(tmp_path / "bag")),
    )
    node = BagRecorderNode()
    topics = [*FOREIGN.items(), ("/words", "std_msgs/msg/String")]
    monkeypatch.setattr(node, "get_topic_names_and_types", lambda: [(topic, [kind]) for topic, kind in topics])
    offer = SimpleNamespace(qos_profile=QoSProfile(depth=1))
    monkeypatch.setattr(node, "get_publishers_info_by_topic", lambda topic: [offer])
    yield node
    node.destroy_node()


def test_what_can_not_be_recorded_is_left_out_and_the_rest_is_in_the_bag(recorder, tmp_path):
    for _ in range(2):
        recorder._discover()
    (words,) = recorder.subscriptions
    data = serialize_message(String(data="a"))
    # Bytes are recorded as they came, whatever they are.
    for packed in (data, b"", data[:5]):
        words.callback(packed)
    recorder.close()
    with AnyReader([tmp_path / "bag"]) as bag:
        assert [(own.topic, bytes(packed)) for own, _, packed in bag.messages()] == [
            ("/words", data), ("/words", b""), ("/words", data[:5]),
        ]  # fmt: skip
