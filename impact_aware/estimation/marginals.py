"""Likelihoods of samples under many covariances, with what nothing is known of taken out, compiled.

An analysis compares some hundred thousand covariances of twenty to fifty samples: each is factorised here once, with
its right sides beside it, where separate calls for the solution and the determinant factorise it twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from impact_aware.arrays import Array
from impact_aware.compiled import DENSE_MATRIX, DENSE_TABLES, INDEX, MATRIX, NOTHING, TABLES, compiled
from impact_aware.estimation.priors import JUMPS

SMALLEST = 1e-15
"""Share of its diagonal to which a pivot may fall: a covariance that is singular to rounding stays usable."""


def marginals(covariances: Array, free: Array, values: Array, ramps: Array) -> tuple[Array, Array, Array]:
    """Log likelihoods of samples y ~ N(F b + r a, C) over an even prior of b, and what a jump a adds to them.

    With C = U' U and the projection P that takes F's columns off in the metric of C^-1 (Rasmussen and Williams 2006,
    2.7), the log likelihood without a jump is -1/2 y'Py - 1/2 ln|C| - 1/2 ln|F' C^-1 F|, up to a constant.

    Args:
        covariances: (c, k, k) C, positive definite.
        free: (k, f) F, of full column rank.
        values: (k, g) One y a column.
        ramps: (c, k, d) r, one a column; broadcast arrays are taken as they are.

    Returns:
        Log likelihoods (c, g), y'Pr (c, g, d) and r'Pr (c, d).
    """
    count, samples, _ = covariances.shape
    kinds, series = ramps.shape[-1], values.shape[1]
    columns = free.shape[1] + series + kinds
    base, norms = np.empty((count, series)), np.empty((count, kinds))
    products = np.empty((count, series, kinds))
    room, table = np.empty((samples, samples + columns)), np.empty((columns, columns))
    _fill(covariances, np.hstack((free, values)), ramps, free.shape[1], room, table, base, products, norms)
    return base, products, norms


@compiled(NOTHING, DENSE_MATRIX, INDEX, INDEX)
def _eliminate(rows: Array, first: int, count: int) -> None:
    """Turn rows [C B] from `first` on into [U U'^-1 B], C = U' U; only C's upper triangle is read and written.

    Four rows are taken off at a time: one reading and writing of the row they are taken off for all four.
    """
    width = rows.shape[1]
    for pivot in range(first, first + count):
        row = rows[pivot]
        least = SMALLEST * row[pivot]
        above = first
        while above + 3 < pivot:
            one, two, three, four = rows[above], rows[above + 1], rows[above + 2], rows[above + 3]
            a, b, c, d = one[pivot], two[pivot], three[pivot], four[pivot]
            for column in range(pivot, width):
                row[column] -= (a * one[column] + b * two[column]) + (c * three[column] + d * four[column])
            above += 4
        while above < pivot:
            one = rows[above]
            a = one[pivot]
            for column in range(pivot, width):
                row[column] -= a * one[column]
            above += 1
        scale = 1.0 / math.sqrt(max(row[pivot], least))
        for column in range(pivot, width):
            row[column] *= scale


@compiled(NOTHING, TABLES, MATRIX, TABLES, INDEX, DENSE_MATRIX, DENSE_MATRIX, DENSE_MATRIX, DENSE_TABLES, DENSE_MATRIX)
def _fill(
    covariances: Array,
    fixed: Array,
    ramps: Array,
    free: int,
    room: Array,
    table: Array,
    base: Array,
    products: Array,
    norms: Array,
) -> None:
    """Fill `base`, `products` and `norms`; `room` (k, k + m) and `table` (m, m) are written to."""
    samples, own = fixed.shape
    kinds = ramps.shape[2]
    for place in range(covariances.shape[0]):
        for row in range(samples):
            for column in range(row, samples):
                room[row, column] = covariances[place, row, column]
            for column in range(own):
                room[row, samples + column] = fixed[row, column]
            for column in range(kinds):
                room[row, samples + own + column] = ramps[place, row, column]
        _eliminate(room, 0, samples)
        halves = 0.0
        table[:, :] = 0.0
        for row in range(samples):
            halves += math.log(room[row, row])
            right = room[row, samples:]
            for first in range(own + kinds):
                factor = right[first]
                sums = table[first]
                for second in range(first, own + kinds):
                    sums[second] += factor * right[second]
        _eliminate(table, 0, free)
        for row in range(free):
            halves += math.log(table[row, row])
            for first in range(free, own + kinds):
                factor = table[row, first]
                for second in range(first, own + kinds):
                    table[first, second] -= factor * table[row, second]
        for series in range(own - free):
            base[place, series] = -0.5 * table[free + series, free + series] - halves
            for kind in range(kinds):
                products[place, series, kind] = table[free + series, own + kind]
        for kind in range(kinds):
            norms[place, kind] = table[own + kind, own + kind]


def log_mean(values: Array) -> Array:
    """Logarithm of the mean, over the first axis, of what these are the logarithms of."""
    top = values.max(axis=0)
    return np.asarray(top + np.log(np.exp(values - top).mean(axis=0)))


def gains_of_jumps(products: Array, norms: Array) -> Array:
    """What a jump of each standard deviation of `JUMPS` adds to the log likelihoods (t, n, d): (jumps, t, n, d)."""
    squared = np.array(JUMPS)[:, None, None, None] ** 2
    share = 1.0 + squared * norms
    return np.asarray(0.5 * (squared * products**2 / share - np.log(share)))


@dataclass(frozen=True, eq=False)
class Whitened:
    """The process, solved.

    Attributes:
        factor: Lower Cholesky factor of the covariance of the samples, what is not known aside.
        basis: Orthonormal, of what the factor makes of that.
        left: What it makes of the data, less that.
        score: Log likelihood of the data, up to a constant.
        misfit: Sum of the squares of the data in standard deviations.
    """

    factor: Array
    basis: Array
    left: Array
    score: float
    misfit: float

    def whitened(self, columns: Array) -> Array:
        """Whiten columns (k, m) and project the regressors with a flat prior out of them."""
        white = solve_triangular(self.factor, columns, lower=True, check_finite=False)
        return np.asarray(white - self.basis @ (self.basis.T @ white))


def whiten(covariance: Array, columns: Array) -> Whitened:
    """The process of a covariance (k, k); columns (k, f + 1) are what nothing is known of and, last, the data.

    Rasmussen and Williams 2006, 2.7.
    """
    factor = np.asarray(np.linalg.cholesky(covariance), dtype=float)
    white = solve_triangular(factor, columns, lower=True, check_finite=False)
    basis, rest = np.linalg.qr(white[:, :-1])
    left = white[:, -1] - basis @ (basis.T @ white[:, -1])
    misfit = float(left @ left)
    determinant = np.log(np.diag(factor)).sum() + np.log(np.abs(np.diag(rest))).sum()
    return Whitened(factor, basis, left, -0.5 * misfit - float(determinant), misfit)
