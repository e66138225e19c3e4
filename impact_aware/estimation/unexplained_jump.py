"""Jumps of the joints' velocities that measured torques do not explain: a momentum observer that looks at both sides.

Links move by M(q) ddq + h(q, dq) = tau + J^T f. Taking the double integral of M^-1 (tau - h) off the positions leaves
what contacts did, M^-1 J^T f, and what changes slowly (a payload, an offset, gravity that is compensated). A brake, a
push of the controller and joints that ring are in tau, and leave nothing; a contact leaves a jump, however soon its
swing or the controller takes back what the joints show of it. Four things stand between that and real arms:

- torques are as wrong as they are: the white acceleration that they leave of each joint in the recording itself is the
  noise that a jump has to stand out of. Torques that explain nothing (of motors behind friction, or none at all) so
  leave noise in which nothing stands out;
- torques are not known between two samples: they may step there, and a slow recording does not resolve the oscillation
  of a joint. How far each acceleration is from the cubic through its neighbours shows how large that error is;
- encoders may sit at the motors: what a spring of compliance c between them and the link takes, c tau, is part of the
  covariance;
- contacts may be soft: their force is half a sine of up to 36 ms.

Everything but the instant is linear and Gaussian (Rasmussen and Williams 2006, 2.7), as in `branch_model`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.estimation.explained_motion import driven_motion
from impact_aware.estimation.marginals import Whitened, log_mean, whiten
from impact_aware.estimation.motion_parts import ramp, shaken
from impact_aware.estimation.priors import CONTACT_TIME_SCALE, CONTACT_TIMES, JUMPS, STEPS
from impact_aware.estimation.sample_noise import Noise, lagrange_weights
from impact_aware.robot import RobotModel

DRIFT = 50.0
"""Spectral density of the jerk of what changes slowly, rad^2/s^5."""

COMPLIANCE = 2e-4
"""Standard deviation of the compliance between encoder and link, rad/(N m): joints have 0 to a few 10^-4."""

PUSHES = tuple(np.geomspace(1e-5, 1e3, 17).tolist())
"""Candidates for the density of the white acceleration that torques leave, rad^2/s^3."""

UNSEEN = 0.08
"""Variance of an acceleration between two samples, as a share of its squared distance from the cubic through its
neighbours. For a step at an unknown instant it is 0.15. That loses soft contacts that a controller takes back within
three samples; 0.04 leaves more than twice as many false contacts in free motion at 100 Hz."""

REACH = 0.060
"""Reach of the samples that are looked at before and after an instant, s."""

LEAST_BEFORE, LEAST_AFTER, LEAST_REACH = 5, 4, 10
"""Samples there are at least, and how far they reach in slow recordings."""

LEARNT, MOST_SAMPLES, MOST_LEARNT, FEWEST_LEARNT = 0.1, 40, 20, 4
"""Length of the stretches from which `PUSHES` are learnt, s, and samples in one at most; how many of them are looked
at, and needed."""

FINE = 25
"""Instants that the time is found among."""


@dataclass(frozen=True, eq=False)
class UnexplainedJump:
    """A jump that torques do not explain, at the likeliest of the given instants.

    Attributes:
        time: s.
        time_std: Its standard error, s.
        jump: (n,) Of the links' velocities, rad/s.
        jump_std: (n,) Its standard error, rad/s.
        gain: Log-odds of the jump against none or a step of the acceleration, over the misfit of the samples.
    """

    time: float
    time_std: float
    jump: Array
    jump_std: Array
    gain: float


@dataclass(frozen=True, eq=False)
class _Window:
    """Samples (k,) around an instant, and what torques leave of each joint's positions there."""

    times: Array
    joints: list[Whitened]


class UnexplainedJumps:
    """Looks for them in one stretch of samples of an arm that measures its joints' torques."""

    def __init__(
        self, robot: RobotModel, times: Array, positions: Array, efforts: Array, noise: Noise, time_std: Array | None
    ) -> None:
        """Prepare, and learn what torques leave of each joint.

        Args:
            robot: The arm, of whose inertia that of the links counts.
            times: (k,) Increasing, s; five at least.
            positions: (k, n) rad.
            efforts: (k, n) Torques behind the gears, N m.
            noise: Of the positions.
            time_std: (k,) Standard errors of the stamps beyond what all share, s; 0 when None.
        """
        driven, self._moved = driven_motion(robot, times, positions, efforts)
        self._unseen = _unseen(times, driven)
        self._times, self._positions, self._efforts, self._noise = times, positions, efforts, noise
        self._time_std = np.zeros_like(times) if time_std is None else time_std
        self._period = float(np.median(np.diff(times)))
        self._pushes = self._learn()

    @property
    def known(self) -> bool:
        """Whether the recording was long enough to learn what torques leave."""
        return self._pushes is not None

    def look(self, begin: float, end: float, others: Sequence[float] = ()) -> UnexplainedJump | None:
        """The likeliest jump between two instants, s, and how likely it is; None where samples lack.

        Args:
            begin: Of the time in which it is looked for, s.
            end: Of it, s.
            others: Times of jumps of which nothing is known but that they are there, s.
        """
        if self._pushes is None:
            return None
        middle, reach = 0.5 * (begin + end), max(REACH, LEAST_REACH * self._period)
        first, last = np.searchsorted(self._times, (middle - reach, middle + reach)).tolist()
        inner = np.searchsorted(self._times, (begin, end))
        if inner[0] - first < LEAST_BEFORE or last - inner[1] < LEAST_AFTER:
            return None
        window = self._window(first, last, self._pushes, others)
        coarse = np.arange(begin, end + 0.25 * self._period, 0.5 * min(self._period, REACH / 12.0))
        kinks, _, _ = self._kinks(window, coarse)
        likeliest = float(coarse[int(kinks.max(axis=1).argmax())])
        fine = np.linspace(max(begin, likeliest - self._period), min(end, likeliest + self._period), FINE)
        kinks, smooth, parts = self._kinks(window, fine)
        place, duration = np.unravel_index(int(kinks.argmax()), kinks.shape)
        jump, std, left = (part[place, duration] for part in parts)
        # Where the model misses the samples, instant, size and odds are less certain than its likelihood shows.
        dispersion = max(1.0, float(left.sum()) / (len(left) * (len(window.times) - 3.0)))
        shares = np.exp((kinks - kinks.max()) / dispersion).sum(axis=1)
        shares /= shares.sum()
        time = float(shares @ fine)
        odds = float(kinks.max() + np.log(np.exp(kinks - kinks.max()).sum(axis=1).mean())) - max(0.0, smooth)
        return UnexplainedJump(
            time=time,
            time_std=float(np.sqrt(shares @ (fine - time) ** 2)),
            jump=jump,
            jump_std=np.sqrt(dispersion) * std,
            gain=odds / dispersion,
        )

    def _learn(self) -> Array | None:
        """Density (n,) of the white acceleration that torques leave of each joint: the middle of all stretches."""
        count = min(max(LEAST_REACH + LEAST_BEFORE, round(LEARNT / self._period)), MOST_SAMPLES)
        begins = np.arange(0, len(self._times) - count + 1, max(count // 2, 1))
        if len(begins) < FEWEST_LEARNT:
            return None
        chosen = begins[np.linspace(0, len(begins) - 1, min(len(begins), MOST_LEARNT)).astype(int)]
        joints = self._positions.shape[1]
        likeliest = [
            np.argmax(
                [[each.score for each in self._window(b, b + count, np.full(joints, push)).joints] for push in PUSHES],
                axis=0,
            )
            for b in chosen.tolist()
        ]
        return np.array(PUSHES)[np.quantile(likeliest, 0.5, axis=0, method="lower").astype(int)]

    def _window(self, first: int, last: int, pushes: Array, others: Sequence[float] = ()) -> _Window:
        times = self._times[first:last] - self._times[first]
        span = float(times[-1])
        free = [(times[:, None] / span - 0.5) ** np.arange(3)]
        for other in others:
            since = np.maximum(times - (other - self._times[first]), 0.0)
            if 0 < np.count_nonzero(since) < len(since):
                # A contact of some length moves the branch after it by a part of its jump.
                free.append(np.column_stack((since / span, since > 0.0)))
        columns = np.hstack(free)
        early, apart = np.minimum(times[:, None], times), np.abs(times[:, None] - times)
        pushed, drift = early**3 / 3.0 + apart * early**2 / 2.0, DRIFT * shaken(times)
        since_steps = np.maximum(times[:, None] - 0.5 * (times[1:] + times[:-1]), 0.0)
        unseen = self._unseen[first : last - 1]
        positions, moved = self._positions[first:last], self._moved[first:last]
        speed = (positions[-1] - positions[0]) / span
        noise, late = self._noise.at(speed), self._time_std[first:last]
        values = positions - positions[0] - (moved - moved[0])
        turned = self._efforts[first:last] - self._efforts[first:last].mean(axis=0)
        whitened = []
        for joint in range(values.shape[1]):
            covariance = np.diag(noise[joint] ** 2 + (speed[joint] * late) ** 2) + pushes[joint] * pushed + drift
            covariance += COMPLIANCE**2 * np.outer(turned[:, joint], turned[:, joint])
            covariance += (since_steps * unseen[:, joint]) @ since_steps.T
            whitened.append(whiten(covariance, np.column_stack((columns, values[:, joint]))))
        return _Window(times + self._times[first], whitened)

    def _kinks(self, window: _Window, instants: Array) -> tuple[Array, float, tuple[Array, Array, Array]]:
        """What jumps (t, d) at instants and of durations add to the likelihood, and a step without a jump at best.

        And the jumps, their standard errors and the squares that are left of each joint, all (t, d, n).
        """
        since = np.maximum(window.times[:, None] - instants, 0.0)
        ramps = np.stack([ramp(since, duration) for duration in CONTACT_TIMES], axis=-1)
        samples, shape = len(since), (len(instants), len(CONTACT_TIMES))
        columns = np.hstack((ramps.reshape(samples, -1), 0.5 * since**2))
        prior = -np.array(CONTACT_TIMES) / CONTACT_TIME_SCALE
        kinks = np.zeros(shape) + prior - np.log(np.exp(prior).sum())
        steps = np.zeros(len(instants))
        squared, stepped = np.array(JUMPS)[:, None, None] ** 2, np.array(STEPS)[:, None] ** 2
        parts = []
        for joint in window.joints:
            white, rest = joint.whitened(columns), joint.left
            jumps, step = white[:, : -len(instants)].reshape(samples, *shape), white[:, -len(instants) :]
            products, norms = np.einsum("k,ktd->td", rest, jumps), np.einsum("ktd,ktd->td", jumps, jumps)
            known, size = rest @ step, np.einsum("kt,kt->t", step, step)
            both = np.einsum("kt,ktd->td", step, jumps)
            share = stepped / (1.0 + stepped * size)
            of_steps = 0.5 * (share * known**2 - np.log1p(stepped * size))
            gains = []
            for taken, alone in zip(share, of_steps, strict=True):
                data, weight = products - both * (taken * known)[:, None], norms - both**2 * taken[:, None]
                gain = 0.5 * (squared * data**2 / (1.0 + squared * weight) - np.log1p(squared * weight))
                gains.append(gain + alone[:, None])
            table = np.concatenate(gains)
            kinks += log_mean(table)
            steps += log_mean(of_steps)
            own = np.tile(np.array(JUMPS), len(STEPS))[table.argmax(axis=0)]
            variance = own**2 / (1.0 + norms * own**2)
            mean = products * variance
            parts.append((mean, np.sqrt(variance), joint.misfit - mean * products))
        mean, std, left = (np.stack(part, axis=-1) for part in zip(*parts, strict=True))
        return kinks, float(steps.max()), (mean, std, left)


def _unseen(times: Array, driven: Array) -> Array:
    """Variance (k - 1, n), (rad/s)^2, of the velocity gained between two samples of the accelerations (k, n)."""
    near = np.arange(2, len(times) - 2)[:, None] + np.array([-2, -1, 1, 2])
    path = np.einsum("kw,kwn->kn", lagrange_weights(times[near], times[2:-2]), driven[near])
    off = np.pad((driven[2:-2] - path) ** 2, ((2, 2), (0, 0)), mode="edge")
    return np.asarray(UNSEEN * 0.5 * (off[1:] + off[:-1]) * np.diff(times)[:, None] ** 2)


def held_up(robot: RobotModel, positions: Array, efforts: Array) -> tuple[float, float]:
    """How far torques (k, n), N m, are those that gravity needs: the cosine between both, and their ratio along it.

    Both are 1 for torques of the motors upon the links, in N m, and -1 for those of the links upon the motors, as
    some controllers report them. They are near 0 for torques without gravity, or of an arm on which it does not act.
    """
    model, data = robot.variant("M")
    needed = np.array([pin.computeGeneralizedGravity(model, data, q).copy() for q in positions])
    along, size = float((needed * efforts).sum()), float((needed**2).sum())
    length = float(np.sqrt(size * (efforts**2).sum()))
    return (along / length, along / size) if length > 0.0 else (0.0, 0.0)
