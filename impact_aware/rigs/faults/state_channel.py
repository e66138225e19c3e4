"""The channel between one arm's joint states and its subscriber: a fault, delays, and a queue."""

from __future__ import annotations

import heapq
import itertools
from collections import deque

from impact_aware.rigs.faults.state_faults import Delivery, StateFault, StateMessage

QUEUE_DEPTH = 1
"""Of the subscription to joint states: only the newest waits."""


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
        # Due time and number of each message: what is due at the same time arrives in the order it was sent.
        self._later: list[tuple[float, int, StateMessage]] = []
        self._numbers = itertools.count()

    def send(self, message: StateMessage, now: float, *, faulty: bool) -> None:
        """Send a message, and put into the queue what is due."""
        deliveries = self.fault.apply(message) if faulty and self.fault is not None else [Delivery(0.0, message)]
        for delivery in deliveries:
            heapq.heappush(self._later, (now + delivery.delay, next(self._numbers), delivery.message))
        while self._later and self._later[0][0] <= now:
            self.queue.append(heapq.heappop(self._later)[2])
