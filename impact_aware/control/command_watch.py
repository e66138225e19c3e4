"""Detection of a controller that has ended or repeats itself, by age, repetition and content of its commands."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from impact_aware.arrays import Array

EXCESS = 1.5
"""Torque over an arm's limit, as a factor, at which a command is none of a controller that keeps to its limits."""

LONGEST_LOOK = 2.5
"""Upper bound of the silence that one check adds, in check periods: a check that was delayed could not receive."""


class Silence:
    """Time without messages, measured by periodic checks that may themselves be delayed.

    Messages that arrive while the checking process is delayed are still queued at its next check. So a late check adds
    little more than a punctual one, and a timeout needs several checks.

    Attributes:
        time: Time without messages, s: a lower bound, and at most one period short where checks are punctual.
    """

    def __init__(self, period: float) -> None:
        """Start without a silence.

        Args:
            period: Time between two checks, s.
        """
        self._longest = LONGEST_LOOK * period
        self._looked = math.nan
        self.time = 0.0

    def heard(self) -> None:
        """Note that a message came since the last check."""
        self.time, self._looked = 0.0, math.nan

    def look(self, now: float) -> float:
        """Return the time without messages, s, at `now` of a steady clock, s."""
        if not math.isnan(self._looked):
            self.time += min(max(now - self._looked, 0.0), self._longest)
        self._looked = now
        return self.time


class CommandWatch:
    """The commands of one arm.

    Attributes:
        begun: Whether commands are expected: from the first one on, until their sender announces its end.
        count: Commands so far.
    """

    def __init__(self, topic: str, timeout: float, repeat_timeout: float, period: float) -> None:
        """Expect nothing yet.

        Args:
            topic: Where they come from, for sentences.
            timeout: Longest time without a command, s.
            repeat_timeout: Longest time for which only the same command comes, s; 0 for as long as it likes.
            period: Between two looks, s.
        """
        self._topic, self._timeout, self._repeat_timeout = topic, timeout, repeat_timeout
        self._silence, self._same = Silence(period), Silence(period)
        self._content: object = None
        self.begun = False
        self.count = 0

    def receive(self, content: object) -> None:
        """Take a command; equal `content` means that it repeats the last one."""
        self.begun = True
        self.count += 1
        self._silence.heard()
        if content != self._content:
            self._same.heard()
        self._content = content

    def end(self) -> None:
        """No command is expected any more, until the next one comes."""
        self.begun = False

    def look(self, now: float) -> str:
        """What is wrong, in one sentence; empty when nothing is.

        Args:
            now: Of a steady clock, s.
        """
        silent, same = self._silence.look(now), self._same.look(now)
        if not self.begun:
            self._silence.heard()
            self._same.heard()
            return ""
        if silent > self._timeout:
            return f"no command on {self._topic} for {1e3 * silent:.0f} ms"
        if 0.0 < self._repeat_timeout < same:
            return f"the same command on {self._topic} for {1e3 * same:.0f} ms"
        return ""


def effort_refusal(values: Array, limit: Array) -> str:
    """Why torques are no command for an arm, in words; empty when they are one.

    Args:
        values: (m,) What came, N m.
        limit: (n,) What the joints may have, N m.
    """
    if values.shape != limit.shape:
        return f"{values.size} torques for {limit.size} joints"
    if not np.isfinite(values).all():
        return "a torque that is not finite"
    over = np.abs(values) / limit
    joint = int(over.argmax())
    if over[joint] > EXCESS:
        return f"{values[joint]:.4g} N m at joint {joint + 1}, which may have {limit[joint]:.4g}"
    return ""


class LawAge:
    """Whether a law is too old when it comes, by its stamp; not where its clock does not compare with this one's."""

    def __init__(self, present: Callable[[], float]) -> None:
        """Nothing has come yet; `present` is the present time of the clock that should have stamped it, s."""
        self._present = present
        self._compares: bool | None = None

    def refusal(self, stamp: float, validity: float) -> str:
        """Why a law with this stamp, s, is too old; empty when it is not."""
        age = self._present() - stamp
        if self._compares is None:
            self._compares = abs(age) < 1.0
        return f"a law of {1e3 * age:.0f} ms ago" if self._compares and age > validity else ""
