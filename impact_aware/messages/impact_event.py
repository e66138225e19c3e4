"""`ImpactEvent`: what a detector finds, to and from the message; arrays are in the model's joint order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.detection.bounce import ContactLoss
from impact_aware.detection.completion import ContactCompletion
from impact_aware.detection.impact_watch import CONTACT, CONTACT_RENEWED, SECOND_CONTACT
from impact_aware.detection.impact_watch import CONTACT_LOST as LOST
from impact_aware.messages.stamps import seconds, stamp_seconds, write_stamp
from impact_aware.messages.types import MessageTypes, give, given
from impact_aware.records import ImpactEvent, Outcome

TYPE = "impact_aware_msgs/msg/ImpactEvent"

CONTACT_MADE, CONTACT_LOST, CONTACT_COMPLETE = 0, 1, 2
"""ImpactEvent.KIND_*."""

MEANINGS = {None: 0, True: 1, False: 2}
"""Whether an impact was the expected one -> ImpactEvent.MEANING_*."""

CAUSES = {"": 0, CONTACT: 1, SECOND_CONTACT: 2, LOST: 3, CONTACT_RENEWED: 4}
"""Cause -> ImpactEvent.CAUSE_*."""


def event_to_message(
    event: ImpactEvent,
    types: MessageTypes,
    *,
    sequence: int,
    arm: str,
    frame: str,
    joint_names: Sequence[str],
    expected: bool | None = None,
    cause: str = "",
) -> Any:
    """Return the message of a detected impact; `expected` gives its meaning, None while that is not known."""
    message = _new(types, CONTACT_MADE, event.time, event.time_detected, event.time_std, sequence, arm, frame)
    message.detector = event.detector
    message.meaning = MEANINGS[expected]
    message.cause = CAUSES[cause]
    message.confidence = float(event.confidence)
    message.joint_names = list(joint_names)
    message.position = types.doubles(event.position)
    message.velocity_before = types.doubles(event.velocity_before)
    if event.velocity_after is not None:
        message.velocity_after = types.doubles(event.velocity_after)
    message.residual = types.doubles(event.residual)
    give(message, "first_joint", int(event.joint) if event.joint >= 0 else None)
    return message


def event_from_message(message: Any) -> ImpactEvent:
    """An impact as another node publishes it, in the joint order of the message; NaN where it lacks values."""
    count = len(message.joint_names)
    unknown = np.full(count, np.nan)
    time_std = float(given(message, "time_standard_error", math.nan))

    def values(field: Any) -> Array:
        return np.array(field, dtype=np.float64) if len(field) == count else unknown

    return ImpactEvent(
        time=stamp_seconds(message),
        time_detected=seconds(message.stamp_detected),
        time_std=time_std if time_std >= 0.0 else math.nan,
        detector=message.detector,
        joint=int(given(message, "first_joint", -1)),
        position=values(message.position),
        velocity_before=values(message.velocity_before),
        velocity_after=values(message.velocity_after) if len(message.velocity_after) else None,
        residual=values(message.residual),
        confidence=float(message.confidence),
    )


def loss_to_message(
    loss: ContactLoss, types: MessageTypes, *, sequence: int, arm: str, frame: str, joint_names: Sequence[str]
) -> Any:
    """A contact that was lost."""
    message = _new(types, CONTACT_LOST, loss.time, loss.time_detected, loss.time_std, sequence, arm, frame)
    message.detector, message.cause = "bounce", CAUSES[LOST]
    # That the tool recedes is seen; from a second impact the loss is only concluded.
    message.confidence = 1.0 if loss.reason == "receding" else 0.5
    message.joint_names = list(joint_names)
    message.position = types.doubles(loss.position)
    return message


def completion_to_message(
    completion: ContactCompletion, types: MessageTypes, *, sequence: int, arm: str, frame: str
) -> Any:
    """A sequence of impacts that is over."""
    message = _new(types, CONTACT_COMPLETE, completion.time, completion.time, math.nan, sequence, arm, frame)
    message.detector = "completion"
    # After a timeout there is no evidence that the arm is calm.
    message.confidence = 1.0 if completion.reason == "settled" else 0.0
    return message


def outcome_of_event(message: Any) -> Outcome | None:
    """The first look of a detector at the velocity after; None where it has none."""
    velocity = np.array(message.velocity_after, dtype=np.float64)
    names = tuple(message.joint_names)
    if int(message.kind) != CONTACT_MADE or not len(names) == len(velocity) > 0 or not np.isfinite(velocity).all():
        return None
    return Outcome("first look", stamp_seconds(message), names, velocity, np.full(len(velocity), np.nan))


def _new(
    types: MessageTypes, kind: int, time: float, detected: float, error: float, sequence: int, arm: str, frame: str
) -> Any:
    message = types.new(TYPE)
    write_stamp(message.header.stamp, time)
    message.header.frame_id = frame
    write_stamp(message.stamp_detected, detected)
    give(message, "time_standard_error", error if math.isfinite(error) else None)
    message.sequence = sequence
    message.arm = arm
    message.kind = kind
    return message
