"""Jumps of the velocity in a stream of positions of any length, each compared with a brake and an oscillation.

Candidates of `kink_candidates` are tested by `branch_model`, the strongest first, in windows that end where another
jump has been found: the motion on its other side is not that of the same branch.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.branch_model import TOUCHES
from impact_aware.estimation.priors import TOUCHING_TWICE
from impact_aware.estimation.sample_noise import Noise, noise_of
from impact_aware.recordings.arm_samples import ArmSamples, joined
from impact_aware.recordings.candidate import JUMP_ODDS, SECOND_JUMP_ODDS, SMALLEST, STEEPEST, Candidate
from impact_aware.recordings.kink_candidates import find_candidates, smallest_jump
from impact_aware.recordings.kink_trial import LEAST_AFTER, LEAST_BEFORE, KinkTrial, try_instant
from impact_aware.recordings.momentum_evidence import MomentumEvidence
from impact_aware.recordings.torque_verdict import ask_torques, is_open
from impact_aware.robot import RobotModel

BEFORE, AFTER = 0.060, 0.040
"""Reach of the samples that are looked at around an instant, s."""

MOST_SAMPLES = 50
"""Samples in a window beyond which its reach is shortened; at 1 kHz it is still 50 ms."""

FOLLOWS = 0.4
"""Time after a jump in which others are expected, s."""

LEAST_RETRIED_ODDS = -20.0
"""Log-odds of a candidate below which it is not tested again once its neighbours are known."""

CLEAR = 3.5
"""Ratio of a jump clear of noise to the smallest that makes a candidate: measured as 1.6 to 4 from 100 to 1000 Hz."""

CLOSEST = 0.012
"""Two jumps are at least this and two periods apart, s."""

MARGIN = 0.12
"""Samples on both sides of a tested instant that are kept for it, s."""

PIECE = 4096
"""Samples that are tested at a time."""

LEAST_GAP = 2.5
"""Time between two samples, in sampling periods, from which a jump between them is looked for as such."""

LONGEST_GAP, LONGEST_BRIDGED = 5.0, 0.06
"""Time between two samples, in sampling periods and s, whichever is longer, up to which their motion is compared."""

LONGEST_PAUSE = 1.0
"""Time between two samples from which the arm was not recorded on purpose, s."""

STILL = 2e-5
"""Motion of the fastest joint across a gap from which the arm moves, rad."""

HIDES = 0.1
"""Jump of the fastest joint that a gap may hide, two standard errors included, for it to be named, rad/s."""

MOST_CANDIDATES, MOST_PER_SECOND = 60, 2.0
"""Candidates that are tested in a row, and per second of the recording for long."""

SERIES = 0.1
"""Time without a candidate after which one begins a series of its own, s: a hit begins that of its oscillation."""


class KinkFinder:
    """Finds jumps in one arm's positions.

    Attributes:
        candidates: Every candidate that was tested, in no order; jumps among them have `is_jump`.
        smallest: Smallest jump of a joint at rest that the noise lets be seen, rad/s; NaN before it is known.
        tests: Calls of the expensive test.
        untested: Candidates beyond `MOST_CANDIDATES` and `MOST_PER_SECOND`, which were not tested.
        gaps: Begin and end of gaps in a motion which may hide a jump, s.
    """

    def __init__(self, period: float, robot: RobotModel | None = None) -> None:
        """Prepare.

        Args:
            period: Time between two samples, s.
            robot: The arm, where it is known: measured torques then add evidence.
        """
        self._period = period
        self._momentum = None if robot is None else MomentumEvidence(robot)
        self._samples = ArmSamples(np.zeros(0), np.zeros((0, 0)))
        self._longest = max(LONGEST_GAP * period, LONGEST_BRIDGED)
        self._from = -np.inf
        self._jumps: list[float] = []
        self.candidates: list[Candidate] = []
        self.smallest = np.nan
        self.tests = 0
        self.untested = 0
        self._trials: dict[tuple[float, ...], KinkTrial | None] = {}
        self._allowed = float(MOST_CANDIDATES)
        self.gaps: list[tuple[float, float]] = []

    @property
    def smallest_jump(self) -> float:
        """Smallest jump that is reported as one, away from brakes and oscillations, rad/s; NaN before it is known.

        Good to a factor of about 2: what convinces depends on how many joints jump.
        """
        known = np.isfinite(self.smallest)
        return max(SMALLEST, STEEPEST * self._period, CLEAR * self.smallest) if known else np.nan

    def feed(self, samples: ArmSamples) -> None:
        """Take samples in, as `InputStage` gives them."""
        times = samples.times
        if not len(times):
            return
        std = np.zeros_like(times) if samples.time_std is None else samples.time_std
        samples = replace(samples, velocities=None, time_std=std)
        breaks = np.flatnonzero((np.diff(times) <= 0.0) | (np.diff(times) > self._longest)) + 1
        for rows in np.split(np.arange(len(times)), breaks):
            self._append(samples.rows(rows))
        if len(self._samples.times) >= PIECE:
            self._work(final=False)

    def finish(self) -> None:
        """No more samples come."""
        self._work(final=True)
        self._samples = self._samples.rows(slice(0, 0))

    def _append(self, part: ArmSamples) -> None:
        held = self._samples
        if len(held.times) and not 0.0 < part.times[0] - held.times[-1] <= self._longest:
            if held.times[-1] < part.times[0] < held.times[-1] + LONGEST_PAUSE:
                step = np.abs(part.positions[0] - held.positions[-1]).max()
                if step > SMALLEST * (part.times[0] - held.times[-1]):
                    self.gaps.append((float(held.times[-1]), float(part.times[0])))
            self.finish()
            self._from = -np.inf
            held = self._samples
        self._samples = part if not len(held.times) else joined([held, part])

    def _work(self, *, final: bool) -> None:
        times, positions = self._samples.times, self._samples.positions
        if len(times) < LEAST_BEFORE + LEAST_AFTER + 2:
            return
        until = np.inf if final else times[-1] - MARGIN
        noise = noise_of(times, positions)
        if self._momentum is not None:
            self._samples = self._momentum.know(self._samples)
        self.smallest = np.fmin(self.smallest, smallest_jump(noise, self._period))
        maxima, strengths = find_candidates(times, positions, self._period, noise, self._samples.time_std)
        begin = max(self._from, float(times[0]))
        due = (maxima >= begin) & (maxima < until)
        instants = maxima[due][np.argsort(-strengths[due])].tolist()
        gaps = [middle for middle in self._moving_gaps() if begin <= middle < until]
        if gaps:
            instants = [*gaps, *(instant for instant in instants if not self._gap_at(instant, self._period))]
        self._allowed = min(MOST_CANDIDATES, self._allowed) + MOST_PER_SECOND * (min(until, times[-1]) - begin)
        count = len(self.candidates)
        self._test(noise, np.array(self._chosen(instants)))
        clear = [each.instant for each in self.candidates[count:] if each.is_jump or each.largest_jump < HIDES]
        spans = [edges for middle in gaps if (edges := self._gap_at(middle)) is not None]
        self.gaps += [(begin, end) for begin, end in spans if not any(begin <= instant <= end for instant in clear)]
        self._from = until
        self._trials.clear()
        keep = int(np.searchsorted(times, until - MARGIN)) if not final else len(times)
        self._samples = self._samples.rows(slice(keep, None))

    def _chosen(self, instants: list[float]) -> list[float]:
        """Instants that are tested, in their order: where a series of them begins, and the first ones of the others."""
        most = int(self._allowed)
        self._allowed -= min(most, len(instants))
        if len(instants) <= most:
            return instants
        self.untested += len(instants) - most
        series = np.sort(instants)
        begins = set(series[np.diff(series, prepend=-np.inf) > SERIES].tolist())
        chosen = set(sorted(instants, key=lambda instant: instant not in begins)[:most])
        return [instant for instant in instants if instant in chosen]

    def _moving_gaps(self) -> list[float]:
        """Middles of the gaps in which the arm moves, s."""
        times, positions = self._samples.times, self._samples.positions
        places = np.flatnonzero(np.diff(times[2:-2]) > LEAST_GAP * self._period) + 2
        places = places[np.abs(positions[places + 1] - positions[places]).max(axis=1) > STILL]
        return (0.5 * (times[places] + times[places + 1])).tolist()

    def _gap_at(self, instant: float, near: float = 0.0) -> tuple[float, float] | None:
        """Begin and end of the gap that an instant is in, or as near to, s; None without one."""
        times = self._samples.times
        first, last = np.searchsorted(times, (instant - near, instant + near)).tolist()
        edges = times[max(first - 1, 0) : last + 1]
        if len(edges) < 2:
            return None
        place = int(np.argmax(np.diff(edges)))
        begin, end = float(edges[place]), float(edges[place + 1])
        return (begin, end) if end - begin > LEAST_GAP * self._period else None

    def _test(self, noise: Noise, instants: Array) -> None:
        first: list[Candidate] = []
        beside: list[float] = []
        for instant in instants.tolist():
            candidate = self._tested_at(noise, instant)
            if candidate is None:
                beside.append(instant)
            else:
                first.append(candidate)
                if candidate.is_jump:
                    self._jumps.append(candidate.strongest.time)
        # Second test with the neighbours known: they end the windows, and make another contact likelier.
        found: list[Candidate] = []
        for old in first:
            new = old
            if old.is_jump:
                self._jumps.remove(old.strongest.time)
                threshold = SECOND_JUMP_ODDS if self._follows(old.strongest.time) else JUMP_ODDS
                new = self._tested_at(noise, self._centre(old), threshold) or old
            elif old.gain > LEAST_RETRIED_ODDS and self._follows(old.strongest.time):
                new = self._tested_at(noise, old.instant, SECOND_JUMP_ODDS) or old
            if new.is_jump:
                self._jumps.append(new.strongest.time)
            found.append(new)
        # Candidates next to a jump that the second test has rejected have not been tested yet.
        for instant in beside:
            late = self._tested_at(noise, instant, SECOND_JUMP_ODDS if self._follows(instant) else JUMP_ODDS)
            if late is not None:
                found.append(late)
                if late.is_jump:
                    self._jumps.append(late.strongest.time)
        for place, candidate in enumerate(found):
            if candidate.is_jump:
                self._jumps.remove(candidate.strongest.time)
                refined = self._tested_at(noise, self._centre(candidate), candidate.threshold, refine=True)
                found[place] = candidate if refined is None or not refined.is_jump else refined
                self._jumps.append(found[place].strongest.time)
        torques = None
        if self._momentum is not None and any(map(is_open, found)):
            torques = self._momentum.unexplained(self._samples, noise)
        if torques is not None:
            found = ask_torques(torques, found)
            begin, end = self._samples.times[[0, -1]].tolist()
            self._jumps = [jump for jump in self._jumps if not begin <= jump <= end]
            self._jumps += [candidate.strongest.time for candidate in found if candidate.is_jump]
        self.candidates += found

    def _centre(self, jump: Candidate) -> float:
        """Middle of the samples in which a jump is tested once more, s.

        It is the nearest sample: the contact's model moves the likeliest instant a little, and would move the window
        with it, while a table without a robot has the time of the bag with one.
        """
        times = self._samples.times
        return jump.instant if jump.gap else float(times[np.abs(times - jump.strongest.time).argmin()])

    def _follows(self, instant: float) -> bool:
        return any(0.0 < instant - jump < FOLLOWS for jump in self._jumps[-200:])

    def _known_before(self, jumps: Array, reach: float, end: float) -> tuple[list[float], float]:
        """Earlier jumps within the window of an instant, in order, and the begin of the window, s.

        With measured torques explained, the momentum follows one branch on both sides of a jump, so that the samples
        before it add evidence. Without them the joints oscillate from the jump on, and the window begins there.

        Args:
            jumps: Known jumps before the instant, s.
            reach: Earliest begin of the window, s.
            end: End of the window, s.
        """
        period, times = self._period, self._samples.times
        known = np.sort(jumps[jumps > reach - TOUCHES[1] * period]).tolist()
        begins = [reach, *(max(reach, jump + TOUCHES[1] * period) for jump in known)]
        place = len(known)
        while place > 0:
            span = (begins[place - 1], known[place - 1] - TOUCHES[0] * period, end)
            first, last, after = np.searchsorted(times, span).tolist()
            torques = self._momentum and self._momentum.explaining(self._samples.rows(slice(first, after)))
            if torques is None or last - first < LEAST_AFTER:
                break
            place -= 1
        return known[place:], begins[place]

    def _tested_at(
        self, noise: Noise, instant: float, threshold: float = JUMP_ODDS, *, refine: bool = False
    ) -> Candidate | None:
        jumps = np.array(self._jumps[-200:])
        closest = max(CLOSEST, 2.0 * self._period)
        if (np.abs(jumps - instant) < closest).any():
            return None
        trial = self._trial(noise, instant, jumps)
        if trial is None:
            return None
        candidate = trial.candidate(threshold, self._momentum, refine=refine)
        # One contact can't be distinguished from two that are closer than the longest contact of the model.
        closest = max(closest, TOUCHING_TWICE[-1]) if trial.earlier else closest
        return None if candidate.is_jump and (np.abs(jumps - candidate.strongest.time) < closest).any() else candidate

    def _trial(self, noise: Noise, instant: float, jumps: Array) -> KinkTrial | None:
        """Test of an instant among known jumps, s; None where samples lack.

        It is computed once for each window of samples; a second test after the neighbours are known may have the same.
        """
        period, times = self._period, self._samples.times
        edges = self._gap_at(instant)
        gap = 0.0 if edges is None else edges[1] - edges[0]
        share = min(1.0, MOST_SAMPLES * period / (BEFORE + AFTER))
        latest = instant + 0.5 * gap + max(share * AFTER, 6.0 * period)
        end = min([latest, *(jumps[jumps > instant] - TOUCHES[0] * period)])
        reach = instant - 0.5 * gap - max(share * BEFORE, 8.0 * period)
        earlier, begin = self._known_before(jumps[jumps < instant], reach, end)
        first, last = np.searchsorted(times, (begin, end)).tolist()
        key = (instant, first, last, *earlier)
        if key in self._trials:
            return self._trials[key]
        near = self._samples.rows(slice(first, last))
        trial = try_instant(near, noise, instant, self._period, edges, earlier)
        self.tests += trial is not None
        self._trials[key] = trial
        return trial
