"""Markers, controller states, geometry and stamps as messages."""

import struct
from types import SimpleNamespace

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import PoseStamped
from impact_aware_msgs.msg import ControllerState
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Header
from visualization_msgs.msg import Marker as MarkerMessage
from visualization_msgs.msg import MarkerArray

from impact_aware.bags.message_types import RECORDED, annotation_types
from impact_aware.control import Command, Mode
from impact_aware.control.command import SafeReason
from impact_aware.control.qp import QpStatus
from impact_aware.markers import Changes, Kind, Marker
from impact_aware.messages import geometry
from impact_aware.messages.controller_state import command_to_message
from impact_aware.messages.marker import TYPE, changes_to_message, delete_all
from impact_aware.messages.stamps import seconds, serialized_stamp, stamp_seconds, to_nanoseconds, write_stamp
from impact_aware.ros.messages import ROS, stamp

MARKER = Marker(
    kind=Kind.ARROW,
    namespace="left/at_impact/impulse",
    id=3,
    frame="left/base",
    time=7.25,
    color=(0.1, 0.2, 0.3, 0.4),
    position=np.array([1.0, 2.0, 3.0]),
    orientation=np.array([0.1, 0.2, 0.3, 0.9]),
    scale=np.array([0.01, 0.02, 0.03]),
    points=np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]),
    text="words",
    lifetime=1.5,
)


def check_marker(message) -> None:
    assert (message.ns, message.id, message.type, message.action) == ("left/at_impact/impulse", 3, 0, 0)
    assert message.header.frame_id == "left/base" and stamp_seconds(message) == 7.25
    np.testing.assert_array_equal(geometry.vector(message.pose.position), MARKER.position)
    np.testing.assert_array_equal(geometry.quaternion(message.pose.orientation), MARKER.orientation)
    np.testing.assert_array_equal(geometry.vector(message.scale), MARKER.scale)
    color = message.color
    np.testing.assert_allclose([color.r, color.g, color.b, color.a], [0.1, 0.2, 0.3, 0.4], rtol=1e-6)  # float32
    assert [geometry.vector(entry).tolist() for entry in message.points] == MARKER.points.tolist()
    assert message.text == "words"
    assert (message.lifetime.sec, message.lifetime.nanosec) == (1, 500_000_000)


def test_a_marker_is_copied_whole_and_what_goes_comes_first():
    changes = Changes((MARKER,), (("old_frame", "look_ahead/contact", 2),))
    message = deserialize_message(serialize_message(changes_to_message(changes, ROS, 8.5)), MarkerArray)
    gone, made = message.markers
    assert (gone.ns, gone.id, gone.action) == ("look_ahead/contact", 2, MarkerMessage.DELETE)
    assert gone.header.frame_id == "old_frame" and stamp_seconds(gone) == 8.5
    check_marker(made)


def test_a_recording_has_the_same_marker():
    data = RECORDED.serialize(changes_to_message(Changes((MARKER,), ()), RECORDED), TYPE)
    check_marker(annotation_types().deserialize_cdr(data, TYPE).markers[0])


def test_everything_can_be_taken_away():
    (marker,) = delete_all(ROS).markers
    assert marker.action == MarkerMessage.DELETEALL


def arm(name: str, n: int) -> SimpleNamespace:
    return SimpleNamespace(
        name=name, robot=SimpleNamespace(n=n, joint_names=tuple(f"{name}_{number}" for number in range(n)))
    )


def test_a_cycle_of_arms_with_different_joints_is_split_arm_by_arm():
    twists = np.arange(18.0).reshape(3, 6)
    command = Command(
        time=3.0,
        mode=Mode.INTERIM,
        effort=np.arange(6.0) + 10.0,
        tool_position=np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]]),
        tool_twist=twists,
        reference_twist=twists + 20.0,
        target_acceleration=twists + 40.0,
        object_position=np.zeros(3),
        blend=0.25,
        qp_status=QpStatus(1),
        reason=SafeReason.STATE_STALE,
        detail="because",
    )
    message = command_to_message(
        command,
        ROS,
        header=Header(stamp=Time(sec=3), frame_id="world"),
        arms=[arm("left", 2), arm("right", 3), arm("top", 1)],
        joint_reference_velocity=np.arange(6.0) + 30.0,
    )
    message = deserialize_message(serialize_message(message), ControllerState)
    assert (message.header.stamp.sec, message.header.frame_id) == (3, "world")
    assert (message.mode, message.blend, message.solver_status) == (ControllerState.MODE_INTERIM, 0.25, 1)
    assert (message.reason, message.detail) == (ControllerState.REASON_STATE_STALE, "because")
    left, right, top = message.arms
    assert (left.arm, right.arm) == ("left", "right")
    assert list(left.joint_names) == ["left_0", "left_1"]
    assert list(left.effort) == [10.0, 11.0] and list(right.effort) == [12.0, 13.0, 14.0]
    assert list(top.effort) == [15.0] and list(top.joint_reference_velocity) == [35.0]
    assert list(left.joint_reference_velocity) == [30.0, 31.0]
    assert list(right.joint_reference_velocity) == [32.0, 33.0, 34.0]
    np.testing.assert_array_equal(geometry.vector(right.tool_position), [0.4, 0.5, 0.6])
    np.testing.assert_array_equal(geometry.twist(right.tool_velocity), twists[1])
    np.testing.assert_array_equal(geometry.twist(right.reference_velocity), twists[1] + 20.0)
    np.testing.assert_array_equal(geometry.twist(left.target_acceleration), twists[0] + 40.0)


def test_stamps_keep_their_nanoseconds():
    assert stamp(12.345678901) == Time(sec=12, nanosec=345_678_901)
    assert to_nanoseconds(1_750_000_000.5) == 1_750_000_000_500_000_000
    assert seconds(Time(sec=2, nanosec=3)) == 2.000000003
    pose = PoseStamped()
    pose.header.stamp = Time(sec=4, nanosec=500_000_000)
    assert stamp_seconds(pose) == 4.5
    lifetime = Duration()
    write_stamp(lifetime, 0.3)
    assert (lifetime.sec, lifetime.nanosec) == (0, 300_000_000)
    assert stamp(-0.25) == Time(sec=-1, nanosec=750_000_000)


def test_a_stamp_is_read_from_bytes_of_either_order():
    pose = PoseStamped()
    pose.header.stamp = Time(sec=-7, nanosec=123_456_789)
    assert serialized_stamp(serialize_message(pose)) == (-7, 123_456_789)
    assert serialized_stamp(b"\x00\x00\x00\x00" + struct.pack(">iI", 5, 6)) == (5, 6)
    with pytest.raises(struct.error):
        serialized_stamp(b"\x00\x01\x00\x00\x01\x00\x00")
