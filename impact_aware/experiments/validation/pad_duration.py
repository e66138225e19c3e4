"""How far the impact map, which takes no time, is off an impact that takes some: softer and harder pads."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.experiments.episode import EpisodeResult, EpisodeSettings, Truth, run_episode
from impact_aware.experiments.validation.check import Check, Source, ValidationContext
from impact_aware.robot import RobotModel
from impact_aware.simulation.impact_truth import ImpactTruth
from impact_aware.task import load_task, make_field
from impact_aware.task.grasp import predict_grasp_impact

_TASK, _INERTIA = "hit_and_push_palm", "M+B_theta"
_PADS = {0.008: 0.13, 0.004: 0.07, 0.002: 0.045}
"""Time constant of the pad, s, and the bound on the error: a quarter more than was found, and rounded up."""
_SMOOTH = {0.008: 0.12, 0.004: 0.06, 0.002: 0.035}
"""Bound, found likewise, where the map starts with what torques and gravity add to the arm's velocity meanwhile."""
# Also from what was found.
_LIMIT = 0.02
_OURS = Source(
    "van Steen 2024 III-B1",
    "aim",
    f"config/tasks/{_TASK}.yaml, rigid joints; from the true state at the first touch to the end of compression, all "
    "corners of palm and of the box's base at once; the shipped pad has 4 ms; bounds from what was "
    "found, a quarter above it",
)


def pad_duration(context: ValidationContext) -> list[Check]:
    """Error of the joints' jump over the duration of the compression, and where it tends to without duration."""
    task = load_task(_TASK)
    robots = [RobotModel.from_profile(arm.robot) for arm in task.arms]
    field, checks, found = make_field(task, robots), [], []
    for softness, bound in _PADS.items():
        # The impact comes after 0.72 s.
        settings = EpisodeSettings(detector="fusion", duration=0.76, truth=Truth(tool_softness=softness))
        result = run_episode(task, settings, robots=robots)
        impact = result.first_impact
        if impact is None:
            found.append((np.nan, np.nan))
            continue
        before = impact.velocity_before, impact.velocity_before + _meanwhile(result, impact, robots[0])
        predicted = [predict_grasp_impact(task, robots, field, [impact.q], [dq], inertia=_INERTIA) for dq in before]
        after = [prediction.velocity_after[task.arms[0].name] for prediction in predicted]
        error, smooth = np.linalg.norm(np.array(after) - impact.velocity_after, axis=1) / np.linalg.norm(impact.jump)
        found.append((1e3 * impact.duration, error))
        quantity = f"error of the jump, pad of {1e3 * softness:.0f} ms, compression of {1e3 * impact.duration:.1f} ms"
        checks.append(_OURS.at_most(quantity, bound, error))
        quantity = f"the same with what torques and gravity add meanwhile, pad of {1e3 * softness:.0f} ms"
        checks.append(_OURS.at_most(quantity, _SMOOTH[softness], smooth))
    durations, errors = np.array(found).T
    at_once = float(np.polyfit(durations, errors, 1)[1]) if np.isfinite(errors).all() else np.nan
    return [*checks, _OURS.at_most("the same without duration, by a straight line, absolute", _LIMIT, abs(at_once))]


def _meanwhile(result: EpisodeResult, impact: ImpactTruth, robot: RobotModel) -> Array:
    """What the torques add to the joint velocities (n,) from the first touch to the end of compression, rad/s.

    With pads q' = (P(q) - q) / tau + a: what the smooth acceleration a of the free arm adds goes through the map, too,
    as contact lets it act only where the palm may move.
    """
    added = np.zeros(robot.n)
    for k in range(len(result.time) - 1):
        lasting = min(result.time[k + 1], impact.time_after) - max(result.time[k], impact.time)
        if lasting > 0.0:
            q, dq = result.q[k], result.dq[k]
            bias = pin.rnea(robot.model, robot.model.createData(), q, dq, np.zeros(robot.n))
            added += lasting * np.linalg.solve(robot.mass_matrix(q, _INERTIA), result.effort[k] - bias)
    return added
