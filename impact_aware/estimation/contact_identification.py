"""Stiffness and damping of a contact from measured force profiles (Wang 2021, section VII).

Each profile is one impact: the normal force over time, with the approach speed and the effective mass that the arm
shows along the normal. Model and mass make a force profile of their own; the parameters are those whose profiles fit
best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impact_aware.arrays import Array
from impact_aware.contact.force_models import FORCE_MODELS
from impact_aware.errors import InvalidInputError, check_name
from impact_aware.estimation.confidence import Fit, Problem, fit_with_intervals
from impact_aware.estimation.identification import UNDETERMINED, Identification

DEFAULT_FORCE_MODEL = "viscoelastic"

# Integration steps per profile, and shifts of its start that each evaluation refines.
_STEPS = 80
_SHIFTS = 3
# Share of the peak force above which the contact counts as begun, well above a sensor's noise.
_ONSET = 0.05


@dataclass(frozen=True, eq=False)
class ForceProfile:
    """The measured normal force of one impact.

    Attributes:
        time: (k,) s, increasing.
        force: (k,) Normal force, N, positive when pressing.
        approach_speed: Normal speed just before, m/s, > 0.
        effective_mass: Mass of robot (and object) along the normal, kg; `ImpactPrediction.reduced_mass` gives it.
    """

    time: ArrayLike
    force: ArrayLike
    approach_speed: float
    effective_mass: float

    def __post_init__(self) -> None:
        """Check every field; raises `InvalidInputError` with the name of one that is out of range."""
        time, force = np.array(self.time, dtype=float), np.array(self.force, dtype=float)
        if time.ndim != 1 or time.size < 8 or not np.all(np.diff(time) > 0.0):
            raise InvalidInputError("time", f"shape {time.shape}", "at least 8 increasing times, s")
        if force.shape != time.shape or not np.all(np.isfinite(force)):
            raise InvalidInputError("force", f"shape {force.shape}", f"{time.size} finite forces, N")
        if not force.max() > 0.0:
            raise InvalidInputError("force", f"largest {force.max():g} N", "a force that presses, positive")
        for name in ("approach_speed", "effective_mass"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise InvalidInputError(name, getattr(self, name), "a finite figure > 0")
        for name, array in (("time", time), ("force", force)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def impulse(self) -> float:
        """Integral of the force, N s."""
        time, force = np.asarray(self.time), np.asarray(self.force)
        return float(0.5 * np.sum((force[1:] + force[:-1]) * np.diff(time)))

    @property
    def onset(self) -> float:
        """Time of first touch, s: where the first rise, taken as straight, starts from zero."""
        time, force = np.asarray(self.time), np.asarray(self.force)
        peak = int(np.argmax(force))
        below = np.flatnonzero(force[: peak + 1] < _ONSET * force[peak])
        start = int(below[-1]) if below.size else 0
        # From the onset's level to the double of it, the rise is nearly straight.
        second = start + 1 + int(np.argmax(force[start + 1 : peak + 1] >= 2.0 * _ONSET * force[peak]))
        if second <= start or force[second] <= force[start]:
            return float(time[start])
        slope = (force[second] - force[start]) / (time[second] - time[start])
        return float(time[start] - max(force[start], 0.0) / slope)


def identify_contact(
    profiles: Sequence[ForceProfile],
    *,
    model: str = DEFAULT_FORCE_MODEL,
    confidence: float = 0.95,
) -> Identification:
    """Stiffness and damping that reproduce the profiles best (Wang 2021, eq. 23 for the default model).

    Args:
        profiles: Measured impacts.
        model: One of `FORCE_MODELS`.
        confidence: Of the intervals.

    Raises:
        InvalidInputError: No profile.
        UnknownNameError: A model that does not exist.
    """
    check_name("contact-force model", model, FORCE_MODELS)
    if not profiles:
        raise InvalidInputError("profiles", "none", "at least one force profile")
    data = _Sampled(profiles)
    exponent = float(getattr(FORCE_MODELS[model](1.0, 1.0), "exponent", 1.0))
    first = _first_guess(data, model, exponent)
    # In logarithms, since both parameters span orders of magnitude; the damping's zero is reached to 1e-4 of its guess.
    problem = Problem(
        residuals=lambda logs: data.residuals(model, *np.exp(logs)),
        start=np.log(first),
        lower=np.log(first * [1e-2, 1e-4]),
        upper=np.log(first * [1e2, 1e3]),
        scale=np.ones(2),
        series=True,
    )
    fit = fit_with_intervals(problem, confidence)
    values, lower, upper = np.exp(fit.values), np.exp(fit.lower), np.exp(fit.upper)
    lower[fit.open_below], upper[fit.open_above] = 0.0, np.inf
    determined = np.maximum(values - lower, upper - values) <= UNDETERMINED * values
    return Identification(
        quantity="contact",
        names=("stiffness", "damping"),
        unit=_units(model, exponent),
        values=values,
        lower=lower,
        upper=upper,
        confidence=confidence,
        determined=determined,
        error=fit.residual_rms * data.force_scale,
        trials=len(profiles),
        warnings=tuple(_warnings(profiles, fit, values, lower, upper, determined, data)),
    )


class _Sampled:
    """All profiles, and one grid of times since first touch, so that one integration serves them all."""

    def __init__(self, profiles: Sequence[ForceProfile]) -> None:
        self.since = [np.asarray(profile.time) - profile.onset for profile in profiles]
        self.forces = [np.asarray(profile.force) for profile in profiles]
        # A sample is a figure of the fit only where there is contact, or just before and after.
        self.samples = max(force.size for force in self.forces)
        self.time = np.linspace(0.0, max(float(since[-1]) for since in self.since), _STEPS + 1)
        self.masses = np.array([profile.effective_mass for profile in profiles])
        self.speeds = np.array([profile.approach_speed for profile in profiles])
        self.force_scale = max(float(force.max()) for force in self.forces)
        self.peak_time = float(
            np.median([since[int(np.argmax(f))] for since, f in zip(self.since, self.forces, strict=True)])
        )

    def residuals(self, model: str, stiffness: float, damping: float) -> Array:
        """Measured minus simulated forces over the largest force, (profiles, samples), zero where a profile is shorter.

        Each profile's moment of first touch is fitted along, since no sensor measures it.
        """
        simulated = self.simulate(model, stiffness, damping)
        left = np.zeros((len(self.forces), self.samples))
        for row, (since, measured, force) in enumerate(zip(self.since, self.forces, simulated, strict=True)):
            slopes = np.gradient(force, self.time)
            shift = 0.0
            for _ in range(_SHIFTS):
                at = since - shift
                error = measured - np.interp(at, self.time, force, left=0.0, right=0.0)
                slope = np.interp(at, self.time, slopes, left=0.0, right=0.0)
                power = float(slope @ slope)
                if power > 0.0:
                    # Half a peak time at most: further away it would be another feature that is matched.
                    step = -float(slope @ error) / power
                    shift = float(np.clip(shift + step, -0.5 * self.peak_time, 0.5 * self.peak_time))
            left[row, : since.size] = measured - np.interp(since - shift, self.time, force, left=0.0, right=0.0)
        return left / self.force_scale

    def simulate(self, model: str, stiffness: float, damping: float) -> Array:
        """Forces (profiles, times) of the model, by Runge-Kutta's classical method; zero once the contact has ended."""
        law = FORCE_MODELS[model](stiffness, damping)
        state = np.stack([np.zeros_like(self.speeds), self.speeds])
        step = float(self.time[1])
        forces = np.zeros((self.masses.size, self.time.size))
        touching = np.ones(self.masses.size, dtype=bool)

        def derivative(at: Array) -> Array:
            return np.stack([at[1], -law.force(at[0], at[1]) / self.masses])

        for index in range(self.time.size):
            force = law.force(state[0], state[1])
            if index > 0:
                touching &= (state[0] > 0.0) & (force > 0.0)
            forces[:, index] = np.where(touching, force, 0.0)
            if not np.any(touching):
                break
            with np.errstate(over="ignore", invalid="ignore"):
                k1 = derivative(state)
                k2 = derivative(state + 0.5 * step * k1)
                k3 = derivative(state + 0.5 * step * k2)
                k4 = derivative(state + step * k3)
                state = np.nan_to_num(
                    state + step / 6.0 * (k1 + 2.0 * (k2 + k3) + k4), nan=-1.0, posinf=-1.0, neginf=-1.0
                )
        return forces


def _first_guess(data: _Sampled, model: str, exponent: float) -> Array:
    """The better of a few dampings, each with the stiffness that gives the measured peak time."""
    peak = max(data.peak_time, float(data.time[1]))
    mass, speed = float(np.median(data.masses)), float(np.median(data.speeds))
    # A spring of exponent eta stops mass and speed in about pi / 2 sqrt(m / k_linear); its depth turns k into k_eta.
    linear = mass * (0.5 * np.pi / peak) ** 2
    depth = speed * np.sqrt(mass / linear)
    guesses = []
    for shift in (0.3, 1.0, 3.0):
        stiffness = shift * linear / depth ** (exponent - 1.0)
        for share in (0.05, 0.3, 1.0, 3.0):
            damping = share * stiffness / speed
            if model == "kelvin_voigt":
                damping = share * np.sqrt(stiffness * mass)
            guesses.append(np.array([stiffness, damping]))
    costs = [np.sum(data.residuals(model, *guess) ** 2) for guess in guesses]
    return guesses[int(np.argmin(costs))]


def _units(model: str, exponent: float) -> str:
    if model == "kelvin_voigt":
        return "N/m, N s/m"
    if exponent == 1.0:
        return "N/m, N s/m^2"
    return f"N/m^{exponent:g}, N s/m^{exponent + 1.0:g}"


def _warnings(
    profiles: Sequence[ForceProfile],
    fit: Fit,
    values: Array,
    lower: Array,
    upper: Array,
    determined: NDArray[np.bool_],
    data: _Sampled,
) -> list[str]:
    lines = []
    for index, name in enumerate(("stiffness", "damping")):
        if not determined[index]:
            lines.append(
                f"{name}: not determined by the profiles: {lower[index]:.3g} to {upper[index]:.3g} explains them"
            )
    for index, profile in enumerate(profiles):
        ratio = profile.impulse / (profile.effective_mass * profile.approach_speed)
        if not 0.95 <= ratio <= 2.05:
            lines.append(
                f"profile {index}: its impulse is {ratio:.2f} times mass times speed, where 1 to 2 is possible; check"
                " the effective mass, the speed and the force's scale"
            )
    if fit.residual_rms > 0.1:
        lines.append(
            f"model: it leaves {100.0 * fit.residual_rms:.0f} % of the peak force; another model may fit better"
        )
    return lines
