"""Faults of the messages: joint states that are lost, late or wrong, false detections, absurd predictions.

A fault of states turns one message into none, one or several, now or later.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from impact_aware.arrays import Array

SLOW_PERIOD = 1.0 / 30.0
"""Time between two messages of a slow source, s."""


class StateMessage(NamedTuple):
    """What a joint_states message carries, without ROS."""

    time: float  # header.stamp, s
    names: Sequence[str]
    position: Sequence[float]  # rad
    velocity: Sequence[float]  # rad/s
    effort: Sequence[float]  # N m


class Delivery(NamedTuple):
    """A message and how much later than usual it arrives."""

    delay: float  # s
    message: StateMessage


class StateFault:
    """One fault with its severity drawn once; a name that is none of `STATE_FAULTS` changes nothing.

    A message that lacks what a fault would change passes as it is.

    Attributes:
        severity: Its number, in the unit that stands beside its range in `STATE_FAULTS`; 0 where there is none.
        generator: Of all that is random.
        passed: Stamp of the last message that a slow source let through, s.
    """

    def __init__(self, name: str, generator: np.random.Generator) -> None:
        """Draw the severity; `generator` also decides what happens to each message."""
        self._change, severities = STATE_FAULTS.get(name, (_pass, None))
        self.generator = generator
        self.severity = 0.0 if severities is None else self.uniform(*severities)
        self.passed = -np.inf

    def apply(self, message: StateMessage) -> list[Delivery]:
        """What arrives in place of a message."""
        return self._change(self, message)

    def uniform(self, low: float, high: float) -> float:
        """A random number between two."""
        return float(self.generator.uniform(low, high))

    def index(self, values: Sequence) -> int:
        """A random index into a column of a message."""
        return int(self.generator.integers(len(values)))


Change = Callable[[StateFault, StateMessage], list[Delivery]]


def _now(message: StateMessage, **columns: Any) -> list[Delivery]:
    """The message at once, with some of its columns replaced."""
    return [Delivery(0.0, message._replace(**columns))]


def _pass(_fault: StateFault, message: StateMessage) -> list[Delivery]:
    return _now(message)


def _drop(fault: StateFault, message: StateMessage) -> list[Delivery]:
    return [] if fault.generator.random() < fault.severity else _now(message)


def _silence(_fault: StateFault, _message: StateMessage) -> list[Delivery]:
    return []


def _delay(fault: StateFault, message: StateMessage) -> list[Delivery]:
    return [Delivery(1e-3 * fault.severity, message)]


def _reorder(fault: StateFault, message: StateMessage) -> list[Delivery]:
    return [Delivery(1e-3 * fault.uniform(0.0, fault.severity), message)]


def _duplicate(fault: StateFault, message: StateMessage) -> list[Delivery]:
    return [*_now(message), *_reorder(fault, message)]


def _corrupt(column: str, value: float) -> Change:
    """One value of a column, either sign, at random."""

    def change(fault: StateFault, message: StateMessage) -> list[Delivery]:
        values = list(getattr(message, column))
        if values:
            sign = 1.0 if fault.generator.random() < 0.5 else -1.0
            values[fault.index(values)] = sign * value
        return _now(message, **{column: values})

    return change


def _position_step(fault: StateFault, message: StateMessage) -> list[Delivery]:
    first = [value + fault.severity for value in message.position[:1]]
    return _now(message, position=[*first, *message.position[1:]])


def _wrong_length(fault: StateFault, message: StateMessage) -> list[Delivery]:
    """Positions and velocities are one too few, or one too many."""
    position, velocity = list(message.position), list(message.velocity)
    if fault.generator.random() < 0.5:
        return _now(message, position=position[:-1], velocity=velocity[:-1])
    return _now(message, position=[*position, 0.0], velocity=[*velocity, 0.0])


def _renamed(fault: StateFault, message: StateMessage) -> list[Delivery]:
    names = list(message.names)
    if names:
        names[fault.index(names)] = "elbow"
    return _now(message, names=names)


def _missing(fault: StateFault, message: StateMessage) -> list[Delivery]:
    if not message.names:
        return _now(message)
    out = fault.index(message.names)
    columns = ([*column[:out], *column[out + 1 :]] for column in message[1:])
    return [Delivery(0.0, StateMessage(message.time, *columns))]


def _shifted_clock(sign: float) -> Change:
    return lambda fault, message: _now(message, time=message.time + sign * fault.severity)


def _slow_source(fault: StateFault, message: StateMessage) -> list[Delivery]:
    if 0.0 <= message.time - fault.passed < SLOW_PERIOD - 1e-9:
        return []
    fault.passed = message.time
    return _now(message)


STATE_FAULTS: dict[str, tuple[Change, tuple[float, float] | None]] = {
    "drop": (_drop, (0.05, 0.5)),  # probability
    "silence": (_silence, None),
    "delay": (_delay, (1.0, 60.0)),  # ms
    "reorder": (_reorder, (1.0, 5.0)),  # ms
    "duplicate": (_duplicate, (1.0, 10.0)),  # ms
    "nan": (_corrupt("position", float("nan")), None),
    "inf": (_corrupt("velocity", float("inf")), None),
    "huge_position": (_corrupt("position", 1e6), None),
    "huge_velocity": (_corrupt("velocity", 1e6), None),
    "position_step": (_position_step, (0.05, 0.5)),  # rad
    "wrong_length": (_wrong_length, None),
    "renamed": (_renamed, None),
    "missing": (_missing, None),
    "clock_forward": (_shifted_clock(1.0), (2.0, 100.0)),  # s
    "clock_backward": (_shifted_clock(-1.0), (0.1, 100.0)),  # s
    "slow_source": (_slow_source, None),
}
"""Faults of joint states by name: what becomes of a message, and between which numbers the severity is drawn."""


QUEUE_DEPTH = 1
"""Queue depth of the subscription to joint states: only the newest waits."""

Item = TypeVar("Item")


class DelayLine(Generic[Item]):
    """Things that arrive at their times, and in the order they were sent where that is the same time."""

    def __init__(self) -> None:
        """Begin with nothing on its way."""
        self._waiting: list[tuple[float, int, Item]] = []
        self._numbers = itertools.count()

    def send(self, item: Item, due: float) -> None:
        """Let something arrive at a time, s."""
        heapq.heappush(self._waiting, (due, next(self._numbers), item))

    def arrived(self, now: float) -> list[Item]:
        """What has arrived by now, s, and was not taken before."""
        items = []
        while self._waiting and self._waiting[0][0] <= now:
            items.append(heapq.heappop(self._waiting)[2])
        return items


class StateChannel:
    """Delivers one arm's states.

    Attributes:
        fault: What happens to each message while it acts, or None.
        queue: What has arrived and was not taken yet.
    """

    def __init__(self, fault: StateFault | None = None) -> None:
        """Begin without a message."""
        self.fault = fault
        self.queue: deque[StateMessage] = deque(maxlen=QUEUE_DEPTH)
        self._line: DelayLine[StateMessage] = DelayLine()

    def send(self, message: StateMessage, now: float, *, faulty: bool) -> None:
        """Send a message, and put into the queue what has arrived."""
        deliveries = self.fault.apply(message) if faulty and self.fault is not None else [Delivery(0.0, message)]
        for delivery in deliveries:
            self._line.send(delivery.message, now + delivery.delay)
        self.queue.extend(self._line.arrived(now))


FALSE_DETECTION = 0.02
"""Probability of a false detection with a state."""


class EventFaults:
    """What goes wrong with detectors and predictions; as it is, nothing does.

    Attributes:
        dead_detectors: Arms whose detector is dead.
        died: When it died, s.
        acting: Whether the fault acts now.
    """

    def __init__(self, name: str, generator: np.random.Generator) -> None:
        """Take the fault's name; a name that is none of these faults changes nothing."""
        self._name, self._generator = name, generator
        self.dead_detectors: tuple[int, ...] = ()
        self.died = math.inf
        self.acting = False

    def detects_falsely(self) -> bool:
        """Whether there is a false detection with this state."""
        return self._name == "false_detections" and self.acting and bool(self._generator.random() < FALSE_DETECTION)

    def prediction_delay(self) -> float:
        """How late a prediction comes, s."""
        return float(self._generator.uniform(0.05, 0.2)) if self._name == "prediction_late" else 0.0

    def spoil(self, velocity: Array | None) -> Array | None:
        """What becomes of a predicted velocity (3,), m/s."""
        if self._name != "prediction_absurd":
            return velocity
        direction = self._generator.standard_normal(3)
        size = 10.0 ** self._generator.uniform(0.5, 6.0)
        kinds = (direction * np.nan, direction * np.inf, direction / np.linalg.norm(direction) * size)
        return np.asarray(kinds[int(self._generator.integers(3))])
