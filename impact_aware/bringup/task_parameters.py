"""What the nodes of a graph must know of the task, as their parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.contact.box import Box
from impact_aware.contact.shape import Shape
from impact_aware.robot import load_profile
from impact_aware.task import ArmTask, Task, base_placement, hit_normal


def looked_up(task: Task, wanted: bool) -> bool:
    """Whether bases of a task are looked up in TF: it has some there, and that is `wanted`."""
    return wanted and any(arm.base_in_tf for arm in task.arms)


def provisional(task: Task) -> Task:
    """The task with its bases where its numbers have them, or at its origin, until the one that is published comes."""
    return replace(task, arms=tuple(replace(arm, base_in_tf="") for arm in task.arms))


def arm_parameters(task: Task, arm: ArmTask, robot: str) -> dict[str, Any]:
    """What the detector must know of the arm: its joints, else it would watch a gripper's too, and where it hits."""
    profile = load_profile(robot)
    rotation = base_placement(arm).rotation.T
    parameters = {
        "robot": robot,
        "joints": [arm.joint_prefix + joint for joint in profile.joint_names],
        "base_frame": arm.joint_prefix + profile.base_frame,
        "normal": _numbers(rotation @ hit_normal(task, arm)),
    }
    angles = [float(angle) for angle in arm.base_angles]
    return parameters | ({"base_rpy": angles} if any(angles) else {})


def contact_parameters(task: Task, arm: ArmTask) -> dict[str, Any]:
    """What the predictor must know of the task's contact, in the arm's base frame: the face that is hit, the object."""
    base = base_placement(arm)
    rotation = base.rotation.T
    return {
        "normal": _numbers(rotation @ hit_normal(task, arm)),
        "friction": task.object.friction_tool,
        "restitution": task.object.restitution,
        "object_name": task.object.name,
        "object_mass": task.object.mass,
        **_shape_parameters(task.object.solid),
        "object_position": _numbers(base.actInv(np.array(task.object.position))),
        "object_rpy": _numbers(pin.rpy.matrixToRpy(np.asfortranarray(rotation @ task.object.rotation))),
        **({"pad_half_sizes": list(arm.pad_half_sizes)} if any(arm.pad_half_sizes) else {}),
        **({} if task.lifts else {"table_friction": task.object.friction_table}),
    }


def own_arm(task: Task, name: str) -> ArmTask | None:
    """The arm of this name, or the only one; None where the task has no such arm."""
    return next((each for each in task.arms if len(task.arms) == 1 or each.name == name), None)


def _shape_parameters(shape: Shape) -> dict[str, Any]:
    """Return an object's shape as parameters that `shape_of` takes; a box needs no name."""
    told: dict[str, Any] = {"object_half_extents": [float(half) for half in shape.half_extents]}
    if shape.name != Box.name:
        told["object_shape"] = shape.name
    if len(shape.vertices):
        told["object_vertices"] = shape.vertices.ravel().tolist()
    return told


def _numbers(values: np.ndarray) -> list[float]:
    """A short list without the last bits and the negative zeros that a rotation leaves behind."""
    return [float(value) + 0.0 for value in np.round(values, 12)]
