"""What `joint_states` would show of a plant: encoder steps, noise, delay, repeatable by seed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.ranges import NOT_NEGATIVE


@dataclass(frozen=True)
class SensorSettings:
    """How a plant's state is measured; the defaults show it as it is.

    Attributes:
        encoder_resolution: Positions are rounded to multiples of it, rad; 0 for none.
        position_noise: Standard deviation, before rounding, rad.
        velocity_noise: Standard deviation, rad/s.
        effort_noise: Standard deviation, N m.
        delay: Cycles by which readings are old.
    """

    encoder_resolution: float = 0.0
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    effort_noise: float = 0.0
    delay: int = 0

    def __post_init__(self) -> None:
        """Refuse a figure out of range with an InvalidInputError."""
        for name in ("encoder_resolution", "position_noise", "velocity_noise", "effort_noise"):
            NOT_NEGATIVE.check(f"sensors.{name}", getattr(self, name))
        if self.delay < 0:
            raise InvalidInputError("sensors.delay", self.delay, "cycles >= 0")


@dataclass(frozen=True)
class JointReading:
    """What the robot reports of itself.

    Attributes:
        time: When it was true, s; with a delay, earlier than now.
        q: (n,) Position, rad.
        dq: (n,) Velocity, rad/s.
        effort: (n,) Link-side torque, N m.
    """

    time: float
    q: Array
    dq: Array
    effort: Array


class JointSensors:
    """Turns true states, one per cycle, into readings."""

    def __init__(self, settings: SensorSettings | None = None, seed: int = 0) -> None:
        """Keep the settings."""
        self.settings = settings or SensorSettings()
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Start over: the same seed and states give the same readings, bit by bit."""
        self._generator = np.random.default_rng(seed)
        self._queue: deque[JointReading] = deque(maxlen=self.settings.delay + 1)

    def read(self, time: float, q: Array, dq: Array, effort: Array) -> JointReading:
        """Measure one state, each array (n,); until the delay has passed, the first reading is repeated."""
        settings = self.settings
        measured = self._noisy(q, settings.position_noise)
        if settings.encoder_resolution > 0.0:
            measured = np.round(measured / settings.encoder_resolution) * settings.encoder_resolution
        velocity = self._noisy(dq, settings.velocity_noise)
        self._queue.append(JointReading(time, measured, velocity, self._noisy(effort, settings.effort_noise)))
        return self._queue[0]

    def _noisy(self, values: Array, deviation: float) -> Array:
        if deviation == 0.0:
            return values.copy()
        return np.asarray(values + deviation * self._generator.standard_normal(values.size))
