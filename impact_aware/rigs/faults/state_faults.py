"""Faults of the stream of joint states: each turns one message into none, one or several, now or later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from impact_aware.errors import UnknownNameError

Values = Sequence[float]


class StateMessage(NamedTuple):
    """What a joint_states message carries, without ROS."""

    time: float  # header.stamp, s
    names: Sequence[str]
    position: Values  # rad
    velocity: Values  # rad/s
    effort: Values  # N m


class Delivery(NamedTuple):
    """A message and how much later than usual it arrives."""

    delay: float  # s
    message: StateMessage


class StateFault:
    """One fault with its numbers drawn once; as it is, it changes nothing.

    A message that lacks what a fault would change passes as it is.

    Attributes:
        severity: Its number, in the unit that `unit` says.
        unit: Such as `ms`; empty where there is no number.
    """

    unit = ""

    def __init__(self, generator: np.random.Generator) -> None:
        """Draw the fault's numbers; `generator` also decides what happens to each message."""
        self.generator = generator
        self.severity = self.draw()

    def draw(self) -> float:
        """How bad it is."""
        return 0.0

    def apply(self, message: StateMessage) -> list[Delivery]:
        """What arrives in place of a message."""
        return [Delivery(0.0, message)]

    def index(self, values: Sequence) -> int:
        """Any place in a column of a message that has some."""
        return int(self.generator.integers(len(values)))


class Drop(StateFault):
    """Messages are lost at random, with this probability."""

    unit = "share"

    def draw(self) -> float:  # noqa: D102
        return float(self.generator.uniform(0.05, 0.5))

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        return [] if self.generator.random() < self.severity else [Delivery(0.0, message)]


class Silence(StateFault):
    """Nothing arrives."""

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        return []


class Delay(StateFault):
    """Everything arrives later by this."""

    unit = "ms"

    def draw(self) -> float:  # noqa: D102
        return float(self.generator.uniform(1.0, 60.0))

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        return [Delivery(1e-3 * self.severity, message)]


class Reorder(StateFault):
    """Messages arrive up to this much later at random, so that later ones overtake them."""

    unit = "ms"

    def draw(self) -> float:  # noqa: D102
        return float(self.generator.uniform(1.0, 5.0))

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        return [Delivery(1e-3 * float(self.generator.uniform(0.0, self.severity)), message)]


class Duplicate(StateFault):
    """Each message arrives again, up to this much later."""

    unit = "ms"

    def draw(self) -> float:  # noqa: D102
        return float(self.generator.uniform(1.0, 10.0))

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        again = Delivery(1e-3 * float(self.generator.uniform(0.0, self.severity)), message)
        return [Delivery(0.0, message), again]


class Corrupt(StateFault):
    """One value of each message is replaced."""

    value: float = float("nan")
    column = "position"

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        values = list(getattr(message, self.column))
        if not values:
            return super().apply(message)
        sign = 1.0 if self.generator.random() < 0.5 else -1.0
        values[self.index(values)] = sign * self.value
        if self.column == "velocity":
            return [Delivery(0.0, message._replace(velocity=values))]
        return [Delivery(0.0, message._replace(position=values))]


class NotANumber(Corrupt):
    """A position that is NaN."""


class Infinite(Corrupt):
    """A velocity that is infinite."""

    value = float("inf")
    column = "velocity"


class HugePosition(Corrupt):
    """A position that no joint can have."""

    value = 1e6


class HugeVelocity(Corrupt):
    """A velocity that no joint can have."""

    value = 1e6
    column = "velocity"


class PositionStep(Corrupt):
    """A position that is possible, but can't have been reached since the last message."""

    unit = "rad"

    def draw(self) -> float:  # noqa: D102
        return float(self.generator.uniform(0.05, 0.5))

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        values = list(message.position)
        if not values:
            return [Delivery(0.0, message)]
        values[0] += self.severity
        return [Delivery(0.0, message._replace(position=values))]


class WrongLength(StateFault):
    """Positions and velocities are one too few, or one too many."""

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        position, velocity = list(message.position), list(message.velocity)
        if self.generator.random() < 0.5:
            position, velocity = position[:-1], velocity[:-1]
        else:
            position, velocity = [*position, 0.0], [*velocity, 0.0]
        return [Delivery(0.0, message._replace(position=position, velocity=velocity))]


class Renamed(StateFault):
    """One joint has another name."""

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        names = list(message.names)
        if not names:
            return super().apply(message)
        names[self.index(names)] = "elbow"
        return [Delivery(0.0, message._replace(names=names))]


class Missing(StateFault):
    """One joint is left out."""

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        if not message.names:
            return super().apply(message)
        out = self.index(message.names)

        def without(values: Sequence) -> list:
            return [value for index, value in enumerate(values) if index != out]

        cut = StateMessage(message.time, *(without(column) for column in message[1:]))
        return [Delivery(0.0, cut)]


class ClockForward(StateFault):
    """Stamps are ahead by this."""

    unit = "s"

    def draw(self) -> float:  # noqa: D102
        return float(self.generator.uniform(2.0, 100.0))

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        return [Delivery(0.0, message._replace(time=message.time + self.severity))]


class ClockBackward(StateFault):
    """Stamps are behind by this."""

    unit = "s"

    def draw(self) -> float:  # noqa: D102
        return float(self.generator.uniform(0.1, 100.0))

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        return [Delivery(0.0, message._replace(time=message.time - self.severity))]


class SlowSource(StateFault):
    """Messages come at 30 Hz, as from a republisher."""

    period = 1.0 / 30.0

    def __init__(self, generator: np.random.Generator) -> None:  # noqa: D107
        super().__init__(generator)
        self._last = -np.inf

    def apply(self, message: StateMessage) -> list[Delivery]:  # noqa: D102
        if 0.0 <= message.time - self._last < self.period - 1e-9:
            return []
        self._last = message.time
        return [Delivery(0.0, message)]


STATE_FAULTS: dict[str, Callable[[np.random.Generator], StateFault]] = {
    "drop": Drop,
    "silence": Silence,
    "delay": Delay,
    "reorder": Reorder,
    "duplicate": Duplicate,
    "nan": NotANumber,
    "inf": Infinite,
    "huge_position": HugePosition,
    "huge_velocity": HugeVelocity,
    "position_step": PositionStep,
    "wrong_length": WrongLength,
    "renamed": Renamed,
    "missing": Missing,
    "clock_forward": ClockForward,
    "clock_backward": ClockBackward,
    "slow_source": SlowSource,
}
"""Faults of joint states by name."""


def make_state_fault(name: str, seed: int) -> StateFault:
    """A fault by its name, the same for the same seed.

    Raises:
        UnknownNameError: No fault of that name.
    """
    if name not in STATE_FAULTS:
        raise UnknownNameError("fault", name, tuple(STATE_FAULTS))
    return STATE_FAULTS[name](np.random.default_rng(seed))
