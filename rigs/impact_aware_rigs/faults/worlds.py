"""How the world of a trial differs from what the controller believes: noise, loads, flexible joints."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np

from impact_aware.experiments.episode_settings import Truth
from impact_aware.robot import RobotModel
from impact_aware.simulation import SensorSettings

STIFFNESS = (5e3, 2e4)
"""Of flexible joints, N m/rad: about the 1e4 of Rey Arias 2024, section III."""

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
