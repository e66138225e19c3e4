
import numpy as np
import pytest
from node_harness import joint_state
from patience import until
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from impact_aware.messages.joint_state import learn_layout
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.ros import messages
from impact_aware.ros.messages import UndecodableError, decoded
from impact_aware.ros.qos import state_qos

JOINTS = ("a", "b", "c")


def feed(source, serialized: bytes) -> None:
    source.subscription.callback(serialized)


@pytest.fixture
def source(node):
    seen = []
    source = JointStateSource(node, JOINTS, lambda stamp: seen.append(stamp))
    source.seen = seen
    return source


def packed(*given):
    return serialize_message(joint_state(*given))


def test_without_configured_joints_those_of_the_first_message_are_watched(node):
    source = JointStateSource(node, (), lambda message: None)
    feed(source, packed(1.0, ["x", "y"], [1.0, 2.0]))
    assert source.joint_names == ("x", "y")
    np.testing.assert_array_equal(source.position, [1.0, 2.0])


def same_layout_as(message):
    return learn_layout(serialize_message(message), message)


def test_messages_that_look_alike_are_read_without_being_unpacked(source, monkeypatch):
    feed(source, packed(1.0, ["wheel", *"cab"], [9.0, 3.0, 1.0, 2.0], [0.0, 0.3, 0.1, 0.2], [8.0, 30.0, 10.0, 20.0]))
    monkeypatch.setattr("impact_aware.nodes.joint_state_source.decoded", None)
    feed(source, packed(1.1, ["wheel", *"cab"], [8.0, 6.0, 4.0, 5.0], [1.0, 1.3, 1.1, 1.2], [7.0, 60.0, 40.0, 50.0]))
    np.testing.assert_array_equal(source.position, [4.0, 5.0, 6.0])
    np.testing.assert_array_equal(source.velocity, [1.1, 1.2, 1.3])
    np.testing.assert_array_equal(source.effort, [40.0, 50.0, 60.0])
    assert source.rejected == {} and len(source.seen) == 2
    assert source.time == 1.1 and (source.stamp.sec, source.stamp.nanosec) == (1, 100_000_000)


def test_a_message_with_more_behind_it_has_no_layout():
    message = JointState(name=["a"], position=[1.0], velocity=[0.5], effort=[2.0])
    whole = serialize_message(message)
    assert learn_layout(whole, message) is not None
    assert learn_layout(whole + bytes(8), message) is None


@pytest.mark.parametrize("effort", [[], [np.nan] * 3])
def test_efforts_that_are_not_there_are_no_reason_to_unpack(source, monkeypatch, effort):
    feed(source, packed(1.0, "abc", [1.0, 2.0, 3.0], [0.1, 0.2, 0.3], effort))
    monkeypatch.setattr("impact_aware.nodes.joint_state_source.decoded", None)
    feed(source, packed(1.1, "abc", [4.0, 5.0, 6.0], [1.1, 1.2, 1.3], effort))
    np.testing.assert_array_equal(source.position, [4.0, 5.0, 6.0])
    assert source.rejected == {} and np.isnan(source.effort).all()


@pytest.mark.parametrize(
    "second",
    [
        packed(1.1, "abc", [1.0, 2.0], [0.0] * 3, [0.0] * 3),
        packed(1.1, "abc", [1.0, 2.0, np.nan], [0.0] * 3, [0.0] * 3),
        packed(1.1, "abd", [1.0, 2.0, 3.0], [0.0] * 3, [0.0] * 3),
        packed(1.1, "ab", [1.0, 2.0], [0.0] * 2, [0.0] * 2),
        packed(0.99, "abc", [1.0, 2.0, 3.0], [0.0] * 3, [0.0] * 3),
        packed(1.1, "abc", [1.0, 2.0, 3.0], [0.0] * 3, [0.0] * 3)[:-1],
        packed(1.1, "abc", [1.0, 2.0, 3.0], [0.0] * 3, [0.0] * 3)[:30],
        b"",
        b"\x00\x01",
    ],
    # Bytes of no meaning between the fields differ from run to run, and two workers must give a test one name.
    ids=["few positions", "a NaN", "another joint", "two joints", "older", "cut by 1", "cut at 30", "empty", "short"],
)
def test_after_a_usual_message_an_unusable_one_is_refused_as_ever(source, second):
    feed(source, packed(1.0, "abc", [7.0, 8.0, 9.0], [0.1, 0.2, 0.3], [1.0, 2.0, 3.0]))
    feed(source, second)
    assert sum(source.rejected.values()) == 1 and len(source.seen) == 1
    np.testing.assert_array_equal(source.position, [7.0, 8.0, 9.0])
    feed(source, packed(1.2, "abc", [4.0, 5.0, 6.0], [0.1, 0.2, 0.3], [1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(source.position, [4.0, 5.0, 6.0])
    assert source.missing == ()


@pytest.mark.parametrize(("bytes_", "words"), [(b"", "0 bytes, where 4"), (b"\x00\x01\x00", "3 bytes, where 4")])
def test_what_is_shorter_than_the_begin_of_every_message_is_not_given_to_the_middleware(bytes_, words, monkeypatch):
    """That of Cyclone DDS reads on behind their end."""
    monkeypatch.setattr(messages, "deserialize_message", None)
    with pytest.raises(UndecodableError, match=words):
        decoded(bytes_, JointState)


def test_renamed_joints_are_never_read_from_the_old_places(source):
    feed(source, packed(1.0, "abc", [1.0, 2.0, 3.0], [0.1, 0.2, 0.3], [1.0] * 3))
    feed(source, packed(1.1, "cab", [3.5, 1.5, 2.5], [0.3, 0.1, 0.2], [1.0] * 3))
    np.testing.assert_array_equal(source.position, [1.5, 2.5, 3.5])
    np.testing.assert_array_equal(source.velocity, [0.1, 0.2, 0.3])


def test_what_fills_the_gaps_between_fields_does_not_matter():
    message = joint_state(1.0, ["a", "long name", "b"], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0])
    layout = same_layout_as(message)
    spoilt = bytearray(serialize_message(message))
    for place, byte in enumerate(layout.mask.to_bytes(len(spoilt), "little")):
        if byte == 0 and 12 <= place < layout.blocks[0][0]:
            spoilt[place] = 0xEE
    np.testing.assert_array_equal(layout.values(bytes(spoilt))[layout.columns([0, 1, 2])], np.arange(1.0, 10.0))


def test_every_byte_that_names_or_counts_matters():
    message = joint_state(1.0, "abc", [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0])
    message.header.frame_id = "base"
    layout, whole = same_layout_as(message), serialize_message(message)
    mask = layout.mask.to_bytes(len(whole), "little")
    # The encoding, length of the frame, names and numbers of values: 2, 4, 4 + 3 (4 + 2), 3 * 4 bytes.
    assert sum(byte == 0xFF for byte in mask) == 2 + 4 + 4 + 3 * 6 + 3 * 4
    for place, byte in enumerate(mask):
        spoilt = bytearray(whole)
        spoilt[place] ^= 0x01
        assert (layout.values(bytes(spoilt)) is None) == (byte == 0xFF)


@pytest.mark.parametrize(
    "message",
    [
        joint_state(1.0, "abc", [1.0, 2.0, 3.0]),
        joint_state(1.0, "abc", [1.0, 2.0, 3.0], [1.0, 2.0]),
        joint_state(1.0, "abc", [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0]),
        joint_state(1.0, "", []),
    ],
)
def test_unusual_messages_have_no_columns(message):
    layout = same_layout_as(message)
    assert layout is None or layout.columns([0]) is None


def test_the_rate_is_measured_from_the_stamps(source):
    for index in range(1200):
        feed(source, packed(1.0 + index / 30.0, "abc", [0.0, 0.0, 0.0]))
    assert source.rate == pytest.approx(30.0, rel=1e-6)  # stamps are rounded to the nanosecond


@pytest.mark.dds
@pytest.mark.parametrize(("answered", "kept"), [(False, 60), (True, 4)])
def test_who_watches_gets_each_state_after_a_stall_and_who_answers_the_last_ones(node, answered, kept):
    times = []
    source = JointStateSource(node, JOINTS, lambda stamp: times.append(stamp.nanosec), answered=answered)
    publisher = node.create_publisher(JointState, "joint_states", state_qos(reliable=True))
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    until(publisher.get_subscription_count, lambda: executor.spin_once(timeout_sec=0.01))
    for k in range(1, 61):
        publisher.publish(joint_state(1.0 + 1e-3 * k, "abc", [1.0, 2.0, 3.0 + k]))
    until(lambda: times[-1:] == [60_000_000], lambda: executor.spin_once(timeout_sec=0.01))
    assert times == [k * 1_000_000 for k in range(61 - kept, 61)]
    assert source.received == kept
