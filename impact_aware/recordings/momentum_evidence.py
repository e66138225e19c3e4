"""Evidence of the arm's momentum for a jump: its components, less the motion that measured torques explain.

The spring of an elastic joint changes the momentum of that joint alone, a contact that of all joints along J^T f.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.estimation.branch_model import Branches, BranchModel
from impact_aware.estimation.explained_motion import explain_motion, momentum_mixing
from impact_aware.estimation.sample_noise import Noise, noise_of, without_spikes
from impact_aware.estimation.unexplained_jump import UnexplainedJumps, held_up
from impact_aware.robot import RobotModel

GRAVITY_SAMPLES, LEAST_COSINE, LARGEST_RATIO = 50, 0.7, 2.0
"""Gravity consistency of the measured torques: samples compared, least cosine with the gravity torques, and largest
ratio of both; inconsistent torques have another sign or unit, and are ignored."""

FEWEST = 12
"""Samples with torques that an estimate of their noise needs."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of an arm.

    Attributes:
        times: (k,) Stamps, s.
        positions: (k, n) rad.
        efforts: (k, n) Measured torques, N m; NaN where there are none.
        time_std: (k,) Standard errors of the stamps beyond a common one, s.
    """

    times: Array
    positions: Array
    efforts: Array
    time_std: Array

    def rows(self, chosen: slice | NDArray[np.bool_]) -> Samples:
        """Return a slice of the samples, or those of a mask."""
        return Samples(self.times[chosen], self.positions[chosen], self.efforts[chosen], self.time_std[chosen])

    def followed_by(self, other: Samples) -> Samples:
        """Return these samples and then others."""
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return Samples(*map(np.concatenate, pairs))


class MomentumEvidence:
    """Looks at the positions of one arm as components of its momentum, with measured torques where there are any."""

    def __init__(self, robot: RobotModel) -> None:
        """Keep the arm; only the inertia of its links is used."""
        self._robot = robot
        self._noise: Array | None = None

    @property
    def has_torques(self) -> bool:
        """Whether torques were measured."""
        return self._noise is not None

    def explains(self, samples: Samples) -> bool:
        """Whether torques were measured at all of these samples."""
        return self.has_torques and bool(np.isfinite(samples.efforts).all())

    def know(self, samples: Samples) -> Samples:
        """Find the noise of the torques in samples; the same without single torques that are wrong."""
        known = np.isfinite(samples.efforts).all(axis=1)
        # Drivers without torque sensors report zeros.
        if np.count_nonzero(known) < FEWEST or not np.ptp(samples.efforts[known], axis=0).any():
            self._noise = None
            return samples
        times, efforts = samples.times[known], samples.efforts[known]
        self._noise = noise_of(times, efforts).encoder
        mended = samples.efforts.copy()
        mended[known] = without_spikes(times, efforts, self._noise)
        return replace(samples, efforts=mended)

    def unexplained(self, samples: Samples, noise: Noise) -> UnexplainedJumps | None:
        """Detector of jumps that torques do not explain; None without torques consistent with gravity."""
        if not self.explains(samples):
            return None
        some = slice(None, None, max(1, len(samples.times) // GRAVITY_SAMPLES))
        cosine, ratio = held_up(self._robot, samples.positions[some], samples.efforts[some])
        if cosine < LEAST_COSINE or not 1.0 / LARGEST_RATIO < ratio < LARGEST_RATIO:
            return None
        jumps = UnexplainedJumps(
            self._robot, samples.times, samples.positions, samples.efforts, noise, samples.time_std
        )
        return jumps if jumps.known else None

    def judge(
        self,
        samples: Samples,
        noise: Array,
        response: Array | None,
        band: tuple[float, float],
        search: tuple[float, float, float],
        earlier: Sequence[float] = (),
        scales: Array | None = None,
    ) -> tuple[Branches, BranchModel]:
        """Evidence of the samples as components of the momentum, converted to joints, and its model.

        Its likelihoods are comparable with those of the positions alone: densities are taken per standard deviation of
        the noise, which is propagated from joints to components.

        Args:
            samples: k samples of n joints, around an instant.
            noise: (n,) Standard deviation of the positions, rad.
            response: (n, m) As `impulse_response` of `BranchModel`.
            band: As in `BranchModel`.
            search: Begin and end of the search for the instant, and its first estimate, s.
            earlier: As in `BranchModel`.
            scales: As in `BranchModel`.
        """
        times, mixing = samples.times, momentum_mixing(self._robot, samples.positions)
        spread = np.sqrt(mixing**2 @ noise**2)
        whole = (samples.positions - samples.positions[0]) @ mixing.T
        known = None if response is None else mixing @ response
        if self._noise is None or not self.explains(samples):
            model = BranchModel(times, whole, spread, known, None, band, earlier, scales)
        else:
            motion = explain_motion(self._robot, times, samples.positions, samples.efforts, self._noise)
            bare = BranchModel(times, whole, spread, None, None, band, earlier, scales)
            freed = BranchModel(times, motion.values, spread, None, motion.pushes, band, earlier, scales)
            # Torques whose noise exceeds the oscillation of a link are left out.
            helps = freed.likeliest(search[2]) > bare.likeliest(search[2])
            values, pushes = np.where(helps, motion.values, whole), np.where(helps, motion.pushes, 0.0)
            model = BranchModel(times, values, spread, known, pushes, band, earlier, scales)
        samples_left, unknown = model.powers.shape
        more = (samples_left - unknown) * float(np.log(spread / noise).sum())
        return _of_joints(model.judge(*search), mixing, more), model


def _of_joints(branches: Branches, mixing: Array, more: float) -> Branches:
    """Convert evidence on components to the joints' velocity jumps; `more` is added to the log-likelihoods."""
    back = np.linalg.inv(mixing)
    names = ("smooth", "plain", "step", "kink", "carried", "spoilt")
    likelihoods = {name: getattr(branches, name) + more for name in names}
    return replace(
        branches,
        jump=back @ branches.jump,
        jump_std=np.sqrt(back**2 @ branches.jump_std**2),
        **likelihoods,
    )
