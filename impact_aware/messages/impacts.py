"""Impact events and predictions as messages; arrays are in the model's joint order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from impact_aware_msgs.msg import ContactImpulse
from impact_aware_msgs.msg import ImpactEvent as ImpactEventMessage
from impact_aware_msgs.msg import ImpactPrediction as ImpactPredictionMessage

from impact_aware.arrays import Array
from impact_aware.detection import ContactCompletion, ContactLoss, ExpectedJump, ImpactEvent
from impact_aware.impact import ImpactPrediction
from impact_aware.impact.uncertainty import UncertainPrediction
from impact_aware.messages.geometry import array3, doubles, fill, fill_twist
from impact_aware.messages.stamps import seconds, stamp
from impact_aware.robot import JointOrder

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
    message.position = doubles(event.position)
    message.velocity_before = doubles(event.velocity_before)
    message.velocity_after = event.velocity_after if event.velocity_after is not None else []
    message.residual = doubles(event.residual)
    message.first_joint = int(event.joint)
    return message


def event_from_message(message: ImpactEventMessage) -> ImpactEvent:
    """An impact as another node tells it, in the joint order of the message."""
    count = len(message.joint_names)
    unknown = np.full(count, np.nan)

    def values(field: Sequence[float]) -> Array:
        return np.asarray(field, dtype=np.float64) if len(field) == count else unknown

    return ImpactEvent(
        time=seconds(message.header.stamp),
        time_detected=seconds(message.stamp_detected),
        time_std=message.time_standard_error if message.time_standard_error >= 0.0 else math.nan,
        detector=message.detector,
        joint=int(message.first_joint),
        position=values(message.position),
        velocity_before=values(message.velocity_before),
        velocity_after=values(message.velocity_after) if len(message.velocity_after) else None,
        residual=values(message.residual),
        confidence=float(message.confidence),
    )


def loss_to_message(
    loss: ContactLoss, *, sequence: int, arm: str, frame: str, joint_names: Sequence[str]
) -> ImpactEventMessage:
    """A contact that was lost."""
    message = ImpactEventMessage(kind=ImpactEventMessage.KIND_CONTACT_LOST, detector="bounce", first_joint=-1)
    message.header.stamp = stamp(loss.time)
    message.header.frame_id = frame
    message.stamp_detected = stamp(loss.time_detected)
    message.sequence = sequence
    message.arm = arm
    # That the tool recedes is seen; from a second impact the loss is only concluded.
    message.confidence = 1.0 if loss.reason == "receding" else 0.5
    message.time_standard_error = float(loss.time_std)
    message.joint_names = list(joint_names)
    message.position = loss.position
    return message


def completion_to_message(completion: ContactCompletion, *, sequence: int, arm: str, frame: str) -> ImpactEventMessage:
    """A sequence of impacts that is over."""
    message = ImpactEventMessage(kind=ImpactEventMessage.KIND_CONTACT_COMPLETE, detector="completion", first_joint=-1)
    message.header.stamp = message.stamp_detected = stamp(completion.time)
    message.header.frame_id = frame
    message.sequence = sequence
    message.arm = arm
    # After a timeout nothing says that the arm is calm.
    message.confidence = 1.0 if completion.reason == "settled" else 0.0
    message.time_standard_error = -1.0
    return message


def expected_jump(message: ImpactPredictionMessage, order: JointOrder) -> ExpectedJump | None:
    """The jump that a prediction is about, in that joint order; None where it says nothing of use."""
    count = len(order.joint_names)
    before, after = np.zeros(count), np.zeros(count)
    if not message.valid or not order.locate(list(message.joint_names)):
        return None
    if not (order.pick(message.velocity_before, before) and order.pick(message.velocity_after, after)):
        return None
    jump = after - before
    if not jump.any():
        return None
    std = np.zeros(count)
    whole = len(message.joint_names)
    if len(message.velocity_after_covariance) == whole * whole:
        variances = np.reshape(message.velocity_after_covariance, (whole, whole)).diagonal()
        if not order.pick(np.sqrt(np.maximum(variances, 0.0)).tolist(), std):
            std[:] = 0.0
    normal = array3(message.contacts[0].normal) if message.contacts else None
    return ExpectedJump(
        time=seconds(message.header.stamp) + max(message.time_to_impact, 0.0),
        jump=jump,
        std=std if std.any() else None,
        normal=normal if normal is not None and np.isfinite(normal).all() and normal.any() else None,
        sequence=int(message.event_sequence),
    )


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
    message: ImpactPredictionMessage | None = None,
) -> ImpactPredictionMessage:
    """The outcome of an impact map, in a fresh `message` or a new one; the time until it happens is left unknown."""
    message = ImpactPredictionMessage() if message is None else message
    message.header.stamp = stamp(time)
    message.header.frame_id = frame
    message.source = source
    message.arm = arm
    message.method = prediction.method
    message.inertia = prediction.inertia
    message.joint_names = list(joint_names)
    message.position = doubles(position)
    message.velocity_before = doubles(prediction.velocity_before)
    message.velocity_after = doubles(prediction.velocity_after)
    message.contacts = [_contact_to_message(prediction, object_name)]
    if prediction.obstacle is not None and prediction.object_twist_after is not None:
        message.object = object_name
        fill(message.object_position, prediction.obstacle.position)
        fill_twist(message.object_twist_before, prediction.obstacle.twist)
        fill_twist(message.object_twist_after, prediction.object_twist_after)
    message.energy_loss = prediction.energy_loss
    message.time_to_impact = -1.0
    message.valid = True
    return message


def _contact_to_message(prediction: ImpactPrediction, object_name: str) -> ContactImpulse:
    message = ContactImpulse()
    message.frame = prediction.contact.frame
    message.obstacle = object_name if prediction.obstacle is not None else ""
    fill(message.point, prediction.point)
    fill(message.normal, prediction.contact.normal)
    fill(message.impulse, prediction.impulse)
    fill(message.velocity_before, prediction.contact_velocity_before)
    fill(message.velocity_after, prediction.contact_velocity_after)
    message.friction = prediction.contact.friction
    message.restitution = prediction.contact.restitution
    message.effective_mass = float(prediction.effective_mass)
    message.mode = CONTACT_MODES.get(str(prediction.mode), ContactImpulse.MODE_UNKNOWN)
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
