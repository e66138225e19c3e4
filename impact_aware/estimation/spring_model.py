"""What elastic joints of known stiffness leave open about an instant: contact, command, or neither.

The samples of all joints are one Gaussian process: a motion of the arm without oscillation, about whose position,
velocity and acceleration nothing is known and whose jerk is white, less the modes of `JointSprings`, which swing from
before and die away. A contact kicks rigid motion and modes alike, along what impulses at the tool can do, and may go
on to press; a command drives both from the motors. Stamps that are off move all joints at once. Nothing else is free,
so that ringing can't imitate a contact. Other contacts that are known have a part of their own, of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.branches import Branches
from impact_aware.estimation.joint_springs import JointSprings
from impact_aware.estimation.jump_gain import log_mean
from impact_aware.estimation.motion_parts import shaken
from impact_aware.estimation.part_choices import CONTACT_TIME_SCALE
from impact_aware.estimation.sample_noise import Noise
from impact_aware.estimation.spring_parts import ELSEWHERE, PRESSES, SpringParts
from impact_aware.estimation.whitened import Whitened, whiten

JERKS = (50.0, 1e3, 5e3)
"""Candidates for the spectral density of the jerk of the rigid motion, rad^2/s^5."""

SIZES = (0.1, 0.3, 1.0, 3.0)
"""Candidates for the jump that an impulse makes, rad/s."""

STEP = 12.0
"""Standard deviation of a step of the acceleration by motors, or by a contact that begins to press or ends, rad/s^2."""

CONTACT_TIMES = (0.0, 0.002, 0.004, 0.007)
"""Candidates for the time in which a contact changes the velocity, s."""

TOUCHES = 0.2, 1.2
"""Sampling periods before and after a contact that is known, within which samples tell nothing."""

FINE, ZOOM = 9, 0.3
"""Instants within a period of the likeliest one that are weighed, and within this share of it once more."""

LIKELY = 3.0
"""Logarithm of the odds of a contact from which it is looked at closely."""

UNLIKELY = 15.0
"""Logarithm of the odds against a density of the jerk from which it counts for nothing."""


@dataclass(frozen=True, eq=False)
class _Kink:
    """A contact somewhere: as in `Branches`, its log likelihood, and the least misfit."""

    time: float
    time_std: float
    jump: Array
    jump_std: Array
    likelihood: float
    misfit: float


class SpringModel:
    """The samples of k instants around one, of n joints.

    Attributes:
        freedom: How many squares `misfit` sums up.
    """

    def __init__(
        self,
        times: Array,
        positions: Array,
        noise: Noise,
        springs: JointSprings,
        response: Array | None = None,
        known: Sequence[float] = (),
        jerks: Sequence[float] = JERKS,
    ) -> None:
        """Prepare.

        Args:
            times: (k,) Increasing, s.
            positions: (k, n) rad.
            noise: Of them.
            springs: Of the joints.
            response: (n, m) Jumps of the links' velocity that impulses at the contact make, or None: any.
            known: Times of other contacts, s.
            jerks: Densities of the jerk that are weighed.
        """
        self._origin = float(times[0])
        self._period = float(times[-1] - times[0]) / (len(times) - 1)
        outside = np.ones(len(times), dtype=bool)
        for contact in known:
            outside &= (times < contact - TOUCHES[0] * self._period) | (times > contact + TOUCHES[1] * self._period)
        self._times, positions = times[outside] - self._origin, positions[outside]
        samples, joints = positions.shape
        one = np.eye(joints)
        pushes = one if response is None else response / np.linalg.norm(response, axis=1).max()
        self._parts = SpringParts(self._times, springs, pushes)
        powers = (self._times[:, None] / self._times[-1] - 0.5) ** np.arange(3)
        # Positions are stacked joint by joint.
        unknown = np.kron(one, powers)
        self.freedom = samples * joints - 3 * joints
        base = self._parts.swings()
        for contact in known:
            columns = self._parts.of_known(self._times - (contact - self._origin))
            base += columns @ columns.T
        blocks = base.reshape(joints, samples, joints, samples)
        each, sample = np.arange(joints), np.arange(samples)
        speed = noise.stamps * np.gradient(positions, self._times, axis=0)
        blocks[:, sample, :, sample] += speed[:, :, None] * speed[:, None, :] + np.diag(noise.encoder**2)
        jerk, before = shaken(self._times), 0.0
        left = positions - powers @ np.linalg.lstsq(powers, positions, rcond=None)[0]
        columns = np.column_stack((unknown, left.T.reshape(-1)))
        self._densities = []
        for density in jerks:
            blocks[each, :, each, :] += (density - before) * jerk
            before = density
            self._densities.append(whiten(base, columns))

    @property
    def smooth(self) -> float:
        """Log likelihood of the samples where nothing happens but at the known contacts."""
        return max(density.score for density in self._densities)

    def judge(self, begin: float, end: float) -> tuple[Branches, float]:
        """What may have happened between two instants, s, and the least misfit, per degree of freedom."""
        coarse = np.linspace(begin, end, max(3, 1 + round((end - begin) / (0.5 * self._period))))
        kinks: list[tuple[float, float]] = []
        steps: list[tuple[float, float]] = []
        releases: list[float] = []
        since = [self._times - (place - self._origin) for place in coarse.tolist()]
        drives = np.stack([self._parts.drive(each) for each in since], axis=1)
        presses = np.stack([self._parts.press(each) for each in since], axis=1)
        events = self._events(coarse, CONTACT_TIMES[1:2])
        for density in self._densities:
            steps += zip((density.score + _step(density, drives)).tolist(), coarse.tolist(), strict=True)
            releases += (density.score + _step(density, presses)).tolist()
            gains = self._gains(density, events, 1)[0][:, 0]
            kinks += zip((density.score + gains).tolist(), coarse.tolist(), strict=True)
        guess = max(kinks)[1]
        # Densities of the jerk that are far from the likeliest one count for nothing.
        likely = [
            density
            for row, density in enumerate(self._densities)
            if max(score for score, _ in kinks[row * len(coarse) : (row + 1) * len(coarse)]) > max(kinks)[0] - UNLIKELY
        ]
        smooth = self.smooth
        fine = self._places(guess, self._period, begin, end)
        first = kink = self._kinks(likely[:1] if max(kinks)[0] < smooth + LIKELY else likely, fine, end - begin)
        if first.likelihood > smooth + LIKELY:
            kink = self._kinks(likely, self._places(first.time, ZOOM * self._period, begin, end), end - begin)
        misfit = min([density.misfit for density in self._densities] + [first.misfit, kink.misfit]) / self.freedom
        step = max(float(log_mean(np.array(each))) for each in (releases, [score for score, _ in steps]))
        step += float(np.log(len(self._densities)))
        # Where the model leaves more than the noise, likelihoods tell as much less.
        share = 1.0 / max(misfit, 1.0)
        branches = Branches(
            time=kink.time,
            time_std=kink.time_std,
            jump=kink.jump,
            jump_std=kink.jump_std,
            smooth=share * smooth,
            plain=share * smooth,
            step=share * step,
            step_time=max(steps)[1],
            kink=share * first.likelihood,
            carried=share * step,
        )
        return branches, misfit

    @staticmethod
    def _places(guess: float, reach: float, begin: float, end: float) -> Array:
        return np.linspace(max(begin, guess - reach), min(end, guess + reach), FINE)

    def _kinks(self, densities: Sequence[Whitened], places: Array, search: float) -> _Kink:
        """What a contact at one of these instants makes of the samples, of so long a search, s."""
        prior = -np.array(CONTACT_TIMES) / CONTACT_TIME_SCALE
        prior -= np.log(np.exp(prior).sum())
        scores = np.empty((len(densities), len(places), len(CONTACT_TIMES)))
        top, jump, std, misfit = -np.inf, np.zeros(0), np.zeros(0), np.inf
        events = self._events(places, CONTACT_TIMES)
        for row, density in enumerate(densities):
            gains, better, jumps, stds = self._gains(density, events, len(CONTACT_TIMES))
            scores[row] = density.score + gains + prior
            misfit = min(misfit, density.misfit - float(better.max()))
            best = np.unravel_index(scores[row].argmax(), gains.shape)
            if scores[row][best] > top:
                top, jump, std = float(scores[row][best]), jumps[best], stds[best]
        weights = np.exp(scores - top).sum(axis=(0, 2))
        share = min(1.0, float(places[-1] - places[0]) / max(search, 1e-9))
        likelihood = top + float(np.log(weights.mean() * share))
        weights /= weights.sum()
        time = float(weights @ places)
        return _Kink(
            time,
            float(np.sqrt(weights @ (places - time) ** 2)),
            jump,
            std,
            likelihood,
            misfit,
        )

    def _events(self, places: Array, durations: Sequence[float]) -> Array:
        """What contacts at t instants may do to the positions (n k, t, c).

        Kicks of these durations, one after the other, then what they share.
        """
        columns = []
        for place in places.tolist():
            since = self._times - (place - self._origin)
            kicks = [self._parts.kick(since, each) for each in durations]
            columns.append(np.hstack((*kicks, self._parts.press(since), self._parts.elsewhere(since))))
        return np.stack(columns, axis=1)

    def _gains(self, density: Whitened, events: Array, durations: int) -> tuple[Array, Array, Array, Array]:
        """What contacts at t instants, of d durations, add to the log likelihood and take off the misfit, (t, d).

        Their jumps and standard errors follow, (t, d, n).
        """
        pushes, joints = self._parts.pushes.shape[1], len(self._parts.springs.turns)
        normals, products = _products(density, events)
        shared = np.arange(durations * pushes, events.shape[-1])
        rows = np.stack([np.append(np.arange(pushes) + which * pushes, shared) for which in range(durations)])
        normals, products = normals[:, rows[:, :, None], rows[:, None, :]], products[:, rows]
        less = np.minimum(SIZES, 1.0)[:, None]
        spreads = np.hstack(
            (
                np.repeat(np.array(SIZES)[:, None], pushes, axis=1),
                np.repeat(PRESSES * less, pushes, axis=1),
                np.repeat(ELSEWHERE * less, joints, axis=1),
            )
        )
        gains, better, mean, system = _gain(normals, products, spreads)
        best = gains.argmax(axis=-1)
        rigid = self._parts.springs.rigid @ self._parts.pushes
        jumps = np.hstack((rigid, np.zeros((joints, pushes)), np.eye(joints)))
        known = jumps * spreads[best][..., None, :]  # (t, d, n, c)
        chosen = best[..., None, None]
        mean = np.take_along_axis(mean, chosen, axis=-2)[..., 0, :]
        system = np.take_along_axis(system, chosen[..., None], axis=-3)[..., 0, :, :]
        variance = np.einsum("...jc,...cj->...j", known, np.linalg.solve(system, np.swapaxes(known, -1, -2)))
        jump = (known @ mean[..., None])[..., 0]
        better = np.take_along_axis(better, best[..., None], axis=-1)[..., 0]
        top = gains.max(axis=-1)
        total = top + np.log(np.exp(gains - top[..., None]).mean(axis=-1))
        return total, better, jump, np.sqrt(variance)


def _products(density: Whitened, columns: Array) -> tuple[Array, Array]:
    """Products (t, c, c) of columns (n k, t, c) with each other and (t, c) with the data, in the process's metric."""
    white = density.whitened(columns.reshape(len(columns), -1)).reshape(columns.shape)
    white = np.moveaxis(white, 0, 1)
    turned = np.swapaxes(white, 1, 2)
    return turned @ white, turned @ density.left


def _step(density: Whitened, pushes: Array) -> Array:
    """What steps of the acceleration at t instants, (n k, t, c), add to the log likelihood."""
    normals, products = _products(density, pushes)
    return _gain(normals, products, np.full((1, pushes.shape[-1]), STEP))[0][:, 0]


def _gain(normals: Array, products: Array, spreads: Array) -> tuple[Array, Array, Array, Array]:
    """What columns with these standard deviations (s, c) add to the log likelihoods, and take off the misfit, (..., s).

    Their coefficients' means (..., s, c), in standard deviations, and inverse covariances (..., s, c, c) follow.
    """
    count = spreads.shape[-1]
    system = np.eye(count) + spreads[:, :, None] * normals[..., None, :, :] * spreads[:, None, :]
    scaled = spreads * products[..., None, :]
    mean = np.asarray(np.linalg.solve(system, scaled[..., None])[..., 0], dtype=float)
    better = (scaled * mean).sum(axis=-1)
    gain = 0.5 * better - 0.5 * np.linalg.slogdet(system)[1]
    return np.asarray(gain, dtype=float), better, mean, np.asarray(system, dtype=float)
