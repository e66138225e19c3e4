"""Messages of an annotated copy: event, prediction with outcome and markers of an impact."""

from __future__ import annotations

import dataclasses

import numpy as np

from impact_aware.bags.message_types import RECORDED
from impact_aware.errors import ImpactAwareError
from impact_aware.markers import Marker, MarkerBoard, MarkerStyle, SceneMarkers
from impact_aware.markers.marker import Sheet
from impact_aware.markers.movement import object_velocities
from impact_aware.messages import impact_event, impact_prediction, marker
from impact_aware.messages.impact_event import event_to_message
from impact_aware.messages.impact_prediction import impact_to_message, predicted_impact
from impact_aware.messages.marker import changes_to_message
from impact_aware.recordings.results import AnalyzedImpact, ArmAnalysis
from impact_aware.records.impact import COMMON, Impact
from impact_aware.robot import RobotModel, profile_names

EVENT_TYPE, PREDICTION_TYPE, MARKERS_TYPE = impact_event.TYPE, impact_prediction.TYPE, marker.TYPE


class ArmMessages:
    """Makes the messages of one arm, impact after impact; remembers what the markers show."""

    def __init__(self, arm: ArmAnalysis) -> None:
        """Load the arm's model, for the velocities of the contact point, where it is known."""
        self._arm = arm
        self._style = MarkerStyle()
        self._scene = SceneMarkers(self._style, arm=arm.arm, robot=_robot(arm))
        self._board = MarkerBoard()

    def event(self, impact: AnalyzedImpact) -> bytes:
        """`ImpactEvent`, stamped with the time of the impact."""
        # Without the detector's first look at the velocity after: the estimate is in the prediction.
        event = dataclasses.replace(
            impact.event, position=impact.position, velocity_before=impact.velocity_before, velocity_after=None
        )
        message = event_to_message(
            event,
            RECORDED,
            sequence=impact.index,
            arm=impact.arm,
            frame=self._arm.base_frame,
            joint_names=impact.joint_names,
            expected=impact.expected,
            cause=impact.cause,
        )
        return RECORDED.serialize(message, EVENT_TYPE)

    def prediction(self, impact: AnalyzedImpact) -> bytes:
        """`ImpactPrediction` with what was predicted and what was estimated."""
        return RECORDED.serialize(impact_to_message(self._record(impact), RECORDED), PREDICTION_TYPE)

    def markers(self, impact: AnalyzedImpact) -> bytes | None:
        """`MarkerArray` of the scene at the impact, replacing that of the one before; None when nothing changes."""
        record = self._record(impact)
        if record.valid and record.plausible:
            self._scene.add_impact(record)
        changes = [
            self._board.show(group, markers, impact.time) for group, markers in self._scene.take_changes().items()
        ]
        changes.append(self._board.show("object_hit", self._object(impact), impact.time))
        legend = self._scene.legend(self._board.namespaces(impact.time))
        changes.append(self._board.show("legend", legend, impact.time))
        messages = [changes_to_message(change, RECORDED, impact.time) for change in changes if change]
        if not messages:
            return None
        messages[0].markers = [entry for message in messages for entry in message.markers]
        return RECORDED.serialize(messages[0], MARKERS_TYPE)

    def _object(self, impact: AnalyzedImpact) -> list[Marker]:
        """Markers of the object's velocity after the hit, where its track shows it."""
        hit, prediction = impact.object_hit, impact.prediction
        if hit is None:
            return []
        words = f"measured {float(np.linalg.norm(hit.motion.velocity_after)):.2f} m/s"
        if hit.restitution is not None:
            words += f", e {hit.restitution:.2f} +- {hit.restitution_error:.2f}"
        twist = None if prediction is None else prediction.object_twist_after
        root = "/".join(filter(None, (self._arm.arm, "at_impact")))
        return object_velocities(
            Sheet(root, self._arm.base_frame, impact.time),
            hit.motion.position,
            None if twist is None else twist[:3],
            hit.motion.velocity_after,
            words,
            self._style,
        )

    def _record(self, impact: AnalyzedImpact) -> Impact:
        prediction, estimate = impact.prediction, impact.estimate
        source = "at_impact" if estimate is None else "estimate"
        if prediction is None:
            reason = "nothing was predicted: there is no robot model or no normal"
            record = Impact(source=source, time=impact.time, valid=False, reason=reason)
        else:
            # Of the covariance an analysis keeps only the diagonal; half a matrix would be taken for a whole one.
            record = predicted_impact(
                prediction, source=source, time=impact.time, position=impact.position, time_to_impact=0.0
            )
        return dataclasses.replace(
            record,
            arm=impact.arm,
            frame=self._arm.base_frame,
            event_sequence=impact.index,
            method=record.method if impact.common is None else COMMON,
            joint_names=impact.joint_names,
            position=impact.position,
            velocity_before=impact.velocity_before,
            velocity_after=record.velocity_after if impact.common is None else impact.common.velocity_after,
            estimated=impact.velocity_after_estimated,
            estimated_error=None if estimate is None else estimate.standard_error,
        )


def _robot(arm: ArmAnalysis) -> RobotModel | None:
    """The arm's model where its joints are those of the messages; of an analysis without one, the profile's."""
    robot = arm.model
    if robot is None and arm.robot in profile_names():
        try:
            robot = RobotModel.from_profile(arm.robot)
        except ImpactAwareError:
            return None
    return robot if robot is not None and robot.joint_names == arm.joint_names else None
