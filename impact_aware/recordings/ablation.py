"""What inertia and friction do for the prediction: Tables II and III of Rey Arias 2024, for any recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject
from impact_aware.estimation.metrics import absolute_error, jump_relative_error
from impact_aware.impact.predictor import predict
from impact_aware.recordings.results import AblationGroup, AblationRow, AnalyzedImpact, ArmAnalysis
from impact_aware.robot import INERTIA_CHOICES, RobotModel


def ablate(
    robot: RobotModel,
    q: Array,
    velocity_before: Array,
    estimated: Array,
    contact: Contact,
    obstacle: FreeObject | None,
    method: str,
) -> tuple[AblationRow, ...]:
    """Predict one impact with every inertia that is known, with and without friction.

    Args:
        robot: The arm.
        q: (n,) rad.
        velocity_before: (n,) rad/s.
        estimated: (n,) Velocity after, as recorded, rad/s.
        contact: Where it touched.
        obstacle: The free object, or None for a fixed surface.
        method: Impact map.
    """
    rows = []
    frictions = (contact.friction, 0.0) if contact.friction > 0.0 else (0.0,)
    for inertia in known_inertias(robot):
        for friction in frictions:
            chosen = replace(contact, friction=friction)
            after = predict(robot, q, velocity_before, chosen, obstacle=obstacle, method=method, inertia=inertia)
            predicted = after.velocity_after
            rows.append(
                AblationRow(
                    inertia=inertia,
                    friction=friction,
                    velocity_after=predicted,
                    joint_error=absolute_error(predicted, estimated),
                    error=float(np.linalg.norm(predicted - estimated)),
                    relative_error=jump_relative_error(predicted, estimated, velocity_before),
                )
            )
    return tuple(rows)


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
                velocity_after_mean=np.mean([_estimated(impact) for impact, _ in pairs], axis=0),
            )
        )
    return tuple(groups)


def _estimated(impact: AnalyzedImpact) -> Array:
    """An impact has rows only when it has an estimate."""
    assert impact.velocity_after_estimated is not None
    return impact.velocity_after_estimated
