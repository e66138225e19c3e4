"""From a wanted result to the hit that most probably has it: the inverse of the impact map, under the arm's limits.

What the inversion leaves free, face, posture and closing speed, is chosen by the probability of the result among drawn
worlds, and among equals by the smallest jump of the joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control.safety.impact_check import ImpactLoad
from impact_aware.errors import InvalidInputError
from impact_aware.impact.material import RIGID, material_interval
from impact_aware.planning.aiming import aim, approached, loads_of, stated
from impact_aware.planning.candidates import candidates, passed_on
from impact_aware.planning.outcome import HitState, HitUncertainty, Worlds, results, speed_for_slide
from impact_aware.robot import RobotModel
from impact_aware.task import Task
from impact_aware.task.arms import robots_of_task
from impact_aware.task.result import GOAL, SLIDE, WantedResult
from impact_aware.task.task_object import Vector

NEARLY = 0.6
"""Load up to which a candidate is aimed at full speed at once: the estimate of its load is a rough one."""

AIMED, REFINED, ALTERNATIVES = 6, 4, 3
"""Candidates that are aimed exactly, those that jump the least and are compared, and other hits that a plan shows."""

FEW, MANY = 40, 160
"""Worlds by which candidates are compared, and worlds of a plan's probability and interval."""

AS_PROBABLE = 0.03
"""Probabilities that differ by less are equal: half of that is the standard error of `FEW` worlds near certainty."""

TRIED, ATTEMPTS = 40, 9
"""Candidates that are tried at most for one result, and attempts, the wanted one among them, at a feasible result."""

SMALLER, KEPT = 0.8, 0.98
"""What is tried of an infeasible result, to the power of the attempt, and of the speed that a limit allows."""

PUSH_SHARE = 0.5
"""Speed after a hit over the speed with which the field leads from there to the goal: its mean on the way."""


@dataclass(frozen=True, eq=False)
class HitPlan:
    """A planned hit.

    Attributes:
        task: Complete, as `make_field`, `run_episode` and a task file take it.
        wanted: The result that it is planned for: the requested one, or the nearest feasible one.
        result: (k,) Mean of drawn results: the way of a slide (2,), m, else the velocity after, (2,) on a table or
            (3,), m/s.
        half_width: (k,) Half the interval about `result` that holds 95 % of the drawn results whole.
        probability: Share of drawn worlds whose result is within its tolerance.
        postures: (n,) Of each arm at the impact, rad.
        points: (3,) Of each arm's contact, task frame, m.
        normals: (3,) Of each arm's contact, from the object into the robot, task frame.
        velocities: (3,) Of each tool at the impact, task frame, m/s.
        loads: Limits of the hit, friction of the tool among them, by falling share: the first one limits it.
        reason: Why the requested result is infeasible; empty where it is planned as requested.
        alternatives: Other hits for the result, at most three, the most probable first.
    """

    task: Task
    wanted: WantedResult
    result: Array
    half_width: Array
    probability: float
    postures: tuple[Array, ...]
    points: tuple[Array, ...]
    normals: tuple[Array, ...]
    velocities: tuple[Array, ...]
    loads: tuple[ImpactLoad, ...]
    reason: str = ""
    alternatives: tuple[HitPlan, ...] = ()


def plan_hit(
    task: Task,
    wanted: WantedResult,
    uncertainty: HitUncertainty | None = None,
    *,
    robots: Sequence[RobotModel] | None = None,
) -> HitPlan:
    """Plan the hit that most probably has a wanted result, with its posture, approach and limits.

    Args:
        task: Object, arms, tools and bases; its hit is the pattern, see `impact_aware.planning.candidates`.
        wanted: The result: a slide of what one arm pushes, or a velocity or goal of what one or two arms hit.
        uncertainty: Standard deviations of the inputs; the defaults when None.
        robots: One model per arm; those of the task's profiles when None.

    Returns:
        The plan; where the result is infeasible that of the nearest feasible one, with the reason.

    Raises:
        InvalidInputError: A result that no hit of this kind has, or an object that no arm hits in any way.
    """
    known, robots = uncertainty or HitUncertainty(), robots_of_task(task) if robots is None else list(robots)
    velocity, reason = wanted_velocity(task, wanted, known), ""
    refused: InvalidInputError | None = None
    free = wanted.goal is not None and wanted.velocity is None  # a goal alone leaves the speed free
    directions = [velocity] if task.lifts else passed_on(task, velocity)
    if not np.array_equal(directions[0], velocity):
        there, near = (float(np.degrees(np.arctan2(each[1], each[0]))) for each in (velocity, directions[0]))
        reason = f"friction of the tool passes on no push along {there:.1f} deg, but one along {near:.1f} deg"
        wanted = _nearest(task, wanted, directions[0], known)
    for attempt in range(1, ATTEMPTS):
        try:
            plans = _plans(task, wanted, known, robots)
            return replace(plans[0], reason=reason, alternatives=tuple(plans[1:]))
        except OverLimitError as error:
            refused, directions = refused or error, []
            if not free:
                reason = reason or str(error)
            slower = error.slower * wanted_velocity(task, wanted, known)
            wanted = replace(wanted, velocity=_three(slower)) if wanted.goal else _nearest(task, wanted, slower, known)
        except InvalidInputError as error:
            refused, reason, directions = refused or error, reason or str(error), directions[1:]
            velocity = directions[0] if directions else SMALLER**attempt * wanted_velocity(task, wanted, known)
            alone = replace(wanted, velocity=None) if wanted.goal else wanted
            wanted = _nearest(task, alone, velocity, known)
    assert refused is not None
    raise refused


class OverLimitError(InvalidInputError):
    """A result whose hit is beyond a limit of the arm.

    Attributes:
        slower: Factor on the speed after the hit that keeps the limit.
    """

    def __init__(self, velocity: Array, slower: float, limit: str) -> None:
        """Name the limit that the least loaded hit exceeds."""
        self.slower, speed = slower, float(np.linalg.norm(velocity))
        expected = f"at most {slower * speed:.3g} m/s, with which a hit keeps {limit}"
        super().__init__("velocity after the hit", f"{speed:.3g} m/s", expected)


def wanted_velocity(task: Task, wanted: WantedResult, known: HitUncertainty) -> Array:
    """Velocity (3,) of the object just after the hit from which a result follows, m/s.

    Raises:
        InvalidInputError: A result that the task's arms can't have: a slide of what they lift, a push off the table or
            into it, or an object that never stops.
    """
    thing = task.object
    if not (task.lifts or wanted.goal or thing.friction_table):
        raise InvalidInputError("object.friction_table", 0.0, "a number > 0: without friction the object never stops")
    if wanted.slide is not None:
        if task.lifts:
            raise InvalidInputError("result.slide", list(wanted.slide), "velocity or goal, as tools lift the object")
        length = float(np.hypot(*wanted.slide))
        speed = speed_for_slide(length, thing.friction_table, known.carry_time)
        return np.array([*wanted.slide, 0.0]) * (speed / length)
    velocity = np.array(wanted.velocity or np.zeros(3))
    if wanted.velocity is None:
        way = np.subtract(wanted.goal or thing.position, thing.position)
        if not task.lifts and abs(way[2]) > thing.height:
            raise InvalidInputError("result.goal", list(wanted.goal or ()), "one on the table: one arm lifts nothing")
        velocity = PUSH_SHARE * task.fields.post_gain * np.array([*way[:2], max(way[2], 0.0) if task.lifts else 0.0])
    if not velocity.any():
        raise InvalidInputError("result.goal", list(wanted.goal or ()), "one to the side of the object, or above it")
    if not task.lifts and velocity[2]:
        raise InvalidInputError("result", np.round(velocity, 3).tolist(), "a horizontal push: one arm lifts nothing")
    if velocity[2] < 0.0:
        raise InvalidInputError("result", np.round(velocity, 3).tolist(), "one that does not lead into the table")
    return velocity


def _plans(task: Task, wanted: WantedResult, known: HitUncertainty, robots: Sequence[RobotModel]) -> list[HitPlan]:
    """Plans of a result within every limit, the one to take first, then at most three others."""
    velocity = wanted_velocity(task, wanted, known)
    pattern, few = pattern_of(task, wanted, velocity, known), Worlds.drawn(known, FEW)
    target = np.array(wanted.slide) if wanted.slide is not None else velocity if task.lifts else velocity[:2]
    found: list[tuple[float, HitState]] = []
    over, refused = (0.0, ""), None
    for candidate in candidates(pattern, robots, velocity)[:TRIED]:
        try:
            slower = min(1.0, NEARLY / candidate.load)
            state = aim(replace(candidate, closing=slower * candidate.closing), robots, slower * velocity, known)
            worst = min(loads_of(state, known), key=lambda load: load.headroom)
            if slower * worst.headroom < 1.0:
                over = max(over, (KEPT * slower * worst.headroom, f"{worst.name} of {worst.where or 'the arm'}"))
                continue
            state = approached(state if slower == 1.0 else aim(candidate, robots, velocity, known))
        except InvalidInputError as error:
            refused = refused or error
            over = max(over, (KEPT / candidate.load, candidate.limit)) if candidate.load > 1.0 else over
            continue
        found.append((state.jump(known, stated(state, known)), state))
        if len(found) == AIMED:
            break
    if over[0] and not found:
        raise OverLimitError(velocity, *over)
    if refused is not None and not found:
        raise refused
    compared = []
    for jump, state in sorted(found, key=lambda each: each[0])[:REFINED]:
        plan = _summary(state, wanted, target, replace(known, material=RIGID), few)
        compared.append((plan.probability, jump, state, plan))
    enough = max(probability for probability, *_ in compared) - AS_PROBABLE
    compared.sort(key=lambda each: (each[0] < enough, each[1] if each[0] >= enough else -each[0]))
    best = _summary(compared[0][2], wanted, target, known, Worlds.drawn(known, MANY))
    return [best, *(plan for *_, plan in compared[1:][:ALTERNATIVES])]


def _summary(state: HitState, wanted: WantedResult, target: Array, known: HitUncertainty, worlds: Worlds) -> HitPlan:
    """The plan of a hit for a target (k,), by its results in drawn worlds."""
    drawn = results(state.task, wanted.kind, state.velocities(known, worlds), worlds)
    centre, half_width, _ = material_interval(drawn)
    away = np.linalg.norm(drawn - target, axis=1)
    arms = list(zip(state.field.arms, state.robots, strict=True))
    return HitPlan(
        task=state.task,
        wanted=wanted,
        result=centre,
        half_width=half_width,
        probability=float(np.mean(away <= wanted.tolerance * np.linalg.norm(target))),
        postures=tuple(state.q),
        points=tuple(own.impact_position - robot.tool_radius * own.normal for own, robot in arms),
        normals=tuple(own.normal for own, _ in arms),
        velocities=tuple(own.impact_velocity for own, _ in arms),
        loads=loads_of(state, known),
    )


def pattern_of(task: Task, wanted: WantedResult, velocity: Array, known: HitUncertainty) -> Task:
    """The task with the goal of a result, where the tools release an object that shall slide on alone."""
    release, goal = not task.lifts and wanted.kind != GOAL, wanted.goal or task.goal
    if release:
        goal = _three(np.add(task.object.position, [*_slide(task, velocity, known), 0.0]))
    return replace(task, goal=goal, fields=replace(task.fields, release=release), result=None)


def _slide(task: Task, velocity: Array, known: HitUncertainty) -> Array:
    """Way (2,) that the object slides from a velocity (3,), m/s, where all is as stated, m."""
    return np.asarray(results(task, SLIDE, velocity[None], Worlds.stated(known, np.zeros((1, 2))))[0])


def _nearest(task: Task, wanted: WantedResult, velocity: Array, known: HitUncertainty) -> WantedResult:
    """The result of the wanted kind that follows from another velocity (3,) after the hit, m/s."""
    if wanted.slide is not None:
        x, y = _slide(task, velocity, known).tolist()
        return replace(wanted, slide=(x, y))
    if wanted.velocity is not None:
        return replace(wanted, velocity=_three(velocity))
    way = velocity / (PUSH_SHARE * task.fields.post_gain)
    return replace(wanted, goal=_three(np.add(task.object.position, way)))


def _three(numbers: Array) -> Vector:
    x, y, z = numbers.tolist()
    return x, y, z
