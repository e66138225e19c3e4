"""The object in a bag: every kind of message that can carry its track, a frame of TF, and what is refused."""

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from impact_aware.bags.bag import Bag, BagError
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.object_track import track_of_bag
from impact_aware.recordings.options import AnalysisOptions

STORE = get_typestore(Stores.ROS2_JAZZY)
T = STORE.types

TIMES = 5.0 + np.arange(0.0, 0.4, 0.008)
SINCE = TIMES - TIMES[0]
PLACES = np.stack((0.5 + 0.2 * SINCE, 0.1 - 0.3 * SINCE**2, 0.4 + 0.0 * SINCE), axis=1)
SPEEDS = np.stack((0.2 + 0.0 * SINCE, -0.6 * SINCE, 0.0 * SINCE), axis=1)
TURN = (0.0, 0.0, np.sin(0.35), np.cos(0.35))


def header(time, frame="base"):
    seconds, nanoseconds = divmod(round(1e9 * time), 10**9)
    return T["std_msgs/msg/Header"](T["builtin_interfaces/msg/Time"](seconds, nanoseconds), frame)


def made(name, *parts):
    return T[f"geometry_msgs/msg/{name}"](*parts)


def pose_of(place):
    return made("Pose", made("Point", *place), made("Quaternion", *TURN))


def twist_of(speed):
    return made("Twist", made("Vector3", *speed), made("Vector3", 0.7, 0.8, 0.9))


def with_errors(kind, inner):
    return made(f"{kind}WithCovariance", inner, np.zeros(36))


def message(kind, time, place, speed):
    name, stamp = kind.rsplit("/", 1)[-1], header(time)
    if name == "Odometry":
        return T[kind](stamp, "box", with_errors("Pose", pose_of(place)), with_errors("Twist", twist_of(speed)))
    inner = pose_of(place) if name.startswith("Pose") else twist_of(speed)
    return T[kind](stamp, with_errors(name[: name.index("With")], inner) if "Covariance" in name else inner)


def written(path, topic, kind, messages):
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection(topic, kind, typestore=STORE)
        for time, content in messages:
            writer.write(connection, round(1e9 * time), bytes(STORE.serialize_cdr(content, kind)))
    return path


def track(path, topic=None, frame=None):
    with Bag(path) as bag:
        return track_of_bag(bag, topic, frame, "base")


@pytest.mark.parametrize(
    "kind",
    [
        "geometry_msgs/msg/PoseStamped",
        "geometry_msgs/msg/PoseWithCovarianceStamped",
        "nav_msgs/msg/Odometry",
        "geometry_msgs/msg/TwistStamped",
        "geometry_msgs/msg/TwistWithCovarianceStamped",
    ],
)
def test_every_kind_of_message_gives_the_same_motion(tmp_path, kind):
    rows = zip(TIMES, PLACES, SPEEDS, strict=True)
    path = written(tmp_path / "bag", "/box", kind, [(row[0], message(kind, *row)) for row in rows])
    found = track(path, "box")
    np.testing.assert_allclose(found.times, TIMES, atol=1e-9)
    # A track of velocities begins anywhere.
    twists = "Twist" in kind
    shift = PLACES[0] if twists else np.zeros(3)
    np.testing.assert_allclose(found.positions + shift, PLACES, atol=1e-9)
    assert (found.rotations is None) == twists
    if not twists:
        assert found.rotations[0][1, 0] == pytest.approx(np.sin(0.7))


def test_a_frame_of_tf_is_turned_into_the_base(tmp_path):
    def transform(parent, child, place, turn, time):
        moved = made("Transform", made("Vector3", *place), made("Quaternion", *turn))
        return made("TransformStamped", header(time, parent), child, moved)

    # The camera stands at (1, 2, 3) and is turned by a quarter about z.
    turn = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))
    kind = "tf2_msgs/msg/TFMessage"
    messages = [
        (time, T[kind]([transform("base", "camera", (1.0, 2.0, 3.0), turn, time), transform("camera", "box", place,
                                                                                            TURN, time)]))
        for time, place in zip(TIMES, PLACES, strict=True)
    ]  # fmt: skip
    path = written(tmp_path / "bag", "/tf", kind, messages)
    found = track(path, frame="box")
    wanted = np.stack((1.0 - PLACES[:, 1], 2.0 + PLACES[:, 0], 3.0 + PLACES[:, 2]), axis=1)
    np.testing.assert_allclose(found.positions, wanted, atol=1e-9)
    with pytest.raises(BagError, match="its TF has no frame lid"):
        track(path, frame="lid")


def test_a_topic_that_is_no_track_is_refused(tmp_path):
    kind = "geometry_msgs/msg/PointStamped"
    path = written(tmp_path / "bag", "/box", kind, [(5.0, T[kind](header(5.0), made("Point", 0.1, 0.2, 0.3)))])
    with pytest.raises(BagError, match="of type geometry_msgs/msg/PointStamped, and no track of an object is read"):
        track(path, "box")
    assert track(path) is None


def test_a_topic_of_the_very_name_comes_before_one_that_ends_in_it(tmp_path):
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic in ("/left/tf", "tf"):
            connection = writer.add_connection(topic, "geometry_msgs/msg/PoseStamped", typestore=STORE)
            content = message("geometry_msgs/msg/PoseStamped", TIMES[0], PLACES[0], SPEEDS[0])
            writer.write(connection, 1, bytes(STORE.serialize_cdr(content, "geometry_msgs/msg/PoseStamped")))
    with Bag(tmp_path / "bag") as bag:
        assert bag.topic_named("tf") == "tf" and bag.topic_named("left/tf") == "/left/tf"
        assert [time for time, _ in bag.messages("tf")] == [1e-9]


def test_a_track_that_cannot_be_read_does_not_end_the_analysis(tmp_path):
    """Bytes of chance as poses of the object: the impact is found, and a note has the topic."""
    times, kind = 5.0 + np.arange(0.0, 2.0, 0.005), "sensor_msgs/msg/JointState"
    noise = np.random.default_rng(6)
    positions = 0.3 * times[:, None] * [1.0, -0.6] - np.maximum(times - 6.237, 0.0)[:, None] * [0.8, -0.5]
    positions += 1e-5 * noise.standard_normal(positions.shape)
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        joints = writer.add_connection("/joint_states", kind, typestore=STORE)
        box = writer.add_connection("/object_pose", "geometry_msgs/msg/PoseStamped", typestore=STORE)
        for time, place in zip(times, positions, strict=True):
            state = T[kind](header(time), ["a", "b"], place, np.zeros(0), np.zeros(0))
            writer.write(joints, round(1e9 * time), bytes(STORE.serialize_cdr(state, kind)))
            writer.write(box, round(1e9 * time), noise.bytes(97))
    (arm,) = analyze([tmp_path / "bag"], AnalysisOptions()).arms
    assert len(arm.impacts) == 1 and arm.impacts[0].object_hit is None
    (note,) = (note for note in arm.notes if note.startswith("the object's track can't be read: "))
    assert "a message on /object_pose is not a geometry_msgs/msg/PoseStamped" in note
