"""What the samples around an instant tell of what happened there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array


@dataclass(frozen=True, eq=False)
class Branches:
    """What the samples around an instant tell.

    Attributes:
        time: Of the impact, if it is one, s.
        time_std: Its standard error, s.
        jump: (n,) Of the velocity, rad/s.
        jump_std: (n,) Its standard error, rad/s.
        smooth: Log likelihood without anything but the motion and an oscillation under way.
        plain: The same without an oscillation under way.
        step: With a step of the acceleration.
        step_time: Where that or `carried` is, whichever is likelier, s.
        kink: With a jump of the velocity.
        carried: With a step of the motors' acceleration that elastic joints pass on.
        spoilt: As `smooth`, with one sample that is wrong; minus infinity where it was not needed.
    """

    time: float
    time_std: float
    jump: Array
    jump_std: Array
    smooth: float
    plain: float
    step: float
    step_time: float
    kink: float
    carried: float = -np.inf
    spoilt: float = -np.inf
