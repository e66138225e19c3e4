"""The object among the detections of a perception (vision_msgs/msg/Detection3DArray)."""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from geometry_msgs.msg import PoseWithCovariance, PoseWithCovarianceStamped, Vector3
from std_msgs.msg import Header

from impact_aware.errors import InvalidInputError
from impact_aware.messages.geometry import write_quaternion, write_vector
from impact_aware.messages.object_pose import detected_object, object_pose
from impact_aware.ros.messages import stamp

TURNED = pin.SE3(pin.utils.rotate("z", 0.3) @ pin.utils.rotate("x", -0.2), np.array([0.4, -0.1, 0.9]))
ORIGIN = pin.SE3(pin.utils.rotate("y", 0.5), np.array([0.3, 0.2, 0.8]))
COVARIANCE = np.diag([1e-6, 4e-6, 9e-6, 1e-4, 2e-4, 3e-4])


def header(at, frame):
    return Header(stamp=stamp(at), frame_id=frame)


def with_pose(place):
    pose = PoseWithCovariance()
    write_vector(pose.pose.position, place.translation)
    write_quaternion(pose.pose.orientation, pin.Quaternion(place.rotation).coeffs())
    return pose


def guess(name, score, place=ORIGIN, covariance=None):
    pose = with_pose(place)
    if covariance is not None:
        pose.covariance = covariance.ravel()
    return SimpleNamespace(hypothesis=SimpleNamespace(class_id=name, score=score), pose=pose)


def detection(*results, box=None, name="", frame="camera", at=4.0):
    """vision_msgs comes with no wheel: what its definition (4.1.1) has, of the real messages that it is made of."""
    bbox = SimpleNamespace(center=with_pose(box or pin.SE3.Identity()).pose, size=Vector3())
    if box is not None:
        bbox.size = Vector3(x=0.2, y=0.13, z=0.2)
    return SimpleNamespace(header=header(at, frame), results=list(results), bbox=bbox, id=name)


def detections(*found):
    return SimpleNamespace(header=header(3.0, "array"), detections=list(found))


def test_of_a_box_its_centre_and_axes_count_and_otherwise_the_likeliest_hypothesis():
    boxed = detected_object(detections(detection(guess("tin", 0.9, covariance=COVARIANCE), box=TURNED)))
    assert (boxed.frame, boxed.time) == ("camera", 4.0)
    np.testing.assert_allclose(boxed.pose.homogeneous, TURNED.homogeneous, atol=1e-12)
    np.testing.assert_allclose(boxed.covariance, COVARIANCE)
    bare = detected_object(detections(detection(guess("tin", 0.2, TURNED), guess("pack", 0.7, ORIGIN))))
    np.testing.assert_allclose(bare.pose.homogeneous, ORIGIN.homogeneous, atol=1e-12)
    assert bare.covariance is None


def test_a_detection_in_the_first_second_has_its_own_frame_and_stamp():
    found = detected_object(detections(detection(guess("tin", 0.9), at=0.5)))
    assert (found.frame, found.time) == ("camera", 0.5)


def with_covariance(values):
    message = PoseWithCovarianceStamped(header=header(1.0, "camera"), pose=with_pose(TURNED))
    message.pose.covariance = np.asarray(values, dtype=float).ravel()
    return object_pose(message)


def test_a_covariance_is_known_symmetric_and_turned_into_the_base_frame():
    assert with_covariance(np.zeros((6, 6))).covariance is None
    unknown = COVARIANCE.copy()
    unknown[0, 0] = -1.0
    assert with_covariance(unknown).covariance is None
    rounded = COVARIANCE.copy()
    rounded[0, 1] = 1e-10
    seen = with_covariance(rounded)
    np.testing.assert_array_equal(seen.covariance, seen.covariance.T)
    base = seen.seen_from("base", ORIGIN)
    turn = ORIGIN.rotation
    np.testing.assert_allclose(base.covariance[:3, :3], turn @ COVARIANCE[:3, :3] @ turn.T, atol=1e-10)
    np.testing.assert_allclose(base.covariance[3:, 3:], turn @ COVARIANCE[3:, 3:] @ turn.T, atol=1e-10)
    np.testing.assert_allclose(base.pose.homogeneous, (ORIGIN * TURNED).homogeneous, atol=1e-12)


def test_a_detection_without_a_frame_is_in_that_of_the_array():
    found = detected_object(detections(detection(guess("tin", 0.9), frame="", at=0.0)))
    assert (found.frame, found.time) == ("array", 3.0)


@pytest.mark.parametrize("wanted", ["pack", "track 7"])
def test_the_wanted_class_or_id_is_taken(wanted):
    others = detection(guess("tin", 0.99, ORIGIN), name="track 3")
    own = detection(guess("tin", 0.6, ORIGIN), guess("pack", 0.4, TURNED), name="track 7")
    found = detected_object(detections(others, own), wanted)
    # Of the class, the pose of its own hypothesis; of an id, that of the likeliest one.
    expected = TURNED if wanted == "pack" else ORIGIN
    np.testing.assert_allclose(found.pose.homogeneous, expected.homogeneous, atol=1e-12)


def test_an_object_that_was_not_detected_was_not_seen():
    assert detected_object(detections()) is None
    assert detected_object(detections(detection(guess("tin", 0.9))), "pack") is None


@pytest.mark.parametrize(
    ("wanted", "words"),
    [("", "got 2 detections, expected one: object_class names"), ("tin", "got 2 detections of 'tin', expected one$")],
)
def test_two_that_may_be_the_object_are_refused(wanted, words):
    with pytest.raises(InvalidInputError, match=words):
        detected_object(detections(detection(guess("tin", 0.9)), detection(guess("tin", 0.8))), wanted)


def test_a_pose_that_is_none_is_refused():
    broken = detection(guess("tin", 0.9))
    broken.results[0].pose.pose.position.x = float("nan")
    with pytest.raises(InvalidInputError, match="object_pose"):
        detected_object(detections(broken))
    spoilt = guess("tin", 0.9, covariance=-COVARIANCE)
    with pytest.raises(InvalidInputError, match="covariance"):
        detected_object(detections(detection(spoilt)))
