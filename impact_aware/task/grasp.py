"""What palms that hit an object do to it and to every joint: all contacts at once, unilateral and with friction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.shape import PlacedShape
from impact_aware.contact.shape_registry import shape_of
from impact_aware.impact.bodies import ArmState, BodyContact
from impact_aware.impact.palm import TABLE, moving_table, palm_contacts, palm_gaps, table_contacts
from impact_aware.impact.simultaneous import SimultaneousPrediction, predict_simultaneous
from impact_aware.reference.field import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.task.make_field import base_placement, joint_velocity_of_tool
from impact_aware.task.task import STANDARD_GRAVITY, ArmTask, Task

COMMON_WINDOW = 0.005
"""Impacts of the arms within this time are one impact of all, s: a compliant palm takes that long to come to rest."""


GRASP_WINDOW = 0.015
"""Arms that touch within this time grasp at once, s: what van Steen 2024 calls nominally simultaneous."""

IMPACT_TIME = 3.0
"""How long a palm's impact takes, in time constants of its pad: a twentieth of the speed is left then."""


def predict_grasp(
    task: Task,
    robots: Sequence[RobotModel],
    field: ReferenceField,
    q: Array,
    *,
    weighing: float = 0.0,
) -> Array:
    """Object velocity (3,) just after the intended impact of all palms at once, m/s.

    van Steen 2024, section III-B1: just before it every tool moves as the ante-impact field wants where it touches,
    flat on its face, without rotating and with its null-space joint at rest, and the object is at rest. An arm whose
    tool is not yet at the face, or beyond where it was expected, is taken as if it were there. An object that moves is
    where the field has it: see `ReferenceField.advanced`.

    Args:
        task: The task.
        robots: One model per arm.
        field: Its reference field.
        q: (n,) Joint positions of all arms, rad.
        weighing: How long the weight of an object that is lifted acts on it and the arms until its velocity is looked
            at, s; the weight is no part of the impact.
    """
    velocities, shifts, first = [], [], 0
    for index, (own, robot) in enumerate(zip(task.arms, robots, strict=True)):
        posture = q[first : first + robot.n]
        first += robot.n
        tool = base_placement(own).act(robot.placement(posture).translation)
        reference = field.arms[index]
        # Onto the face of the object, wherever along the normal that is now.
        shift = reference.normal * float(reference.normal @ (reference.impact_position - tool))
        approach = field.ante_impact(index).velocity(tool + shift) + field.object_velocity
        velocities.append(joint_velocity_of_tool(own, robot, posture, approach))
        shifts.append(shift)
    postures = np.split(q, np.cumsum([robot.n for robot in robots])[:-1])
    arms = placed_arms(task, robots, postures, velocities, shifts)
    place, hitting = field.object_position, range(len(robots))
    scene = grasp_scene(task, robots, field, arms, place, hitting, askew=False, weighing=weighing)
    prediction = predict_simultaneous(**scene, search=False)
    return np.asarray(prediction.velocity_after[task.object.name][:3])


def predict_grasp_impact(
    task: Task,
    robots: Sequence[RobotModel],
    field: ReferenceField,
    q: Sequence[Array],
    dq: Sequence[Array],
    *,
    hitting: Sequence[int] | None = None,
    times: Sequence[float] | None = None,
    inertia: str = "M+B_theta",
) -> SimultaneousPrediction:
    """Velocities just after tools of a task hit its object at once, from the states just before.

    Each palm touches at the corners of what its flat face shares with the object's, a spherical tip at one point, with
    the task's friction and restitution between tool and object. An object that is pushed stands on its table with the
    corners of its base; where the palms lift it, the table is left out. In the result arms go by their names in the
    task, the object by its own; vectors are in the task's frame.

    Args:
        task: The task.
        robots: One model per arm.
        field: Its reference field.
        q: Joint positions (n,) of each arm just before, rad.
        dq: Joint velocities (n,) of each arm just before, rad/s.
        hitting: Indices of the arms that hit now, from whose tools the object's position follows; all when None.
        times: When each of the arms touched, s; all at once when None.
        inertia: One of `INERTIA_CHOICES`, for every arm.

    Raises:
        InvalidInputError: A state that is not finite or of the wrong size.
    """
    hitting = range(len(robots)) if hitting is None else hitting
    arms = placed_arms(task, robots, q, dq)
    tools = np.array([own.impact_position for own in field.arms])
    for index in hitting:
        tools[index] = tool_of(arms[task.arms[index].name]).translation
    # An arm that does not hit now has no information on the object's position; average over those that do.
    position = field.object_position_from_tools(tools)
    position = field.object_position + (position - field.object_position) * (len(robots) / len(hitting))
    scene = grasp_scene(task, robots, field, arms, position, hitting, times=times)
    return predict_simultaneous(**scene, inertia=inertia, search=False)


def placed_arms(
    task: Task,
    robots: Sequence[RobotModel],
    q: Sequence[Array],
    dq: Sequence[Array],
    shifts: Sequence[Array] | None = None,
) -> dict[str, ArmState]:
    """The arms by name, each moved as a whole by its shift (3,), m, where there are any."""
    arms, shifts = {}, [np.zeros(3)] * len(robots) if shifts is None else shifts
    for own, robot, position, velocity, shift in zip(task.arms, robots, q, dq, shifts, strict=True):
        base = base_placement(own)
        arms[own.name] = ArmState(robot, position, velocity, base.rotation, base.translation + shift)
    return arms


def tool_of(arm: ArmState) -> pin.SE3:
    """Pose of an arm's tool frame, in the frame of the base's pose."""
    return pin.SE3(arm.rotation, arm.position).act(arm.robot.placement(arm.q))


def grasp_scene(
    task: Task,
    robots: Sequence[RobotModel],
    field: ReferenceField,
    arms: dict[str, ArmState],
    object_position: Array,
    hitting: Sequence[int],
    *,
    times: Sequence[float] | None = None,
    askew: bool = True,
    weighing: float = 0.0,
) -> dict[str, Any]:
    """What `predict_simultaneous` takes of arms (see `placed_arms`) whose tools meet an object at a position (3,), m.

    See `predict_grasp_impact` and `predict_grasp`; all corners meet the object at once where they are not `askew`.
    """
    contacts: list[BodyContact] = []
    gaps: list[Array] = []
    body = PlacedShape(shape_of(field), object_position, field.object_rotation)
    touched = np.zeros(len(task.arms)) if times is None else np.asarray(times, dtype=float)
    touched = touched - touched[list(hitting)].min()
    time_constant = pad_time(task, hitting) if askew else 0.0
    for index in hitting:
        own, tool = task.arms[index], tool_of(arms[task.arms[index].name])
        found = tool_contacts(task, own, robots[index], tool, field.arms[index].normal, body)
        contacts += found
        if time_constant > 0.0:
            approach = max(0.0, -float(found[0].normal @ _tool_velocity(arms[own.name])))
            gaps.append(palm_gaps(found, tool, own.pad_half_sizes) + approach * touched[index])
    velocity = field.object_velocity - np.array([0.0, 0.0, STANDARD_GRAVITY * weighing if task.lifts else 0.0])
    objects = {task.object.name: body.free_object(field.object_mass, np.concatenate((velocity, np.zeros(3))))}
    if not task.lifts:
        carrier = TABLE if field.object_moves else None
        contacts += table_contacts(task.object.name, body, task.object.friction_table, table=carrier)
        if carrier:
            objects[TABLE] = moving_table(field.object_velocity)
    scene: dict[str, Any] = {"contacts": contacts, "arms": arms, "objects": objects}
    if gaps:
        closed = np.zeros(len(contacts) - sum(len(own) for own in gaps))
        scene |= {"gaps": np.concatenate([*gaps, closed]), "time_constant": time_constant}
    return scene


def pad_time(task: Task, hitting: Sequence[int]) -> float:
    """Time constant of the softest pad that hits, s; 0 where all corners are assumed to meet the object at once."""
    palms = [task.arms[index] for index in hitting]
    times = [own.pad_time_constant if any(own.pad_half_sizes) else 0.0 for own in palms]
    return max(times) if min(times) > 0.0 and task.object.restitution == 0.0 else 0.0


def _tool_velocity(arm: ArmState) -> Array:
    """Velocity (3,) of the tool frame, in the frame of the base's pose, m/s."""
    return np.asarray(arm.rotation @ (arm.robot.frame_jacobian(arm.q)[:3] @ arm.dq))


def tool_contacts(
    task: Task, own: ArmTask, robot: RobotModel, tool: pin.SE3, normal: Array, body: PlacedShape
) -> list[BodyContact]:
    """Where one tool touches: the corners of what a palm shares with the object's face, or the tip of a sphere."""
    palm = any(own.pad_half_sizes)
    normal = normal if palm else body.normal_at_ball(tool.translation, normal)
    tip = BodyContact(
        body=own.name,
        normal=normal,
        point=tool.translation - robot.tool_radius * normal,
        other=task.object.name,
        friction=task.object.friction_tool,
        restitution=task.object.restitution,
    )
    return palm_contacts(tip, tool, own.pad_half_sizes, body) if palm else [tip]
