"""A node's frames: listened to when they are first needed, and with the poses that tf2 has."""

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
from rclpy.time import Time

from impact_aware.messages.geometry import quaternion, vector
from impact_aware.ros.frames import Frames
from impact_aware.ros.messages import stamp
from impact_aware.transform_buffer import FrameError, TransformBuffer, checked_pose

try:
    import tf2_ros
except ImportError:
    tf2_ros = None

with_tf2 = pytest.mark.skipif(tf2_ros is None, reason="tf2_ros is not installed")

NOW = 1.7e9


def transform(parent: str, child: str, at: float, x: float, turn: tuple[float, ...] = (0.0, 0.0, 0.0)):
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.header.stamp = parent, stamp(at)
    message.transform.translation.x = x
    rotation = message.transform.rotation
    rotation.x, rotation.y, rotation.z, rotation.w = pin.Quaternion(pin.rpy.rpyToMatrix(*turn)).coeffs().tolist()
    return message


@with_tf2
@pytest.mark.parametrize("at", [0.43, 0.5, 0.617, None])
def test_poses_between_samples_and_the_latest_ones_are_those_of_tf2(at):
    own, other = TransformBuffer(), tf2_ros.Buffer()
    sent = [(transform("world", "base", 0.0, 0.3, (0.1, 0.35, 0.5)), True)]
    sent += [(transform("wrist", "camera", 0.0, 0.05, (-1.1, 0.2, 0.7)), True)]
    for step in range(12):
        turn = (2.9 + 0.1 * step, 0.3 * math.sin(step), -0.6 * step)
        sent.append((transform("base", "wrist", NOW + 0.1 * step, 0.1 * step, turn), False))
    for step in range(3, 8):
        sent.append((transform("world", "belt", NOW + 0.1 * step + 0.03, 0.02 * step), False))
    for message, static in sent:
        part = message.transform
        pose = checked_pose(vector(part.translation), quaternion(part.rotation), "transform")
        when = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        own.add(message.header.frame_id, message.child_frame_id, when, pose, static=static)
        (other.set_transform_static if static else other.set_transform)(message, "test")
    moment = Time() if at is None else Time(nanoseconds=round(1e9 * at) + 1_700_000_000 * 10**9)
    for base, frame in (("base", "belt"), ("camera", "belt"), ("world", "camera"), ("belt", "base")):
        part = other.lookup_transform_core(base, frame, moment).transform
        expected = checked_pose(vector(part.translation), quaternion(part.rotation), "transform")
        found = own.pose(base, frame, None if at is None else NOW + at)
        # The double of a stamp, rounded to ns once or not at all; frames here move at up to 6 m/s.
        np.testing.assert_allclose(found.homogeneous, expected.homogeneous, atol=3e-6)


def test_a_node_listens_from_the_first_question_that_needs_it(node, tf):
    frames = Frames(node)

    def listened() -> list[str]:
        return sorted(own.topic_name for own in node.subscriptions if "/tf" in own.topic_name)

    frames.know("cell", "base", pin.SE3.Identity())
    frames.pose("base", "cell", 5.0)
    assert not listened()
    for _ in range(2):
        with pytest.raises(FrameError, match="TF has no frame 'moon'"):
            frames.pose("moon", "base", None)
    assert listened() == ["/tf", "/tf_static"]


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
