"""Causes of finds: hand-made candidates with one likelier explanation each."""

from dataclasses import replace

import numpy as np
import pytest

from impact_aware.estimation.branch_model import Branches
from impact_aware.estimation.unexplained_jump import UnexplainedJump
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.candidate import JUMP_ODDS, SECOND_JUMP_ODDS, Candidate
from impact_aware.recordings.command_track import CommandTrack
from impact_aware.recordings.event_cause import find_causes
from impact_aware.recordings.impact_finder import Find

NAMES = ("shoulder", "elbow")


def candidate(
    time: float,
    *,
    kink: float = 0.0,
    step: float = 0.0,
    moving: float = 0.4,
    after: float = 0.7,
) -> Candidate:
    """Log likelihoods above that of a smooth motion; the fastest joint moves at `moving` before, rad/s."""
    branches = Branches(
        time=time,
        time_std=1e-3,
        jump=np.array([0.05, -0.42]),
        jump_std=np.array([0.02, 0.03]),
        smooth=100.0,
        plain=60.0,
        step=100.0 + step,
        step_time=time,
        kink=100.0 + kink,
    )
    speed = np.array([[moving, 0.0], [-0.001, after]])
    return Candidate(time, branches, speed, 5e-3, JUMP_ODDS)


def found(candidate: Candidate) -> Find:
    return Find(candidate.instant, 1e-3, candidate, ("fusion",), None, ArmSamples(np.zeros(0), np.zeros((0, 2))))


def test_a_jump_is_a_contact_and_the_next_a_second_one() -> None:
    causes = find_causes([found(candidate(1.45, kink=40.0)), found(candidate(1.2, kink=60.0))], [], NAMES)
    assert [(cause.time, cause.cause) for cause in causes] == [(1.2, "contact"), (1.45, "second_contact")]
    assert "elbow jumps by -0.42 +- 0.03 rad/s" in causes[0].evidence
    assert "250 ms after a contact" in causes[1].evidence
    late = find_causes([found(candidate(1.2, kink=60.0)), found(candidate(1.51, kink=40.0))], [], NAMES)
    assert [cause.cause for cause in late] == ["contact", "contact"]
    # A joint that is known far better, and jumps less, is not the one that is named.
    known = replace((first := candidate(1.2, kink=60.0)).branches, jump_std=np.array([1e-4, 0.03]))
    (only,) = find_causes([found(replace(first, branches=known))], [], NAMES)
    assert "elbow jumps" in only.evidence


@pytest.mark.parametrize(("moving", "cause"), [(0.4, "command_step"), (0.0, "motion_start")])
def test_a_step_of_the_acceleration_is_named_by_rest_beside_it(moving: float, cause: str) -> None:
    (only,) = find_causes([], [candidate(2.0, step=30.0, moving=moving)], NAMES)
    assert only.cause == cause and "10^13" in only.evidence


@pytest.mark.parametrize(("step", "moving", "seen"), [(13.0, 0.4, 0), (15.0, 0.4, 1), (13.0, 0.0, 1), (7.0, 0.0, 0)])
def test_a_step_in_motion_has_to_be_more_certain_than_one_from_rest(step: float, moving: float, seen: int) -> None:
    assert len(find_causes([], [candidate(2.0, step=step, moving=moving)], NAMES)) == seen


def test_a_step_that_elastic_joints_pass_on_is_asked_of_the_momentum_where_commands_are_left_in_it() -> None:
    """It is the same step whether the links follow at once or swing; measured torques take what it does off."""
    first = candidate(2.0, step=3.0)
    passed_on = replace(first.branches, smooth=170.0, step=175.0, carried=186.0, step_time=1.993)
    for driven, step_gain, time in ((False, 16.0, 1.993), (True, 3.0, 2.0)):
        both = replace(first, explained=passed_on, driven=driven)
        assert both.step_gain == pytest.approx(step_gain) and both.step_time == time
        assert [(cause.time, cause.cause) for cause in find_causes([], [both], NAMES)] == (
            [(1.993, "command_step")] if not driven else []
        )
    assert replace(first, branches=passed_on).step_gain == pytest.approx(16.0)
    # As likely as it is of the joints, one of the momentum's smooth motions may be likelier.
    assert replace(first, explained=replace(passed_on, step=90.0, carried=80.0)).step_gain == pytest.approx(-67.0)
    # A wrong sample that explains all is no step of a command.
    spoilt = replace(passed_on, spoilt=passed_on.smooth + 10.0)
    assert replace(first, branches=spoilt).step_gain == pytest.approx(6.0)


def test_a_jump_from_rest_that_goes_on_is_the_start_of_a_motion() -> None:
    """The elbow jumps by -0.42 rad/s; what was hit is no faster afterwards."""
    (only,) = find_causes([found(candidate(1.2, kink=60.0, moving=0.002, after=-0.75))], [], NAMES)
    assert only.cause == "motion_start" and "goes on to accelerate" in only.evidence
    for moving, after in ((0.002, -0.4), (0.002, 0.75), (0.02, -0.75)):
        (only,) = find_causes([found(candidate(1.2, kink=60.0, moving=moving, after=after))], [], NAMES)
        assert only.cause == "contact"


def commands(step_time: float, size: float = 6.0) -> CommandTrack:
    """To the elbow; 0.5 N m of motion besides."""
    times = 0.9 + 1e-3 * np.arange(1200)
    values = np.stack((0.5 * np.sin(3.0 * times), 2.0 + size * (times > step_time)), axis=1)
    return CommandTrack(times, values + 1e-6 * np.random.default_rng(0).standard_normal(values.shape), "commands")


def test_a_step_that_answers_a_command_needs_less_evidence_and_is_when_the_command_steps() -> None:
    """Between two commands 1 ms apart; a command whose stamp is after the step has no say in when."""
    contact = found(candidate(1.2, kink=60.0))
    for step, after in ((5.0, 0.7), (30.0, 0.7)):
        _, only = find_causes([contact], [candidate(1.268, step=step, after=after)], NAMES, commands(1.2543))
        assert only.cause == "command_step" and only.time == pytest.approx(1.2545, abs=1e-9)
        assert only.time_std == pytest.approx(np.hypot(1e-3 / np.sqrt(12.0), 1e-3), rel=1e-6)
        assert only.evidence.endswith("the command to elbow steps by 6 N m 14 ms before it")
    _, only = find_causes([contact], [candidate(1.4, step=5.0)], NAMES, commands(1.4015, -6.0))
    assert only.evidence.endswith("the command to elbow steps by -6 N m 2 ms after it") and only.time == 1.4
    assert len(find_causes([], [candidate(1.4, step=3.0)], NAMES, commands(1.4))) == 0
    (start,) = find_causes([], [candidate(1.26, step=5.0, moving=0.0)], NAMES, commands(1.255))
    assert start.cause == "motion_start" and "steps by 6 N m" in start.evidence
    (start,) = find_causes([found(candidate(1.2, kink=60.0, moving=0.002))], [], NAMES, commands(1.1903))
    assert start.cause == "motion_start" and start.time == pytest.approx(1.1905, abs=1e-9)


@pytest.mark.parametrize(("late", "cause"), [(0.0, "contact"), (0.0014, "contact"), (0.003, "command_step")])
def test_what_only_torques_show_just_after_a_step_of_the_command_is_no_contact(late: float, cause: str) -> None:
    """No contact went before; joints that show a jump as clearly make it a contact."""
    left = UnexplainedJump(1.2, 5e-4, np.array([0.05, -0.42]), np.array([0.02, 0.03]), 90.0)
    hardly = replace(candidate(1.2), unexplained=left)
    find = Find(1.2, hardly.time_std, hardly, ("two_sided",))
    (only,) = find_causes([find], [], NAMES, commands(1.2 - late))
    assert only.cause == cause
    (only,) = find_causes([find], [], NAMES)
    assert only.cause == "contact"
    (only,) = find_causes([found(candidate(1.2, kink=60.0))], [], NAMES, commands(1.2 - late))
    assert only.cause == "contact"


def test_two_finds_that_answer_one_step_of_a_command_are_one() -> None:
    early, late = (candidate(time, step=30.0) for time in (1.2451, 1.2704))
    (step,) = find_causes([], [early, late], NAMES, commands(1.2523))
    assert (step.cause, step.time) == ("command_step", 1.2451)
    assert len(find_causes([], [early, late], NAMES, commands(1.2445))) == 2


def test_a_command_that_answers_a_contact_is_no_cause() -> None:
    contact = found(candidate(1.2, kink=60.0))
    for late in (1.201, 1.224):
        assert len(find_causes([contact], [candidate(1.23, step=5.0)], NAMES, commands(late))) == 1, late
    (only,) = find_causes([contact], [], NAMES, commands(1.199))
    assert only.cause == "contact"


@pytest.mark.parametrize(
    ("step", "moving", "unit", "seen"),
    [(22.0, 0.4, "N m", 0), (30.0, 0.4, "N m", 1), (22.0, 0.4, "rad", 1), (22.0, 0.0, "N m", 1)],
)
def test_recorded_torques_that_do_not_step_speak_against_a_step_in_motion(
    step: float, moving: float, unit: str, seen: int
) -> None:
    """Of positions that are commanded the second derivative steps, which no one sees; a start is seen all the same."""
    track = replace(commands(3.0), unit=unit)
    causes = find_causes([], [candidate(1.4, step=step, moving=moving)], NAMES, track)
    assert len(causes) == seen
    # What is said to be a step all the same is doubted where they would show it.
    doubted = [cause for cause in causes if "no step there, so that something may push" in cause.evidence]
    assert len(doubted) == (1 if step == 30.0 else 0)
    # Commands of another time say nothing.
    late = replace(track, times=track.times + 2.0)
    assert len(find_causes([], [candidate(1.4, step=step, moving=moving)], NAMES, late)) == 1


def test_a_jump_from_rest_that_was_commanded_is_the_start_of_a_motion() -> None:
    """A controller that answers a contact does so after it; and what moves already is not started."""
    resting, moving = (found(candidate(1.2, kink=60.0, moving=speed)) for speed in (0.002, 0.4))
    (start,) = find_causes([resting], [], NAMES, commands(1.1955))
    assert start.cause == "motion_start"
    assert start.evidence == "the arm rests before it, and the command to elbow steps by 6 N m 4 ms before it"
    for find, step in ((resting, 1.2005), (resting, 1.17), (moving, 1.1955)):
        (only,) = find_causes([find], [], NAMES, commands(step))
        assert only.cause == "contact", step


@pytest.mark.parametrize(
    ("time", "gain", "step", "moving", "cause"),
    [
        (1.4, 8.0, 1.395, 0.4, "command_step"),
        (1.4, 8.0, 1.395, 0.0, "motion_start"),
        (1.4, 14.0, 1.395, 0.4, "second_contact"),
        (1.4, 8.0, 1.4055, 0.4, "second_contact"),
        (1.4, 8.0, 1.37, 0.4, "second_contact"),
        # Long after a contact a jump is no answer of the command.
        (1.58, 8.0, 1.575, 0.4, "contact"),
    ],
)
def test_a_second_jump_just_after_a_step_of_the_command_has_to_be_as_clear_as_a_first(
    time: float, gain: float, step: float, moving: float, cause: str
) -> None:
    contact = found(candidate(1.2, kink=60.0))
    second = found(replace(candidate(time, kink=gain, moving=moving), threshold=SECOND_JUMP_ODDS))
    _, only = find_causes([contact, second], [], NAMES, commands(step))
    assert only.cause == cause
    if cause == "command_step":
        said = "a jump of the velocity is not clear, and the command to elbow steps by 6 N m 4 ms before it"
        assert only.evidence == said


def test_the_evidence_of_a_jump_is_that_of_the_more_sensitive_view() -> None:
    """The momentum where it says more than the joints, else the joints."""
    first = candidate(1.2, kink=60.0)
    momentum = replace(first.branches, jump=np.array([0.33, -0.1]), jump_std=np.array([0.03, 0.02]), kink=170.0)
    (only,) = find_causes([found(replace(first, explained=momentum))], [], NAMES)
    assert "shoulder jumps by 0.33 +- 0.03" in only.evidence and "10^20" in only.evidence
    (only,) = find_causes([found(replace(first, explained=replace(momentum, kink=150.0)))], [], NAMES)
    assert "elbow jumps by -0.42 +- 0.03" in only.evidence


def test_a_jump_has_to_be_likelier_than_all_else_that_either_view_explains() -> None:
    first = candidate(1.2, kink=60.0)
    for name, value in (("smooth", 150.0), ("step", 150.0)):
        momentum = replace(first.branches, **{"kink": 161.0, name: value})
        both = replace(first, explained=momentum)
        assert both.gain == pytest.approx(11.0) and not both.is_jump, name
        assert replace(both, threshold=SECOND_JUMP_ODDS).is_jump
        assert replace(both, explained=replace(momentum, kink=163.0)).is_jump
    # Also where the positions alone explain the motion without one.
    smooth = replace(first.branches, smooth=155.0)
    for kink, jumps in ((166.0, False), (168.0, True)):
        assert replace(first, branches=smooth, explained=replace(first.branches, kink=kink)).is_jump == jumps
    weak = candidate(1.2, kink=30.0)
    for kink, jumps in ((154.0, False), (155.0, True)):
        momentum = replace(weak.branches, kink=kink, carried=150.0)
        assert replace(weak, explained=momentum).is_jump == jumps
        alone = replace(weak, branches=momentum)
        assert alone.is_jump == jumps and alone.over_step == pytest.approx(kink - 150.0)


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (45.0, "practically certain, 10^20 times likelier"),
        (49.0, "practically certain, over 10^20 times likelier"),
        (12.0, "rad/s: likely, 10^5 times likelier"),
    ],
)
def test_odds_that_no_model_is_right_enough_for_are_not_written(gain: float, words: str) -> None:
    (only,) = find_causes([found(candidate(1.2, kink=gain))], [], NAMES)
    assert words in only.evidence
