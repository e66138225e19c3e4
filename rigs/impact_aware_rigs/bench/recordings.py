"""`analyze` on seeded recordings as labs make them: contacts found, missed and false, time, cause, jump; per rate."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np

from impact_aware.cli.options import MOST
from impact_aware.cli.output import progress
from impact_aware.parameters import Options, described
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.results import Analysis, AnalyzedImpact
from impact_aware.worker_pool import finished
from impact_aware_rigs.bench.lab_draw import CONTROLS
from impact_aware_rigs.bench.lab_free import free_motion
from impact_aware_rigs.bench.lab_hit import SAME_CONTACT, TrueContact, TrueHit, hit_of_seed
from impact_aware_rigs.bench.lab_recording import RATES, LabRecording, record
from impact_aware_rigs.bench.lab_stream import STEP, as_polled, as_streamed
from impact_aware_rigs.figures import p50_p95

SMALLEST_JUMP = 0.15
"""Jump of the fastest joint, rad/s, below which a contact may be detected or missed."""

TOUCH = 0.02
"""Jump of the fastest joint, rad/s, from which a detection at a contact is no false one."""

APART, SHARE = 0.030, 0.5
"""A contact counts when it is this long after the one before, s, and has this share of its jump."""

NEAR = 0.020
"""Time within which a detection is matched with a true event, s; at least one and a half periods."""

TOO_EARLY = 0.5
"""Share of the matching time by which a detection may precede its event."""

LAST = 5
"""Least number of samples after a contact that counts: with fewer, noise hides its jump."""

SWING = 0.005
"""Velocity of the joints' oscillation that makes `ringing` a true cause, rad/s."""

FREE = 30.0
"""Length of a recording of free motion, s."""

FOLLOWS = 0.3
"""A contact that follows another within this time is a second one, s."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """Hits that are simulated, recorded and analysed."""

    hits: int = described(300, "simulated hits, each recorded at every rate", 1, MOST)
    seed: int = described(1, "seed of the first hit; the others follow", 0, MOST)
    rates: tuple[int, ...] = described(RATES, "rates of the recorders", 1, 10_000, metavar="HZ")
    streamed: bool = described(False, "as robots stream: late stamps, copies, swaps, gaps, clock steps, ...")
    free: int = described(0, "recordings of 30 s of free motion, as robots stream or loggers poll them", 0, MOST)
    real: Path | None = described(
        None, "real arms that touch nothing: a folder with a folder of recordings per arm", metavar="DIR"
    )
    workers: int = described(2, "processes", 1, 1000)
    minutes: float | None = described(None, "take the hits that are done by then", 0.0, 1e6, absent="all")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the benchmark; the result's layout is `{"rates": {HZ: {...}}, ...}`. Ctrl-C ends it with what is done."""
    rates, streamed = tuple(options.rates), bool(options.streamed)
    jobs = {seed: (seed, rates, streamed) for seed in range(options.seed, options.seed + options.hits)}
    until = monotonic() + 60.0 * (math.inf if options.minutes is None else options.minutes)
    done: dict[int, dict[int, RecordingScore]] = {}
    with progress(desc="hits", total=len(jobs)) as bar, suppress(KeyboardInterrupt):
        for seed, scores in finished(jobs, score_hit, options.workers):
            done[seed] = scores
            bar.update()
            if monotonic() > until:
                break
    scores = {rate: _sum([done[seed][rate] for seed in sorted(done)]) for rate in options.rates}
    free = {place: (options.seed + place, rates[place % len(rates)]) for place in range(options.free)}
    return {
        "free": free_motions(free, options.workers) | ({} if options.real is None else real_motions(options.real)),
        "rates": {str(rate): score.as_dict() for rate, score in scores.items()},
        "trials": {"hits": len(done), "requested": options.hits, "seed": options.seed, "streamed": streamed},
    }


def free_motions(jobs: dict[int, tuple[int, int]], workers: int) -> dict[str, Any]:
    """False contacts per recorder, `streamed` or `polled`, of jobs of a seed and a rate, Hz, each."""
    found: dict[str, dict[str, Any]] = {}
    for place, (recorder, count) in finished(jobs, _false_contacts, workers):
        own = found.setdefault(recorder, {"hours": 0.0, "false_contacts": 0, "noted": []})
        own["hours"] += FREE / 3600.0
        own["false_contacts"] += count
        own["noted"] += [f"{jobs[place]}: {count}"] if count else []
    return found


def real_motions(folder: Path) -> dict[str, Any]:
    """False contacts of each arm, a folder of recordings in which nothing was touched.

    Raises:
        InvalidInputError: A recording can't be read.
    """
    found = {}
    for arm in sorted(path for path in folder.iterdir() if path.is_dir()):
        analyzed = [own for file in sorted(arm.iterdir()) for own in analyze([file], AnalysisOptions()).arms]
        found[arm.name] = {
            "hours": sum(own.last_time - own.first_time for own in analyzed) / 3600.0,
            "false_contacts": sum(len(own.impacts) for own in analyzed),
            "noted": [f"{own.file.name}: {len(own.impacts)}" for own in analyzed if own.impacts],
        }
    return found


def _false_contacts(job: tuple[int, int]) -> tuple[str, int]:
    """The recorder, and the contacts that the analysis reports in one recording of free motion."""
    seed, rate = job
    truth = free_motion(seed, FREE)
    recorder, faults = (("streamed", as_streamed), ("streamed", as_streamed), ("polled", as_polled))[seed % 3]
    recording = faults(record(truth, rate, seed), seed)
    return recorder, len(analysis_of(recording, AnalysisOptions(robot=truth.draw.robot.name)).impacts)


Job = tuple[int, tuple[int, ...], bool]
"""Seed of a hit, the rates, Hz, at which it is recorded, and whether as robots stream."""


def score_hit(job: Job) -> dict[int, RecordingScore]:
    """Record one hit at every rate, and analyse what was recorded."""
    seed, rates, streamed = job
    hit = hit_of_seed(seed, CONTROLS[seed % len(CONTROLS)])
    scores = {rate: RecordingScore() for rate in rates}
    for rate, score in scores.items():
        recording = record(hit, rate, seed)
        if streamed:
            recording = as_streamed(recording, seed)
        score.take(recording, analysis_of(recording, options_of(hit)), f"{seed}@{rate}")
    return scores


def _sum(scores: Sequence[RecordingScore]) -> RecordingScore:
    """One score of all hits, in their order."""
    total = RecordingScore()
    for score in scores:
        total.add(score)
    return total


def analysis_of(recording: LabRecording, options: AnalysisOptions) -> Analysis:
    """Write one recording as a laboratory would, and analyze it."""
    with TemporaryDirectory() as folder:
        return analyze([recording.write(Path(folder), "recording")], options)


def options_of(hit: TrueHit) -> AnalysisOptions:
    """What a user knows who was there: arm, contact point, normal and friction."""
    draw, contact = hit.draw, hit.contacts[0]
    x, y, z = contact.normal.tolist()
    a, b, c = draw.offset.tolist()
    return AnalysisOptions(robot=draw.robot.name, normal=(x, y, z), offset=(a, b, c), friction=draw.friction)


@dataclass
class RecordingScore:
    """What the analysis made of the recordings of one rate; times in ms, velocities in rad/s.

    Attributes:
        counted: Contacts that had to be found.
        found: Of those.
        false_contacts: Contacts that were reported where nothing touched.
        time_errors: Refined minus true time.
        time_ratios: The same in standard errors.
        jump_errors: Norm of estimated minus true jump, over that of the true jump.
        jump_ratios: Each joint's error of the jump in standard errors.
        finds: Everything that was reported, contact or not.
        causes_right: Of those, with the true cause.
        noted: One line for each miss, false contact or wrong cause.
    """

    counted: int = 0
    found: int = 0
    false_contacts: int = 0
    time_errors: list[float] = field(default_factory=list)
    time_ratios: list[float] = field(default_factory=list)
    jump_errors: list[float] = field(default_factory=list)
    jump_ratios: list[float] = field(default_factory=list)
    finds: int = 0
    causes_right: int = 0
    noted: list[str] = field(default_factory=list)

    def take(self, recording: LabRecording, analysis: Analysis, name: str) -> None:
        """Hold one analysis against the truth."""
        truth = recording.truth
        near = max(NEAR, 1.5 / recording.rate)
        contacts = touches(truth.contacts)
        free = list(analysis.impacts)
        for contact in counted(truth.contacts, float(recording.times[-1]) - LAST / recording.rate):
            self.counted += 1
            close = [impact for impact in free if _belongs(impact.time, contact, contacts, near)]
            if not close:
                self.noted.append(
                    f"{name} {truth.draw.control}: missed {_size(contact):.2f} rad/s at {contact.time:.3f}"
                )
                continue
            impact = min(close, key=lambda impact: abs(impact.time - contact.time))
            free.remove(impact)
            self.found += 1
            self._measure(impact, contact)
        for impact in analysis.impacts:
            if not any(abs(impact.time - contact.time) <= near for contact in contacts):
                self.false_contacts += 1
                self.noted.append(f"{name} {truth.draw.control}: false contact at {impact.time:.3f}")
        for time, cause in finds(analysis):
            self.finds += 1
            allowed = true_causes(truth, time, near)
            self.causes_right += cause in allowed
            if cause not in allowed:
                self.noted.append(f"{name} {truth.draw.control}: {cause} at {time:.3f}, is {sorted(allowed)}")

    def add(self, other: RecordingScore) -> None:
        """Add what was scored elsewhere."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def _measure(self, impact: AnalyzedImpact, contact: TrueContact) -> None:
        error = impact.time - contact.time
        self.time_errors.append(1e3 * error)
        self.time_ratios.append(abs(error) / max(impact.event.time_std, 1e-9))
        if impact.estimate is None:
            return
        estimate = impact.estimate
        errors = estimate.velocity_after - impact.velocity_before - contact.jump
        self.jump_errors.append(float(np.linalg.norm(errors) / np.linalg.norm(contact.jump)))
        self.jump_ratios += (np.abs(errors) / np.maximum(estimate.jump_error, 1e-9)).tolist()

    def as_dict(self) -> dict[str, Any]:
        """The figures for the benchmark's JSON; shares of what was counted, None where nothing was."""
        counted, within = max(self.counted, 1), np.array(self.time_ratios or [np.nan])
        return {
            "contacts": self.counted,
            "found": self.found / counted,
            "missed": self.counted - self.found,
            "false_contacts": self.false_contacts / counted,
            "time_error_ms": p50_p95(np.abs(self.time_errors)),
            "time_error_over_se": p50_p95(within) | {"within_2": float(np.mean(within <= 2.0))},
            "jump_error": p50_p95(np.array(self.jump_errors)),
            "jump_error_over_se": p50_p95(np.array(self.jump_ratios))
            | {"within_2": float(np.mean(np.array(self.jump_ratios or [np.nan]) <= 2.0))},
            "cause_right": self.causes_right / max(self.finds, 1),
            "noted": self.noted,
        }


def finds(analysis: Analysis) -> list[tuple[float, str]]:
    """Time and cause of everything that was reported, the time by the clock as it is after a step."""
    reported = [(impact.time, impact.cause) for impact in analysis.impacts]
    reported += [(event.time, event.cause) for event in analysis.other_events]
    return [(time + STEP if time < 0.0 else time, cause) for time, cause in reported]


def _swings(truth: TrueHit, begin: float, end: float) -> bool:
    """Whether the joints' elasticity swings between two times, s."""
    beside = (truth.times >= begin) & (truth.times <= end)
    return bool(np.abs(truth.velocities - truth.rigid_velocities)[beside].max(initial=0.0) > SWING)


def true_causes(truth: TrueHit, time: float, near: float) -> set[str]:
    """What a find at a time may be called, from what truly happened there."""
    allowed: set[str] = set()
    contacts = touches(truth.contacts)
    for place, contact in enumerate(contacts):
        recent = [before for before in contacts[:place] if contact.time - before.time < FOLLOWS]
        follows = bool(recent)
        if abs(time - contact.time) <= near:
            allowed |= {"second_contact", "contact_renewed"} if follows else {"contact"}
            if all(_size(before) < SMALLEST_JUMP for before in recent):
                # After touches too small to be seen for sure, it may as well be the first.
                allowed.add("contact")
            if follows and _size(contact) < SMALLEST_JUMP:
                # Too small to be distinguished from the oscillation.
                allowed |= {"ringing", "contact_lost"}
        if any(abs(time - lost) <= near for lost in (contact.lost, *contact.losses)):
            allowed.add("contact_lost")
    if "contact" not in allowed:
        allowed |= {cause for when, cause in truth.switches if abs(time - when) <= near}
        allowed |= _commanded(truth, time, near)
    touched = any(contact.time < time for contact in contacts)
    # Where a contact is lost without a jump, what the joints do is still to swing.
    if allowed <= {"contact_lost"} and touched and _swings(truth, time - near, time + near):
        allowed.add("ringing")
    early = TOO_EARLY * near
    if touched and not _happens(truth, time - near, time + early) and _swings(truth, time - near, time + early):
        # What comes after the find is not what it shows.
        allowed.add("ringing")
    return allowed


def _happens(truth: TrueHit, begin: float, end: float) -> bool:
    """Whether a contact is made, or the command changes, between two times, s."""
    times = [contact.time for contact in touches(truth.contacts)]
    return any(begin <= time <= end for time in [*times, *(when for when, _ in truth.switches)])


def _commanded(truth: TrueHit, time: float, near: float) -> set[str]:
    """What the command does about a time besides its switches."""
    allowed = set()
    begin, end = truth.draw.rest, truth.draw.rest + truth.draw.ramp
    if truth.draw.soft_start and begin - near <= time <= end + near:
        # It has no instant: the acceleration rises all the while.
        allowed.add("motion_start")
    for when, cause in truth.switches:
        if cause == "motion_start" and when > end and abs(time - when) <= near:
            after = (truth.times > when) & (truth.times <= when + near)
            fastest = np.abs(truth.velocities[after]).max(initial=0.0)
            # The end of a brake, which steps the command; that the arm rests then is hidden where its joints swing.
            allowed |= {"command_step"} if fastest > SWING else set()
    return allowed


def _belongs(time: float, contact: TrueContact, contacts: Sequence[TrueContact], near: float) -> bool:
    """Whether a find at a time is that of one contact, and not that of another which is nearer."""
    away = abs(time - contact.time)
    return away <= near and all(abs(time - other.time) >= away for other in contacts)


def counted(contacts: Sequence[TrueContact], until: float = np.inf) -> list[TrueContact]:
    """The contacts that have to be found, of those until a time, s."""
    counted = []
    for place, contact in enumerate(contacts):
        before = contacts[place - 1] if place else None
        if _size(contact) < SMALLEST_JUMP or contact.time > until:
            continue
        if before is not None and contact.time - before.lost < SAME_CONTACT:
            # It came off for some milliseconds only: a tip that rattles on what it touches is one contact.
            continue
        if before is None or (contact.time - before.time >= APART and _size(contact) >= SHARE * _size(before)):
            counted.append(contact)
    return counted


def touches(contacts: Sequence[TrueContact]) -> list[TrueContact]:
    """The contacts that show at all."""
    return [contact for contact in contacts if _size(contact) >= TOUCH]


def _size(contact: TrueContact) -> float:
    return float(np.abs(contact.jump).max())
