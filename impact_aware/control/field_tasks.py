"""The tasks of one cycle along a field (van Steen 2024, section IV)."""

from __future__ import annotations

from collections.abc import Sequence

from impact_aware.arrays import Array
from impact_aware.control.arm import ControlledArm
from impact_aware.control.command import Mode
from impact_aware.control.parameters import ControlParameters
from impact_aware.control.tasks import AccelerationTask, null_space_task, synchronisation_tasks, tracking_task
from impact_aware.control.tracking import TrackingReference
from impact_aware.reference.kernels import smoothstep


def field_tasks(
    reference: TrackingReference,
    arms: Sequence[ControlledArm],
    settings: ControlParameters,
    mode: Mode,
    state: tuple[Array, Array],
    start_time: float,
    elapsed: float,
    start_posture: Array,
) -> list[AccelerationTask]:
    """Tracking and null space of every arm, and the synchronisation of two before the impact.

    Args:
        reference: After its `advance` of this cycle.
        arms: At the present state.
        settings: Gains.
        mode: ANTE, INTERIM or POST.
        state: Joint positions (n,) and velocities (n,) of all arms, rad and rad/s.
        start_time: Of the motion, s.
        elapsed: Time since then, s.
        start_posture: (n,) Joint positions at the start, rad.
    """
    (q, dq), tasks = state, []
    # What is wanted begins with the field: a step of the acceleration at the start would look like an impact.
    begun = smoothstep(elapsed, 0.0, reference.field.start_ramp)[0] if mode is Mode.ANTE else 1.0
    for index, (arm, own) in enumerate(zip(arms, reference.field.arms, strict=True)):
        tasks.append(tracking_task(arm, reference.target_acceleration[index], settings.track_weight))
        joint = own.null_space_joint
        if joint >= 0:
            damping = reference.blend if mode is Mode.INTERIM else 1.0
            stiffness, weight = settings.null_space_stiffness, settings.null_space_weight
            column = arm.joints.start + joint
            start = start_posture[column]
            # What an impact left is zero before it.
            away, rate, feedforward = reference.settling.left[index, :, 3].tolist()
            wanted = start + begun * (own.null_space_position - start) + away
            moving = q[column], dq[column] - rate
            tasks.append(null_space_task(arm, joint, wanted, *moving, stiffness, damping, weight, feedforward))
    if mode is Mode.ANTE and len(arms) == 2:
        first, second = arms
        normal, centre = reference.field.arms[0].normal, reference.object_position
        weight = settings.sync_weight * begun
        moving_object = begun * reference.field.velocity_at(start_time + elapsed)
        tasks += synchronisation_tasks((first, second), centre, normal, settings.sync_stiffness, weight, moving_object)
    return tasks
