"""The joint states of all arms on their way to the controller: through faults and a queue, then put together.

Names, order and gaps are read by what the nodes read them with; how the states of several arms are paired, and who
counts as silent, is played here as `rs_controller` does it (`impact_aware.nodes.arm_inputs`).
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import NamedTuple

from impact_aware.rigs.faults.state_faults import Delivery, StateFault, StateMessage

QUEUE_DEPTH = 1
"""Of the subscription to joint states: only the newest waits."""


class _Later(NamedTuple):
    """Something due, in the order of its time and then of its number."""

    due: float
    number: int
    message: StateMessage


class StateChannel:
    """The way of one arm's states: a fault, delays, and a queue that forgets the oldest.

    Attributes:
        fault: What happens to each message while it acts, or None.
        queue: What has arrived and was not taken yet.
    """

    def __init__(self, fault: StateFault | None = None) -> None:
        """Nothing is on its way."""
        self.fault = fault
        self.queue: deque[StateMessage] = deque(maxlen=QUEUE_DEPTH)
        self._later: list[_Later] = []
        self._number = 0

    def send(self, message: StateMessage, now: float, *, faulty: bool) -> None:
        """Put a message on its way, and into the queue what is due."""
        deliveries = [Delivery(0.0, message)]
        if faulty and self.fault is not None:
            deliveries = self.fault.apply(message)
        for delivery in deliveries:
            self._number += 1
            heapq.heappush(self._later, _Later(now + delivery.delay, self._number, delivery.message))
        while self._later and self._later[0].due <= now:
            self.queue.append(heapq.heappop(self._later).message)

    def clear(self) -> None:
        """Lose everything that is on its way."""
        self.queue.clear()
        self._later.clear()
