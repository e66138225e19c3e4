"""The cause of each detection: a contact, a step of the command, or the start of a motion; with the evidence for it.

Jumps of the velocity go through one list of tests, `OF_JUMPS`: the first that answers gives the cause and the evidence.
Steps of the acceleration without a jump are the rest of the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.detection.impact_watch import CONTACT, FOLLOWS, SECOND_CONTACT
from impact_aware.recordings.candidate import JUMP_ODDS, Candidate
from impact_aware.recordings.command_track import CommandStep, CommandTrack
from impact_aware.recordings.impact_finder import Find

STEPS, STEPS_MOVING = 8.0, 14.0
"""Log-odds of a step of the acceleration against none, to be reported: where the arm rests on one side, and where it
moves on both and a soft start is nearly one."""

STEPS_COMMANDED = 4.0
"""Log-odds of a step of the acceleration, to be reported where a recorded command steps then."""

STEPS_REFUTED = 28.0
"""Log-odds of a step of the acceleration in motion, to be reported where a recorded torque does not step then."""

COMMAND_LEADS, COMMAND_LAGS = 0.020, 0.010
"""Time before a find in which the command that causes it steps, and after it where stamps are not exact, s."""

COMMAND_STAMP_STD = 1e-3
"""Standard error of a command's time on the joints' clock, s: messages without a stamp count from their recording."""

REST, MOVES = 0.01, 0.02
"""Speed of the fastest joint below which an arm rests, and from which it moves, rad/s; encoders' noise is less."""

GOES_ON = 1.3
"""Mean velocity after a jump from rest, in jumps and along it, from which the arm goes on as a motor moves it: what was
hit is slower than just after the jump."""

CERTAIN_ODDS = 6.0
"""Power of ten of odds from which evidence is called practically certain."""

MOST_ODDS = 20.0
"""Power of ten of odds above which the number is not written: no model is right enough for more."""

BY_TORQUES = 0.5
"""Standard errors of a time that torques alone give by which a command must precede it to explain it: they are of some
milliseconds, in which commands do not answer yet."""

BESIDE = 0.025
"""A step of the acceleration this close to a contact belongs to it, s."""

STEP_TIME_STD = 0.004
"""Standard error of the time of a step of the acceleration, s."""

DOUBT = "; the recorded torques show no step there, so that something may push"
"""End of the evidence for a command step that the recorded commands do not show."""


@dataclass(frozen=True)
class Setting:
    """What is known beside the samples when a find is tested.

    Attributes:
        joint_names: (n,) Of the arm.
        commands: To its joints, where they were recorded.
        contacts: Times of the contacts so far, s.
    """

    joint_names: Sequence[str]
    commands: CommandTrack | None
    contacts: list[float]

    def command_near(self, time: float, lags: float = COMMAND_LAGS) -> CommandStep | None:
        """Step of a command from `COMMAND_LEADS` before a time to `lags` after it, s, that answers no contact."""
        if self.commands is None:
            return None
        begin = max([time - COMMAND_LEADS, *(contact + BESIDE for contact in self.contacts if contact < time)])
        return self.commands.step_near(begin, time + lags)

    def words(self, step: CommandStep, time: float) -> str:
        """A step of a command beside a find."""
        assert self.commands is not None
        late = 1e3 * (time - step.time)
        when = f"{abs(late):.0f} ms {'before' if late >= 0.0 else 'after'} it"
        return f"the command to {self.joint_names[step.joint]} steps by {step.size:.3g} {self.commands.unit} {when}"

    def follows(self, time: float) -> bool:
        """Whether a contact was made soon before."""
        return bool(self.contacts) and time - self.contacts[-1] < FOLLOWS


class Answer(NamedTuple):
    """A cause, the evidence for it, and the step of a command that it answers."""

    cause: str
    evidence: str
    command: CommandStep | None = None


def find_causes(
    found: Sequence[Find],
    candidates: Sequence[Candidate],
    joint_names: Sequence[str],
    commands: CommandTrack | None = None,
) -> list[Find]:
    """The finds of one arm with their causes, in order of time; steps of the acceleration are added.

    Args:
        found: Jumps.
        candidates: All instants at which both sides were compared.
        joint_names: (n,) Of the arm.
        commands: To its joints, where they were recorded.
    """
    setting = Setting(joint_names, commands, [])
    causes: list[Find] = []
    for find in sorted(found, key=lambda find: find.time):
        answer = next(answer for test in OF_JUMPS if (answer := test(find, setting)) is not None)
        if answer.cause in (CONTACT, SECOND_CONTACT):
            setting.contacts.append(find.time)
        causes.append(_answered(find, answer))
    known = [find.time for find in found]
    for step in sorted(candidates, key=lambda step: -step.step_gain):
        time = step.step_time
        if step.is_jump or any(abs(time - other) < BESIDE for other in known):
            continue
        answer_of_step = _step(step, setting)
        if answer_of_step is not None:
            known.append(time)
            causes.append(_answered(Find(time, STEP_TIME_STD, step), answer_of_step))
    causes.sort(key=lambda find: find.time)
    # Finds that answer the same step of a command are one.
    times = [None if find.command is None else find.command.time for find in causes]
    return [find for place, find in enumerate(causes) if times[place] is None or times[place] not in times[:place]]


def _accelerates_on(find: Find, setting: Setting) -> Answer | None:
    candidate = find.candidate
    jump, (before, after) = candidate.strongest.jump, candidate.speed
    if np.abs(before).max() < REST and after @ jump > GOES_ON * (jump @ jump):
        return Answer("motion_start", "the arm rests before it and goes on to accelerate in the direction of the jump")
    return None


def _commanded_from_rest(find: Find, setting: Setting) -> Answer | None:
    if np.abs(find.candidate.speed[0]).max() >= REST:
        return None
    # What a controller does about a contact comes after it.
    command = setting.command_near(find.time, -find.time_std)
    if command is None:
        return None
    return Answer("motion_start", f"the arm rests before it, and {setting.words(command, find.time)}", command)


def _unclear_after_command(find: Find, setting: Setting) -> Answer | None:
    shown = find.candidate.unexplained is None
    if shown and (not setting.follows(find.time) or find.candidate.gain >= JUMP_ODDS):
        return None
    # A controller that answers a first contact does so within a sample of it.
    command = setting.command_near(find.time, -(1.0 if shown else BY_TORQUES) * find.time_std)
    if command is None:
        return None
    words = f"a jump of the velocity is not clear, and {setting.words(command, find.time)}"
    return Answer(_driven(find.candidate), f"{words}{_resting(find.candidate)}", command)


def _contact(find: Find, setting: Setting) -> Answer:
    evidence = _jump_in_words(find.candidate, setting.joint_names)
    if not setting.follows(find.time):
        return Answer(CONTACT, evidence)
    return Answer(SECOND_CONTACT, f"{evidence}, {1e3 * (find.time - setting.contacts[-1]):.0f} ms after a contact")


OF_JUMPS: tuple[Callable[[Find, Setting], Answer | None], ...] = (
    _accelerates_on,
    _commanded_from_rest,
    _unclear_after_command,
    _contact,
)
"""Tests of a jump of the velocity, in order; the last one always answers."""


def _step(step: Candidate, setting: Setting) -> Answer | None:
    """The cause of a step of the acceleration; None where it is not clear enough."""
    time, commands = step.step_time, setting.commands
    command = setting.command_near(time)
    shown = commands is not None and commands.tells_torques(time)
    least = STEPS_COMMANDED if command else STEPS_REFUTED if shown else STEPS_MOVING
    if step.step_gain < (min(STEPS, least) if _rests(step) else least):
        return None
    words = f", {setting.words(command, time)}" if command else ""
    evidence = (
        f"no velocity jumps; a step of the acceleration is {_odds(step.step_gain)} likelier than none"
        f"{words}{_resting(step)}"
    )
    cause = _driven(step)
    return Answer(cause, evidence + (DOUBT if shown and not command and cause == "command_step" else ""), command)


def _answered(find: Find, answer: Answer) -> Find:
    """A find with its cause, at the time of the command that it answers: elastic joints show it milliseconds later."""
    cause, evidence, command = answer
    if command is None or command.time > find.time:
        # Stamps that are not exact: what is seen in the joints is as good.
        return replace(find, cause=cause, evidence=evidence, command=command)
    spread = float(np.hypot(command.time_std, COMMAND_STAMP_STD))
    return replace(find, time=command.time, time_std=spread, cause=cause, evidence=evidence, command=command)


def largest_jump(joint_names: Sequence[str], jump: Array, jump_std: Array) -> str:
    """Clause about the joint whose velocity jump (n,), rad/s, is the largest beyond its standard error."""
    joint = int(np.argmax(np.abs(jump) - jump_std))
    # The samples don't resolve less than a hundredth.
    error = max(float(jump_std[joint]), 0.01)
    return f"the velocity of {joint_names[joint]} jumps by {jump[joint]:.2f} +- {error:.2f} rad/s"


def _jump_in_words(candidate: Candidate, joint_names: Sequence[str]) -> str:
    branches = candidate.strongest
    size = largest_jump(joint_names, branches.jump, branches.jump_std)
    if candidate.gap:
        size += f" across {1e3 * candidate.gap:.0f} ms without samples"
    odds = _odds(candidate.gain)
    if candidate.unexplained is not None:
        return f"{size} beyond what the measured torques do: {odds} likelier than none"
    return f"{size}: {odds} likelier than a step of the acceleration with an oscillation"


def _odds(logarithm: float) -> str:
    """How many times likelier, in words first."""
    power = logarithm / np.log(10.0)
    words = "practically certain" if power >= CERTAIN_ODDS else "likely"
    return f"{words}, over 10^{MOST_ODDS:.0f} times" if power > MOST_ODDS else f"{words}, 10^{power:.0f} times"


def _driven(candidate: Candidate) -> str:
    return "motion_start" if _rests(candidate) else "command_step"


def _resting(candidate: Candidate) -> str:
    if not _rests(candidate):
        return ""
    before, after = _fastest(candidate)
    return f", and the arm rests {'before' if before < after else 'after'} it"


def _rests(candidate: Candidate) -> bool:
    """Whether the arm rests on one side and moves on the other."""
    sides = _fastest(candidate)
    return min(sides) < REST and max(sides) > MOVES


def _fastest(candidate: Candidate) -> tuple[float, float]:
    """Speed of the fastest joint before and after, rad/s."""
    before, after = np.abs(candidate.speed).max(axis=1).tolist()
    return before, after
