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


PLAIN = (
    "event_sequence", "task_number", "arm", "method", "mode_may_change", "energy_loss", "unique", "valid", "reason",
)  # fmt: skip
"""Numbers, texts and flags of an impact that the message has under the same names."""

JOINTS = ("position", "velocity_before", "velocity_after")

SPREADS = {
    "velocity_after_covariance": "covariance", "velocity_estimated": "estimated",
    "velocity_estimated_error": "estimated_error",
}  # fmt: skip
"""Arrays that need not be given: their names in the message, and here."""

CONTACT_PLAIN = ("frame", "obstacle", "friction", "restitution", "effective_mass")
CONTACT_VECTORS = ("point", "normal", "impulse", "velocity_before", "velocity_after")


def impact_to_message(impact: Impact, types: MessageTypes) -> Any:
    """Library to message."""
    message = types.new(TYPE)
    write_stamp(message.header.stamp, impact.time)
    message.header.frame_id = impact.frame
    message.source = SOURCES[impact.source]
    message.inertia = INERTIAS[impact.inertia]
    message.joint_names = list(impact.joint_names)
    _write_plain(message, impact, PLAIN)
    for name in JOINTS:
        setattr(message, name, types.doubles(getattr(impact, name)))
    for name, own in SPREADS.items():
        if (values := getattr(impact, own)) is not None:
            setattr(message, name, types.doubles(values.ravel()))
    message.contacts = [_contact_to_message(contact, types) for contact in impact.contacts]
    give(message, "object", impact.object or None)
    if impact.object:
        message.object_mass = float(impact.predicted_mass)
        write_vector(message.object_position, impact.object_position)
        write_twist(message.object_twist_before, impact.object_twist_before)
        write_twist(message.object_twist_after, impact.object_twist_after)
    message.other_energy_losses = types.doubles(np.array(impact.other_energy_losses))
    give(message, "time_to_impact", impact.time_to_impact if impact.time_to_impact >= 0.0 else None)
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


def _write_plain(message: Any, record: Impact | ContactImpulse, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(record, name)
        setattr(message, name, value.item() if isinstance(value, np.generic) else value)


def _contact_to_message(contact: ContactImpulse, types: MessageTypes) -> Any:
    message = types.new(CONTACT_TYPE)
    _write_plain(message, contact, CONTACT_PLAIN)
    for name in CONTACT_VECTORS:
        write_vector(getattr(message, name), getattr(contact, name))
    if contact.impulse_covariance is not None:
        message.impulse_covariance = types.doubles(contact.impulse_covariance.ravel())
    message.mode = MODES[contact.mode]
    return message


def impact_from_message(message: Any) -> Impact:
    """Convert a message to an impact without a check of its values; `Impact.plausible` checks them.

    A covariance or an estimate with another number of values than the joints need is left out.
    """
    n = len(message.joint_names)
    # Recordings of earlier versions lack some: the record's defaults stand in.
    values = {name: getattr(message, name) for name in PLAIN if hasattr(message, name)}
    values |= {name: _array(getattr(message, name)) for name in JOINTS}
    return Impact(
        **values,
        source=_SOURCE_NAMES.get(int(message.source), ""),
        frame=message.header.frame_id,
        time=stamp_seconds(message),
        inertia=message.inertia if isinstance(message.inertia, str) else INERTIA_NAMES.get(message.inertia, ""),
        joint_names=tuple(message.joint_names),
        covariance=_matrix(message.velocity_after_covariance, n),
        estimated=_of_length(message.velocity_estimated, n),
        estimated_error=_of_length(message.velocity_estimated_error, n),
        contacts=tuple(_contact_from_message(contact) for contact in message.contacts),
        object=given(message, "object", ""),
        predicted_mass=float(getattr(message, "object_mass", 0.0)),
        object_position=vector(message.object_position),
        object_twist_before=twist(message.object_twist_before),
        object_twist_after=twist(message.object_twist_after),
        other_energy_losses=tuple(getattr(message, "other_energy_losses", ())),
        time_to_impact=float(given(message, "time_to_impact", -1.0)),
    )


def drawable_impact(message: Any) -> Impact | None:
    """An impact to be drawn; None where it is not valid, has no contact, answers a client, or is not plausible."""
    if _SOURCE_NAMES.get(int(message.source)) not in DRAWN or not message.valid or not len(message.contacts):
        return None
    impact = impact_from_message(message)
    return impact if impact.plausible else None


_OF_MAP = (
    "method", "inertia", "velocity_before", "velocity_after", "energy_loss", "unique", "other_energy_losses",
)  # fmt: skip


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
        normal=contact.normal,
        impulse_covariance=None if uncertain is None else uncertain.impulse_covariance,
        velocity_before=prediction.contact_velocity_before,
        velocity_after=prediction.contact_velocity_after,
        friction=contact.friction,
        restitution=contact.restitution,
        **{name: getattr(prediction, name) for name in ("point", "impulse", "effective_mass", "mode")},
    )
    return Impact(
        covariance=None if uncertain is None else uncertain.velocity_after_covariance,
        mode_may_change=uncertain is not None and bool(uncertain.mode_may_change),
        contacts=(record,),
        time_to_impact=time_to_impact,
        **{name: getattr(prediction, name) for name in _OF_MAP},
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
    values = {name: getattr(message, name) for name in CONTACT_PLAIN}
    values |= {name: vector(getattr(message, name)) for name in CONTACT_VECTORS}
    return ContactImpulse(
        **values,
        impulse_covariance=_matrix(message.impulse_covariance, 3),
        mode=_MODE_NAMES.get(int(message.mode), ""),
    )


def _array(values: Any) -> Array:
    return np.array(values, dtype=np.float64)


def _of_length(values: Any, n: int) -> Array | None:
    return _array(values) if len(values) == n > 0 else None


def _matrix(values: Any, n: int) -> Array | None:
    return _array(values).reshape(n, n) if n and len(values) == n * n else None
