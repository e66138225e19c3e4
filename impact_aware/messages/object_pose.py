"""Poses of an object out of the messages in which perceptions publish them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.messages.geometry import quaternion, vector
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.transform_buffer import checked_pose

TYPES = {
    "pose": "geometry_msgs/msg/PoseStamped",
    "pose_with_covariance": "geometry_msgs/msg/PoseWithCovarianceStamped",
    "odometry": "nav_msgs/msg/Odometry",
    "detections": "vision_msgs/msg/Detection3DArray",
}
"""Types of messages by the name that a parameter calls them; all of them begin with a header."""


@dataclass(frozen=True, eq=False)
class ObjectPose:
    """Where an object was seen.

    Attributes:
        frame: Frame of the pose, empty where the message does not name one.
        time: Stamp, s.
        pose: Of the object's centre and axes in that frame.
        covariance: (6, 6) Of position and rotation about the axes of that frame, m^2 and rad^2; None when unknown.
        velocity: (3,) Of its centre as the last poses have it, m/s; zeros at rest.
    """

    frame: str
    time: float
    pose: pin.SE3
    covariance: Array | None = None
    velocity: Array = field(default_factory=lambda: np.zeros(3))

    def seen_from(self, base: str, placement: pin.SE3) -> ObjectPose:
        """Return the pose in the frame `base`, in which its present frame has the pose `placement`."""
        covariance = self.covariance
        if covariance is not None:
            turn = np.kron(np.eye(2), placement.rotation)
            covariance = turn @ covariance @ turn.T
        return ObjectPose(base, self.time, placement * self.pose, covariance)


def object_pose(message: Any) -> ObjectPose:
    """A message of one of `TYPES` with one pose.

    A covariance of zeros is unknown, and so is one that begins with -1, as elsewhere in ROS.

    Raises:
        InvalidInputError: Not finite, no unit quaternion, or a covariance that is none.
    """
    inner = message.pose.pose if hasattr(message.pose, "pose") else message.pose
    pose = checked_pose(vector(inner.position), quaternion(inner.orientation), "object_pose")
    covariance = None
    if hasattr(message.pose, "covariance"):
        covariance = _covariance(np.array(message.pose.covariance, dtype=float).reshape(6, 6))
    return ObjectPose(str(message.header.frame_id), stamp_seconds(message), pose, covariance)


def detected_object(message: Any, wanted: str = "") -> ObjectPose | None:
    """The wanted object in a Detection3DArray; None where it was not detected.

    A detected box gives its centre and axes, any other detection the pose of the likeliest hypothesis. A detection
    without a frame is in the frame of the array.

    Args:
        message: The detections.
        wanted: Class or id of the object; any where empty.

    Raises:
        InvalidInputError: As `object_pose`, or several detections that may be the object.
    """
    found = [(entry, own) for entry in message.detections if (own := _hypotheses(entry, wanted)) is not None]
    if not found:
        return None
    if len(found) > 1:
        expected = "one: object_class names the class or the id of the object" if not wanted else "one"
        shown = f"{len(found)} detections" + (f" of {wanted!r}" if wanted else "")
        raise InvalidInputError("object_pose", shown, expected)
    (entry, hypotheses), covariance = found[0], None
    best = max(hypotheses, key=lambda own: own.hypothesis.score, default=None)
    if best is not None:
        covariance = _covariance(np.array(best.pose.covariance, dtype=float).reshape(6, 6))
    inner = entry.bbox.center if best is None or vector(entry.bbox.size).any() else best.pose.pose
    pose = checked_pose(vector(inner.position), quaternion(inner.orientation), "object_pose")
    stamped = entry if entry.header.frame_id else message
    return ObjectPose(str(stamped.header.frame_id), stamp_seconds(stamped), pose, covariance)


def _hypotheses(detection: Any, wanted: str) -> list[Any] | None:
    """Return a detection's hypotheses of the wanted object; None where it is another one."""
    results = list(detection.results)
    if not wanted or detection.id == wanted:
        return results
    return [own for own in results if own.hypothesis.class_id == wanted] or None


def _covariance(values: Array) -> Array | None:
    if not values.any() or values[0, 0] == -1.0:
        return None
    expected = "a symmetric matrix without negative eigenvalues"
    if not np.isfinite(values).all() or np.abs(values).max() > 1e6:
        raise InvalidInputError("object_pose covariance", "numbers that are not finite, or beyond 1e6", expected)
    scale = float(np.abs(values).max())
    if np.abs(values - values.T).max() > 1e-6 * scale or np.linalg.eigvalsh(values).min() < -1e-6 * scale:
        raise InvalidInputError("object_pose covariance", values.diagonal().tolist(), expected)
    return 0.5 * (values + values.T)
