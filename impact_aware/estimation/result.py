"""A fit to one branch of the motion."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from impact_aware.arrays import Array


@dataclass(frozen=True, eq=False)
class BranchFit:
    """A fit to one smooth branch of the motion, before or after the impact, in time since the impact.

    Attributes:
        velocity: (n,) Velocity of the branch, without its oscillation, at time zero.
        standard_error: (n,) Of `velocity`, with the residuals' correlation in time counted in.
        acceleration: (n,) Slope of that velocity at time zero.
        residual_rms: (n,) Root mean square of what the fit leaves, in the unit of the positions.
        window: First and last sample used, s since the impact.
        samples: Number of samples used.
        parameters: Number of parameters per direction, shared ones counted for each.
        frequencies: (m,) Damped angular frequencies of the oscillation, rad/s; empty without one.
        decay_rates: (m,) Decay rates of the oscillation, 1/s; empty without one.
        residuals: (samples, n) Measured minus fitted positions.
        settled: False when the fit ended on a bound or did not converge, so that its error may be larger than stated.
    """

    velocity: Array
    standard_error: Array
    acceleration: Array
    residual_rms: Array
    window: tuple[float, float]
    samples: int
    parameters: int
    residuals: Array
    frequencies: Array = field(default_factory=lambda: np.zeros(0))
    decay_rates: Array = field(default_factory=lambda: np.zeros(0))
    settled: bool = True
