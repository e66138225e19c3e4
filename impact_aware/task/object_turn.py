"""How an object is turned, from its last poses."""

from __future__ import annotations

from collections import deque

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.box import Box
from impact_aware.contact.shape import Shape

STANDS = np.radians(3.0)
"""An object that leans by no more than this was seen inexactly, rad: on a horizontal table it stands upright."""


class ObjectTurn:
    """Mean orientation of an object over a recent window, up to the symmetries of its shape.

    Attributes:
        shape: Shape of the object; a cube until it is known.
    """

    def __init__(self, up: ArrayLike = (0.0, 0.0, 1.0)) -> None:
        """Nothing was seen yet; `up` (3,) is the vertical in the frame of the orientations."""
        self.shape: Shape = Box(np.ones(3))
        self._up = np.asarray(up, dtype=float)
        self._seen: deque[tuple[float, Array]] = deque()
        self._mean: Array | None = None

    def clear(self) -> None:
        """Forget what was seen."""
        self._seen.clear()
        self._mean = None

    def take(self, time: float, rotation: Array, oldest: float) -> None:
        """Take an orientation (3, 3) with its stamp, s, and forget those before `oldest`, s."""
        if self._seen:
            rotation = self.shape.nearest_equal(rotation, self._seen[-1][1])
        self._seen.append((time, np.array(rotation)))
        while self._seen[0][0] < oldest:
            self._seen.popleft()
        self._mean = None

    @property
    def rotation(self) -> Array:
        """(3, 3) The mean, upright where it nearly is; the identity where nothing was seen."""
        if self._mean is None:
            if not self._seen:
                return np.eye(3)
            mean = _mean([rotation for _, rotation in self._seen])
            self._mean = self.shape.upright(mean, self._up, STANDS)
        return self._mean

    @property
    def angle(self) -> float:
        """By how much it is turned out of the frame's axes, whichever of its axes is called what, rad."""
        return _angle(self.shape.turn(self.rotation, self._up))

    @property
    def change(self) -> float:
        """By how much it turned from the earlier half of what was seen to the later one, rad; 0 for less than two."""
        half = len(self._seen) // 2
        if not half:
            return 0.0
        rotations = [rotation for _, rotation in self._seen]
        return _angle(_mean(rotations[:half]).T @ _mean(rotations[half:]))


def _mean(rotations: list[Array]) -> Array:
    """The rotation (3, 3) that is nearest to several in the sense of least squares: their sum without its stretch."""
    left, _, right = np.linalg.svd(np.add.reduce(rotations))
    mean = left @ right
    if np.linalg.det(mean) < 0.0:
        left[:, 2] *= -1.0
        mean = left @ right
    return np.asarray(mean)


def _angle(rotation: Array) -> float:
    return float(np.linalg.norm(pin.log3(np.asfortranarray(rotation))))
