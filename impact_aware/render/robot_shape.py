"""The links of a robot as triangles: their collision meshes where these are at hand, otherwise rods between joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.render.solids import ball, box, capsule, placed, revolved
from impact_aware.robot import RobotModel
from impact_aware.robot.link_shapes import link_bodies

ROD_RADIUS = 0.035
"""Radius of a link whose shape is not known, m."""


@dataclass(frozen=True, eq=False)
class RobotShape:
    """Bodies fixed to frames of the robot.

    Attributes:
        bodies: Frame name and triangles (m, 3, 3) in that frame; empty when only the joints are known.
    """

    bodies: tuple[tuple[str, Array], ...]

    def triangles(self, robot: RobotModel, q: Array) -> Array:
        """All links (m, 3, 3) in the base frame at a configuration (n,), and the tip of the tool."""
        pin.framesForwardKinematics(robot.model, robot.data, q)
        parts = []
        for frame, body in self.bodies:
            if robot.model.existFrame(frame):
                parts.append(placed(body, robot.data.oMf[robot.frame_id(frame)]))
        if not parts:
            parts = _rods(robot)
        if robot.tool_radius > 0.0:
            tip = robot.data.oMf[robot.tool_frame_id]
            parts.append(placed(ball(np.full(3, 2.0 * robot.tool_radius)), tip))
        return np.concatenate(parts)


def robot_shape(urdf: str) -> RobotShape:
    """Read the collision bodies of a URDF text; without them, or without its mesh files, there are no bodies."""
    bodies = []
    for link, placement, geometry in link_bodies(urdf):
        body = _body(geometry)
        if len(body):
            bodies.append((link, placed(body, placement)))
    return RobotShape(tuple(bodies))


def _body(geometry: Any) -> Array:
    """Triangles (m, 3, 3) of a shape of the collision library, in its own frame."""
    name = type(geometry).__name__
    if name.startswith("BVHModel") or name.startswith("Convex"):
        corners = np.array(geometry.vertices()) if name.startswith("BVHModel") else np.array(geometry.points())
        count = geometry.num_tris if name.startswith("BVHModel") else geometry.num_polygons
        faces = geometry.tri_indices if name.startswith("BVHModel") else geometry.polygons
        index = np.array([[faces(number)[corner] for corner in range(3)] for number in range(count)], dtype=int)
        return np.asarray(corners[index], dtype=float)
    if name == "Box":
        return box(np.array(geometry.halfSide).ravel())
    if name == "Sphere":
        return ball(np.full(3, 2.0 * geometry.radius))
    if name == "Cylinder":
        r, h = geometry.radius, geometry.halfLength
        return revolved([(0.0, -h), (r, -h), (r, h), (0.0, h)])
    if name == "Capsule":
        half = np.array([0.0, 0.0, geometry.halfLength])
        return capsule(-half, half, geometry.radius)
    return np.zeros((0, 3, 3))


def _rods(robot: RobotModel) -> list[Array]:
    places = [np.zeros(3), *(np.array(placement.translation) for placement in list(robot.data.oMi)[1:])]
    places.append(np.array(robot.data.oMf[robot.tool_frame_id].translation))
    pairs = zip(places[:-1], places[1:], strict=True)
    return [capsule(start, end, ROD_RADIUS) for start, end in pairs if np.linalg.norm(end - start) > 1e-3]
