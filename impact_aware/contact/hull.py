"""The convex hull of points, such as the vertices of a mesh: a homogeneous body with flat faces."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.child_process import survives
from impact_aware.contact.box import nearest_turn
from impact_aware.contact.shape import Shape, SurfacePoint, shortest_turn
from impact_aware.errors import InvalidInputError
from impact_aware.resources import read_bytes

MOST_VERTICES = 256
"""Corners of a hull: a task with more is no message to be sent to every node."""

LARGEST_MESH, MOST_MEMORY = 1 << 26, 1 << 32
"""Size of a mesh's file, and what reading it may take, bytes; a million triangles have 50 MB."""

FLAT = 1e-5
"""Corners that are no farther from the plane of a face, as a share of the hull's size, lie in it."""

SAME_PLANE = 1.0 - 0.5e-8
"""Cosine from which on triangles are of one face: they are 0.1 mrad apart."""

WIDEST = np.cos(np.radians(60.0))
"""Cosine of the largest angle by which the normal at a ball is out of that of the face which is meant."""


class _Solid(NamedTuple):
    """A hull about its own centre.

    Attributes:
        origin: (3,) Its centre, in the axes of the points it was made of, m.
        corners: (k, 3) m.
        normals: (f, 3) Of its flat faces.
        depths: (f,) Of their planes, m.
        second_moment: (3, 3) Integral of x x^T over the volume, over the volume, m^2.
    """

    origin: Array
    corners: Array
    normals: Array
    depths: Array
    second_moment: Array


class Hull(Shape):
    """Its centre of mass is the origin of its axes, which keep the directions of the points'."""

    name: ClassVar[str] = "hull"

    def __init__(self, points: ArrayLike) -> None:
        """Take points (m, 3), m, of which those within are left out.

        Raises:
            InvalidInputError: They span no body, or have too many corners.
        """
        self._solid = _solid(points)

    @property
    def origin(self) -> Array:
        """(3,) Its centre in the axes of the points that it was made of, m."""
        return self._solid.origin

    @property
    def vertices(self) -> Array:
        """(k, 3) Its corners about its centre, m."""
        return self._solid.corners

    @cached_property
    def half_extents(self) -> Array:
        """(3,) m."""
        return np.asarray(np.abs(self.vertices).max(axis=0))

    @property
    def reach(self) -> float:
        """To its farthest corner, m."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    def inertia(self, mass: float) -> Array:
        """(3, 3) kg m^2."""
        second = self._solid.second_moment
        return mass * (np.trace(second) * np.eye(3) - second)

    def depth(self, normal: Array) -> float:
        """See `Shape.depth`."""
        return float(np.max(self.vertices @ normal))

    def face(self, outward: Array) -> Array:
        """See `Shape.face`."""
        return self._solid.normals[int(np.argmax(self._solid.normals @ outward))]

    def footprint(self, normal: Array) -> Array:
        """See `Shape.footprint`."""
        solid = self._solid
        index = int(np.argmax(solid.normals @ normal))
        own, depth = solid.normals[index], solid.depths[index]
        within = self.vertices[self.vertices @ own >= depth - FLAT * float(np.max(self.half_extents))]
        axes = shortest_turn(own, [0.0, 0.0, 1.0])
        flat = (within - within.mean(axis=0)) @ axes.T
        return np.asarray(within[np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))])

    def hit(self, outward: Array, offset: Array) -> SurfacePoint:
        """See `Shape.hit`: where the line through the centre and the offset leaves it."""
        normals, depths = self._solid.normals, self._solid.depths
        direction = outward / np.linalg.norm(outward)
        speed, room = normals @ direction, depths - normals @ offset
        leaving, entering = speed > 1e-9, speed < -1e-9
        along = np.full(len(depths), np.inf)
        along[leaving] = room[leaving] / speed[leaving]
        first = int(np.argmin(along))
        since = np.max(room[entering] / speed[entering])
        if since > along[first] or np.any(room[~leaving & ~entering] < 0.0):
            raise InvalidInputError("impact_offset", np.round(offset, 4).tolist(), "a position on the hull")
        return SurfacePoint(offset + along[first] * direction, normals[first])

    def normal_at_ball(self, centre: Array, normal: Array) -> Array:
        """From the nearest point of the hull, where that is on or beside the face which is meant."""
        away = centre - self._nearest(centre)
        length = float(np.linalg.norm(away))
        if not length > 1e-6:
            return normal
        found = away / length
        return found if WIDEST < float(found @ normal) < 1.0 - 1e-12 else normal

    def distance(self, point: Array) -> float:
        """See `Shape.distance`."""
        beyond = self._solid.normals @ point - self._solid.depths
        deepest = float(np.max(beyond))
        return deepest if deepest <= 0.0 else float(np.linalg.norm(point - self._nearest(point)))

    def turn(self, rotation: Array, up: Array) -> Array:
        """Return the lean of the face it stands on, followed by its rotation about the vertical."""
        base = -rotation @ self.face(-rotation.T @ up)
        lean = shortest_turn(up, base)
        named = nearest_turn(lean.T @ rotation)
        x, y, z, w = pin.Quaternion(np.asfortranarray(named)).coeffs()
        about = 2.0 * np.arctan2(float(np.array([x, y, z]) @ up), w)
        return np.asarray(lean @ pin.exp3(about * np.asarray(up, dtype=float)))

    def nearest_equal(self, rotation: Array, other: Array) -> Array:
        """Itself: no other orientation looks the same."""
        return rotation

    def outline(self) -> Array:
        """The edges of its faces."""
        lines: dict[tuple[bytes, bytes], Array] = {}
        for normal in self._solid.normals:
            ring = self.footprint(normal)
            for start, end in zip(ring, np.roll(ring, -1, axis=0), strict=True):
                first, last = sorted((start, end), key=lambda corner: corner.tobytes())
                lines[first.tobytes(), last.tobytes()] = np.stack([first, last])
        return np.concatenate(list(lines.values()))

    def _nearest(self, point: Array) -> Array:
        """Its point (3,) that is nearest to another one, m; that one itself inside.

        The least distance x with -N x >= N p - d, from the nonnegative least squares of Lawson and Hanson (1974),
        chapter 23, problem LDP.
        """
        beyond = self._solid.normals @ point - self._solid.depths
        if np.all(beyond <= 0.0):
            return point
        from scipy.optimize import nnls

        matrix = np.vstack([-self._solid.normals.T, beyond])
        weights, _ = nnls(matrix, np.array([0.0, 0.0, 0.0, 1.0]))
        rest = matrix @ weights - [0.0, 0.0, 0.0, 1.0]
        return np.asarray(point - rest[:3] / rest[3])


def mesh_vertices(path: str | Path, scale: float = 1.0) -> Array:
    """Corners (k, 3), m, of the convex hull of a mesh's file: STL, OBJ, DAE and what else Assimp reads.

    Args:
        path: The file.
        scale: Metres per unit of the file.

    Raises:
        InvalidInputError: A file that can't be read, or no body.
    """
    read_bytes("mesh", Path(path), "mesh file", LARGEST_MESH)

    def load() -> Array:
        return np.array(pin.hppfcl.MeshLoader().load(str(path), np.full(3, float(scale))).vertices())

    # Assimp follows what stands in the file: a damaged one can end the process, or fill the memory.
    if not survives(load, most=MOST_MEMORY):
        raise InvalidInputError("mesh", str(path), "a mesh that can be read, such as an STL file")
    solid = _solid(load(), "mesh")
    return solid.corners + solid.origin


def _solid(points: ArrayLike, name: str = "vertices") -> _Solid:
    # Both take longer to load than a prediction of a box needs; a hull is hit without loading anything.
    import scipy.optimize  # noqa: F401
    from scipy.spatial import ConvexHull, QhullError

    given = np.asarray(points, dtype=float)
    expected = "four points or more that span a body, each of three finite numbers, m"
    if given.ndim != 2 or given.shape[1] != 3 or len(given) < 4 or not np.isfinite(given).all():
        raise InvalidInputError(f"object {name}", f"an array of shape {given.shape}", expected)
    try:
        hull = ConvexHull(given)
    except QhullError as error:
        raise InvalidInputError(f"object {name}", f"{len(given)} points", expected) from error
    if len(hull.vertices) > MOST_VERTICES:
        expected = f"a hull of {MOST_VERTICES} at most: simplify the mesh"
        raise InvalidInputError(f"object {name}", f"a hull of {len(hull.vertices)} corners", expected)
    # Tetrahedra from a point within to every triangle of the surface.
    inside = given[hull.vertices].mean(axis=0)
    corners = given[hull.simplices] - inside
    volumes = np.abs(np.linalg.det(corners)) / 6.0
    volume = float(volumes.sum())
    centre = (volumes[:, None] * corners.sum(axis=1)).sum(axis=0) / (4.0 * volume)
    sums = corners.sum(axis=1)
    moments = np.einsum("tki,tkj->tij", corners, corners) + np.einsum("ti,tj->tij", sums, sums)
    second = np.einsum("t,tij->ij", volumes, moments) / (20.0 * volume) - np.outer(centre, centre)
    origin = inside + centre
    own = given[hull.vertices] - origin
    planes: list[Array] = []
    for plane in hull.equations:
        if not any(plane[:3] @ other[:3] > SAME_PLANE for other in planes):
            planes.append(plane)
    normals = np.array([plane[:3] for plane in planes])
    return _Solid(origin, own, normals, np.max(own @ normals.T, axis=0), second)
