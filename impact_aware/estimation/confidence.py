"""Least-squares fits with confidence intervals by the profile of the likelihood.

It stays right where a parameter meets a bound or the data hardly depend on it; then the interval is open at that end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import f as f_distribution

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError

# Points of the first scan of a single parameter, so that a second valley is not missed.
_SCAN = 41
_PROFILE_STEPS = 40


@dataclass(frozen=True)
class Problem:
    """A least-squares problem over trials.

    Attributes:
        residuals: Parameters (p,) to weighted residuals (trials, m), white and of equal size if the model is right.
        start: (p,) First guess.
        lower: (p,) Smallest admissible values.
        upper: (p,) Largest admissible values.
        scale: (p,) Typical sizes.
        series: Whether each row of the residuals is a time series, whose neighbours are correlated: then so many
            neighbours as the correlation lasts count as one.
        figures: How many of the residuals are measurements, the others zero; all when None.
    """

    residuals: Callable[[Array], Array]
    start: Array
    lower: Array
    upper: Array
    scale: Array
    series: bool = False
    figures: int | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """A solution with its intervals.

    Attributes:
        values: (p,) Best parameters.
        lower: (p,) Lower ends; the problem's bound where the data do not exclude it.
        upper: (p,) Upper ends; likewise.
        residual_rms: Root mean square of the weighted residuals.
        open_below: (p,) Whether the data fail to exclude the lower bound.
        open_above: (p,) Whether the data fail to exclude the upper bound.
    """

    values: Array
    lower: Array
    upper: Array
    residual_rms: float
    open_below: NDArray[np.bool_]
    open_above: NDArray[np.bool_]


def fit_with_intervals(problem: Problem, confidence: float = 0.95) -> Fit:
    """Solve the problem and find the interval of each parameter, which contains it with a probability `confidence`.

    Raises:
        InvalidInputError: Confidence outside (0, 1), or fewer residuals than parameters plus one.
    """
    if not 0.0 < confidence < 1.0:
        raise InvalidInputError("confidence", confidence, "a probability between 0 and 1")
    residuals = problem.residuals(problem.start)
    figures, trials = problem.figures or residuals.size, len(residuals)
    if figures <= problem.start.size:
        raise InvalidInputError("trials", f"{trials} with {figures} figures", f"more than {problem.start.size}")
    values, cost = _solve(problem)
    freedom = float(figures - values.size)
    if problem.series:
        freedom = max(2.0, figures / _correlation_length(problem.residuals(values)) - values.size)
    # Rounding alone makes a cost of noise-free data; below it no parameter is known better.
    cost = max(cost, 1e-24 * figures)
    limit = cost * (1.0 + f_distribution.ppf(confidence, 1, freedom) / freedom)
    below, above = (
        [_profile_end(problem, values, index, side, limit, cost) for index in range(values.size)] for side in (-1, 1)
    )
    (lower, open_below), (upper, open_above) = (map(np.array, zip(*ends, strict=True)) for ends in (below, above))
    return Fit(values, lower, upper, float(np.sqrt(cost / figures)), open_below, open_above)


def solve(problem: Problem) -> Array:
    """Best parameters (p,) without intervals."""
    return _solve(problem)[0]


def _minimise(problem: Problem, start: Array, fixed: int | None = None) -> tuple[Array, float]:
    """Best parameters and their cost, with parameter `fixed` held."""
    free = np.array([index != fixed for index in range(start.size)])

    def residuals(scaled: Array) -> Array:
        values = start.copy()
        values[free] = scaled * problem.scale[free]
        return np.ravel(problem.residuals(values))

    if not np.any(free):
        return start, float(np.sum(residuals(np.zeros(0)) ** 2))
    lower, upper = (bound[free] / problem.scale[free] for bound in (problem.lower, problem.upper))
    begin = np.clip(start[free] / problem.scale[free], lower + 1e-9, upper - 1e-9)
    found = least_squares(residuals, begin, bounds=(lower, upper), xtol=1e-7, ftol=1e-10, gtol=1e-10, max_nfev=60)
    values = start.copy()
    values[free] = found.x * problem.scale[free]
    return values, 2.0 * float(found.cost)


def _solve(problem: Problem) -> tuple[Array, float]:
    """The global solution: from the given start, and for a single parameter also from the best point of a scan."""
    best = _minimise(problem, problem.start.copy())
    if problem.start.size == 1:
        points = np.linspace(problem.lower[0], problem.upper[0], _SCAN)
        costs = [float(np.sum(problem.residuals(np.array([point])) ** 2)) for point in points]
        scanned = _minimise(problem, np.array([points[int(np.argmin(costs))]]))
        best = min(best, scanned, key=lambda result: result[1])
    return best


def _profile_end(
    problem: Problem, values: Array, index: int, side: int, limit: float, cost: float
) -> tuple[float, bool]:
    """Where the best cost with this parameter held crosses `limit`, walking to one side; and whether it never does."""
    bound = float((problem.lower if side < 0 else problem.upper)[index])
    here = float(values[index])
    if (bound - here) * side <= 1e-12 * problem.scale[index]:
        return bound, True
    # With the curvature of the cost as first guess of the distance, most ends are bracketed in two steps.
    probe = min(1e-3 * float(problem.scale[index]), 0.5 * abs(bound - here))
    point = values.copy()
    point[index] = here + side * probe
    rise = max(_minimise(problem, point, fixed=index)[1] - cost, 1e-300)
    step = float(np.clip(probe * np.sqrt((limit - cost) / rise), 1e-9 * problem.scale[index], abs(bound - here)))
    inside, here_height, trial = here, cost, values.copy()
    for _ in range(_PROFILE_STEPS):
        outside = here + side * step
        beyond = (outside - bound) * side >= 0.0
        outside = bound if beyond else outside
        start = trial.copy()
        start[index] = outside
        trial, height = _minimise(problem, start, fixed=index)
        if height > limit:
            return _crossing(problem, trial, index, (inside, here_height), (outside, height), limit, cost), False
        if beyond:
            return bound, True
        inside, here_height, step = outside, height, 1.6 * step
    return bound, True


def _crossing(
    problem: Problem,
    start: Array,
    index: int,
    inside: tuple[float, float],
    outside: tuple[float, float],
    limit: float,
    cost: float,
) -> float:
    """Where the cost crosses `limit` between two values of a parameter, given with their costs.

    The root of the cost's rise is nearly straight, so that false position finds it in a step or two.
    """
    trial = start.copy()
    target = np.sqrt(limit - cost)
    middle = outside[0]
    for _ in range(8):
        low, high = (np.sqrt(max(height - cost, 0.0)) - target for _, height in (inside, outside))
        share = float(np.clip(low / (low - high), 0.05, 0.95))
        middle = inside[0] + share * (outside[0] - inside[0])
        trial[index] = middle
        trial, height = _minimise(problem, trial, fixed=index)
        if abs(np.sqrt(max(height - cost, 0.0)) - target) < 0.02 * target:
            break
        if height > limit:
            outside = (middle, height)
        else:
            inside = (middle, height)
    return middle


def _correlation_length(series: Array) -> float:
    """Number of neighbouring samples (rows are series) that are together worth one independent sample."""
    lags = max(1, series.shape[1] // 3)
    variance = float(np.mean(series**2))
    if variance <= 0.0:
        return 1.0
    length = 1.0
    for lag in range(1, lags):
        correlation = float(np.mean(series[:, lag:] * series[:, :-lag])) / variance
        # What follows the first sign change is mostly noise of the estimate itself.
        if correlation <= 0.0:
            break
        length += 2.0 * correlation
    return length
