"""Many runs of a task: which ones, one of them, and all of them over several processes or a cluster, resumable.

A run is a pure function of its `Setup` and the campaign's seed. Setups that differ in the controller only meet the same
disturbed world, so that controllers are compared pair by pair.
"""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.control import VARIANTS, ControlParameters
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.reference import Task, load_task
from impact_aware.robot import RobotModel
from impact_aware.simulation.episode import EpisodeResult, EpisodeSettings, Truth, run_episode
from impact_aware.simulation.sensors import SensorSettings

Row = dict[str, Any]


@dataclass(frozen=True)
class CampaignTask:
    """What a task is tried with.

    Attributes:
        task: Name of the task file.
        objects: Names of its objects.
        starts: Indices of its start places.
        displacements: Of the object along the impact direction of the first arm, against it positive, m.
        duration: Longest simulated time of a run, s.
    """

    task: str
    objects: tuple[str, ...]
    starts: tuple[int, ...]
    displacements: tuple[float, ...]
    duration: float


CAMPAIGNS = {
    "hit-and-push": CampaignTask(
        "hit_and_push", ("juice_pack", "cat_food", "parcel"), (0, 1, 2), (-0.03, 0.0, 0.03), 4.0
    ),
    "dual-arm-grab": CampaignTask(
        "dual_arm_grab", ("juice_pack", "cat_food", "parcel"), (0, 1, 2), (0.0, 0.015, 0.03), 4.0
    ),
}


CONTROLLERS: dict[str, dict[str, Any]] = {
    **{name: {"variant": name} for name in VARIANTS},
    "proposed_completion": {"variant": "proposed", "interim_end": "contact_complete"},
}
"""What a controller's name stands for: the four of paper 002, and ours whose gamma waits for complete contact."""


@dataclass(frozen=True)
class Disturbances:
    """Standard deviations of what is drawn anew for each repeat.

    Attributes:
        mass: Of the object's mass, relative.
        friction: Of each coefficient of friction, relative.
        position: Of the object's horizontal place, m.
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
class Setup:
    """One run.

    Attributes:
        campaign: Key of `CAMPAIGNS`.
        object: Name of the object.
        start: Index of the start place.
        displacement: Of the object, m.
        repeat: Number of the repeat.
        controller: Key of `CONTROLLERS`.
    """

    campaign: str
    object: str
    start: int
    displacement: float
    repeat: int
    controller: str

    @property
    def key(self) -> str:
        """Text that tells this run from all others."""
        parts = (self.campaign, self.object, self.start, f"{1e3 * self.displacement:+.1f}mm", self.repeat)
        return "/".join(map(str, (*parts, self.controller)))


def plan(campaign: str, repeats: int, controllers: Iterable[str] = VARIANTS) -> list[Setup]:
    """All runs: every object with every start place, and with every displacement, which makes 300 of five repeats.

    Start places and displacements are varied one at a time, as the 15 physical setups of paper 002, section V, suggest.

    Raises:
        UnknownNameError: No such campaign or controller.
        InvalidInputError: Less than one repeat.
    """
    known = campaign_task(campaign)
    for name in controllers:
        if name not in CONTROLLERS:
            raise UnknownNameError("controller", name, tuple(CONTROLLERS))
    if repeats < 1:
        raise InvalidInputError("repeats", repeats, "a number >= 1")
    nominal_start, nominal = known.starts[0], 0.0
    conditions = [(start, nominal) for start in known.starts]
    conditions += [(nominal_start, shift) for shift in known.displacements if shift != nominal]
    return [
        Setup(campaign, name, start, shift, repeat, controller)
        for repeat in range(repeats)
        for name in known.objects
        for start, shift in conditions
        for controller in controllers
    ]


def campaign_task(campaign: str) -> CampaignTask:
    """What a campaign tries.

    Raises:
        UnknownNameError: No such campaign.
    """
    if campaign not in CAMPAIGNS:
        raise UnknownNameError("campaign", campaign, tuple(CAMPAIGNS))
    return CAMPAIGNS[campaign]


def episode_settings(setup: Setup, seed: int, disturbances: Disturbances | None = None) -> tuple[EpisodeSettings, int]:
    """The settings of a run, its world drawn from everything but the controller, and the seed of its sensors."""
    noise, known = disturbances or Disturbances(), campaign_task(setup.campaign)
    world = zlib.crc32(setup.key.rsplit("/", 1)[0].encode())
    generator = np.random.default_rng([seed, world])
    mass, table, tool, x, y, yaw = generator.normal(size=6)
    direction = -np.sign(_task(known.task).arms[0].impact_velocity[1])
    truth = Truth(
        displacement=(noise.position * x, direction * setup.displacement + noise.position * y, 0.0),
        yaw=noise.yaw * yaw,
        mass_factor=max(1.0 + noise.mass * mass, 0.5),
        friction_table_factor=max(1.0 + noise.friction * table, 0.1),
        friction_tool_factor=max(1.0 + noise.friction * tool, 0.1),
    )
    sensors = SensorSettings(
        encoder_resolution=noise.encoder_resolution, position_noise=noise.encoder, velocity_noise=noise.velocity
    )
    settings = EpisodeSettings(
        control=ControlParameters(**CONTROLLERS[setup.controller]),
        detector_parameters={"position_noise": noise.encoder, "encoder_resolution": noise.encoder_resolution},
        sensors=sensors,
        truth=truth,
        start=setup.start,
        duration=known.duration,
        settle_time=0.1,
    )
    return settings, int(generator.integers(2**31))


def run_setup(setup: Setup, seed: int, disturbances: Disturbances | None = None) -> Row:
    """One run as a row of figures; an error becomes a row that says so, because a campaign goes on."""
    begin = time.perf_counter()
    row: Row = {"key": setup.key, **asdict(setup)}
    try:
        result = simulate(setup, seed, disturbances)
        row.update(figures_of(result))
    except Exception as error:  # noqa: BLE001 - one run that fails is a result, not the end of the campaign
        row.update({"success": False, "cause": f"{type(error).__name__}: {error}"})
    row["wall_s"] = round(time.perf_counter() - begin, 3)
    return row


def simulate(setup: Setup, seed: int, disturbances: Disturbances | None = None) -> EpisodeResult:
    """The run itself, with everything that happened in it."""
    settings, sensor_seed = episode_settings(setup, seed, disturbances)
    task = _task(campaign_task(setup.campaign).task).with_object(setup.object)
    return run_episode(task, settings, sensor_seed, robots=[_robot(arm.robot) for arm in task.arms])


def figures_of(result: EpisodeResult) -> Row:
    """What a row keeps of a run.

    `peak` is the largest norm of the target acceleration, all six components as the paper's a_t has, averaged over the
    arms; `peak_linear` is that of its linear part, `peak_after` that from the first detection on. Torque jumps are
    those of one cycle at the mode switches, over the joint's torque range.
    """
    norms = np.linalg.norm(result.target_acceleration, axis=2)
    linear = np.linalg.norm(result.target_acceleration[:, :, :3], axis=2)
    after = result.mode >= 2
    switches = np.flatnonzero(np.diff(result.mode)) + 1
    limits = np.concatenate([_robot(arm.robot).limits.effort for arm in result.task.arms])
    jumps = np.abs(result.effort[switches] - result.effort[switches - 1]) / (2.0 * limits)
    impact = result.first_impact
    success, cause = judge(result)
    return {
        "success": success,
        "cause": cause,
        "peak": float(norms.max(axis=0).mean()),
        "peak_linear": float(linear.max(axis=0).mean()),
        "peak_after": float(norms[after].max(axis=0).mean()) if after.any() else float("nan"),
        "peak_linear_after": float(linear[after].max(axis=0).mean()) if after.any() else float("nan"),
        "torque_jump": float(jumps.max()) if jumps.size else float("nan"),
        "goal_error_m": result.goal_error,
        "slip_m": result.slip,
        "time_to_track_s": result.time_to_track,
        "detection_delay_s": result.detection_delay,
        "false_detections": result.false_detections,
        "prediction_error": result.prediction_error,
        "impact_speed": float("nan") if impact is None else impact.approach_speed,
        "object_speed_after": float("nan") if impact is None else float(np.linalg.norm(impact.object_twist_after[:3])),
        "duration_s": float(result.time[-1]),
    }


def judge(result: EpisodeResult) -> tuple[bool, str]:
    """Whether the task was done, and what kept it from being done otherwise."""
    if result.safe_reason is not None:
        return False, f"safe mode: {result.safe_reason}"
    if result.first_impact is None:
        return False, "object missed"
    if not np.any(result.mode >= 2):
        return False, "impact not detected"
    if result.false_detections and result.events[0][1].time_detected < result.first_impact.time:
        return False, "detected before the impact"
    tilt = np.degrees(np.arccos(np.clip(result.object_rotation[2, 2], -1.0, 1.0)))
    if tilt > 30.0:
        return False, "object toppled"
    if result.task.lifts:
        return _judge_lift(result)
    if result.goal_error > 0.02:
        turn = np.degrees(np.arctan2(result.object_rotation[1, 0], result.object_rotation[0, 0]))
        return False, "object turned away" if abs(turn) > 30.0 else "goal missed"
    return True, ""


def _judge_lift(result: EpisodeResult) -> tuple[bool, str]:
    if not result.hit_arms.all():
        return False, "one arm missed"
    lift = result.object_position[:, 2] - result.object_position[0, 2]
    wanted = result.task.goal[2] - result.task.object.position[2]
    if lift.max() < 0.5 * wanted:
        return False, "object not lifted"
    if lift[-1] < 0.5 * lift.max():
        return False, "object dropped"
    if not result.slip < 0.01:
        return False, "object slipped"
    if np.linalg.norm(result.object_position[-1] - np.array(result.task.goal)) > 0.05:
        return False, "goal missed"
    return True, ""


@lru_cache(maxsize=4)
def _task(name: str) -> Task:
    return load_task(name)


@lru_cache(maxsize=4)
def _robot(name: str) -> RobotModel:
    return RobotModel.from_profile(name)


class CampaignStore:
    """The rows of a campaign in its folder, one line per finished run, so that a killed campaign goes on."""

    def __init__(self, folder: Path, campaign: str, seed: int, disturbances: Disturbances) -> None:
        """Open or begin the folder.

        Raises:
            InvalidInputError: It holds a campaign with another task, seed or disturbances.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "runs.csv"
        head = {"campaign": campaign, "seed": seed, "disturbances": asdict(disturbances)}
        header = folder / "campaign.json"
        if header.exists():
            found = json.loads(header.read_text())
            for name, value in head.items():
                if found.get(name) != value:
                    raise InvalidInputError(f"--out {folder}", f"{name} {found.get(name)}", f"{value}, or a new folder")
        else:
            header.write_text(json.dumps(head, indent=2) + "\n")
        self.rows: dict[str, Row] = {}
        if self.path.exists():
            self._read()

    def add(self, row: Row) -> None:
        """Keep a finished run at once."""
        fresh = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="")
            if fresh:
                writer.writeheader()
            writer.writerow({name: _text(row.get(name, "")) for name in COLUMNS})
            file.flush()
            os.fsync(file.fileno())
        self.rows[row["key"]] = row

    def write_in_order(self, setups: Iterable[Setup]) -> None:
        """Rewrite the file in the plan's order, whatever order the runs ended in."""
        ordered = [self.rows[setup.key] for setup in setups if setup.key in self.rows]
        keys = {row["key"] for row in ordered}
        ordered += [row for key, row in self.rows.items() if key not in keys]
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="")
            writer.writeheader()
            writer.writerows({name: _text(row.get(name, "")) for name in COLUMNS} for row in ordered)
        temporary.replace(self.path)

    def _read(self) -> None:
        text = self.path.read_text()
        # A run that was being written when the campaign was killed has no end of line: it is done again.
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.path.write_text(whole)
        for line in csv.DictReader(whole.splitlines()):
            row = {name: _value(name, value) for name, value in line.items()}
            self.rows[row["key"]] = row


_TEXT = ("key", "campaign", "object", "controller", "cause")
_WHOLE = ("start", "repeat", "false_detections")
COLUMNS = (
    "key",
    *(entry.name for entry in fields(Setup)),
    "success",
    "cause",
    "peak",
    "peak_linear",
    "peak_after",
    "peak_linear_after",
    "torque_jump",
    "goal_error_m",
    "slip_m",
    "time_to_track_s",
    "detection_delay_s",
    "false_detections",
    "prediction_error",
    "impact_speed",
    "object_speed_after",
    "duration_s",
    "wall_s",
)


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _value(name: str, text: str) -> Any:
    if name in _TEXT:
        return text
    if name == "success":
        return text == "True"
    if text == "":
        return float("nan")
    return int(text) if name in _WHOLE else float(text)


def execute(
    setups: list[Setup],
    store: CampaignStore,
    seed: int,
    disturbances: Disturbances,
    *,
    workers: int = 1,
    cluster: str | None = None,
    on_row: Callable[[Row], None] | None = None,
) -> None:
    """Do every run that the store does not have yet.

    Args:
        setups: The plan.
        store: Where finished runs are kept.
        seed: Of the campaign.
        disturbances: What is drawn for each run.
        workers: Processes on this machine; 1 runs in this one.
        cluster: Address of a Dask scheduler, such as tcp://HOST:8786, in place of processes.
        on_row: Called with every new row.

    Raises:
        InvalidInputError: Less than one worker, or no Dask for a cluster.
    """
    if workers < 1:
        raise InvalidInputError("workers", workers, "a number >= 1")
    todo = [(setup, seed, disturbances) for setup in setups if setup.key not in store.rows]
    for row in _rows(todo, workers, cluster):
        store.add(row)
        if on_row is not None:
            on_row(row)
    store.write_in_order(setups)


def _rows(todo: list[tuple[Setup, int, Disturbances]], workers: int, cluster: str | None) -> Iterator[Row]:
    if cluster is not None:
        yield from _cluster_rows(todo, cluster)
    elif workers == 1 or len(todo) < 2:
        yield from map(_run, todo)
    else:
        # Fresh interpreters: MuJoCo and BLAS threads do not survive a fork.
        with multiprocessing.get_context("spawn").Pool(min(workers, len(todo)), _single_threaded) as pool:
            yield from pool.imap_unordered(_run, todo)


def _cluster_rows(todo: list[tuple[Setup, int, Disturbances]], address: str) -> Iterator[Row]:
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise InvalidInputError("--cluster", address, "the package `distributed` (Dask) to be installed") from error
    with Client(address) as client:
        for future in as_completed(client.map(_run, todo, pure=False)):
            yield future.result()
            future.release()


def _run(job: tuple[Setup, int, Disturbances]) -> Row:
    return run_setup(*job)


def _single_threaded() -> None:
    """One thread per process: the matrices are small and the processes share the cores."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
