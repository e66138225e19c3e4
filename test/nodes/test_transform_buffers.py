"""The suite's own buffer of transforms and that of tf2: one interface, the same answers and the same refusals."""

from __future__ import annotations

import math
import time

import numpy as np
import pinocchio as pin
import pytest
import rclpy
from geometry_msgs.msg import TransformStamped
from patience import patient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from impact_aware.errors import InvalidInputError
from impact_aware.nodes.ros import frames as tf
from impact_aware.nodes.ros.frames import Frames, Tf2Buffer
from impact_aware.nodes.ros.messages import stamp
from impact_aware.transform_buffer import HISTORY, MOST_FRAMES, FrameError, TransformBuffer

NOW = 1.7e9
"""Today's dates: a double holds them to 0.2 us, in which a frame at 2 m/s moves by half a micrometre."""

with_tf2 = pytest.mark.skipif(tf.tf2_ros is None, reason="tf2_ros is not installed")


def placed(rpy: tuple[float, float, float], *place: float) -> pin.SE3:
    return pin.SE3(pin.rpy.rpyToMatrix(*rpy), np.array(place))


def fill(buffer) -> None:
    """A laboratory: a tilted base, a wrist that moves, a camera on it, a belt, and a tree that is not connected."""
    buffer.add("world", "base", 0.0, placed((0.1, 0.35, 0.5), 0.3, -0.2, 0.9), static=True)
    buffer.add("/wrist", "/camera", 0.0, placed((-1.1, 0.2, 0.7), 0.05, 0.02, 0.11), static=True)
    for step in range(12):
        at = NOW + 0.1 * step
        turned = (2.9 + 0.1 * step, 0.3 * math.sin(step), -0.6 * step)
        buffer.add("base", "wrist", at, placed(turned, 0.1 * step, 0.4, 0.02 * step**2), static=False)
    for step in range(3, 8):
        buffer.add("world", "belt", NOW + 0.1 * step + 0.03, placed((0.0, 0.0, 0.4), 0.02 * step, 1, 0), static=False)
    buffer.add("belt", "box", 0.0, placed((0.0, 0.0, 0.3), 0.0, 0.1, 0.05), static=True)
    buffer.add("world", "once", NOW + 0.5, placed((0.0, 0.2, 0.0), 1.0, 2.0, 3.0), static=False)
    buffer.add("sea", "island", 0.0, placed((0.0, 0.0, 1.0), 1.0, 0.0, 0.0), static=True)
    buffer.add("loop1", "loop2", 0.0, pin.SE3.Identity(), static=True)
    buffer.add("loop2", "loop1", 0.0, pin.SE3.Identity(), static=True)


@pytest.fixture
def both() -> tuple[TransformBuffer, Tf2Buffer]:
    buffers = TransformBuffer(), Tf2Buffer()
    for buffer in buffers:
        fill(buffer)
    return buffers


def refusal(buffer, base: str, frame: str, time: float | None) -> tuple[type[Exception], str]:
    with pytest.raises(FrameError) as refused:
        buffer.pose(base, frame, time)
    return type(refused.value), str(refused.value)


@with_tf2
@pytest.mark.parametrize("at", [0.43, 0.45, 0.5, 0.617, 0.7])
def test_poses_between_samples_are_those_of_tf2(both, at):
    for base, frame in (("base", "box"), ("camera", "belt"), ("world", "camera"), ("box", "base"), ("/base", "/world")):
        own, other = (buffer.pose(base, frame, NOW + at) for buffer in both)
        # The double of a stamp, rounded to ns once or not at all; frames here move at up to 6 m/s.
        np.testing.assert_allclose(own.homogeneous, other.homogeneous, atol=3e-6)


@with_tf2
def test_the_latest_common_time_is_that_of_tf2(both):
    for base, frame in (("base", "box"), ("camera", "world"), ("world", "once"), ("world", "base"), ("box", "box")):
        (own, time), (other, same) = (buffer.latest(base, frame) for buffer in both)
        assert same == pytest.approx(time, abs=1e-6)
        np.testing.assert_allclose(own.homogeneous, other.homogeneous, atol=3e-6)
    assert both[1].latest("base", "box")[1] == pytest.approx(NOW + 0.73, abs=1e-6)
    assert both[1].latest("world", "base")[1] == 0.0


@with_tf2
@pytest.mark.parametrize(
    ("base", "frame", "after"),
    [
        ("base", "moon", 0.5),
        ("moon", "base", 0.5),
        ("base", "island", 0.5),
        ("base", "loop1", 0.5),
        ("loop1", "loop2", 0.5),
        ("base", "belt", 0.3),
        ("base", "box", 0.9),
        ("box", "camera", 0.9),
        ("camera", "world", 1.25),
        ("camera", "world", -0.2),
        ("base", "once", 0.3),
        ("base", "once", 0.9),
        ("late", "belt", None),
    ],
)
def test_what_tf2_refuses_is_refused_by_the_same_error(both, base, frame, after):
    for buffer in both:
        # Known from when the belt was known no more: they have no time in common.
        buffer.add("once", "late", NOW + 5.0, pin.SE3.Identity(), static=False)
    own, other = (refusal(buffer, base, frame, None if after is None else NOW + after) for buffer in both)
    assert own[0] is other[0]


@with_tf2
def test_static_frames_are_known_at_all_times(both):
    for at in (1.0, NOW - 100.0, NOW + 100.0, None):
        own, other = (buffer.pose("base", "world", at) for buffer in both)
        np.testing.assert_allclose(own.homogeneous, other.homogeneous, atol=1e-12)
        own, other = (buffer.pose("box", "belt", at) for buffer in both)
        np.testing.assert_allclose(own.homogeneous, other.homogeneous, atol=1e-12)


@with_tf2
def test_the_time_zero_is_a_time_and_not_the_latest_one():
    for buffer in (TransformBuffer(), Tf2Buffer()):
        for at in (0.0, 1.0):
            buffer.add("a", "b", at, placed((0.0, 0.0, 0.0), 3.0 + at, 0.0, 0.0), static=False)
        np.testing.assert_allclose(buffer.pose("a", "b", 0.0).translation, [3.0, 0.0, 0.0], atol=1e-8)
        np.testing.assert_allclose(buffer.pose("a", "b", None).translation, [4.0, 0.0, 0.0], atol=1e-8)


@with_tf2
def test_a_clock_that_went_back_begins_anew_with_the_static_frames_kept(both):
    for buffer in both:
        then = NOW - 2.0 * HISTORY
        buffer.add("world", "belt", then, placed((0.0, 0.0, 0.0), 9.0, 0.0, 0.0), static=False)
        pose, time = buffer.latest("world", "box")
        assert time == pytest.approx(then, abs=1e-6)
        np.testing.assert_allclose(pose.translation, [9.0, 0.1, 0.05], atol=1e-9)
        buffer.pose("world", "base", NOW)
    # Not seen since: tf2 has no time in common.
    with pytest.raises(FrameError):
        both[1].pose("base", "wrist", then)


@with_tf2
@pytest.mark.parametrize(
    ("parent", "child", "time"),
    [("a", "a", 0.0), ("a", "/a", 0.0), ("", "a", 0.0), ("a", "", 0.0), ("a", "b", math.nan)],
)
def test_transforms_that_can_t_be_do_not_reach_tf2(parent, child, time):
    own, other = TransformBuffer(), Tf2Buffer()
    words = []
    for buffer in (own, other):
        with pytest.raises(InvalidInputError, match="transform") as refused:
            buffer.add(parent, child, time, pin.SE3.Identity(), static=False)
        words.append(str(refused.value))
        with pytest.raises(FrameError, match="TF has no frame"):
            buffer.pose("a", "b", None)
    assert words[0] == words[1]


@with_tf2
def test_tf2_is_not_given_more_frames_than_the_bound():
    buffer = Tf2Buffer()
    for number in range(MOST_FRAMES):
        buffer.add("a", f"frame{number}", 0.0, pin.SE3.Identity(), static=True)
    with pytest.raises(InvalidInputError, match="frames at most"):
        buffer.add("a", "one more", 0.0, pin.SE3.Identity(), static=True)


@with_tf2
def test_the_quaternion_that_tf2_gives_back_is_the_rotation_that_it_was_given(both):
    """An asymmetric turn: x, y, z, w in another order, or its inverse, is another one."""
    expected = placed((0.1, 0.35, 0.5), 0.3, -0.2, 0.9)
    np.testing.assert_allclose(both[1].pose("world", "base", None).homogeneous, expected.homogeneous, atol=1e-12)


class Log:
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def info(self, text: str) -> None:
        self.said.append(text)


@pytest.mark.parametrize(
    "installed", [pytest.param(True, marks=with_tf2), pytest.param(False)], ids=["with tf2_ros", "without"]
)
def test_a_node_takes_tf2_where_it_is_installed_and_says_once_which(ros_context, monkeypatch, installed):
    if not installed:
        monkeypatch.setattr(tf, "tf2_ros", None)
    # Any message will do: nothing is published here.
    monkeypatch.setattr("impact_aware.nodes.ros.frames.message_class", lambda name: TransformStamped)
    node, log = Node("asks_for_frames"), Log()
    monkeypatch.setattr(node, "get_logger", lambda: log)
    try:
        frames = Frames(node)
        frames.know("cell", "base", placed((0.1, 0.2, 0.3), 1.0, 2.0, 3.0))
        frames.pose("base", "cell", 5.0)
        assert not log.said
        for _ in range(2):
            with pytest.raises(FrameError, match="TF has no frame 'moon'"):
                frames.pose("moon", "base", None)
    finally:
        node.destroy_node()
    assert isinstance(frames._buffer, Tf2Buffer if installed else TransformBuffer)
    keeper = "tf2_ros" if installed else "this node itself, as tf2_ros is not installed"
    assert log.said == [f"listens to TF, which is kept by {keeper}"]


@with_tf2
@pytest.mark.dds
def test_what_tf2_broadcasts_arrives(ros_context):
    """A camera as `tf2_ros` publishes it, static and moving, and the question of a node that listens from then on."""
    from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

    context = Context()
    rclpy.init(context=context)
    calibration, asking = Node("calibration", context=context), Node("asks_for_frames")
    executors = SingleThreadedExecutor(context=context), SingleThreadedExecutor()
    executors[0].add_node(calibration)
    executors[1].add_node(asking)
    frames = Frames(asking)
    try:
        StaticTransformBroadcaster(calibration).sendTransform(transform("wrist", "camera", 0.0, 0.2))
        moving, step = TransformBroadcaster(calibration), 0
        deadline, found = time.monotonic() + patient(20.0), None
        while found is None:
            assert time.monotonic() < deadline
            moving.sendTransform(transform("base", "wrist", 100.0 + 0.1 * step, 1.0 + 0.1 * step))
            step += 1
            for executor in executors:
                executor.spin_once(timeout_sec=0.01)
            try:
                found = frames.latest("base", "camera")
            except FrameError:
                continue
    finally:
        for executor in executors:
            executor.shutdown()
        calibration.destroy_node()
        asking.destroy_node()
        context.shutdown()
    # 0.1 m a step, then 0.2 m on; 100 s are at 1 m.
    assert found[0].translation[0] == pytest.approx(1.2 + found[1] - 100.0, abs=1e-6)


def transform(parent: str, child: str, at: float, x: float) -> TransformStamped:
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.header.stamp = parent, stamp(at)
    message.transform.translation.x, message.transform.rotation.w = x, 1.0
    return message
