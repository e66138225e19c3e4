"""Whether the jump of an impact agrees with where the arm is said to have been touched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import contact_point
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.contact_point import (
    FAR_BETTER,
    ContactPointFit,
    JointJump,
    explained_at,
    fit_contact_point,
)
from impact_aware.estimation.result import VelocityEstimate
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.robot import RobotModel

FAR = 0.02
"""Between the assumed point and the fitted one, m: nearer ones are the same."""


@dataclass(frozen=True, eq=False)
class ContactCheck:
    """What the jump says about the contact point.

    Attributes:
        verdict: `agrees`, `another_point` or `cannot_tell`.
        assumed: (3,) Where the prediction has the contact, from the frame's origin, in its axes, m.
        distance: From there to the fitted point, or to the line of the impulse where only that is told, m.
        distance_error: Its standard error, m.
        unexplained: Share of the jump that no impulse at the assumed point explains.
        fit: The point that explains it best.
    """

    verdict: str
    assumed: Array
    distance: float
    distance_error: float
    unexplained: float
    fit: ContactPointFit

    @property
    def note(self) -> str:
        """What a reader has to know; empty where the jump agrees with the assumed point."""
        if self.verdict == "agrees":
            return ""
        if self.verdict == "cannot_tell":
            reach = 100.0 * self.fit.error_across
            return f"the contact point is not tested: the jump tells it to {reach:.1f} cm across the impulse only"
        x, y, z = self.fit.point.tolist()
        return (
            f"another point explains the jump far better: ({x:.3f}, {y:.3f}, {z:.3f}) m in {self.fit.frame}, "
            f"{100 * self.distance:.1f} +- {100 * self.distance_error:.1f} cm from the assumed one; "
            f"{100 * self.fit.unexplained:.0f} % of the jump stay unexplained there, {100 * self.unexplained:.0f} % at "
            "the assumed one; identify contact-point fits it"
        )


def joint_jump(position: Array, estimate: VelocityEstimate) -> JointJump:
    """The jump that an estimate found at a posture (n,), rad."""
    error = np.hypot(estimate.standard_error, estimate.velocity_before_error)
    return JointJump(position, estimate.jump, np.maximum(error, 1e-9), estimate.velocity_before)


def check_contact(
    robot: RobotModel, position: Array, estimate: VelocityEstimate | None, prediction: ImpactPrediction
) -> ContactCheck | None:
    """Hold the contact point of a prediction against the jump; None where there is too little to do so."""
    contact = prediction.contact
    try:
        if estimate is None:
            return None
        hits = [joint_jump(position, estimate)]
        fit = fit_contact_point(robot, hits, contact.frame, inertia=prediction.inertia)
        place = robot.placement(position, contact.frame)
        assumed = np.array(place.actInv(contact_point(robot, position, contact)))
        chi_square, unexplained = explained_at(robot, hits, assumed, contact.frame, inertia=prediction.inertia)
    except (InvalidInputError, np.linalg.LinAlgError):
        return None
    distance = fit.distance(assumed)
    excess = max(1.0, fit.chi_square / fit.freedom) if fit.freedom > 0 else 1.0
    better = (chi_square - fit.chi_square) / excess > FAR_BETTER
    if better and distance > max(FAR, 2.0 * fit.error_across):
        verdict = "another_point"
    else:
        verdict = "agrees" if fit.told else "cannot_tell"
    return ContactCheck(verdict, assumed, distance, fit.error_across, unexplained, fit)
