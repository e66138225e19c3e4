"""What several palms that hit an object at once do to it and to every joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.box import homogeneous_box
from impact_aware.impact.simultaneous import (
    ArmState,
    BodyContact,
    SimultaneousPrediction,
    contact_patch,
    predict_simultaneous,
)
from impact_aware.reference.field import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.task.make_field import base_placement
from impact_aware.task.task import ArmTask, Task


def predict_grasp(task: Task, robots: Sequence[RobotModel], field: ReferenceField, q: Array) -> Array:
    """Object velocity (3,) just after the intended impact of all palms, without slip and rebound, m/s.

    van Steen 2024, section III-B1. Flat palms that neither slide nor tilt move with the object afterwards: with the
    twist constraint A v+ = 0 over all joints and the object, v+ = v- - M^-1 A' (A M^-1 A')^-1 A v-. Before the impact
    every tool moves as the ante-impact field wants where it touches, without rotating, and the object is at rest.

    `q` (n,) are the joint positions of all arms, rad, each with its model in `robots`.
    """
    count = 6 * len(robots)
    object_rows, delassus, approach = np.zeros((count, 6)), np.zeros((count, count)), np.zeros(count)
    first = 0
    for index, (arm, robot) in enumerate(zip(task.arms, robots, strict=True)):
        rows = slice(6 * index, 6 * index + 6)
        base = base_placement(arm)
        own = q[first : first + robot.n]
        first += robot.n
        jacobian = np.kron(np.eye(2), base.rotation) @ robot.frame_jacobian(own)
        position = base.act(robot.placement(own).translation)
        delassus[rows, rows] = jacobian @ np.linalg.solve(robot.mass_matrix(own), jacobian.T)
        # The tool meets the face of the object, wherever along the normal that is now.
        reference = field.arms[index]
        touching = position + reference.normal * float(reference.normal @ (reference.impact_position - position))
        object_rows[rows] = np.eye(6)
        object_rows[rows][:3, 3:] = -pin.skew(touching - field.object_position)
        approach[rows][:3] = field.ante_impact(index).velocity(touching)
    body = homogeneous_box(field.object_mass, field.object_half_extents, field.object_position)
    # A singular posture makes the sum singular too: least norm.
    total = delassus + object_rows @ body.inverse_inertia @ object_rows.T
    impulse = np.linalg.lstsq(total, approach, rcond=1e-10)[0]
    return np.asarray((body.inverse_inertia @ object_rows.T @ impulse)[:3])


def predict_grasp_impact(
    task: Task, robots: Sequence[RobotModel], field: ReferenceField, q: Sequence[Array], dq: Sequence[Array]
) -> SimultaneousPrediction:
    """Velocities just after all tools of a task hit its object at once, from the states just before.

    Each palm touches at the corners of its flat face, a spherical tip at one point, with the task's friction and
    restitution between tool and object. What the object stands on is left out: the palms lift it. In the result arms
    go by their names in the task, the object by its own; vectors are in the task's frame.

    `q` and `dq` hold joint positions and velocities (n,) of each arm just before, rad and rad/s.

    Raises:
        InvalidInputError: A state that is not finite or of the wrong size.
    """
    arms: dict[str, ArmState] = {}
    contacts: list[BodyContact] = []
    tools = []
    for index, (own, robot) in enumerate(zip(task.arms, robots, strict=True)):
        base = base_placement(own)
        arms[own.name] = ArmState(robot, q[index], dq[index], base.rotation, base.translation)
        tool = base.act(robot.placement(arms[own.name].q))
        tools.append(tool.translation)
        contacts += _contacts(task, own, robot, tool, field.arms[index].normal)
    position = field.object_position_from_tools(np.array(tools))
    body = homogeneous_box(field.object_mass, field.object_half_extents, position)
    return predict_simultaneous(contacts, arms=arms, objects={task.object.name: body})


def _contacts(task: Task, own: ArmTask, robot: RobotModel, tool: pin.SE3, normal: Array) -> list[BodyContact]:
    """Where one tool touches: the corners of the palm's face that looks at the object, or the tip of a sphere."""
    half = np.array(own.pad_half_sizes)
    facing = int(np.argmax(np.abs(tool.rotation.T @ normal)))
    thickness = half[facing] if half.any() else robot.tool_radius
    centre = BodyContact(
        body=own.name,
        normal=normal,
        point=tool.translation - thickness * normal,
        other=task.object.name,
        friction=task.object.friction_tool,
        restitution=task.object.restitution,
    )
    if not half.any():
        return [centre]
    along, across = (axis for axis in range(3) if axis != facing)
    return contact_patch(centre, tool.rotation[:, along], half[along], half[across])
