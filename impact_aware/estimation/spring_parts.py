"""What contacts, motors and springs do to the positions of an arm with elastic joints, part by part.

All positions are stacked joint by joint: (n k,) for n joints and k samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.joint_springs import JointSprings
from impact_aware.estimation.motion_parts import ramp

SWINGS, STIFF_SWINGS = 0.3, 0.01
"""Velocity of each mode that swings from before, elastic or stiff, rad/s."""

DAMPING_RATIOS = (0.01, 0.03, 0.1)
"""Those that it may have: nothing pushes it anew, so that it can't bend where a contact does."""

SPREAD = np.linspace(-0.02, 0.02, 5)
"""How far a mode's frequency may be from that of its stiffness, shares."""

PRESSES, ELSEWHERE = 6.0, 0.02
"""Acceleration by a contact that goes on to press, rad/s^2, and jump that no impulse at the tool explains, per rad/s of
its jump, of 1 rad/s at most."""

KNOWN, SHIFTED = 3.0, 3e-3
"""Jump of a contact that is known, rad/s, and what its time and length may shift positions by, rad."""


@dataclass(frozen=True, eq=False)
class SpringParts:
    """The parts of one stretch of samples.

    Attributes:
        times: (k,) Of the samples, from the first one on, s.
        springs: Of the joints.
        pushes: (n, m) Jumps of the links' velocity that impulses at the contact make, the largest of a joint being 1.
    """

    times: Array
    springs: JointSprings
    pushes: Array

    def swings(self) -> Array:
        """Covariance of the modes that swing from before."""
        times, springs = self.times, self.springs
        samples, joints = len(times), len(springs.turns)
        modes = np.empty((joints, samples, samples))
        stiff = springs.stiff
        turns = springs.turns[~stiff, None, None, None]
        # What dies away by itself is of few dimensions: cos and sin of each frequency and damping.
        tones, since = turns * (1.0 + SPREAD), (times - 0.5 * times[-1])[:, None, None]
        dying = np.exp(-np.array(DAMPING_RATIOS)[:, None] * turns * since) / (tones * np.sqrt(len(DAMPING_RATIOS)))
        swing = np.concatenate((dying * np.cos(tones * since), dying * np.sin(tones * since)), axis=-1)
        swing = swing.reshape(len(turns), samples, 2 * len(SPREAD) * len(DAMPING_RATIOS)) * (
            SWINGS / np.sqrt(len(SPREAD))
        )
        modes[~stiff] = swing @ np.swapaxes(swing, 1, 2)
        # What shakes stiff joints goes on to do so.
        apart, turns = (times[:, None] - times)[..., None], springs.turns[stiff, None, None, None]
        tones = turns * (1.0 + SPREAD)
        lasting = np.exp(-springs.damping[stiff, None, None] * np.abs(apart[..., 0]) * turns[..., 0])
        modes[stiff] = STIFF_SWINGS**2 * lasting * (np.cos(apart * tones) / tones**2).mean(axis=-1)
        pairs = (springs.shapes[:, None] * springs.shapes).reshape(-1, joints)
        total = (pairs @ modes.reshape(joints, -1)).reshape(joints, joints, samples, samples)
        return np.asarray(np.swapaxes(total, 1, 2).reshape(joints * samples, -1))

    def of_known(self, since: Array) -> Array:
        """Parts (n k, p) of a contact that is known, for times (k,) since it, s, each of size one."""
        shift = (self.pushes[:, None, :] * (since > 0.0)[None, :, None]).reshape(-1, self.pushes.shape[1])
        moved = (KNOWN * self.kick(since, 0.0), PRESSES * self.press(since), ELSEWHERE * self.elsewhere(since))
        return np.hstack((*moved, SHIFTED * shift))

    def elsewhere(self, since: Array) -> Array:
        """Jumps (n k, n) of each joint's rigid motion by itself, per 1 rad/s."""
        return np.asarray(np.kron(np.eye(len(self.springs.turns)), np.maximum(since, 0.0)[:, None]), dtype=float)

    def kick(self, since: Array, duration: float) -> Array:
        """What impulses do to the positions (n k, m), for times (k,) since the contact, s."""
        course, springs = ramp(np.maximum(since, 0.0), duration), self.springs
        phase = course[:, None] * springs.turns
        swing = np.exp(-springs.damping * phase) * np.sin(phase) / springs.turns
        return self._moved(springs.rigid @ self.pushes, course, springs.kicks @ self.pushes, swing)

    def press(self, since: Array) -> Array:
        """What forces do that set in and stay, per 1 rad/s^2 of the links."""
        springs = self.springs
        return self._moved(
            springs.rigid @ self.pushes,
            0.5 * np.maximum(since, 0.0) ** 2,
            springs.kicks @ self.pushes,
            self._bend(since),
        )

    def drive(self, since: Array) -> Array:
        """What motors do whose torque steps, per 1 rad/s^2 of the arm without oscillation."""
        since = np.maximum(since, 0.0)
        return self._moved(np.eye(len(self.springs.turns)), 0.5 * since**2, self.springs.drives, self._bend(since))

    def _bend(self, since: Array) -> Array:
        """Modes (k, n) that a constant push of 1 rad/s^2 sets off from rest."""
        springs = self.springs
        phase = np.maximum(since, 0.0)[:, None] * springs.turns
        return (1.0 - np.exp(-springs.damping * phase) * np.cos(phase)) / springs.turns**2

    def _moved(self, rigid: Array, course: Array, modes: Array, swing: Array) -> Array:
        table = rigid[:, None, :] * course[None, :, None] - (self.springs.shapes[:, None] * swing) @ modes
        return table.reshape(-1, rigid.shape[1])
