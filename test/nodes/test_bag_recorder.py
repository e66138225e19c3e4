"""The recorder takes what it can: a topic of a type that this machine lacks must not end a recording."""

from itertools import count
from types import SimpleNamespace

import pytest
from node_harness import tick
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from impact_aware.bags.bag import Bag
from impact_aware.errors import InvalidInputError
from impact_aware.nodes import bag_recorder
from impact_aware.nodes.bag_recorder import BagRecorderNode
from impact_aware.ros.readiness import TOPIC as READINESS

LATCHED, VOLATILE = DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE

FOREIGN = {
    "/not_installed": "nobody_msgs/msg/Odd",
    "/no_such_message": "std_msgs/msg/Odd",
    "/arm/_action/feedback": "nobody_msgs/action/Move_FeedbackMessage",
    "/no_type_of_ours": "odd",
}


@pytest.fixture
def recording(make, monkeypatch, tmp_path):
    """Makes a recorder that sees these topics, as `recording("/words std_msgs/msg/String")`, and listens to them."""

    def made(*topics: str, **parameters) -> BagRecorderNode:
        node = make(BagRecorderNode, **{"bag": str(tmp_path / "bag"), **parameters})
        seen = [(text.split()[0], [text.split()[1]]) for text in topics]
        kinds = {"latched": [LATCHED], "mixed": [LATCHED, VOLATILE]}
        ways = {text.split()[0]: kinds.get(text.split()[-1], [VOLATILE]) for text in topics}

        def offers(topic: str) -> list[SimpleNamespace]:
            how = {"depth": 1, "liveliness_lease_duration": Duration(seconds=1.5)}
            named = {"node_name": "source", "node_namespace": "/", "topic_type": dict(seen)[topic][0]}
            return [SimpleNamespace(qos_profile=QoSProfile(durability=way, **how), **named) for way in ways[topic]]

        monkeypatch.setattr(node, "get_topic_names_and_types", lambda: seen)
        monkeypatch.setattr(node, "get_publishers_info_by_topic", offers)
        for _ in range(2):
            tick(node, bag_recorder.DISCOVERY_PERIOD)
        return node

    return made


def callbacks(node) -> dict:
    """What takes a message of each topic, and the time at which it was sent, ns: by default after the one before."""
    clock = count(1)

    def taking(callback):
        return lambda data, sent=None: callback(data, {"source_timestamp": next(clock) if sent is None else sent})

    return {own.topic_name: taking(own.callback) for own in node.subscriptions if own.topic_name != READINESS}


def test_what_can_not_be_recorded_is_left_out_and_the_rest_is_in_the_bag(recording, tmp_path):
    recorder = recording(*(f"{topic} {kind}" for topic, kind in FOREIGN.items()), "/words std_msgs/msg/String")
    (words,) = callbacks(recorder).values()
    data = serialize_message(String(data="a"))
    # Bytes are recorded as they came, whatever they are.
    for packed in (data, b"", data[:5]):
        words(packed)
    recorder.close()
    with AnyReader([tmp_path / "bag"]) as bag:
        assert [(own.topic, bytes(packed)) for own, _, packed in bag.messages()] == [
            ("/words", data), ("/words", b""), ("/words", data[:5]),
        ]  # fmt: skip


def test_a_recorder_that_is_killed_leaves_what_came_until_a_second_before(recording, tmp_path):
    recorder = recording("/words std_msgs/msg/String")
    (words,) = callbacks(recorder).values()
    for text in "abc":
        words(serialize_message(String(data=text)))
    tick(recorder, bag_recorder.FLUSH_PERIOD)
    words(serialize_message(String(data="lost")))
    # Not closed: no index, no end, no metadata.yaml.
    with Bag(tmp_path / "bag") as bag:
        assert len(list(bag.records())) == 3
    recorder.close()
    with AnyReader([tmp_path / "bag"]) as bag:
        assert len(list(bag.messages())) == 4


def test_a_topic_is_listened_to_once_and_as_it_is_offered_and_a_player_can_offer_it_so_again(recording, tmp_path):
    kind = "std_msgs/msg/String"
    node = recording(f"/words {kind}", f"/kept {kind} latched", f"/both {kind} mixed", f"/step_done {kind}")
    found = [(own.topic_name, own.qos_profile.durability) for own in node.subscriptions if own.topic_name != READINESS]
    assert found == [("/words", VOLATILE), ("/kept", LATCHED), ("/both", VOLATILE)]
    node.close()
    with AnyReader([tmp_path / "bag"]) as bag:
        offered = {own.topic: own.ext.offered_qos_profiles for own in bag.connections}
    assert {topic: (own.depth, own.durability.name, own.reliability.name) for topic, (own, *_) in offered.items()} == {
        "/words": (1, "VOLATILE", "RELIABLE"),
        "/kept": (1, "TRANSIENT_LOCAL", "RELIABLE"),
        "/both": (1, "TRANSIENT_LOCAL", "RELIABLE"),
    }
    assert offered["/kept"][0].liveliness_lease_duration == (1, 500_000_000)


def test_on_a_full_disk_the_recorder_ends_and_says_how_much_it_kept(recording, monkeypatch, capfd):
    node = recording("/words std_msgs/msg/String")
    (words,) = callbacks(node).values()
    words(serialize_message(String(data="a")))
    assert not node.finished

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(node._writer, "write", full)
    monkeypatch.setattr(node._writer, "close", full)
    for _ in range(3):
        words(serialize_message(String(data="b")))
    assert node.finished
    node.close()
    (said,) = [line for line in capfd.readouterr().err.splitlines() if "ERROR" in line]
    assert said.endswith("the bag can't be written any more, 1 messages are in it: [Errno 28] No space left on device")


def test_asked_to_end_it_records_what_has_come_first(recording):
    """However long a busy machine takes over each message, and over what else a spin may do."""
    node = recording("/words std_msgs/msg/String")
    (words,) = callbacks(node).values()
    assert not any(node.finished for _ in range(2 * bag_recorder.QUIET))
    node.prepare_stop()
    assert all(timer.is_canceled() for timer in node.timers)
    for _ in range(20):
        assert not any(node.finished for _ in range(bag_recorder.QUIET - 1))
        words(serialize_message(String(data="a")))
        assert not node.finished
    assert [node.finished for _ in range(bag_recorder.QUIET)] == [False] * (bag_recorder.QUIET - 1) + [True]


def test_in_the_time_of_states_each_message_has_the_stamp_of_the_newest_state(recording, tmp_path):
    node = recording("/left/joint_states sensor_msgs/msg/JointState", "/words std_msgs/msg/String", time_of_states=True)
    listening = callbacks(node)
    word = serialize_message(String(data="a"))

    def state(whole: int, nanoseconds: int) -> bytes:
        message = JointState()
        message.header.stamp.sec, message.header.stamp.nanosec = whole, nanoseconds
        return serialize_message(message)

    sent = [
        ("/words", word), ("/left/joint_states", state(7, 3_000_001)), ("/words", word),
        ("/left/joint_states", state(6, 999_000_000)), ("/left/joint_states", b"\0\1\0\0\5"),
        ("/left/joint_states", state(7, 4_000_000)), ("/words", word),
    ]  # fmt: skip
    for topic, data in sent:
        listening[topic](data)
    node.close()
    with AnyReader([tmp_path / "bag"]) as bag:
        found = [(own.topic, time) for own, time, _ in bag.messages() if own.topic in listening]
    first, second = 7_003_000_001, 7_004_000_000
    # A state of before, or one without a stamp, turns no clock back.
    times = (0, first, first, first, first, second, second)
    assert found == [(topic, time) for (topic, _), time in zip(sent, times, strict=True)]


def test_in_the_time_of_states_a_command_counts_when_it_was_sent_and_not_when_its_turn_came(recording, tmp_path):
    """The queue of states is 300 ms behind that of commands, as on a busy machine."""
    node = recording("/joint_states sensor_msgs/msg/JointState", "/words std_msgs/msg/String", time_of_states=True)
    listening, message = callbacks(node), JointState()
    for index in range(1000):
        listening["/words"](serialize_message(String(data=str(index))), index * 1_000_000 + 400_000)
        if index >= 300:
            message.header.stamp.nanosec = 1_000_000 * (index - 300)
            listening["/joint_states"](serialize_message(message), message.header.stamp.nanosec)
        if index >= 300 and index % 100 == 0:
            tick(node, bag_recorder.RELEASE_PERIOD)
    node.close()
    with AnyReader([tmp_path / "bag"]) as bag:
        words = [(time, bag.deserialize(data, own.msgtype).data) for own, time, data in bag.messages()
                 if own.topic == "/words"]  # fmt: skip
    assert words[:700] == [(1_000_000 * index, str(index)) for index in range(700)]
    assert len(words) == 1000


@pytest.mark.parametrize("name", ["file/bag", "n" * 300])
def test_a_bag_that_can_not_be_made_is_refused_by_name(recording, tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInputError, match="parameter bag: got .*, expected a folder that can be made"):
        recording(bag=str(tmp_path / name))


def test_definitions_keep_the_order_of_their_files_so_that_viewers_can_name_values(recording, tmp_path):
    """A viewer names the values of a field by the constants that stand before it, of the same type."""
    recording(
        "/controller_state impact_aware_msgs/msg/ControllerState",
        "/predicted_jumps impact_aware_msgs/msg/ImpactPrediction",
        "/joint_states sensor_msgs/msg/JointState",
    ).close()
    with AnyReader([tmp_path / "bag"]) as bag:
        texts = {own.topic: own.msgdef.data for own in bag.connections}
        # What was written is understood by who reads the bag.
        assert {own.topic: own.digest for own in bag.connections if own.topic != "/joint_states"} == {
            own.topic: bag.typestore.hash_rihs01(own.msgtype) for own in bag.connections if own.topic != "/joint_states"
        }
    control, prediction = texts["/controller_state"].split("\n"), texts["/predicted_jumps"].split("\n")

    def before(lines: list[str], field: str) -> str:
        number = next(row for row, line in enumerate(lines) if line.startswith(field))
        return lines[number - 1].partition(" =")[0]

    assert before(control, "uint8 mode") == "uint8 MODE_HOLD"
    assert before(prediction, "uint8 source") == "uint8 SOURCE_PLANT"
    assert before(prediction, "uint8 mode") == "uint8 MODE_SEPARATE"
    assert "MSG: impact_aware_msgs/ContactImpulse" in prediction
    assert "float64[] position" in texts["/joint_states"]


def test_the_links_of_an_arm_join_a_tf_that_somebody_publishes(recording, tmp_path):
    node = recording("/joint_states sensor_msgs/msg/JointState", links_of="hit_and_push", robot="panda")
    names = [f"panda_joint{number}" for number in range(1, 8)]
    state = serialize_message(JointState(name=names, position=[0.0] * 7, velocity=[0.0] * 7, effort=[0.0] * 7))
    listened = callbacks(node)
    # As of a publisher of TF that is found later.
    assert node._connect("/tf", "tf2_msgs/msg/TFMessage", [QoSProfile(depth=1)]) is node._connections["/tf"]
    for _ in range(2):
        listened["/joint_states"](state)
    node.close()
    with AnyReader([tmp_path / "bag"]) as bag:
        recorded = [own.topic for own, *_ in bag.messages()]
    # The second state comes less than 1/60 s later.
    assert recorded == ["/joint_states", "/tf", "/joint_states"]
