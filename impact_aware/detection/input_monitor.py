"""Is the source good enough to see impacts: its rate, held samples, jitter and gaps, with the reason in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.detection.events import JointSample
from impact_aware.detection.ring import Ring
from impact_aware.detection.second_publisher import foreign_rows
from impact_aware.errors import InvalidInputError

RATE_TOLERANCE = 0.95
"""Share of the lowest rate that still counts as it: a timer of 200 Hz that is late now and then gives 198."""

LOWEST_RATE, SLOWEST = 200.0, 100.0
"""Rates from which impacts are detected in time, and are seen at all, Hz."""

PAUSE, PAUSES = 0.1, 20.0
"""Time, s, and periods without a sample that are a pause of the source."""

_STANDING = "stamps stand still or run backwards: they have to be the times of the measurements"
_NOTHING = "no usable positions arrive: check the joint names and the topic"

MOVING_STEP = 2e-5
"""Step from one position to the next that is motion and not the flicker of an encoder, rad."""


@dataclass(frozen=True, slots=True)
class InputQuality:
    """What the last samples say about their source.

    Attributes:
        rate: Samples per second by their stamps, Hz; NaN before there are enough.
        fresh_rate: Of those, the ones that carry something new, Hz.
        jitter: Standard deviation of the time between stamps over its mean, by those that are shorter: a sample that is
            missing makes a time longer and none shorter.
        missing_share: Share of periods without a sample, by the median period.
        broken_share: Share of samples with a position that is not finite or of the wrong shape.
        moving: Whether the joints moved enough to separate fresh samples from held ones.
        reason: Why impacts can't be seen reliably, one sentence; None when they can.
    """

    rate: float
    fresh_rate: float
    jitter: float
    missing_share: float
    broken_share: float
    moving: bool
    reason: str | None


class InputMonitor:
    """Measures a source over the last `samples` samples."""

    def __init__(self, joint_count: int, samples: int = 500, lowest_rate: float = LOWEST_RATE) -> None:
        """Allocate.

        Args:
            joint_count: Number of joints n.
            samples: Number of samples to evaluate, at least 20.
            lowest_rate: Rate below which impacts can't be detected in time, Hz.

        Raises:
            InvalidInputError: A value out of range.
        """
        if joint_count < 1:
            raise InvalidInputError("joint_count", joint_count, "at least 1")
        if samples < 20:
            raise InvalidInputError("samples", samples, "at least 20")
        if not lowest_rate > 0.0:
            raise InvalidInputError("lowest_rate", lowest_rate, "more than 0 Hz")
        self._joint_count = joint_count
        self._lowest_rate = lowest_rate
        # Per sample stamp and positions, NaN where they can't be used; evaluated only on request.
        self._rows = Ring(samples, 1 + joint_count)
        self._row = np.full(1 + joint_count, np.nan)
        self._newest = -math.inf

    def reset(self) -> None:
        """Forget every sample."""
        self._rows.restart()
        self._newest = -math.inf

    def update(self, sample: JointSample) -> None:
        """Take a sample in; never raises for what it contains."""
        try:
            time, position = float(sample.time), np.asarray(sample.position, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            time, position = math.nan, np.zeros(0)
        usable = math.isfinite(time) and position.shape == (self._joint_count,)
        if usable and math.isfinite(position.dot(position)):
            if time < self._newest:
                self.reset()
            self._newest = self._row[0] = time
            self._row[1:] = position
        elif self._rows.count:
            self._row[1:] = np.nan
        else:
            return
        self._rows.push(self._row)

    def quality(self) -> InputQuality:
        """Evaluate the latest samples."""
        rows = self._rows.rows[len(self._rows.rows) - self._rows.count :]
        return source_quality(rows[:, 0], rows[:, 1:], self._lowest_rate)


def source_quality(times: Array, positions: Array, lowest_rate: float = LOWEST_RATE) -> InputQuality:
    """Measure a source by its last samples.

    Args:
        times: (k,) Stamps, s.
        positions: (k, n) rad, NaN in samples that can't be used.
        lowest_rate: Rate below which impacts can't be detected in time, Hz.
    """
    count = len(times)
    usable = np.isfinite(positions[:, 0])
    broken_share = 1.0 - np.count_nonzero(usable) / count if count else 0.0
    times, positions = times[usable], positions[usable]
    if len(times) < 10 or times[-1] <= times[0]:
        reason = None
        if count >= 20:
            reason = _STANDING if len(times) >= 10 else _NOTHING
        return InputQuality(math.nan, math.nan, math.nan, 0.0, broken_share, False, reason)
    foreign, _, _ = foreign_rows(times, positions)
    foreign_share = float(foreign.mean())
    times, positions = times[~foreign], positions[~foreign]
    copies = (np.diff(times) == 0.0) & (np.diff(positions, axis=0) == 0.0).all(axis=1)
    times, positions = (column[np.concatenate(([True], ~copies))] for column in (times, positions))
    intervals = np.diff(times)
    period = float(np.median(intervals))
    # A pause, or a step of the clock, is no slow sample.
    intervals = intervals[intervals <= max(PAUSE, PAUSES * period)]
    mean = float(intervals.mean())
    steps = np.abs(np.diff(positions, axis=0)).max(axis=1)
    changes = np.flatnonzero(steps)
    # Only steps of true motion count: an arm that comes to rest repeats itself, and then flickers by single steps.
    gaps = np.diff(changes)[steps[changes[1:]] > MOVING_STEP]
    moving = len(gaps) >= 5
    rate = 1.0 / mean
    # At rest no sample is fresh, and held samples can't be detected.
    fresh_rate = rate / float(np.median(gaps)) if moving else rate
    shorter = np.minimum(intervals / mean - 1.0, 0.0)
    late = np.round(intervals / period) - 1.0 if period > 0.0 else np.zeros(1)
    missing = float(np.maximum(late, 0.0).sum())
    quality = InputQuality(
        rate=rate,
        fresh_rate=fresh_rate,
        jitter=math.sqrt(2.0 * float(np.mean(shorter**2))),
        missing_share=missing / (len(intervals) + missing),
        broken_share=broken_share,
        moving=moving,
        reason=None,
    )
    return replace(quality, reason=_reason(quality, lowest_rate, foreign_share))


def _reason(quality: InputQuality, lowest_rate: float, foreign_share: float) -> str | None:
    lowest = f"at least {lowest_rate:.0f} Hz are needed, 1000 are best"
    if quality.rate < RATE_TOLERANCE * lowest_rate:
        seen = "weak impacts" if quality.rate >= RATE_TOLERANCE * SLOWEST else "an impact"
        return (
            f"samples come at {quality.rate:.0f} Hz, too slowly to see {seen}; {lowest}: drivers often "
            "republish joint states slowly beside a fast topic of their own"
        )
    if quality.fresh_rate < RATE_TOLERANCE * lowest_rate:
        return (
            f"samples come at {quality.rate:.0f} Hz but change at {quality.fresh_rate:.0f} Hz only: a slow source "
            f"is repeated; {lowest}"
        )
    if foreign_share > 0.0:
        return f"{100 * foreign_share:.0f} % of the samples hold values of a second publisher on the topic"
    if quality.broken_share > 0.05:
        return f"{100 * quality.broken_share:.0f} % of the samples have positions that can't be used"
    if quality.missing_share > 0.05:
        return f"{100 * quality.missing_share:.0f} % of the samples are missing"
    if quality.jitter > 0.3:
        return f"stamps scatter by {100 * quality.jitter:.0f} % of their period: they are times of arrival"
    return None
