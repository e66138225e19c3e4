"""The velocity just after an impact as estimated from recorded positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array


@dataclass(frozen=True, eq=False)
class VelocityEstimate:
    """Virtual rigid-body velocity just after an impact, as a recording shows it (Aouaj 2021, IV; Rey Arias 2024, IV-A).

    Joint or Cartesian, by the positions that went in: units are those of the positions and seconds.

    Attributes:
        method: Name of the estimator.
        impact_time: Time at which the velocities are taken, s.
        velocity_after: (n,) Velocity just after the impact, freed of the oscillation.
        standard_error: (n,) Of `velocity_after`, the impact time's uncertainty included.
        velocity_before: (n,) Velocity just before the impact.
        velocity_before_error: (n,) Standard error of `velocity_before`.
        window: First and last instant of the samples used after the impact, s; `both_sides` begins before it.
        samples: Number of samples used after the impact.
        residual_rms: (n,) Root mean square of what the fit leaves, in the unit of the positions.
        frequencies: (m,) Damped angular frequencies found, rad/s; empty when none was fitted.
        decay_rates: (m,) Their decay rates, 1/s.
        settled: False when the fit ended on a bound, so that its error may be larger than stated.
        jump_std: (n,) Standard error of the jump, where both velocities come from one fit and share errors; else None.
    """

    method: str
    impact_time: float
    velocity_after: Array
    standard_error: Array
    velocity_before: Array
    velocity_before_error: Array
    window: tuple[float, float]
    samples: int
    residual_rms: Array
    frequencies: Array
    decay_rates: Array
    settled: bool
    jump_std: Array | None = None

    @property
    def jump_error(self) -> Array:
        """Standard error of `jump` (n,)."""
        apart = np.hypot(self.standard_error, self.velocity_before_error)
        return apart if self.jump_std is None else self.jump_std

    @property
    def jump(self) -> Array:
        """Velocity after minus velocity before, (n,)."""
        return self.velocity_after - self.velocity_before
