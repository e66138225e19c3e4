"""Jumps of the velocity in a stream of positions of any length, each held against a brake and an oscillation.

Candidates of `kink_candidates` are judged by `branch_model`, the strongest first, in windows that end where another
jump has been found: the motion on its other side is not that of the same branch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.branch_model import Branches, BranchModel
from impact_aware.estimation.sample_noise import Noise, noise_of
from impact_aware.recordings.kink_candidates import find_candidates, smallest_jump

BEFORE, AFTER = 0.060, 0.040
"""Reach of the samples that are looked at around an instant, s."""

LEAST_BEFORE, LEAST_AFTER = 5, 4
"""Samples there are at least."""

MOST_SAMPLES = 50
"""Samples in a window beyond which its reach is shortened; at 1 kHz it is still 50 ms."""

SEARCH = 0.0075
"""The instant is looked for within this time and half a period of a candidate, s."""

SURE, AGAIN = 12.0, float(np.log(30.0))
"""Logarithm of how much more likely a jump must make the samples than a step of the acceleration and an oscillation;
the same within `FOLLOWS` after another jump, where a second one is no surprise: one or two of some 40 candidates."""

FOLLOWS = 0.4
"""Time after a jump in which others are expected, s."""

HOPELESS = -20.0
"""The same as `SURE`, below which nothing known of the neighbours makes it a jump."""

REFINED = 3e-3
"""The time is refined within this time or 1.2 periods of the likeliest one, s."""

CERTAIN = 30.0
"""The same, from which no jump of a joint needs to be clear by itself."""

SIZE = 2.0
"""Standard errors that the jump of some joint must have."""

SMALLEST, STEEPEST = 0.02, 18.0
"""Jump of the fastest joint below which nothing is reported as one, rad/s, and what a command can do instead, rad/s^2:
within one sampling period it changes the velocity as much as a jump. Just after another jump half of it counts."""

LEAST_TIME_STD, LEAST_TIME_SHARE = 3.5e-4, 0.08
"""Of the time, s, and in periods: a contact takes some milliseconds, and how its force rises is not seen."""

CONVINCES = 3.5
"""A jump that convinces against noise, in those that just make a candidate: 1.6 to 4 were found from 100 to 1000 Hz."""

CLOSEST = 0.012
"""Two jumps are at least this and two periods apart, s."""

MARGIN = 0.12
"""Samples on both sides of what is judged that are kept for it, s."""

PIECE = 4096
"""Samples that are judged at a time."""

LONGEST_GAP = 5.0
"""Sampling periods without a sample after which positions are a stretch of their own."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A candidate and what became of it.

    Attributes:
        instant: Of the candidate, s.
        branches: What the samples around it tell.
        speed: (2, n) Mean velocities before and after it, rad/s.
        far: (2, n) Those of the halves of the samples that are farther away from it, rad/s.
        period: Time between two samples, s.
        sure: `gain` that a jump must have here.
    """

    instant: float
    branches: Branches
    speed: Array
    far: Array
    period: float
    sure: float

    @property
    def gain(self) -> float:
        """Logarithm of how much more likely a jump makes the samples than anything smooth."""
        return self.branches.kink - max(self.branches.step, self.branches.smooth)

    @property
    def time_std(self) -> float:
        """Standard error of the time of a jump, s."""
        least = np.hypot(LEAST_TIME_STD, LEAST_TIME_SHARE * self.period)
        return float(np.hypot(self.branches.time_std, least))

    @property
    def is_jump(self) -> bool:
        """Whether the velocity has jumped."""
        size = np.abs(self.branches.jump)
        share = 1.0 if self.sure == SURE else 0.5
        if self.branches.carried > self.branches.kink:
            # A step of the command at the motors explains it better.
            return False
        if self.gain < self.sure or size.max() < max(SMALLEST, share * STEEPEST * self.period):
            return False
        # An oscillation that begins shares the jump with it, so that neither is known well while both are certain.
        return self.gain > CERTAIN or bool((size > SIZE * self.branches.jump_std).any())


class KinkFinder:
    """Finds jumps in one arm's positions.

    Attributes:
        judged: Every candidate that was judged, in no order; jumps among them have `is_jump`.
        smallest: Smallest jump of a joint at rest that the noise lets be seen, rad/s; NaN before it is known.
    """

    def __init__(self, period: float, response: Callable[[Array], Array | None]) -> None:
        """Prepare.

        Args:
            period: Time between two samples, s.
            response: From a posture (n,) to `impulse_response` of `BranchModel`.
        """
        self._period, self._response = period, response
        self._times: Array = np.zeros(0)
        self._positions: Array = np.zeros((0, 0))
        self._from = -np.inf
        self._jumps: list[float] = []
        self._suspects: list[float] = []
        self.judged: list[Judged] = []
        self.smallest = np.nan

    @property
    def until(self) -> float:
        """Everything before this time has been judged, s."""
        return self._from

    @property
    def smallest_jump(self) -> float:
        """Smallest jump that is reported as one, away from brakes and oscillations, rad/s; NaN before it is known.

        Good to a factor of about 2: what convinces depends on how many joints jump.
        """
        known = np.isfinite(self.smallest)
        return max(SMALLEST, STEEPEST * self._period, CONVINCES * self.smallest) if known else np.nan

    def suspect(self, instant: float) -> None:
        """Something else has found an event at this instant, s: judge it too."""
        self._suspects.append(instant)

    def feed(self, times: Array, positions: Array) -> None:
        """Take samples (k,) and (k, n) in."""
        if not len(times):
            return
        breaks = np.flatnonzero((np.diff(times) <= 0.0) | (np.diff(times) > LONGEST_GAP * self._period)) + 1
        for part, places in zip(np.split(times, breaks), np.split(positions, breaks), strict=True):
            self._append(part, places)
        if len(self._times) >= PIECE:
            self._work(final=False)

    def finish(self) -> None:
        """No more samples come."""
        self._work(final=True)
        self._times = np.zeros(0)

    def _append(self, times: Array, positions: Array) -> None:
        if len(self._times) and not 0.0 < times[0] - self._times[-1] <= LONGEST_GAP * self._period:
            self.finish()
            self._from = -np.inf
        if not len(self._times):
            self._times, self._positions = times, positions
        else:
            self._times = np.concatenate((self._times, times))
            self._positions = np.concatenate((self._positions, positions))

    def _work(self, *, final: bool) -> None:
        times, positions = self._times, self._positions
        if len(times) < LEAST_BEFORE + LEAST_AFTER + 2:
            return
        until = np.inf if final else times[-1] - MARGIN
        noise = noise_of(times, positions)
        self.smallest = np.fmin(self.smallest, smallest_jump(noise, self._period))
        candidates = find_candidates(times, positions, self._period, noise)
        due = (candidates.times >= self._from) & (candidates.times < until)
        instants = candidates.times[due][np.argsort(-candidates.strengths[due])]
        others = [instant for instant in self._suspects if times[0] <= instant < until]
        self._suspects = [instant for instant in self._suspects if instant >= until]
        self._judge(times, positions, noise, np.concatenate((instants, others)))
        self._from = until
        keep = int(np.searchsorted(times, until - MARGIN)) if not final else len(times)
        self._times, self._positions = times[keep:], positions[keep:]

    def _judge(self, times: Array, positions: Array, noise: Noise, instants: Array) -> None:
        first: list[Judged] = []
        beside: list[float] = []
        for instant in instants.tolist():
            judged = self._judge_one(times, positions, noise, instant)
            if judged is None:
                beside.append(instant)
            else:
                first.append(judged)
                if judged.is_jump:
                    self._jumps.append(judged.branches.time)
        # Once more with what is known of the neighbours: where the windows end, and that after a contact others come.
        found: list[Judged] = []
        for old in first:
            new = old
            if old.is_jump:
                self._jumps.remove(old.branches.time)
                sure = AGAIN if self._follows(old.branches.time) else SURE
                new = self._judge_one(times, positions, noise, old.branches.time, sure) or old
            elif old.gain > HOPELESS and self._follows(old.branches.time):
                new = self._judge_one(times, positions, noise, old.instant, AGAIN) or old
            if new.is_jump:
                self._jumps.append(new.branches.time)
            found.append(new)
        # What was beside a jump that is none after all has not been looked at.
        for instant in beside:
            late = self._judge_one(times, positions, noise, instant, AGAIN if self._follows(instant) else SURE)
            if late is not None:
                found.append(late)
                if late.is_jump:
                    self._jumps.append(late.branches.time)
        for place, judged in enumerate(found):
            if judged.is_jump:
                self._jumps.remove(judged.branches.time)
                # About the nearest sample: what is known of the contact moves the likeliest instant a little, and would
                # move the window with it; a table without a robot shall have the time of the bag with one.
                near = float(times[np.abs(times - judged.branches.time).argmin()])
                refined = self._judge_one(times, positions, noise, near, judged.sure, refine=True)
                found[place] = judged if refined is None or not refined.is_jump else refined
                self._jumps.append(found[place].branches.time)
        self.judged += found

    def _follows(self, instant: float) -> bool:
        return any(0.0 < instant - jump < FOLLOWS for jump in self._jumps[-200:])

    def _judge_one(
        self,
        times: Array,
        positions: Array,
        noise: Noise,
        instant: float,
        sure: float = SURE,
        *,
        refine: bool = False,
    ) -> Judged | None:
        period = self._period
        jumps = np.array(self._jumps[-200:])
        if (np.abs(jumps - instant) < max(CLOSEST, 2.0 * period)).any():
            return None
        share = min(1.0, MOST_SAMPLES * period / (BEFORE + AFTER))
        begin = max([instant - max(share * BEFORE, 8.0 * period), *(jumps[jumps < instant] + 1.2 * period)])
        end = min([instant + max(share * AFTER, 6.0 * period), *(jumps[jumps > instant] - 0.2 * period)])
        window = slice(*np.searchsorted(times, (begin, end)).tolist())
        stamps, places = times[window], positions[window]
        before = int(np.searchsorted(stamps, instant))
        if before < LEAST_BEFORE or len(stamps) - before < LEAST_AFTER:
            return None
        search = SEARCH + 0.5 * period
        low, high = max(instant - search, float(stamps[2])), min(instant + search, float(stamps[-3]))
        if high <= low:
            return None
        mean = (places[-1] - places[0]) / (stamps[-1] - stamps[0])
        model = BranchModel(stamps, places, noise.at(mean), self._response(places[before]))
        early, late = before // 2, before + (len(stamps) - before) // 2

        def mean_speed(first: int, last: int) -> Array:
            return np.asarray((places[last] - places[first]) / (stamps[last] - stamps[first]))

        speed = np.stack((mean_speed(0, before - 1), mean_speed(before, len(stamps) - 1)))
        far = np.stack((mean_speed(0, early), mean_speed(late, len(stamps) - 1)))
        branches = model.judge(low, high, min(max(instant, low), high))
        if refine:
            reach = max(REFINED, 1.2 * period)
            time, std = model.instant(max(low, instant - reach), min(high, instant + reach))
            branches = replace(branches, time=time, time_std=std)
        return Judged(instant, branches, speed, far, period, sure)
