"""Impacts in a stream of samples of any length: detectors piece by piece, and the samples around each find kept.

Live detectors know only what came before; `KinkFinder` looks at both sides. What they find is brought together: the
time is that of both sides, and what only a detector found is judged by it too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.detection import ImpactDetector, JointSample
from impact_aware.detection.input_monitor import RATE_TOLERANCE, SLOWEST
from impact_aware.estimation.unexplained_jump import held_up
from impact_aware.recordings.arm_samples import ArmSamples, joined
from impact_aware.recordings.judged import SIZE, Judged
from impact_aware.recordings.kink_finder import LEAST_AFTER, MARGIN, PIECE, KinkFinder
from impact_aware.recordings.results import DetectorResidual
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import effort_kind_of

BEFORE, AFTER = 0.25, 0.35
"""Time kept before and after an impact, s."""

SAME = 0.010
"""Finds of different detectors that are closer than this are one impact, s: less than any refractory time."""

LATE = 0.030
"""A detector's find up to this long after a jump is a find of that jump, s."""

TWO_SIDED = "two_sided"
"""Name of what looks at both sides, among those of the detectors."""

FIRST_SAMPLES = 200
"""Samples from which the sampling period is found."""

NOMINAL_PERIOD, NOMINAL_TOLERANCE = 1e-3, 0.05
"""A source within this share of 1 kHz is taken for 1 kHz, as the live detector does."""

MOST_IMPACTS = 1000
"""Impacts of one arm whose windows are kept, 0.1 MB each; so many are a detector that doesn't fit its source."""

SOME, FEWEST, TURNED = 50, 10, -0.8
"""Samples in which the sign of the torques is looked at, and needed; cosine to what gravity needs below which it is."""


@dataclass(eq=False)
class FoundImpact:
    """An impact as the detectors found it.

    Attributes:
        event: Of the first detector in the order of preference that found it.
        detectors: All that found it, in that order.
        window: The samples around it.
        residual: What the event's detector saw, or None where it does not tell.
        judged: What both sides tell about it, or None where there were too few samples.
    """

    event: ImpactEvent
    detectors: tuple[str, ...]
    window: ArmSamples
    residual: DetectorResidual | None = None
    judged: Judged | None = None


@dataclass(eq=False)
class _Pending:
    event: ImpactEvent
    detectors: tuple[str, ...]
    index: int
    judged: Judged | None = None


class ImpactFinder:
    """Runs detectors over one arm's samples; memory stays that of the kept windows.

    Attributes:
        found: Impacts whose windows are complete, in order of the recording.
        kinks: What looks at both sides of each instant.
        skipped: Impacts beyond `MOST_IMPACTS`, which are only counted.
        samples: Samples seen.
        first_time: Stamp of the first one, s; NaN before.
        last_time: Stamp of the last one, s; NaN before.
        turned: Whether the torques have the sign of those that the links need turned, which is mended here.
    """

    def __init__(
        self,
        joint_count: int,
        make: Sequence[Callable[[float], ImpactDetector]],
        response: Callable[[Array], Array | None] = lambda posture: None,
        robot: RobotModel | None = None,
    ) -> None:
        """Prepare.

        Args:
            joint_count: n.
            make: How to make the detectors, the preferred one first, from the sampling period in s.
            response: From a posture (n,) to `impulse_response` of `BranchModel`.
            robot: The arm, where it is known.
        """
        self._response, self._robot = response, robot
        self._taken = 0
        self.kinks = KinkFinder(np.nan, response, robot)
        self._joint_count = joint_count
        self._make = list(make)
        self._detectors: list[ImpactDetector] = []
        self._tracers: dict[str, ImpactDetector] = {}
        self._fed = 0
        self._blocks: list[ArmSamples] = []
        self._begin = 0
        self._pending: list[_Pending] = []
        self.found: list[FoundImpact] = []
        self.turned = False
        self.skipped = self.samples = 0
        self.first_time = self.last_time = np.nan
        self.period = np.nan
        self._periods: list[float] = []

    @property
    def rate(self) -> float:
        """Samples per second, by the usual time between two of them, Hz; NaN with fewer than two samples."""
        return 1.0 / float(np.median(self._periods)) if self._periods else np.nan

    @property
    def event_times(self) -> list[float]:
        """Times of all finds, and of what both sides were asked about, s."""
        return [found.event.time for found in self.found] + [judged.step_time for judged in self.kinks.judged]

    @property
    def drops(self) -> dict[str, int]:
        """What the preferred detector refused or mended, by reason, without zeros."""
        if not self._detectors:
            return {}
        counts = self._detectors[0].drops
        named = {name: int(getattr(counts, name)) for name in counts.__dataclass_fields__}
        return {name: count for name, count in named.items() if count}

    def feed(self, samples: ArmSamples) -> None:
        """Take the next samples in, as `InputStage` gives them."""
        if not len(samples.times):
            return
        samples = _with_gravity(samples, self._robot)
        if self.turned:
            samples = _turned(samples)
        self._survey(samples)
        self._blocks.append(samples)
        self.samples += len(samples.times)
        if not self._detectors:
            if self.samples < FIRST_SAMPLES:
                return
            self._start()
        for block in self._blocks_from(self._fed):
            self._detect(block)
        self._conclude(final=False)

    def finish(self) -> None:
        """No more samples come: complete what is pending."""
        if not self._blocks:
            return
        if not self._detectors:
            self._start()
            for block in self._blocks_from(self._fed):
                self._detect(block)
        self.kinks.finish()
        self._conclude(final=True)
        self._blocks = []
        if self.rate < RATE_TOLERANCE * SLOWEST:
            # What happens between two samples is not seen, and motion itself looks like a jump.
            self.found, self.kinks.judged = [], []
        self.found.sort(key=lambda impact: impact.event.time)

    def _start(self) -> None:
        steps = np.concatenate([np.diff(block.times) for block in self._blocks])
        forward = steps[steps > 0.0]
        period = float(np.median(forward)) if len(forward) else NOMINAL_PERIOD
        if abs(period - NOMINAL_PERIOD) <= NOMINAL_TOLERANCE * NOMINAL_PERIOD:
            period = NOMINAL_PERIOD
        self.period = period
        self.turned = self._robot is not None and any(_is_turned(block, self._robot) for block in self._blocks[:1])
        if self.turned:
            self._blocks = [_turned(block) for block in self._blocks]
        self._detectors = [make(period) for make in self._make]
        self.kinks = KinkFinder(period, self._response, self._robot)

    def _blocks_from(self, index: int) -> list[ArmSamples]:
        """Blocks that begin at a sample that no detector has seen."""
        begins = self._begin + np.cumsum([0, *(len(block.times) for block in self._blocks)])
        return [block for block, begin in zip(self._blocks, begins, strict=False) if begin >= index]

    def _survey(self, samples: ArmSamples) -> None:
        times = samples.times
        if not np.isfinite(self.first_time):
            self.first_time = float(times[0])
        if len(times) > 1:
            self._periods.append(float(np.median(np.diff(times))))
        self.last_time = float(times[-1])

    def _detect(self, block: ArmSamples) -> None:
        begin = self._fed
        self._fed += len(block.times)
        for detector in self._detectors:
            events = detector.process(block.times, block.positions, block.velocities, block.efforts)
            place = 0
            for event in events:
                # Stamps may repeat when they run backwards; events come in the order of the samples.
                hits = np.flatnonzero(block.times[place:] == event.time_detected)
                place += int(hits[0]) if len(hits) else 0
                self._add(event, begin + place)
                self.kinks.suspect(event.time)
        self.kinks.feed(block)

    def _add(self, event: ImpactEvent, index: int) -> None:
        order = [detector.name for detector in self._detectors]
        recent: list[_Pending | FoundImpact] = [*self._pending, *self.found[-4:]]
        for known in recent:
            if abs(known.event.time - event.time) < SAME and event.detector not in known.detectors:
                known.detectors = tuple(sorted((*known.detectors, event.detector), key=order.index))
                if order.index(event.detector) < order.index(known.event.detector):
                    known.event = event
                return
        self._pending.append(_Pending(event, (event.detector,), index))

    def _conclude(self, *, final: bool) -> None:
        """Cut the windows that are complete, and forget samples that no window needs."""
        for judged in self.kinks.judged[self._taken :]:
            self._bring_together(judged)
        self._taken = len(self.kinks.judged)
        until = np.inf if final else self.kinks.until
        waiting = []
        seen = self._begin + sum(len(block.times) for block in self._blocks)
        for pending in self._pending:
            untested = pending.judged is None and self.kinks.passed_over[-PIECE:]
            if untested and any(abs(instant - pending.event.time) < SAME for instant in untested):
                self.skipped += 1
                continue
            far = seen - pending.index > 4.0 * AFTER / self.period + PIECE
            if len(self.found) >= MOST_IMPACTS:
                self.skipped += 1
            elif final or far or min(self.last_time, until) > pending.event.time + AFTER:
                self.found.append(self._cut(pending))
            else:
                waiting.append(pending)
        self._pending = waiting
        # What has not been judged yet may still become an impact.
        keep = int(2.0 * (BEFORE + MARGIN) / self.period) + PIECE + 1
        first = min([seen, *(pending.index for pending in waiting)]) - keep
        while len(self._blocks) > 1 and self._begin + len(self._blocks[0].times) <= min(first, self._fed):
            self._begin += len(self._blocks.pop(0).times)

    def _bring_together(self, judged: Judged) -> None:
        """Give a find of a detector what both sides tell of it, or make a find of it."""
        near = max(SAME, 2.0 * self.period)
        # Closer to a jump than the samples that another would need, a find is of that jump, however early.
        early = max(near, LEAST_AFTER * self.period) if judged.is_jump else near
        own: _Pending | None = None
        for known in self._pending:
            late = known.event.time - (judged.told.time if judged.is_jump else judged.instant)
            if -early <= late <= (max(LATE, near) if judged.is_jump else near) and not (
                known.judged is not None and known.judged.is_jump
            ):
                known.judged = judged
                own = known if own is None or not judged.is_jump else own
                if judged.is_jump and own is not known:
                    own.detectors = tuple(dict.fromkeys((*own.detectors, *known.detectors)))
                    known.detectors = ()
        self._pending = [pending for pending in self._pending if pending.detectors]
        if not judged.is_jump:
            return
        if own is None:
            index = self._index(judged.told.time)
            own = _Pending(self._event(judged), (TWO_SIDED,), index, judged)
            self._pending.append(own)
        own.event = replace(own.event, time=judged.told.time, time_std=judged.time_std)

    def _index(self, time: float) -> int:
        """Of the first sample from a time on, in the newest stretch that has it."""
        begin = self._begin + sum(len(block.times) for block in self._blocks)
        for block in reversed(self._blocks):
            begin -= len(block.times)
            if block.times[0] <= time:
                return begin + min(int(np.searchsorted(block.times, time)), len(block.times) - 1)
        return self._begin

    def _event(self, judged: Judged) -> ImpactEvent:
        branches = judged.told
        parts = self._index(branches.time) - self._begin
        near = joined(self._blocks).rows(slice(max(parts - 4, 0), parts + 4))
        size = np.abs(branches.jump) / np.maximum(branches.jump_std, 1e-9)
        later = near.times[near.times >= branches.time]
        return ImpactEvent(
            time=branches.time,
            time_detected=float(later[0]) if len(later) else branches.time,
            time_std=judged.time_std,
            detector=TWO_SIDED,
            joint=int(size.argmax()),
            position=np.array([np.interp(branches.time, near.times, column) for column in near.positions.T]),
            velocity_before=judged.speed[0],
            # What torques took back of a jump, joints never showed.
            velocity_after=judged.speed[1] if judged.unexplained is not None else judged.speed[0] + branches.jump,
            residual=size / SIZE,
            confidence=float(-np.expm1(-judged.gain)),
        )

    def _cut(self, pending: _Pending) -> FoundImpact:
        event = pending.event
        reach = int(4.0 * max(BEFORE, AFTER) / self.period)
        low, high = pending.index - reach, pending.index + reach
        parts: list[ArmSamples] = []
        begin = self._begin
        for block in self._blocks:
            parts.append(block.rows(slice(max(low - begin, 0), max(high - begin, 0))))
            begin += len(block.times)
        near = joined(parts)
        times = near.times
        # Only the stretch around the detection in which time runs forward.
        center = min(pending.index - max(low, self._begin), len(times) - 1)
        breaks = np.flatnonzero(np.diff(times) < 0.0)
        first = int(breaks[breaks < center].max()) + 1 if (breaks < center).any() else 0
        last = int(breaks[breaks >= center].min()) + 1 if (breaks >= center).any() else len(times)
        kept = np.zeros(len(times), dtype=bool)
        kept[first:last] = True
        kept &= (times >= event.time - BEFORE) & (times <= event.time + AFTER)
        # A repeated stamp says nothing new about when.
        kept[1:] &= ~(kept[:-1] & (np.diff(times) <= 0.0))
        window = near.rows(kept)
        return FoundImpact(event, pending.detectors, window, self._residual(event, window), pending.judged)

    def _residual(self, event: ImpactEvent, window: ArmSamples) -> DetectorResidual | None:
        detector = self._tracers.get(event.detector)
        if detector is None:
            names = [detector.name for detector in self._detectors]
            if event.detector not in names:
                return None
            detector = self._tracers[event.detector] = self._make[names.index(event.detector)](self.period)
        if not hasattr(detector, "level"):
            return None
        detector.reset()
        times, levels = [], []
        for row in np.flatnonzero(window.times <= event.time_detected):
            detector.update(
                JointSample(
                    float(window.times[row]),
                    window.positions[row],
                    None if window.velocities is None else window.velocities[row],
                    None if window.efforts is None else window.efforts[row],
                )
            )
            times.append(float(window.times[row]))
            levels.append(float(detector.level))
        return DetectorResidual(np.array(times), np.array(levels))


def _with_gravity(samples: ArmSamples, robot: RobotModel | None) -> ArmSamples:
    """Add gravity to the efforts of a driver that subtracts it, by the robot's profile."""
    if samples.efforts is None or robot is None or effort_kind_of(robot.profile).missing_gravity != 1.0:
        return samples
    return replace(samples, efforts=samples.efforts + np.array([robot.gravity(q) for q in samples.positions]))


def _is_turned(samples: ArmSamples, robot: RobotModel) -> bool:
    if samples.efforts is None:
        return False
    known = np.flatnonzero(np.isfinite(samples.efforts).all(axis=1))[:: max(1, len(samples.times) // SOME)]
    return len(known) >= FEWEST and held_up(robot, samples.positions[known], samples.efforts[known])[0] < TURNED


def _turned(samples: ArmSamples) -> ArmSamples:
    return samples if samples.efforts is None else replace(samples, efforts=-samples.efforts)
