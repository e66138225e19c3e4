"""Contact lost after an impact, detected by `BounceDetector` in the samples around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from impact_aware.detection import JointSample
from impact_aware.detection.bounce import BounceDetector, ContactLoss
from impact_aware.detection.impact_watch import CONTACT_LOST
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.results import AnalyzedImpact, OtherEvent
from impact_aware.robot import RobotModel

PROMPT = 0.02
"""How soon after the impact a tool recedes that has lost its contact whatever it hit, s. An object may fly ahead of a
tool that turns back later, and was lost before."""


RECEDING = "bounce"
"""Name of what finds lost contacts, among those of the detectors."""


def lost_contacts(
    impacts: Sequence[AnalyzedImpact], robot: RobotModel | None, *, fixed: bool
) -> list[OtherEvent]:
    """Contacts of one arm that the samples after its impacts show to be lost; see `contact_loss`."""
    events = []
    for index, impact in enumerate(impacts):
        until = impacts[index + 1].time if index + 1 < len(impacts) else None
        loss = None if robot is None else contact_loss(impact, impact.window, robot, until, fixed=fixed)
        if loss is not None:
            evidence = (
                f"the tool recedes along the normal at {loss.speed:.2f} m/s from where it was lowest, "
                f"{1e3 * (loss.time - impact.time):.0f} ms after the contact"
            )
            events.append(
                OtherEvent(impact.arm, impact.file, loss.time, loss.time_std, CONTACT_LOST, evidence, (RECEDING,))
            )
    return events


def contact_loss(
    impact: AnalyzedImpact, window: ArmSamples, robot: RobotModel, until: float | None, *, fixed: bool
) -> ContactLoss | None:
    """Detect the loss of an impact's contact; None where there is none, or the normal is unknown.

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
