"""Tasks of the controllers at acceleration level: each is a Jacobian, a target and a weight (van Steen 2024, IV)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control.arm import ControlledArm
from impact_aware.control.command import Mode
from impact_aware.control.parameters import ControlParameters
from impact_aware.control.qp import AccelerationTask
from impact_aware.control.tracking import TrackingReference
from impact_aware.reference.kernels import smoothstep


def mirrored(vector: Array, normal: Array) -> Array:
    """T_s v with T_s = I - 2 n n^T (24): a vector (3,) seen in the mirror whose normal is n (3,)."""
    return np.asarray(vector - (2.0 * float(normal @ vector)) * normal)


def synchronisation_tasks(
    arms: tuple[ControlledArm, ControlledArm],
    object_position: Array,
    normal: Array,
    stiffness: float,
    weight: float,
    object_velocity: Array,
) -> tuple[AccelerationTask, AccelerationTask]:
    """Draw each of two tools towards the mirror image of the other one (22)-(26).

    The targets of both tools are mirror images, so they are computed once. The weight is
    scaled with the distance to the image, as in (27), so the tasks fade as the arms agree.

    Args:
        arms: Both arms.
        object_position: (3,) Estimated object centre, a point of the mirror, m.
        normal: (3,) Unit normal of the object's faces, and of the mirror.
        stiffness: k_sync, 1/s^2.
        weight: w_sync, 1/m.
        object_velocity: (3,) With which the mirror moves, m/s.
    """
    first, second = arms
    gap = object_position + mirrored(second.position - object_position, normal) - first.position
    closing = object_velocity + mirrored(second.twist[:3] - object_velocity, normal) - first.twist[:3]
    wanted = stiffness * gap + (2.0 * math.sqrt(stiffness)) * closing
    scaled = weight * math.sqrt(float(gap @ gap))
    return (
        AccelerationTask(first.jacobian[:3], wanted - first.drift[:3], scaled, first.joints),
        AccelerationTask(second.jacobian[:3], -mirrored(wanted, normal) - second.drift[:3], scaled, second.joints),
    )


def field_tasks(
    reference: TrackingReference,
    arms: Sequence[ControlledArm],
    settings: ControlParameters,
    mode: Mode,
    state: tuple[Array, Array],
    elapsed: float,
    start_posture: Array,
) -> list[AccelerationTask]:
    """Tracking and null space of every arm, and the synchronisation of two before the impact.

    Tracking (19), (33), (37) is J ddq + J' dq = a_t. One joint is held by (21), and by (36) with its damping scaled by
    gamma.

    Args:
        reference: After its `advance` of this cycle.
        arms: At the present state.
        settings: Gains.
        mode: ANTE, INTERIM or POST.
        state: Joint positions (n,) and velocities (n,) of all arms, rad and rad/s.
        elapsed: Time since the start of the motion, s.
        start_posture: (n,) Joint positions at the start, rad.
    """
    (q, dq), tasks = state, []
    # What is wanted begins with the field: a step of the acceleration at the start would look like an impact.
    begun = smoothstep(elapsed, 0.0, reference.field.start_ramp)[0] if mode is Mode.ANTE else 1.0
    for index, (arm, own) in enumerate(zip(arms, reference.field.arms, strict=True)):
        target = reference.target_acceleration[index] - arm.drift
        tasks.append(AccelerationTask(arm.jacobian, target, settings.track_weight, arm.joints))
        joint = own.null_space_joint
        if joint >= 0:
            damping = reference.blend if mode is Mode.INTERIM else 1.0
            stiffness, weight = settings.null_space_stiffness, settings.null_space_weight
            column = arm.joints.start + joint
            start = start_posture[column]
            # What an impact left is zero before it.
            away, rate, feedforward = reference.settling.left[index, :, 3].tolist()
            wanted = start + begun * (own.null_space_position - start) + away
            spring = stiffness * (wanted - q[column])
            target = feedforward + spring - 2.0 * damping * math.sqrt(stiffness) * (dq[column] - rate)
            tasks.append(AccelerationTask(arm.joint_rows[joint : joint + 1], np.array([target]), weight, arm.joints))
    if mode is Mode.ANTE and len(arms) == 2:
        first, second = arms
        normal, centre = reference.field.arms[0].normal, reference.object_position
        weight = settings.sync_weight * begun
        moving_object = begun * reference.field.object_velocity
        tasks += synchronisation_tasks((first, second), centre, normal, settings.sync_stiffness, weight, moving_object)
    return tasks
