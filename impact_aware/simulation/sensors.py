"""What `joint_states` would show of a plant: encoder steps, noise, delay, differenced velocity; repeatable by seed."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError, check_name
from impact_aware.ranges import NOT_NEGATIVE

VELOCITY_SOURCES = ("true", "differences")


@dataclass(frozen=True)
class SensorSettings:
    """How a plant's state is measured; the defaults show it as it is.

    Attributes:
        encoder_resolution: Positions are rounded to multiples of it, rad; 0 for none.
        position_noise: Standard deviation, before rounding, rad.
        velocity_noise: Standard deviation, rad/s; of a `true` velocity only.
        effort_noise: Standard deviation, N m.
        delay: Cycles by which readings are old.
        velocity_source: `true`, or `differences` of the measured positions through a first-order low-pass filter.
        velocity_cutoff: Cut-off frequency of that filter, Hz; infinite for bare differences.
    """

    encoder_resolution: float = 0.0
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    effort_noise: float = 0.0
    delay: int = 0
    velocity_source: str = "true"
    velocity_cutoff: float = 100.0

    def __post_init__(self) -> None:
        """Refuse a figure out of range (InvalidInputError) and another velocity source (UnknownNameError)."""
        for name in ("encoder_resolution", "position_noise", "velocity_noise", "effort_noise"):
            NOT_NEGATIVE.check(f"sensors.{name}", getattr(self, name))
        if self.delay < 0:
            raise InvalidInputError("sensors.delay", self.delay, "cycles >= 0")
        check_name("sensors.velocity_source", self.velocity_source, VELOCITY_SOURCES)
        if not self.velocity_cutoff > 0.0:
            raise InvalidInputError("sensors.velocity_cutoff", self.velocity_cutoff, "a frequency > 0 Hz")


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

    def __init__(self, settings: SensorSettings | None = None, cycle: float = 0.001, seed: int = 0) -> None:
        """Keep the settings; `cycle` is the time between two states, s."""
        self.settings = settings or SensorSettings()
        self._cycle = cycle
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Start over: the same seed and states give the same readings, bit by bit."""
        self._generator = np.random.default_rng(seed)
        self._last: Array | None = None
        self._filtered: Array | None = None
        self._queue: deque[JointReading] = deque(maxlen=self.settings.delay + 1)

    def read(self, time: float, q: Array, dq: Array, effort: Array) -> JointReading:
        """Measure one state, each array (n,); until the delay has passed, the first reading is repeated."""
        settings = self.settings
        measured = self._noisy(q, settings.position_noise)
        if settings.encoder_resolution > 0.0:
            measured = np.round(measured / settings.encoder_resolution) * settings.encoder_resolution
        if settings.velocity_source == "true":
            velocity = self._noisy(dq, settings.velocity_noise)
        else:
            velocity = self._difference(measured)
        self._queue.append(JointReading(time, measured, velocity, self._noisy(effort, settings.effort_noise)))
        return self._queue[0]

    def _noisy(self, values: Array, deviation: float) -> Array:
        if deviation == 0.0:
            return values.copy()
        return np.asarray(values + deviation * self._generator.standard_normal(values.size))

    def _difference(self, measured: Array) -> Array:
        if self._last is None or self._filtered is None:
            self._filtered = np.zeros_like(measured)
        else:
            # Exact discretisation of the low-pass for an input held over the cycle.
            share = 1.0 - math.exp(-2.0 * math.pi * self.settings.velocity_cutoff * self._cycle)
            self._filtered = self._filtered + share * ((measured - self._last) / self._cycle - self._filtered)
        self._last = measured
        return np.asarray(self._filtered)
