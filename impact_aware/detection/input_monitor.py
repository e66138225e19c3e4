"""Is the source good enough to see impacts: its rate, held samples, jitter and gaps, with the reason in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from impact_aware.detection.events import JointSample
from impact_aware.detection.ring import Ring
from impact_aware.errors import InvalidInputError

RATE_TOLERANCE = 0.95
"""Share of the lowest rate that still counts as it: a timer of 200 Hz that is late now and then gives 198."""

_SLOWEST = 100.0
"""Rate from which detectors see impacts at all, Hz."""

_STANDING = "stamps stand still or run backwards: they have to be the times of the measurements"

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
        missing_share: Share of periods without a sample, judged by the median period.
        broken_share: Share of samples with a position that is not finite or of the wrong shape.
        moving: Whether the joints moved enough to tell fresh samples from held ones.
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

    def __init__(self, joint_count: int, samples: int = 500, lowest_rate: float = 200.0) -> None:
        """Allocate.

        Args:
            joint_count: Number of joints n.
            samples: Samples to judge by, at least 20.
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
        # Per sample stamp and positions, NaN where they can't be used: what they say is looked at when it is asked for.
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
        """Judge the samples seen last."""
        count = self._rows.count
        rows = self._rows.rows[-count:] if count else self._rows.rows[:0]
        usable = rows[np.isfinite(rows[:, 1])]
        broken_share = 1.0 - len(usable) / count if count else 0.0
        if len(usable) < 10 or usable[-1, 0] <= usable[0, 0]:
            reason = None
            if count >= 20:
                still = len(usable) >= 10
                reason = _STANDING if still else "no usable positions arrive: check the joint names and the topic"
            return InputQuality(math.nan, math.nan, math.nan, 0.0, broken_share, False, reason)
        intervals = np.diff(usable[:, 0])
        mean, period = float(intervals.mean()), float(np.median(intervals))
        steps = np.abs(np.diff(usable[:, 1:], axis=0)).max(axis=1)
        changes = np.flatnonzero(steps)
        # Only steps of true motion count: an arm that comes to rest repeats itself, and then flickers by single steps.
        gaps = np.diff(changes)[steps[changes[1:]] > MOVING_STEP]
        moving = len(gaps) >= 5
        rate = 1.0 / mean
        # At rest nothing is fresh, and nothing can be said about holding.
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
        return replace(quality, reason=self._reason(quality))

    def _reason(self, quality: InputQuality) -> str | None:
        lowest = f"at least {self._lowest_rate:.0f} Hz are needed, 1000 are best"
        if quality.rate < RATE_TOLERANCE * self._lowest_rate:
            seen = "weak impacts" if quality.rate >= RATE_TOLERANCE * _SLOWEST else "an impact"
            return (
                f"samples come at {quality.rate:.0f} Hz, too slowly to see {seen}; {lowest}: drivers often "
                "republish joint states slowly beside a fast topic of their own"
            )
        if quality.fresh_rate < RATE_TOLERANCE * self._lowest_rate:
            return (
                f"samples come at {quality.rate:.0f} Hz but change at {quality.fresh_rate:.0f} Hz only: a slow source "
                f"is repeated; {lowest}"
            )
        if quality.broken_share > 0.05:
            return f"{100 * quality.broken_share:.0f} % of the samples have positions that can't be used"
        if quality.missing_share > 0.05:
            return f"{100 * quality.missing_share:.0f} % of the samples are missing"
        if quality.jitter > 0.3:
            return f"stamps scatter by {100 * quality.jitter:.0f} % of their period: they tell when messages came in"
        return None
