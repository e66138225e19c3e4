"""What every impact detector has in common: one sample at a time, or a whole recording with the same result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impact_aware.detection.events import Array, ImpactEvent, JointSample
from impact_aware.detection.motion_window import DropCounts
from impact_aware.errors import InvalidInputError


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
        """Take the next sample in; never raises for what the sample contains.

        Args:
            sample: The newest joint sample.

        Returns:
            The impact that became known with this sample, if any.
        """

    @abstractmethod
    def reset(self) -> None:
        """Forget every sample and event; the drop counts stay."""

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
    def _screen(self, recording: _Recording) -> NDArray[np.bool_]:
        """Mark every sample at which `update` could do more than take a regular sample in, shape (m,)."""

    @abstractmethod
    def _resume(self) -> None:
        """Drop the window but keep the last event, to go on at a later sample."""

    def detect(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        efforts: ArrayLike | None = None,
    ) -> list[ImpactEvent]:
        """Find the impacts of a recording, from a fresh start.

        Args:
            times: Stamps, shape (m,), s.
            positions: Joint positions, shape (m, n), rad.
            velocities: Joint velocities, shape (m, n), rad/s, or None.
            efforts: Joint torques, shape (m, n), N m, or None.

        Returns:
            The events in the order of their detection: those that `update` gives on the same samples after `reset`.

        Raises:
            InvalidInputError: A shape does not fit.
        """
        self.reset()
        return self.process(times, positions, velocities, efforts)

    def process(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        efforts: ArrayLike | None = None,
    ) -> list[ImpactEvent]:
        """Take a stretch of samples in, after those already seen: the events that `update` would have given on each.

        Args:
            times: Stamps, shape (m,), s.
            positions: Joint positions, shape (m, n), rad.
            velocities: Joint velocities, shape (m, n), rad/s, or None.
            efforts: Joint torques, shape (m, n), N m, or None.

        Raises:
            InvalidInputError: A shape does not fit.
        """
        recording = _Recording(times, positions, velocities, efforts, self.joint_count)
        marked = self._screen(recording)
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


class _Recording:
    """A recording with checked shapes."""

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None,
        efforts: ArrayLike | None,
        joint_count: int,
    ) -> None:
        self.times: Array = np.ascontiguousarray(times, dtype=np.float64)
        if self.times.ndim != 1:
            raise InvalidInputError("times", f"shape {self.times.shape}", "shape (m,)")
        shape = (len(self.times), joint_count)
        self.positions = _matrix("positions", positions, shape)
        self.velocities = None if velocities is None else _matrix("velocities", velocities, shape)
        self.efforts = None if efforts is None else _matrix("efforts", efforts, shape)

    def __len__(self) -> int:
        return len(self.times)

    def sample(self, index: int) -> JointSample:
        """Return one sample, as a source would send it."""
        return JointSample(
            float(self.times[index]),
            self.positions[index],
            None if self.velocities is None else self.velocities[index],
            None if self.efforts is None else self.efforts[index],
        )

    def irregular(self, period: float, grid_tolerance: float) -> NDArray[np.bool_]:
        """Mark the samples that are not plainly the next of a uniform grid: the first, gaps, repeats, NaN, wraps."""
        marked = np.ones(len(self), dtype=bool)
        with np.errstate(invalid="ignore", over="ignore"):
            steps = np.diff(self.positions, axis=0)
            # Half the tolerance, since the window compares with rounding of its own.
            marked[1:] = ~(np.abs(np.diff(self.times) - period) <= 0.5 * grid_tolerance)
            marked[1:] |= ~(steps != 0.0).any(axis=1)
            marked[1:] |= ~(np.abs(steps) <= 3.0).all(axis=1)
        return marked

    def blocks(self, length: int, block: int = 4096) -> Iterator[tuple[int, Array]]:
        """Yield (index of the first newest sample, windows of shape (b, length, n)) over the whole recording."""
        if len(self) < length:
            return
        windows = np.lib.stride_tricks.sliding_window_view(self.positions, length, axis=0)
        for begin in range(0, len(windows), block):
            yield begin + length - 1, windows[begin : begin + block].transpose(0, 2, 1)


def _matrix(name: str, values: ArrayLike, shape: tuple[int, int]) -> Array:
    matrix = np.ascontiguousarray(values, dtype=np.float64)
    if matrix.shape != shape:
        raise InvalidInputError(name, f"shape {matrix.shape}", f"shape {shape}, a row per time and a column per joint")
    return matrix
