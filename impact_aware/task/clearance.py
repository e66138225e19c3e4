"""Before the motion: would a link touch the object, the table or the other arm, where only the tool is meant to?

The tools are followed along the ante-impact field from the start to the impact, then with the object to its goal;
distances of the links' convex hulls are measured by coal at every sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.contact.shape import PlacedShape, Shape, shortest_turn
from impact_aware.contact.shape_registry import shape_of
from impact_aware.errors import InvalidInputError
from impact_aware.reference.field import ArmReference, ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.robot.link_shapes import LinkShape, link_shapes

CLEARANCE = 0.008
"""Least distance of a link from what only the tool may touch, m: object poses, tracking and hulls are each off by some
millimetres."""

TABLE_RIM = 0.05
"""Width of the table around the object's way, m: the object needs it; how far a table reaches is not known."""

TABLE_DEPTH = 1.0
"""Depth of the space below the table's top that links keep out of, m."""

STEP = 0.01
"""Time between two samples of the approach, s: 5 mm at 0.5 m/s, less than `CLEARANCE`."""

MOST_STEPS = 1000
"""Samples after which an approach that does not arrive is given up; a goal that takes more is refused."""

PUSH_STEP = 0.02
"""Distance between two samples of the object's way to its goal, m."""

_DAMPING = 1e-4
_NULL_SPACE_GAIN = 5.0  # 1/s
_TOUCH = 1e-6  # m
_OBJECT, _TABLE, _TOOL = "object", "table", "tool"


@dataclass(frozen=True)
class Approach:
    """The least distance between two bodies along a motion.

    Attributes:
        link: Name of a link or `tool`, after its arm's name and a slash where there are several arms.
        body: `object`, `table`, or a link of another arm.
        distance: m; negative where they overlap.
        before_impact: Distance of the tool from its impact position, along the normal, where the two first came closer
            than `CLEARANCE`, m; 0 from the impact on.
        at_start: Whether they are too close at the start.
    """

    link: str
    body: str
    distance: float
    before_impact: float
    at_start: bool = False

    def __str__(self) -> str:
        """In words."""
        away = f"{1e3 * self.distance:.0f} mm from" if self.distance > 0.0 else f"{-1e3 * self.distance:.0f} mm inside"
        ahead = 1e3 * self.before_impact
        when = f"{ahead:.0f} mm before the impact" if ahead > 0.0 else "the impact"
        return f"{self.link} {away} {self.body}, too close from {'the start' if self.at_start else when} on"


def check_clearance(
    field: ReferenceField, robots: Sequence[RobotModel], bases: Sequence[pin.SE3], postures: Sequence[Array]
) -> None:
    """Refuse a motion in which anything but the tool meets the object, the table or the other arm.

    Args:
        field: The reference.
        robots: One model per arm.
        bases: Pose of each arm's base in the field's frame.
        postures: (n,) of each arm at the start, rad.

    Raises:
        InvalidInputError: Two bodies come closer than `CLEARANCE`, the tool begins within the object, or the goal is
            too far away.
    """
    _refuse_closest(field, approaches(field, robots, bases, postures))


def check_postures(
    field: ReferenceField, robots: Sequence[RobotModel], bases: Sequence[pin.SE3], postures: Sequence[Sequence[Array]]
) -> None:
    """As `check_clearance` for three postures alone, in a twentieth of the time: the start, the impact and the goal.

    `postures` holds those (n,) of each arm, in this order.
    """
    still, arms = np.zeros(3), _arms(field, robots, bases)
    moved = (still, still, field.goal - field.object_position)
    samples = [(list(each), there) for each, there in zip(zip(*postures, strict=True), moved, strict=True)]
    _refuse_closest(field, _approaches(_placed(field), moved[-1], arms, samples))


def approaches(
    field: ReferenceField, robots: Sequence[RobotModel], bases: Sequence[pin.SE3], postures: Sequence[Array]
) -> list[Approach]:
    """Bodies that come closer than `CLEARANCE`, the closest pair first; arguments as those of `check_clearance`.

    An object that moves is taken to stand where the field has it.

    Raises:
        InvalidInputError: A goal too far away to look at the way there.
    """
    distance, farthest = float(np.linalg.norm(field.goal - field.object_position)), MOST_STEPS * PUSH_STEP
    if distance > farthest:
        given = f"{distance:g} m from the object"
        raise InvalidInputError(f"goal of task {field.task}", given, f"{farthest:g} m at most")
    arms = _arms(field, robots, bases)
    return _approaches(_placed(field), field.goal - field.object_position, arms, _motion(field, arms, postures))


def is_clear(placed: PlacedShape, robot: RobotModel, base: pin.SE3, own: ArmReference, q: Array) -> bool:
    """Whether the links of one arm in a posture (n,), rad, are clear of an object and its table; the tool may touch."""
    return not _approaches(placed, np.zeros(3), [_Arm(robot, base, own, False)], [([q], np.zeros(3))])


def _placed(field: ReferenceField) -> PlacedShape:
    return PlacedShape(shape_of(field), field.object_position, field.object_rotation)


def _arms(field: ReferenceField, robots: Sequence[RobotModel], bases: Sequence[pin.SE3]) -> list[_Arm]:
    return [_Arm(*each, len(robots) > 1) for each in zip(robots, bases, field.arms, strict=True)]


def _refuse_closest(field: ReferenceField, found: Sequence[Approach]) -> None:
    if found:
        wanted = f"{1e3 * CLEARANCE:.0f} mm at least; only the tool may touch, and the object only, where it hits"
        raise InvalidInputError(f"motion of task {field.task}", str(found[0]), wanted)


_Sample: TypeAlias = tuple[list[Array], Array]
"""Postures (n,) of all arms, rad, and how far (3,) the object has moved, m."""


def _approaches(
    placed: PlacedShape, travel: Array, arms: Sequence[_Arm], samples: Iterable[_Sample]
) -> list[Approach]:
    board, half = table_board(_table_top(placed), placed.position, travel, placed.shape.reach)
    thing, block = _coal_shape(placed.shape), coal.Box(*(2.0 * half))
    least: dict[tuple[str, str], Approach] = {}

    def keep(link: str, body: str, distance: float, ahead: float, limit: float = CLEARANCE) -> None:
        if distance < limit:
            known = least.get((link, body), Approach(link, body, distance, ahead, sample == 0))
            least[link, body] = replace(known, distance=min(distance, known.distance))

    for sample, (configurations, moved) in enumerate(samples):
        ahead = 0.0 if moved.any() else max(arm.ahead(q) for arm, q in zip(arms, configurations, strict=True))
        for arm, q in zip(arms, configurations, strict=True):
            arm.move(q)
        there = pin.SE3(placed.rotation, placed.position + moved)
        for arm in arms:
            for index in arm.near_box(there, placed.shape.half_extents):
                if index != arm.tool:
                    keep(arm.names[index], _OBJECT, arm.distance(index, thing, there), ahead)
                elif sample == 0:
                    keep(arm.names[index], _OBJECT, arm.distance(index, thing, there), ahead, -_TOUCH)
            for index in arm.near_box(board, half):
                if index != arm.tool and arm.joints[index]:
                    keep(arm.names[index], _TABLE, arm.distance(index, block, board), ahead)
        for one, other in combinations(arms, 2):
            for first, second in one.near(other):
                distance = one.distance(first, other.shapes[second], other.placements[second])
                keep(one.names[first], other.names[second], distance, ahead)
    return sorted(least.values(), key=lambda found: found.distance)


def table_board(table: pin.SE3, centre: Array, travel: Array, reach: float) -> tuple[pin.SE3, Array]:
    """The part of a table that is known to be there: under the object's way.

    Args:
        table: Pose of the table's top, whose z axis points out of it.
        centre: (3,) Of the object at the start, m.
        travel: (3,) From there to its goal, m.
        reach: Largest distance of the object's surface from its centre, m.

    Returns:
        Pose of the centre of a box, and its half edges (3,), m.
    """
    ends = np.array([table.actInv(centre), table.actInv(centre + travel)])[:, :2]
    low, high = ends.min(axis=0) - reach - TABLE_RIM, ends.max(axis=0) + reach + TABLE_RIM
    middle = table.act(np.append(0.5 * (low + high), -0.5 * TABLE_DEPTH))
    return pin.SE3(table.rotation, middle), np.append(0.5 * (high - low), 0.5 * TABLE_DEPTH)


def _table_top(placed: PlacedShape) -> pin.SE3:
    """Pose of the top of the table that an object stands on."""
    up = -placed.face(np.array([0.0, 0.0, -1.0]))
    foot = placed.position - placed.shape.depth(-placed.rotation.T @ up) * up
    return pin.SE3(shortest_turn((0.0, 0.0, 1.0), up), foot)


def _coal_shape(shape: Shape) -> coal.CollisionGeometry:
    x, y, z = (2.0 * shape.half_extents).tolist()
    if shape.name == "box":
        return coal.Box(x, y, z)
    if shape.name == "cylinder":
        return coal.Cylinder(0.5 * x, z)
    points = coal.StdVec_Vec3s()
    points.extend(shape.vertices)
    return coal.Convex.convexHull(points, True, "Qt")


class _Arm:
    """One arm's links and tool where they are; the tool comes last, and a point stands for a joint without shapes."""

    def __init__(self, robot: RobotModel, base: pin.SE3, own: ArmReference, several: bool) -> None:
        parts = list(link_shapes(robot)) or [
            LinkShape(str(name), index, pin.SE3.Identity(), coal.Sphere(_TOUCH))
            for index, name in enumerate(robot.model.names)
        ]
        tip = robot.model.frames[robot.tool_frame_id]
        ball = coal.Sphere(max(robot.tool_radius, _TOUCH))
        parts.append(LinkShape(_TOOL, tip.parentJoint, tip.placement, ball))
        self._robot, self._base, self._own = robot, base, own
        self.names = [f"{own.arm}/{part.link}" if several else part.link for part in parts]
        self.joints = [part.joint for part in parts]
        self.shapes = [part.shape for part in parts]
        self.tool = len(parts) - 1
        self.placements = self._local = [part.placement for part in parts]
        for shape in self.shapes:
            shape.computeLocalAABB()
        self._middles = [np.array(shape.aabb_center) for shape in self.shapes]
        self._radii = np.array([shape.aabb_radius for shape in self.shapes])
        self._request, self._result = coal.DistanceRequest(), coal.DistanceResult()

    def pose(self, q: Array) -> pin.SE3:
        """Pose of the tool in the field's frame."""
        return self._base * self._robot.placement(q)

    def ahead(self, q: Array) -> float:
        """Distance of the tool before its impact position along the normal, m."""
        return float(self._own.normal @ (self.pose(q).translation - self._own.impact_position))

    def step(self, q: Array, displacement: Array, share: float) -> Array:
        """Posture (n,) after a displacement (6,) of the tool, with a share of the way of the null-space joint."""
        robot, own = self._robot, self._own
        rows, wanted = robot.frame_jacobian(q), displacement.reshape(2, 3) @ self._base.rotation
        wanted = wanted.ravel()
        if own.null_space_joint >= 0:
            rows = np.vstack([rows, np.eye(robot.n)[own.null_space_joint]])
            wanted = np.append(wanted, share * (own.null_space_position - q[own.null_space_joint]))
        gain = rows.T @ np.linalg.inv(rows @ rows.T + _DAMPING * np.eye(len(rows)))
        return np.asarray(np.clip(q + gain @ wanted, robot.limits.position_lower, robot.limits.position_upper))

    def move(self, q: Array) -> None:
        """Put the links where a posture (n,) has them."""
        model, data = self._robot.model, self._robot.data
        pin.forwardKinematics(model, data, q)
        carriers = [self._base * data.oMi[joint] for joint in range(model.njoints)]
        self.placements = [carriers[joint] * own for joint, own in zip(self.joints, self._local, strict=True)]
        self._centres = np.array([place.act(m) for place, m in zip(self.placements, self._middles, strict=True)])

    def near_box(self, box: pin.SE3, half: Array) -> list[int]:
        """Parts whose bounding spheres come closer to a box, with half edges (3,), than `CLEARANCE`."""
        outside = np.abs((self._centres - box.translation) @ box.rotation) - half
        gaps = np.linalg.norm(np.maximum(outside, 0.0), axis=1) - self._radii
        return [int(index) for index in np.flatnonzero(gaps < CLEARANCE)]

    def near(self, other: _Arm) -> NDArray[np.intp]:
        """Pairs (k, 2) of own and another arm's parts whose bounding spheres come closer than `CLEARANCE`."""
        gaps = np.linalg.norm(self._centres[:, None] - other._centres, axis=2) - self._radii[:, None] - other._radii
        gaps[np.ix_(np.equal(self.joints, 0), np.equal(other.joints, 0))] = np.inf
        return np.argwhere(gaps < CLEARANCE)

    def distance(self, part: int, shape: coal.CollisionGeometry, placement: pin.SE3) -> float:
        """From one of the parts to a shape, m; negative where they overlap."""
        self._result.clear()
        own = self.placements[part]
        first = coal.Transform3s(own.rotation, own.translation)
        second = coal.Transform3s(placement.rotation, placement.translation)
        return float(coal.distance(self.shapes[part], first, shape, second, self._request, self._result))


def _motion(field: ReferenceField, arms: Sequence[_Arm], postures: Sequence[Array]) -> Iterator[_Sample]:
    """From postures (n,) at the start along the field to the impact, then with the object to its goal."""
    still, travel = np.zeros(3), field.goal - field.object_position
    q = [np.array(posture, dtype=float) for posture in postures]
    yield q, still
    fields = [field.ante_impact(index) for index in range(len(arms))]
    moving = set(range(len(arms)))
    for _ in range(MOST_STEPS):
        for index in sorted(moving):
            pose, ahead = arms[index].pose(q[index]), arms[index].ahead(q[index])
            twist, _ = fields[index].evaluate(pose.translation, pose.rotation)
            closing = -float(field.arms[index].normal @ twist[:3])
            time = min(STEP, ahead / closing) if closing > 0.0 else STEP
            if ahead <= _TOUCH:
                moving.discard(index)
            else:
                q[index] = arms[index].step(q[index], time * twist, _NULL_SPACE_GAIN * STEP)
        if not moving:
            break
        yield list(q), still
    else:
        return
    poses = [arm.pose(posture) for arm, posture in zip(arms, q, strict=True)]
    count = math.ceil(float(np.linalg.norm(travel)) / PUSH_STEP)
    for part in range(1, count + 1):
        moved = travel * part / count
        for index, (arm, pose) in enumerate(zip(arms, poses, strict=True)):
            for _ in range(2):
                now = arm.pose(q[index])
                turn = pin.log3(pose.rotation @ now.rotation.T)
                shift = pose.translation + moved - now.translation
                q[index] = arm.step(q[index], np.concatenate([shift, turn]), 1.0)
        yield list(q), moved
