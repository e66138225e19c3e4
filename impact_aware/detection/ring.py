"""A memory of the newest rows that can be read as one block without copying."""

from __future__ import annotations

import numpy as np

from impact_aware.detection.events import Array


def median_row(rows: Array) -> Array:
    """Median over rows (..., m, width) to (..., width), which a pulse of one sample hardly moves."""
    ordered = rows.copy()
    ordered.sort(axis=-2)
    count = rows.shape[-2]
    middle: Array = ordered[..., (count - 1) // 2, :] + ordered[..., count // 2, :]
    middle *= 0.5
    return middle


class Ring:
    """The newest `length` rows of `width` numbers, zeros before the first.

    Every row is written twice, `length` apart, so that the newest `length` rows are always contiguous.

    Attributes:
        count: Rows since the last restart, at most `length`.
    """

    def __init__(self, length: int, width: int) -> None:
        """Allocate the memory."""
        self.length = length
        self.count = 0
        self._memory = np.zeros((2 * length, width))
        self._end = length

    def restart(self) -> None:
        """Count from zero again; the old rows can still be read."""
        self.count = 0

    def fill(self, value: float) -> None:
        """Write one value everywhere; the count stays."""
        self._memory[:] = value

    def push(self, row: Array | float) -> None:
        """Append one row (width,)."""
        if self._end == 2 * self.length:
            self._end = self.length
        self._memory[self._end] = row
        self._memory[self._end - self.length] = row
        self._end += 1
        if self.count < self.length:
            self.count += 1

    @property
    def rows(self) -> Array:
        """The newest `length` rows, oldest first (length, width); a view that the next row changes."""
        return self._memory[self._end - self.length : self._end]

    @property
    def newest(self) -> Array:
        """The newest row (width,); a view."""
        return self._memory[self._end - 1]

    def replace(self, age: int, row: Array) -> None:
        """Overwrite the row that came `age` rows before the newest."""
        index = self._end - 1 - age
        self._memory[index] = row
        self._memory[(index + self.length) % (2 * self.length)] = row
