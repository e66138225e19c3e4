"""Collision geometry of a robot's links, by Pinocchio's geometry model and its collision library coal."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import coal
import pinocchio as pin

from impact_aware.robot.model import RobotModel
from impact_aware.robot.shown_urdf import share_folders
from impact_aware.robot.urdf_text import build_model, urdf_tree


class LinkShape(NamedTuple):
    """A part of a link.

    Attributes:
        link: Name of the link.
        joint: Index of the joint of the robot's model that carries it; 0 for the base.
        placement: Pose in the axes of that joint.
        shape: Geometry of coal, convex.
    """

    link: str
    joint: int
    placement: pin.SE3
    shape: coal.CollisionGeometry


class LinkBody(NamedTuple):
    """A collision element of a URDF: its link, its pose in the link's frame, and its geometry of coal."""

    link: str
    placement: pin.SE3
    geometry: coal.CollisionGeometry


def link_shapes(robot: RobotModel) -> tuple[LinkShape, ...]:
    """Convex parts of a robot's links, without its tool; none where its URDF has no usable collision geometry."""
    shapes = []
    for link, placement, shape in _convex_bodies(robot.description):
        frame = robot.model.frames[robot.model.getFrameId(link, pin.FrameType.BODY)]
        shapes.append(LinkShape(link, frame.parentJoint, frame.placement * placement, shape))
    return tuple(shapes)


def link_bodies(urdf: str) -> tuple[LinkBody, ...]:
    """Collision elements of a URDF text; none where there are none, or one of their meshes is not installed."""
    try:
        model, folders = build_model(urdf), _mesh_folders(urdf)
        if folders is None:
            return ()
        found = pin.buildGeomFromUrdfString(
            model, urdf, pin.GeometryType.COLLISION, package_dirs=[str(folder) for folder in folders]
        )
    except (ValueError, RuntimeError):
        return ()
    bodies = []
    for part in found.geometryObjects:
        frame = model.frames[part.parentFrame]
        bodies.append(LinkBody(str(frame.name), frame.placement.inverse() * part.placement, part.geometry))
    return tuple(bodies)


@lru_cache(maxsize=8)
def _convex_bodies(urdf: str) -> tuple[LinkBody, ...]:
    bodies = []
    for link, placement, geometry in link_bodies(urdf) if urdf else ():
        if isinstance(geometry, coal.BVHModelBase):
            geometry.buildConvexHull(True, "Qt")
            geometry = geometry.convex
        geometry.computeLocalAABB()
        bodies.append(LinkBody(link, placement, geometry))
    return tuple(bodies)


def _mesh_folders(urdf: str) -> list[Path] | None:
    """Folders below which every mesh of the URDF is; None when one is missing, or is not in a package.

    A recording names its meshes, so that another file than one of an installed package is not opened.
    """
    names = {mesh.get("filename", "") for mesh in urdf_tree(urdf).iterfind(".//collision//mesh")}
    meshes = {name.removeprefix("package://") for name in names}
    if any(not name.startswith("package://") or ".." in Path(name).parts for name in names):
        return None
    folders = share_folders()
    if all(any((folder / mesh).is_file() for folder in folders) for mesh in meshes):
        return folders
    return None
