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
from impact_aware.planning.aiming import aim, approached, loads_of
from impact_aware.planning.candidates import Candidate, candidates, passed_on
from impact_aware.planning.outcome import CARRY, HitState, HitUncertainty, drawn_worlds, results, speed_for_slide
from impact_aware.robot import RobotModel
from impact_aware.task import Task
from impact_aware.task.arms import robots_of_task
from impact_aware.task.hit import Hit, hit_of
from impact_aware.task.result import GOAL, SLIDE, WantedResult
from impact_aware.task.task_object import as_vector

AIMED, TRIED = 4, 40
"""Candidates that are compared, and those that are tried at most until so many are found."""

WORLDS = 80
"""Drawn worlds of a plan's probability and interval."""

HALVINGS = 5
"""Halvings of the interval that holds the largest feasible share of a result: to 3 % of its speed."""

LIMITING = 0.85
"""Share of a limit from which it is named as what no faster hit keeps: energy grows with the square of the speed."""

ROUGH = 1.5
"""Estimated load up to which a candidate is aimed: the estimate is that of a central hit without friction."""

SMALLER = (0.8, 0.6, 0.4, 0.2)
"""Shares of a result that are tried where none is feasible at any speed, such as a goal that is out of reach."""

AS_PROBABLE = 0.03
"""Probabilities that differ by less are equal: about the standard error of `WORLDS` near certainty."""

PUSH_SHARE = 0.5
"""Speed after a hit over the speed with which the field leads from there to the goal: its mean on the way."""


@dataclass(frozen=True, eq=False)
class HitPlan:
    """A planned hit.

    Attributes:
        task: Complete, as `make_field`, `run_episode` and a task file take it; each arm's posture is that of the hit.
        wanted: The result that it is planned for: the requested one, or the nearest feasible one.
        result: (k,) Mean of drawn results: the way of a slide (2,), m, else the velocity after, (2,) on a table or
            (3,), m/s.
        half_width: (k,) Half the interval about `result` that holds 95 % of the drawn results whole.
        probability: Share of drawn worlds whose result is within its tolerance.
        loads: Limits of the hit, friction of the tool among them, by falling share: the first one limits it.
        reason: Why the requested result is infeasible; empty where it is planned as requested.
        alternatives: Other hits for the result, at most three, the most probable first.
    """

    task: Task
    wanted: WantedResult
    result: Array
    half_width: Array
    probability: float
    loads: tuple[ImpactLoad, ...]
    reason: str = ""
    alternatives: tuple[HitPlan, ...] = ()

    @property
    def hits(self) -> tuple[Hit, ...]:
        """Where and how fast each tool meets the object, task frame."""
        return tuple(hit_of(self.task.object, arm) for arm in self.task.arms)


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
    nearby = [velocity] if task.lifts else passed_on(task, velocity)
    if not np.array_equal(nearby[0], velocity):
        there, near = (float(np.degrees(np.arctan2(each[1], each[0]))) for each in (velocity, nearby[0]))
        reason = f"friction of the tool passes on no push along {there:.1f} deg, but one along {near:.1f} deg"
    refused: InvalidInputError | None = None
    for aimed_at in (*nearby, *(share * nearby[0] for share in SMALLER)):
        asked = wanted if np.array_equal(aimed_at, velocity) else _nearest(task, wanted, aimed_at, known)
        try:
            share, states, slower = _fastest(task, asked, aimed_at, known, robots)
        except InvalidInputError as error:
            refused = refused or error
            continue
        reason = reason or str(refused or "")
        if wanted.is_free:
            asked = replace(asked, velocity=as_vector(share * aimed_at))
        elif share < 1.0:
            asked = _nearest(task, asked, share * aimed_at, known)
        best, *others = _compared(states, asked, known)
        if share < 1.0 and not wanted.is_free and not reason:
            load = best.loads[0]
            uses = f", which use {100 * load.share:.0f} % of {load.name} {load.where}".rstrip()
            cause = uses if load.share > LIMITING else f"; a faster hit is refused: {slower}"
            reason = f"at most {share * np.linalg.norm(aimed_at):.3g} m/s are feasible after the hit{cause}"
        return replace(best, reason=reason, alternatives=tuple(others))
    assert refused is not None
    raise refused


def wanted_velocity(task: Task, wanted: WantedResult, known: HitUncertainty) -> Array:
    """Velocity (3,) of the object just after the hit from which a result follows, m/s.

    Raises:
        InvalidInputError: A result that the task's arms can't have: a slide of what they lift, a push off the table or
            into it, or an object that never stops.
    """
    thing, lifts, goal = task.object, task.lifts, list(wanted.goal or ())
    if not (lifts or goal or thing.friction_table):
        raise InvalidInputError("object.friction_table", 0.0, "a number > 0: without friction the object never stops")
    if wanted.slide is not None:
        if lifts:
            raise InvalidInputError("result.slide", list(wanted.slide), "velocity or goal, as tools lift the object")
        length = float(np.hypot(*wanted.slide))
        speed = speed_for_slide(length, thing.friction_table, known.carry_time)
        return np.array([*wanted.slide, 0.0]) * (speed / length)
    velocity = np.array(wanted.velocity or np.zeros(3))
    if wanted.velocity is None:
        way = np.subtract(goal, thing.position)
        if not lifts and abs(way[2]) > thing.height:
            raise InvalidInputError("result.goal", goal, "one on the table: one arm lifts nothing")
        velocity = PUSH_SHARE * task.fields.post_gain * way * (1.0, 1.0, float(lifts and way[2] > 0.0))
    if not velocity.any():
        raise InvalidInputError("result.goal", goal, "one to the side of the object, or above it")
    if velocity[2] < 0.0 or not lifts and velocity[2]:
        expected = "one that does not lead into the table" if lifts else "a horizontal push: one arm lifts nothing"
        raise InvalidInputError("result", np.round(velocity, 3).tolist(), expected)
    return velocity


def _fastest(
    task: Task, wanted: WantedResult, velocity: Array, known: HitUncertainty, robots: Sequence[RobotModel]
) -> tuple[float, list[HitState], InvalidInputError | None]:
    """The largest feasible share of a velocity (3,), m/s, hits that have it, and what refuses a larger one.

    Raises:
        InvalidInputError: No share is feasible.
    """
    able = candidates(pattern_of(task, wanted, velocity, known), robots, velocity)
    low, high, found = 0.0, 2.0, list[HitState]()
    refused: InvalidInputError | None = None
    for _ in range(HALVINGS + 1):
        share = 0.5 * (low + high)
        try:
            found = _feasible(able, wanted, share, velocity, known, robots)
        except InvalidInputError as error:
            high, refused = share, error
            continue
        low = share
        if share == 1.0 or wanted.is_free:
            break
    if refused is not None and not found:
        raise refused
    return low, found, refused


def _feasible(
    able: Sequence[Candidate], wanted: WantedResult, share: float, velocity: Array, known: HitUncertainty,
    robots: Sequence[RobotModel],
) -> list[HitState]:  # fmt: skip
    """Hits for a share of a velocity (3,), m/s, within every limit; one is enough for less than all of it.

    Raises:
        InvalidInputError: There is none.
    """
    found, refused = list[HitState](), InvalidInputError("result", wanted.kind, "a slower one")
    near = [candidate for candidate in able if share * candidate.load <= ROUGH] or able
    for candidate in near[:TRIED]:
        own = replace(candidate, task=pattern_of(candidate.task, wanted, share * velocity, known))
        try:
            found.append(approached(aim(own, robots, share * velocity, known), known))
        except InvalidInputError as error:
            refused = error if candidate is near[0] else refused
        if len(found) == (AIMED if share == 1.0 or wanted.is_free else 1):
            break
    if not found:
        raise refused
    return found


def _compared(states: Sequence[HitState], wanted: WantedResult, known: HitUncertainty) -> list[HitPlan]:
    """Plans of hits for a result, the one to take first: the least jump of those that are as probable as any."""
    states = sorted(states, key=lambda state: state.jump(known))
    plans = [_summary(state, wanted, replace(known, material=RIGID)) for state in states]
    enough = max(plan.probability for plan in plans) - AS_PROBABLE
    first = next(index for index, plan in enumerate(plans) if plan.probability >= enough)
    best = plans.pop(first)
    best = best if known.material == RIGID else _summary(states[first], wanted, known)
    return [best, *sorted(plans, key=lambda plan: -plan.probability)]


def _summary(state: HitState, wanted: WantedResult, known: HitUncertainty) -> HitPlan:
    """The plan of a hit for a result, by those in drawn worlds."""
    worlds = drawn_worlds(WORLDS)
    drawn = results(state.task, wanted.kind, state.velocities(known, worlds), known, worlds)
    target = np.array(wanted.slide or wanted_velocity(state.task, wanted, known))[: drawn.shape[1]]
    centre, half_width, _ = material_interval(drawn)
    away = np.linalg.norm(drawn - target, axis=1)
    probability = float(np.mean(away <= wanted.tolerance * np.linalg.norm(target)))
    return HitPlan(state.task, wanted, centre, half_width, probability, loads_of(state, known))


def pattern_of(task: Task, wanted: WantedResult, velocity: Array, known: HitUncertainty) -> Task:
    """The task with the goal of a result, where the tools release an object that shall slide on alone."""
    release, goal = not task.lifts and wanted.kind != GOAL, wanted.goal or task.goal
    if release:
        goal = as_vector(np.add(task.object.position, [*_slide(task, velocity, known), 0.0]))
    return replace(task, goal=goal, fields=replace(task.fields, release=release), result=None)


def _slide(task: Task, velocity: Array, known: HitUncertainty) -> Array:
    """Way (2,) that the object slides from a velocity (3,), m/s, where all is as stated, m."""
    return np.asarray(results(task, SLIDE, velocity[None], known, np.zeros((1, CARRY + 1)))[0])


def _nearest(task: Task, wanted: WantedResult, velocity: Array, known: HitUncertainty) -> WantedResult:
    """The result of the wanted kind that follows from another velocity (3,) after the hit, m/s."""
    if wanted.slide is not None:
        x, y = _slide(task, velocity, known).tolist()
        return replace(wanted, slide=(x, y))
    if wanted.velocity is not None:
        return replace(wanted, velocity=as_vector(velocity))
    way = velocity / (PUSH_SHARE * task.fields.post_gain)
    return replace(wanted, goal=as_vector(np.add(task.object.position, way)))
