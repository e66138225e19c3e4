"""An arm is damped to rest, then holds the posture it has reached: whenever nothing else says how it shall move."""

from __future__ import annotations

import math

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control.parameters import ControlParameters

BRAKING = 4.0
"""Time constants of the damping after which a posture is held in any case: what still moves an arm then is what its
model does not know, such as a load, and damping alone would let it sink for ever."""

LONGEST_STEP = 0.1
"""Most that counts as time gone by between two states, s; stamps that jump don't end the braking."""


class Braking:
    """Joint acceleration that takes the motion away, -d dq, and then holds, k (q_held - q) - 2 sqrt(k) dq.

    With the arm's bias torques beside it this is a torque: tau = M a + bias.

    Attributes:
        held: (n,) Posture that is held, rad; None while there is motion to be taken away.
        stiffness: k of the last acceleration, 1/s^2; 0 while damping.
        damping: Its d, 1/s.
    """

    def __init__(self) -> None:
        """Nothing moves yet."""
        self.begin()

    def begin(self) -> None:
        """Forget the posture that was held: there is motion to be taken away."""
        self.held: Array | None = None
        self.stiffness = self.damping = 0.0
        self._time, self._braked = math.nan, 0.0

    def acceleration(self, settings: ControlParameters, time: float, q: Array, dq: Array) -> Array:
        """What the joints (n,) shall do at `time`, s, rad/s^2.

        Args:
            settings: `safe_damping`, `hold_stiffness` and `rest_velocity` of now.
            time: Of the state, s.
            q: (n,) rad.
            dq: (n,) rad/s.
        """
        if self.held is None:
            if time > self._time:
                self._braked += min(time - self._time, LONGEST_STEP)
            self._time = time
            slow = np.abs(dq).max() < settings.rest_velocity
            if slow or self._braked * settings.safe_damping >= BRAKING:
                self.held = q.copy()
        if self.held is None:
            self.stiffness, self.damping = 0.0, settings.safe_damping
            return -self.damping * dq
        self.stiffness, self.damping = settings.hold_stiffness, 2.0 * math.sqrt(settings.hold_stiffness)
        return self.stiffness * (self.held - q) - self.damping * dq
