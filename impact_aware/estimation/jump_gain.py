"""What a jump of unknown size adds to a log likelihood, from its regressors' products with data and themselves."""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.part_choices import JUMPS


def log_mean(values: Array) -> Array:
    """Logarithm of the mean, over the first axis, of what these are the logarithms of."""
    top = values.max(axis=0)
    return np.asarray(top + np.log(np.exp(values - top).mean(axis=0)))


def gains_of_jumps(products: Array, norms: Array) -> Array:
    """What a jump of each standard deviation of `JUMPS` adds to the log likelihoods (t, n, d): (jumps, t, n, d)."""
    squared = np.array(JUMPS)[:, None, None, None] ** 2
    share = 1.0 + squared * norms
    return np.asarray(0.5 * (squared * products**2 / share - np.log(share)))
