"""Impact events and predictions as messages; arrays are in the model's joint order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from impact_aware_msgs.msg import ContactImpulse
from impact_aware_msgs.msg import ImpactEvent as ImpactEventMessage
from impact_aware_msgs.msg import ImpactPrediction as ImpactPredictionMessage
from numpy.typing import NDArray

from impact_aware.detection import ImpactEvent
from impact_aware.impact import ImpactPrediction
from impact_aware.impact.uncertainty import UncertainPrediction
from impact_aware.nodes.geometry import point, twist, vector3
from impact_aware.nodes.stamps import stamp

Array = NDArray[np.float64]

CONTACT_MODES = {
    "stick": ContactImpulse.MODE_STICK,
    "slide": ContactImpulse.MODE_SLIDE,
    "separate": ContactImpulse.MODE_SEPARATE,
}


def event_to_message(
    event: ImpactEvent, *, sequence: int, arm: str, frame: str, joint_names: Sequence[str]
) -> ImpactEventMessage:
    """An impact found by a detector."""
    message = ImpactEventMessage()
    message.header.stamp = stamp(event.time)
    message.header.frame_id = frame
    message.stamp_detected = stamp(event.time_detected)
    message.sequence = sequence
    message.arm = arm
    message.detector = event.detector
    message.kind = ImpactEventMessage.KIND_CONTACT_MADE
    message.confidence = float(event.confidence)
    message.time_standard_error = float(event.time_std) if math.isfinite(event.time_std) else -1.0
    message.joint_names = list(joint_names)
    message.position = event.position
    message.velocity_before = event.velocity_before
    message.velocity_after = event.velocity_after if event.velocity_after is not None else []
    message.residual = event.residual
    message.first_joint = int(event.joint)
    return message


def prediction_to_message(
    prediction: ImpactPrediction,
    *,
    time: float,
    source: int,
    arm: str,
    frame: str,
    joint_names: Sequence[str],
    position: Array,
    object_name: str = "",
) -> ImpactPredictionMessage:
    """The outcome of an impact map; the time until it happens is left unknown."""
    message = ImpactPredictionMessage()
    message.header.stamp = stamp(time)
    message.header.frame_id = frame
    message.source = source
    message.arm = arm
    message.method = prediction.method
    message.inertia = prediction.inertia
    message.joint_names = list(joint_names)
    message.position = position
    message.velocity_before = prediction.velocity_before
    message.velocity_after = prediction.velocity_after
    message.contacts = [
        ContactImpulse(
            frame=prediction.contact.frame,
            obstacle=object_name if prediction.obstacle is not None else "",
            point=point(prediction.point),
            normal=vector3(prediction.contact.normal),
            impulse=vector3(prediction.impulse),
            velocity_before=vector3(prediction.contact_velocity_before),
            velocity_after=vector3(prediction.contact_velocity_after),
            friction=prediction.contact.friction,
            restitution=prediction.contact.restitution,
            effective_mass=float(prediction.effective_mass),
            mode=CONTACT_MODES.get(str(prediction.mode), ContactImpulse.MODE_UNKNOWN),
        )
    ]
    if prediction.obstacle is not None and prediction.object_twist_after is not None:
        message.object = object_name
        message.object_position = point(prediction.obstacle.position)
        message.object_twist_before = twist(prediction.obstacle.twist)
        message.object_twist_after = twist(prediction.object_twist_after)
    message.energy_loss = prediction.energy_loss
    message.time_to_impact = -1.0
    message.valid = True
    return message


def add_covariance(message: ImpactPredictionMessage, uncertain: UncertainPrediction) -> None:
    """Write the first-order spread of a prediction into its message."""
    message.velocity_after_covariance = uncertain.velocity_after_covariance.ravel()
    message.contacts[0].impulse_covariance = uncertain.impulse_covariance.ravel()
    message.mode_may_change = bool(uncertain.mode_may_change)


def no_prediction(*, time: float, source: int, arm: str, frame: str, reason: str) -> ImpactPredictionMessage:
    """Says that nothing could be predicted, and why."""
    message = ImpactPredictionMessage()
    message.header.stamp = stamp(time)
    message.header.frame_id = frame
    message.source = source
    message.arm = arm
    message.time_to_impact = -1.0
    message.reason = reason
    return message
