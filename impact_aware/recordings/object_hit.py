"""Estimates from the object's track at one hit: its velocity after, rotation, restitution and momentum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import point_jacobian
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.object_motion import ObjectMotion, ObjectTrack, object_motion
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.records import VelocityEstimate

TOGETHER = 0.2
"""Share of the joints' errors after a hit that goes along with each other: what is taken for its end, or for one touch
of several, moves all of them."""

SLOWEST = 0.05
"""Approach speed from which a restitution means something, m/s."""


@dataclass(frozen=True, eq=False)
class ObjectHit:
    """One hit as the object's track shows it; base frame.

    Attributes:
        motion: The fit to the track.
        clock_offset: Onset on the track's clock minus time of the impact on the arm's, s.
        restitution: Separation over approach speed of the touched points along the normal, the arm's by its estimate;
            None without a normal or an approach.
        restitution_error: Its standard error.
        momentum: (3,) Gained by the object, N s; None where its mass is not known.
        momentum_error: (3,) Its standard error.
        impulse_lost: (3,) By the arm, as its joints' jump shows it, N s; None without an estimate.
        impulse_lost_error: (3,) Its standard error, that of the arm's inertia not counted.
        mass_shown: Mass with which the object's gain along the normal would be the arm's loss, kg; None where one of
            them is not known or the object hardly moved.
        mass_shown_error: Its standard error, that of the arm's inertia not counted.
    """

    motion: ObjectMotion
    clock_offset: float
    restitution: float | None = None
    restitution_error: float | None = None
    momentum: Array | None = None
    momentum_error: Array | None = None
    impulse_lost: Array | None = None
    impulse_lost_error: Array | None = None
    mass_shown: float | None = None
    mass_shown_error: float | None = None


def object_hit(
    track: ObjectTrack,
    time: float,
    time_error: float,
    until: float | None,
    estimate: VelocityEstimate | None,
    prediction: ImpactPrediction | None,
    mass: float | None,
    impulse_on_arm: Array | None,
    impulse_error: Array | None = None,
) -> ObjectHit | str:
    """Estimate one hit, or return a sentence why the track does not show it.

    Args:
        track: The object's track.
        time: Time of the impact, s.
        time_error: Its standard error, s.
        until: Time of the next event, s, or None.
        estimate: Velocities estimated from the joints.
        prediction: Prediction with the contact point and its normal.
        mass: Mass of the object, kg, or None.
        impulse_on_arm: (3,) Impulse from the joints' jump, N s, or None.
        impulse_error: (3,) Its standard error.
    """
    try:
        motion = object_motion(track, time, until, time_error=time_error)
    except (InvalidInputError, np.linalg.LinAlgError) as error:
        return f"the object's track does not show the effect of this hit: {error}"
    gained = motion.velocity_after - motion.velocity_before
    gained_error = np.hypot(motion.velocity_after_error, motion.velocity_before_error)
    restitution, restitution_error = _restitution(motion, estimate, prediction)
    shown, shown_error = None, None
    if prediction is not None and impulse_on_arm is not None:
        normal = -prediction.contact.normal
        speed, spread = float(gained @ normal), float(np.sqrt(normal**2 @ gained_error**2))
        if speed > 3.0 * spread and speed > 0.5 * SLOWEST:
            shown = float(-impulse_on_arm @ normal) / speed
            pushed = 0.0 if impulse_error is None else float(np.sqrt(normal**2 @ impulse_error**2))
            shown_error = float(np.hypot(shown * spread, pushed)) / speed
    return ObjectHit(
        motion=motion,
        clock_offset=motion.onset - time,
        restitution=restitution,
        restitution_error=restitution_error,
        momentum=None if mass is None else mass * gained,
        momentum_error=None if mass is None else mass * gained_error,
        impulse_lost=None if impulse_on_arm is None else -impulse_on_arm,
        impulse_lost_error=impulse_error,
        mass_shown=shown,
        mass_shown_error=shown_error,
    )


def _restitution(
    motion: ObjectMotion, estimate: VelocityEstimate | None, prediction: ImpactPrediction | None
) -> tuple[float | None, float | None]:
    """Newton's coefficient of the touched points and its standard error."""
    if estimate is None or prediction is None:
        return None, None
    normal = prediction.contact.normal
    arm = prediction.space.jacobian[0]
    lever = point_jacobian(prediction.point - motion.position)
    row = normal @ lever

    def relative(joints: Array, linear: Array, turn: Array) -> float:
        return float(arm @ joints - row @ np.concatenate((linear, np.nan_to_num(turn))))

    def spread(joints: Array, linear: Array, together: float = 0.0) -> float:
        turn = np.nan_to_num(motion.turn_error)
        of_arm = (1.0 - together) * float(arm**2 @ joints**2) + together * float(np.abs(arm) @ joints) ** 2
        return of_arm + float(row[:3] ** 2 @ linear**2 + row[3:] ** 2 @ turn**2)

    approach = -relative(estimate.velocity_before, motion.velocity_before, motion.turn_before)
    if approach < SLOWEST:
        return None, None
    separation = relative(estimate.velocity_after, motion.velocity_after, motion.turn_after)
    found = separation / approach
    # What the contact did to the joints is known less than how they move after it.
    after_error = np.maximum(estimate.standard_error, estimate.jump_error)
    variance = spread(after_error, motion.velocity_after_error, TOGETHER)
    variance += found**2 * spread(estimate.velocity_before_error, motion.velocity_before_error)
    return found, float(np.sqrt(variance)) / approach
