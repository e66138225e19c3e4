"""What every impact detector has in common: one sample at a time, or a whole recording with the same result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impact_aware.detection.events import ImpactEvent, JointSample
from impact_aware.detection.motion_window import DropCounts
from impact_aware.detection.recording import Recording, Signal


class ImpactDetector(ABC):
    """Finds impacts in joint samples.

    A detector is fed either by `update`, sample by sample, or by `detect`, which gives exactly the events that `update`
    would have given. `detect` first marks with vectorised algebra every sample that could possibly matter (`_screen`),
    then runs `update` through the surroundings of the marked ones only.
    """

    name: ClassVar[str]
    joint_count: int

    @abstractmethod
    def update(self, sample: JointSample) -> ImpactEvent | None:
        """Take the next sample in, and return the impact that became known with it; never raises for its content."""

    @abstractmethod
    def reset(self) -> None:
        """Forget every sample and event; the drop counts stay."""

    @abstractmethod
    def rearm(self) -> None:
        """End the refractory time, since the next impact may come at once."""

    @property
    @abstractmethod
    def drops(self) -> DropCounts:
        """What was refused or mended since construction."""

    @property
    @abstractmethod
    def memory(self) -> int:
        """Samples after which a settled detector has forgotten all before, as long as nothing is marked."""

    @property
    @abstractmethod
    def settled(self) -> bool:
        """Whether the state is a function of the last `memory` raw samples and the last event only."""

    @abstractmethod
    def _screen(self, recording: Recording, limit: float) -> NDArray[np.bool_]:
        """Mark every sample at which `update` could do more than take a regular sample in (m,).

        Args:
            recording: The samples.
            limit: Share of its bounds below which the detector's signal does not matter.
        """

    @abstractmethod
    def _resume(self) -> None:
        """Drop the window but keep the last event, to go on at a later sample."""

    def detect(self, times: ArrayLike, positions: ArrayLike, *signals: Signal, **named: Signal) -> list[ImpactEvent]:
        """Find the impacts of a recording, from a fresh start; arguments, result and errors as those of `process`."""
        self.reset()
        return self.process(times, positions, *signals, **named)

    def process(self, times: ArrayLike, positions: ArrayLike, *signals: Signal, **named: Signal) -> list[ImpactEvent]:
        """Take a stretch of samples in, after those already seen.

        Args:
            times: Stamps (m,), s.
            positions: Joint positions (m, n), rad.
            *signals: What else `Recording` takes, in its order.
            **named: The same by name: `velocities`, `efforts`, `effort_references`.

        Returns:
            The events in the order of their detection: those that `update` would have given on each sample.

        Raises:
            InvalidInputError: A shape does not fit.
        """
        recording = Recording(self.joint_count, times, positions, *signals, **named)
        marked = self._screen(recording, 1.0)
        # What came before and what comes after this stretch is not marked in it, so both ends are walked through.
        marked[:1] = marked[-1:] = True
        events: list[ImpactEvent] = []
        index = 0
        for target in np.flatnonzero(marked):
            if target < index:
                continue
            # A gap shorter than this is not worth a restart, and the window must be full again at the target.
            if target - index > 2 * self.memory:
                self._resume()
                index = int(target) - 2 * self.memory
            quiet = 0
            while index < len(recording) and (index <= target or quiet <= self.memory):
                event = self.update(recording.sample(index))
                if event is not None:
                    events.append(event)
                quiet = quiet + 1 if self.settled else 0
                index += 1
        return events
