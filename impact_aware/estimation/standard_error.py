"""Standard error of a weighted sum of residuals that are correlated in time, as a fit's are after an impact."""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array


def autocovariance(residuals: Array, parameters: int) -> Array:
    """Tapered autocovariance of the residuals, per direction.

    The taper (Bartlett's triangle) reaches to a third of the record, over which a fit's left-over oscillation is felt,
    and keeps the covariance matrix made of it positive semi-definite.

    Args:
        residuals: (k, n) What the fit leaves.
        parameters: Number of fitted parameters per direction, by which the residuals are too small.

    Returns:
        (lags + 1, n) Autocovariance at lags 0, 1, ... in samples.
    """
    count = residuals.shape[0]
    lags = max(1, count // 3)
    size = 1 << int(np.ceil(np.log2(count + lags + 1)))
    spectrum = np.abs(np.fft.rfft(residuals, size, axis=0)) ** 2
    products = np.fft.irfft(spectrum, size, axis=0)[: lags + 1] / max(count - parameters, 1)
    taper = 1.0 - np.arange(lags + 1) / (lags + 1.0)
    return np.asarray(products * taper[:, None])


def variance_of_sum(weights: Array, covariance: Array) -> float:
    """Variance of `weights @ residuals` for one direction; at least what white residuals of the same size would give.

    Args:
        weights: (k,) Weight of each sample.
        covariance: (lags + 1,) One column of `autocovariance`.
    """
    count = weights.size
    lags = covariance.size - 1
    size = 1 << int(np.ceil(np.log2(count + lags + 1)))
    products = np.fft.irfft(np.abs(np.fft.rfft(weights, size)) ** 2, size)[: lags + 1]
    correlated = products[0] * covariance[0] + 2.0 * float(products[1:] @ covariance[1:])
    return float(max(correlated, products[0] * covariance[0]))
