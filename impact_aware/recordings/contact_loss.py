"""Contact lost or renewed after an impact, detected by `BounceDetector` in the samples around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from impact_aware.detection import JointSample
from impact_aware.detection.bounce import RENEWED_SHARE, BounceDetector, ContactLoss
from impact_aware.detection.impact_watch import CONTACT_LOST, CONTACT_RENEWED, SECOND_CONTACT
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.results import AnalyzedImpact, OtherEvent
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel

AS_STRONG = 0.5
"""Share of the jump of a hit from which a later jump is no renewal of its contact: palms that rock reach 0.42."""

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


def without_renewals(
    impacts: Sequence[AnalyzedImpact], robot: RobotModel | None
) -> tuple[list[AnalyzedImpact], list[OtherEvent]]:
    """Separate the impacts of one arm, numbered anew, from renewals of a contact.

    In a renewal the tool closes far more slowly than in the hit, along a normal that is known. Where the velocity jumps
    as in the hit, the arm has met something else.
    """
    hits: list[AnalyzedImpact] = []
    renewals: list[OtherEvent] = []
    watch: BounceDetector | None = None
    for impact in impacts:
        second = impact.cause == SECOND_CONTACT and watch is not None
        share = watch.closing_share(_event(impact)) if watch is not None and second else np.nan
        own, first = impact.jump_size, hits[-1].jump_size if hits else None
        as_strong = own is not None and first is not None and own[0] >= AS_STRONG * first[0]
        if share < RENEWED_SHARE and not as_strong:
            before = f"{1e3 * (impact.time - hits[-1].time):.0f} ms before"
            renewals.append(
                OtherEvent(
                    impact.arm, impact.file, impact.time, impact.event.time_std, CONTACT_RENEWED,
                    f"the tool closes at {100.0 * share:.0f} % of the speed of the hit {before}", impact.detectors,
                )
            )
            continue
        hits.append(replace(impact, index=len(hits) + 1))
        watch = None if robot is None or impact.normal_source == "jump" else _watch(impact, robot)
    return hits, renewals


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
    detector = _watch(impact, robot)
    if detector is None:
        return None
    end = np.inf if until is None else until
    for row in np.flatnonzero((window.times > impact.time) & (window.times < end)):
        loss = detector.update(JointSample(float(window.times[row]), window.positions[row]))
        if loss is not None:
            return loss if fixed or loss.time - impact.time <= PROMPT else None
    return None


def _watch(impact: AnalyzedImpact, robot: RobotModel) -> BounceDetector | None:
    """The detector, begun at an impact; None without a prediction, whose contact has the normal."""
    if impact.prediction is None:
        return None
    detector = BounceDetector(robot, impact.prediction.contact.frame)
    detector.begin(_event(impact), impact.prediction.contact.normal)
    return detector


def _event(impact: AnalyzedImpact) -> ImpactEvent:
    after = impact.velocity_after_estimated
    return replace(impact.event, position=impact.position, velocity_before=impact.velocity_before, velocity_after=after)
