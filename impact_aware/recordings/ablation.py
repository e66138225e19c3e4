"""What inertia and friction do for the prediction: Tables II and III of Rey Arias 2024, for any recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.metrics import absolute_error, jump_relative_error
from impact_aware.impact.predictor import predict
from impact_aware.recordings.ablation_results import AblationGroup, AblationRow
from impact_aware.recordings.results import AnalyzedImpact, ArmAnalysis
from impact_aware.recordings.verdict import Reference
from impact_aware.robot import INERTIA_CHOICES, RobotModel


def ablate(robot: RobotModel, impact: AnalyzedImpact) -> tuple[AblationRow, ...]:
    """Predict one impact with every inertia that is known, with and without friction; none without a reference."""
    made, reference = impact.prediction, impact.reference
    if made is None or reference is None:
        return ()
    q, before = impact.position, impact.velocity_before
    rows = []
    for inertia in known_inertias(robot):
        for friction in dict.fromkeys((made.contact.friction, 0.0)):
            contact = replace(made.contact, friction=friction)
            predicted = predict(
                robot, q, before, contact, obstacle=made.obstacle, method=made.method, inertia=inertia
            ).velocity_after
            rows.append(ablation_row(inertia, friction, predicted, reference))
    return tuple(rows)


def ablation_row(inertia: str, friction: float, predicted: Array, reference: Reference) -> AblationRow:
    """A prediction (n,), rad/s, compared with what happened."""
    errors = absolute_error(predicted, reference.after)
    return AblationRow(
        inertia=inertia,
        friction=friction,
        velocity_after=predicted,
        joint_error=errors,
        error=float(np.linalg.norm(errors)),
        relative_error=jump_relative_error(predicted, reference.after, reference.before),
    )


def known_inertias(robot: RobotModel) -> tuple[str, ...]:
    """Those of `INERTIA_CHOICES` for which the robot has figures."""
    known = {
        "M": True,
        "M+B_theta": bool(np.any(robot.apparent_motor_inertia)),
        "M+B_rho": robot.motor_inertia is not None,
    }
    return tuple(inertia for inertia in INERTIA_CHOICES if known[inertia])


def group(arms: Sequence[ArmAnalysis]) -> tuple[AblationGroup, ...]:
    """Mean and largest errors of all impacts with the same label, robot, inertia and friction."""
    members: dict[tuple[str, str, str, float], list[tuple[AnalyzedImpact, AblationRow]]] = {}
    for arm in arms:
        for impact in arm.impacts:
            for row in impact.ablation:
                key = (impact.label or impact.file.name, arm.robot, row.inertia, row.friction)
                members.setdefault(key, []).append((impact, row))
    groups = []
    for (label, robot, inertia, friction), pairs in members.items():
        # Two arms of the same kind have other joint names; what counts is which joint it is.
        errors = np.array([row.joint_error for _, row in pairs])
        norms = np.array([row.error for _, row in pairs])
        afters = [found.after for impact, _ in pairs if (found := impact.reference) is not None]
        groups.append(
            AblationGroup(
                label=label,
                robot=robot,
                joint_names=pairs[0][0].joint_names,
                inertia=inertia,
                friction=friction,
                count=len(pairs),
                joint_error_mean=errors.mean(axis=0),
                joint_error_max=errors.max(axis=0),
                error_mean=float(norms.mean()),
                error_max=float(norms.max()),
                velocity_before_mean=np.mean([impact.velocity_before for impact, _ in pairs], axis=0),
                velocity_after_mean=np.mean(afters, axis=0),
            )
        )
    return tuple(groups)
