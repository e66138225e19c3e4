"""How fast an arm may hit over a table: at every point and in every direction the best of its postures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.shape import PlacedShape, shortest_turn
from impact_aware.markers import style as look
from impact_aware.markers.marker import Color, Marker, Sheet
from impact_aware.planning.candidates import NULL_ANGLES, held_postures
from impact_aware.planning.capability import Capability, capability
from impact_aware.reference.rotation import rotation_from_quaternion
from impact_aware.robot import RobotModel
from impact_aware.task import Task, base_placement
from impact_aware.task.clearance import is_clear
from impact_aware.task.hit import hit_of
from impact_aware.task.make_field import arm_reference, usual_posture

EVERY = 3
"""Angles of the redundant joint that the map skips to, of those that a plan tries."""

BASE, REACH = 0.2, 0.9
"""Nearest and farthest point from the base, horizontally, m: outside the base, and beyond the shipped arms' reach."""

COLOURS: dict[str, Color] = {
    "impact_energy": look.BEFORE, "velocity_before": look.PREDICTED, "velocity": look.ESTIMATED,
    "velocity_jump": look.IMPULSE, "tool_speed": look.CONTACT,
}  # fmt: skip
"""Colour of each limit that a hit reaches; a reflex of the arm has that of the reference."""

SHOWN = 0.045
"""Time for which a line has the way of the tool, s."""


class MapPoint(NamedTuple):
    """One point and direction of the map, task frame.

    Attributes:
        position: (3,) Of the tool, m.
        direction: (3,) Of the hit, horizontal unit vector.
        best: Of the arm's postures there.
    """

    position: Array
    direction: Array
    best: Capability


def arm_map(task: Task, robot: RobotModel, *, spacing: float, directions: int) -> list[MapPoint]:
    """The largest safe speeds of a task's first arm with its object and tool, which are turned with the direction.

    Points are left out that are out of reach, or where links would touch the object or the table in every posture.

    Args:
        task: Its object, tool, height of the hit and base.
        robot: The arm.
        spacing: Between points, m.
        directions: Horizontal ones, evenly spaced.
    """
    arm, thing, found = task.arms[0], task.object, list[MapPoint]()
    hit, base, joint = hit_of(thing, arm), base_placement(arm), arm.null_space_joint
    own = arm_reference(task, arm, robot)
    pattern = hit.normal * (1.0, 1.0, 0.0) / np.linalg.norm(hit.normal[:2])
    reach = np.arange(-round(REACH / spacing), round(REACH / spacing) + 1) * spacing
    for side in np.linspace(0.0, 2.0 * np.pi, directions, endpoint=False):
        direction, seed = np.array([np.cos(side), np.sin(side), 0.0]), usual_posture(arm, robot)
        turn, normal = shortest_turn(pattern, -direction), -base.rotation.T @ direction
        turned, upright = turn @ rotation_from_quaternion(arm.orientation), turn @ thing.rotation
        for x in reach:
            for y in reach[(np.hypot(x, reach) <= REACH) & (np.hypot(x, reach) >= BASE)]:
                position = np.array([*(base.translation[:2] + (x, y)), hit.point[2]])
                place = base.actInv(pin.SE3(turned, position))
                held = [q for _, q in held_postures(robot, place, seed, joint, NULL_ANGLES[::EVERY], restarts=0)]
                seed = held[-1] if held else seed
                there = PlacedShape(thing.solid, position + turn @ (thing.position - own.impact_position), upright)
                able = [(capability(robot, q, normal, thing.mass, joint), q) for q in held]
                able.sort(key=lambda each: -each[0].speed)
                best = next((best for best, q in able if is_clear(there, robot, base, own, q)), None)
                if best is not None:
                    found.append(MapPoint(position, direction, best))
    return found


def map_markers(sheet: Sheet, points: Sequence[MapPoint]) -> list[Marker]:
    """One marker per limit: a line per point and direction, as long as the tool's way in `SHOWN` at the safe speed."""
    markers = []
    for number, limit in enumerate(dict.fromkeys(point.best.limit for point in points)):
        own = [point for point in points if point.best.limit == limit]
        lines = [[p.position, p.position + SHOWN * p.best.speed * p.direction] for p in own]
        markers.append(sheet.lines(limit, number, lines, 0.006, COLOURS.get(limit, look.REFERENCE)))
    return markers
