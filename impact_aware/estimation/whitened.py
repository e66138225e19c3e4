"""Data of a Gaussian process, in standard deviations, less what nothing is known of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from impact_aware.arrays import Array


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
        """What the factor makes of other columns, less what is not known."""
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
