"""How an object is turned and how it swings, from its last poses.

A swing p(t) = c + a cos w(t - t0) + b sin w(t - t0) with vectors c, a, b is linear in all but w: over a grid of w the
three are found by linear least squares (variable projection), and Gauss-Newton steps of all ten numbers end the search.
What is left over gives the noise, and with the Jacobian the covariance of the ten, from which a position at any time is
estimated with its standard deviation.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.box import Box
from impact_aware.contact.shape import Shape
from impact_aware.swing import FREQUENCY, OFFSET, Swing

STANDS = np.radians(3.0)
"""An object that leans by no more than this was seen inexactly, rad: on a horizontal table it stands upright."""

GRID = np.geomspace(FREQUENCY.low, FREQUENCY.high, 40)

STEPS = 8
"""Gauss-Newton steps at most."""

FEWEST = 12
"""Positions; ten numbers are found from three of each."""

LEAST_AMPLITUDE = 2e-3
"""m; what moves by less stands, for a tool."""

BETTER = 0.5
"""A swing has to leave this share of what the line through the same positions leaves, or less."""


class ObjectTurn:
    """Mean orientation of an object over a recent window, up to the symmetries of its shape.

    Attributes:
        shape: Of the object; a cube until somebody knows better.
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
    def latest(self) -> Array:
        """(3, 3) The last orientation, called by those of its equal names that are nearest to the ones before."""
        return self._seen[-1][1] if self._seen else np.eye(3)

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


def turn_of_swing(times: ArrayLike, rotations: Sequence[ArrayLike], frequency: float) -> float:
    """By how much a thing that swings turns to either side of its mean as it does, rad, beyond what its noise may be.

    The rotation vectors from the mean are fitted by c + a cos wt + b sin wt: the largest axis of the ellipse of a and
    b, less two of its standard deviations.

    Args:
        times: (k,) Of the orientations, s.
        rotations: (k) of (3, 3).
        frequency: With which it swings, rad/s.
    """
    turned = [np.asarray(rotation) for rotation in rotations]
    middle = _mean(turned)
    angles = np.array([pin.log3(np.asfortranarray(middle.T @ rotation)) for rotation in turned])
    phase = frequency * np.asarray(times, dtype=float)
    phase -= phase[0]
    columns = np.stack([np.ones_like(phase), np.cos(phase), np.sin(phase)], axis=1)
    solution, *_ = np.linalg.lstsq(columns, angles, rcond=None)
    noise = math.sqrt(float(((angles - columns @ solution) ** 2).sum()) / (3.0 * max(len(turned) - 3, 1)))
    spread = noise * math.sqrt(float(np.linalg.norm(np.linalg.pinv(columns.T @ columns)[1:, 1:], 2)))
    return max(0.0, float(np.linalg.norm(solution[1:], 2)) - 2.0 * spread)


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


@dataclass(frozen=True, eq=False)
class SwingFit:
    """A harmonic motion and its errors.

    Attributes:
        time: t0, the mean of the stamps, s.
        numbers: (10,) c, a, b, m, and w, rad/s.
        covariance: (10, 10) Of these.
        rms: Root mean square distance of the positions from it, m.
        line_rms: The same from the best line, m.
    """

    time: float
    numbers: Array
    covariance: Array
    rms: float
    line_rms: float

    @property
    def frequency(self) -> float:
        """Angular, rad/s."""
        return float(self.numbers[9])

    @property
    def amplitude(self) -> float:
        """Largest distance from the middle, m: the longer half axis of the ellipse."""
        return float(np.linalg.svd(self.numbers[3:9].reshape(2, 3), compute_uv=False)[0])

    @property
    def swings(self) -> bool:
        """Whether the positions are those of a swing rather than of a line."""
        return self.amplitude >= LEAST_AMPLITUDE and self.rms <= BETTER * self.line_rms

    @property
    def fastest(self) -> float:
        """Largest speed, m/s."""
        return self.amplitude * self.frequency

    def position(self, time: float) -> Array:
        """(3,) At a time, s, m."""
        return np.asarray(self.numbers[:3] + self._offset(time))

    def velocity(self, time: float) -> Array:
        """(3,) m/s."""
        angle = self.frequency * (time - self.time)
        a, b = self.numbers[3:6], self.numbers[6:9]
        return np.asarray(self.frequency * (np.cos(angle) * b - np.sin(angle) * a))

    def swing(self, time: float) -> Swing | None:
        """With its offset at a time, s; None where the middle is too far away to be that of a swing."""
        offset = self._offset(time)
        return Swing(offset, self.frequency) if np.abs(offset).max() <= OFFSET.high else None

    def error(self, time: float) -> float:
        """Two standard deviations of the position at a time, s, m."""
        rows = _rows(np.array([time - self.time]), self.numbers)
        return 2.0 * float(np.sqrt(np.trace(rows @ self.covariance @ rows.T)))

    def _offset(self, time: float) -> Array:
        angle = self.frequency * (time - self.time)
        return np.asarray(np.cos(angle) * self.numbers[3:6] + np.sin(angle) * self.numbers[6:9])


def fit_swing(times: Array, positions: Array, guess: float = 0.0) -> SwingFit | None:
    """The harmonic motion nearest to positions (k, 3), m, with stamps (k,), s; None where too few tell none.

    `guess` is a frequency near which it is looked for, rad/s; anywhere when 0.
    """
    if len(times) < FEWEST:
        return None
    middle = float(times.mean())
    t = times - middle
    grid = GRID if not guess else guess * np.linspace(0.97, 1.03, 3)
    numbers = _best_of_grid(t, positions, grid)
    for _ in range(STEPS):
        rows, left = _rows(t, numbers), (positions - _curve(t, numbers)).ravel()
        step = np.linalg.lstsq(rows, left, rcond=None)[0]
        numbers = numbers + step
        numbers[9] = min(max(numbers[9], FREQUENCY.low), FREQUENCY.high)
        if abs(step[9]) < 1e-6 * numbers[9]:
            break
    rows, left = _rows(t, numbers), (positions - _curve(t, numbers)).ravel()
    freedom = max(left.size - numbers.size, 1)
    covariance = float(left @ left) / freedom * np.linalg.pinv(rows.T @ rows, rcond=1e-15)
    line = np.stack((np.ones_like(t), t), axis=1)
    off_line = positions - line @ np.linalg.lstsq(line, positions, rcond=None)[0]
    rms = [float(np.sqrt(square / len(t))) for square in (left @ left, float((off_line**2).sum()))]
    return SwingFit(middle, numbers, np.asarray(covariance, dtype=np.float64), *rms)


def _best_of_grid(t: Array, positions: Array, grid: Array) -> Array:
    """The ten numbers with the frequency of a grid (g,) that leaves the least."""
    angles = np.outer(grid, t)
    columns = np.stack((np.ones_like(angles), np.cos(angles), np.sin(angles)), axis=2)  # (g, k, 3)
    normal = np.einsum("gki,gkj->gij", columns, columns) + 1e-9 * np.eye(3)
    solved = np.linalg.solve(normal, np.einsum("gki,kd->gid", columns, positions))
    left = positions - np.einsum("gki,gid->gkd", columns, solved)
    best = int(np.argmin((left**2).sum(axis=(1, 2))))
    return np.append(solved[best].ravel(), grid[best])


def _curve(t: Array, numbers: Array) -> Array:
    angles = numbers[9] * t
    columns = np.stack((np.ones_like(t), np.cos(angles), np.sin(angles)), axis=1)
    return np.asarray(columns @ numbers[:9].reshape(3, 3))


def _rows(t: Array, numbers: Array) -> Array:
    """(3 k, 10) Derivatives of the positions at t (k,) by the ten numbers."""
    angles = numbers[9] * t
    cos, sin = np.cos(angles), np.sin(angles)
    rows = np.zeros((len(t), 3, 10))
    for axis in range(3):
        rows[:, axis, axis], rows[:, axis, 3 + axis], rows[:, axis, 6 + axis] = 1.0, cos, sin
    rows[:, :, 9] = t[:, None] * (np.outer(cos, numbers[6:9]) - np.outer(sin, numbers[3:6]))
    return rows.reshape(-1, 10)
