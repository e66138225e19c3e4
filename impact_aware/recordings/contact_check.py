"""Test of the assumed contact point, normal and friction against the measured jump of an impact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from impact_aware.arrays import Array
from impact_aware.contact.geometry import contact_point
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.contact_point import CHANCE, AssumedPoint, ContactPointProblem, JointJump
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.records import VelocityEstimate
from impact_aware.robot import RobotModel

FAR_OFF = float(np.radians(5.0))
"""Angle beyond the friction cone that is significant, rad: a surface's normal is less certain than that."""

STEEPEST = float(np.radians(60.0))
"""Lean up to which friction may be the reason, rad; the steepest would take a coefficient of 1.7."""


@dataclass(frozen=True, eq=False)
class ContactCheck(AssumedPoint):
    """Comparison of the jump with the assumed contact.

    Attributes, beside those of its point:
        assumed: (3,) Contact point of the prediction, from the frame's origin, in its axes, m.
        lean: Angle between the normal of the prediction and the impulse, rad; of an impulse at the assumed point, or at
            another that fits far better.
        lean_error: Its standard error, rad.
        cone: Angle of the prediction's friction, by which an impulse may lean, rad.
        normal_given: Whether the normal came from elsewhere than the jump.
    """

    assumed: Array
    lean: float
    lean_error: float
    cone: float
    normal_given: bool

    @property
    def another_surface(self) -> bool:
        """Whether the impulse leans so far off the normal that another normal or friction explains it far better."""
        beyond = self.lean - self.cone
        return self.normal_given and beyond > max(FAR_OFF, float(chi2.isf(CHANCE, 2))**0.5 * self.lean_error)

    @property
    def surface_note(self) -> str:
        """What a reader has to know about normal and friction; empty where the jump agrees with them."""
        if not self.another_surface:
            return ""
        lean, error, cone = np.degrees([self.lean, self.lean_error, self.cone])
        least = f", or a friction of {np.tan(self.lean):.2f} or more" if self.lean < STEEPEST else ""
        return (
            f"another normal{least} explains the jump far better: its impulse leans {lean:.0f} +- {error:.0f} deg "
            f"from the normal, friction allows {cone:.0f} deg; touch-surface measures the surface"
        )

    @property
    def note(self) -> str:
        """What a reader has to know; empty where the jump agrees with the assumed point."""
        if self.verdict == "agrees":
            return ""
        if self.verdict == "cannot_tell":
            if not self.fit.one_point:
                left = f"{100 * self.fit.unexplained:.0f} % of it stay"
                return (
                    f"the contact point is not tested: no point of {self.fit.frame} explains the jump, {left}: "
                    "the touched link is not determined, or the inertia is another"
                )
            reach = 100.0 * self.fit.error_across
            return f"the contact point is not tested: the jump shows it across the impulse to +- {reach:.1f} cm only"
        x, y, z = self.fit.point.tolist()
        return (
            f"another point explains the jump far better: ({x:.3f}, {y:.3f}, {z:.3f}) m in {self.fit.frame}, "
            f"{100 * self.distance:.1f} +- {100 * self.distance_error:.1f} cm from the assumed one; "
            f"{100 * self.fit.unexplained:.0f} % of the jump stay unexplained there, {100 * self.unexplained:.0f} % at "
            "the assumed one; identify contact-point fits it"
        )


def joint_jump(position: Array, estimate: VelocityEstimate) -> JointJump:
    """The jump that an estimate found at a posture (n,), rad."""
    return JointJump(position, estimate.jump, np.maximum(estimate.jump_error, 1e-9))


def check_contact(
    robot: RobotModel,
    position: Array,
    estimate: VelocityEstimate | None,
    prediction: ImpactPrediction,
    *,
    normal_given: bool = True,
) -> ContactCheck | None:
    """Compare the contact of a prediction with the jump; None where data are missing.

    Args:
        robot: The arm.
        position: (n,) At the impact, rad.
        estimate: Of the velocities before and after.
        prediction: With the contact that is assumed.
        normal_given: Whether its normal came from elsewhere than this jump, which could not disagree with it.
    """
    contact = prediction.contact
    try:
        if estimate is None:
            return None
        hits = [joint_jump(position, estimate)]
        frame = robot.placement(position, contact.frame)
        assumed = np.array(frame.actInv(contact_point(robot, position, contact)))
        problem = ContactPointProblem(robot, hits, contact.frame, inertia=prediction.inertia)
        held = problem.compare(assumed)
    except (InvalidInputError, np.linalg.LinAlgError):
        return None
    place = held.fit.point if held.verdict == "another_point" else assumed
    impulse, covariance = problem.impulse_at(place)
    lean, lean_error = _lean(impulse, held.excess * covariance, contact.normal)
    return ContactCheck(
        **vars(held),
        assumed=assumed,
        lean=lean,
        lean_error=lean_error,
        cone=float(np.arctan(contact.friction)),
        normal_given=normal_given,
    )


def _lean(impulse: Array, covariance: Array, normal: Array) -> tuple[float, float]:
    """Angle between an impulse (3,) and a normal (3,), rad, and its standard error."""
    size = max(float(np.linalg.norm(impulse)), 1e-12)
    along = impulse / size
    across = normal - float(normal @ along) * along
    across = across / max(float(np.linalg.norm(across)), 1e-12)
    angle = float(np.arccos(np.clip(along @ normal, -1.0, 1.0)))
    return angle, max(float(across @ covariance @ across), 0.0) ** 0.5 / size
