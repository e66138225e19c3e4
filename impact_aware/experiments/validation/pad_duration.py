"""How far the impact map, which takes no time, is off an impact that takes some: softer and harder pads."""

from __future__ import annotations

import numpy as np

from impact_aware.experiments.episode import EpisodeSettings, Truth, run_episode
from impact_aware.experiments.validation.check import Check, Source
from impact_aware.experiments.validation.context import ValidationContext
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field
from impact_aware.task.grasp import predict_grasp_impact

_TASK, _INERTIA = "hit_and_push_palm", "M+B_theta"
_PADS = {0.008: 0.13, 0.004: 0.07, 0.002: 0.045}
"""Time constant of the pad, s, and the bound on the error: a quarter more than was found, and rounded up."""
_LIMIT = 0.02
_OURS = Source(
    "van Steen 2024 III-B1",
    "aim",
    f"config/tasks/{_TASK}.yaml, rigid joints; from the true state at the first touch to the end of compression, all "
    "corners of palm and of the box's base at once; the shipped pad has 4 ms",
)


def pad_duration(context: ValidationContext) -> list[Check]:
    """Error of the joints' jump over the duration of the compression, and where it tends to without duration."""
    task = load_task(_TASK)
    robots = [RobotModel.from_profile(arm.robot) for arm in task.arms]
    field, checks, found = make_field(task, robots), [], []
    for softness, bound in _PADS.items():
        # The impact comes after 0.72 s.
        settings = EpisodeSettings(detector="fusion", duration=0.76, truth=Truth(tool_softness=softness))
        impact = run_episode(task, settings, robots=robots).first_impact
        if impact is None:
            found.append((np.nan, np.nan))
            continue
        state = [impact.q], [impact.velocity_before]
        after = predict_grasp_impact(task, robots, field, *state, inertia=_INERTIA).velocity_after[task.arms[0].name]
        error = float(np.linalg.norm(after - impact.velocity_after) / np.linalg.norm(impact.jump))
        found.append((1e3 * impact.duration, error))
        quantity = f"error of the jump, pad of {1e3 * softness:.0f} ms, compression of {1e3 * impact.duration:.1f} ms"
        checks.append(_OURS.at_most(quantity, bound, error))
    durations, errors = np.array(found).T
    at_once = float(np.polyfit(durations, errors, 1)[1]) if np.isfinite(errors).all() else np.nan
    return [*checks, _OURS.at_most("the same without duration, by a straight line, absolute", _LIMIT, abs(at_once))]
