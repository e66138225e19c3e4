"""Impacts in a stream of samples of any length: jumps fitted from both sides, each with the samples around it.

Live detectors use only the samples before an impact. Each of them runs over the samples around every jump, so that the
report has which detect it, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from impact_aware.detection import ImpactDetector
from impact_aware.detection.input_monitor import RATE_TOLERANCE, SLOWEST
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.unexplained_jump import held_up
from impact_aware.recordings.arm_samples import ArmSamples, joined
from impact_aware.recordings.candidate import SIGNIFICANT_SIZE, Candidate
from impact_aware.recordings.command_track import CommandStep
from impact_aware.recordings.kink_finder import MARGIN, PIECE, KinkFinder
from impact_aware.recordings.touches import TouchFinder
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import effort_kind_of
from impact_aware.tables.options import RATE

BEFORE, AFTER = 0.25, 0.35
"""Time kept before and after an impact, s."""

EARLY, LATE = 0.010, 0.030
"""Time before and after a jump in which a detector's event is a detection of it, s."""

TWO_SIDED = "two_sided"
"""Detector name of jumps and steps that only the comparison of both sides shows."""

FIRST_SAMPLES = 200
"""Samples from which the sampling period is found."""

NOMINAL_PERIOD, NOMINAL_TOLERANCE = 1e-3, 0.05
"""A source within this share of 1 kHz is taken for 1 kHz, as the live detector does."""

SHORTEST_PERIOD = 1.0 / RATE.high
"""Sampling period that is read, s; filters of shorter ones would have millions of weights."""

LEAST_RATE = RATE_TOLERANCE * SLOWEST
"""Rate below which impacts are not seen at all, Hz."""

MOST_IMPACTS = 1000
"""Impacts of one arm whose windows are kept, 0.1 MB each."""

SIGN_SAMPLES, FEWEST_SIGN_SAMPLES, TURNED = 50, 10, -0.8
"""Samples from which the sign of the torques is found: at most and at least; cosine between them and what gravity needs
below which the sign is turned."""


@dataclass(frozen=True, eq=False)
class Find:
    """Something that happened to an arm: an impact, or an event that is none.

    Attributes:
        time: s.
        time_std: Its standard error, s.
        candidate: The comparison of both sides.
        detectors: Names of all that detected it, the preferred one first.
        event: Of the first of them, at `time`; None for what is no jump.
        window: The samples around it; None for what is no jump.
        cause: One of `results.CAUSES`; empty before it is known.
        evidence: What speaks for the cause, one sentence.
        command: Step of a recorded command that it answers, or None.
    """

    time: float
    time_std: float
    candidate: Candidate
    detectors: tuple[str, ...] = (TWO_SIDED,)
    event: ImpactEvent | None = None
    window: ArmSamples | None = None
    cause: str = ""
    evidence: str = ""
    command: CommandStep | None = None


class ImpactFinder:
    """Finds the impacts in one arm's samples; memory stays that of the kept windows.

    Attributes:
        found: Impacts whose windows are complete, in order of time once `finish` was called.
        kinks: The comparison of both sides of each instant.
        touches: The search for pushes on the arm at rest.
        skipped: Impacts beyond `MOST_IMPACTS`, which are only counted.
        samples: Samples seen.
        period: Usual time between two samples, s; NaN before it is known.
        first_time: Stamp of the first sample, s; NaN before.
        last_time: Stamp of the last one, s; NaN before.
        turned: Whether the torques have the opposite sign of those that the links need, which is corrected here.
    """

    def __init__(
        self,
        make: Sequence[Callable[[float], ImpactDetector]] = (),
        robot: RobotModel | None = None,
    ) -> None:
        """Prepare.

        Args:
            make: Make the detectors, the preferred one first, from the sampling period in s.
            robot: The arm, where it is known.
        """
        self._make, self._robot = make, robot
        self._detectors: list[ImpactDetector] | None = None
        self._blocks: list[ArmSamples] = []
        self._begin = self._taken = 0
        self._pending: list[tuple[int, Candidate]] = []
        self._periods: list[float] = []
        self.kinks = KinkFinder(np.nan, robot)
        self.touches = TouchFinder(robot)
        self.found: list[Find] = []
        self.turned = self._searching = False
        self.skipped = self.samples = 0
        self.first_time = self.last_time = self.period = np.nan

    @property
    def rate(self) -> float:
        """Samples per second, by the usual time between two of them, Hz; NaN with fewer than two samples."""
        return 1.0 / float(np.median(self._periods)) if self._periods else np.nan

    def feed(self, samples: ArmSamples) -> None:
        """Take the next samples in, as `InputStage` gives them."""
        if not len(samples.times):
            return
        robot, efforts = self._robot, samples.efforts
        if robot is not None and efforts is not None and effort_kind_of(robot.profile).missing_gravity == 1.0:
            # Of a driver that subtracts gravity.
            samples = replace(samples, efforts=efforts + np.array([robot.gravity(q) for q in samples.positions]))
        if self.turned:
            samples = _turned(samples)
        if not np.isfinite(self.first_time):
            self.first_time = float(samples.times[0])
        if len(samples.times) > 1:
            self._periods.append(float(np.median(np.diff(samples.times))))
        self.last_time = float(samples.times[-1])
        self._blocks.append(samples)
        self.samples += len(samples.times)
        if self._detectors is not None:
            self._search(samples)
        elif self.samples >= FIRST_SAMPLES:
            self._start()
        self._conclude(final=False)

    def finish(self) -> None:
        """No more samples come: complete what is pending."""
        if not self._blocks:
            return
        if self._detectors is None:
            self._start()
        self.kinks.finish()
        self._conclude(final=True)
        self._blocks = []
        if self.rate < LEAST_RATE:
            # What happens between two samples is not seen, and motion itself looks like a jump.
            self.found, self.skipped, self.kinks = [], 0, KinkFinder(self.period, self._robot)
        self.found.sort(key=lambda find: find.time)

    def _start(self) -> None:
        steps = np.concatenate([np.diff(block.times) for block in self._blocks])
        forward = steps[steps > 0.0]
        period = float(np.median(forward)) if len(forward) else NOMINAL_PERIOD
        if abs(period - NOMINAL_PERIOD) <= NOMINAL_TOLERANCE * NOMINAL_PERIOD:
            period = NOMINAL_PERIOD
        if period < SHORTEST_PERIOD:
            expected = f"{SHORTEST_PERIOD:g} s or more; --time-unit states the unit of a table's times"
            raise InvalidInputError("times of the samples", f"{period:.3g} s from one to the next", expected)
        self.period = period
        self.turned = self._robot is not None and _is_turned(self._blocks[0], self._robot)
        if self.turned:
            self._blocks = [_turned(block) for block in self._blocks]
        self._detectors = [make(period) for make in self._make]
        self.kinks = KinkFinder(period, self._robot)
        for block in self._blocks:
            self._search(block)

    def _search(self, samples: ArmSamples) -> None:
        # No search before the first block at a rate that shows impacts.
        steps = np.diff(samples.times)
        self._searching = self._searching or not len(steps) or float(np.median(steps)) <= 1.0 / LEAST_RATE
        if self._searching:
            self.kinks.feed(samples)
        self.touches.feed(samples)

    def _conclude(self, *, final: bool) -> None:
        """Cut the windows that are complete, and forget samples that no window needs."""
        fresh, self._taken = self.kinks.candidates[self._taken :], len(self.kinks.candidates)
        self._pending += [(self._index(each.strongest.time), each) for each in fresh if each.is_jump]
        waiting = []
        seen = self._begin + sum(len(block.times) for block in self._blocks)
        for index, candidate in self._pending:
            # Where the clock has stepped back, no later stamp shows that the window is complete.
            far = seen - index > 4.0 * AFTER / self.period + PIECE
            if len(self.found) >= MOST_IMPACTS:
                self.skipped += 1
            elif final or far or self.last_time > candidate.strongest.time + AFTER:
                self.found.append(self._cut(index, candidate))
            else:
                waiting.append((index, candidate))
        self._pending = waiting
        if self._detectors is None:
            return
        # What has not been tested yet may still become an impact.
        keep = int(2.0 * (BEFORE + MARGIN) / self.period) + PIECE + 1
        first = min([seen, *(index for index, _ in waiting)]) - keep
        while len(self._blocks) > 1 and self._begin + len(self._blocks[0].times) <= first:
            self._begin += len(self._blocks.pop(0).times)

    def _index(self, time: float) -> int:
        """Index of the first sample from a time on, in the block nearest to it; the newest of several."""
        ends = self._begin + np.cumsum([len(block.times) for block in self._blocks])
        apart = [max(block.times[0] - time, time - block.times[-1], 0.0) for block in self._blocks]
        place = len(apart) - 1 - int(np.argmin(apart[::-1]))
        times = self._blocks[place].times
        return int(ends[place]) - len(times) + min(int(np.searchsorted(times, time)), len(times) - 1)

    def _cut(self, index: int, candidate: Candidate) -> Find:
        time = candidate.strongest.time
        reach = int(4.0 * max(BEFORE, AFTER) / self.period)
        low, high = index - reach, index + reach
        parts: list[ArmSamples] = []
        begin = self._begin
        for block in self._blocks:
            parts.append(block.rows(slice(max(low - begin, 0), max(high - begin, 0))))
            begin += len(block.times)
        near = joined(parts)
        times = near.times
        # Only the stretch around the jump in which time runs forward.
        center = min(index - max(low, self._begin), len(times) - 1)
        breaks = np.flatnonzero(np.diff(times) < 0.0)
        first = int(breaks[breaks < center].max()) + 1 if (breaks < center).any() else 0
        last = int(breaks[breaks >= center].min()) + 1 if (breaks >= center).any() else len(times)
        kept = np.zeros(len(times), dtype=bool)
        kept[first:last] = True
        kept &= (times >= time - BEFORE) & (times <= time + AFTER)
        # A repeated stamp has no information on time.
        kept[1:] &= ~(kept[:-1] & (np.diff(times) <= 0.0))
        window = near.rows(kept)
        events = self._detected(time, window) or [_event(candidate, window)]
        event = replace(events[0], time=time, time_std=candidate.time_std)
        return Find(time, candidate.time_std, candidate, tuple(each.detector for each in events), event, window)

    def _detected(self, time: float, window: ArmSamples) -> list[ImpactEvent]:
        """First event of each detector at a jump, of those that detect it."""
        found = []
        for detector in self._detectors or ():
            detector.reset()
            events = detector.process(window.times, window.positions, window.velocities, window.efforts)
            own = (event for event in events if -EARLY <= event.time - time <= LATE)
            found += [event for event in (next(own, None),) if event is not None]
        return found


def _event(candidate: Candidate, window: ArmSamples) -> ImpactEvent:
    """The jump as a detector would report it."""
    branches = candidate.strongest
    size = np.abs(branches.jump) / np.maximum(branches.jump_std, 1e-9)
    later = window.times[window.times >= branches.time]
    return ImpactEvent(
        time=branches.time,
        time_detected=float(later[0]) if len(later) else branches.time,
        time_std=candidate.time_std,
        detector=TWO_SIDED,
        joint=int(size.argmax()),
        position=np.array([np.interp(branches.time, window.times, column) for column in window.positions.T]),
        velocity_before=candidate.speed[0],
        # What torques took back of a jump, joints never showed.
        velocity_after=(
            candidate.speed[1] if candidate.unexplained is not None else candidate.speed[0] + branches.jump
        ),
        residual=size / SIGNIFICANT_SIZE,
        confidence=float(-np.expm1(-candidate.gain)),
    )


def _is_turned(samples: ArmSamples, robot: RobotModel) -> bool:
    if samples.efforts is None:
        return False
    known = np.flatnonzero(np.isfinite(samples.efforts).all(axis=1))[:: max(1, len(samples.times) // SIGN_SAMPLES)]
    enough = len(known) >= FEWEST_SIGN_SAMPLES
    return enough and held_up(robot, samples.positions[known], samples.efforts[known])[0] < TURNED


def _turned(samples: ArmSamples) -> ArmSamples:
    return samples if samples.efforts is None else replace(samples, efforts=-samples.efforts)
