"""Evidence of the arm's momentum for a jump: its components, less the motion that measured torques explain.

The spring of an elastic joint changes the momentum of that joint alone, a contact that of all joints along J^T f.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.branch_model import Branches, BranchModel
from impact_aware.estimation.explained_motion import explain_motion, momentum_mixing
from impact_aware.estimation.sample_noise import Noise, noise_of, without_spikes
from impact_aware.estimation.unexplained_jump import UnexplainedJumps, held_up
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.robot import RobotModel

GRAVITY_SAMPLES, LEAST_COSINE, LARGEST_RATIO = 50, 0.7, 2.0
"""Gravity consistency of the measured torques: samples compared, least cosine with the gravity torques, and largest
ratio of both; inconsistent torques have another sign or unit, and are ignored."""

FEWEST = 12
"""Samples with torques that an estimate of their noise needs."""


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

    def explaining(self, samples: ArmSamples) -> Array | None:
        """Torques (k, n), N m, where they were measured at all of these samples."""
        efforts = samples.efforts if self.has_torques else None
        return efforts if efforts is not None and np.isfinite(efforts).all() else None

    def know(self, samples: ArmSamples) -> ArmSamples:
        """Find the noise of the torques in samples; the same without single torques that are wrong."""
        efforts = np.full_like(samples.positions, np.nan) if samples.efforts is None else samples.efforts.copy()
        known = np.isfinite(efforts).all(axis=1)
        # Drivers without torque sensors report zeros.
        if np.count_nonzero(known) < FEWEST or not np.ptp(efforts[known], axis=0).any():
            self._noise = None
            return samples
        self._noise = noise_of(samples.times[known], efforts[known]).encoder
        efforts[known] = without_spikes(samples.times[known], efforts[known], self._noise)
        return replace(samples, efforts=efforts)

    def unexplained(self, samples: ArmSamples, noise: Noise) -> UnexplainedJumps | None:
        """Detector of jumps that torques do not explain; None without torques consistent with gravity."""
        efforts = self.explaining(samples)
        if efforts is None:
            return None
        some = slice(None, None, max(1, len(samples.times) // GRAVITY_SAMPLES))
        cosine, ratio = held_up(self._robot, samples.positions[some], efforts[some])
        if cosine < LEAST_COSINE or not 1.0 / LARGEST_RATIO < ratio < LARGEST_RATIO:
            return None
        jumps = UnexplainedJumps(self._robot, samples.times, samples.positions, efforts, noise, samples.time_std)
        return jumps if jumps.known else None

    def judge(
        self,
        samples: ArmSamples,
        noise: Array,
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
            search: Begin and end of the search for the instant, and its first estimate, s.
            earlier: As in `BranchModel`.
            scales: As in `BranchModel`.
        """
        times, mixing = samples.times, momentum_mixing(self._robot, samples.positions)
        spread = np.sqrt(mixing**2 @ noise**2)
        whole = (samples.positions - samples.positions[0]) @ mixing.T
        efforts = self.explaining(samples)
        if self._noise is None or efforts is None:
            model = BranchModel(times, whole, spread, None, earlier, scales)
        else:
            left, driven = explain_motion(self._robot, times, samples.positions, efforts, self._noise)
            bare = BranchModel(times, whole, spread, None, earlier, scales)
            freed = BranchModel(times, left, spread, driven, earlier, scales)
            # Torques whose noise exceeds the oscillation of a link are left out.
            helps = freed.likeliest(search[2]) > bare.likeliest(search[2])
            values, pushes = np.where(helps, left, whole), np.where(helps, driven, 0.0)
            model = BranchModel(times, values, spread, pushes, earlier, scales)
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
