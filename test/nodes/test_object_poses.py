"""The object's pose in any frame, best effort, through each node that follows it."""

import math
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
import rclpy
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from node_harness import refused, send, tick, transforms
from patience import until
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time

from impact_aware.errors import InvalidInputError
from impact_aware.messages.geometry import vector, write_quaternion, write_vector
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.object_poses import MOST_WAITING
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.ros.messages import stamp
from impact_aware.ros.readiness import Readiness

# Looks down and to the side: no axis of it is one of the base.
CAMERA = pin.SE3(pin.utils.rotate("x", 2.6) @ pin.utils.rotate("z", 0.4), np.array([0.7, -0.3, 1.2]))
PLACE = np.array([0.46, 0.02, 0.1])


pytestmark = pytest.mark.usefixtures("tf")


def seen(place: np.ndarray, at: float = 5.0, frame: str = "camera", kind=PoseStamped):
    """The upright object at a place of the base frame, as a camera sees it."""
    message = kind()
    message.header.frame_id, message.header.stamp = frame, stamp(at)
    pose = (CAMERA if frame == "camera" else pin.SE3.Identity()).actInv(pin.SE3(np.eye(3), place))
    inner = message.pose if kind is PoseStamped else message.pose.pose
    write_vector(inner.position, pose.translation)
    write_quaternion(inner.orientation, pin.Quaternion(pose.rotation).coeffs())
    return message


def calibrate(node, *, static=True, at=0.0, pose=CAMERA, parent="panda_link0", child="camera") -> None:
    node.object_poses.frames.take(transforms((parent, child, pose), at=at), static=static)


def place_of(node) -> np.ndarray:
    if isinstance(node, JumpPredictorNode):
        return node.predictor.object_position
    return node.live.field.object_position


@pytest.mark.parametrize("kind", [ReferenceFieldNode, JumpPredictorNode])
def test_a_pose_in_a_tilted_camera_s_frame_is_followed_in_the_base_frame(make, kind):
    node = make(kind)
    calibrate(node)
    send(node, "object_pose", seen(PLACE))
    np.testing.assert_allclose(place_of(node), PLACE, atol=1e-12)


@pytest.mark.parametrize("kind", [ReferenceFieldNode, JumpPredictorNode])
def test_a_pose_in_a_frame_that_nobody_knows_is_not_followed(make, kind):
    node = make(kind)
    before = place_of(node).copy()
    send(node, "object_pose", seen(PLACE))
    np.testing.assert_array_equal(place_of(node), before)
    assert refused(node) == {"object_pose in a frame that TF does not have": 1}
    assert node.object_poses.refusal() == "object_pose in frame 'camera' can't be used: TF has no frame 'panda_link0'"


@pytest.mark.parametrize("frame", ["", "panda_link0", "/panda_link0"])
def test_without_a_frame_or_in_the_base_frame_nothing_is_looked_up(make, frame):
    node = make(ReferenceFieldNode)
    send(node, "object_pose", seen(PLACE, frame=frame))
    np.testing.assert_allclose(place_of(node), PLACE, atol=1e-12)
    assert "/tf" not in [own.topic_name for own in node.subscriptions]
    assert not any(own.timer_period_ns == 20_000_000 for own in node.timers)


def test_without_tf2_msgs_it_is_said(make, monkeypatch):
    node = make(ReferenceFieldNode)

    def missing(name):
        raise InvalidInputError("message type", name, "an installed one")

    monkeypatch.setattr("impact_aware.ros.frames.message_class", missing)
    send(node, "object_pose", seen(PLACE))
    assert "tf2_msgs is not installed" in node.object_poses.refusal()


def test_a_pose_waits_for_the_transform_of_its_time(make):
    """A camera on the wrist: where it was when it looked is known a moment later."""
    node = make(ReferenceFieldNode)
    calibrate(node, static=False, at=4.9)
    send(node, "object_pose", seen(PLACE))
    assert not node.object_poses.watch.seen
    calibrate(node, static=False, at=5.1)
    tick(node, 0.02)
    np.testing.assert_allclose(place_of(node), PLACE, atol=1e-12)


def test_poses_that_wait_too_long_are_refused(make):
    node = make(ReferenceFieldNode)
    calibrate(node, static=False, at=4.9)
    for step in range(MOST_WAITING):
        send(node, "object_pose", seen(PLACE, at=5.0 + 0.01 * step))
    assert refused(node)["object_pose ahead of TF"] == 1
    assert "TF is behind" in node.object_poses.refusal()


def test_no_motion_begins_towards_an_object_with_which_the_task_can_not_be_done(make):
    node = make(ReferenceFieldNode)
    send(node, "object_pose", seen(PLACE, frame=""))
    send(node, "object_pose", seen(np.array([30.0, 0.0, 0.1]), 5.02, frame=""))
    for step in range(3):
        send(node, "object_pose", seen(np.array([30.0, 0.0, 0.1]), 5.04 + 0.02 * step, frame=""))
    np.testing.assert_allclose(place_of(node), PLACE)
    assert node.no_motion().startswith("the object makes the task impossible: object.position: got ")
    for step in range(50):
        send(node, "object_pose", seen(PLACE, 5.2 + 0.03 * step, frame=""))
    assert node.no_motion() == ""


def test_the_object_may_be_a_frame_of_tf(make):
    node = make(ReferenceFieldNode, object_frame="box")
    tick(node, 0.02)
    assert "the pose of box is not known" in node.object_poses.refusal()
    calibrate(node)
    calibrate(node, at=7.0, static=False, pose=CAMERA.actInv(pin.SE3(np.eye(3), PLACE)), parent="camera", child="box")
    tick(node, 0.02)
    np.testing.assert_allclose(place_of(node), PLACE, atol=1e-12)


def test_hostile_transforms_are_counted_and_change_nothing(make):
    node = make(ReferenceFieldNode)
    calibrate(node)
    calibrate(node, pose=pin.SE3(np.eye(3), np.array([math.nan, 0.0, 0.0])))
    calibrate(node, child="panda_link0")
    message = transforms(("panda_link0", "camera", CAMERA))
    message.transforms[0].transform.rotation.w = 7.0
    node.object_poses.frames.take(message, static=True)
    send(node, "object_pose", seen(PLACE))
    np.testing.assert_allclose(place_of(node), PLACE, atol=1e-12)
    assert node.object_poses.frames.refused.total() == 3


def test_the_covariance_of_a_pose_goes_into_the_predictions(make):
    node = make(JumpPredictorNode, object_mass=2.0, normal=[0.0, 1.0, 0.0], object_pose_type="pose_with_covariance")
    calibrate(node)
    message = seen(PLACE, kind=PoseWithCovarianceStamped)
    # In the camera's frame: 4 mm along its x axis, 0.03 rad about its z axis.
    values = np.zeros((6, 6))
    values[0, 0], values[5, 5] = 0.004**2, 0.03**2
    message.pose.covariance = values.ravel().tolist()
    send(node, "object_pose", message)
    x, z = CAMERA.rotation[:, 0], CAMERA.rotation[:, 2]
    own = node.predictor._covariance
    np.testing.assert_allclose(own.point, 0.004**2 * np.outer(x, x), atol=1e-18)
    tilt = np.cross(z, [0.0, 1.0, 0.0])
    np.testing.assert_allclose(own.normal, 0.03**2 * np.outer(tilt, tilt), atol=1e-16)
    message.header.stamp, message.pose.covariance = stamp(5.02), np.zeros(36).tolist()
    send(node, "object_pose", message)
    # What is left is what the motors' inertia may be off by.
    own = node.predictor._covariance
    assert (own.point, own.normal) == (0.0, 0.0)


def test_a_covariance_that_is_none_refuses_the_pose(make):
    node = make(ReferenceFieldNode, object_pose_type="pose_with_covariance")
    message = seen(PLACE, frame="", kind=PoseWithCovarianceStamped)
    message.pose.covariance = (-np.eye(6) * 2.0).ravel().tolist()
    send(node, "object_pose", message)
    assert refused(node) == {"object_pose not usable": 1}


def test_a_type_that_is_not_installed_is_said_at_the_start(ros_context, monkeypatch):
    monkeypatch.setitem(
        __import__("impact_aware.messages.object_pose", fromlist=["TYPES"]).TYPES, "odometry", "no/msg/No"
    )
    with pytest.raises(InvalidInputError, match="no/msg/No"):
        ReferenceFieldNode(parameter_overrides=[Parameter("object_pose_type", value="odometry")])


def test_a_required_pose_that_never_came_is_asked_for(make):
    assert make(ReferenceFieldNode).no_motion() == ""
    assert make(ReferenceFieldNode, object_pose_required=True).no_motion().startswith("no /object_pose was received: ")
    assert make(ReferenceFieldNode, object_pose_required=True, use_object_pose=False).no_motion() == ""


@pytest.mark.dds
def test_a_best_effort_mocap_is_received_and_no_motion_begins_while_it_is_bad(make, ros_context):
    """What the controller asks, over DDS: the field says on /readiness why no motion should begin."""
    field = make(ReferenceFieldNode)
    context = Context()
    rclpy.init(context=context)
    mocap = Node("mocap", context=context, parameter_overrides=[Parameter("companions", value=["/reference_field"])])
    publisher = mocap.create_publisher(
        PoseStamped, "object_pose", QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    )
    readiness = Readiness(mocap)
    own, other = SingleThreadedExecutor(), SingleThreadedExecutor(context=context)
    own.add_node(field)
    other.add_node(mocap)
    steps = iter(range(10_000))

    def show(step: float) -> None:
        """Show the object at rest, or going to and fro within 4 cm, however long the other side takes to look."""
        count = next(steps)
        place = PLACE + [0.0, step * (abs(count % 80 - 40) - 20), 0.0]
        publisher.publish(seen(place, at=5.0 + 0.02 * count, frame="panda_link0"))
        own.spin_once(timeout_sec=0.005)
        other.spin_once(timeout_sec=0.005)

    try:
        assert until(lambda: not readiness.refusal() and not readiness.objection(), lambda: show(0.0))
        assert until(lambda: "the object moves" in readiness.objection(), lambda: show(0.001))
        assert readiness.refusal() == ""
    finally:
        own.shutdown()
        other.shutdown()
        mocap.destroy_node()
        context.shutdown()


PRESENT = 1.7e9


def stand_still(node) -> None:
    """Its clock, at `PRESENT`."""
    node.get_clock = lambda: SimpleNamespace(now=lambda: Time(nanoseconds=int(PRESENT * 1e9)))


def stamped(node, late: float, place: np.ndarray = PLACE) -> PoseStamped:
    """A pose with a stamp that is so old by the node's clock, s, which stands still."""
    stand_still(node)
    return seen(place, PRESENT - late, frame="")


@pytest.mark.parametrize("kind", [ReferenceFieldNode, JumpPredictorNode])
@pytest.mark.parametrize(
    ("late", "words"),
    [
        (0.5, "object_pose comes 0.5 s late, over object_delay_limit, 0.3 s"),
        (-0.03, "object_pose is stamped 0.03 s in the future"),
    ],
)
def test_a_pose_with_a_stamp_that_is_too_old_or_to_come_is_refused(make, kind, late, words):
    node = make(kind)
    before = place_of(node).copy()
    send(node, "object_pose", stamped(node, late))
    np.testing.assert_array_equal(place_of(node), before)
    assert node.object_poses.refusal() == f"{words}: do the clocks of perception and robot agree?"
    assert refused(node) == {"object_pose stamped too early or late": 1}
    # Of a stamp of today, to 0.2 us.
    assert node.object_poses.values()["object_pose_delay"] == pytest.approx(late, abs=1e-6)
    for good in (0.29, -0.01):
        send(node, "object_pose", stamped(node, good))
        np.testing.assert_allclose(place_of(node), PLACE, atol=1e-12)
        assert "clock" not in node.object_poses.refusal()
        assert node.object_poses.values()["object_pose_delay"] == pytest.approx(good, abs=1e-6)


def test_how_old_a_stamp_may_be_is_a_parameter(make):
    for limit, late in ((2.0, 1.9), (0.0, 1000.0)):
        node = make(ReferenceFieldNode, object_delay_limit=limit)
        send(node, "object_pose", stamped(node, late))
        np.testing.assert_allclose(place_of(node), PLACE, atol=1e-12)


def test_stamps_of_another_clock_and_none_are_not_judged(make):
    node = make(ReferenceFieldNode)
    for at in (5.0, 0.0):
        send(node, "object_pose", seen(PLACE, at, frame=""))
        assert "clock" not in node.object_poses.refusal()
        assert "object_pose_delay" not in node.object_poses.values()


def test_an_object_that_is_a_frame_of_tf_is_judged_by_the_age_of_its_transform(make):
    node = make(ReferenceFieldNode, object_frame="box")
    stand_still(node)
    pose, before = pin.SE3(np.eye(3), PLACE), place_of(node).copy()
    for at, late in ((PRESENT - 5.0, True), (PRESENT - 0.1, False)):
        calibrate(node, at=at, static=False, pose=pose, parent="panda_link0", child="box")
        for _ in range(2):
            tick(node, 0.02)
        assert ("over object_delay_limit" in node.object_poses.refusal()) == late
        np.testing.assert_allclose(place_of(node), before if late else PLACE, atol=1e-12)
    assert sum(refused(node).values()) == 1


@pytest.mark.parametrize("kind", [ReferenceFieldNode, JumpPredictorNode])
def test_an_object_is_turned_as_a_turned_camera_sees_it(make, kind):
    """By 0.3 rad out of the base frame's axes; in the camera's it is any turn."""
    normal = {"object_mass": 2.0, "normal": [0.0, 1.0, 0.0]} if kind is JumpPredictorNode else {}
    node, turned = make(kind, **normal), pin.utils.rotate("z", 0.3)
    calibrate(node)
    for step in range(12):
        message = seen(PLACE, 5.0 + 0.02 * step)
        own = CAMERA.actInv(pin.SE3(turned, PLACE))
        write_quaternion(message.pose.orientation, pin.Quaternion(own.rotation).coeffs())
        send(node, "object_pose", message)
    face = node.predictor.contact.normal if kind is JumpPredictorNode else node.live.field.arms[0].normal
    np.testing.assert_allclose(face, turned[:, 1], atol=1e-9)


def test_who_pushes_the_object_gets_it_where_it_was_seen_and_not_on_the_line_of_half_a_second(make, sent):
    node = make(ReferenceFieldNode)
    published = sent(node, "reference_field/object")
    # It begins to move: the line through the last poses is behind.
    places = [PLACE - [0.0, 0.002 * max(step - 10, 0) ** 1.5, 0.0] for step in range(20)]
    for step, place in enumerate(places):
        send(node, "object_pose", seen(place, 5.0 + 0.03 * step, frame=""))
    last = published[-1]
    assert len(published) == 20 and last.header.frame_id == node.live.field.frame
    assert last.header.stamp == stamp(5.0 + 0.03 * 19)
    np.testing.assert_allclose(vector(last.pose.position), places[-1], atol=1e-9)
    assert abs(node.object_poses.watch.position[1] - places[-1][1]) > 0.002


def test_without_stamps_or_where_the_pose_is_not_used_nobody_gets_it(make, sent):
    node, other = make(ReferenceFieldNode), make(ReferenceFieldNode, use_object_pose=False)
    for one, at in ((node, 0.0), (other, 5.0)):
        published = sent(one, "reference_field/object")
        send(one, "object_pose", seen(PLACE, at, frame=""))
        assert published == []
