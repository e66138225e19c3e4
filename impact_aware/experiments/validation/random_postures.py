"""Random postures: the tool anywhere in a region, pointing in a given direction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics

Region = Sequence[tuple[float, float]]


def random_postures(
    robot: RobotModel, generator: np.random.Generator, count: int, pointing: ArrayLike, region: Region
) -> list[Array]:
    """Draw postures (n,) within the joint limits, rad, every place of the tool with a redundant joint as it comes.

    Joints without an end are drawn from one turn.

    Args:
        robot: The arm.
        generator: What draws.
        count: How many.
        pointing: (3,) Where the tool's z axis points, base frame; the angle about it is drawn.
        region: Least and largest x, y and z of the tool, base frame, m. Places out of reach are drawn again.
    """
    axis = np.asarray(pointing, dtype=float)
    turned = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), axis).toRotationMatrix()
    lower, upper = np.array(region, dtype=float).T
    low, high = robot.limits.position_lower, robot.limits.position_upper
    low, high = np.where(np.isfinite(low), low, -np.pi), np.where(np.isfinite(high), high, np.pi)
    postures: list[Array] = []
    while len(postures) < count:
        rotation = turned @ pin.utils.rotate("z", generator.uniform(-np.pi, np.pi))
        place = pin.SE3(rotation, generator.uniform(lower, upper))
        seed = generator.uniform(low, high)
        try:
            postures.append(solve_inverse_kinematics(robot, place, seed, restarts=0))
        except InvalidInputError:
            continue
    return postures
