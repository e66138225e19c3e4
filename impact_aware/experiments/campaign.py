"""One run of a campaign: its world, drawn from a seed, and its row of figures.

A run is a pure function of its setup and the campaign's options. Setups that differ in the controller only meet the
same disturbed world, so that controllers are compared pair by pair.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.control import ControlParameters
from impact_aware.errors import InvalidInputError, check_name
from impact_aware.experiments.campaign_plan import CONTROLLERS, Setup, campaign_task
from impact_aware.experiments.episode import EpisodeResult, EpisodeSettings, Truth, run_episode
from impact_aware.experiments.episode_settings import PREDICTIONS
from impact_aware.experiments.run_figures import RunFigures, figures_of
from impact_aware.impact.sampled_map import ImpactMap
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import PLANTS
from impact_aware.simulation.joint_elasticity import STIFFNESS
from impact_aware.simulation.sensors import SensorSettings
from impact_aware.task import Task, load_task
from impact_aware.task.impact_positions import IntendedImpact, sample_impact_map

Row = dict[str, Any]
"""One finished run of a campaign, column by column."""


@dataclass(frozen=True)
class Disturbances:
    """Standard deviations of what is drawn anew for each repeat.

    Attributes:
        mass: Of the object's mass, relative.
        friction: Of each coefficient of friction, relative.
        position: Of the object's horizontal position, m.
        yaw: Of the object's orientation, rad.
        encoder: Of every joint position reading, rad.
        velocity: Of every joint velocity reading, rad/s.
        encoder_resolution: Step of the joint position readings, rad; not random.
    """

    mass: float = 0.02
    friction: float = 0.05
    position: float = 0.002
    yaw: float = 0.0175
    encoder: float = 1e-6
    velocity: float = 5e-4
    encoder_resolution: float = 1e-6


@dataclass(frozen=True)
class RunOptions:
    """What all runs of a campaign have in common.

    Attributes:
        seed: Of everything that is drawn.
        disturbances: How much worlds and readings vary.
        impact_map: `direct` or `sampled`, see `EpisodeSettings`.
        plant: `flexible` joints with motors and torque loop, or `rigid` ones.
        maps: Folder that keeps sampled impact maps, so that one per object is sampled once; nothing is kept when None.
    """

    seed: int = 0
    disturbances: Disturbances = Disturbances()
    impact_map: str = "direct"
    plant: str = PLANTS[0]
    maps: str | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown source of the object's velocity, or plant, with an UnknownNameError."""
        check_name("impact_map", self.impact_map, PREDICTIONS)
        check_name("plant", self.plant, PLANTS)

    def head(self, campaign: str) -> dict[str, Any]:
        """What makes a campaign's numbers, for its folder."""
        return {"campaign": campaign, **{name: value for name, value in asdict(self).items() if name != "maps"}}


def episode_settings(setup: Setup, options: RunOptions | None = None) -> tuple[EpisodeSettings, int]:
    """The settings of a run, its world drawn from everything but the controller, and the seed of its sensors."""
    options = options or RunOptions()
    noise, known = options.disturbances, campaign_task(setup.campaign)
    world = zlib.crc32(setup.key.rsplit("/", 1)[0].encode())
    generator = np.random.default_rng([options.seed, world])
    mass, table, tool, x, y, yaw = generator.normal(size=6)
    direction = -np.sign(_task(known.task).arms[0].impact_velocity[1])
    truth = Truth(
        displacement=(noise.position * x, direction * setup.displacement + noise.position * y, 0.0),
        yaw=noise.yaw * yaw,
        mass_factor=max(1.0 + noise.mass * mass, 0.5),
        friction_table_factor=max(1.0 + noise.friction * table, 0.1),
        friction_tool_factor=max(1.0 + noise.friction * tool, 0.1),
    )
    window: dict[str, Any] = {"position_noise": noise.encoder, "encoder_resolution": noise.encoder_resolution}
    settings = EpisodeSettings(
        control=ControlParameters(**CONTROLLERS[setup.controller]),
        detector=known.detector,
        detector_parameters=window,
        impact_map=options.impact_map,
        sensors=SensorSettings(
            encoder_resolution=noise.encoder_resolution, position_noise=noise.encoder, velocity_noise=noise.velocity
        ),
        joint_stiffness=STIFFNESS if options.plant == "flexible" else None,
        truth=truth,
        start=setup.start,
        duration=known.duration,
        settle_time=0.1,
    )
    return settings, int(generator.integers(2**31))


def run_setup(setup: Setup, options: RunOptions | None = None) -> Row:
    """One run as a row of figures; an error becomes a row with its text, because a campaign goes on."""
    begin, begin_cpu = time.perf_counter(), time.process_time()
    row: Row = {"key": setup.key, **asdict(setup)}
    try:
        result = simulate(setup, options)
        limits = np.concatenate([robot.limits.effort for robot in _robots(result.task)])
        row.update(asdict(figures_of(result, limits)))
    except InvalidInputError as error:
        row.update({"success": False, "cause": f"start refused: {error}"})
    except Exception as error:  # noqa: BLE001 - one run that fails is a result, not the end of the campaign
        row.update({"success": False, "cause": f"error: {type(error).__name__}: {error}"})
    row["wall_s"] = round(time.perf_counter() - begin, 3)
    row["cpu_s"] = round(time.process_time() - begin_cpu, 3)
    return row


def simulate(setup: Setup, options: RunOptions | None = None) -> EpisodeResult:
    """The run itself, with everything that happened in it.

    Raises:
        InvalidInputError: A task or a start that can't be done.
    """
    options = options or RunOptions()
    settings, sensor_seed = episode_settings(setup, options)
    task = _task(campaign_task(setup.campaign).task).with_object(setup.object)
    robots = _robots(task)
    sampled = _sampled_map(task, options.maps) if options.impact_map == "sampled" else None
    return run_episode(task, settings, sensor_seed, robots=robots, sampled=sampled)


def keep_maps(setups: Iterable[Setup], options: RunOptions) -> None:
    """Sample the impact maps that runs will need into the folder for them, before several processes ask at once."""
    if options.impact_map != "sampled" or options.maps is None:
        return
    for name, campaign in dict.fromkeys((s.object, s.campaign) for s in setups):
        task = _task(campaign_task(campaign).task).with_object(name)
        path = _map_path(task, options.maps)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            sample_impact_map(IntendedImpact(task, _robots(task))).save(path)


_FIGURES = (*(entry.name for entry in fields(RunFigures)), "wall_s", "cpu_s")
COLUMNS = ("key", *(entry.name for entry in fields(Setup)), *_FIGURES)


def _robots(task: Task) -> Sequence[RobotModel]:
    return [_robot(arm.robot) for arm in task.arms]


@lru_cache(maxsize=4)
def _task(name: str) -> Task:
    return load_task(name)


@lru_cache(maxsize=4)
def _robot(name: str) -> RobotModel:
    return RobotModel.from_profile(name)


@lru_cache(maxsize=8)
def _sampled_map(task: Task, folder: str | None) -> ImpactMap:
    """The map of a task with its object: the kept one, or sampled anew, which gives the same."""
    if folder is not None and _map_path(task, folder).exists():
        kept = ImpactMap.load(_map_path(task, folder))
        if kept.notes.get("mass") == task.object.mass and kept.notes.get("task") == task.name:
            return kept
    return sample_impact_map(IntendedImpact(task, _robots(task)))


def _map_path(task: Task, folder: str) -> Path:
    return Path(folder) / f"impact_map_{task.object.name}.npz"
