"""The quantitative comparison procedure of Aouaj 2021, section IV, as one call: recording in, errors out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject, contact_jacobian
from impact_aware.estimation.estimate import AnteImpactSettings, estimate
from impact_aware.estimation.metrics import absolute_error, jump_relative_error, relative_error
from impact_aware.estimation.registry import DEFAULT_ESTIMATOR, Estimator
from impact_aware.estimation.result import VelocityEstimate
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.impact.predictor import predict
from impact_aware.impact.registry import DEFAULT_METHOD
from impact_aware.robot import RobotModel


@dataclass(frozen=True, eq=False)
class Comparison:
    """Prediction and estimate of one recorded impact, side by side.

    Attributes:
        estimate: What the recording says.
        prediction: What the impact map says, from the recorded posture and velocity before.
        q: (n,) Posture at the impact, rad.
        joint_error: (n,) |predicted - estimated|, rad/s (Rey Arias 2024, eq. 18).
        joint_relative_error: (n,) As `relative_error`.
        contact_velocity_estimated: (3,) Velocity of the contact point after, base frame, m/s.
        contact_velocity_predicted: (3,) The same from the prediction.
        contact_error: (3,) Absolute error of that velocity, m/s.
        jump_relative_error: Norm of the joint error over the norm of the estimated joint jump.
    """

    estimate: VelocityEstimate
    prediction: ImpactPrediction
    q: Array
    joint_error: Array
    joint_relative_error: Array
    contact_velocity_estimated: Array
    contact_velocity_predicted: Array
    contact_error: Array
    jump_relative_error: float


def compare(
    robot: RobotModel,
    times: ArrayLike,
    positions: ArrayLike,
    impact_time: float,
    contact: Contact,
    *,
    obstacle: FreeObject | None = None,
    estimator: str | Estimator = DEFAULT_ESTIMATOR,
    impact_map: str = DEFAULT_METHOD,
    inertia: str = "M+B_theta",
    impact_time_error: float = 0.0,
    until: float | None = None,
    before: AnteImpactSettings | None = None,
) -> Comparison:
    """Compare the predicted with the recorded jump (Aouaj 2021, section IV, steps 2-4; step 1 is the detection's).

    Args:
        robot: The arm.
        times: (k,) s.
        positions: (k, n) Joint positions, rad.
        impact_time: When the impact was, s.
        contact: Where and how the robot touched.
        obstacle: The free object it touched; a fixed surface when None.
        estimator: Estimator of the velocity after.
        impact_map: Impact map of the prediction.
        inertia: Inertia of the prediction.
        impact_time_error: Standard deviation of `impact_time`, s.
        until: End of the usable record, s.
        before: How the velocity before is read.

    Raises:
        InvalidInputError: As `estimate` and `predict` do.
        UnknownNameError: An unknown name.
    """
    found = estimate(
        times, positions, impact_time, method=estimator, impact_time_error=impact_time_error, until=until, before=before
    )
    q = position_at(times, positions, impact_time)
    prediction = predict(
        robot, q, found.velocity_before, contact, obstacle=obstacle, method=impact_map, inertia=inertia
    )
    jacobian = contact_jacobian(robot, q, contact)
    estimated, predicted = jacobian @ found.velocity_after, jacobian @ prediction.velocity_after
    return Comparison(
        estimate=found,
        prediction=prediction,
        q=q,
        joint_error=absolute_error(prediction.velocity_after, found.velocity_after),
        joint_relative_error=relative_error(prediction.velocity_after, found.velocity_after),
        contact_velocity_estimated=estimated,
        contact_velocity_predicted=predicted,
        contact_error=absolute_error(predicted, estimated),
        jump_relative_error=jump_relative_error(prediction.velocity_after, found.velocity_after, found.velocity_before),
    )


def position_at(times: ArrayLike, positions: ArrayLike, time: float) -> Array:
    """Positions (n,) at `time`, linear between the samples; positions do not jump at an impact."""
    stamps, values = np.asarray(times, dtype=float), np.asarray(positions, dtype=float)
    finite = np.isfinite(values).all(axis=1)
    return np.array([np.interp(time, stamps[finite], column[finite]) for column in values.T])
