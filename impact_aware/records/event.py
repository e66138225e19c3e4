"""An impact found by a detector; mirrors the message `ImpactEvent`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from impact_aware.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class ImpactEvent:
    """An impact found in the joint signals.

    Attributes:
        time: Refined impact time, s: where the fitted branches before and after meet, usually between two samples.
        time_detected: Stamp of the sample at which the impact was known, s.
        time_std: Standard error of `time`, s; it covers measurement noise and the misfit of the two branches.
        detector: Name of the detector that found it.
        joint: Index of the joint with the largest normalised residual when the first sample was out of bounds.
        position: Joint positions at `time` (n,), rad.
        velocity_before: Velocity of the branch before, at `time` (n,), rad/s; NaN for a joint without data.
        velocity_after: First estimate of the velocity of the branch after (n,), rad/s, from the few samples seen
            until `time_detected`; None where no sample after the impact could be used. An impact that is still
            going on then shows only a part of its jump.
        residual: Residual over its bound, the largest of all tests from the first excess to `time_detected`, shape
            (n,); above 1 is out of bounds.
        confidence: Share of the samples' misfit that the jump explains, 0..1.
    """

    time: float
    time_detected: float
    time_std: float
    detector: str
    joint: int
    position: Array
    velocity_before: Array
    velocity_after: Array | None
    residual: Array
    confidence: float

    def with_velocity(self, measured: Array | None) -> ImpactEvent:
        """The event with the velocity before filled in where the detector could not see it.

        Args:
            measured: Velocities measured just before the impact (n,), rad/s; None or NaN leaves a gap as it is.
        """
        unknown = ~np.isfinite(self.velocity_before)
        if measured is None or not unknown.any():
            return self
        return replace(self, velocity_before=np.where(unknown, measured, self.velocity_before))
