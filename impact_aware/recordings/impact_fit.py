"""The curves behind an estimate: the branches before and after an impact at the samples they were fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.both_sides import fit_both_sides
from impact_aware.estimation.estimate import AnteImpactSettings, fit_before
from impact_aware.estimation.registry import BOTH_SIDES, ESTIMATORS
from impact_aware.estimation.result import BranchFit
from impact_aware.recordings.results import AnalyzedImpact

BEFORE = (AnteImpactSettings(order=3), AnteImpactSettings(window=0.020, guard=0.002, order=2))
"""How the velocity before is read: a parabola over 50 ms takes the jerk of a quick motion for velocity, which is then
off by several standard errors; the short one is for where the recording begins, or another impact was, just before."""

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
    """The branch before the impact; None when no fit to the samples there gives the velocity before."""
    since, positions = _samples(impact)
    for settings in (*BEFORE, AnteImpactSettings()):
        try:
            curve = _curve(since, positions, fit_before(since, positions, settings), impact.velocity_before)
        except InvalidInputError:
            continue
        if curve is not None:
            return curve
    if impact.estimate is not None and impact.estimate.method == BOTH_SIDES:
        return _side(impact, since, positions, late=False)
    return None


def curve_after(impact: AnalyzedImpact) -> FitCurve | None:
    """The branch after the impact; None without an estimate, or when fitting again does not give the same one."""
    estimate = impact.estimate
    if estimate is None or estimate.method not in (BOTH_SIDES, *ESTIMATORS):
        return None
    since, positions = _samples(impact)
    if estimate.method == BOTH_SIDES:
        return _side(impact, since, positions, late=True)
    start, end = (edge - impact.time for edge in estimate.window)
    # Half a microsecond of slack keeps the last sample of the estimate, whose stamp went through a subtraction.
    usable = (since >= min(start, 0.0) - 5e-7) & (since <= end + 5e-7)
    try:
        fit = ESTIMATORS[estimate.method].fit(since[usable], positions[usable])
    except InvalidInputError:
        return None
    return _curve(since, positions, fit, estimate.velocity_after)


def _side(impact: AnalyzedImpact, since: Array, positions: Array, *, late: bool) -> FitCurve | None:
    """One branch of the model of both sides, its oscillation included."""
    assert impact.estimate is not None
    begin, end = (edge - impact.time for edge in impact.estimate.window)
    used = (since >= begin - 5e-7) & (since <= end + 5e-7)
    try:
        fit = fit_both_sides(since[used], positions[used], impact.event.time_std)
    except InvalidInputError:
        return None
    side = (fit.times >= 0.0) == late
    times, fitted = fit.times[side], fit.fitted[side]
    return FitCurve(times, fitted, np.gradient(fitted, times, axis=0)) if len(times) > 2 else None


def _samples(impact: AnalyzedImpact) -> tuple[Array, Array]:
    """Times since the impact (k,) and positions (k, n) of the samples."""
    return impact.window.times - impact.time, impact.window.positions


def _curve(since: Array, positions: Array, fit: BranchFit, velocity: Array) -> FitCurve | None:
    scale = max(float(np.max(np.abs(velocity))), 1e-3)
    if not np.all(np.abs(fit.velocity - velocity) <= _AGREEMENT * scale):
        return None
    used = (since >= fit.window[0] - 5e-7) & (since <= fit.window[1] + 5e-7)
    if np.count_nonzero(used) != fit.samples or fit.samples < 3:
        return None
    fitted = positions[used] - fit.residuals
    return FitCurve(since[used], fitted, np.gradient(fitted, since[used], axis=0))
