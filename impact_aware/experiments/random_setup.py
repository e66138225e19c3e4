"""Random trials of a task: initial configuration, object position and object mass all drawn at once."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.experiments.campaign_plan import campaign_task
from impact_aware.experiments.episode_settings import Truth
from impact_aware.reference.rotation import rotation_from_rpy
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics
from impact_aware.task import ArmTask, Task, hit_normal, tool_placement
from impact_aware.task.make_field import usual_posture


@dataclass(frozen=True)
class RandomRanges:
    """What is drawn, each uniformly and independently; the controller knows the first two groups.

    Attributes:
        mass: Of the object, kg.
        place: Position of the object about its usual one, half ranges along x and y, m.
        start_across: Of each tool's start about its usual one, across the impact direction and horizontally, m, +-.
        start_along: Of each tool's start against the impact direction, from and to, m.
        start_height: Of each tool's start upwards, from and to, m.
        start_tilt: Of each tool's start orientation about each axis, rad, +-.
        first_joint: Of each arm's null-space joint at the start, rad, +-.
        mass_error: True mass from the one that the controller believes, relative, +-.
        friction_error: True coefficients of friction from the assumed ones, relative, +-.
        displacement: True position of the object from the assumed one along the first arm's impact direction, m, +-.
        displacement_across: True position of the object from the assumed one across that direction, m, +-.
        yaw: True orientation of the object from the assumed one, rad, +-.
    """

    mass: tuple[float, float] = (0.5, 2.5)
    place: tuple[float, float] = (0.05, 0.03)
    start_across: float = 0.06
    start_along: tuple[float, float] = (-0.06, 0.10)
    start_height: tuple[float, float] = (-0.02, 0.10)
    start_tilt: float = 0.175
    first_joint: float = 0.2
    mass_error: float = 0.10
    friction_error: float = 0.10
    displacement: float = 0.03
    displacement_across: float = 0.01
    yaw: float = 0.0524

    def describe(self) -> str:
        """The ranges in a sentence each."""
        low, high = self.mass
        near, far = self.start_along
        down, up = self.start_height
        return (
            f"Known to the controller: mass {low:g}..{high:g} kg; position of the object +-{100 * self.place[0]:g} cm "
            f"in x and +-{100 * self.place[1]:g} cm in y; start of each tool +-{100 * self.start_across:g} cm across, "
            f"{100 * near:g}..{100 * far:g} cm along and {100 * down:g}..{100 * up:g} cm above the usual one, tilted "
            f"by +-{np.degrees(self.start_tilt):.0f} deg about each axis, with the first joint rotated by "
            f"+-{np.degrees(self.first_joint):.0f} deg. Unknown to it: mass +-{100 * self.mass_error:g} %, friction "
            f"+-{100 * self.friction_error:g} %, position +-{1e3 * self.displacement:g} mm along and "
            f"+-{1e3 * self.displacement_across:g} mm across the impact, orientation +-{np.degrees(self.yaw):.0f} deg."
        )


RANGES = RandomRanges()


@dataclass(frozen=True)
class RandomSetup:
    """One random trial.

    Attributes:
        campaign: Key of `CAMPAIGNS`.
        number: Which one.
        controller: Key of `CONTROLLERS`.
    """

    campaign: str
    number: int
    controller: str = "proposed"

    @property
    def key(self) -> str:
        """Text that identifies this trial."""
        return f"{self.campaign}/random/{self.number}/{self.controller}"


@dataclass(frozen=True)
class RandomTrial:
    """What was drawn for a trial.

    Attributes:
        task: The task as the controller knows it.
        truth: How the world differs from it.
        posture: (n,) Joint positions of all arms at the start, rad; None when the drawn start is out of reach.
        refused: Why it is out of reach, empty otherwise.
        drawn: The numbers, for the row.
        sensor_seed: Seed of the sensors.
    """

    task: Task
    truth: Truth
    posture: tuple[float, ...] | None
    refused: str
    drawn: dict[str, Any]
    sensor_seed: int


def plan_random(campaign: str, count: int, controllers: Sequence[str] = ("proposed",)) -> list[RandomSetup]:
    """The first `count` trials, each with every controller.

    Raises:
        UnknownNameError: No such campaign.
        InvalidInputError: Less than one trial.
    """
    campaign_task(campaign)
    if count < 1:
        raise InvalidInputError("--random", count, "a number of trials >= 1")
    return [RandomSetup(campaign, number, name) for number in range(count) for name in controllers]


def draw_trial(
    setup: RandomSetup, task: Task, robots: Sequence[RobotModel], seed: int, ranges: RandomRanges = RANGES
) -> RandomTrial:
    """Draw a trial of `task`; the same setup and seed give the same trial for every controller."""
    name = f"{setup.campaign}/random/{setup.number}"
    generator = np.random.default_rng([seed, zlib.crc32(name.encode())])

    def around(reach: float) -> float:
        return float(generator.uniform(-reach, reach))

    moved = (around(ranges.place[0]), around(ranges.place[1]), 0.0)
    mass = float(generator.uniform(*ranges.mass))
    body = dataclasses.replace(task.object, mass=mass, position=_plus(task.object.position, moved))
    task = dataclasses.replace(task, object=body, goal=_plus(task.goal, moved))
    normal = hit_normal(task, task.arms[0])
    shift = around(ranges.displacement) * normal
    shift += around(ranges.displacement_across) * np.cross((0.0, 0.0, 1.0), normal)
    truth = Truth(
        displacement=(float(shift[0]), float(shift[1]), 0.0),
        yaw=around(ranges.yaw),
        mass_factor=1.0 + around(ranges.mass_error),
        friction_table_factor=1.0 + around(ranges.friction_error),
        friction_tool_factor=1.0 + around(ranges.friction_error),
    )
    drawn: dict[str, Any] = {
        "mass_kg": mass,
        "place_m": list(moved[:2]),
        "displacement_m": list(truth.displacement[:2]),
        "yaw_rad": truth.yaw,
        "mass_factor": truth.mass_factor,
    }
    starts = [_draw_start(task, arm, generator, ranges) for arm in task.arms]
    drawn["starts_m"] = [position.tolist() for position, *_ in starts]
    postures, refused = [], ""
    for arm, robot, (_, placement, first_joint) in zip(task.arms, robots, starts, strict=True):
        try:
            postures.append(_posture(arm, robot, placement, first_joint))
        except InvalidInputError as error:
            refused = refused or str(error)
    posture = None if refused else tuple(float(angle) for angle in np.concatenate(postures))
    return RandomTrial(task, truth, posture, refused, drawn, int(generator.integers(2**31)))


def _posture(arm: ArmTask, robot: RobotModel, placement: pin.SE3, first_joint: float) -> Array:
    """Joint positions (n,), rad; raises InvalidInputError when there are none."""
    joint = arm.null_space_joint
    fixed = {joint: arm.null_space_position + first_joint} if joint >= 0 else None
    return solve_inverse_kinematics(robot, placement, usual_posture(arm, robot), fixed=fixed)


def _draw_start(
    task: Task, arm: ArmTask, generator: np.random.Generator, ranges: RandomRanges
) -> tuple[Array, pin.SE3, float]:
    """Tool position (3,) in the task's frame, its pose in the base's, and the null-space joint's offset, rad."""
    normal = hit_normal(task, arm)
    position = np.array(arm.starts[0]) + generator.uniform(*ranges.start_along) * normal
    position += generator.uniform(-1.0, 1.0) * ranges.start_across * np.cross((0.0, 0.0, 1.0), normal)
    position[2] += generator.uniform(*ranges.start_height)
    roll, pitch, yaw = (float(angle) for angle in generator.uniform(-ranges.start_tilt, ranges.start_tilt, 3))
    usual = tool_placement(arm, position, start=True)
    placement = pin.SE3(rotation_from_rpy((roll, pitch, yaw)) @ usual.rotation, usual.translation)
    return position, placement, float(generator.uniform(-ranges.first_joint, ranges.first_joint))


def _plus(first: tuple[float, float, float], second: tuple[float, float, float]) -> tuple[float, float, float]:
    return first[0] + second[0], first[1] + second[1], first[2] + second[2]
