"""Predictions of an impact with other inertias and friction: a row per impact, and the mean over a group of impacts."""

from __future__ import annotations

from dataclasses import dataclass

from impact_aware.arrays import Array


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
