"""`ImpactPrediction`: an `Impact` to and from the message, and impacts made of what the library predicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.detection.impact_watch import ExpectedJump
from impact_aware.impact import ImpactPrediction
from impact_aware.impact.hit import HitPrediction
from impact_aware.impact.uncertainty import UncertainPrediction
from impact_aware.messages.geometry import twist, vector, write_twist, write_vector
from impact_aware.messages.stamps import stamp_seconds, write_stamp
from impact_aware.messages.types import MessageTypes, give, given
from impact_aware.records.impact import DRAWN, ContactImpulse, Impact
from impact_aware.robot import JointOrder

TYPE = "impact_aware_msgs/msg/ImpactPrediction"
CONTACT_TYPE = "impact_aware_msgs/msg/ContactImpulse"

SOURCES = {"look_ahead": 0, "at_impact": 1, "service": 2, "estimate": 3, "plant": 4}
"""ImpactPrediction.SOURCE_*."""

MODES = {"": 0, "stick": 1, "slide": 2, "separate": 3}
"""ContactImpulse.MODE_*."""

INERTIAS = {"": 0, "M": 1, "M+B_theta": 2, "M+B_rho": 3}
"""ImpactPrediction.INERTIA_*."""

INERTIA_NAMES = {number: name for name, number in INERTIAS.items()}

_SOURCE_NAMES = {number: name for name, number in SOURCES.items()}
_MODE_NAMES = {number: name for name, number in MODES.items()}


def impact_to_message(impact: Impact, types: MessageTypes) -> Any:
    """Library to message."""
    message = types.new(TYPE)
    write_stamp(message.header.stamp, impact.time)
    message.header.frame_id = impact.frame
    message.source = SOURCES[impact.source]
    message.event_sequence = impact.event_sequence
    message.task_number = impact.task_number
    message.arm = impact.arm
    message.method = impact.method
    message.inertia = INERTIAS[impact.inertia]
    message.joint_names = list(impact.joint_names)
    message.position = types.doubles(impact.position)
    message.velocity_before = types.doubles(impact.velocity_before)
    message.velocity_after = types.doubles(impact.velocity_after)
    message.mode_may_change = impact.mode_may_change
    for name, values in (
        ("velocity_after_covariance", impact.covariance),
        ("velocity_estimated", impact.estimated),
        ("velocity_estimated_error", impact.estimated_error),
    ):
        if values is not None:
            setattr(message, name, types.doubles(values.ravel()))
    message.contacts = [_contact_to_message(contact, types) for contact in impact.contacts]
    give(message, "object", impact.object or None)
    if impact.object:
        message.object_mass = float(impact.predicted_mass)
        write_vector(message.object_position, impact.object_position)
        write_twist(message.object_twist_before, impact.object_twist_before)
        write_twist(message.object_twist_after, impact.object_twist_after)
    message.energy_loss = float(impact.energy_loss)
    message.unique = impact.unique
    message.other_energy_losses = types.doubles(np.array(impact.other_energy_losses))
    give(message, "time_to_impact", impact.time_to_impact if impact.time_to_impact >= 0.0 else None)
    message.valid = impact.valid
    message.reason = impact.reason
    return message


def write_answer(
    response: Any, prediction: ImpactPrediction | HitPrediction, joint_names: list[str], types: MessageTypes
) -> None:
    """Write a prediction into an answer of `PredictPostImpact`, a fresh one, but for its `prediction`."""
    response.success = True
    response.joint_names = joint_names
    response.velocity_after = types.doubles(prediction.velocity_after)
    response.impulse = types.doubles(prediction.impulse)
    response.mode = MODES[prediction.mode]
    response.effective_mass = prediction.effective_mass


def _contact_to_message(contact: ContactImpulse, types: MessageTypes) -> Any:
    message = types.new(CONTACT_TYPE)
    message.frame = contact.frame
    message.obstacle = contact.obstacle
    write_vector(message.point, contact.point)
    write_vector(message.normal, contact.normal)
    write_vector(message.impulse, contact.impulse)
    if contact.impulse_covariance is not None:
        message.impulse_covariance = types.doubles(contact.impulse_covariance.ravel())
    write_vector(message.velocity_before, contact.velocity_before)
    write_vector(message.velocity_after, contact.velocity_after)
    message.friction = float(contact.friction)
    message.restitution = float(contact.restitution)
    message.effective_mass = float(contact.effective_mass)
    message.mode = MODES[contact.mode]
    return message


def impact_from_message(message: Any) -> Impact:
    """Convert a message to an impact without a check of its values; `Impact.plausible` checks them.

    A covariance or an estimate with another number of values than the joints need is left out.
    """
    n = len(message.joint_names)
    return Impact(
        source=_SOURCE_NAMES.get(int(message.source), ""),
        arm=message.arm,
        frame=message.header.frame_id,
        time=stamp_seconds(message),
        event_sequence=int(message.event_sequence),
        task_number=int(getattr(message, "task_number", 0)),  # none in recordings of earlier versions
        method=message.method,
        inertia=message.inertia if isinstance(message.inertia, str) else INERTIA_NAMES.get(message.inertia, ""),
        joint_names=tuple(message.joint_names),
        position=_array(message.position),
        velocity_before=_array(message.velocity_before),
        velocity_after=_array(message.velocity_after),
        covariance=_matrix(message.velocity_after_covariance, n),
        mode_may_change=bool(message.mode_may_change),
        estimated=_of_length(message.velocity_estimated, n),
        estimated_error=_of_length(message.velocity_estimated_error, n),
        contacts=tuple(_contact_from_message(contact) for contact in message.contacts),
        object=given(message, "object", ""),
        predicted_mass=float(getattr(message, "object_mass", 0.0)),  # nor this
        object_position=vector(message.object_position),
        object_twist_before=twist(message.object_twist_before),
        object_twist_after=twist(message.object_twist_after),
        energy_loss=float(message.energy_loss),
        unique=bool(getattr(message, "unique", True)),  # nor these
        other_energy_losses=tuple(float(loss) for loss in getattr(message, "other_energy_losses", ())),
        time_to_impact=float(given(message, "time_to_impact", -1.0)),
        valid=bool(message.valid),
        reason=message.reason,
    )


def drawable_impact(message: Any) -> Impact | None:
    """An impact to be drawn; None where it is not valid, has no contact, answers a client, or is not plausible."""
    if _SOURCE_NAMES.get(int(message.source)) not in DRAWN or not message.valid or not len(message.contacts):
        return None
    impact = impact_from_message(message)
    return impact if impact.plausible else None


def predicted_impact(
    prediction: ImpactPrediction | HitPrediction,
    *,
    object_name: str = "",
    uncertain: UncertainPrediction[Any] | None = None,
    time_to_impact: float = -1.0,
    **about: Any,
) -> Impact:
    """The outcome of an impact map as an `Impact`, with its first-order spread where that is known.

    `about` are fields of the `Impact` that no map knows: source, time and position, arm, frame, joints and numbers.
    """
    contact, obstacle, twist_after = prediction.contact, prediction.obstacle, prediction.object_twist_after
    if obstacle is not None and twist_after is not None:
        about |= {
            "object": object_name,
            "predicted_mass": obstacle.mass,
            "object_position": obstacle.position,
            "object_twist_before": obstacle.twist,
            "object_twist_after": twist_after,
        }
    record = ContactImpulse(
        frame=contact.frame,
        obstacle=object_name if obstacle is not None else "",
        point=prediction.point,
        normal=contact.normal,
        impulse=prediction.impulse,
        impulse_covariance=None if uncertain is None else uncertain.impulse_covariance,
        velocity_before=prediction.contact_velocity_before,
        velocity_after=prediction.contact_velocity_after,
        friction=contact.friction,
        restitution=contact.restitution,
        effective_mass=prediction.effective_mass,
        mode=prediction.mode,
    )
    return Impact(
        method=prediction.method,
        inertia=prediction.inertia,
        velocity_before=prediction.velocity_before,
        velocity_after=prediction.velocity_after,
        covariance=None if uncertain is None else uncertain.velocity_after_covariance,
        mode_may_change=uncertain is not None and bool(uncertain.mode_may_change),
        contacts=(record,),
        energy_loss=prediction.energy_loss,
        unique=prediction.unique,
        other_energy_losses=prediction.other_energy_losses,
        time_to_impact=time_to_impact,
        **about,
    )


def expected_jump(impact: Impact, order: JointOrder) -> ExpectedJump | None:
    """Return the predicted jump in that joint order; None where the prediction has no usable one."""
    count = len(order.joint_names)
    before, after = np.zeros(count), np.zeros(count)
    if not impact.valid or not order.locate(impact.joint_names):
        return None
    if not (order.pick(impact.velocity_before, before) and order.pick(impact.velocity_after, after)):
        return None
    jump = after - before
    if not jump.any():
        return None
    std = np.zeros(count)
    if impact.covariance is not None and not order.pick(np.sqrt(np.maximum(impact.covariance.diagonal(), 0.0)), std):
        std[:] = 0.0
    normal = impact.contacts[0].normal if impact.contacts else None
    return ExpectedJump(
        time=impact.time + max(impact.time_to_impact, 0.0),
        jump=jump,
        std=std if std.any() else None,
        normal=normal if normal is not None and np.isfinite(normal).all() and normal.any() else None,
        sequence=impact.event_sequence,
    )


def _contact_from_message(message: Any) -> ContactImpulse:
    return ContactImpulse(
        frame=message.frame,
        obstacle=message.obstacle,
        point=vector(message.point),
        normal=vector(message.normal),
        impulse=vector(message.impulse),
        impulse_covariance=_matrix(message.impulse_covariance, 3),
        velocity_before=vector(message.velocity_before),
        velocity_after=vector(message.velocity_after),
        friction=float(message.friction),
        restitution=float(message.restitution),
        effective_mass=float(message.effective_mass),
        mode=_MODE_NAMES.get(int(message.mode), ""),
    )


def _array(values: Any) -> Array:
    return np.array(values, dtype=np.float64)


def _of_length(values: Any, n: int) -> Array | None:
    return _array(values) if len(values) == n > 0 else None


def _matrix(values: Any, n: int) -> Array | None:
    return _array(values).reshape(n, n) if n and len(values) == n * n else None
