"""From an impact as it was found to its estimate, its prediction, and whether it was expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.bags.recorded_predictions import prediction_for, truth_for
from impact_aware.contact.box import homogeneous_box
from impact_aware.contact.geometry import Contact, FreeObject, contact_point, unit_vector
from impact_aware.detection import ExpectationClassifier, JointSample
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.estimation import estimate
from impact_aware.estimation.estimate import position_at
from impact_aware.estimation.object_motion import ObjectTrack
from impact_aware.estimation.registry import BOTH_SIDES
from impact_aware.impact.uncertainty import InputCovariance, predict_with_covariance
from impact_aware.recordings.ablation import ablate
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.arm_selection import ArmSource
from impact_aware.recordings.contact_check import check_contact
from impact_aware.recordings.event_cause import largest_jump
from impact_aware.recordings.impact_finder import Find
from impact_aware.recordings.impact_fit import BEFORE
from impact_aware.recordings.object_hit import object_hit
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.results import AnalyzedImpact
from impact_aware.recordings.surface import Surface, normal_from_jump
from impact_aware.recordings.surroundings import Surroundings
from impact_aware.records import ContactImpulse, Impact, ImpactEvent, VelocityEstimate
from impact_aware.robot import RobotModel

LONG_ENOUGH = 0.100
"""Length of the record after an impact from which the oscillation of joints is averaged out, s."""

NO_TEST = "so the prediction is no independent one"
"""How the note of an impact ends whose normal is that of its own jump."""

_HALF_EDGE = 0.1
"""Half the edge of the cube that stands in for an object whose shape is not known, m."""


def explain(
    found: Find,
    source: ArmSource,
    options: AnalysisOptions,
    around: Surroundings,
    *,
    file: Path,
    index: int,
    label: str | None,
    previous: float | None,
    following: float | None,
) -> AnalyzedImpact:
    """Everything about one impact: estimate, prediction, ablation, expectation.

    Args:
        found: The impact.
        source: The arm that had it.
        options: How to predict and estimate.
        around: Surface, frames, recorded predictions and truth of the recording.
        file: The recording.
        index: Counts the arm's impacts.
        label: From the label file.
        previous: Time of the arm's impact before, s, or None.
        following: Time of the arm's next impact, s, or None.
    """
    event, window = found.event, found.window
    assert event is not None and window is not None
    estimated, problem = _estimate(window, event, options, previous, following)
    if len(window.times):
        position = position_at(window.times, window.positions, event.time)
    else:
        position = event.position
    impact = AnalyzedImpact(
        arm=source.arm,
        index=index,
        file=file,
        joint_names=source.message_names,
        event=event,
        position=position,
        window=window,
        detectors=found.detectors,
        cause=found.cause,
        evidence=_evidence(found, estimated, source.message_names),
        estimate=estimated,
        truth=truth_for(around.truths, event.time, source.message_names),
        label=label,
        notes=(problem,) if problem else (),
    )
    recorded = prediction_for(around.predictions, event.time, source.message_names)
    impact = replace(
        impact,
        expected=_expected(impact, source.robot, recorded, around.predicts, options),
        live=None if recorded is None else _in_order(recorded.velocity_after, recorded, impact.joint_names),
    )
    if source.robot is not None:
        try:
            impact = _predict(impact, source.robot, options, around, recorded)
        except ImpactAwareError as error:
            impact = _with_notes(impact, f"no prediction: {error}")
    return impact if around.track is None else _with_object(impact, around.track, options, following)


def _evidence(found: Find, estimated: VelocityEstimate | None, names: Sequence[str]) -> str:
    """Evidence for the cause, with the jump of the estimate in place of the one by which the impact was found."""
    if estimated is None or not found.evidence or found.candidate.unexplained is not None:
        return found.evidence
    first = found.candidate.strongest
    jump = largest_jump(names, estimated.jump, estimated.jump_error)
    return found.evidence.replace(largest_jump(names, first.jump, first.jump_std), jump)


def _with_object(
    impact: AnalyzedImpact, track: ObjectTrack, options: AnalysisOptions, following: float | None
) -> AnalyzedImpact:
    made = impact.prediction
    mass = options.object_mass if made is None or made.obstacle is None else made.obstacle.mass
    impulse, spread = impact.impulse_estimated, impact.impulse_error
    hit = object_hit(track, impact.time, impact.event.time_std, following, impact.estimate, made, mass, impulse, spread)
    return _with_notes(impact, hit) if isinstance(hit, str) else replace(impact, object_hit=hit)


def _estimate(
    window: ArmSamples,
    event: ImpactEvent,
    options: AnalysisOptions,
    previous: float | None,
    following: float | None,
) -> tuple[VelocityEstimate | None, str]:
    """The estimate from what lies between the neighbouring impacts, or why there is none."""
    # What another impact has shaken is no part of the motion before.
    usable = np.ones(len(window.times), dtype=bool) if previous is None else window.times > previous
    problem = ""
    for before in BEFORE:
        try:
            estimated = estimate(
                window.times[usable],
                window.positions[usable],
                event.time,
                method=options.estimator,
                impact_time_error=event.time_std,
                until=following,
                before=before,
            )
        except InvalidInputError as error:
            problem = (
                problem or f"no estimate of the velocity after, and the velocity before is the detector's: {error}"
            )
        else:
            return _widened(estimated, following)
    return None, problem


def _widened(estimated: VelocityEstimate, following: float | None) -> tuple[VelocityEstimate, str]:
    """The estimate with a larger error, and a note, where the next event comes before an oscillation is averaged out.

    The slope of a misfit of given size grows as one over the length of the window.
    """
    length = np.inf if following is None else following - estimated.impact_time
    if length >= LONG_ENOUGH:
        return estimated, ""
    share = LONG_ENOUGH / length
    note = f"the next event comes {1e3 * length:.0f} ms later: the velocity after is known less well"
    if estimated.method == BOTH_SIDES:
        return estimated, f"{note}, which is in its standard error"
    note += f", and its standard error is stated {share:.1f} times larger"
    return replace(estimated, standard_error=share * estimated.standard_error), note


def _predict(
    impact: AnalyzedImpact,
    robot: RobotModel,
    options: AnalysisOptions,
    around: Surroundings,
    recorded: Impact | None,
) -> AnalyzedImpact:
    q, before = impact.position, impact.velocity_before
    if not (np.isfinite(q).all() and np.isfinite(before).all()):
        return _with_notes(impact, "no prediction: the velocity before is not known for every joint")
    contact = _contact(robot, options, around, recorded)
    impact = replace(impact, contact_frame=contact.frame)
    normal, normal_source, note = _normal(impact, robot, options, around, recorded, contact)
    impact = _with_notes(impact, note)
    if normal is None:
        return impact
    contact = replace(contact, normal=normal)
    obstacle = _obstacle(options, contact, contact_point(robot, q, contact), recorded)
    result = predict_with_covariance(
        robot,
        q,
        before,
        contact,
        InputCovariance(velocity=np.nan_to_num(impact.velocity_before_error) ** 2),
        obstacle=obstacle,
        method=options.method,
        inertia=options.inertia,
    )
    impact = replace(
        impact,
        prediction=result.prediction,
        prediction_std=np.sqrt(np.maximum(np.diag(result.velocity_after_covariance), 0.0)),
        normal_source=normal_source,
        assumed=_assumed(options, around, recorded, contact),
        untested=_untested(robot, options, normal_source),
    )
    check = check_contact(robot, q, impact.estimate, result.prediction)
    if check is not None:
        impact = _with_notes(impact, check.note)
        if check.verdict != "agrees" and options.contact_frame is None and recorded is None:
            impact = replace(impact, assumed=(*impact.assumed, f"contact at {contact.frame}"))
    impact = replace(impact, contact_check=check)
    if result.prediction.mode == "separate":
        impact = _with_notes(
            impact, "the contact point does not approach along the normal: nothing is predicted to change"
        )
    return replace(impact, ablation=ablate(robot, impact)) if options.ablation else impact


def _assumed(
    options: AnalysisOptions, around: Surroundings, recorded: Impact | None, contact: Contact
) -> tuple[str, ...]:
    """Inputs of a prediction that neither options, surface file nor a recorded prediction gave, with their values."""
    known = _known_contacts(around, recorded)
    missing = [
        f"{name} {getattr(contact, name):g}"
        for name in ("friction", "restitution")
        if getattr(options, name) is None and all(getattr(source, name) is None for source in known)
    ]
    return (*missing, *(["a fixed surface"] if options.object_mass is None and not known else []))


def _known_contacts(around: Surroundings, recorded: Impact | None) -> list[Surface | ContactImpulse]:
    """What surface file and recorded prediction know of the contact, in the order in which they count."""
    live = None if recorded is None else recorded.contacts[0]
    return [source for source in (around.surface, live) if source is not None]


def _untested(robot: RobotModel, options: AnalysisOptions, normal_source: str) -> str:
    """Why a comparison with the jump is no test of a prediction; empty where it is one."""
    if normal_source == "jump":
        return "the normal was taken from the jump itself"
    if options.inertia == "M+B_theta" and robot.known_inertia(options.inertia) == "M":
        return f"the apparent motor inertia of {robot.name} is not known"
    return ""


def _with_notes(impact: AnalyzedImpact, note: str) -> AnalyzedImpact:
    return replace(impact, notes=(*impact.notes, note)) if note else impact


def _contact(
    robot: RobotModel, options: AnalysisOptions, around: Surroundings, recorded: Impact | None
) -> Contact:
    """Contact from options, surface file and recorded prediction, in this order; its normal is set later."""
    known = _known_contacts(around, recorded)
    live = None if recorded is None else recorded.contacts[0].frame
    known_frame = live if live is not None and robot.model.existFrame(live) else robot.tool_frame
    frame = options.contact_frame or known_frame
    own_radius = robot.tool_radius if frame == robot.tool_frame else 0.0
    return Contact(
        frame=frame,
        normal=np.array([0.0, 0.0, 1.0]),
        offset=np.array(options.offset),
        friction=_first(options.friction, *(source.friction for source in known)),
        restitution=_first(options.restitution, *(source.restitution for source in known)),
        radius=own_radius if options.tool_radius is None else options.tool_radius,
    )


def _normal(
    impact: AnalyzedImpact,
    robot: RobotModel,
    options: AnalysisOptions,
    around: Surroundings,
    recorded: Impact | None,
    contact: Contact,
) -> tuple[Array | None, str, str]:
    """The normal (3,), where it comes from, and what is to be noted about it."""
    note = ""
    if options.normal is not None:
        return unit_vector("normal", options.normal), "option", ""
    if around.surface is not None:
        return around.surface.normal, "config", ""
    if options.surface_frame is not None and around.frames is not None:
        pose: pin.SE3 | None = around.frames.pose(robot.base_frame, options.surface_frame, impact.time)
        if pose is not None:
            return np.array(pose.rotation[:, 2]), "tf", ""
        note = f"TF leads from {robot.base_frame} to no frame {options.surface_frame}; "
    if recorded is not None:
        return unit_vector("normal", recorded.contacts[0].normal), "prediction", note.removesuffix("; ")
    estimated = impact.velocity_after_estimated
    if estimated is None:
        return None, "", note + "no normal is known and, without an estimate, none can be found from the jump"
    normal = normal_from_jump(robot, impact.position, estimated - impact.velocity_before, contact, options.inertia)
    if normal is None:
        return None, "", note + "no normal is known and the jump shows no impulse"
    return (
        normal,
        "jump",
        f"{note}the normal was estimated from the jump itself, {NO_TEST}",
    )


def _obstacle(
    options: AnalysisOptions, contact: Contact, point: Array, recorded: Impact | None
) -> FreeObject | None:
    mass = options.object_mass or (recorded.object_mass if recorded is not None else None)
    if mass is None:
        return None
    centre = point - _HALF_EDGE * contact.normal
    if recorded is not None and recorded.object:
        centre = recorded.object_position
    return homogeneous_box(mass, [_HALF_EDGE] * 3, centre)


def _expected(
    impact: AnalyzedImpact,
    robot: RobotModel | None,
    recorded: Impact | None,
    predicts: bool,
    options: AnalysisOptions,
) -> bool | None:
    """The verdict of the live comparison; an impact that nothing announced although predictions run is unexpected."""
    if recorded is None:
        return False if predicts else None
    jump = _in_order(recorded.velocity_after - recorded.velocity_before, recorded, impact.joint_names)
    if not (np.isfinite(jump).all() and jump.any()):
        return None
    classifier = ExpectationClassifier(len(jump))
    inertia = None if robot is None else robot.mass_matrix(impact.position, options.inertia)
    window = impact.window
    for row, time in enumerate(window.times.tolist()):
        sample = JointSample(time, window.positions[row])
        verdict = classifier.update(sample)
        if verdict is not None:
            return verdict.expected
        if time == impact.event.time_detected:
            classifier.begin(impact.event, jump, inertia)
    return None


def _in_order(values: Array, recorded: Impact, joint_names: Sequence[str]) -> Array:
    """Values (n,) of a recorded prediction in the order of the analysis."""
    return values[[recorded.joint_names.index(name) for name in joint_names]]


def _first(*values: float | None) -> float:
    """The first value that is known, else 0."""
    return next((float(value) for value in values if value is not None), 0.0)
