"""Test of the assumed contact point against the measured jump of an impact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import contact_point
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.contact_point import AssumedPoint, ContactPointProblem, JointJump
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.records import VelocityEstimate
from impact_aware.robot import RobotModel


@dataclass(frozen=True, eq=False)
class ContactCheck(AssumedPoint):
    """Comparison of the jump with the assumed contact.

    Attributes, beside those of its point:
        assumed: (3,) Contact point of the prediction, from the frame's origin, in its axes, m.
    """

    assumed: Array

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
) -> ContactCheck | None:
    """Compare the contact of a prediction with the jump; None where data are missing.

    Args:
        robot: The arm.
        position: (n,) At the impact, rad.
        estimate: Of the velocities before and after.
        prediction: With the contact that is assumed.
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
    return ContactCheck(**vars(held), assumed=assumed)
