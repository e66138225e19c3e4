"""Joint acceleration by central differences over a threshold: Rey Arias 2024, section IV-A.

The joints are watched in parallel, the earliest counts (Rey Arias 2024 leaves joint 7 out). What is known at a sample
is the acceleration `half_width` periods before: from positions the second difference (q_k - 2 q_{k-s} + q_{k-2s}) /
(s h)^2, whose error is up to 2 r / (s h)^2 for an encoder step r; from measured velocities (v_k - v_{k-2s}) / (2 s h).

Where a sample of the second difference is bridged, the difference has other weights. The acceleration is then divided
by the factor by which encoder errors, or the accelerations themselves, count more than in the plain difference.
Measured velocities are not bridged; a gap in them makes the detector wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.ring import Ring
from impact_aware.detection.windowed_detector import (
    Finding,
    PerJoint,
    WindowedDetector,
    WindowParameters,
    joint_mask,
    per_joint,
    ranged,
    ranged_per_joint,
    sample_row,
)

SOURCES = ("position", "velocity")


@dataclass(frozen=True)
class AccelerationParameters(WindowParameters):
    """Parameters of the acceleration detector.

    Attributes:
        threshold: Acceleration that is an impact, rad/s^2, one or per joint.
        joints: Indices of the joints to watch; None for all.
        source: `position` or `velocity`, the signal that is differenced.
        half_width: s, half the width of the central difference, sampling periods.
        confirmation_share: Share of the threshold that the next sample must reach with the same sign; 0 confirms
            nothing, so that a glitch of one sample is an impact.
    """

    threshold: PerJoint = ranged_per_joint(45.0)
    joints: tuple[int, ...] | None = None
    source: str = ranged("position", "one of " + ", ".join(SOURCES), lambda value: value in SOURCES)
    half_width: int = ranged(2, "at least 1", lambda value: value >= 1)
    confirmation_share: float = ranged(0.4, "0 to 1", lambda value: 0.0 <= value <= 1.0)


class AccelerationDetector(WindowedDetector):
    """Finds impacts as large joint accelerations."""

    name: ClassVar[str] = "acceleration"

    def __init__(self, joint_count: int, parameters: AccelerationParameters | None = None) -> None:
        """Check the parameters against the number of joints.

        Raises:
            InvalidInputError: A threshold too few, or a joint that there is not.
        """
        self.parameters = chosen = parameters or AccelerationParameters()
        self._watched = joint_mask(chosen, "joints", joint_count)
        self._inverse_threshold = np.where(self._watched, 1.0 / per_joint(chosen, "threshold", joint_count), 0.0)
        self._width = 2 * chosen.half_width
        self._scale = self._inverse_threshold / (chosen.half_width * chosen.sampling_period) ** (
            2 if chosen.source == "position" else 1
        )
        if chosen.source == "velocity":
            self._scale *= 0.5
        self._velocities = Ring(self._width + 1, joint_count)
        self._trusted = np.zeros(joint_count, dtype=np.int64)
        self._shares = np.zeros(joint_count)
        self._previous = np.zeros(joint_count)
        length = max(16, 3 * self._width, self._width + 2 * chosen.largest_gap + 2)
        self._difference = np.zeros((1, self._width + 1))
        self._difference[0, [0, -1]] = 1.0
        self._difference[0, chosen.half_width] = -2.0
        ages = np.arange(length - 1.0, -1.0, -1.0)
        self._kernel = np.maximum(ages[:, None] - ages, 0.0)
        super().__init__(joint_count, chosen, length=length, kink_span=self._width + 4)

    @property
    def levels(self) -> Array:
        """Every joint's signal over its bound (n,)."""
        return np.abs(self._shares)

    def _forget(self) -> None:
        self._previous[:] = 0.0
        self._previous_level = 0.0
        self._trusted[:] = 0

    def _rest(self, sample: JointSample, steps: int) -> None:
        self._measure(sample, steps)
        self._previous[:] = self._shares
        self._previous_level = float(np.abs(self._shares).max())

    def _examine(self, sample: JointSample, steps: int) -> Finding | None:
        self._measure(sample, steps)
        magnitudes = np.abs(self._shares)
        self.level = float(magnitudes[magnitudes.argmax()])
        share = self.parameters.confirmation_share
        quiet = self.level < 1.0 and (not share or self._previous_level < 1.0)
        self._previous_level = self.level
        if quiet:
            self._previous[:] = self._shares
            return None
        if share:
            strongest = np.abs(self._previous)
            out = (strongest >= 1.0) & (self._shares * np.sign(self._previous) >= share)
            residual = np.maximum(strongest, magnitudes)
        else:
            strongest = residual = magnitudes
            out = strongest >= 1.0
        self._previous[:] = self._shares
        if not out.any():
            return None
        return Finding(int(np.where(out, strongest, 0.0).argmax()), residual)

    def _measure(self, sample: JointSample, steps: int) -> None:
        """Put the accelerations over their thresholds into `_shares`."""
        width = self._width
        if self.parameters.source == "position":
            rows = self._window.positions
            np.subtract(rows[-1] + rows[-1 - width], 2.0 * rows[-1 - width // 2], out=self._shares)
            trusted = None if self._window.full else self._window.counts > width
        else:
            self._take_velocity(sample, steps)
            rows = self._velocities.rows
            np.subtract(rows[-1], rows[0], out=self._shares)
            trusted = self._trusted > width
        self._shares *= self._scale
        if trusted is not None:
            self._shares *= trusted
        if self.parameters.source == "position":
            self._take_doubt_away()

    def _take_doubt_away(self) -> None:
        """Lower the shares by what missing samples and scattered stamps may have put into them."""
        mixture, offsets = self._window.mixture, self._window.offsets
        if offsets is not None:
            rows = self._window.positions
            speed = np.abs(rows[1:] - rows[:-1]).max(axis=0) / self._window.period
            moved = abs(float(self._difference[0] @ offsets[-self._width - 1 :])) * speed * np.abs(self._scale)
            self._shares = np.sign(self._shares) * np.maximum(np.abs(self._shares) - moved, 0.0)
        if mixture is not None:
            weights = (self._difference @ mixture[-self._width - 1 :])[0]
            steps = float(np.abs(weights).sum()) / 4.0
            motion = float(np.abs(self._kernel @ weights).sum()) / self.parameters.half_width**2
            self._shares /= max(steps, motion, 1.0)

    def _take_velocity(self, sample: JointSample, steps: int) -> None:
        velocity = sample_row(sample.velocity, self.joint_count)
        if velocity is None:
            velocity = np.full(self.joint_count, np.nan)
        finite = np.isfinite(velocity)
        if steps > 1:
            # The velocities between were not seen; the difference would be over another width.
            self._trusted[:] = 0
        self._velocities.push(np.where(finite, velocity, 0.0))
        self._trusted += 1
        self._trusted[~finite] = 0
        np.minimum(self._trusted, self._window.counts, out=self._trusted)
