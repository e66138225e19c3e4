"""The curves behind an estimate: the branches before and after an impact at the samples they were fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.estimate import AnteImpactSettings, fit_before
from impact_aware.estimation.registry import ESTIMATORS
from impact_aware.estimation.result import BranchFit
from impact_aware.recordings.results import AnalyzedImpact

_AGREEMENT = 1e-3
"""A curve is the estimate's own when its velocity at the impact agrees to this share of the largest speed."""


@dataclass(frozen=True, eq=False)
class FitCurve:
    """One branch of the motion, as fitted.

    Attributes:
        times: (k,) s since the impact.
        positions: (k, n) Fitted positions, rad.
        velocities: (k, n) Their derivative, rad/s.
    """

    times: Array
    positions: Array
    velocities: Array

    def until(self, time: float) -> FitCurve:
        """The part up to a time since the impact, s."""
        inside = self.times <= time
        return FitCurve(self.times[inside], self.positions[inside], self.velocities[inside])


def curve_before(impact: AnalyzedImpact) -> FitCurve | None:
    """The branch before the impact; None when too few samples lie there."""
    since, positions = _samples(impact)
    settings = AnteImpactSettings()
    try:
        fit = fit_before(since, positions, settings)
    except InvalidInputError:
        return None
    return _curve(since, positions, fit, impact.velocity_before)


def curve_after(impact: AnalyzedImpact) -> FitCurve | None:
    """The branch after the impact; None without an estimate, or when fitting again does not give the same one."""
    estimate = impact.estimate
    if estimate is None or estimate.method not in ESTIMATORS:
        return None
    since, positions = _samples(impact)
    start, end = (edge - impact.time for edge in estimate.window)
    # Half a microsecond of slack keeps the last sample of the estimate, whose stamp went through a subtraction.
    usable = (since >= min(start, 0.0) - 5e-7) & (since <= end + 5e-7)
    try:
        fit = ESTIMATORS[estimate.method].fit(since[usable], positions[usable])
    except InvalidInputError:
        return None
    return _curve(since, positions, fit, estimate.velocity_after)


def _samples(impact: AnalyzedImpact) -> tuple[Array, Array]:
    """Times since the impact (k,) and positions (k, n) of the samples without a gap."""
    whole = np.isfinite(impact.window.positions).all(axis=1)
    return impact.window.times[whole] - impact.time, impact.window.positions[whole]


def _curve(since: Array, positions: Array, fit: BranchFit, velocity: Array) -> FitCurve | None:
    scale = max(float(np.max(np.abs(velocity))), 1e-3)
    if not np.all(np.abs(fit.velocity - velocity) <= _AGREEMENT * scale):
        return None
    used = (since >= fit.window[0] - 5e-7) & (since <= fit.window[1] + 5e-7)
    if np.count_nonzero(used) != fit.samples or fit.samples < 3:
        return None
    fitted = positions[used] - fit.residuals
    return FitCurve(since[used], fitted, np.gradient(fitted, since[used], axis=0))
