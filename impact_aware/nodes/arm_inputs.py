"""The joint states of all arms, put together into one state per control cycle."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node

from impact_aware.control import SafeReason
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.task.arms import Arm

LOWEST_RATE = 500.0
"""Rate of joint_states below which a controller is warned, Hz."""

PAIR_TOLERANCE = 0.6
"""States whose stamps differ by up to this share of a period belong together: half of it, and room for jitter."""


class ArmInputs:
    """Subscribes to the joint states of every arm and calls back when there is a new one of each.

    States belong together when their stamps differ by at most 0.6 of a period, so that arms which are out of step are
    paired with the nearer neighbour, and a state that got lost costs one cycle. Stamps must come from one clock. An arm
    that is `set_aside` is not waited for: it counts as standing still where it was last seen, until it is heard again.

    Attributes:
        time: Newest stamp of the state that was called back with, s.
        oldest: Oldest one of the arms that are heard, s.
        position: (n,) Of all arms, arm after arm, rad.
        velocity: (n,) rad/s.
        effort: (n,) Measured, N m; NaN where a message has none.
        sources: One per arm.
    """

    def __init__(
        self,
        node: Node,
        arms: Sequence[Arm],
        callback: Callable[[Time], None],
        *,
        reliable: bool,
        period: float,
    ) -> None:
        """Subscribe.

        Args:
            node: The node that listens.
            arms: The arms.
            callback: Called with the stamp of the message that made a state complete.
            reliable: Ask for reliable delivery, as lockstep needs.
            period: Control period, s.
        """
        self._callback = callback
        self._arms = tuple(arms)
        self._tolerance = PAIR_TOLERANCE * period
        count = sum(arm.robot.n for arm in arms)
        self.time = self.oldest = -math.inf
        self.position, self.velocity, self.effort = (np.full(count, np.nan) for _ in range(3))
        self._fresh = [False] * len(self._arms)
        self._aside = [False] * len(self._arms)
        self._receipts = [-math.inf] * len(self._arms)
        self._called_back = -math.inf
        self._slices: list[slice] = []
        self.sources: list[JointStateSource] = []
        first = 0
        for index, arm in enumerate(self._arms):
            self._slices.append(slice(first, first + arm.robot.n))
            first += arm.robot.n
            self.sources.append(
                JointStateSource(
                    node,
                    arm.robot.joint_names,
                    partial(self._receive, index),
                    topic=arm.topic("joint_states"),
                    reliable=reliable,
                    newest=True,
                    lowest_rate=LOWEST_RATE,
                )
            )
        if len(self.sources) == 1:
            # Nothing to put together: what the source reads is the state.
            only = self.sources[0]
            self.position, self.velocity, self.effort = only.position, only.velocity, only.effort

    @property
    def complete(self) -> bool:
        """Whether there has been a state of all arms."""
        return math.isfinite(self.time)

    @property
    def velocity_measured(self) -> bool:
        """Whether every arm's messages have velocities."""
        return all(source.velocity_measured for source in self.sources)

    @property
    def rate(self) -> float:
        """The lowest measured rate of the arms, Hz; NaN before all are known."""
        return float(np.min([source.rate for source in self.sources]))

    @property
    def rejected(self) -> int:
        """Messages that were not usable."""
        return sum(sum(source.rejected.values()) for source in self.sources)

    @property
    def largest_speed(self) -> float:
        """Of the fastest joint, rad/s; an arm that is set aside stands still."""
        return float(np.abs(self.velocity).max())

    @property
    def heard(self) -> bool:
        """Whether any arm is not set aside."""
        return not all(self._aside)

    def silence(self) -> tuple[float, Arm]:
        """How long the quietest arm has said nothing, s of wall time (infinite before its first word), and which."""
        index = int(np.argmin(self._receipts))
        return time.monotonic() - self._receipts[index], self._arms[index]

    def overdue(self, timeout: float) -> list[tuple[Arm | None, SafeReason, str]]:
        """Who has said nothing usable for longer than `timeout`, s of wall time: which arm, the reason, one sentence.

        When every arm is heard, but no states of all of them come together, that is said of no arm.
        """
        now, found = time.monotonic(), list[tuple[Arm | None, SafeReason, str]]()
        for arm, source, last in zip(self._arms, self.sources, self._receipts, strict=True):
            if now - last <= timeout:
                continue
            topic = arm.topic("joint_states")
            if source.missing:
                found.append((arm, SafeReason.JOINT_MISSING, f"{topic} lack {', '.join(source.missing)}"))
            else:
                found.append((arm, SafeReason.STATE_STALE, f"no usable {topic} for {now - last:.2f} s"))
        apart = now - self._called_back
        if not found and apart > timeout:
            sentence = f"the states of the arms have not come in pairs for {apart:.2f} s"
            found.append((None, SafeReason.STATE_STALE, sentence))
        return found

    def set_aside(self, arm: Arm) -> None:
        """Go on without an arm: it counts as standing where it was last seen until it is heard again."""
        index = self._arms.index(arm)
        self._aside[index] = True
        self.velocity[self._slices[index]] = 0.0

    def _receive(self, index: int, stamp: Time) -> None:
        source, part = self.sources[index], self._slices[index]
        self._receipts[index] = time.monotonic()
        self._aside[index] = False
        if len(self.sources) == 1:
            self.time = self.oldest = source.time
            self._called_back = self._receipts[index]
            self._callback(stamp)
            return
        self._fresh[index] = True
        self.position[part] = source.position
        self.velocity[part] = source.velocity
        self.effort[part] = source.effort
        times = []
        for source, fresh, aside in zip(self.sources, self._fresh, self._aside, strict=True):
            if not (fresh or aside):
                return
            if not aside:
                times.append(source.time)
        newest, oldest = max(times), min(times)
        if newest - oldest > self._tolerance:
            return
        self.time, self.oldest = newest, oldest
        self._called_back = self._receipts[index]
        self._fresh = [False] * len(self._fresh)
        self._callback(stamp)
