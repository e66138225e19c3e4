"""The index of a copied recording."""

import io

from impact_aware.bags.mcap_copy import McapCopy
from impact_aware.bags.raw_messages import RawMessage, RawTopic


def test_messages_that_are_not_in_order_of_time_count_from_the_first_to_the_last():
    topic = RawTopic("/joint_states", "sensor_msgs/msg/JointState", b"float64 x", "ros2msg", "cdr", {})
    copy = McapCopy(io.BytesIO(), "run", {})
    copy.add_all(RawMessage(topic, 1_000 * time, 1_000 * time, 0, b"") for time in (5, 3, 9, 4))
    index = copy.index()["rosbag2_bagfile_information"]
    assert index["starting_time"]["nanoseconds_since_epoch"] == 3_000
    assert (index["duration"]["nanoseconds"], index["message_count"]) == (6_000, 4)
