"""How stiff an arm's elastic joints are, from how they ring after contacts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.joint_springs import joint_springs
from impact_aware.estimation.motion_parts import RINGING, STIFF
from impact_aware.estimation.sample_noise import Noise
from impact_aware.estimation.spring_model import SpringModel
from impact_aware.robot import RobotModel

FREQUENCIES = (*np.geomspace(*RINGING, 11).tolist(), STIFF[1])
"""Candidates for that of each joint alone, Hz: the last one is of a joint that does not ring."""

CHANGES = ((RINGING[1] / RINGING[0]) ** 0.1, 1.07, 1.03)
"""Ratios by which the best of them are changed afterwards, joint by joint: the first one is that of two of them."""

JERK = (1e3,)
"""Spectral density of the jerk of the motion meanwhile, rad^2/s^5."""


def spring_stiffness(robot: RobotModel, stretches: Sequence[tuple[Array, Array]], noise: Noise) -> Array:
    """The stiffnesses (n,) that make the samples most likely, N m/rad; a joint that is not seen to ring is stiff.

    Args:
        robot: The arm, with its motors' inertia.
        stretches: Stamps (k,) and positions (k, n) of motions in which joints may ring and nothing happens.
        noise: Of the positions.
    """
    postures = [positions[len(positions) // 2] for _, positions in stretches]
    inverse = np.diag(np.linalg.inv(robot.mass_matrix(postures[0], "M"))) + 1.0 / robot.apparent_motor_inertia
    known: dict[tuple[float, ...], float] = {}

    def stiffness(frequencies: tuple[float, ...]) -> Array:
        return np.asarray((2.0 * np.pi * np.array(frequencies)) ** 2 / inverse)

    def likelihood(frequencies: tuple[float, ...]) -> float:
        if frequencies not in known:
            stiff = stiffness(frequencies)
            known[frequencies] = sum(
                SpringModel(*stretch, noise, joint_springs(robot, posture, stiff), jerks=JERK).smooth
                for stretch, posture in zip(stretches, postures, strict=True)
            )
        return known[frequencies]

    best = max(((each,) * robot.n for each in FREQUENCIES), key=likelihood)
    for step in (None, *CHANGES):
        for joint in range(robot.n):
            tried = FREQUENCIES if step is None else (best[joint], best[joint] / step, best[joint] * step)
            best = max((best[:joint] + (each,) + best[joint + 1 :] for each in tried), key=likelihood)
    return stiffness(best)
