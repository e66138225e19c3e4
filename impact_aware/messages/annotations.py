"""An analysed impact as the messages the live nodes would have sent: event, prediction with its outcome, markers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import ImpactAwareError
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.markers import Changes, Marker, MarkerBoard, SceneMarkers, impact_from_message
from impact_aware.recordings.message_types import annotation_types
from impact_aware.recordings.results import AnalyzedImpact, ArmAnalysis
from impact_aware.robot import RobotModel

EVENT_TYPE = "impact_aware_msgs/msg/ImpactEvent"
PREDICTION_TYPE = "impact_aware_msgs/msg/ImpactPrediction"
MARKERS_TYPE = "visualization_msgs/msg/MarkerArray"

_KIND_CONTACT_MADE = 0
_MEANINGS = {None: 0, True: 1, False: 2}
_SOURCE_AT_IMPACT, _SOURCE_ESTIMATE = 1, 3
_MODES = {"stick": 1, "slide": 2, "separate": 3}
_ADD, _DELETE = 0, 2

_NOTHING = np.zeros(0)


class ArmMessages:
    """Makes the messages of one arm, impact after impact; remembers what the markers show."""

    def __init__(self, arm: ArmAnalysis) -> None:
        """Load the arm's model, for the velocities of the contact point, where it is known."""
        self._arm = arm
        self._scene = SceneMarkers(arm=arm.arm, robot=_robot(arm))
        self._board = MarkerBoard()

    def event(self, impact: AnalyzedImpact) -> bytes:
        """`ImpactEvent`, stamped with the time of the impact."""
        found = impact.event
        message = _make(
            EVENT_TYPE,
            header=_header(impact.time, self._arm.base_frame),
            stamp_detected=_time(found.time_detected),
            sequence=impact.index,
            arm=impact.arm,
            detector=found.detector,
            kind=_KIND_CONTACT_MADE,
            meaning=_MEANINGS[impact.expected],
            confidence=float(found.confidence),
            time_standard_error=float(found.time_std) if np.isfinite(found.time_std) else -1.0,
            joint_names=list(impact.joint_names),
            position=_floats(impact.position),
            velocity_before=_floats(impact.velocity_before),
            # A first look at what the detector saw right away; the estimate is in the prediction.
            velocity_after=_NOTHING,
            residual=_floats(found.residual),
            first_joint=int(found.joint),
        )
        return _serialise(message, EVENT_TYPE)

    def prediction(self, impact: AnalyzedImpact) -> bytes:
        """`ImpactPrediction` with what was predicted and what was estimated."""
        return _serialise(self._prediction(impact), PREDICTION_TYPE)

    def markers(self, impact: AnalyzedImpact) -> bytes | None:
        """`MarkerArray` of the scene at the impact, replacing that of the one before; None when nothing changes."""
        record = impact_from_message(self._prediction(impact))
        if record is None:
            return None
        self._scene.add_impact(record)
        changes = [
            self._board.show(group, markers, impact.time) for group, markers in self._scene.take_changes().items()
        ]
        legend = self._scene.legend(self._board.namespaces(impact.time))
        changes.append(self._board.show("legend", legend, impact.time))
        markers = [marker for change in changes for marker in _marker_messages(change, impact.time)]
        return _serialise(_make(MARKERS_TYPE, markers=markers), MARKERS_TYPE) if markers else None

    def _prediction(self, impact: AnalyzedImpact) -> Any:
        prediction, estimate = impact.prediction, impact.estimate
        return _make(
            PREDICTION_TYPE,
            header=_header(impact.time, self._arm.base_frame),
            source=_SOURCE_AT_IMPACT if estimate is None else _SOURCE_ESTIMATE,
            event_sequence=impact.index,
            arm=impact.arm,
            method="",
            inertia="" if prediction is None else prediction.inertia,
            joint_names=list(impact.joint_names),
            position=_floats(impact.position),
            velocity_before=_floats(impact.velocity_before),
            velocity_after=_floats(impact.velocity_after_predicted),
            # Of the covariance only the diagonal is kept by an analysis; half a matrix would be taken for a whole one.
            velocity_after_covariance=_NOTHING,
            velocity_estimated=_floats(impact.velocity_after_estimated),
            velocity_estimated_error=_floats(None if estimate is None else estimate.standard_error),
            contacts=[] if prediction is None else [_contact(prediction)],
            energy_loss=0.0 if prediction is None else prediction.energy_loss,
            time_to_impact=0.0,
            valid=prediction is not None,
            reason="" if prediction is not None else "nothing was predicted: there is no robot model or no normal",
        )


def _robot(arm: ArmAnalysis) -> RobotModel | None:
    """The arm's model: its profile, else the URDF of the recording; None when neither fits."""
    for make in (
        lambda: RobotModel.from_profile(arm.robot),
        lambda: RobotModel.from_urdf(arm.urdf or "", joint_names=arm.joint_names),
    ):
        try:
            robot = make()
        except (ImpactAwareError, ValueError, OSError):
            continue
        if robot.joint_names == arm.joint_names:
            return robot
    return None


def _contact(prediction: ImpactPrediction) -> Any:
    contact = prediction.contact
    return _make(
        "impact_aware_msgs/msg/ContactImpulse",
        frame=contact.frame,
        obstacle="",
        point=_xyz("geometry_msgs/msg/Point", prediction.point),
        normal=_xyz("geometry_msgs/msg/Vector3", contact.normal),
        impulse=_xyz("geometry_msgs/msg/Vector3", prediction.impulse),
        velocity_before=_xyz("geometry_msgs/msg/Vector3", prediction.contact_velocity_before),
        velocity_after=_xyz("geometry_msgs/msg/Vector3", prediction.contact_velocity_after),
        friction=contact.friction,
        restitution=contact.restitution,
        effective_mass=prediction.effective_mass,
        mode=_MODES[prediction.mode],
    )


def _marker_messages(changes: Changes, time: float) -> Iterable[Any]:
    """First what goes, then what comes."""
    for frame, namespace, number in changes.delete:
        yield _make(
            "visualization_msgs/msg/Marker", header=_header(time, frame), ns=namespace, id=number, action=_DELETE
        )
    for marker in changes.add:
        yield _marker_message(marker)


def _marker_message(marker: Marker) -> Any:
    red, green, blue, opacity = marker.color
    x, y, z, w = (float(part) for part in marker.orientation)
    pose = _make(
        "geometry_msgs/msg/Pose",
        position=_xyz("geometry_msgs/msg/Point", marker.position),
        orientation=_make("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w),
    )
    return _make(
        "visualization_msgs/msg/Marker",
        header=_header(marker.time, marker.frame),
        ns=marker.namespace,
        id=marker.id,
        type=int(marker.kind),
        action=_ADD,
        pose=pose,
        scale=_xyz("geometry_msgs/msg/Vector3", marker.scale),
        color=_make("std_msgs/msg/ColorRGBA", r=red, g=green, b=blue, a=opacity),
        lifetime=_time(marker.lifetime, "builtin_interfaces/msg/Duration"),
        points=[_xyz("geometry_msgs/msg/Point", point) for point in marker.points],
        text=marker.text,
    )


def _make(name: str, **values: Any) -> Any:
    """A message with these fields; the others are what a new message of ROS has in them."""
    store = annotation_types()
    filled = dict(values)
    for field, description in store.fielddefs[name][1]:
        if field not in filled:
            filled[field] = _default(description)
    return store.types[name](**filled)


def _default(description: Any) -> Any:
    kind, detail = int(description[0]), description[1]
    if kind == 1:
        return {"string": "", "wstring": "", "bool": False}.get(detail[0], 0.0 if "float" in detail[0] else 0)
    if kind == 2:
        return _make(detail)
    # Sequences, of numbers as arrays.
    element, _ = detail
    if int(element[0]) == 1 and element[1][0] not in ("string", "wstring"):
        return np.zeros(0, dtype=np.uint8 if element[1][0] in ("byte", "char", "octet") else element[1][0])
    return []


def _serialise(message: Any, name: str) -> bytes:
    return bytes(annotation_types().serialize_cdr(message, name))


def _header(time: float, frame: str) -> Any:
    return _make("std_msgs/msg/Header", stamp=_time(time), frame_id=frame)


def _time(seconds: float, name: str = "builtin_interfaces/msg/Time") -> Any:
    nanoseconds = to_nanoseconds(seconds)
    return _make(name, sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def to_nanoseconds(seconds: float) -> int:
    """A time in s as whole ns; the seconds are split off first, as a double can't hold today's date to the ns."""
    whole = int(seconds // 1.0)
    return whole * 1_000_000_000 + round((seconds - whole) * 1e9)


def _xyz(name: str, vector: Array | None) -> Any:
    x, y, z = (0.0, 0.0, 0.0) if vector is None else (float(part) for part in vector)
    return _make(name, x=x, y=y, z=z)


def _floats(values: Array | None) -> Array:
    return _NOTHING if values is None else np.ascontiguousarray(values, dtype=np.float64)
