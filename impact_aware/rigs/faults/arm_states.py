"""The joint states of all arms on their way to the controller: through faults and a queue, then put together.

Names, order and gaps are read by what the nodes read them with; how the states of several arms are paired, and who
counts as silent, is played here as `rs_controller` does it (`impact_aware.nodes.arm_inputs`).
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from impact_aware.rigs.faults.state_faults import Delivery, StateFault, StateMessage
from impact_aware.robot import RobotModel
from impact_aware.robot.joint_reader import JointReader

QUEUE_DEPTH = 1
"""Of the subscription to joint states: only the newest waits."""

PAIR_TOLERANCE = 0.0006
"""States of two arms whose stamps differ by more are not of the same cycle, s."""


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


class ArmStates:
    """One state of all arms from the messages of each.

    Attributes:
        readers: One per arm.
        time: Newest stamp of the last complete state, s.
        oldest: Oldest one of the arms that are heard, s.
        position: (n,) rad.
        velocity: (n,) rad/s.
        effort: (n,) N m.
        receipts: When each arm was last heard, s.
    """

    def __init__(self, robots: Sequence[RobotModel]) -> None:
        """Nothing has been heard yet."""
        self.readers = [JointReader(robot.joint_names) for robot in robots]
        ends = np.cumsum([robot.n for robot in robots])
        self.slices = [slice(end - robot.n, end) for end, robot in zip(ends.tolist(), robots, strict=True)]
        self.position, self.velocity, self.effort = (np.full(int(ends[-1]), np.nan) for _ in range(3))
        self.time = self.oldest = -math.inf
        self.receipts = [-math.inf] * len(robots)
        self._fresh = [False] * len(robots)
        self._aside = [False] * len(robots)

    def take(self, arm: int, message: StateMessage, now: float) -> bool:
        """Read a message of an arm; False when it can't be used."""
        reader, part = self.readers[arm], self.slices[arm]
        if reader.take(*message):
            return False
        self.receipts[arm] = now
        self._fresh[arm], self._aside[arm] = True, False
        self.position[part], self.velocity[part], self.effort[part] = reader.position, reader.velocity, reader.effort
        return True

    def complete(self) -> bool:
        """Whether there is a new state of every arm that is waited for; it counts as used then."""
        known = list(zip(self.readers, self._fresh, self._aside, strict=True))
        if not all(fresh or aside for _, fresh, aside in known):
            return False
        times = [reader.time for reader, _, aside in known if not aside]
        if max(times) - min(times) > PAIR_TOLERANCE:
            return False
        self.time, self.oldest = max(times), min(times)
        self._fresh = [False] * len(self._fresh)
        return True

    def set_aside(self, arm: int) -> None:
        """Go on without an arm: it counts as standing where it was last seen."""
        self._aside[arm] = True
        self.velocity[self.slices[arm]] = 0.0

    @property
    def heard(self) -> bool:
        """Whether any arm is not set aside."""
        return not all(self._aside)
