"""Triangles of simple bodies and of markers, (m, 3, 3), m."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import contact_axes
from impact_aware.markers import Kind, Marker
from impact_aware.reference.rotation import rotation_from_quaternion

SIDES = 20


def box(half_edges: ArrayLike) -> Array:
    """A box about the origin."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    corners = signs * np.asarray(half_edges, dtype=float)
    faces = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return np.array([corners[[a, b, c]] for f in faces for a, b, c in ((f[0], f[1], f[2]), (f[0], f[2], f[3]))])


def revolved(profile: ArrayLike, sides: int = SIDES) -> Array:
    """A body of revolution about z from (m, 2) pairs of radius and height."""
    outline = np.asarray(profile, dtype=float)
    angles = np.linspace(0.0, 2.0 * np.pi, sides + 1)
    rings = np.stack(
        [
            outline[:, :1] * np.cos(angles),
            outline[:, :1] * np.sin(angles),
            np.repeat(outline[:, 1:], sides + 1, axis=1),
        ],
        axis=-1,
    )
    a, b, c, d = rings[:-1, :-1], rings[:-1, 1:], rings[1:, 1:], rings[1:, :-1]
    return np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3)


def ball(diameters: ArrayLike) -> Array:
    """An ellipsoid about the origin with its axes along x, y and z."""
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, SIDES // 2 + 1)
    return np.asarray(0.5 * revolved(np.column_stack((np.cos(angles), np.sin(angles)))) * np.asarray(diameters))


def capsule(start: Array, end: Array, radius: float) -> Array:
    """A rod with round ends."""
    length = float(np.linalg.norm(end - start))
    angles = np.linspace(0.0, 0.5 * np.pi, 6)
    below = np.column_stack((radius * np.sin(angles), -radius * np.cos(angles)))
    above = np.column_stack((radius * np.cos(angles), length + radius * np.sin(angles)))
    along = (end - start) / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    return along_axis(revolved(np.vstack((below, above))), start, along)


def placed(points: Array, pose: pin.SE3) -> Array:
    """Points (..., 3) of a frame with this pose."""
    return np.asarray(points @ pose.rotation.T + pose.translation)


def along_axis(triangles: Array, origin: Array, axis: Array) -> Array:
    """Move a body about z to `origin` (3,), with its z along the unit vector `axis` (3,)."""
    return np.asarray(triangles @ contact_axes(axis)[[1, 2, 0]] + origin)


def ribbon(start: Array, end: Array, width: float, towards: Array) -> Array:
    """A flat strip between two points that faces the eye at `towards` (3,)."""
    along = end - start
    side = np.cross(along, towards - start)
    length = float(np.linalg.norm(side))
    if length < 1e-12:
        return np.zeros((0, 3, 3))
    side *= 0.5 * width / length
    a, b, c, d = start - side, start + side, end + side, end - side
    return np.array([[a, b, c], [a, c, d]])


def marker_triangles(marker: Marker, eye: Array) -> Array:
    """The body of a marker in its frame; none for a text."""
    if marker.kind is Kind.ARROW:
        return _arrow(marker)
    if marker.kind in (Kind.LINE_LIST, Kind.LINE_STRIP):
        points = marker.points
        pairs = points.reshape(-1, 2, 3) if marker.kind is Kind.LINE_LIST else np.stack((points[:-1], points[1:]), 1)
        strips = [ribbon(start, end, float(marker.scale[0]), eye) for start, end in pairs]
        return np.concatenate(strips) if strips else np.zeros((0, 3, 3))
    if marker.kind is Kind.TRIANGLE_LIST:
        return marker.points.reshape(-1, 3, 3)
    if marker.kind in (Kind.CUBE, Kind.SPHERE):
        body = box(0.5 * marker.scale) if marker.kind is Kind.CUBE else ball(marker.scale)
        return np.asarray(body @ rotation_from_quaternion(marker.orientation).T + marker.position)
    return np.zeros((0, 3, 3))


def _arrow(marker: Marker) -> Array:
    start, end = marker.points
    shaft, head, head_length = marker.scale
    length = float(np.linalg.norm(end - start))
    if length < 1e-6:
        return np.zeros((0, 3, 3))
    neck = max(length - head_length, 0.0)
    profile = [(0.0, 0.0), (0.5 * shaft, 0.0), (0.5 * shaft, neck), (0.5 * head, neck), (0.0, length)]
    return along_axis(revolved(profile, 14), start, (end - start) / length)
