"""Whether a run did its task, and the class of cause that kept it from doing so."""

from __future__ import annotations

import numpy as np

from impact_aware.control import Mode
from impact_aware.experiments.episode_result import EpisodeResult
from impact_aware.task.success import GOAL_RADIUS, LARGEST_SLIP, LIFTED_GOAL_RADIUS, LIFTED_SHARE

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


def cause_class(cause: str) -> str:
    """The class, a key of `CAUSES`, of a cause; empty for none."""
    return cause.split(":")[0]


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
