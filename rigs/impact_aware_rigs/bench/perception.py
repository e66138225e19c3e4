"""From a camera to a hit, in a simulated lab: what is refused, how well the rest is hit and predicted.

In each trial a tilted camera, which half of the time pans, shows an object by late and noisy messages with gaps. What
the nodes do with them (place them by TF, watch them, move the field) is done by the same classes; where that allows a
motion, it is run against the true world, and once more with the exact pose and velocity. Every second object is carried
by a belt. Each trial also shows one perception that is broken, by which no motion may begin.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin
from tqdm import tqdm

from impact_aware.arrays import Array
from impact_aware.control.live_field import LiveField
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.experiments.campaign import RunOptions, episode_settings
from impact_aware.experiments.campaign_plan import CONTROLLERS, Setup, campaign_task
from impact_aware.experiments.episode import run_episode
from impact_aware.experiments.episode_settings import EpisodeSettings, Truth
from impact_aware.experiments.random_setup import RANGES
from impact_aware.experiments.run_figures import RunFigures, figures_of
from impact_aware.messages.object_pose import ObjectPose, object_pose
from impact_aware.nodes.object_follower import ObjectFollower
from impact_aware.robot.profile import PLANTS
from impact_aware.swing import Swing
from impact_aware.task import Task, load_task, make_field
from impact_aware.task.arms import Arm, arms_of_task, frame_names
from impact_aware.task.object_watch import ObjectLimits
from impact_aware.transform_buffer import TransformBuffer
from impact_aware_rigs.bench.lab_sight import BAD, GOOD, KINDS, START, SWINGING, LabSight, Transform, draw_sight
from impact_aware_rigs.bench.perception_demos import run_demos
from impact_aware_rigs.bench.starts import TASKS

CAMPAIGNS = {
    "box": ("hit-and-push", "hit-and-push", "dual-arm-grab"),
    "cylinder": ("hit-and-push-can",),
    "hull": ("hit-and-push-wedge",),
}
"""What is done with objects of each shape, in turn: of boxes two hits, one grab."""

PLACE = (*RANGES.place, 0.02)
"""The object is displaced by up to this much from where the task has it, m; so is its goal."""

MOST_DRAWS = 50
"""Of place, camera and goal of a trial, until the task can be done as it is told."""

APPROACH = 0.8
"""Of an approach, about, s: the goal of an object that moves is as far from where it will be by then as others' are."""

LARGEST_YAW = 30.0
"""Of `--yaw`, deg: further turned ones are refused."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how many trials are made."""
    parser.add_argument("--trials", type=int, default=100, help="half of them with an object that moves (default: 100)")
    parser.add_argument("--seed", type=int, default=0, help="of everything that is drawn (default: 0)")
    parser.add_argument(
        "--yaw",
        type=float,
        default=LARGEST_YAW,
        metavar="DEG",
        help="objects are turned by up to this (default: %(default)g)",
    )
    parser.add_argument(
        "--shape", choices=tuple(CAMPAIGNS), default="box", help="of the objects (default: %(default)s)"
    )
    parser.add_argument(
        "--swinging", type=int, default=0, metavar="N", help="also N hits of an object that swings (default: none)"
    )
    parser.add_argument(
        "--dds", type=int, default=0, metavar="N", help="also N whole demos of each task over DDS, and N on a belt"
    )
    parser.add_argument("--dds-task", choices=TASKS, help="demos of this task only (default: of both)")
    parser.add_argument(
        "--plant", choices=PLANTS, default=PLANTS[0], help="joints of the true arms (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the benchmark.

    Raises:
        InvalidInputError: No trial, a negative seed, or a yaw out of range.
    """
    if options.trials < 1:
        raise InvalidInputError("--trials", options.trials, "at least 1")
    if options.dds < 0:
        raise InvalidInputError("--dds", options.dds, "a number >= 0")
    if options.swinging < 0:
        raise InvalidInputError("--swinging", options.swinging, "a number >= 0")
    if options.seed < 0:
        raise InvalidInputError("--seed", options.seed, "a number >= 0")
    if not 0.0 <= options.yaw <= LARGEST_YAW:
        raise InvalidInputError("--yaw", options.yaw, f"0 to {LARGEST_YAW:g} deg")
    scenes = [Scene.of(name) for name in CAMPAIGNS[options.shape]]
    # No turn about the vertical is seen of one that is round and stands upright.
    bad = tuple(kind for kind in BAD if options.shape != "cylinder" or kind != "turned")
    score = Score()
    for number in tqdm(range(options.trials), desc="trials", disable=not sys.stderr.isatty()):
        # In pairs, a still and a moving one, so that each scene has as many of both.
        scene = scenes[(number // len(GOOD)) % len(scenes)]
        for kind in (GOOD[number % len(GOOD)], bad[number % len(bad)]):
            drawn = draw_trial(scene, number, kind, options.seed, np.radians(options.yaw), options.plant)
            score.take(drawn, perceive(drawn))
    for number in tqdm(range(options.swinging), desc="swinging", disable=not sys.stderr.isatty()):
        drawn = draw_trial(scenes[0], number, SWINGING, options.seed, np.radians(options.yaw), options.plant)
        score.take(drawn, perceive(drawn))
    demos: dict[str, Any] = {}
    if options.dds:
        tasks = (options.dds_task,) if options.dds_task else tuple(dict.fromkeys(CAMPAIGNS[options.shape]))
        demos["dds"] = run_demos(options.dds, options.seed, options.yaw, options.plant, tasks)
    return (
        score.as_dict()
        | demos
        | {
            "drawn": {"trials": options.trials, "seed": options.seed, "yaw_deg": options.yaw, "plant": options.plant}
            | {"shape": options.shape},
            "aims": {
                "success_still": 0.9,
                "success_moving": 0.8,
                "prediction_error_ratio": 1.5,
                "begun_on_bad_pose": 0,
            },
        }
    )


@dataclass(frozen=True, eq=False)
class Scene:
    """A task of a campaign, with its arms."""

    campaign: str
    task: Task
    arms: tuple[Arm, ...]

    @classmethod
    def of(cls, campaign: str) -> Scene:
        """Load them."""
        task = load_task(campaign_task(campaign).task)
        return cls(campaign, task, arms_of_task(task, task.arms[0].robot))


@dataclass(frozen=True, eq=False)
class Trial:
    """What was drawn.

    Attributes:
        scene: Of which campaign.
        task: What the operator has told: its object stands where it usually does.
        sight: What the perception shows of the true one.
        settings: Of the run, with the true masses and friction.
        sensor_seed: Of the joints' sensors.
    """

    scene: Scene
    task: Task
    sight: LabSight
    settings: EpisodeSettings
    sensor_seed: int

    def run(self, believed: Task, velocity: Array, swing: Swing | None) -> RunFigures:
        """Do the task as it is believed to be, in the world as it is.

        Raises:
            InvalidInputError: It can't be done.
        """
        robots = [arm.robot for arm in self.scene.arms]
        settings = dataclasses.replace(self.settings, truth=self.truth(believed))
        moving: Any = {"object_velocity": velocity, "object_swing": swing}
        if swing is None and not velocity.any():
            moving = {}
        result = run_episode(believed, settings, self.sensor_seed, robots=robots, **moving)
        return figures_of(result, np.concatenate([robot.limits.effort for robot in robots]))

    def truth(self, believed: Task) -> Truth:
        """How the world differs from what is believed: the object stands on its table where it truly is."""
        placement = self.sight.placement
        x, y, z = (placement.translation - believed.object.position).tolist()
        rotation = believed.object.rotation
        apart = believed.object.solid.nearest_equal(placement.rotation, rotation) @ rotation.T
        yaw = float(pin.rpy.matrixToRpy(np.asfortranarray(apart))[2])
        moving: Any = tuple(self.sight.velocity.tolist())
        return dataclasses.replace(
            self.settings.truth,
            displacement=(x, y, z),
            table_displacement=z,
            yaw=yaw,
            object_velocity=moving,
            object_swing=self.sight.swing,
        )


@dataclass(frozen=True, eq=False)
class Perceived:
    """What came of the messages.

    Attributes:
        refusal: Why no motion may begin; empty when it may.
        task: With the object where it is believed to be when the motion begins.
        velocity: (3,) With which it is believed to move on, m/s.
        followed: How many poses were.
        swing: How it is believed to swing; None where it keeps its velocity.
    """

    refusal: str
    task: Task
    velocity: Array
    followed: int
    swing: Swing | None = None


def draw_trial(scene: Scene, number: int, kind: str, seed: int, yaw: float = 0.0, plant: str = PLANTS[0]) -> Trial:
    """Draw object, start, place, the world's true numbers and the camera; one for each number, kind and seed.

    Place, camera and goal are drawn again while the task as the operator tells it would be refused: a goal lower than
    the object that is told brings the arm's links too close to the table, for example.

    Raises:
        NoSolutionError: `MOST_DRAWS` such tasks in a row.
    """
    generator = np.random.default_rng([seed, number, KINDS.index(kind)])
    known = campaign_task(scene.campaign)
    setup = Setup(
        scene.campaign,
        str(generator.choice(known.objects)),
        int(generator.choice(known.starts)),
        0.0,
        int(generator.integers(2**31)),
        next(iter(CONTROLLERS)),
    )
    settings, sensor_seed = episode_settings(setup, RunOptions(plant=plant))
    task = scene.task.with_object(setup.object)
    robots = [arm.robot for arm in scene.arms]
    for _ in range(MOST_DRAWS):
        moved = generator.uniform(-1.0, 1.0, 3) * PLACE
        place = np.array(task.object.position) + moved
        sight = draw_sight(kind, frame_names(task, scene.arms)[0], place, generator, yaw, task.object)
        carried = sight.object_at(APPROACH).translation - place
        goal: Any = tuple((np.array(task.goal) + moved + carried).tolist())
        drawn = dataclasses.replace(task, goal=goal)
        with suppress(InvalidInputError):
            make_field(drawn, robots)
            return Trial(scene, drawn, sight, settings, sensor_seed)
    raise NoSolutionError(f"{MOST_DRAWS} drawn tasks in a row are refused", problem=(seed, number, kind))


def perceive(trial: Trial) -> Perceived:
    """Take what the perception and TF publish, as the nodes do, until the motion is asked for."""
    buffer, live = TransformBuffer(), LiveField(trial.task, trial.scene.arms)
    followed = 0

    def follow(seen: ObjectPose) -> None:
        nonlocal followed
        live.move_object(seen.pose, seen.velocity, seen.time, seen.swing)
        followed += 1

    base = trial.sight.base
    limits = ObjectLimits(object_may_swing=trial.sight.kind == SWINGING)
    follower = ObjectFollower(base, {"", base}, limits, buffer.pose, follow, lambda *_: None)
    follower.watch.turn.shape = trial.task.object.solid
    for now, event in trial.sight.arrivals():
        if isinstance(event, Transform):
            buffer.add(event.parent, event.child, event.time, event.pose, static=event.static)
            follower.retry(now)
        elif not follower.is_late(seen := object_pose(event), START + now):
            follower.receive(seen, now)
    field = live.field.advanced(START)
    place: Any = tuple(field.object_position.tolist())
    task = dataclasses.replace(live.task, object=dataclasses.replace(live.task.object, position=place))
    return Perceived(follower.refusal(0.0), task, field.object_velocity, followed, field.swing)


@dataclass
class Score:
    """What came of all trials.

    Attributes:
        counts: Of trials of each kind.
        refused: Of each kind, how often for which reason.
        done: Successes, by kind and task.
        asked: Of how many.
        causes: Why a motion that was begun did not do its task.
        begun_bad: Motions that would have begun by a broken perception.
        place_errors: Distances from perceived to true place, m.
        errors: Of the predicted jumps of the joints, over the true ones, by kind: perceived, and exact.
    """

    counts: Counter[str] = field(default_factory=Counter)
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    begun_bad: Counter[str] = field(default_factory=Counter)
    place_errors: list[float] = field(default_factory=list)
    errors: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def take(self, trial: Trial, perceived: Perceived) -> None:
        """Count a trial, and run it where that is allowed."""
        kind = trial.sight.kind
        self.counts[kind] += 1
        if kind not in BAD:
            self.asked[kind, trial.task.name] += 1
        if perceived.refusal:
            self.refused.setdefault(kind, Counter())[reason(perceived.refusal)] += 1
        elif kind in BAD:
            self.begun_bad[kind] += 1
        else:
            self._run(trial, perceived)

    def _run(self, trial: Trial, perceived: Perceived) -> None:
        apart = trial.sight.placement.translation - perceived.task.object.position
        self.place_errors.append(float(np.linalg.norm(apart)))
        try:
            own = trial.run(perceived.task, perceived.velocity, perceived.swing)
        except InvalidInputError as error:
            self.causes[f"start refused: {reason(str(error))}"] += 1
            return
        self.done[trial.sight.kind, trial.task.name] += own.success
        if own.cause:
            self.causes[own.cause] += 1
        known = trial.task.object.placed(trial.sight.placement)
        exact = trial.run(dataclasses.replace(trial.task, object=known), trial.sight.velocity, trial.sight.swing)
        pair = own.prediction_error, exact.prediction_error
        if np.isfinite(pair).all():
            self.errors.setdefault(trial.sight.kind, []).append(pair)

    def as_dict(self) -> dict[str, Any]:
        """The figures for the benchmark's JSON; shares of what was drawn, None where nothing was."""
        refused = sum(self.refused.values(), Counter())
        still, moving, swung = (np.array(self.errors.get(kind, [])).reshape(-1, 2) for kind in (*GOOD, SWINGING))
        both = np.concatenate((still, moving))
        return {
            "trials": dict(self.counts),
            "success_still": self._success("still"),
            "success_moving": self._success("moving"),
            "success_swinging": self._success(SWINGING),
            "success_of_task": {f"{kind} {name}": self.done[kind, name] / n for (kind, name), n in self.asked.items()},
            "failed": dict(self.causes),
            "place_error_mm": {
                "p50": _percentile(1e3 * np.array(self.place_errors), 50),
                "p95": _percentile(1e3 * np.array(self.place_errors), 95),
            },
            "prediction_error": {"perceived": _percentile(both[:, 0], 50), "exact": _percentile(both[:, 1], 50)},
            "prediction_error_ratio": _percentile(both[:, 0] / both[:, 1], 50),
            "prediction_error_ratio_still": _percentile(still[:, 0] / still[:, 1], 50),
            "prediction_error_ratio_moving": _percentile(moving[:, 0] / moving[:, 1], 50),
            "prediction_error_ratio_swinging": _percentile(swung[:, 0] / swung[:, 1], 50),
            "refused": dict(refused.most_common()),
            "refused_of_kind": {kind: own.total() for kind, own in self.refused.items()},
            "begun_on_bad_pose": self.begun_bad.total(),
            "begun_of_kind": dict(self.begun_bad),
        }

    def _success(self, kind: str) -> float | None:
        asked, done = (sum(n for (of, _), n in counts.items() if of == kind) for counts in (self.asked, self.done))
        return done / asked if asked else None


def reason(refusal: str) -> str:
    """The first clause of a refusal, with # for its numbers."""
    return re.sub(r"-?\d+(\.\d+)?", "#", re.split(r"[,:]", refusal)[0])


def _percentile(values: Any, share: float) -> float | None:
    return float(np.percentile(values, share)) if len(values) else None
