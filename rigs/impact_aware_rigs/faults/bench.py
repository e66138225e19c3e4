"""What the trials of a process share: the task of one arm or two, its field, and the worlds that it takes place in."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from impact_aware.errors import InvalidInputError
from impact_aware.experiments.episode import task_plant
from impact_aware.experiments.episode_settings import EpisodeSettings, Truth
from impact_aware.reference import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.simulation import MujocoPlant, SensorSettings
from impact_aware.task import base_placement, load_task, make_field, start_posture
from impact_aware.task.arms import robots_of_task

STIFFNESS = (5e3, 2e4)
"""Stiffness of flexible joints, N m/rad: about the 1e4 of Rey Arias 2024, section III."""

PAYLOAD = (-0.15, 0.5)
"""Mass at the tool that the controller does not know of, kg: less than the tool's own, or a forgotten load."""


@dataclass(frozen=True)
class World:
    """What detection, prediction and control do not know.

    Attributes:
        sensors: Noise of the joint states.
        payload: Mass at each tool beyond that of the model, kg.
        stiffness: Of flexible joints, N m/rad; None for rigid ones.
        truth: How the object differs from the task's.
    """

    sensors: SensorSettings = field(default_factory=SensorSettings)
    payload: float = 0.0
    stiffness: float | None = None
    truth: Truth = field(default_factory=Truth)

    @property
    def kind(self) -> str:
        """In a word: `perfect`, `noisy` (noise and false masses) or `flexible` (those, and flexible joints)."""
        if self.stiffness is not None:
            return "flexible"
        return "noisy" if self.payload else "perfect"


PERFECT = World()


def draw_world(seed: int) -> World:
    """The world of a trial: of three seeds in a row one is perfect, one noisy, one flexible."""
    if seed % 3 == 0:
        return PERFECT
    generator = np.random.default_rng([seed, 7])
    sensors = SensorSettings(
        encoder_resolution=1e-6,
        position_noise=float(generator.uniform(0.0, 2e-5)),
        velocity_noise=float(generator.uniform(0.0, 2e-3)),
        effort_noise=float(generator.uniform(0.0, 0.2)),
    )
    truth = Truth(
        mass_factor=float(generator.uniform(0.8, 1.2)),
        friction_table_factor=float(generator.uniform(0.9, 1.1)),
        friction_tool_factor=float(generator.uniform(0.9, 1.1)),
    )
    payload = float(generator.uniform(*PAYLOAD))
    stiffness = float(np.exp(generator.uniform(*np.log(STIFFNESS)))) if seed % 3 == 2 else None
    return World(sensors, payload, stiffness, truth)


def loaded(robot: RobotModel, payload: float) -> RobotModel:
    """The arm as it truly is, with a mass at its tool that its profile does not have, kg."""
    profile = robot.profile
    if payload == 0.0 or profile is None or profile.tool is None:
        return robot
    tool = profile.tool
    share = (tool.mass + payload) / tool.mass
    first, second, third = tool.inertia_diagonal
    heavier = dataclasses.replace(
        tool, mass=share * tool.mass, inertia_diagonal=(share * first, share * second, share * third)
    )
    return RobotModel.from_profile(dataclasses.replace(profile, tool=heavier))


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
            self._plants[world] = self.loaded_plant(world, [world.payload] * len(self.robots))
        return self._plants[world]

    def loaded_plant(self, world: World, loads: Sequence[float]) -> MujocoPlant:
        """A plant of a world whose arms carry these loads, kg, in place of the world's."""
        settings = EpisodeSettings(sensors=world.sensors, joint_stiffness=world.stiffness, truth=world.truth)
        return task_plant(self.task, settings, [loaded(r, m) for r, m in zip(self.robots, loads, strict=True)])

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
