"""The scene that a task takes place in, with the object as it truly is."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.shape import shortest_turn
from impact_aware.errors import InvalidInputError
from impact_aware.simulation.mujoco_model import ToolTip
from impact_aware.simulation.scene import COMPLIANT_PAD, TABLE_CONTACT, ArmMount, ContactSettings, Scene, SceneObject
from impact_aware.task import Task
from impact_aware.task.task_object import as_vector

UPRIGHT = 1.0 - 1e-12
"""Cosine from which on an object stands on a horizontal table."""


@dataclass(frozen=True)
class Truth:
    """Differences of the world from the task, unknown to detection, prediction and control.

    Attributes:
        displacement: (3,) Of the object from its estimated position, m.
        yaw: Of the object from its estimated orientation, about the vertical, rad.
        mass_factor: True over assumed object mass.
        friction_table_factor: True over assumed friction between object and table.
        friction_tool_factor: True over assumed friction between object and tool.
        tool_softness: Time constant of the contact between tool and object, s; None for 1 ms of a spherical tip and
            4 ms of a silicone palm.
        object_velocity: (3,) Of the object, which a belt carries until a tool meets it, m/s.
        table_displacement: Of the table upwards from where the estimated object would stand on it, m.
    """

    displacement: tuple[float, float, float] = (0.0, 0.0, 0.0)
    yaw: float = 0.0
    mass_factor: float = 1.0
    friction_table_factor: float = 1.0
    friction_tool_factor: float = 1.0
    tool_softness: float | None = None
    table_displacement: float = 0.0
    object_velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)


def task_scene(task: Task, truth: Truth | None = None) -> Scene:
    """The scene that a task takes place in, with the object as it truly is."""
    truth = truth or Truth()
    body = task.object
    if len(task.arms) > 1 and len({arm.name for arm in task.arms}) < len(task.arms):
        raise InvalidInputError("arms", [arm.name for arm in task.arms], "names that differ")
    turned = pin.utils.rotate("z", truth.yaw) @ body.rotation
    tool_friction = body.friction_tool * truth.friction_tool_factor
    tip_contact = COMPLIANT_PAD if any(any(arm.pad_half_sizes) for arm in task.arms) else ContactSettings()
    softness = tip_contact.time_constant if truth.tool_softness is None else truth.tool_softness
    return Scene(
        name=task.name,
        arms=tuple(
            ArmMount(
                name=arm.name or "arm",
                robot=arm.robot,
                position=arm.base_position,
                rpy=arm.base_angles,
                tip=ToolTip("pad", arm.pad_half_sizes) if any(arm.pad_half_sizes) else ToolTip(),
            )
            for arm in task.arms
        ),
        object=SceneObject(
            name=body.name,
            mass=body.mass * truth.mass_factor,
            half_sizes=as_vector(body.solid.half_extents),
            shape=body.solid,
            position=tuple(np.add(body.position, truth.displacement).tolist()),
            rpy=_angles(turned),
        ),
        travel=as_vector(np.subtract(task.goal, body.position)),
        table_height=task.table_height + truth.table_displacement,
        belt_velocity=truth.object_velocity,
        table_rpy=_angles(shortest_turn((0.0, 0.0, 1.0), body.up)) if body.up[2] < UPRIGHT else (0.0, 0.0, 0.0),
        tool_object=dataclasses.replace(tip_contact, time_constant=softness, friction=tool_friction),
        object_table=dataclasses.replace(TABLE_CONTACT, friction=body.friction_table * truth.friction_table_factor),
    )


def _angles(rotation: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw, rad."""
    return as_vector(pin.rpy.matrixToRpy(np.asfortranarray(rotation)))
