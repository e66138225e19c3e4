"""The joint states of all arms, put together into one state per control cycle."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from impact_aware.control.command import SafeReason
from impact_aware.robot.joint_reader import JointReader

PAIR_TOLERANCE = 0.6
"""States whose stamps differ by up to this share of a period belong together: half of it, and room for jitter."""

START_SPEED = 0.2
"""Fastest joint with which a motion may begin, rad/s: above the noise of measured velocities, and slow enough that a
motion in the other direction does not begin with a jerk."""


class Overdue(NamedTuple):
    """States that did not come in time.

    Attributes:
        arm: Index of the arm; None when every arm is alive, but no states of all of them belong together.
        reason: For the safe mode.
        detail: One sentence.
    """

    arm: int | None
    reason: SafeReason
    detail: str


class ArmStates:
    """Pairs the states of all arms by their stamps, and watches how long each arm has been silent.

    States belong together when their stamps differ by at most 0.6 of a period, so that arms which are out of step are
    paired with the nearer neighbour, and a state that got lost costs one cycle. Stamps must come from one clock. An arm
    that is excluded is not waited for: it counts as standing still at its last position until it is received again.

    Attributes:
        readers: One per arm, which the messages are read with.
        time: Newest stamp of the last complete state, s; -inf before the first.
        oldest: Oldest stamp in it of the arms that are alive, s.
        position: (n,) Of all arms, arm after arm, rad.
        velocity: (n,) rad/s.
        effort: (n,) Measured, N m; NaN where a message has none.
    """

    def __init__(
        self,
        readers: Sequence[JointReader],
        topics: Sequence[str] | None = None,
        *,
        period: float = 0.001,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wait for the first states.

        Args:
            readers: One per arm, with the joint names of its model.
            topics: Names of the arms' topics, for sentences.
            period: Control period, s.
            clock: Present time of a steady clock, s.
        """
        self.readers = tuple(readers)
        self.topics = tuple(topics) if topics is not None else ("joint_states",) * len(self.readers)
        self._tolerance = PAIR_TOLERANCE * period
        self._clock = clock
        ends = np.cumsum([len(reader.joint_names) for reader in self.readers]).tolist()
        self._slices = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        self.time = self.oldest = -math.inf
        self.position, self.velocity, self.effort = (np.full(ends[-1], np.nan) for _ in range(3))
        self._fresh = [False] * len(self.readers)
        self._excluded = [False] * len(self.readers)
        self._received = [-math.inf] * len(self.readers)
        self._completed = -math.inf
        if len(self.readers) == 1:
            # Nothing to put together: what the reader reads is the state.
            only = self.readers[0]
            self.position, self.velocity, self.effort = only.position, only.velocity, only.effort

    @property
    def complete(self) -> bool:
        """Whether there has been a state of all arms."""
        return math.isfinite(self.time)

    @property
    def velocity_measured(self) -> bool:
        """Whether every arm's messages have velocities."""
        return all(reader.velocity_measured for reader in self.readers)

    @property
    def rejected(self) -> int:
        """Messages that were not usable."""
        return sum(sum(reader.rejected.values()) for reader in self.readers)

    @property
    def largest_speed(self) -> float:
        """Speed of the fastest joint, rad/s; an arm that is excluded stands still."""
        return float(np.abs(self.velocity).max())

    @property
    def alive(self) -> bool:
        """Whether any arm is not excluded."""
        return not all(self._excluded)

    def silence(self) -> tuple[float, int]:
        """For how long the quietest arm has been silent, s (infinite before its first state), and which one it is."""
        index = int(np.argmin(self._received))
        return self._clock() - self._received[index], index

    def refusal(self, timeout: float) -> str:
        """Why no motion can begin from the last state, in one sentence; empty when it can.

        Args:
            timeout: Longest time since the last state of each arm, s.
        """
        silence, arm = self.silence()
        if math.isinf(silence):
            return f"no {self.topics[arm]} yet"
        if silence > timeout:
            return f"the last {self.topics[arm]} came {silence:.2f} s ago"
        if not self.complete:
            return "no joint_states of all arms with nearly the same stamp yet"
        if not self.velocity_measured:
            return "joint_states have no velocities"
        speed = self.largest_speed
        return "" if speed <= START_SPEED else f"a joint moves at {speed:.2f} rad/s: a motion begins at rest"

    def receive(self, arm: int) -> bool:
        """Take over what an arm's reader has read; whether there is a new state of all arms with it."""
        reader = self.readers[arm]
        self._received[arm] = self._clock()
        self._excluded[arm] = False
        if len(self.readers) == 1:
            self.time = self.oldest = reader.time
            self._completed = self._received[arm]
            return True
        part = self._slices[arm]
        self._fresh[arm] = True
        self.position[part], self.velocity[part], self.effort[part] = reader.position, reader.velocity, reader.effort
        times = []
        for reader, fresh, excluded in zip(self.readers, self._fresh, self._excluded, strict=True):
            if not (fresh or excluded):
                return False
            if not excluded:
                times.append(reader.time)
        newest, oldest = max(times), min(times)
        if newest - oldest > self._tolerance:
            return False
        self.time, self.oldest = newest, oldest
        self._completed = self._received[arm]
        self._fresh = [False] * len(self._fresh)
        return True

    def overdue(self, timeout: float) -> list[Overdue]:
        """Which arms have had nothing usable for longer than `timeout`, s of the steady clock, and why."""
        now, found = self._clock(), list[Overdue]()
        for index, (reader, topic, last) in enumerate(zip(self.readers, self.topics, self._received, strict=True)):
            if now - last <= timeout:
                continue
            if reader.missing:
                found.append(Overdue(index, SafeReason.JOINT_MISSING, f"{topic} lack {', '.join(reader.missing)}"))
            else:
                found.append(Overdue(index, SafeReason.STATE_STALE, f"no usable {topic} for {now - last:.2f} s"))
        apart = now - self._completed
        if not found and apart > timeout:
            sentence = f"the states of the arms have not come in pairs for {apart:.2f} s"
            found.append(Overdue(None, SafeReason.STATE_STALE, sentence))
        return found

    def exclude(self, arm: int) -> None:
        """Go on without an arm: it counts as standing at its last position until it is received again."""
        self._excluded[arm] = True
        self.velocity[self._slices[arm]] = 0.0
