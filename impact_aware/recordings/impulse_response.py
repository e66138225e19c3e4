"""Which jumps of the joint velocities an impulse at the tool can make."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from impact_aware.arrays import Array
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.surface import unit
from impact_aware.robot import RobotModel

UNKNOWN_POINT = 0.03
"""How far from where it is taken to be a contact may act, m."""

LEAST_FRICTION = 0.3
"""Share of a normal impulse that may act along the surface, at least."""


def impulse_response(robot: RobotModel | None, options: AnalysisOptions) -> Callable[[Array], Array | None]:
    """A function from a posture (n,) to the jumps (n, m) that impulses at the contact make, or None without a robot.

    Just after an impact with elastic joints only the links have moved: M^-1 J^T (Rey Arias 2024, (9), without B_theta).
    Without a known normal, impulses in all directions count.
    """

    def respond(posture: Array) -> Array | None:
        if robot is None:
            return None
        frame = options.contact_frame or robot.tool_frame
        jacobian = robot.frame_jacobian(posture, frame)
        arm = robot.placement(posture, frame).rotation @ np.array(options.offset)
        linear = jacobian[:3] + np.cross(jacobian[3:], arm, axis=0)
        impulses = np.eye(3)
        if options.normal is not None:
            normal = unit(np.array(options.normal))
            share = max(LEAST_FRICTION, options.friction or 0.0)
            impulses = share * impulses + (1.0 - share) * np.outer(normal, normal)
        forces = np.hstack((linear.T @ impulses, UNKNOWN_POINT * jacobian[3:].T))
        return np.asarray(np.linalg.solve(robot.mass_matrix(posture, "M"), forces))

    return respond
