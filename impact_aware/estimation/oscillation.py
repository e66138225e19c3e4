"""Affine velocity plus damped oscillation, fitted to positions (Aouaj 2021, eq. 7; Aouaj thesis, eqs. 4.3-4.7).

After the impact each direction moves as p(t) = p0 + v t + a t^2 / 2 + sum_k exp(-g_k t) (C_k cos w_k t + S_k sin w_k
t), whose derivative is the affine velocity plus oscillations that the papers fit to finite differences. Fitting
positions instead keeps the encoder's noise white. All but the frequencies w_k and decay rates g_k enter linearly and
are eliminated (variable projection), so that the search has two unknowns per mode, shared by all directions as in
Aouaj 2021.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.polynomial import check_window, select
from impact_aware.estimation.result import BranchFit
from impact_aware.estimation.standard_error import autocovariance, variance_of_sum

FREQUENCIES = (3.0, 150.0)
"""Smallest and largest damped frequency, Hz. Below one period per window an oscillation can't be distinguished from the
affine motion; the smallest is raised to that."""

DECAYS = (0.01, 400.0)
"""Smallest and largest decay rate, 1/s."""

# Position, velocity and acceleration of the affine part.
_AFFINE = 3


@dataclass(frozen=True)
class OscillationEstimator:
    """Fit of an affine velocity and `modes` damped oscillations.

    Attributes:
        modes: Number of oscillations, >= 1.
        window: Length of the window after the impact, s; 150 ms in Aouaj 2021 and Aouaj thesis, about three periods
            there.
        shared: One frequency and decay rate per mode for all directions (Aouaj 2021, below eq. 7); else each has its
            own.
    """

    modes: int = 1
    window: float = 0.150
    shared: bool = True

    def __post_init__(self) -> None:
        """Check every field; raises `InvalidInputError` with the name of one that is out of range."""
        if self.modes < 1:
            raise InvalidInputError("modes", self.modes, "an integer >= 1")
        check_window(self.window)

    def fit(self, times: Array, positions: Array) -> BranchFit:
        """Fit the samples with `0 <= time <= window`; see `Estimator.fit`.

        Raises:
            InvalidInputError: Fewer samples in the window than parameters plus two.
        """
        least = _AFFINE + 4 * self.modes + 2
        times, positions = select(times, positions, 0.0, self.window, least)
        if self.shared or positions.shape[1] == 1:
            return self._fit_shared(times, positions)
        return _side_by_side([self._fit_shared(times, positions[:, [joint]]) for joint in range(positions.shape[1])])

    def bounds(self, times: Array) -> tuple[Array, Array]:
        """Bounds (2,) of frequency, rad/s, and decay rate, 1/s, for one mode, given the sampling."""
        span = float(times[-1] - times[0])
        step = span / (times.size - 1)
        low = max(FREQUENCIES[0], 1.0 / span)
        # Four samples per period, below which a sampled oscillation aliases with noise.
        high = max(min(FREQUENCIES[1], 0.25 / step), 1.1 * low)
        return np.array([2.0 * np.pi * low, DECAYS[0]]), np.array([2.0 * np.pi * high, DECAYS[1]])

    def _fit_shared(self, times: Array, positions: Array) -> BranchFit:
        low, high = self.bounds(times)
        modes: list[Array] = []
        for _ in range(self.modes):
            modes = self._refine(times, positions, self._add_mode(times, positions, modes, low, high), low, high)
        return _summarise(times, positions, np.array(modes), low, high)

    def _add_mode(self, times: Array, positions: Array, modes: list[Array], low: Array, high: Array) -> list[Array]:
        """The modes so far and the start of one more: the better of the thesis's guess and a coarse scan."""
        left = _left_over(design(times, np.array(modes).reshape(-1, 2)), positions)
        guesses = [_oscillation_guess(times, left, low, high)]
        # Two frequencies per resolvable one, since the cost's valleys are that wide.
        count = int(np.clip(2.0 * (high[0] - low[0]) * (times[-1] - times[0]) / (2.0 * np.pi), 8, 60))
        for frequency in np.linspace(low[0], high[0], count):
            guesses += [np.array([frequency, decay]) for decay in (5.0, 20.0, 60.0) if low[1] <= decay <= high[1]]
        trials = [[*modes, guess] for guess in guesses]
        bases = np.linalg.qr(np.array([design(times, np.array(trial)) for trial in trials]))[0]
        explained = np.sum((np.swapaxes(bases, 1, 2) @ positions) ** 2, axis=(1, 2))
        return trials[int(np.argmax(explained))]

    def _refine(self, times: Array, positions: Array, modes: list[Array], low: Array, high: Array) -> list[Array]:
        count = len(modes)
        scale = float(np.sqrt(np.mean(_left_over(design(times, np.zeros((0, 2))), positions) ** 2))) or 1.0
        lower, upper = np.log(np.tile(low, count)), np.log(np.tile(high, count))
        start = np.clip(np.log(np.ravel(modes)), lower + 1e-9, upper - 1e-9)

        def left(log_modes: Array) -> Array:
            return np.ravel(_left_over(design(times, np.exp(log_modes).reshape(-1, 2)), positions)) / scale

        found = least_squares(left, start, bounds=(lower, upper), x_scale=0.1, xtol=1e-7, ftol=1e-9, max_nfev=40)
        return list(np.exp(found.x).reshape(-1, 2))


def initial_guess(times: Array, velocity: Array) -> Array:
    """Frequency, rad/s, and decay rate, 1/s, (2,) of (4.7) from a velocity (k,): Aouaj thesis, section 4.1.2.

    The frequency follows from the zero crossings of the data freed of its line. The recipe's decay rate, 0.01 "which
    seems to work all the time", has no unit there; it is read as 0.01 per ms.
    """
    detrended = velocity - np.polyval(np.polyfit(times, velocity, 1), times)
    crossings = int(np.count_nonzero(np.diff(np.signbit(detrended))))
    return np.array([np.pi * max(crossings, 1) / (times[-1] - times[0]), 10.0])


def design(times: Array, modes: Array) -> Array:
    """Columns of the linear parameters: position, velocity, acceleration, then cosine and sine of each mode.

    Args:
        times: (k,) s.
        modes: (m, 2) Frequency, rad/s, and decay rate, 1/s.

    Returns:
        (k, 3 + 2 m).
    """
    columns = [np.ones_like(times), times, 0.5 * times**2]
    for frequency, decay in modes:
        envelope = np.exp(-decay * times)
        columns += [envelope * np.cos(frequency * times), envelope * np.sin(frequency * times)]
    return np.stack(columns, axis=1)


def _oscillation_guess(times: Array, positions: Array, low: Array, high: Array) -> Array:
    """Frequency and decay by the thesis's recipe, from the direction that oscillates most."""
    velocities = np.gradient(positions, times, axis=0)
    loudest = int(np.argmax(np.ptp(velocities, axis=0)))
    return np.clip(initial_guess(times, velocities[:, loudest]), low, high)


def _left_over(columns: Array, positions: Array) -> Array:
    """What no combination of the columns explains, (k, n)."""
    basis = np.linalg.qr(columns)[0]
    return positions - basis @ (basis.T @ positions)


def _project(columns: Array, positions: Array) -> tuple[Array, Array, Array]:
    """Linear parameters, residuals and pseudo-inverse of a design with columns of very different length."""
    lengths = np.linalg.norm(columns, axis=0)
    basis, triangle = np.linalg.qr(columns / lengths)
    # A mode that is nearly a parabola over the window makes the triangle nearly singular: cut it off there.
    inverse = np.linalg.pinv(triangle, rcond=1e-10) @ basis.T / lengths[:, None]
    linear = inverse @ positions
    return linear, positions - columns @ linear, inverse


def _summarise(times: Array, positions: Array, modes: Array, low: Array, high: Array) -> BranchFit:
    columns = design(times, modes)
    linear, residuals, inverse = _project(columns, positions)
    joints = positions.shape[1]
    parameters = columns.shape[1] + 2 * modes.shape[0]
    covariance = autocovariance(residuals, parameters)
    # How an error of the frequencies and decay rates reaches each direction, and how its samples set them.
    sensitivities = [_mode_derivatives(times, modes, linear[:, joint]) for joint in range(joints)]
    reduced = [column - columns @ (inverse @ column) for column in sensitivities]
    information = sum(column.T @ column for column in reduced)
    spread = np.linalg.pinv(information, rcond=1e-12)
    variances = np.zeros(joints)
    for joint in range(joints):
        through_modes = -(inverse[1] @ sensitivities[joint]) @ spread
        for other in range(joints):
            weights = reduced[other] @ through_modes
            if other == joint:
                weights = weights + inverse[1]
            variances[joint] += variance_of_sum(weights, covariance[:, other])
    on_bound = np.any(modes <= low * 1.001) or np.any(modes >= high * 0.999)
    order = np.argsort(modes[:, 0])
    return BranchFit(
        velocity=linear[1],
        standard_error=np.sqrt(variances),
        acceleration=linear[2],
        residual_rms=np.sqrt(np.mean(residuals**2, axis=0)),
        window=(float(times[0]), float(times[-1])),
        samples=times.size,
        parameters=parameters,
        residuals=residuals,
        frequencies=modes[order, 0],
        decay_rates=modes[order, 1],
        settled=not bool(on_bound),
    )


def _mode_derivatives(times: Array, modes: Array, linear: Array) -> Array:
    """Derivative (k, 2 m) of the fitted position of one direction with respect to each frequency and decay rate."""
    columns = []
    for index, (frequency, decay) in enumerate(modes):
        cosine, sine = linear[_AFFINE + 2 * index : _AFFINE + 2 * index + 2]
        envelope = np.exp(-decay * times)
        c, s = np.cos(frequency * times), np.sin(frequency * times)
        columns += [envelope * times * (sine * c - cosine * s), -times * envelope * (cosine * c + sine * s)]
    return np.stack(columns, axis=1)


def _side_by_side(fits: list[BranchFit]) -> BranchFit:
    joined = ("velocity", "standard_error", "acceleration", "residual_rms", "residuals", "frequencies", "decay_rates")
    arrays: dict[str, Any] = {name: np.concatenate([getattr(fit, name) for fit in fits], axis=-1) for name in joined}
    return replace(fits[0], **arrays, settled=all(fit.settled for fit in fits))
