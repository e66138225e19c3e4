"""Joint states as detectors read them: at one instant, and those of a whole recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError

Signal = ArrayLike | None


@dataclass(frozen=True, slots=True)
class JointSample:
    """Joint state at one instant, in the model's joint order; detectors check its content, so nothing is checked here.

    Attributes:
        time: Stamp of the measurement, s.
        position: Joint positions (n,), rad.
        velocity: Joint velocities (n,), rad/s, or None where the source has none.
        effort: Joint torques (n,), N m, or None where the source has none.
        effort_reference: Joint torques that were to be expected without contact, such as the commanded ones,
            (n,) N m, or None where they are not known.
    """

    time: float
    position: Array
    velocity: Array | None = None
    effort: Array | None = None
    effort_reference: Array | None = None


class Recording:
    """Samples of one robot with checked shapes; `times` and `positions` have a row per time."""

    def __init__(
        self,
        joint_count: int,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: Signal = None,
        efforts: Signal = None,
        effort_references: Signal = None,
    ) -> None:
        """Check the shapes.

        Args:
            joint_count: Number of joints n.
            times: (m,) s.
            positions: (m, n) rad.
            velocities: (m, n) rad/s, or None.
            efforts: Joint torques (m, n), N m, or None.
            effort_references: Those to be expected without contact (m, n), N m, or None.

        Raises:
            InvalidInputError: A shape does not fit.
        """
        self.times: Array = np.ascontiguousarray(times, dtype=np.float64)
        if self.times.ndim != 1:
            raise InvalidInputError("times", f"shape {self.times.shape}", "shape (m,)")
        shape = (len(self.times), joint_count)
        self.positions = _matrix("positions", positions, shape)
        others = {"velocities": velocities, "efforts": efforts, "effort_references": effort_references}
        self._others = [None if each is None else _matrix(name, each, shape) for name, each in others.items()]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.times)

    def sample(self, index: int) -> JointSample:
        """Return one sample, as a source would send it."""
        others = [None if each is None else each[index] for each in self._others]
        return JointSample(float(self.times[index]), self.positions[index], *others)

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


def _matrix(name: str, values: ArrayLike, shape: tuple[int, int]) -> Array:
    matrix = np.ascontiguousarray(values, dtype=np.float64)
    if matrix.shape != shape:
        raise InvalidInputError(name, f"shape {matrix.shape}", f"shape {shape}, a row per time and a column per joint")
    return matrix
