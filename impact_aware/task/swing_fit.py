"""A harmonic motion through the last positions of an object, and how well it tells where the object will be.

p(t) = c + a cos w(t - t0) + b sin w(t - t0) with vectors c, a, b is linear in all but w: over a grid of w the three are
found by linear least squares (variable projection), and Gauss-Newton steps of all ten numbers end the search. What is
left over gives the noise, and with the Jacobian the covariance of the ten, from which a position at any time is told
with its standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.swing import FREQUENCY, OFFSET, Swing

GRID = np.geomspace(FREQUENCY.low, FREQUENCY.high, 40)

STEPS = 8
"""Gauss-Newton steps at most."""

FEWEST = 12
"""Positions; ten numbers are found from three of each."""

LEAST_AMPLITUDE = 2e-3
"""m; what moves by less stands, for a tool."""

BETTER = 0.5
"""A swing has to leave this share of what the line through the same positions leaves, or less."""


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
