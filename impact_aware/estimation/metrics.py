"""How far a predicted post-impact velocity is from the estimated one: the papers' measures."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError


def absolute_error(predicted: ArrayLike, estimated: ArrayLike) -> Array:
    """Absolute error per component, |predicted - estimated| (Rey Arias 2024, eq. 18; Aouaj thesis, eq. 4.8, eta_2)."""
    a, b = _pair(predicted, estimated)
    return np.abs(a - b)


def relative_error(predicted: ArrayLike, estimated: ArrayLike) -> Array:
    """Relative error per component, 2 |p - e| / (|p| + |e|), between 0 and 2 (Aouaj thesis, eq. 4.8, eta_1).

    Two zeros agree: their error is zero. Where one velocity is zero and the other not, it is 2 whatever their sizes.
    """
    a, b = _pair(predicted, estimated)
    total = np.abs(a) + np.abs(b)
    return np.divide(2.0 * np.abs(a - b), total, out=np.zeros_like(total), where=total > 0.0)


def relative_error_of_sum(predicted: ArrayLike, estimated: ArrayLike) -> Array:
    """Relative error per component, 2 |p - e| / |p + e| (Aouaj 2021, below Table II).

    Equal to `relative_error` where both have the same sign, unbounded where they differ; infinite when they cancel.
    """
    a, b = _pair(predicted, estimated)
    total = np.abs(a + b)
    ratio = np.divide(2.0 * np.abs(a - b), total, out=np.full_like(total, np.inf), where=total > 0.0)
    return np.where((a == 0.0) & (b == 0.0), 0.0, ratio)


def jump_relative_error(predicted: ArrayLike, estimated: ArrayLike, before: ArrayLike) -> float:
    """Norm of the error over the norm of the estimated jump; infinite without a jump.

    Args:
        predicted: (n,) Predicted velocity after the impact.
        estimated: (n,) Estimated velocity after the impact.
        before: (n,) Velocity before the impact.
    """
    a, b = _pair(predicted, estimated)
    jump = float(np.linalg.norm(b - _pair(before, estimated)[0]))
    error = float(np.linalg.norm(a - b))
    return error / jump if jump > 0.0 else (0.0 if error == 0.0 else np.inf)


def _pair(predicted: ArrayLike, estimated: ArrayLike) -> tuple[Array, Array]:
    a, b = np.asarray(predicted, dtype=float), np.asarray(estimated, dtype=float)
    if a.shape != b.shape:
        raise InvalidInputError("predicted", f"shape {a.shape}", f"the estimate's shape {b.shape}")
    return a, b
