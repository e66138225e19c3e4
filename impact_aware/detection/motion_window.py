"""The last samples of all joints on a uniform time grid, kept clean whatever the source sends.

Every detector looks at the same few milliseconds of motion. This window accepts or rejects each sample, gives the
reason of a rejection, and counts per joint the valid samples in a row: the window length w_i of Aouaj thesis, (2.19).

A missing sample is interpolated by the parabola through the two samples before and the one after. That makes it a
mixture of real samples, in which their errors add up; `mixture` has the weights, for the bounds of a detector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.ring import Ring
from impact_aware.errors import InvalidInputError

LARGEST_GAP = 3
"""Missing samples in a row that are bridged."""

# Stamps closer to the grid than this are on it: a double holds seconds since 1970 to 0.24 us only.
GRID_TOLERANCE = 0.6e-6

# A position beyond this is no joint's, rad; its square, and the sum of many, must stay a number.
_LARGEST_POSITION = 1e6

# Repeats in a row after which an arm is at rest for sure, and no slow source is being repeated.
_AT_REST = 40

# Share of an offset from the grid by which the grid follows scattered stamps, so that it ends up amid them.
_FOLLOW = 0.1

# Share of a period's motion by which the positions of a repeated sample may differ from the expected ones.
_ALIKE = 0.25

# Periods after the last sample up to which one may be late, and at most between two of the three that give its pace.
_LATEST, _SPAN = 30, 4

# Periods off the grid beyond which the period of a stamp is ambiguous.
_AMBIGUOUS = 0.38


@dataclass(slots=True)
class DropCounts:
    """How many samples were refused or mended since construction, by reason.

    Attributes:
        malformed: Samples of a wrong shape or type, or with a time that is not finite.
        not_finite: Single joint values that were NaN, infinite or beyond what any joint can have; only that joint's
            window starts again.
        held: Samples that repeat the one before in every joint although the robot was moving; at low speed, where it
            may be true, only as many in a row as can be bridged. Also late ones: their positions lag behind the stamp.
        early: Samples that came in the same sampling period as the one before, or with the same stamp.
        missing: Sampling periods without a sample, bridged by interpolation.
        gaps: Breaks too long to bridge, where every window starts again, and stamps in the middle between two periods,
            after which nothing counts as trustworthy for the length of the window.
        backwards: Times that ran backwards; everything starts again, the refractory time too.
        outliers: Single joint values that left the bound and were back at the next sample.
    """

    malformed: int = 0
    not_finite: int = 0
    held: int = 0
    early: int = 0
    missing: int = 0
    gaps: int = 0
    backwards: int = 0
    outliers: int = 0


class MotionWindow:
    """The newest `length` positions of `joint_count` joints on a grid of `period`.

    Attributes:
        counts: Trustworthy samples in a row per joint, newest included, at most `length` (n,).
        time: Stamp of the newest sample, s; NaN when there is none.
        drops: What was refused or mended.
        fresh: Whether the newest sample was the first after a start or restart of all windows.
    """

    def __init__(self, joint_count: int, length: int, period: float, resolution: Array) -> None:
        """Allocate the window.

        Args:
            joint_count: Number of joints n, at least 1.
            length: Samples kept, at least 4.
            period: Sampling period, s.
            resolution: Smallest step of the position signal (n,), rad.
        """
        if joint_count < 1:
            raise InvalidInputError("joint_count", joint_count, "at least 1")
        self.length = length
        self.period = period
        self.drops = DropCounts()
        self.counts = np.zeros(joint_count, dtype=np.int64)
        self._joint_count = joint_count
        # A joint that passed two steps of its encoder from one sample to the next can't repeat a value right after.
        self._moving_step = 2.0 * resolution + 1e-12
        self._rows = Ring(length, joint_count)
        self._offsets = Ring(length, 1)
        self._mixture = np.eye(length)
        self._turns = np.zeros(joint_count)
        self._delta = np.empty(joint_count)
        self._newest = np.empty(joint_count)
        self.reset()

    def reset(self) -> None:
        """Forget every sample; `drops` stays."""
        self.time = math.nan
        self._turns[:] = 0.0
        self.restart()

    def restart(self) -> None:
        """Start every joint's window again with the next sample."""
        self.counts[:] = 0
        self.least_count = self._known = self._passed = 0
        self.fresh = True
        self._last_steps = 0
        self._moved_across_gap = False
        self._repeats = 0
        self._offset = 0.0
        self._phase = 0.0
        self._distrust = 0
        self._irregular = 0
        self._mixture[:] = 0.0
        np.fill_diagonal(self._mixture, 1.0)
        self._bridged = 0

    @property
    def full(self) -> bool:
        """Whether every joint holds `length` trustworthy samples."""
        return self.least_count == self.length

    @property
    def positions(self) -> Array:
        """The newest `length` rows, oldest first (length, n); a view that the next sample changes."""
        return self._rows.rows

    @property
    def mixture(self) -> Array | None:
        """Weights of the real samples in each of `positions`, row by row (length, length).

        None where every row is a real sample. The row of a sample that is too old to be seen is not complete.
        """
        return self._mixture if self._bridged else None

    @property
    def offsets(self) -> Array | None:
        """Stamps less the uniform grid, up to a constant, for every row of `positions` (length,), s.

        None where all stamps are on the grid.
        """
        return self._offsets.rows[:, 0] if self._irregular else None

    def accept(self, sample: JointSample) -> int:
        """Take a sample in, if it is one.

        Returns:
            Sampling periods since the sample before (1 when none is missing), or 0 for a refused sample.
        """
        try:
            time = float(sample.time)
            position = np.asarray(sample.position, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            self.drops.malformed += 1
            return 0
        if position.shape != self.counts.shape or not math.isfinite(time):
            self.drops.malformed += 1
            return 0
        steps, deviation, phase = 1, 0.0, 0.0
        if self.time == self.time:
            interval = time - self.time
            if interval < 0.0:
                self.drops.backwards += 1
                self.reset()
            elif interval > (LARGEST_GAP + 1.5) * self.period:
                np.add(position, self._turns, out=self._newest)
                repeated = (self._newest == self._rows.newest).all() and self._was_moving()
                if repeated or self._is_late(round(min(interval / self.period, _LATEST + 1.0))):
                    self.drops.held += 1
                    return 0
                self.drops.gaps += 1
                moved = np.abs(self._newest - self._rows.newest) * (self.period / interval)
                self.restart()
                self._moved_across_gap = bool((moved > self._moving_step).any())
            else:
                steps = int((interval + self._phase) / self.period + 0.5)
                if steps <= 0:
                    self.drops.early += 1
                    if self._known > 1:
                        return 0
                    # A sender that stalled sends several at once, of which the newest is the least late.
                    self.restart()
                    steps = 1
                else:
                    deviation = interval - steps * self.period
                    if self._irregular or abs(deviation) > GRID_TOLERANCE:
                        phase = self._phase + deviation
        broken = None
        np.add(position, self._turns, out=self._newest)
        np.subtract(self._newest, self._rows.newest, out=self._delta)
        # One number shows that nothing is NaN, that something moved, and that nothing made a whole turn.
        if not 0.0 < float(self._delta.dot(self._delta)) < 9.0:
            broken = ~(np.abs(position) < _LARGEST_POSITION)
            if not self._settle_odd_sample(broken):
                return 0
        if steps > 1 and self._is_late(steps):
            self.drops.held += 1
            return 0
        # The grid follows the stamps; one far off it fits no period.
        ambiguous = abs(phase) > _AMBIGUOUS * self.period and abs(deviation) > 0.25 * self.period
        self._phase = (1.0 - _FOLLOW) * phase
        if self._repeats and self._known:
            self._judge_repeats()
        self.fresh = not self._known
        self._passed = 0
        self._push(steps, deviation)
        self.time = time
        if ambiguous:
            self.drops.gaps += 1
            self._distrust = self.length
        if self._distrust:
            self._distrust -= 1
            np.minimum(self.counts, 1, out=self.counts)
            self.least_count = int(self.counts.min())
        if broken is not None and broken.any():
            self.restart_joints(broken, 0)
        return steps

    def restart_joints(self, joints: NDArray[np.bool_], count: int) -> None:
        """Shorten the windows of the joints in the mask (n,), to their newest `count` samples."""
        self.counts[joints] = np.minimum(self.counts[joints], count)
        self.least_count = int(self.counts.min())
        self._known = min(self._known, max(count, 1))

    def mend(self, joints: NDArray[np.bool_], age: int) -> None:
        """Replace the value `age` samples ago of the joints in the mask by the parabola through its neighbours."""
        rows = self._rows.rows
        mended = rows[-1 - age].copy()
        mended[joints] = rows[-age, joints] / 3.0 + rows[-2 - age, joints] - rows[-3 - age, joints] / 3.0
        self._rows.replace(age, mended)
        self.drops.outliers += int(np.count_nonzero(joints))

    def _settle_odd_sample(self, broken: NDArray[np.bool_]) -> bool:
        """Replace broken values, remove whole turns, and refuse a held sample by returning False."""
        newest, last = self._newest, self._rows.newest
        if broken.any():
            self.drops.not_finite += int(np.count_nonzero(broken))
            if broken.all():
                return False
            newest[broken] = last[broken]
        if not self._known:
            return True
        delta = np.where(self.counts > 0, newest - last, 0.0)
        if (np.abs(delta) > math.pi).any():
            turns = 2.0 * math.pi * np.round(delta / (2.0 * math.pi))
            self._turns -= turns
            newest -= turns
        elif (newest == last).all():
            self._repeats += 1
            if self._repeats <= LARGEST_GAP or self._was_moving():
                self.drops.held += 1
                return False
        return True

    def _judge_repeats(self) -> None:
        """At the first change after repeats: start again if they may have come from a source too slow to bridge."""
        step = np.abs(self._newest - self._rows.newest)
        if not step.any():
            return
        if LARGEST_GAP < self._repeats <= _AT_REST and (step > self._moving_step).any():
            self.drops.gaps += 1
            self.restart()
            self._moved_across_gap = True
        self._repeats = 0

    def _was_moving(self) -> bool:
        """Return whether some joint moved too fast before to repeat a value now."""
        if self.fresh:
            return self._moved_across_gap
        step = self._rows.rows[-1] - self._rows.rows[-1 - self._last_steps]
        return bool((np.abs(step) > self._moving_step).any())

    def _is_late(self, steps: int) -> bool:
        """Return whether a sample behind a gap has the positions of a lost one: all joints lag alike.

        A further late sample has moved on since; one that has not shows an arm that stopped.
        """
        if self._known < 2 or steps > _LATEST:
            return False
        rows, newest, apart = self._rows.rows, self._rows.newest, min(_SPAN, (self._known - 1) // 2)
        if apart > 1:
            middle, oldest = rows[-1 - apart], rows[-1 - 2 * apart]
            pace = (3.0 * newest - 4.0 * middle + oldest) / (2.0 * apart)
            bend = (newest - 2.0 * middle + oldest) / (2.0 * apart**2)
        else:
            pace, bend = (newest - rows[-self._known]) / (self._known - 1), np.zeros(self._joint_count)
        if not (np.abs(pace) > self._moving_step).any():
            return False
        periods = np.arange(1.0, steps + 1.0)[:, None]
        distances = np.linalg.norm(periods * pace + periods**2 * bend - (self._newest - newest), axis=1)
        passed = int(distances.argmin()) + 1
        slack = _ALIKE * math.hypot(*pace) + math.hypot(*self._moving_step)
        smooth = math.dist(newest - rows[-2], pace - bend) <= slack
        late = smooth and self._passed < passed < steps and distances[passed - 1] <= slack < distances[-1]
        if late:
            self._passed = passed
        return bool(late)

    def _push(self, steps: int, deviation: float) -> None:
        if abs(deviation) > GRID_TOLERANCE:
            if not self._irregular:
                self._offsets.fill(0.0)
            # One more than the window, so that the deviation is behind it when it is forgotten.
            self._irregular = self.length + 1
        trusted = self._bridge(steps, deviation) if steps > 1 else True
        self._rows.push(self._newest)
        self._known = min(self._known + steps, self.length)
        if not trusted:
            self.counts[:] = 1
            self.least_count = self._known = 1
        elif self.least_count < self.length:
            np.minimum(self.counts + steps, self.length, out=self.counts)
            self.least_count = int(self.counts.min())
        if self._irregular:
            self._offset += deviation
            self._offsets.push(self._offset)
            self._irregular -= 1
            if not self._irregular:
                self._offset = self._phase = 0.0
        if self._bridged and steps == 1:
            self._shift_mixture(1)
            self._bridged -= 1
        self._last_steps = 0 if self.fresh else steps

    def _bridge(self, steps: int, deviation: float) -> bool:
        """Append the missing rows; False where only one sample before them is known, so that they are a guess."""
        newest, last, distance = self._newest, self._rows.newest.copy(), self._last_steps
        self.drops.missing += steps - 1
        if not distance:
            for step in range(1, steps):
                self._rows.push(last + (newest - last) * (step / steps))
                if self._irregular:
                    self._offsets.push(self._offset)
            return False
        before = self._rows.rows[-1 - distance].copy()
        offsets = self._offsets.rows[[-1 - distance, -1, -1], 0]
        offsets[2] += deviation
        self._shift_mixture(steps)
        first = self.length - 1 - steps
        for step in range(1, steps):
            weights = _bridge_weights(distance, steps, step)
            self._rows.push(weights[0] * before + weights[1] * last + weights[2] * newest)
            row = self._mixture[first + step]
            row[:] = 0.0
            row[[first, -1]] = weights[1:]
            if first >= distance:
                row[first - distance] = weights[0]
            if self._irregular:
                self._offsets.push(float(offsets.dot(weights)))
        self._bridged = self.length
        return True

    def _shift_mixture(self, steps: int) -> None:
        """Move the mixture by as many samples, the new ones being real."""
        mixture = self._mixture
        mixture[:-steps, :-steps] = mixture[steps:, steps:]
        mixture[-steps:] = 0.0
        mixture[:, -steps:] = 0.0
        np.fill_diagonal(mixture[-steps:, -steps:], 1.0)


def _bridge_weights(before: int, steps: int, step: int) -> tuple[float, float, float]:
    """Lagrange weights at `step` on the nodes -before, 0 and `steps`."""
    return (
        step * (step - steps) / (before * (before + steps)),
        (step + before) * (steps - step) / (before * steps),
        (step + before) * step / ((steps + before) * steps),
    )
