"""Contact lost after an impact: what `BounceDetector` says of the samples around it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from impact_aware.detection import JointSample
from impact_aware.detection.bounce import BounceDetector, ContactLoss
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.results import AnalyzedImpact
from impact_aware.robot import RobotModel

PROMPT = 0.02
"""How soon after the impact a tool recedes that has lost its contact whatever it hit, s. An object may fly ahead of a
tool that turns back later, and was lost before."""


def contact_loss(
    impact: AnalyzedImpact, window: ArmSamples, robot: RobotModel, until: float | None, *, fixed: bool
) -> ContactLoss | None:
    """The loss of an impact's contact; None while the samples show none, or nothing tells the normal.

    Args:
        impact: With a prediction, whose contact has the normal.
        window: Samples around it, in the joint order of the robot.
        robot: The arm.
        until: When the next contact is made, s, or None.
        fixed: Whether a surface was hit that stays where it is.
    """
    if impact.prediction is None:
        return None
    contact = impact.prediction.contact
    detector = BounceDetector(robot, contact.frame)
    after = impact.velocity_after_estimated
    event = replace(
        impact.event, position=impact.position, velocity_before=impact.velocity_before, velocity_after=after
    )
    detector.begin(event, contact.normal)
    end = np.inf if until is None else until
    for row in np.flatnonzero((window.times > impact.time) & (window.times < end)):
        loss = detector.update(JointSample(float(window.times[row]), window.positions[row]))
        if loss is not None:
            return loss if fixed or loss.time - impact.time <= PROMPT else None
    return None
