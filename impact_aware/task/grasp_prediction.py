"""Velocity of an object just after several palms hit it at once and stay (van Steen 2024, section III-B1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.reference.field import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.task.make_field import base_placement
from impact_aware.task.task import Task


def predict_grasp(task: Task, robots: Sequence[RobotModel], field: ReferenceField, q: Array) -> Array:
    """Object velocity (3,) just after a simultaneous impact without slip and rebound, m/s.

    Flat palms that neither slide nor tilt on the object move with it afterwards: with the twist constraint A v+ = 0
    over all joints and the object, v+ = v- - M^-1 A' (A M^-1 A')^-1 A v-. Before the impact every tool moves as the
    ante-impact field wants at its place, without turning, and the object is at rest, as the paper's simulations
    assume. So the prediction is that of the intended impact, whichever arm comes first.

    Args:
        task: The task.
        robots: One model per arm.
        field: Its reference field.
        q: (n,) Joint positions of all arms, rad.
    """
    half, mass = field.object_half_extents, field.object_mass
    inertia = mass / 3.0 * (half @ half - half**2)
    count = 6 * len(robots)
    object_rows = np.zeros((count, 6))
    delassus = np.zeros((count, count))
    approach = np.zeros(count)
    first = 0
    for index, (arm, robot) in enumerate(zip(task.arms, robots, strict=True)):
        rows = slice(6 * index, 6 * index + 6)
        base = base_placement(arm)
        own = q[first : first + robot.n]
        first += robot.n
        jacobian = np.kron(np.eye(2), base.rotation) @ robot.frame_jacobian(own)
        place = base.act(robot.placement(own).translation)
        delassus[rows, rows] = jacobian @ np.linalg.solve(robot.mass_matrix(own), jacobian.T)
        # The tool meets the face of the object, wherever along the normal that is now.
        reference = field.arms[index]
        touching = place + reference.normal * float(reference.normal @ (reference.impact_position - place))
        object_rows[rows] = np.eye(6)
        object_rows[rows][:3, 3:] = -pin.skew(touching - field.object_position)
        approach[rows][:3] = field.ante_impact(index).velocity(touching)
    object_inverse = np.diag(np.concatenate([np.full(3, 1.0 / mass), 1.0 / inertia]))
    # Two palms on one rigid body are redundant by none here, but a singular posture makes the matrix so: least norm.
    total = delassus + object_rows @ object_inverse @ object_rows.T
    impulse = np.linalg.lstsq(total, approach, rcond=1e-10)[0]
    return np.asarray((object_inverse @ object_rows.T @ impulse)[:3])
