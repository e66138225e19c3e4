import errno
import shutil
import struct
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
import yaml
from mcap.reader import make_reader
from mcap.writer import Writer as McapWriter
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from impact_aware.bags.link_transforms import LinkTransforms
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.object_motion import ObjectMotion
from impact_aware.messages.impact_event import CAUSES
from impact_aware.recordings.annotated_bag import AnnotatedBagError, write_annotated
from impact_aware.recordings.object_hit import ObjectHit
from impact_aware.robot import RobotModel

STORE = get_typestore(Stores.ROS2_JAZZY)
STORE.register(get_types_from_msg("float64[] values\nstring note\n", "vendor_msgs/msg/Extra"))
TYPES = STORE.types
LATCHED = Qos(
    QosHistory.KEEP_LAST, 1, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL, QosTime(0, 0), QosTime(0, 0),
    QosLiveliness.AUTOMATIC, QosTime(0, 0), False,
)  # fmt: skip
CONTACT_MADE, SOURCE_AT_IMPACT, SOURCE_ESTIMATE = 0, 1, 3
"""Constants of ImpactEvent and ImpactPrediction, which the reader's messages do not have."""

NEW = {"/impacts", "/predicted_jumps", "/impact_markers"}

EPOCH = 1_700_000_000
"""A date of today, at which a double resolves 0.2 microseconds; s."""

RECEIVED_LATER = 0.0004
"""Recording time minus stamp, s."""


def _joint_state(stamp):
    nanoseconds = round(stamp * 1e9)
    header = TYPES["std_msgs/msg/Header"](
        TYPES["builtin_interfaces/msg/Time"](nanoseconds // 10**9, nanoseconds % 10**9), ""
    )
    names = [f"panda_joint{number}" for number in range(1, 8)]
    message = TYPES["sensor_msgs/msg/JointState"](header, names, np.full(7, stamp), np.zeros(7), np.zeros(0))
    return STORE.serialize_cdr(message, "sensor_msgs/msg/JointState")


def make_bag(path, *, topics=("/joint_states",), extra_topic="/vendor/extra", plugin=StoragePlugin.MCAP, mode=None):
    """One second of joint states at 1 kHz from `EPOCH` on, a latched description and a type nobody knows."""
    writer = Writer(path, version=9, storage_plugin=plugin)
    if mode is not None:
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        _fill(writer, topics, extra_topic)
    return path


def _fill(writer, topics, extra_topic):
    states = [writer.add_connection(topic, "sensor_msgs/msg/JointState", typestore=STORE) for topic in topics]
    description = writer.add_connection(
        "/robot_description", "std_msgs/msg/String", typestore=STORE, offered_qos_profiles=[LATCHED]
    )
    extra = writer.add_connection(extra_topic, "vendor_msgs/msg/Extra", typestore=STORE)
    text = STORE.serialize_cdr(TYPES["std_msgs/msg/String"]("<robot/>"), "std_msgs/msg/String")
    writer.write(description, EPOCH * 10**9, text)
    for step in range(1000):
        stamp = 0.001 * step
        received = EPOCH * 10**9 + round((stamp + RECEIVED_LATER) * 1e9)
        for number, connection in enumerate(states):
            # The arms' drivers are not in step.
            data = bytearray(_joint_state(stamp + 0.0002 * number))
            struct.pack_into("<i", data, 4, EPOCH)
            writer.write(connection, received + 200_000 * number, bytes(data))
        if step % 100 == 0:
            message = TYPES["vendor_msgs/msg/Extra"](np.full(3, stamp), "n" * (step // 100))
            writer.write(extra, received, STORE.serialize_cdr(message, "vendor_msgs/msg/Extra"))


def content(path):
    """Every message through the library, as (topic, time, bytes)."""
    with AnyReader([path], default_typestore=STORE) as reader:
        return sorted((connection.topic, time, bytes(data)) for connection, time, data in reader.messages())


def decoded(file):
    """Every message through the independent reader, as (topic, recording time, message); raw bytes come along."""
    with open(file, "rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        return [
            (channel.topic, message.log_time, message.data, value)
            for _, channel, message, value in reader.iter_decoded_messages()
        ]


def seconds(stamp):
    return stamp.sec - EPOCH + 1e-9 * stamp.nanosec


def added(messages, prefix="/"):
    names = [f"{prefix}{name}" for name in ("impacts", "predicted_jumps", "impact_markers")]
    return {name.rpartition("/")[2]: [entry for entry in messages if entry[0] == name] for name in names}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return make_bag(tmp_path_factory.mktemp("bags") / "trial")


@pytest.fixture(scope="module")
def analysis(make_analysis, source):
    return make_analysis({"": [EPOCH + 0.2504, EPOCH + 0.6]}, file=source)


@pytest.fixture(scope="module")
def copy(source, analysis, tmp_path_factory):
    return write_annotated(source, analysis, tmp_path_factory.mktemp("out") / "annotated")


def test_originals_are_byte_identical_and_the_source_is_not_touched(source, copy):
    assert sorted(path.name for path in source.iterdir()) == ["metadata.yaml", "trial.mcap"]
    messages = [entry[:3] for entry in decoded(copy)]
    assert sorted(entry for entry in messages if entry[0] not in NEW) == content(source)
    # The independent reader decodes each message with the schema in the file, also of types that nobody knows.
    extra = [entry[3] for entry in decoded(copy) if entry[0] == "/vendor/extra"]
    assert len(messages) == 1 + 1000 + 10 + 2 * 3 and [len(message.note) for message in extra] == list(range(10))


def test_event_has_the_time_of_the_impact(copy, analysis):
    events = added(decoded(copy))["impacts"]
    for (_, recorded, _, event), impact in zip(events, analysis.impacts, strict=True):
        # Of a double at this date 0.2 microseconds are left.
        assert seconds(event.header.stamp) == pytest.approx(impact.time - EPOCH, abs=3e-7)
        assert seconds(event.stamp_detected) == pytest.approx(impact.event.time_detected - EPOCH, abs=3e-7)
        # Recorded with the first sample at or after it.
        sample = np.ceil((impact.time - EPOCH) * 1e3 - 1e-3) * 1e-3
        assert recorded * 1e-9 - EPOCH == pytest.approx(sample + RECEIVED_LATER, abs=1e-6)
        assert event.header.frame_id == "panda_link0"
        assert event.detector == "kink" and event.kind == CONTACT_MADE
        assert event.sequence == impact.index and event.cause == CAUSES[impact.cause] == 1
        assert np.array_equal(event.velocity_before, impact.velocity_before)
        assert np.array_equal(event.residual, impact.event.residual, equal_nan=True)
    assert [entry[3].meaning for entry in events] == [1, 0]


def test_prediction_has_predicted_and_estimated(copy, analysis):
    robot = RobotModel.from_profile("panda")
    predictions = added(decoded(copy))["predicted_jumps"]
    for (_, _, _, message), impact in zip(predictions, analysis.impacts, strict=True):
        assert message.valid and message.source == SOURCE_ESTIMATE
        assert message.event_sequence == impact.index
        assert np.array_equal(message.velocity_after, impact.velocity_after_predicted)
        assert np.array_equal(message.velocity_estimated, impact.velocity_after_estimated)
        assert np.array_equal(message.velocity_estimated_error, impact.estimate.standard_error)
        (contact,) = message.contacts
        assert (contact.normal.x, contact.normal.y, contact.normal.z) == (0.0, 0.0, 1.0)
        assert contact.impulse.z == impact.prediction.impulse[2]
        inertia = robot.mass_matrix(impact.position, "M+B_theta")
        energy = [0.5 * v @ inertia @ v for v in (impact.velocity_before, impact.velocity_after_predicted)]
        assert message.energy_loss == pytest.approx(energy[0] - energy[1], rel=1e-9)


def test_markers_show_the_three_velocities(copy, analysis):
    markers = added(decoded(copy))["impact_markers"]
    assert len(markers) == 2
    # The second one, 0.35 s later, is weaker: what is shown stays that of the first.
    first, second = analysis.impacts
    impulses = [np.linalg.norm(impact.prediction.impulse) for impact in (first, second)]
    assert second.time - first.time < 1.0 and impulses[1] < impulses[0]
    for (_, _, _, array), impact in zip(markers, (first, first), strict=True):
        by_name = {marker.ns.rpartition("/")[2]: marker for marker in array.markers}
        assert {"contact", "normal", "velocity_before", "velocity_after", "velocity_estimated"} <= set(by_name)
        arrow = by_name["velocity_before"]
        start, end = (np.array([point.x, point.y, point.z]) for point in arrow.points)
        along = (end - start) / np.linalg.norm(end - start)
        before = impact.contact_velocity(impact.velocity_before)
        direction = before / np.linalg.norm(before)
        assert along == pytest.approx(direction, abs=1e-6)
        assert arrow.header.frame_id == "panda_link0" and arrow.color.a > 0.0


def test_markers_show_how_the_object_left(make_analysis, source, tmp_path):
    """The first impact has a track of the object, the second one has none: its arrow goes away again."""
    analysis = make_analysis({"": [EPOCH + 0.2504, EPOCH + 0.6]}, file=source)
    (arm,) = analysis.arms
    first, second = arm.impacts
    place, velocity, none = np.array([0.5, -0.1, 0.2]), np.array([0.05, 0.3, -0.02]), np.zeros(3)
    motion = ObjectMotion(EPOCH + 0.25, 1e-3, place, none, none, velocity, none, none, none, none, 0.09, 9, 1e-4, True)
    hit = ObjectHit(motion, 1e-4, restitution=0.43, restitution_error=0.06)
    arm = replace(arm, impacts=(replace(first, object_hit=hit), second))
    copied = write_annotated(source, replace(analysis, arms=(arm,)), tmp_path / "annotated")
    shown, gone = (entry[3].markers for entry in added(decoded(copied))["impact_markers"])
    by_name = {marker.ns.rpartition("/")[2]: marker for marker in shown}
    start, end = (np.array([point.x, point.y, point.z]) for point in by_name["object_measured"].points)
    np.testing.assert_allclose(start, place)
    np.testing.assert_allclose(end - start, 0.4 * velocity)
    assert by_name["object_measured_text"].text == "measured 0.30 m/s, e 0.43 +- 0.06"
    assert "object_predicted" not in by_name, "a fixed surface was predicted"
    deleted = {marker.ns.rpartition("/")[2] for marker in gone if marker.action == 2}
    assert {"object_measured", "object_measured_text"} <= deleted


def test_folder_opens_as_rosbag2(copy):
    with Reader(copy.parent) as reader:
        counts = {connection.topic: connection.msgcount for connection in reader.connections}
        qos = {connection.topic: connection.ext.offered_qos_profiles for connection in reader.connections}
        digests = {connection.topic: connection.digest for connection in reader.connections}
        assert sum(1 for _ in reader.messages()) == reader.message_count == sum(counts.values())
    assert counts["/impacts"] == 2 and counts["/joint_states"] == 1000
    # A replay must offer the description as latched again.
    assert qos["/robot_description"] == [LATCHED]
    assert all(digest.startswith("RIHS01_") for digest in digests.values())


def test_single_file_says_what_it_is(copy):
    with open(copy, "rb") as stream:
        metadata = {record.name: record.metadata for record in make_reader(stream).iter_metadata()}
    assert metadata["impact_aware"]["source"] == "trial"
    assert metadata["impact_aware"]["added"] == "/*"
    index = yaml.safe_load(metadata["rosbag2"]["serialized_metadata"])
    assert index["message_count"] == 1017 and index["relative_file_paths"] == [copy.name]


def _with_model(analysis, **changes):
    panda = RobotModel.from_profile("panda")
    return replace(analysis, arms=tuple(replace(arm, model=panda, **changes) for arm in analysis.arms))


def test_the_links_of_an_arm_move_in_a_viewer_where_the_recording_has_no_tf(source, analysis, tmp_path):
    """All joints have the angle of the time since `EPOCH`: the first link turns about z by that much."""
    messages = decoded(write_annotated(source, _with_model(analysis), tmp_path / "moving"))
    poses = [(recorded, value.transforms) for topic, recorded, _, value in messages if topic == "/tf"]
    # 1000 samples of 1 kHz at 60 Hz: each 17th.
    assert len(poses) == 59
    panda = RobotModel.from_profile("panda")
    for recorded, transforms in (poses[0], poses[40]):
        stamp = seconds(transforms[0].header.stamp)
        assert recorded * 1e-9 - EPOCH == pytest.approx(stamp + RECEIVED_LATER, abs=1e-6)
        by_name = {own.child_frame_id: own for own in transforms}
        assert {own.header.frame_id for own in transforms} == {"panda_link0"} and "panda_link0" not in by_name
        first = by_name["panda_link1"].transform
        assert (first.translation.z, first.rotation.z) == pytest.approx((0.333, np.sin(0.5 * stamp)), abs=1e-6)
        hand = panda.placement(np.full(7, stamp), "panda_hand")
        placed = by_name["panda_hand"].transform
        assert [placed.translation.x, placed.translation.y, placed.translation.z] == pytest.approx(hand.translation)
        turned = pin.Quaternion(hand.rotation).coeffs()
        found = np.array([getattr(placed.rotation, axis) for axis in "xyzw"])
        assert abs(found @ turned) == pytest.approx(1.0)


def test_a_recording_with_tf_and_one_of_several_arms_get_none(make_analysis, tmp_path):
    with_tf = make_bag(tmp_path / "with", extra_topic="/tf_static")
    two = make_bag(tmp_path / "two", topics=("/left/joint_states", "/right/joint_states"))
    for source, arms in ((with_tf, {"": [EPOCH + 0.3]}), (two, {"left": [EPOCH + 0.3], "right": [EPOCH + 0.3]})):
        copy = write_annotated(source, _with_model(make_analysis(arms, file=source)), tmp_path / f"{source.name}-out")
        assert "/tf" not in {topic for topic, *_ in decoded(copy)}


def test_joint_states_that_lack_a_joint_or_are_broken_place_no_link():
    assert LinkTransforms(RobotModel.from_profile("kuka_lwr4")).message(_joint_state(0.5), 0) is None
    links = LinkTransforms(RobotModel.from_profile("panda"))
    assert links.message(b"\x00\x01\x00\x00\x07", 0) is None
    # A message of no use is not the one that the next has to wait for, and a run that begins again is drawn again.
    stamps = (0, 10_000_000, 16_666_666, 17_000_000, 5_000_000, 0)
    drawn = [links.message(_joint_state(0.5), stamp) is not None for stamp in stamps]
    assert drawn == [True, False, True, False, True, True]


def test_two_arms_in_their_namespaces(make_analysis, tmp_path):
    source = make_bag(tmp_path / "dual", topics=("/left/joint_states", "/right/joint_states"))
    analysis = make_analysis({"left": [EPOCH + 0.3], "right": [EPOCH + 0.3001]}, file=source)
    messages = decoded(write_annotated(source, analysis, tmp_path / "out"))
    for arm, sample in (("left", 0.3), ("right", 0.3002)):
        entries = added(messages, f"/{arm}/")
        assert [len(of_topic) for of_topic in entries.values()] == [1, 1, 1]
        assert entries["impacts"][0][3].arm == arm
        recorded = entries["impacts"][0][1] * 1e-9 - EPOCH
        assert recorded == pytest.approx(sample + RECEIVED_LATER, abs=1e-6)
        assert all(marker.ns.startswith(f"{arm}/") for marker in entries["impact_markers"][0][3].markers)


def test_topics_of_the_recording_are_not_mixed_with_new_ones(make_analysis, tmp_path):
    source = make_bag(tmp_path / "live", extra_topic="/impacts")
    analysis = make_analysis({"": [EPOCH + 0.3]}, file=source)
    first = write_annotated(source, analysis, tmp_path / "out")
    assert [len(entries) for entries in added(decoded(first), "/analysis/").values()] == [1, 1, 1]
    assert len(added(decoded(first))["impacts"]) == 10
    # A copy can be analysed and annotated again.
    again = replace(analysis, arms=tuple(replace(arm, file=first.parent) for arm in analysis.arms))
    second = write_annotated(first.parent, again, tmp_path / "again")
    assert [len(entries) for entries in added(decoded(second), "/analysis_2/").values()] == [1, 1, 1]
    assert [len(entries) for entries in added(decoded(second), "/analysis/").values()] == [1, 1, 1]


@pytest.mark.parametrize("mode", [CompressionMode.FILE, CompressionMode.MESSAGE, CompressionMode.STORAGE])
@pytest.mark.parametrize("plugin", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_packed_recordings(make_analysis, tmp_path, plugin, mode):
    source = tmp_path / "packed"
    if plugin == StoragePlugin.SQLITE3 and mode == CompressionMode.STORAGE:
        mode = CompressionMode.NONE
    make_bag(source, plugin=plugin, mode=mode)
    analysis = make_analysis({"": [EPOCH + 0.3]}, file=source)
    messages = decoded(write_annotated(source, analysis, tmp_path / "out"))
    assert sorted(entry[:3] for entry in messages if entry[0] not in NEW) == content(source)
    assert sum(entry[0] in NEW for entry in messages) == 3


def test_a_single_file_and_one_without_index(source, analysis, tmp_path):
    whole = (source / "trial.mcap").read_bytes()
    alone = tmp_path / "alone" / "trial.mcap"
    alone.parent.mkdir()
    alone.write_bytes(whole)
    own = replace(analysis, arms=(replace(analysis.arms[0], file=alone),))
    assert len(decoded(write_annotated(alone, own, tmp_path / "out"))) == 1017
    # A recorder that was killed: the last chunk ends in the middle, and no index follows.
    cut = tmp_path / "cut" / "cut.mcap"
    cut.parent.mkdir()
    with open(cut, "wb") as stream:
        writer = McapWriter(stream, chunk_size=20_000)
        writer.start(profile="ros2")
        schema = writer.register_schema("sensor_msgs/msg/JointState", "ros2msg", b"")
        channel = writer.register_channel("/joint_states", "cdr", schema)
        for step in range(1000):
            data = bytearray(_joint_state(0.001 * step))
            struct.pack_into("<i", data, 4, EPOCH)
            writer.add_message(channel, EPOCH * 10**9 + step * 10**6, bytes(data), 5 + step, sequence=step)
        writer.finish()
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    own = replace(analysis, arms=(replace(analysis.arms[0], file=cut),))
    file = write_annotated(cut, own, tmp_path / "rest")
    with open(file, "rb") as stream:
        reader = make_reader(stream)
        messages = [(channel.topic, message) for _, channel, message in reader.iter_messages()]
        metadata = {record.name: record.metadata for record in reader.iter_metadata()}
    copied = [message for topic, message in messages if topic == "/joint_states"]
    assert 200 < len(copied) < 800
    assert [message.sequence for message in copied] == list(range(len(copied)))
    assert [message.publish_time for message in copied] == [5 + step for step in range(len(copied))]
    assert "cut.mcap ends in the middle of a chunk" in metadata["impact_aware"]["damage"]
    # The second impact lies beyond the end: it is still there, with the last message.
    assert [message.log_time for topic, message in messages if topic == "/impacts"][-1] == copied[-1].log_time


def test_stamps_that_jump_back_do_not_draw_an_impact_forward(make_analysis, tmp_path):
    source = tmp_path / "twice"
    with Writer(source, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        states = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=STORE)
        for step, stamp in enumerate([*np.arange(5.0, 6.0, 0.01), *np.arange(1.0, 3.0, 0.01)]):
            writer.write(states, step * 10**7, _joint_state(stamp))
    analysis = make_analysis({"": [2.0]}, file=source)
    events = added(decoded(write_annotated(source, analysis, tmp_path / "out")))["impacts"]
    assert events[0][1] == (100 + 100) * 10**7


def test_an_impact_without_prediction_is_an_event_only(make_analysis, source, tmp_path):
    analysis = make_analysis({"": [EPOCH + 0.3]}, file=source)
    bare = replace(analysis.impacts[0], prediction=None, prediction_std=None, estimate=None)
    analysis = replace(analysis, arms=(replace(analysis.arms[0], impacts=(bare,), robot="", urdf=None),))
    entries = added(decoded(write_annotated(source, analysis, tmp_path / "out")))
    assert [len(of_topic) for of_topic in entries.values()] == [1, 1, 0]
    message = entries["predicted_jumps"][0][3]
    assert not message.valid and "no robot model or no normal" in message.reason
    assert message.source == SOURCE_AT_IMPACT


def test_attachments_and_records_come_along(make_analysis, tmp_path):
    source = tmp_path / "notes.mcap"
    with open(source, "wb") as stream:
        writer = McapWriter(stream)
        writer.start(profile="ros2")
        writer.add_attachment(1, 2, "calibration.yaml", "text/yaml", b"offset: 1\n")
        writer.add_metadata("operator", {"name": "A"})
        writer.finish()
    copy = write_annotated(source, make_analysis({}, file=source), tmp_path / "out")
    with open(copy, "rb") as stream:
        reader = make_reader(stream)
        assert [attachment.data for attachment in reader.iter_attachments()] == [b"offset: 1\n"]
        assert {"operator", "impact_aware", "rosbag2"} == {record.name for record in reader.iter_metadata()}


@pytest.mark.parametrize("place", ["", "inside", "../"])
def test_the_recording_itself_is_no_target(source, analysis, place):
    with pytest.raises(InvalidInputError, match="a folder apart from the recording"):
        write_annotated(source, analysis, source / place)
    with pytest.raises(InvalidInputError, match="a folder apart from the recording"):
        write_annotated(source / "trial.mcap", analysis, source / "inside")


def test_a_folder_that_exists_is_left_alone(source, analysis, tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    (target / "mine.txt").write_text("keep")
    with pytest.raises(InvalidInputError, match="a folder that does not exist yet"):
        write_annotated(source, analysis, target)
    assert [path.name for path in target.iterdir()] == ["mine.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_full_disk_leaves_nothing(source, analysis, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mcap.writer.Writer.add_message", full)
    with pytest.raises(AnnotatedBagError, match="out: can't be written .No space left on device."):
        write_annotated(source, analysis, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_parts_of_a_split_recording_follow_each_other(make_analysis, source, tmp_path):
    split = tmp_path / "split"
    split.mkdir()
    index = yaml.safe_load((source / "metadata.yaml").read_text())
    for number in range(2):
        shutil.copy(source / "trial.mcap", split / f"split_{number}.mcap")
    index["rosbag2_bagfile_information"]["relative_file_paths"] = ["split_0.mcap", "split_1.mcap"]
    (split / "metadata.yaml").write_text(yaml.safe_dump(index))
    analysis = make_analysis({"": [EPOCH + 0.3]}, file=split)
    messages = decoded(write_annotated(split, analysis, tmp_path / "out"))
    assert len(messages) == 2 * 1011 + 3
