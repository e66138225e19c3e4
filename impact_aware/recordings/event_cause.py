"""What each find is: a contact, a step of the command, the start of a motion, an oscillation; with the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from impact_aware.detection.impact_watch import CONTACT, FOLLOWS, SECOND_CONTACT
from impact_aware.estimation.sample_noise import quantum_of
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.command_track import TORQUES, CommandStep, CommandTrack
from impact_aware.recordings.impact_finder import TWO_SIDED, FoundImpact
from impact_aware.recordings.judged import SURE, Judged
from impact_aware.recordings.kink_finder import BEFORE, LEAST_BEFORE
from impact_aware.robot import RobotModel

RINGS = 0.5
"""Time after a contact for which joints may oscillate from it, s."""

STEPS, STEPS_MOVING = 8.0, 14.0
"""Logarithm of how much more likely a step of the acceleration must make the samples than none, to be reported: where
the arm rests on one side, and where it moves on both and a soft start is nearly one."""

STEPS_COMMANDED = 4.0
"""The same where a recorded command steps then."""

STEPS_REFUTED = 28.0
"""The same in motion where a recorded torque doesn't step then."""

COMMAND_LEADS, COMMAND_LAGS = 0.020, 0.010
"""How long before a find the command that causes it steps, and after it where stamps are not exact, s."""

COMMAND_STAMP_STD = 1e-3
"""Of the time of a command beside the joints', s: messages without a stamp count from when they were recorded."""

ALONG = 0.5
"""Cosine, in the metric of the inertia, from which on a jump is along what a step of the torques does."""

ALONG_MOTORS = 0.7
"""The same where each joint moves by its own torque only, as its motor does before the links follow."""

REST, MOVES = 0.01, 0.02
"""Speed of the fastest joint below which an arm rests, and from which it moves, rad/s; encoders' noise is less."""

RINGING = 5.0
"""Logarithm of how much more likely an oscillation must make the samples than none, to be the cause of a find."""

SWAY = 0.04
"""Around a find, where an oscillation has to be seen, s: half a period of the slowest that joints have."""

ROUNDING = 0.7
"""Root mean square of an oscillation that is seen, in steps of the encoder: rounding with noise makes up to half."""

UNJUDGED = "can't be classified, as the samples only begin there"
"""Evidence of a find that nothing before it can be compared with."""

UNFINISHED = "can't be separated from an oscillation of the contact before, for lack of samples around it"
"""Evidence of a find that comes too soon before the end of the samples, or too close to the contact."""

UNCLEAR, MADE = "a jump of the velocity is not clear, and ", ", which makes such a jump by then"
"""Evidence of a second jump that a recorded step of the command is the cause of, before and after that step."""

RESTS = "no velocity jumps, and the arm rests"
"""Evidence of a motion that starts or stops where no step of the acceleration is clear."""

DOUBT = "; the recorded torques show no step there, so that something may push"
"""What is said of a step of the command that the recorded commands do not show."""

GOES_ON = 1.3
"""Mean velocity after a jump from rest, in jumps and along it, from which the arm goes on as a motor moves it: what was
hit is slower than just after the jump."""

MOST_ODDS = 20.0
"""Powers of ten of how much likelier one cause is than another, above which the number is not written."""

BESIDE = 0.025
"""A step of the acceleration this close to a contact belongs to it, s."""


@dataclass(frozen=True, eq=False)
class Cause:
    """What a find is.

    Attributes:
        time: s.
        time_std: Its standard error, s.
        cause: One of `results.CAUSES`; empty for a false alarm, where nothing but a smooth motion is seen.
        evidence: One sentence.
        detectors: All that found it.
        impact: The find, for a contact.
        command: The step of a command that it answers, where one was recorded.
    """

    time: float
    time_std: float
    cause: str
    evidence: str
    detectors: tuple[str, ...]
    impact: FoundImpact | None = None
    command: CommandStep | None = None


def find_causes(
    found: Sequence[FoundImpact],
    judged: Sequence[Judged],
    joint_names: Sequence[str],
    commands: CommandTrack | None = None,
    robot: RobotModel | None = None,
) -> list[Cause]:
    """The cause of every find, in order of time.

    Args:
        found: The finds of one arm.
        judged: What both sides were asked about, steps of the acceleration that no detector found among it.
        joint_names: (n,) Of the arm.
        commands: What was commanded to its joints, where that was recorded.
        robot: The arm, where it is known: then what a step of recorded torques can do is known too.
    """
    unit = "" if commands is None else commands.unit
    causes: list[Cause] = []
    contacts: list[float] = []
    others: list[FoundImpact] = []
    for impact in sorted(found, key=lambda impact: impact.event.time):
        if impact.judged is not None and not impact.judged.is_jump:
            others.append(impact)
            continue
        if impact.judged is None and np.count_nonzero(impact.window.times < impact.event.time) < LEAST_BEFORE:
            causes.append(_cause(impact, "", UNJUDGED))
            continue
        if impact.judged is None and contacts and impact.event.time - contacts[-1] < RINGS:
            causes.append(_cause(impact, "", UNFINISHED))
            continue
        if impact.judged is not None and _is_driven(impact.judged):
            evidence = "the arm rests before it and goes on to accelerate in the direction of the jump"
            causes.append(_cause(impact, "motion_start", evidence))
            continue
        if impact.judged is not None and np.abs(impact.judged.speed[0]).max() < REST:
            # What a controller does about a contact comes after it.
            command = _commanded(commands, impact.event.time, contacts, -impact.event.time_std)
            if command:
                evidence = f"the arm rests before it, and {_told(command, impact.event.time, joint_names, unit)}"
                causes.append(_answers(command, _cause(impact, "motion_start", evidence)))
                continue
        follows = bool(contacts) and impact.event.time - contacts[-1] < FOLLOWS
        if impact.judged is not None:
            # A controller that answers a first contact does so within a sample of it.
            apart = impact.event.time_std + (0.0 if follows else impact.judged.period)
            command = _commanded(commands, impact.event.time, contacts, -apart)
            unclear = follows and impact.judged.gain < SURE
            if command and (unclear or _can_make(command, unit, impact, robot)):
                words = _told(command, impact.event.time, joint_names, unit)
                evidence = f"{UNCLEAR if unclear else ''}{words}{'' if unclear else MADE}{_resting(impact.judged)}"
                causes.append(_answers(command, _cause(impact, _driven(impact.judged), evidence)))
                continue
        kind = SECOND_CONTACT if follows else CONTACT
        evidence = _of_jump(impact.judged, joint_names)
        if follows:
            evidence += f", {1e3 * (impact.event.time - contacts[-1]):.0f} ms after a contact"
        contacts.append(impact.event.time)
        causes.append(_cause(impact, kind, evidence))

    for impact in others:
        time = impact.event.time
        command = _commanded(commands, time, contacts)
        words = _told(command, time, joint_names, unit)
        causes.append(_answers(command, _of_other(impact, contacts, words, _least(commands, time, command))))
    known = [impact.event.time for impact in found]
    for step in sorted(judged, key=lambda step: -step.step_gain):
        time = step.step_time
        if step.is_jump or any(abs(time - other) < BESIDE for other in known):
            continue
        command = _commanded(commands, time, contacts)
        if not _is_step(step, _least(commands, time, command)):
            continue
        known.append(time)
        kind, evidence = _of_step(step, _told(command, time, joint_names, unit))
        causes.append(_answers(command, Cause(time, _STEP_STD, kind, evidence, (TWO_SIDED,))))
    return _once(sorted((_doubted(cause, commands) for cause in causes), key=lambda cause: cause.time))


def _least(commands: CommandTrack | None, time: float, command: CommandStep | None) -> float:
    """How clear a step of the acceleration has to be, where this command steps or none does."""
    if command:
        return STEPS_COMMANDED
    return STEPS_REFUTED if commands is not None and commands.tells_torques(time) else STEPS_MOVING


_STEP_STD = 0.004

DRIVEN = ("command_step", "motion_start")
"""Causes that a command has."""


def _of_jump(judged: Judged | None, joint_names: Sequence[str]) -> str:
    if judged is None:
        return "too few samples around it to compare causes"
    branches = judged.told
    joint = int(np.argmax(np.abs(branches.jump) / np.maximum(branches.jump_std, 1e-9)))
    # What is finer than a hundredth is not the samples' to tell.
    error = max(float(branches.jump_std[joint]), 0.01)
    size = f"the velocity of {joint_names[joint]} jumps by {branches.jump[joint]:.2f} +- {error:.2f} rad/s"
    if judged.gap:
        size += f" across {1e3 * judged.gap:.0f} ms without samples"
    if judged.unexplained is not None:
        odds = _odds(judged.gain)
        return f"{size} beyond what the measured torques do, which makes the samples {odds} likelier than none"
    return (
        f"{size}, which makes the samples {_odds(judged.gain)} likelier than a step of the acceleration with an "
        "oscillation"
    )


def _odds(logarithm: float) -> str:
    """How many times likelier, in words; no model is right enough for what is beyond `MOST_ODDS`."""
    power = logarithm / np.log(10.0)
    return f"over 10^{MOST_ODDS:.0f} times" if power > MOST_ODDS else f"10^{power:.0f} times"


def _commanded(
    commands: CommandTrack | None, time: float, contacts: Sequence[float], lags: float = COMMAND_LAGS
) -> CommandStep | None:
    """Which command steps at a find; None where none does, or where it answers a contact.

    It may come `lags` after the find, s.
    """
    if commands is None:
        return None
    begin = max([time - COMMAND_LEADS, *(contact + BESIDE for contact in contacts if contact < time)])
    return commands.step_near(begin, time + lags)


def _can_make(step: CommandStep, unit: str, impact: FoundImpact, robot: RobotModel | None) -> bool:
    """Whether a step of the torques makes a jump by then: it accelerates the joints by M^-1 times itself.

    Samples do not tell a jump from what a strong torque does between two of them.
    """
    window, judged = impact.window, impact.judged
    if unit != TORQUES or robot is None or judged is None:
        return False
    jump = judged.told.jump
    if len(step.sizes) != robot.n or len(jump) != robot.n or not len(window.times):
        return False
    mass = robot.mass_matrix(window.positions[int(np.argmin(np.abs(window.times - judged.told.time)))])
    driven = np.linalg.solve(mass, step.sizes)
    along, length, other = float(jump @ step.sizes), float(driven @ step.sizes), float(jump @ mass @ jump)
    # Encoders at the motors see these move first, each by its own torque.
    motors = float(np.linalg.norm(jump) * np.linalg.norm(step.sizes))
    if along < ALONG * np.sqrt(length * other) and along < ALONG_MOTORS * motors:
        return False
    return along / length <= judged.told.time + judged.period - step.begin


def _told(step: CommandStep | None, time: float, joint_names: Sequence[str], unit: str) -> str:
    """A step of a command beside a find, in words; nothing without one."""
    if step is None:
        return ""
    late = 1e3 * (time - step.time)
    when = f"{abs(late):.0f} ms {'before' if late >= 0.0 else 'after'} it"
    return f"the command to {joint_names[step.joint]} steps by {step.size:.3g} {unit} {when}"


def _answers(command: CommandStep | None, cause: Cause) -> Cause:
    """A find, at the time of the command that it answers: through elastic joints it is seen milliseconds later."""
    if command is None or cause.cause not in DRIVEN:
        return cause
    if command.time > cause.time:
        # Stamps that are not exact: what is seen in the joints is as good.
        return replace(cause, command=command)
    spread = float(np.hypot(command.time_std, COMMAND_STAMP_STD))
    return replace(cause, time=command.time, time_std=spread, command=command)


def _doubted(cause: Cause, commands: CommandTrack | None) -> Cause:
    """The same; a step of the command that the recorded ones do not show says so."""
    told = cause.command is not None or commands is None or not commands.tells_torques(cause.time)
    return cause if told or cause.cause != "command_step" else replace(cause, evidence=f"{cause.evidence}{DOUBT}")


def _once(causes: Sequence[Cause]) -> list[Cause]:
    """The causes (in order of time), where finds that answer one and the same step of a command, or start, are one."""
    kept: list[Cause] = []
    for cause in causes:
        place = next((i for i, other in enumerate(kept) if _same(other, cause)), None)
        if place is None:
            kept.append(cause)
        else:
            names = tuple(dict.fromkeys((*kept[place].detectors, *cause.detectors)))
            kept[place] = replace(kept[place], detectors=names)
    return kept


def _same(one: Cause, other: Cause) -> bool:
    """Whether two finds, in order of time, are of the same step of a command, or of the same start of a motion."""
    if one.command is not None and other.command is not None:
        return one.command.time == other.command.time
    # From a start on the arm has rested in a part of the samples for as long as these reach back.
    started = one.cause == other.cause == "motion_start" and other.evidence == f"{RESTS} before it"
    return started and other.time - one.time < BEFORE


def _of_other(impact: FoundImpact, contacts: Sequence[float], command: str, least: float) -> Cause:
    judged, time = impact.judged, impact.event.time
    assert judged is not None
    branches = judged.branches
    if _is_step(judged, least):
        return _cause(impact, *_of_step(judged, command))
    if command:
        return _cause(impact, _driven(judged), f"no velocity jumps, and {command}{_resting(judged)}")
    since = min((time - contact for contact in contacts if contact < time), default=np.inf)
    if since < RINGS and branches.smooth - branches.plain > RINGING and _sways(impact.window, time):
        sure = _odds(branches.smooth - branches.plain)
        evidence = (
            f"no velocity jumps; {1e3 * since:.0f} ms after a contact, an oscillation makes the samples {sure} "
            "likelier than none"
        )
        return _cause(impact, "ringing", evidence)
    if _rests(judged):
        return _cause(impact, "motion_start", f"{RESTS} {_side(judged)} it")
    return _cause(impact, "", "no jump of the velocity, no step of the acceleration")


def _of_step(judged: Judged, command: str) -> tuple[str, str]:
    sure = _odds(judged.step_gain)
    evidence = f"no velocity jumps; a step of the acceleration makes the samples {sure} likelier than none"
    return _driven(judged), f"{evidence}{', ' if command else ''}{command}{_resting(judged)}"


def _driven(judged: Judged) -> str:
    return "motion_start" if _rests(judged) else "command_step"


def _resting(judged: Judged) -> str:
    return f", and the arm rests {_side(judged)} it" if _rests(judged) else ""


def _side(judged: Judged) -> str:
    before, after = _slowest(judged)
    return "before" if before < after else "after"


def _is_step(judged: Judged, least: float) -> bool:
    """Whether the acceleration steps, more clearly than `least` where the arm moves on both sides."""
    return judged.step_gain >= (min(STEPS, least) if _rests(judged) else least)


def _is_driven(judged: Judged) -> bool:
    """Whether a jump from rest is the start of a motion: the arm gets faster after it, in the jump's direction."""
    jump, (before, after) = judged.told.jump, judged.speed
    return bool(np.abs(before).max() < REST and after @ jump > GOES_ON * (jump @ jump))


def _sways(window: ArmSamples, time: float) -> bool:
    """Whether some joint leaves a parabola by more than the step of its encoder, whose rounding oscillates too."""
    near = np.abs(window.times - time) <= SWAY
    if np.count_nonzero(near) < 5:
        return True
    since, positions = window.times[near] - time, window.positions[near]
    powers = (since[:, None] / SWAY) ** np.arange(3)
    left = positions - powers @ np.linalg.lstsq(powers, positions, rcond=None)[0]
    return bool((np.sqrt(np.mean(left**2, axis=0)) > ROUNDING * quantum_of(window.positions)).any())


def _rests(judged: Judged) -> bool:
    """Whether the arm rests on one side and moves on the other.

    A motion that starts softly, or through elastic joints, is seen some milliseconds after the arm has begun to move:
    it rests where it does so farther away.
    """
    sides = _slowest(judged)
    return min(sides) < REST and np.abs(judged.speed[int(np.argmax(sides))]).max() > MOVES


def _slowest(judged: Judged) -> tuple[float, float]:
    """Speed of the fastest joint before and after, close by or farther away, whichever is lower, rad/s."""
    near, far = np.abs(judged.speed).max(axis=1), np.abs(judged.far).max(axis=1)
    before, after = np.minimum(near, far).tolist()
    return before, after


def _cause(impact: FoundImpact, cause: str, evidence: str) -> Cause:
    contact = impact if cause in (CONTACT, SECOND_CONTACT) else None
    return Cause(impact.event.time, impact.event.time_std, cause, evidence, impact.detectors, contact)


def refuted(causes: Sequence[Cause]) -> list[str]:
    """Notes about the finds of detectors that both sides refute, or that have no side before them."""
    notes = []
    said = {cause: cause.evidence if cause.evidence in (UNJUDGED, UNFINISHED) else "" for cause in causes}
    for words in ("", UNJUDGED, UNFINISHED):
        alarms = [cause for cause in causes if not cause.cause and said[cause] == words]
        if alarms:
            names = ", ".join(sorted({name for cause in alarms for name in cause.detectors}))
            times = ", ".join(f"{cause.time:.3f}" for cause in alarms[:5]) + (", ..." if len(alarms) > 5 else "")
            one = len(alarms) == 1
            smooth = f"{'is' if one else 'are'} smooth motion, seen from both sides, and no event{'' if one else 's'}"
            notes.append(f"{len(alarms)} find{'' if one else 's'} of {names} {words or smooth}: at {times} s")
    return notes
