"""Hits that may lead to a wanted velocity of the object: faces, turns of the tool and postures, the least loaded first.

A task is the pattern: its arms' tools, bases, heights above the object's centre and orientations to the face stay. One
arm may hit another face, with the tool turned about the face's normal; the redundancy is the angle of the joint that
the null-space task holds. Two arms keep their faces and choose postures and the speed with which they close in.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.shape import shortest_turn
from impact_aware.errors import InvalidInputError
from impact_aware.planning.capability import Capability, capability
from impact_aware.reference.rotation import rotation_from_quaternion
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics
from impact_aware.task.hit import aimed, hit_of
from impact_aware.task.make_field import base_placement, tool_placement, usual_posture
from impact_aware.task.task import ArmTask, Task

TURNS = (0.0, 0.5 * np.pi, -0.5 * np.pi, np.pi)
"""Turns of a palm about the normal, rad; a tip, which may lean, turns with its face alone."""

NULL_ANGLES = np.linspace(-1.2, 1.2, 13)
"""Angles of the redundant joint from that of the task, rad."""

HELD = 0.85
"""Largest of these angles with two arms, rad: farther out both swing about a light object until they lose it."""

CLOSING = (0.3, 0.35, 0.4)
"""Speeds with which two palms close in on the object, m/s: slower ones let a light object slip."""

CONE = 0.95
"""Largest share of the angle of friction that a planned hit uses: beyond it an error of the coefficient is a slip."""

OBLIQUE = (1.0, 0.75, 0.5)
"""Shares of the largest angle to the normal that are tried where the direction of a result is beyond it."""

REACHED = 0.15
"""Way before a hit that a posture's arm has to reach, m: what the shortest approach needs."""

PER_ROUND = 2
"""Postures of one way that come before those of other ways that are more loaded."""

LEVEL = 0.2
"""Sine of the largest angle between a face that is hit and the vertical."""

SIDES = np.radians((0.0, 45.0, -45.0, 90.0, -90.0))
"""Directions, from the wanted one, whose faces are tried, rad."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A hit that is not yet aimed.

    Attributes:
        task: With orientation, null-space angle and posture of each arm.
        load: Speed over the largest that keeps every limit, estimated for a central hit without friction.
        jump: Norm of the joints' jump, estimated as the load, rad/s.
        effective_mass: Of all arms together along their normals, kg.
        closing: Velocity (arms, 3) of each tool against its normal that is no part of the object's, m/s.
        way: What makes hits of one arm alike whose postures differ alone: face and turn of the tool.
    """

    task: Task
    load: float
    jump: float
    effective_mass: float
    closing: Array
    way: tuple[float, ...]


def candidates(task: Task, robots: Sequence[RobotModel], velocity: Array) -> list[Candidate]:
    """Hits that may leave the object with a velocity (3,), m/s, that friction passes on.

    The two of each way that jump the least come first, then the next two of each, each time the least jump first; what
    is beyond a limit comes last.

    Raises:
        InvalidInputError: No posture reaches the object.
    """
    found = list(_pushes(task, robots[0], velocity) if len(robots) == 1 else _grasps(task, robots, velocity))
    if not found:
        expected = "one where start, hit and goal are within reach of the arm and its joint limits"
        raise InvalidInputError("object.position", np.round(task.object.position, 3).tolist(), expected)
    found.sort(key=lambda candidate: (max(candidate.load, 1.0), candidate.jump))
    rank: Counter[tuple[float, ...]] = Counter()
    order = []
    for candidate in found:
        order.append((max(candidate.load, 1.0), rank[candidate.way] // PER_ROUND, candidate.jump))
        rank[candidate.way] += 1
    return [found[index] for index in sorted(range(len(found)), key=order.__getitem__)]


def passed_on(task: Task, velocity: Array) -> list[Array]:
    """Velocities (3,), m/s, in a direction that friction passes on through a face, the nearest to the given one first.

    Towards the normal of each face come less oblique ones: the layout of a task has a palm's tool move within 45 deg of
    its face's normal, and a tool that is light along the face has to move more obliquely than the object.
    """
    found, size = [], np.linalg.norm(velocity)
    for normal in _faces(task, velocity):
        turn = pin.log3(shortest_turn(-normal, velocity / size))
        angle = float(np.linalg.norm(turn))
        for share in OBLIQUE:
            allowed = share * CONE * float(np.arctan(task.object.friction_tool))
            within = pin.exp3(turn * (allowed / angle)) @ -normal * size if angle > allowed else velocity
            found.append((max(angle - allowed, 0.0), tuple(within.tolist())))
    return [np.array(within) for within in dict.fromkeys(within for _, within in sorted(found))]


def _faces(task: Task, velocity: Array) -> list[Array]:
    """Normals (3,) of upright faces about a direction, the one that looks the most against it first."""
    thing, along = task.object, velocity / np.linalg.norm(velocity)
    sides = [thing.standing.face(-pin.exp3(side * thing.up) @ along) for side in SIDES]
    level = {tuple(np.round(normal, 9)): normal for normal in sides if abs(normal @ thing.up) < LEVEL}
    return sorted(level.values(), key=lambda normal: float(normal @ along))


def _pushes(task: Task, robot: RobotModel, velocity: Array) -> Iterator[Candidate]:
    thing, (arm,) = task.object, task.arms
    pattern = arm.outward - thing.up * float(arm.outward @ thing.up)
    speed = float(np.linalg.norm(velocity))
    cone = speed * (np.cos(CONE * np.arctan(thing.friction_tool)) - 1e-9)
    for normal in [each for each in _faces(task, velocity) if -each @ velocity >= cone]:
        upright = rotation_from_quaternion(arm.start_orientation)
        facing = shortest_turn(pattern / np.linalg.norm(pattern), normal) @ upright
        for turn in TURNS if any(arm.pad_half_sizes) else TURNS[:1]:
            rotation = thing.turn.T @ pin.exp3(turn * normal) @ facing
            rpy = tuple(pin.rpy.matrixToRpy(np.asfortranarray(rotation)).tolist())
            try:
                own = aimed(thing, replace(arm, orientation_rpy=rpy), velocity)
            except InvalidInputError:
                continue
            for placed, able in _able(own, robot, task):
                needed = speed * (1.0 + thing.mass / able.effective_mass)
                load, jump, mass = needed / able.speed, needed * able.jump, able.effective_mass
                yield Candidate(replace(task, arms=(placed,)), load, jump, mass, np.zeros((1, 3)), (*normal, turn))


def _grasps(task: Task, robots: Sequence[RobotModel], velocity: Array) -> Iterator[Candidate]:
    hits, choices = [hit_of(task.object, arm) for arm in task.arms], []
    for arm, robot in zip(task.arms, robots, strict=True):
        able = sorted(_able(arm, robot, task), key=lambda each: each[1].jump)
        usual = [each for each in able[1:] if each[0].null_space_position == arm.null_space_position]
        choices.append(able[:1] + usual)
    for closing, pair in itertools.product(CLOSING, itertools.product(*choices)):
        moved = replace(task, arms=tuple(own for own, _ in pair))
        load, jump = max(closing / each.speed for _, each in pair), max(closing * each.jump for _, each in pair)
        against = np.array([-closing * hit.normal for hit in hits])
        yield Candidate(moved, load, jump, sum(each.effective_mass for _, each in pair), against, ())


def _able(arm: ArmTask, robot: RobotModel, task: Task) -> Iterator[tuple[ArmTask, Capability]]:
    """The arm held in each posture that hits and from which it reaches start and goal, and what it is capable of."""
    hit, joint = hit_of(task.object, arm), arm.null_space_joint
    tool = hit.point + robot.tool_radius * hit.normal
    normal = base_placement(arm).rotation.T @ hit.normal
    place, travel = tool_placement(arm, tool), np.subtract(task.destination, task.object.position)
    others = tool_placement(arm, tool + REACHED * hit.normal, start=True), tool_placement(arm, tool + travel)
    angles = arm.null_space_position + NULL_ANGLES[np.abs(NULL_ANGLES) <= (HELD if task.lifts else np.inf)]
    for angle, q in held_postures(robot, place, usual_posture(arm, robot), joint, angles, others):
        able = capability(robot, q, normal, task.object.mass, joint)
        yield replace(arm, null_space_position=angle, posture=tuple(q.tolist())), able


def held_postures(
    robot: RobotModel, place: pin.SE3, seed: Array, joint: int, angles: Array, others: Sequence[pin.SE3] = (), *,
    restarts: int = 1,
) -> Iterator[tuple[float, Array]]:  # fmt: skip
    """Angles (k,) at which a joint is held, rad, and postures (n,) with the tool at a place of the base frame, rad.

    `joint` is below 0 where none is redundant; `others` are places that the tool has to reach with the joint held; the
    first posture is looked for near `seed` (n,), and from as many random ones as `restarts` has it.
    """
    for angle in angles.tolist() if joint >= 0 else [0.0]:
        fixed = {joint: angle} if joint >= 0 else None
        try:
            q = solve_inverse_kinematics(robot, place, seed, fixed=fixed, restarts=restarts)
            for other in others:
                solve_inverse_kinematics(robot, other, q, fixed=fixed, restarts=0)
        except InvalidInputError:
            continue
        seed = q
        yield angle, q
