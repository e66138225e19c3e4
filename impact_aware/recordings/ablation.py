"""Predictions with other inertias and friction, as in Tables II and III of Rey Arias 2024: rows, and their means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.metrics import absolute_error, jump_relative_error
from impact_aware.impact.predictor import predict
from impact_aware.recordings.verdict import Reference
from impact_aware.robot import INERTIA_CHOICES, RobotModel

if TYPE_CHECKING:
    from impact_aware.recordings.results import AnalyzedImpact, ArmAnalysis


@dataclass(frozen=True, eq=False)
class AblationRow:
    """One prediction of an impact with another inertia or friction (Rey Arias 2024, Tables II and III).

    Attributes:
        inertia: `M`, `M+B_theta` or `M+B_rho`.
        friction: Coulomb's coefficient.
        velocity_after: (n,) Predicted, rad/s.
        joint_error: (n,) |predicted - estimated|, rad/s (Rey Arias 2024, (18)).
        error: Norm of predicted minus estimated, rad/s.
        relative_error: `error` over the norm of the estimated jump.
    """

    inertia: str
    friction: float
    velocity_after: Array
    joint_error: Array
    error: float
    relative_error: float


@dataclass(frozen=True, eq=False)
class AblationGroup:
    """All impacts with one label, predicted with one inertia and friction: a row of Rey Arias 2024's Tables II and III.

    Attributes:
        label: From the label file; the recording's name without one.
        robot: Name of the robot, as only joints of the same one can be averaged.
        joint_names: (n,) Joint order of every array.
        inertia: `M`, `M+B_theta` or `M+B_rho`.
        friction: Coulomb's coefficient.
        count: Impacts in the group.
        joint_error_mean: (n,) Mean of |predicted - estimated|, rad/s.
        joint_error_max: (n,) Largest of them, rad/s.
        error_mean: Mean norm of predicted minus estimated, rad/s.
        error_max: Largest norm, rad/s.
        velocity_before_mean: (n,) Mean velocity before, rad/s, for reference as in Table II.
        velocity_after_mean: (n,) Mean velocity after by the references, rad/s.
        mean_error: (n,) Standard error of a mean predicted minus reference velocity, rad/s.
    """

    label: str
    robot: str
    joint_names: tuple[str, ...]
    inertia: str
    friction: float
    count: int
    joint_error_mean: Array
    joint_error_max: Array
    error_mean: float
    error_max: float
    velocity_before_mean: Array
    velocity_after_mean: Array
    mean_error: Array


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
    """Choices of `INERTIA_CHOICES` whose inertia is known for the robot."""
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
        known = [(impact, found) for impact, _ in pairs if (found := impact.reference) is not None]
        own = [np.zeros(1) if impact.prediction_std is None else impact.prediction_std for impact, _ in known]
        spreads = [np.hypot(found.after_error, np.nan_to_num(std)) for (_, found), std in zip(known, own, strict=True)]
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
                velocity_after_mean=np.mean([found.after for _, found in known], axis=0),
                mean_error=np.sqrt(np.mean(np.square(spreads), axis=0) / len(pairs)),
            )
        )
    return tuple(groups)
