"""When is the impact over: the end of a sequence of impacts by evidence, not by the clock.

A contact is complete when every expected contact has been made, no new impact has come for a while, and the joints no
longer shake. Shaking is what is left of the positions over some tens of milliseconds when a cubic is taken away, stated
as the velocity ripple that a vibration of the window's length would have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.detection.events import JointSample
from impact_aware.detection.windowed_detector import WindowParameters
from impact_aware.errors import InvalidInputError
from impact_aware.records import ImpactEvent

QUIET_TIME = 0.015
"""Time without a new impact and without shaking, s."""

WINDOW = 30
"""Samples over which shaking is measured."""

RIPPLE = 0.02
"""Velocity ripple that is no shaking, rad/s, root mean square."""


@dataclass(frozen=True, slots=True)
class ContactCompletion:
    """The end of an impact sequence.

    Attributes:
        time: Stamp of the sample at which it was known, s.
        contacts: Impacts in the sequence.
        reason: `settled`, or `timeout` when `longest` had passed first.
        ripple: Largest velocity ripple of a joint at the end, rad/s; NaN if never known.
    """

    time: float
    contacts: int
    reason: str
    ripple: float


class CompletionDetector:
    """Watches the joint samples after impacts that a detector reports to it."""

    def __init__(
        self,
        joint_count: int,
        source: WindowParameters | None = None,
        *,
        expected_contacts: int = 1,
        longest: float = 0.5,
    ) -> None:
        """Prepare the projection that takes a cubic away.

        Args:
            joint_count: Number of joints n.
            source: Of the samples.
            expected_contacts: Impacts that make the sequence complete, such as one per arm; 1 ends it after any.
            longest: Time after the first impact at which the sequence counts as over in any case, s.

        Raises:
            InvalidInputError: A number out of range.
        """
        if expected_contacts < 1:
            raise InvalidInputError("expected_contacts", expected_contacts, "at least 1")
        if not longest > 0.0:
            raise InvalidInputError("longest", longest, "more than 0 s")
        source = source or WindowParameters()
        self.expected_contacts, self.longest = expected_contacts, longest
        self._window = source.motion_window(joint_count, WINDOW)
        basis, _ = np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, WINDOW), 4))
        self._rest = np.eye(WINDOW) - basis @ basis.T
        # Steps and noise of the encoder shake as well; their share is known.
        self._own_variance = source.position_variance(joint_count)
        self._span = WINDOW * source.sampling_period
        self.reset()

    def reset(self) -> None:
        """Forget everything but the drop counts."""
        self._window.reset()
        self._events: list[ImpactEvent] = []
        self._quiet_since = np.inf

    def notify(self, event: ImpactEvent) -> None:
        """Take note of an impact, also one of another arm in the same task."""
        if not self._events:
            # Samples from before an impact carry no information on its end, and are not kept.
            self._window.reset()
        self._events.append(event)
        self._quiet_since = np.inf

    def ripple(self) -> float:
        """Largest velocity ripple of a joint over the window, rad/s; NaN until that is full after an impact."""
        if not self._window.full:
            return float("nan")
        rest = self._rest @ self._window.positions
        freedom = self._rest.shape[0] - 4
        variance = np.maximum((rest * rest).sum(axis=0) / freedom - self._own_variance, 0.0)
        # A vibration that fits once into the window has this angular frequency.
        return float(2.0 * np.pi / self._span * np.sqrt(variance.max()))

    def update(self, sample: JointSample) -> ContactCompletion | None:
        """Take the next sample in, whatever it contains; the end of the sequence when it becomes known with it."""
        if not self._events or not self._window.accept(sample):
            return None
        now = self._window.time
        first, last = self._events[0], self._events[-1]
        if now < first.time:
            # Time ran backwards past the impact.
            self._events = []
            return None
        ripple = self.ripple()
        # The window must lie behind the last impact, whose kink is no shaking.
        behind = now - last.time_detected >= self._span
        calm = behind and len(self._events) >= self.expected_contacts and ripple <= RIPPLE
        self._quiet_since = min(self._quiet_since, now) if calm else np.inf
        settled = now - self._quiet_since >= QUIET_TIME
        if not settled and now - first.time < self.longest:
            return None
        reason = "settled" if settled else "timeout"
        completion = ContactCompletion(now, len(self._events), reason, ripple)
        self._events = []
        self._quiet_since = np.inf
        return completion
