"""One call from recorded positions to the virtual rigid-body velocity after an impact, joint or Cartesian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.both_sides import BothSides, fit_both_sides
from impact_aware.estimation.polynomial import fit_polynomial, select
from impact_aware.estimation.registry import BOTH_SIDES, DEFAULT_ESTIMATOR, Estimator, find_estimator
from impact_aware.estimation.result import BranchFit
from impact_aware.records import VelocityEstimate

LARGEST_ERROR = 100.0
"""Standard error beyond which a velocity is not determined, rad/s or m/s: no arm reaches a third of it."""


@dataclass(frozen=True)
class AnteImpactSettings:
    """How the velocity before the impact is read: a parabola through the last positions.

    Attributes:
        window: Length of the window, s.
        guard: Gap between the window and the impact time, s, so that a late detection does not spoil it.
        order: Order of the polynomial in position.
    """

    window: float = 0.050
    guard: float = 0.005
    order: int = 2


def estimate(
    times: ArrayLike,
    positions: ArrayLike,
    impact_time: float,
    *,
    method: str | Estimator = DEFAULT_ESTIMATOR,
    impact_time_error: float = 0.0,
    until: float | None = None,
    before: AnteImpactSettings | None = None,
) -> VelocityEstimate:
    """Estimate the velocities just before and just after an impact from positions.

    Args:
        times: (k,) s, increasing.
        positions: (k, n) or (k,) Joint positions, rad, or Cartesian ones, m; rows with NaN are left out.
        impact_time: s.
        method: Name of an estimator, or one of your own; `both_sides` takes both velocities from one model.
        impact_time_error: Standard deviation of `impact_time`, s; it enters the standard errors through the slope.
        until: End of the usable record, such as the next impact, s; the last sample when None.
        before: How the velocity before is read, by all but `both_sides`.

    Raises:
        InvalidInputError: Arrays that do not match, times that do not increase, too few samples on either side, or
            samples that leave a velocity undetermined.
        UnknownNameError: No estimator of that name.
    """
    stamps, values = _checked(times, positions, impact_time)
    since = stamps - impact_time
    if method == BOTH_SIDES:
        known = slice(None) if until is None else stamps < until
        return _determined(
            _from_both_sides(fit_both_sides(since[known], values[known], impact_time_error), impact_time)
        )
    settings = before or AnteImpactSettings()
    estimator = find_estimator(method) if isinstance(method, str) else method
    usable = since >= -5e-7 if until is None else (since >= -5e-7) & (stamps < until)
    if not np.any(usable):
        raise InvalidInputError("samples", f"none after the impact at {impact_time:.6g} s", "a record that goes on")
    after = estimator.fit(since[usable], values[usable])
    ante = fit_before(since, values, settings)
    name = method if isinstance(method, str) else type(method).__name__
    return _determined(_from_branches(name, ante, after, impact_time, impact_time_error))


def _determined(found: VelocityEstimate) -> VelocityEstimate:
    """The estimate, unless the samples determine none, such as those between two impacts that nearly coincide."""
    error = float(np.hypot(found.standard_error, found.velocity_before_error).max())
    if not error < LARGEST_ERROR:
        raise InvalidInputError("samples", f"velocities to +- {error:.2g} per s", "samples that determine them")
    return found


def _from_branches(name: str, ante: BranchFit, after: BranchFit, impact_time: float, error: float) -> VelocityEstimate:
    return VelocityEstimate(
        method=name,
        impact_time=float(impact_time),
        velocity_after=after.velocity,
        standard_error=np.hypot(after.standard_error, after.acceleration * error),
        velocity_before=ante.velocity,
        velocity_before_error=np.hypot(ante.standard_error, ante.acceleration * error),
        window=(after.window[0] + impact_time, after.window[1] + impact_time),
        samples=after.samples,
        residual_rms=after.residual_rms,
        frequencies=after.frequencies,
        decay_rates=after.decay_rates,
        settled=after.settled,
    )


def _from_both_sides(fit: BothSides, impact_time: float) -> VelocityEstimate:
    late = fit.times >= 0.0
    return VelocityEstimate(
        method=BOTH_SIDES,
        impact_time=float(impact_time),
        velocity_after=fit.after,
        standard_error=fit.after_std,
        velocity_before=fit.before,
        velocity_before_error=fit.before_std,
        window=(impact_time + float(fit.times[0]), impact_time + float(fit.times[-1])),
        samples=int(np.count_nonzero(late)),
        residual_rms=np.sqrt(np.mean(fit.residuals[late] ** 2, axis=0)),
        frequencies=np.zeros(0),
        decay_rates=np.zeros(0),
        settled=True,
        jump_std=fit.jump_std,
    )


def fit_before(since_impact: Array, positions: Array, settings: AnteImpactSettings) -> BranchFit:
    """Fit the branch before the impact; times are s since the impact, so negative.

    Raises:
        InvalidInputError: Fewer samples in the window than parameters plus two.
    """
    end = -settings.guard if settings.guard > 0.0 else -1e-6
    chosen = select(since_impact, positions, end - settings.window, end, settings.order + 3)
    return fit_polynomial(*chosen, settings.order)


def _checked(times: ArrayLike, positions: ArrayLike, impact_time: float) -> tuple[Array, Array]:
    stamps = np.asarray(times, dtype=float)
    values = np.asarray(positions, dtype=float)
    if stamps.ndim != 1:
        raise InvalidInputError("times", f"shape {stamps.shape}", "one time per sample")
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[0] != stamps.size or values.shape[1] == 0:
        raise InvalidInputError("positions", f"shape {np.shape(positions)}", f"({stamps.size}, n)")
    if not np.isfinite(impact_time):
        raise InvalidInputError("impact_time", impact_time, "a finite time, s")
    finite = np.isfinite(stamps) & np.isfinite(values).all(axis=1)
    stamps, values = stamps[finite], values[finite]
    if np.any(np.diff(stamps) <= 0.0):
        index = int(np.argmax(np.diff(stamps) <= 0.0))
        raise InvalidInputError("times", f"{stamps[index]} then {stamps[index + 1]}", "increasing times")
    return stamps, values


def position_at(times: ArrayLike, positions: ArrayLike, time: float) -> Array:
    """Positions (n,) at `time`, linear between the samples; positions do not jump at an impact."""
    stamps, values = np.asarray(times, dtype=float), np.asarray(positions, dtype=float)
    finite = np.isfinite(values).all(axis=1)
    return np.array([np.interp(time, stamps[finite], column[finite]) for column in values.T])
