"""What a campaign keeps of a run: whether it did its task, what kept it from that, and its figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.control import Mode
from impact_aware.experiments.episode_result import EpisodeResult
from impact_aware.task.task import GOAL_RADIUS, LARGEST_SLIP, LIFTED_GOAL_RADIUS, LIFTED_SHARE

_SWING_CYCLES = 10

CAUSES = {
    "start refused": "the task was refused before any motion: out of reach, a speed over a limit, a collision",
    "link touched first": "a link met object, table or other arm before the tool met the object: which, and what",
    "safe mode": "the controller went to its safe mode, for the reason given",
    "object missed": "no tool touched the object",
    "face missed": "the first touch was not on the face that should be hit",
    "one arm missed": "only one of two tools touched the object",
    "impact not detected": "the detector did not see the impact",
    "detected before the impact": "the controller acted upon an impact before there was one",
    "object toppled": "the object ended leaning by more than 30 degrees from how it stood",
    "object turned away": "the object slid off to the side of the tool and turned by more than 30 degrees",
    "object not lifted": "the object never got to half of the wanted height",
    "object dropped": "the object fell after it had been lifted",
    "object slipped": "a palm slid more than 10 mm on the object",
    "out of time": "the object was on its way and would have come to its goal",
    "goal missed": "the object came to rest too far from its goal, or would have",
    "error": "the run itself failed",
}
"""Classes of causes and what they mean; a cause is its class, with details after a colon."""

_TOOL_FIRST = ("", "tool on object", "tool on table")
_LARGEST_TILT = 30.0
_FACE_ALIGNMENT = np.cos(np.radians(45.0))


def judge(result: EpisodeResult) -> tuple[bool, str]:
    """Whether the task was done, and what kept it from being done otherwise.

    A pushed object has to end within 2 cm of its goal. A lifted one has to be held at its goal within 5 cm, with both
    palms sliding less than 1 cm on it.
    """
    if result.first_contact not in _TOOL_FIRST:
        return False, f"link touched first: {result.first_contact}"
    if result.safe_reason is not None:
        return False, f"safe mode: {result.safe_reason}"
    impact = result.first_impact
    if impact is None:
        # An arm that believes it has hit goes on as if the object moved with it.
        deceived = result.false_detections and np.any(result.mode >= Mode.INTERIM)
        return False, "object missed: an impact was detected before" if deceived else "object missed"
    names = [arm.name or "arm" for arm in result.task.arms]
    if impact.normal @ result.field.arms[names.index(impact.arm)].normal < _FACE_ALIGNMENT:
        return False, "face missed"
    if not np.any(result.mode >= Mode.INTERIM):
        return False, "one arm missed" if not result.hit_arms.all() else "impact not detected"
    if np.any(result.mode[result.time < impact.time] >= Mode.INTERIM):
        return False, "detected before the impact"
    final = result.object_rotation[-1] @ result.object_rotation[0].T
    if np.degrees(np.arccos(np.clip(final[2, 2], -1.0, 1.0))) > _LARGEST_TILT:
        return False, "object toppled"
    if result.task.lifts:
        return _judge_lift(result)
    if result.goal_error > GOAL_RADIUS:
        if abs(np.degrees(np.arctan2(final[1, 0], final[0, 0]))) > _LARGEST_TILT:
            return False, "object turned away"
        return False, _short_of_goal(result, result.goal_error - GOAL_RADIUS)
    return True, ""


def _judge_lift(result: EpisodeResult) -> tuple[bool, str]:
    if not result.hit_arms.all():
        return False, "one arm missed"
    lift = result.object_position[:, 2] - result.object_position[0, 2]
    wanted = result.task.goal[2] - result.task.object.position[2]
    if lift.max() < LIFTED_SHARE * wanted:
        return False, "object not lifted"
    if lift[-1] < LIFTED_SHARE * lift.max():
        return False, "object dropped"
    if not result.slip < LARGEST_SLIP:
        return False, "object slipped"
    error = float(np.linalg.norm(result.object_position[-1] - np.array(result.task.goal)))
    if error > LIFTED_GOAL_RADIUS:
        return False, _short_of_goal(result, error - LIFTED_GOAL_RADIUS)
    return True, ""


def _short_of_goal(result: EpisodeResult, missing: float) -> str:
    """Whether the object, its speed fading with kappa_p as in (14), still moves by what is missing, m."""
    speed = float(np.linalg.norm(result.object_twist[-1, :3]))
    return "out of time" if speed / result.field.post_gain >= missing else "goal missed"


@dataclass(frozen=True)
class RunFigures:
    """What a row keeps of a run; NaN where a figure has no meaning.

    Attributes:
        success: Whether the task was done.
        cause: What kept it from being done, see `CAUSES`; empty for a success.
        peak: Largest norm of the target acceleration, all six components as a_t of van Steen 2024 has, averaged over
            the arms, m/s^2 and rad/s^2.
        peak_linear: That of its linear part, m/s^2.
        peak_after: `peak` from the first detection on.
        peak_linear_after: `peak_linear` from the first detection on.
        torque_jump: Largest change of a commanded torque at a mode switch over the joint's torque range, from the cycle
            before to the first one in the new mode.
        torque_swing: Largest such change to any of the first ten cycles, over which the limit on the torque rate
            spreads a larger jump.
        goal_error_m: Horizontal distance of the object from its goal at the end, m.
        slip_m: Of a tool along its face, see `EpisodeResult.slip`, m.
        time_to_track_s: See `EpisodeResult.time_to_track`, s.
        detection_delay_s: From the first true impact to its detection, s.
        false_detections: See `EpisodeResult.false_detections`.
        prediction_error: Of the joint velocity, over the norm of the true jump.
        object_prediction_error: Of the object's velocity that was used, with what its weight adds, against the true one
            when the last arm's compression was over, m/s.
        object_prediction_share: That error over the norm of the true velocity.
        object_prediction_closing: That error over the fastest speed at which an arm first met the object.
        object_prediction_difference: Of the velocity used from the direct prediction, m/s.
        off_centre_m: See `EpisodeResult.off_centre`, m.
        arms_apart_s: From the first arm's to the last arm's first touch, s.
        impact_speed: Normal relative speed at the first touch, m/s.
        object_speed_after: Of the object after the first impact, m/s.
        first_contact: See `EpisodeResult.first_contact`.
        duration_s: Simulated time, s.
    """

    success: bool
    cause: str
    peak: float
    peak_linear: float
    peak_after: float
    peak_linear_after: float
    torque_jump: float
    torque_swing: float
    goal_error_m: float
    slip_m: float
    time_to_track_s: float
    detection_delay_s: float
    false_detections: int
    prediction_error: float
    object_prediction_error: float
    object_prediction_share: float
    object_prediction_closing: float
    object_prediction_difference: float
    off_centre_m: float
    arms_apart_s: float
    impact_speed: float
    object_speed_after: float
    first_contact: str
    duration_s: float


def figures_of(result: EpisodeResult, effort_limits: ArrayLike) -> RunFigures:
    """The figures of a run; `effort_limits` (n,) are those of the joints of all arms, N m."""
    norms = np.linalg.norm(result.target_acceleration, axis=2)
    linear = np.linalg.norm(result.target_acceleration[:, :, :3], axis=2)
    after = result.mode >= Mode.INTERIM
    jump, swing = _torque_jumps(result, 2.0 * np.asarray(effort_limits, dtype=float))
    impact = result.first_impact
    success, cause = judge(result)
    used, direct = result.object_velocity_predicted
    true = result.object_velocity_after
    return RunFigures(
        success=success,
        cause=cause,
        peak=float(norms.max(axis=0).mean()),
        peak_linear=float(linear.max(axis=0).mean()),
        peak_after=float(norms[after].max(axis=0).mean()) if after.any() else float("nan"),
        peak_linear_after=float(linear[after].max(axis=0).mean()) if after.any() else float("nan"),
        torque_jump=jump,
        torque_swing=swing,
        goal_error_m=result.goal_error,
        slip_m=result.slip,
        time_to_track_s=result.time_to_track,
        detection_delay_s=result.detection_delay,
        false_detections=result.false_detections,
        prediction_error=result.prediction_error,
        object_prediction_error=float(np.linalg.norm(used - true)),
        object_prediction_share=float(np.linalg.norm(used - true)) / max(float(np.linalg.norm(true)), 1e-6),
        object_prediction_closing=float(np.linalg.norm(used - true)) / max(result.closing_speed, 1e-6),
        object_prediction_difference=float(np.linalg.norm(used - direct)),
        off_centre_m=result.off_centre,
        arms_apart_s=result.arms_apart,
        impact_speed=float("nan") if impact is None else impact.approach_speed,
        object_speed_after=float("nan") if impact is None else float(np.linalg.norm(impact.object_twist_after[:3])),
        first_contact=result.first_contact,
        duration_s=float(result.time[-1]),
    )


def _torque_jumps(result: EpisodeResult, span: np.ndarray) -> tuple[float, float]:
    """Largest change of a commanded torque at a mode switch over its range, in one cycle and within ten."""
    switches = np.flatnonzero(np.diff(result.mode)) + 1
    if not switches.size:
        return float("nan"), float("nan")
    changes = [np.abs(result.effort[k : k + _SWING_CYCLES] - result.effort[k - 1]) / span for k in switches]
    return max(float(change[0].max()) for change in changes), max(float(change.max()) for change in changes)
