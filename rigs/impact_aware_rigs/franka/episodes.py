"""Hit-and-push episodes over libfranka's protocol, in lockstep with the simulated arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.experiments.episode import EpisodeResult, EpisodeSettings, run_episode
from impact_aware.resources import read_named
from impact_aware.robot import RobotModel
from impact_aware.simulation.task_scene import Truth
from impact_aware.task import load_task, start_posture
from impact_aware_rigs.franka.arm import ArmStatus, SimulatedFranka
from impact_aware_rigs.franka.options import ArmOptions
from impact_aware_rigs.franka.plant import FrankaPlant

TASK, ROBOT = "hit_and_push", "fr3"
_ARMS = read_named("task", "tasks", TASK)[0]["arms"]
CHANGES = {"frame": "fr3_link0", "arms": [arm | {"robot": ROBOT} for arm in _ARMS]}
"""Changes from the panda's task to one of the simulated arm."""

DURATION, SETTLED = 6.0, 0.3
"""Longest duration of an episode, and the object's rest that ends it, s."""


@dataclass(frozen=True)
class FrankaRun:
    """An episode and what the arm knows of it.

    Attributes:
        result: The episode; None when the arm stopped by itself.
        status: The arm at its end.
        begin: The arm's time at the begin of the episode, s.
        stop: Why the arm stopped by itself; empty when it did not.
        success: Last success rate that the arm reported.
        recording: Times (k,) and states (k, 7) as the client read them, under the names of table columns.
        changes: Entries that the task's file was changed by.
    """

    result: EpisodeResult | None
    status: ArmStatus
    begin: float
    stop: str
    success: float
    recording: dict[str, Array]
    changes: dict[str, Any]

    @property
    def impact_error(self) -> float:
        """Time of the first detected impact less that of the arm's first contact, s; NaN without either."""
        if self.result is None or not self.result.events or not self.status.contact_times:
            return np.nan
        return self.result.events[0][1].time + self.begin - self.status.contact_times[0]

    @property
    def goal_error(self) -> float:
        """Horizontal distance of the object from its goal, m."""
        goal = load_task(TASK, CHANGES).goal
        return float(np.hypot(*np.subtract(self.status.object_pose[:2], goal[:2])))

    @property
    def done(self) -> bool:
        """Whether the task was done: an impact, the post-impact mode, no stop."""
        return self.result is not None and self.result.safe_reason is None and self.result.events != ()


def draw(number: int) -> Truth:
    """How the world of a run differs from the task: mass, friction, place, yaw and softness, uniformly drawn.

    A rigid tip is left out: at 0.5 m/s it exceeds the range of the torque sensors in some runs, as it would on an arm.
    """
    generator = np.random.default_rng((number, 41))

    def around(reach: float) -> float:
        return float(generator.uniform(-reach, reach))

    return Truth(
        displacement=(around(0.005), around(0.02), 0.0),
        yaw=around(0.04),
        mass_factor=1.0 + around(0.1),
        friction_table_factor=1.0 + around(0.1),
        friction_tool_factor=1.0 + around(0.1),
        tool_softness=float(generator.uniform(0.002, 0.006)),
    )


def run(number: int, options: ArmOptions | None = None, **settings: Any) -> FrankaRun:
    """One episode in a world that `draw` makes for its number."""
    task, robot, truth = load_task(TASK, CHANGES), RobotModel.from_profile(ROBOT), draw(number)
    posture = tuple(start_posture(task.arms[0], robot).tolist())
    own = EpisodeSettings(duration=DURATION, settle_time=SETTLED, posture=posture, **settings)
    import pylibfranka

    with SimulatedFranka(options, posture=posture, truth=truth, changes=CHANGES) as arm:
        plant, result, stop = FrankaPlant(arm, robot), None, ""
        try:
            result = run_episode(task, own, number, plant=plant)
        except pylibfranka.ControlException as error:
            stop = str(error)
        finally:
            success = plant.success
            plant.close()
        return FrankaRun(result, arm.status(), plant.start, stop, success, plant.recording(), CHANGES)
