"""A candidate aimed exactly: the tools' velocities that leave the object with the wanted one, and what limits the hit.

For one mode of every contact the velocity after is linear in the tools' velocities, and modes change it piece by piece.
The step u += (1 + m / m_eff) (v_wanted - v(u)) of all tools together solves a central hit at once; what friction, the
table and the arms' coupling add to that is a contraction of the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control.safety.impact_check import ImpactLoad, check_field, expected_impact, impact_loads
from impact_aware.errors import InvalidInputError
from impact_aware.impact.material import RIGID
from impact_aware.impact.palm import summed_contact
from impact_aware.planning.candidates import CLOSING, Candidate
from impact_aware.planning.capability import approach_loads
from impact_aware.planning.outcome import HitState, HitUncertainty
from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task import Task, base_placement, make_field
from impact_aware.task.hit import aimed, hit_of
from impact_aware.task.make_field import joint_velocity_of_tool, posture_with_tool_at, usual_posture

STEPS, CLOSE = 10, 2e-3
"""Steps of the inversion at most, and the share of the wanted velocity that may be left."""

SAME = 0.9
"""Least cosine between a palm's way into its face and the normal that it meets: a tool fast along it meets another."""

APPROACH, ROOM = 0.2, 0.08
"""Least way from the start to the hit, and least way at full speed after the start's ramp, m."""

TOWARDS = 0.3
"""Share of the normal in the way from which two palms come. At 0, 3 of 40 grabs pass a joint's velocity limit before
they touch; at 1, palms that lift fast meet the object 40 mm from the planned point."""

SHORTER = (1.0, 0.8, 0.6)
"""Factors on that way, tried until the arm reaches the start without touching anything."""


def aim(candidate: Candidate, robots: Sequence[RobotModel], velocity: Array, known: HitUncertainty) -> HitState:
    """The state just before the hit that leaves the object with a velocity (3,), m/s, where all is as stated.

    Two palms never touch at the same moment: for them it is the mean of either one being first.

    Raises:
        InvalidInputError: The arm does not reach start, hit or goal, friction passes the velocity on in no way, or
            palms would leave their faces.
    """
    task = candidate.task
    thing, single = task.object, len(robots) == 1
    gain = 1.0 + thing.mass / candidate.effective_mass
    common, faces = gain * velocity, candidate.closing / max(float(np.linalg.norm(candidate.closing[0])), 1e-12)
    for _ in range(STEPS):
        tools = zip(task.arms, candidate.closing + common, strict=True)
        task = replace(task, arms=tuple(aimed(thing, arm, tool, centred=single) for arm, tool in tools))
        normals = (hit_of(thing, arm).normal for arm in task.arms)
        if not single and any(own @ normal > -SAME for own, normal in zip(faces, normals, strict=True)):
            expected = f"one with which palms that close in at {CLOSING[-1]} m/s stay on their faces"
            raise InvalidInputError("velocity after the hit", np.round(velocity, 3).tolist(), expected)
        state = hit_state(started(task, robots, SHORTER[-1]), robots)
        error = velocity - state.velocities(replace(known, material=RIGID), state.stated).mean(axis=0)
        if single:
            error -= thing.up * float(thing.up @ error)
        if np.linalg.norm(error) <= CLOSE * np.linalg.norm(velocity):
            return state
        common = common + gain * error
    expected = "one that friction of the tools passes on to the object"
    raise InvalidInputError("velocity after the hit", np.round(velocity, 3).tolist(), expected)


def hit_state(task: Task, robots: Sequence[RobotModel]) -> HitState:
    """The state just before the hit of a complete task.

    Raises:
        InvalidInputError: As `make_field`, of start, hit and goal alone.
    """
    reference = make_field(task, robots, whole_motion=False)
    q, dq = [], []
    for arm, robot, own in zip(task.arms, robots, reference.arms, strict=True):
        q.append(posture_with_tool_at(arm, robot, own.impact_position, usual_posture(arm, robot)))
        dq.append(joint_velocity_of_tool(arm, robot, q[-1], own.impact_velocity))
    return HitState(task, robots, reference, q, dq)


def started(task: Task, robots: Sequence[RobotModel], share: float) -> Task:
    """The task with starts a share of the usual way before its hits, from where all tools take as long to arrive.

    The way of one tool is straight along the hit's velocity: from elsewhere the field leads past the point that shall
    be hit. Two palms come from nearer to their faces' normals, see `TOWARDS`.
    """
    hits = [hit_of(task.object, arm) for arm in task.arms]
    speeds = [float(np.linalg.norm(hit.velocity)) for hit in hits]
    ramp = 0.5 * task.fields.start_ramp
    time = max(max(share * APPROACH / speed, ramp + share * ROOM / speed) for speed in speeds)
    arms = []
    for arm, robot, hit, speed in zip(task.arms, robots, hits, speeds, strict=True):
        along = hit.velocity / speed - (TOWARDS * hit.normal if task.lifts else 0.0)
        start = hit.point + robot.tool_radius * hit.normal - time * speed * along / np.linalg.norm(along)
        arms.append(replace(arm, starts=(tuple(start.tolist()),)))
    return replace(task, arms=tuple(arms))


def approached(state: HitState, known: HitUncertainty) -> HitState:
    """The state with the longest straight approach that touches nothing, its hit held against every limit.

    Raises:
        InvalidInputError: Links touch the object or the table, or the hit is beyond a limit.
    """
    worst, robots = loads_of(state, known)[0], state.robots
    if not worst.share <= 1.0:
        field = f"{worst.name} of {worst.where}".removesuffix(" of ")
        raise InvalidInputError(field, f"{worst.value:.3g}", f"at most {worst.limit:.3g} in a hit")
    refused: InvalidInputError | None = None
    for share in SHORTER:
        try:
            task = started(state.task, robots, share)
            reference = make_field(task, robots)
        except InvalidInputError as error:
            refused = error
            continue
        arms = tuple(replace(arm, posture=tuple(q.tolist())) for arm, q in zip(task.arms, state.q, strict=True))
        if len(arms) > 1:
            check_field(reference, robots, bases=[base_placement(arm) for arm in arms], postures=state.q, task=task)
        return replace(state, task=replace(task, arms=arms), field=reference)
    assert refused is not None
    raise refused


def loads_of(state: HitState, known: HitUncertainty) -> tuple[ImpactLoad, ...]:
    """Limits of the hit by falling share, `where` after the arm's name; one is friction, 1 where the tool slips."""
    found: list[ImpactLoad] = []
    nominal, friction = state.predicted(known, state.stated[0]), state.task.object.friction_tool
    arms = zip(state.task.arms, state.robots, state.q, state.dq, strict=True)
    for index, (arm, robot, q, dq) in enumerate(arms):
        limits, base = SafetyLimits.of(robot), base_placement(arm)
        impact = expected_impact(state.field, robot, index, base=base, posture=q, task=state.task)
        tool = summed_contact(nominal, arm.name)
        pressing = float(tool.normal @ tool.impulse)
        ratio = float(np.linalg.norm(tool.impulse - pressing * tool.normal)) / max(pressing, 1e-9)
        own = [*impact_loads(impact, robot, limits), *approach_loads(robot, limits, q, dq)]
        if friction > 0.0:
            own.append(ImpactLoad("friction", "tool", ratio, friction, min(ratio / friction, 1.0), np.inf))
        found += [replace(load, where=f"{arm.name} {load.where}".strip()) for load in own]
    return tuple(sorted(found, key=lambda load: -load.share))
