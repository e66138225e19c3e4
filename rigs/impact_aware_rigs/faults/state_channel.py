"""What is on its way from one node to another: held back by delays, changed by a fault, kept by a queue."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from typing import Generic, TypeVar

from impact_aware_rigs.faults.state_faults import Delivery, StateFault, StateMessage

QUEUE_DEPTH = 1
"""Of the subscription to joint states: only the newest waits."""

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
