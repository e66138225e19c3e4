"""How well an impact, a step of the command or neither explains the samples around an instant: marginal likelihoods.

Around an instant each joint's positions are modelled as a Gaussian process of these independent parts:

- position, velocity and acceleration, about which nothing is known, and a jerk that is white noise;
- the oscillation of elastic joints that is under way: damped sines of all frequencies in `RINGING_BAND`;
- a step of the acceleration at the instant, as a command makes it at the links, or at motors that elastic joints
  connect to them: the links follow later, and swing;
- after an impact a jump dv of the velocity, by a force that is half a sine of the contact time D, and the oscillation
  that it starts, whose phase is known: it begins at rest with a velocity;
- white noise of the encoder, and of the stamps times the velocity.

What a smooth motion, a brake or an oscillation can do is so part of the covariance, and neither a jump nor its time is
stated more exactly than these leave it. The parts' sizes are those that make the samples most likely, joint by joint.
With everything but the instant linear and Gaussian, likelihoods are closed (Rasmussen and Williams 2006, 2.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, starmap

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.estimation.marginals import gains_of_jumps, log_mean, marginals
from impact_aware.estimation.motion_parts import MotionParts, PartsSince, ramp
from impact_aware.estimation.priors import (
    AT_CARRIED,
    AT_KINKS,
    AT_STEPS,
    BEFORE,
    CONTACT_TIME_SCALE,
    HARD,
    JERKS,
    JUMPS,
    PLAIN,
    STARTED,
    STEPS,
    TOUCHING_TWICE,
    UNDER_WAY,
    Sizes,
    squares_of,
    without_drive,
)

NOISE_GRID = 2.0
"""Ratio of neighbouring standard deviations of the noise that are distinguished."""

TOUCHES = 0.2, 1.2
"""Sampling periods before and after a jump that is known, within which its contact may shape the samples."""

REACH = 2.5e-3
"""The instant is searched finely within this time or one and a half periods around the likeliest one, s."""

INSTANTS = 36
"""Candidates for the instant when all sizes are weighed."""

REPEATED = 0.5
"""Power of the joint likelihood that dates a jump. Joints share errors, of stamps and of torques
between samples, and each repeats them as evidence of its own; a likelihood to a power is right for a model that is a
little wrong (Grünwald and van Ommen 2017). At 1, times of 8 to 15 % of jumps are off by more than two standard errors.
"""

SPOILT, WRONG = 1e-3, (0.0, 10.0, 100.0, 1000.0)
"""Share of samples that are wrong for no known reason, and candidates for their errors' size in each joint, in standard
deviations of the noise: a stamp that is late, a value that was not transmitted."""

DOUBTFUL = 2.0
"""Log-odds of an event against none from which a wrong sample is considered instead."""

STARTS_APART = 0.004
"""Time between instants at which the sizes of the parts are looked for, s."""

FINE = 40
"""Candidates for the instant there."""


@dataclass(frozen=True, eq=False)
class Branches:
    """Results for the branches through the samples around an instant.

    Attributes:
        time: Of the impact, if it is one, s.
        time_std: Its standard error, s.
        jump: (n,) Of the velocity, rad/s.
        jump_std: (n,) Its standard error, rad/s.
        smooth: Log likelihood without anything but the motion and an oscillation under way.
        plain: The same without an oscillation under way.
        step: With a step of the acceleration.
        step_time: Where that or `carried` is, whichever is likelier, s.
        kink: With a jump of the velocity.
        carried: With a step of the motors' acceleration that elastic joints pass on.
        spoilt: As `smooth`, with one sample that is wrong; minus infinity where it was not needed.
        wrong: Time of the sample that is wrong then, s.
    """

    time: float
    time_std: float
    jump: Array
    jump_std: Array
    smooth: float
    plain: float
    step: float
    step_time: float
    kink: float
    carried: float = -np.inf
    spoilt: float = -np.inf
    wrong: float = np.nan


class BranchModel:
    """The samples around one instant."""

    def __init__(
        self,
        times: Array,
        positions: Array,
        noise: Array,
        pushes: Array | None = None,
        earlier: Sequence[float] = (),
        scales: Array | None = None,
    ) -> None:
        """Prepare.

        Args:
            times: (k,) Increasing, s.
            positions: (k, n) rad.
            noise: (n,) Standard deviation of the white part, rad.
            pushes: (n,) Density of a white acceleration that is part of the positions, rad^2/s^3, where what drives
                them was measured and taken off: neither swings nor a rattle are left then. None without.
            earlier: Times of jumps that are known, s: nothing is known of how large each is or how long its contact
                lasts, and samples within it are no evidence.
            scales: (k,) Factors of the noise's variance in each sample; all 1 when None.
        """
        self.origin = float(times[0])
        span = float(times[-1] - times[0])
        self._period = span / (len(times) - 1)
        outside = np.ones(len(times), dtype=bool)
        for jump in earlier:
            outside &= (times < jump - TOUCHES[0] * self._period) | (times > jump + TOUCHES[1] * self._period)
        self.times, positions = times[outside] - times[0], positions[outside]
        # Joints of nearly the same noise share their algebra.
        self.noise = _on_noise_grid(noise)
        self.pushes = np.zeros(len(noise)) if pushes is None else np.where(pushes, _on_noise_grid(pushes), 0.0)
        past = [np.maximum(self.times - (jump - self.origin), 0.0) / span for jump in earlier]
        powers = (self.times[:, None] / span - 0.5) ** np.arange(3)
        # A contact of some length moves the branch after it by a part of its jump.
        self.powers = np.column_stack((powers, *past, *(since > 0.0 for since in past)))
        fitted = self.powers @ np.linalg.lstsq(self.powers, positions, rcond=None)[0]
        self.values = positions - fitted
        known = np.ones(len(times)) if scales is None else scales
        self.parts = MotionParts(self.times, [jump - self.origin for jump in earlier], known[outside])
        self._durations = HARD if pushes is None else TOUCHING_TWICE
        # Of those that differ most, for sizes that are only looked for.
        self._some_durations = HARD[1::2] if pushes is None else HARD[1::2] + TOUCHING_TWICE[-1:]

    def likeliest(self, instant: float) -> Array:
        """Log likelihood (n,) of each joint alone, with a jump at an instant, s, or without, whichever is likelier."""
        parts = self._since(instant)
        return np.maximum(self._best(parts, BEFORE)[0], self._best(parts, AT_KINKS, kink=True)[0])

    def judge(self, begin: float, end: float, guess: float) -> Branches:
        """Compare what may have happened between two instants, s; `guess` is one at which something seems to."""
        middle = self._since(0.5 * (begin + end))
        plain, _ = self._best(middle, PLAIN)
        smooth, _ = self._best(middle, BEFORE)
        coarse = np.arange(begin, end + 0.25 * self._period, 0.5 * self._period)
        _, sizes = self._best(middle, AT_STEPS)
        anywhere = self._since(coarse)
        steps = self._likelihoods(anywhere, sizes, ())[0].sum(axis=1)
        _, carried = self._best(middle, AT_CARRIED)
        passed_on = self._likelihoods(anywhere, carried, ())[0].sum(axis=1)
        instant, sizes = self._kink_sizes(coarse, guess)
        # A short contact and a longer one that began earlier are nearly the same.
        reach = max(1.5 * self._period, REACH, 0.5 * float(np.diff(self.times).max()))
        fine = np.linspace(max(begin, instant - reach), min(end, instant + reach), FINE)
        scores, jumps, stds = self._kink(self._since(fine), sizes)
        weight = np.exp(scores - scores.max())
        # The prior of the instant is even over the whole search, of which this is the part that counts.
        total = float(log_mean(scores)) + np.log(min(1.0, (fine[-1] - fine[0]) / max(end - begin, 1e-9)))
        weight /= weight.sum()
        time = float(weight @ fine)
        jump = weight @ jumps
        step, pushed, calm = float(log_mean(steps)), float(log_mean(passed_on)), float(smooth.sum())
        doubtful = max(total, step, pushed) > calm + DOUBTFUL
        spoilt, wrong = self._with_one_wrong(middle) if doubtful else (-np.inf, np.nan)
        return Branches(
            time=time,
            time_std=float(np.sqrt(weight @ (fine - time) ** 2)),
            jump=jump,
            jump_std=np.sqrt(weight @ (stds**2 + (jumps - jump) ** 2)),
            smooth=calm,
            plain=float(plain.sum()),
            step=step,
            step_time=float(coarse[int(max(steps, passed_on, key=np.max).argmax())]),
            kink=total,
            carried=pushed,
            spoilt=spoilt,
            wrong=wrong,
        )

    def instant(self, begin: float, end: float) -> tuple[float, float]:
        """Mean and standard deviation of the instant of a jump between two instants, s, over all sizes of the parts."""
        places = np.linspace(begin, end, INSTANTS)
        choices = tuple(starmap(Sizes, product(JERKS[:-1], UNDER_WAY[::2], STARTED, STEPS)))
        prior = -np.array(self._durations) / CONTACT_TIME_SCALE
        totals = np.zeros((len(places), len(self._durations)))
        parts = self._since(places)
        ramps = np.stack([ramp(parts.since, duration) for duration in self._durations], axis=-1)
        for noise, pushes, group in self._groups():
            scores = []
            for size in without_drive(choices) if pushes else choices:
                covariances = parts.covariance(size, noise, pushes)
                base, products, norms = self._marginal(covariances, group, ramps)
                scores.append(base[..., None] + gains_of_jumps(products, norms))
            table = np.concatenate(scores)
            totals += REPEATED * log_mean(table).sum(axis=1)
        totals += prior
        weight = np.exp(totals - totals.max()).sum(axis=1)
        weight /= weight.sum()
        time = float(weight @ places)
        return time, float(np.sqrt(weight @ (places - time) ** 2))

    def _since(self, instants: Array | float) -> PartsSince:
        """The parts of the motion for an instant or several, s."""
        return self.parts.since(np.maximum(self.times - (np.asarray(instants)[..., None] - self.origin), 0.0))

    def _with_one_wrong(self, middle: PartsSince) -> tuple[float, float]:
        """Log likelihood of the samples where nothing happens and one is wrong in any of the joints; its time, s."""
        samples = len(self.times)
        wrong = np.zeros(samples)
        for noise, pushes, group in self._groups():
            choices = without_drive(BEFORE) if pushes else BEFORE
            covariances = np.stack([middle.covariance(size, noise, pushes) for size in choices])
            base, products, norms = self._marginal(covariances, group, np.eye(samples))
            squared = (noise * np.array(WRONG))[:, None, None, None] ** 2
            share = 1.0 + squared * norms
            gains = log_mean(0.5 * (squared * products**2 / share - np.log(share)))
            wrong += (base[..., None] + gains).max(axis=0).sum(axis=0)
        top = wrong.max()
        score = float(top + np.log(np.exp(wrong - top).sum()) + np.log(SPOILT))
        return score, self.origin + float(self.times[wrong.argmax()])

    def _groups(self) -> list[tuple[float, float, NDArray[np.intp]]]:
        """Noise, pushes and indices of the joints that have them."""
        kinds = list(zip(self.noise.tolist(), self.pushes.tolist(), strict=True))
        return [
            (*kind, np.array([place for place, other in enumerate(kinds) if other == kind]))
            for kind in dict.fromkeys(kinds)
        ]

    def _kink_sizes(self, coarse: Array, guess: float) -> tuple[float, list[Sizes]]:
        """Likeliest instant of a jump, and the sizes of the other parts there.

        Sizes that are found at a wrong instant excuse the jump by jerk: they are looked for at several.
        """
        choices = AT_KINKS
        coarse = np.sort(np.append(coarse, guess))
        every = max(1, round(STARTS_APART / (0.5 * self._period)))
        starts = [
            self._best(self._since(place), choices, kink=True)
            for place in (guess, *coarse[every // 2 :: every].tolist())
        ]
        starts.sort(key=lambda start: -start[0].sum())
        best: tuple[float, float, list[Sizes]] = (-np.inf, 0.0, [])
        anywhere = self._since(coarse)
        for _, sizes in starts[:2]:
            scores = self._kink(anywhere, sizes)[0]
            place = int(scores.argmax())
            if scores[place] > best[0]:
                best = (float(scores[place]), float(coarse[place]), sizes)
        instant = best[1]
        return instant, self._best(self._since(instant), choices, kink=True)[1]

    def _best(self, parts: PartsSince, choices: tuple[Sizes, ...], kink: bool = False) -> tuple[Array, list[Sizes]]:
        """Largest log likelihood (n,) of each joint at one instant, and the sizes that give it."""
        joints, since = self.values.shape[1], parts.since
        durations = self._some_durations if kink else ()
        ramps = np.array([ramp(since, duration) for duration in durations]).reshape(-1, len(since)).T
        best, chosen = np.empty(joints), [choices[0]] * joints
        for noise, pushes, group in self._groups():
            some = without_drive(choices) if pushes else choices
            covariances = squares_of(some) @ parts.table + self.parts.given(noise, pushes).ravel()
            covariances = covariances.reshape(len(some), len(since), len(since))
            base, products, norms = self._marginal(covariances, group, ramps)
            if kink:
                base = base + gains_of_jumps(products, norms).max(axis=(0, -1))
            places = base.argmax(axis=0)
            best[group] = base.max(axis=0)
            for joint, place in zip(group.tolist(), places.tolist(), strict=True):
                chosen[joint] = some[place]
        return best, chosen

    def _kink(self, parts: PartsSince, sizes: list[Sizes]) -> tuple[Array, Array, Array]:
        """Log likelihoods (t,) of a jump at t instants, jumps, and their errors.

        The jumps and their standard errors have the shape (t, n).
        """
        base, products, norms = self._likelihoods(parts, sizes, self._durations)
        prior = -np.array(self._durations) / CONTACT_TIME_SCALE
        prior -= np.log(np.exp(prior).sum())
        gains = gains_of_jumps(products, norms)
        # Each joint has a jump of its own size.
        table = log_mean(gains).sum(axis=1) + prior
        own = np.array(JUMPS)[gains.argmax(axis=0)]
        variance = own**2 / (1.0 + norms * own**2)
        top = table.max(axis=1)
        score = top + np.log(np.exp(table - top[:, None]).sum(axis=1))
        rows, duration = np.arange(len(products)), table.argmax(axis=1)
        jump, std = (products * variance)[rows, :, duration], np.sqrt(variance)[rows, :, duration]
        return base.sum(axis=1) + score, jump, std

    def _likelihoods(
        self, parts: PartsSince, sizes: list[Sizes], durations: tuple[float, ...]
    ) -> tuple[Array, Array, Array]:
        """Log likelihoods (t, n) without the jump; its regressors' products with data and themselves (t, n, d)."""
        since = parts.since
        shape = (len(since), self.values.shape[1])
        base, products, norms = np.empty(shape), np.empty((*shape, len(durations))), np.empty((*shape, len(durations)))
        ramps = np.zeros((*since.shape, len(durations)))
        for place, duration in enumerate(durations):
            ramps[..., place] = ramp(since, duration)
        kinds = list(zip(sizes, self.noise.tolist(), self.pushes.tolist(), strict=True))
        for kind in dict.fromkeys(kinds):
            group = np.array([place for place, other in enumerate(kinds) if other == kind])
            covariances = parts.covariance(*kind)
            base[:, group], products[:, group], norms[:, group] = self._marginal(covariances, group, ramps)
        return base, products, norms

    def _marginal(self, covariances: Array, group: NDArray[np.intp], ramps: Array) -> tuple[Array, Array, Array]:
        """For covariances (c, k, k) and ramps (k, d) or (c, k, d): likelihoods and products as in `_likelihoods`."""
        count, samples, _ = covariances.shape
        ramps = np.broadcast_to(ramps, (count, samples, ramps.shape[-1]))
        base, products, norms = marginals(covariances, self.powers, self.values[:, group], ramps)
        norms = np.maximum(norms, 1e-30)
        return base, products, np.broadcast_to(norms[:, None], products.shape)


def _on_noise_grid(values: Array) -> Array:
    return np.asarray(NOISE_GRID ** np.round(np.log(np.maximum(values, 1e-300)) / np.log(NOISE_GRID)))
