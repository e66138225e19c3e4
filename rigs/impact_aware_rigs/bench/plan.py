"""`impact-aware bench plan`: wanted results planned and run, refusals held against a dense search, and shipped hits."""

from __future__ import annotations

import argparse
import dataclasses
import time
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from impact_aware.arrays import Array
from impact_aware.cli.output import progress
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.experiments.campaign import Disturbances
from impact_aware.experiments.episode import EpisodeResult, EpisodeSettings, Truth, run_episode
from impact_aware.experiments.run_figures import figures_of
from impact_aware.parameters import Options, described
from impact_aware.planning import HitPlan, HitUncertainty, WantedResult, candidates, plan_hit
from impact_aware.planning.aiming import aim, approached, hit_state
from impact_aware.planning.plan import pattern_of, wanted_velocity
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.simulation.joint_elasticity import STIFFNESS
from impact_aware.simulation.sensors import SensorSettings
from impact_aware.task import Task, load_task
from impact_aware.task.arms import robots_of_task
from impact_aware.task.task_object import TaskObject
from impact_aware.worker_pool import finished

NOISE = Disturbances()
"""What is drawn for each run, as in the campaign; `HitUncertainty` states the same."""

KINDS = ("push velocity", "slide", "push goal", "grab velocity", "grab goal")

TASKS = {"push": ("hit_and_push_palm", "hit_and_push_can", "hit_and_push"), "grab": ("dual_arm_grab",)}

DETECTORS = {"hit_and_push_palm": "fusion", "hit_and_push_can": "fusion"}


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """How much is planned and run."""

    results: int = described(100, "feasible results that are planned and run", 1, 100_000)
    seed: int = described(4747, "seed of results and worlds", 0, 2**31 - 1)
    workers: int = described(2, "processes", 1, 1000)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Plan and run every result, then the shipped tasks."""
    jobs = {index: (args.seed, index) for index in range(args.results)}
    rows: list[dict[str, Any]] = []
    with progress(total=len(jobs), desc="plan", unit="result") as bar:
        for _, found in finished(jobs, trial, args.workers):
            rows += found
            bar.update()
    return {**score(rows), "shipped": {name: as_shipped(name) for name in SHIPPED}}


def score(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of all trials, and of each kind of result."""
    done = [row for row in rows if not row["refused"]]
    refused = [row for row in rows if row["refused"]]
    slides = [row["length_error"] for row in done if row["kind"] == "slide"]
    return {
        "results": len(done),
        "inside": float(np.mean([row["inside"] for row in done])),
        "slide_error": float(np.median(slides)) if slides else float("nan"),
        "limits_passed": sum(bool(row["passed"]) for row in done),
        "refused": len(refused),
        "wrongly_refused": sum(row["dense"] for row in refused),
        "cpu_s": float(np.median([row["cpu_s"] for row in done])),
        "cpu_s_largest": max(row["cpu_s"] for row in done),
        "cpu_s_refused": max((row["cpu_s"] for row in refused), default=0.0),
        "kinds": {
            kind: {
                "runs": len(own),
                "inside": float(np.mean([row["inside"] for row in own])),
                "error": float(np.median([row["error"] for row in own])),
                "half_width": float(np.median([row["half_width"] for row in own])),
                "probability": float(np.mean([row["probability"] for row in own])),
                "within_tolerance": float(np.mean([row["within"] for row in own])),
                "goal_error": float(np.max([row["goal_error"] for row in own])),
            }
            for kind in KINDS
            if (own := [row for row in done if row["kind"] == kind])
        },
    }


def trial(job: tuple[int, int]) -> list[dict[str, Any]]:
    """Rows of one job: refused results, each held against a dense search, and then one that is planned and run."""
    generator = np.random.default_rng(job)
    rows: list[dict[str, Any]] = []
    kind = KINDS[job[1] % len(KINDS)]
    for _ in range(MOST_DRAWS):
        task, wanted = drawn(kind, generator)
        begin = time.process_time()
        try:
            plan: HitPlan | None = plan_hit(task, wanted)
        except InvalidInputError as error:
            plan, reason = None, str(error)
        row: dict[str, Any] = {"kind": kind, "cpu_s": time.process_time() - begin, "job": job}
        if plan is not None and not plan.reason:
            return [*rows, row | {"refused": ""} | measured(plan, generator)]
        reason = reason if plan is None else plan.reason
        rows.append(row | {"refused": reason, "dense": feasible_somewhere(task, wanted)})
    return rows


MOST_DRAWS = 20
"""Results that one job draws until one is feasible."""


def drawn(kind: str, generator: np.random.Generator) -> tuple[Task, WantedResult]:
    """A task with another object, place and orientation, and a wanted result."""
    names = TASKS["grab" if kind.startswith("grab") else "push"]
    task = load_task(names[generator.integers(len(names))])
    known = [task.object, *(each for each in task.objects if each.name != "lying_can")]
    task = task.with_object(known[generator.integers(len(known))].name)
    thing, grab = task.object, kind.startswith("grab")
    shift = generator.uniform(-0.05, 0.05, 2) * (0.3 if grab else 1.0)
    place = np.add(thing.position, [*shift, 0.0]).tolist()
    yaw = generator.uniform(-0.3, 0.3) * (0.2 if grab else 1.0)
    moved: TaskObject = dataclasses.replace(thing, position=tuple(place), orientation_rpy=(0.0, 0.0, float(yaw)))
    task = dataclasses.replace(task, object=moved)
    angle = -0.5 * np.pi + generator.uniform(-0.6, 0.6)
    along = np.array([np.cos(angle), np.sin(angle)])
    if kind == "slide":
        x, y = (generator.uniform(0.01, 0.09) * along).tolist()
        return task, WantedResult(slide=(x, y))
    if kind == "push velocity":
        x, y = (generator.uniform(0.1, 0.7) * along).tolist()
        return task, WantedResult(velocity=(x, y, 0.0))
    if kind == "push goal":
        x, y = np.add(place[:2], generator.uniform(0.1, 0.4) * along).tolist()
        return task, WantedResult(goal=(x, y, place[2]))
    if kind == "grab velocity":
        velocity = (0.0, generator.uniform(-0.04, 0.04), generator.uniform(0.03, 0.12))
        return task, WantedResult(velocity=velocity)
    x, y, z = np.add(place, generator.uniform((-0.05, -0.12, 0.05), (0.05, 0.12, 0.2))).tolist()
    return task, WantedResult(goal=(x, y, z))


def settings_of(task: Task, generator: np.random.Generator | None) -> EpisodeSettings:
    """The flexible plant, its world drawn within the stated errors; as stated without a generator."""
    mass, table, tool, x, y, yaw = np.zeros(6) if generator is None else generator.normal(size=6)
    return EpisodeSettings(
        detector=DETECTORS.get(task.name, "adaptive_window"),
        detector_parameters={"position_noise": NOISE.encoder, "encoder_resolution": NOISE.encoder_resolution},
        sensors=SensorSettings(
            encoder_resolution=NOISE.encoder_resolution, position_noise=NOISE.encoder, velocity_noise=NOISE.velocity
        ),
        joint_stiffness=STIFFNESS,
        truth=Truth(
            displacement=(NOISE.position * x, NOISE.position * y, 0.0),
            yaw=NOISE.yaw * yaw,
            mass_factor=1.0 + NOISE.mass * mass,
            friction_table_factor=1.0 + NOISE.friction * table,
            friction_tool_factor=1.0 + NOISE.friction * tool,
        ),
        duration=5.0,
        settle_time=0.1,
    )


def measured(plan: HitPlan, generator: np.random.Generator) -> dict[str, Any]:
    """The run of a plan: its true result against the interval, and what limit it passed."""
    found = run_episode(plan.task, settings_of(plan.task, generator), int(generator.integers(2**31)))
    true, wanted = result_of(plan, found), np.array(plan.wanted.slide or plan.wanted.velocity or plan.result)
    wanted = wanted[: len(true)]
    away = np.abs(true - plan.result) / plan.half_width
    size = float(np.linalg.norm(wanted))
    return {
        "inside": bool(np.all(away <= 1.0)),
        "away": away.tolist(),
        "true": true.tolist(),
        "centre": plan.result.tolist(),
        "half": plan.half_width.tolist(),
        "error": float(np.linalg.norm(true - plan.result)) / size,
        "half_width": float(np.linalg.norm(plan.half_width)) / size,
        "length_error": abs(float(np.linalg.norm(true)) / size - 1.0),
        "within": float(np.linalg.norm(true - wanted)) <= plan.wanted.tolerance * size,
        "probability": plan.probability,
        "goal_error": found.goal_error,
        "passed": passed(plan, found),
        "speed": float(np.linalg.norm(plan.task.arms[0].impact_velocity)),
        "task": plan.task.name,
        "object": plan.task.object.name,
        "apart": found.arms_apart,
        "closing": float(np.abs(plan.hits[0].velocity @ plan.hits[0].normal)),
    }


def result_of(plan: HitPlan, found: EpisodeResult) -> Array:
    """The true result of a run, as `HitPlan.result` has it; NaN where the object was not hit.

    The velocity of a pushed object is its fastest one within `AFTER` of the first touch: the corners of a palm that is
    askew meet the object one after another, and the first of them alone ends its compression earlier.
    """
    if plan.wanted.slide is not None:
        return np.asarray(found.object_position[-1] - found.object_position[0])[:2]
    if plan.task.lifts or found.first_impact is None:
        return found.object_velocity_after[: len(plan.result)]
    begin = found.first_impact.time
    rows = found.object_twist[(found.time >= begin) & (found.time <= begin + AFTER), :2]
    return np.asarray(rows[int(np.argmax(np.linalg.norm(rows, axis=1)))])


AFTER = 0.03
"""Time after the first touch within which all corners of a palm have met the object, s."""


def passed(plan: HitPlan, found: EpisodeResult) -> str:
    """The first limit that a run passed; empty for none."""
    if found.safe_reason is not None:
        return f"safe mode: {found.safe_reason}"
    if found.first_contact.split(" on ")[0] != "tool":
        return found.first_contact
    robots, first = robots_of_task(plan.task), 0
    for robot in robots:
        limits, joints = SafetyLimits.of(robot), slice(first, first + robot.n)
        first += robot.n
        for name, values, bound in (
            ("velocity", np.abs(found.dq[:, joints]).max(axis=0), limits.velocity),
            ("effort", np.abs(found.effort[:, joints]).max(axis=0), limits.effort),
        ):
            if np.any(values > bound):
                return f"{name} {float((values / bound).max()):.3f}"
    names = [arm.name or "arm" for arm in plan.task.arms]
    for impact in found.impacts[:1]:
        own = names.index(impact.arm)
        first = sum(robot.n for robot in robots[:own])
        jump = np.abs(impact.jump[first : first + robots[own].n])
        if np.any(jump > SafetyLimits.of(robots[own]).velocity_jump):
            return "velocity_jump"
    return ""


def feasible_somewhere(task: Task, wanted: WantedResult) -> bool:
    """Whether a dense search over the posture and the turn of the tool has a hit for a result within every limit."""
    known, robots = HitUncertainty(), robots_of_task(task)
    velocity = wanted_velocity(task, wanted, known)
    pattern = pattern_of(task, wanted, velocity, known)
    dense: dict[str, Any] = {"NULL_ANGLES": DENSE_ANGLES, "TURNS": DENSE_TURNS, "CLOSING": DENSE_CLOSING}
    dense |= {"CONE": 1.0, "HELD": np.inf}
    with mock.patch.multiple(candidates, **dense):
        try:
            found = candidates.candidates(pattern, robots, velocity)
        except InvalidInputError:
            return False
    for candidate in found:
        try:
            state = aim(candidate, robots, velocity, known)
            approached(state, known)
            return True
        except ImpactAwareError:
            continue
    return False


DENSE_ANGLES = np.linspace(-1.4, 1.4, 57)
"""Angles of the redundant joint from that of the task, rad."""

DENSE_TURNS = tuple(np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False).tolist())
"""Turns of a palm about the normal, rad."""

DENSE_CLOSING = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
"""Speeds with which two palms close in, m/s."""

SHIPPED = ("hit_and_push_palm", "hit_and_push_can", "hit_and_push", "dual_arm_grab")
"""Shipped tasks whose hits are planned anew for the velocity after that they have."""

RUNS = 5
"""Runs of a shipped task and of its plan, each with another seed of the sensors and the world as stated."""


def as_shipped(name: str) -> dict[str, Any]:
    """Peak and jump of a shipped task, and of a hit that is planned for the same goal and velocity after."""
    task, known = load_task(name), HitUncertainty()
    state = hit_state(task, robots_of_task(task))
    velocity = state.velocities(known, state.stated).mean(axis=0) * (1.0, 1.0, float(task.lifts))
    x, y, z = velocity.tolist()
    plan = plan_hit(task, WantedResult(goal=task.goal, velocity=(x, y, z)))
    before, after = (np.mean([peak_and_jump(each, seed) for seed in range(RUNS)], axis=0) for each in (task, plan.task))
    names = ("peak", "jump", "velocity_after")
    shipped, planned = (dict(zip(names, each.tolist(), strict=True)) for each in (before, after))
    return {"infeasible": plan.reason, "shipped": shipped, "planned": planned}


def peak_and_jump(task: Task, seed: int) -> tuple[float, float, float]:
    """Peak target acceleration, norm of all joints' true jumps, and the object's speed after, of one run."""
    found = run_episode(task, settings_of(task, None), seed)
    robots = robots_of_task(task)
    figures = figures_of(found, np.concatenate([robot.limits.effort for robot in robots]))
    first = {impact.arm: impact for impact in reversed(found.impacts) if impact.partner == "object"}
    jump = float(np.linalg.norm([np.linalg.norm(impact.jump) for impact in first.values()]))
    return figures.peak, jump, float(np.linalg.norm(found.object_velocity_after))
