"""What measured torques say of the candidates for a jump: which contacts joints hardly show.

A soft contact, or one whose jump a wrist's spring takes back within some samples, is a bend or a wiggle in the joints,
such as commands make too. Torques leave all of it, and nothing of commands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from impact_aware.estimation.unexplained_jump import UnexplainedJump, UnexplainedJumps
from impact_aware.recordings.candidate import SOFT, Candidate

LEFT = 60.0
"""`UnexplainedJump.gain` from which a contact that the joints hardly show is one."""

LEAST_GAIN, LEAST_STEP_GAIN = 0.0, 4.0
"""What a jump or a step of the acceleration adds to the likelihood at least where something may have happened."""

NEAR = 0.0075
"""Time from a candidate within which a jump is looked for, s."""

BESIDE, EARLIER, LATER = 0.070, 0.020, 0.045
"""Only the strongest of such jumps within this time counts, s; a jump of the joints so long before and after is it."""

FOLLOWS = 0.4
"""Time after such a contact in which what the model of the arm misses of it could be taken for another, s."""

APART = 1.5
"""Standard errors by which the instants of the joints and of the torques differ where that of the torques counts."""


def is_open(candidate: Candidate) -> bool:
    """Whether anything may have happened at a candidate, so that torques are worth asking."""
    return candidate.is_jump or candidate.gain > LEAST_GAIN or candidate.step_gain > LEAST_STEP_GAIN


def ask_torques(torques: UnexplainedJumps, found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, with what torques say of them."""
    jumps = [candidate.strongest.time for candidate in found if candidate.is_jump]
    asked: list[tuple[Candidate, UnexplainedJump]] = []
    others: list[Candidate] = []
    for candidate in found:
        time = candidate.strongest.time if candidate.is_jump else candidate.instant
        beside = [jump for jump in jumps if jump != time and abs(jump - time) < BESIDE] if candidate.is_jump else []
        seen = torques.look(time - NEAR, time + NEAR, beside) if is_open(candidate) else None
        if seen is None:
            others.append(candidate)
            continue
        asked.append((candidate, seen))
    contacts: list[float] = []
    for place in sorted(range(len(asked)), key=lambda place: -asked[place][1].gain):
        seen = asked[place][1]
        if seen.gain < LEFT or any(-BESIDE < seen.time - other < FOLLOWS for other in contacts):
            continue
        contacts.append(seen.time)
        if any(candidate.is_jump and _is_of(candidate, seen) for candidate in others):
            continue
        shown = [i for i, (candidate, _) in enumerate(asked) if candidate.is_jump and _is_of(candidate, seen)]
        own = min(shown, key=lambda i: abs(asked[i][0].strongest.time - seen.time), default=place)
        candidate = asked[own][0]
        apart = abs(candidate.strongest.time - seen.time)
        if not candidate.is_jump or apart > APART * float(np.linalg.norm((candidate.time_std, seen.time_std, SOFT))):
            asked[own] = (replace(candidate, unexplained=seen), seen)
    return [*others, *(candidate for candidate, _ in asked)]


def _is_of(candidate: Candidate, seen: UnexplainedJump) -> bool:
    """Whether a jump of the joints is that which torques do not explain."""
    return -EARLIER < candidate.strongest.time - seen.time < LATER
