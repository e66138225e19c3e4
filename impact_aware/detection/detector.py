"""What every impact detector has in common: one sample at a time, or a whole recording with the same result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from numpy.typing import ArrayLike

from impact_aware.detection.events import JointSample, Recording, Signal
from impact_aware.detection.motion_window import DropCounts
from impact_aware.records import ImpactEvent


class ImpactDetector(ABC):
    """Finds impacts in joint samples.

    A detector is fed either sample by sample, by `update`, or by stretches of a recording, by `process` and `detect`,
    which give exactly the events that `update` would have given.
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
        found = (self.update(recording.sample(index)) for index in range(len(recording)))
        return [event for event in found if event is not None]
