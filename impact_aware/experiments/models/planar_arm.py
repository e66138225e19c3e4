"""Planar RRR arm: three parallel joints of a larger arm, its other joints locked (Rey Arias 2024, section III)."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

# Axes whose cross product is longer than this are not parallel.
_PARALLEL = 1e-6


def planar_arm(robot: RobotModel, joints: tuple[int, int, int] = (1, 3, 5)) -> RobotModel:
    """The arm that moves only `joints`, the others locked at zero; their links are lumped with their neighbours.

    For the Panda, joints 2, 4 and 6 turn about parallel axes when joints 1, 3 and 5 are at zero, and the lumping is
    that of Rey Arias 2024: links 2-3, 4-5 and 6-7 with everything that the hand carries.

    Args:
        robot: The larger arm, its motor inertias included.
        joints: Indices of the joints that stay, in order.

    Raises:
        InvalidInputError: Joint axes that are not parallel, so that the arm would not be planar.
    """
    locked = [index + 1 for index in range(robot.n) if index not in joints]
    reference = np.zeros(robot.n)
    reference[list(joints)] = robot.home[list(joints)]
    model = pin.buildReducedModel(robot.model, locked, reference)
    arm = RobotModel(
        model,
        name=f"{robot.name}_planar",
        tool_frame=robot.tool_frame,
        tool_radius=robot.tool_radius,
        apparent_motor_inertia=robot.apparent_motor_inertia[list(joints)],
        motor_inertia=None if robot.motor_inertia is None else robot.motor_inertia[list(joints)],
        effort_rate=robot.limits.effort_rate[list(joints)],
        home=robot.home[list(joints)],
        base_frame=robot.base_frame,
    )
    axes = arm.frame_jacobian(arm.home)[3:].T
    for axis in axes[1:]:
        if np.linalg.norm(np.cross(axes[0], axis)) > _PARALLEL:
            raise InvalidInputError(
                "joints", list(joints), "three joints with parallel axes when the others are at zero"
            )
    return arm
