"""The arms of a task or a controller: one without a name of its own, or several, each with topics below its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.task.make_field import base_placement
from impact_aware.task.task import ArmTask, Task

BASE_NUMBERS = 4
"""Numbers that place a base: x, y, z and yaw."""


@dataclass(frozen=True, eq=False)
class Arm:
    """One arm.

    Attributes:
        name: As its events call it.
        prefix: What stands before its topics, such as `left`; empty for a single arm.
        robot: Its model.
        base: Pose of its base in the common frame.
    """

    name: str
    prefix: str
    robot: RobotModel
    base: pin.SE3

    def topic(self, name: str) -> str:
        """The arm's own topic of this name, relative to the node's namespace."""
        return f"{self.prefix}/{name}" if self.prefix else name

    def twist_in_base(self, twist: Array) -> Array:
        """A twist (6,) of the common frame, linear first, in the axes of the base, about the same point."""
        rotation = self.base.rotation.T
        return np.concatenate((rotation @ twist[:3], rotation @ twist[3:]))


def single_arm(name: str, robot: str) -> tuple[Arm, ...]:
    """One arm whose base frame is the common frame.

    Raises:
        ImpactAwareError: The profile can't be loaded.
    """
    return (Arm(name, "", RobotModel.from_profile(robot), pin.SE3.Identity()),)


def several_arms(names: Sequence[str], robots: Sequence[str], bases: Sequence[float]) -> tuple[Arm, ...]:
    """Arms by name (m,), which is also the namespace of their topics.

    Args:
        names: (m,) Their names.
        robots: (m,) Profiles; one is used for every arm.
        bases: (4 m,) x, y, z and yaw of each base in the common frame, arm after arm, m and rad.

    Raises:
        InvalidInputError: Names that don't differ, or numbers of entries that don't agree.
        ImpactAwareError: A profile can't be loaded.
    """
    if len(set(names)) < len(names) or not all(names):
        raise InvalidInputError("parameter arms", list(names), "names that differ")
    robots = list(robots) * len(names) if len(robots) == 1 else list(robots)
    if len(robots) != len(names):
        raise InvalidInputError("parameter robots", robots, f"one profile, or {len(names)}, one per arm")
    if len(bases) != BASE_NUMBERS * len(names):
        expected = f"{BASE_NUMBERS * len(names)} numbers: x, y, z and yaw of each of {', '.join(names)}"
        raise InvalidInputError("parameter bases", list(bases), expected)
    return tuple(
        Arm(name, name, RobotModel.from_profile(robot), base_placement(ArmTask(base_position=(x, y, z), base_yaw=yaw)))
        for name, robot, (x, y, z, yaw) in zip(names, robots, np.reshape(bases, (-1, BASE_NUMBERS)), strict=True)
    )


def arms_of_task(task: Task, robot: str, name: str = "") -> tuple[Arm, ...]:
    """The arms of a task; `robot` is the profile of a single one, several have those that the task names.

    Raises:
        ImpactAwareError: A profile can't be loaded.
    """
    if len(task.arms) == 1:
        return (Arm(name, "", RobotModel.from_profile(robot), base_placement(task.arms[0])),)
    return tuple(Arm(own.name, own.name, RobotModel.from_profile(own.robot), base_placement(own)) for own in task.arms)


def check_names(arms: Sequence[Arm], names: Sequence[str]) -> None:
    """Of several arms each must follow its own of a field's references, by `names`; a single one follows any.

    Raises:
        InvalidInputError: Other names, or another order.
    """
    expected = [arm.name for arm in arms]
    if len(expected) > 1 and list(names) != expected:
        raise InvalidInputError("field.arms", list(names), ", ".join(expected))
