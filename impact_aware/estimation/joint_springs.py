"""Elastic joints of an arm as modes: how its links swing against its motors, and what pushes make of that.

Links q and motors s (link side) that springs K connect obey, about one posture and without what is slow (Spong 1987),

    M q'' = K (s - q) + J^T f,    B s'' = K (q - s) + u.

The velocity of the arm without oscillation, r' = (M + B)^-1 (M q' + B s'), knows no springs, and the deflections
d = s - q = V e swing by themselves, each mode e_m at one frequency w_m: (M^-1 + B^-1) K V = V w^2. So q = r - G e with
G = (M + B)^-1 B V: positions of links are a smooth motion less oscillations of known frequencies and shapes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from impact_aware.arrays import Array
from impact_aware.estimation.motion_parts import DAMPING_RATIO, STIFF, STIFF_DAMPING
from impact_aware.robot import RobotModel


@dataclass(frozen=True, eq=False)
class JointSprings:
    """Modes of n elastic joints at a posture.

    Attributes:
        turns: (n,) Angular frequencies, rad/s.
        shapes: (n, n) Motion of the links in each mode, one per column; its largest is 1.
        kicks: (n, n) From a jump of the links' velocities to those of the modes.
        rigid: (n, n) From a jump of the links' velocities to that of the arm without oscillation.
        drives: (n, n) From an acceleration that motors drive the arm without oscillation with to that of the modes.
    """

    turns: Array
    shapes: Array
    kicks: Array
    rigid: Array
    drives: Array

    @property
    def stiff(self) -> NDArray[np.bool_]:
        """(n,) Which modes are too fast to ring for long."""
        return np.asarray(self.turns > 2.0 * np.pi * STIFF[0])

    @property
    def damping(self) -> Array:
        """(n,) Damping ratios."""
        return np.where(self.stiff, STIFF_DAMPING, DAMPING_RATIO)


def joint_springs(robot: RobotModel, posture: Array, stiffness: Array) -> JointSprings:
    """The modes of an arm at a posture (n,), rad, for stiffnesses (n,) of its joints, N m/rad."""
    links, motors = robot.mass_matrix(posture, "M"), np.diag(robot.apparent_motor_inertia)
    # Both sides are symmetric in the torques K d of the springs: K^-1 is their inertia, M^-1 + B^-1 their stiffness.
    squares, torques = eigh(np.linalg.inv(links) + np.diag(1.0 / np.diag(motors)), np.diag(1.0 / stiffness))
    deflections = torques / stiffness[:, None]
    whole = links + motors
    shapes = np.linalg.solve(whole, motors @ deflections)
    scale = np.abs(shapes).max(axis=0)
    shapes, deflections = shapes / scale, deflections / scale
    back = np.linalg.inv(deflections)
    return JointSprings(
        turns=np.sqrt(squares),
        shapes=shapes,
        kicks=-back,
        rigid=np.asarray(np.linalg.solve(whole, links), dtype=float),
        drives=back @ np.linalg.solve(motors, whole),
    )
