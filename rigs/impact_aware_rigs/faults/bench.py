"""What the trials of a process share: the task of one arm or two, its field, and the plants that it takes place in."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from impact_aware.errors import InvalidInputError
from impact_aware.experiments.episode import task_plant
from impact_aware.experiments.episode_settings import EpisodeSettings
from impact_aware.reference import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.simulation import MujocoPlant
from impact_aware.task import base_placement, load_task, make_field, start_posture
from impact_aware.task.arms import robots_of_task
from impact_aware_rigs.faults.worlds import PERFECT, World, loaded

AWAY = pin.SE3(np.eye(3), np.array([5.0, 5.0, 0.1]))
"""Where an object is put that is to be gone."""

_TASKS = {
    1: ("hit_and_push", [0.5, -0.12, 0.1], ((0.5, 0.16, 0.14),)),
    2: ("dual_arm_grab", [0.55, 0.03, 0.46], ((0.55, 0.20, 0.39), (0.55, -0.20, 0.39))),
}
"""By the number of arms: the task, a goal that is near, and tool positions from which the impact is soon."""


class FaultBench:
    """One Panda before a box that it is to push by 0.12 m, or two that are to grab and lift one.

    Attributes:
        task: The task.
        robots: One model per arm, as the controller knows them.
        bases: Of the arms in the task's frame.
        field: The reference field.
        start: (n,) Posture of all arms at the start, rad.
    """

    def __init__(self, arms: int = 1) -> None:
        """Build task and field.

        Raises:
            InvalidInputError: Neither one arm nor two.
        """
        if arms not in _TASKS:
            raise InvalidInputError("arms", arms, "1 or 2")
        name, goal, starts = _TASKS[arms]
        task = load_task(name, {"goal": goal, "fields": {"start_ramp": 0.1}})
        near = tuple(dataclasses.replace(arm, starts=(start,)) for arm, start in zip(task.arms, starts, strict=True))
        self.task = dataclasses.replace(task, arms=near)
        self.robots = robots_of_task(self.task)
        self.bases = [base_placement(arm) for arm in near]
        self.field = make_field(self.task, self.robots)
        self.start = np.concatenate([start_posture(a, r) for a, r in zip(near, self.robots, strict=True)])
        self._plants: dict[World, MujocoPlant] = {}

    def plant(self, world: World) -> MujocoPlant:
        """The plant of a world; the perfect one and the last other one are kept."""
        if world not in self._plants:
            self._plants = {kept: plant for kept, plant in self._plants.items() if kept == PERFECT}
            self._plants[world] = self.loaded_plant(world, [loaded(robot, world.payload) for robot in self.robots])
        return self._plants[world]

    def loaded_plant(self, world: World, robots: Sequence[RobotModel]) -> MujocoPlant:
        """A plant of a world with these arms in place of those with the world's load."""
        settings = EpisodeSettings(sensors=world.sensors, joint_stiffness=world.stiffness, truth=world.truth)
        return task_plant(self.task, settings, list(robots))

    def field_from_here(self, plant: MujocoPlant) -> ReferenceField:
        """A field for another motion from where the arms are, as a new look at the scene would give.

        For one arm the object is put 5 cm before its tool. Between two palms there may be no room for the object: it
        is taken away, and the field is that of a box which leaves both palms a distance to go.
        """
        tools = [plant.tool_placement(name).translation for name in plant.robots]
        half = np.array(self.task.object.half_extents)
        if len(tools) == 1:
            gap = half[1] + self.robots[0].tool_radius + 0.05
            centre = np.array([tools[0][0], tools[0][1] - gap, self.task.object.position[2]])
            plant.place_object(pin.SE3(np.eye(3), centre))
        else:
            centre = np.mean(tools, axis=0)
            apart = 0.5 * float(np.linalg.norm(tools[0] - tools[1])) - self.robots[0].tool_radius
            half[1] = max(apart - min(0.05, 0.5 * apart), 0.005)
            # So tall that its table is below the hands, wherever these are.
            half[2] += 0.1
            plant.place_object(AWAY)
        extents = tuple(half.tolist())
        moved = dataclasses.replace(self.task.object, position=tuple(centre.tolist()), half_extents=extents)
        displacement = np.subtract(self.task.goal, self.task.object.position)
        arms = tuple(
            dataclasses.replace(arm, starts=(tuple(tool.tolist()),))
            for arm, tool in zip(self.task.arms, tools, strict=True)
        )
        goal = tuple((centre + displacement).tolist())
        task = dataclasses.replace(self.task, object=moved, goal=goal, arms=arms)
        return make_field(task, self.robots, whole_motion=False)
