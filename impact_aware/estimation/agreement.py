"""Velocity after an impact from simple fits where these agree.

Where an arm moves on without control, a parabola, one oscillation per joint and two common ones all find the velocity
of the rigid motion. Under control each of them is wrong in its own way, so that their disagreement shows it. Where they
disagree, or `both_sides` states a smaller error, as for stiff arms, the estimate is that of `both_sides`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.oscillation import OscillationEstimator
from impact_aware.estimation.polynomial import PolynomialEstimator
from impact_aware.estimation.result import BranchFit

SHARE = 0.2
"""Largest distance between two fits' velocities that counts as agreement, as a share of the jump's norm."""

DOUBT = 0.5
"""Share of the witness's distance that counts as a standard error: it is the worse fit of an arm that swings."""

OSCILLATIONS = (OscillationEstimator(modes=1, shared=False), OscillationEstimator(modes=2))
"""Fits whose mean is the estimate."""

WITNESS = PolynomialEstimator(window=0.060, order=2)
"""Fit that has to agree with them: too short for a controller to bend it, too simple to be misled by one."""


def agreeing_fit(times: Array, positions: Array, before: Array) -> BranchFit | None:
    """Mean of the fits to the samples after an impact; None where they disagree or a fit lacks samples.

    The standard error contains half the distance between the two oscillations' fits, and `DOUBT` times that of the
    witness.

    Args:
        times: (k,) s since the impact, increasing.
        positions: (k, n) rad.
        before: (n,) Velocity before the impact, rad/s.
    """
    try:
        fits = [recipe.fit(times, positions) for recipe in (*OSCILLATIONS, WITNESS)]
    except InvalidInputError:
        return None
    found = np.array([fit.velocity for fit in fits])
    mean = _mean(fits[:-1], DOUBT * (found[-1] - found[:-1].mean(axis=0)))
    apart = max(float(np.linalg.norm(one - other)) for one in found for other in found)
    return mean if apart <= SHARE * float(np.linalg.norm(mean.velocity - before)) else None


def any_fit(times: Array, positions: Array) -> BranchFit:
    """Mean of the fits that the samples after an impact suffice for, whether they agree or not.

    Raises:
        InvalidInputError: Too few samples for any of them.
    """
    fits, refusal = [], None
    for recipe in (*OSCILLATIONS, WITNESS):
        try:
            fits.append(recipe.fit(times, positions))
        except InvalidInputError as error:
            refusal = error
    if not fits:
        assert refusal is not None
        raise refusal
    found = np.array([fit.velocity for fit in fits])
    return _mean(fits[-1:], np.abs(found - found[-1]).max(axis=0))


def _mean(fits: list[BranchFit], doubt: Array) -> BranchFit:
    """Mean of fits to the same samples, with another standard error (n,) of the velocity, rad/s, added to theirs."""
    found = np.array([fit.velocity for fit in fits])
    velocity = found.mean(axis=0)
    variance = np.mean([fit.standard_error**2 for fit in fits], axis=0) + found.var(axis=0) + doubt**2
    residuals = np.mean([fit.residuals for fit in fits], axis=0)
    return replace(
        fits[-1],
        velocity=velocity,
        standard_error=np.sqrt(variance),
        acceleration=np.mean([fit.acceleration for fit in fits], axis=0),
        residuals=residuals,
        residual_rms=np.sqrt(np.mean(residuals**2, axis=0)),
        settled=all(fit.settled for fit in fits),
    )
