"""One marker as data: what `visualization_msgs/Marker` carries, without the message."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array

Color = tuple[float, float, float, float]

UPRIGHT = (0.0, 0.0, 0.0, 1.0)


class Kind(IntEnum):
    """Shapes of markers; the numbers are those of `visualization_msgs/Marker`."""

    ARROW = 0
    CUBE = 1
    SPHERE = 2
    LINE_STRIP = 4
    LINE_LIST = 5
    TEXT = 9
    TRIANGLE_LIST = 11


@dataclass(frozen=True, eq=False)
class Marker:
    """One thing to draw. Namespace and id together name it: drawing another of the same name replaces it.

    Attributes:
        kind: Its shape.
        namespace: Group that a viewer switches on and off, such as `at_impact/impulse`.
        id: Number within the namespace.
        frame: Frame of everything here.
        time: Stamp, s.
        color: Red, green, blue, opacity, 0..1.
        position: (3,) Of the shape, or of the origin of `points`, m.
        orientation: (4,) Quaternion x, y, z, w.
        scale: (3,) m. Cube and sphere: the edges, the diameters. Arrow: diameter of its shaft, of its head, length of
            its head. Lines: the width first. Text: its height last.
        points: (m, 3) Ends of an arrow, of lines, or corners of triangles, m.
        text: Content of a text.
        lifetime: How long it stays, s; 0 until it is replaced.
    """

    kind: Kind
    namespace: str
    id: int
    frame: str
    time: float
    color: Color
    position: Array = field(default_factory=lambda: np.zeros(3))
    orientation: Array = field(default_factory=lambda: np.array(UPRIGHT))
    scale: Array = field(default_factory=lambda: np.ones(3))
    points: Array = field(default_factory=lambda: np.zeros((0, 3)))
    text: str = ""
    lifetime: float = 0.0

    @property
    def name(self) -> tuple[str, int]:
        """Namespace and id."""
        return self.namespace, self.id


@dataclass(frozen=True)
class Sheet:
    """What the markers of one message share: where their namespaces begin, their frame, stamp, opacity and lifetime.

    Attributes:
        root: First part of every namespace, such as `left/at_impact`.
        frame: Frame of the markers.
        time: Stamp, s.
        lifetime: s; 0 until replaced.
        opacity: Factor on every opacity, 0..1.
    """

    root: str
    frame: str
    time: float
    lifetime: float = 0.0
    opacity: float = 1.0

    def _make(self, kind: Kind, item: str, number: int, color: Color, **more: object) -> Marker:
        return Marker(
            kind=kind,
            namespace=f"{self.root}/{item}" if self.root else item,
            id=number,
            frame=self.frame,
            time=self.time,
            color=(*color[:3], color[3] * self.opacity),
            lifetime=self.lifetime,
            **more,  # type: ignore[arg-type]
        )

    def arrow(
        self, item: str, number: int, start: ArrayLike, vector: ArrayLike, color: Color, width: float = 0.008
    ) -> Marker:
        """An arrow from `start` (3,) along `vector` (3,), m; its head shrinks with a short arrow."""
        begin, along = np.asarray(start, dtype=float), np.asarray(vector, dtype=float)
        length = float(np.linalg.norm(along))
        head = min(3.5 * width, 0.5 * length)
        scale = np.array([width, max(2.4 * width * head / (3.5 * width), 1e-4), max(head, 1e-4)])
        return self._make(Kind.ARROW, item, number, color, points=np.array([begin, begin + along]), scale=scale)

    def sphere(
        self, item: str, number: int, centre: ArrayLike, diameters: ArrayLike, color: Color,
        orientation: ArrayLike = UPRIGHT,
    ) -> Marker:  # fmt: skip
        """A ball, or one with three diameters (3,), m, along the axes of `orientation`."""
        return self._body(Kind.SPHERE, item, number, centre, diameters, color, orientation)

    def box(
        self, item: str, number: int, centre: ArrayLike, edges: ArrayLike, color: Color,
        orientation: ArrayLike = UPRIGHT,
    ) -> Marker:  # fmt: skip
        """A box with three edges (3,), m."""
        return self._body(Kind.CUBE, item, number, centre, edges, color, orientation)

    def _body(
        self, kind: Kind, item: str, number: int, centre: ArrayLike, size: ArrayLike, color: Color, turn: ArrayLike
    ) -> Marker:
        scale = np.broadcast_to(_array(size), (3,))
        return self._make(kind, item, number, color, position=_array(centre), orientation=_array(turn), scale=scale)

    def lines(
        self, item: str, number: int, points: ArrayLike, width: float, color: Color, *, strip: bool = False
    ) -> Marker:
        """Pairs of points (m, 3) joined by lines, or all of them in a row when `strip`."""
        kind = Kind.LINE_STRIP if strip else Kind.LINE_LIST
        scale = np.array([width, 0.0, 0.0])
        return self._make(kind, item, number, color, points=_array(points).reshape(-1, 3), scale=scale)

    def triangles(self, item: str, number: int, points: ArrayLike, color: Color) -> Marker:
        """Triangles by their corners (3 m, 3)."""
        return self._make(Kind.TRIANGLE_LIST, item, number, color, points=_array(points).reshape(-1, 3))

    def text(self, item: str, number: int, place: ArrayLike, words: str, height: float, color: Color) -> Marker:
        """Words that face the viewer, never fainter than `color`: they are there to be read."""
        scale = np.array([0.0, 0.0, height])
        return replace(self, opacity=1.0)._make(
            Kind.TEXT, item, number, color, position=_array(place), scale=scale, text=words
        )


def _array(values: ArrayLike) -> Array:
    return np.array(values, dtype=float)
