"""What a rectangle shares with a face that lies in its plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array

SAME_CORNER = 1e-6
"""Corners that are no farther apart are one, m."""


def clipped(ring: ArrayLike, half_sizes: ArrayLike) -> Array:
    """Corners (k, 2) of what a convex face and a rectangle about the origin share: of a polygon, a line or a point.

    Where they share nothing, it is the point of the rectangle that is nearest to the middle of the face. The face is
    cut along one edge of the rectangle after the other (Sutherland and Hodgman, 1974).

    Args:
        ring: (m, 2) Corners of the face, around it; two of a line, one of a point, m.
        half_sizes: (2,) Half edges of the rectangle, m.
    """
    face, half = np.asarray(ring, dtype=float), np.asarray(half_sizes, dtype=float)
    corners = list(face)
    for axis in range(2):
        for side in (1.0, -1.0):
            corners = _cut(corners, axis, side, float(half[axis]))
    kept: list[Array] = []
    for corner in corners:
        if all(np.linalg.norm(corner - other) > SAME_CORNER for other in kept):
            kept.append(corner)
    return np.array(kept or [np.clip(face.mean(axis=0), -half, half)])


def _cut(corners: list[Array], axis: int, side: float, limit: float) -> list[Array]:
    """What of a polygon is no farther than the limit along an axis, on one side of the origin."""
    kept = []
    for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
        before, after = limit - side * start[axis], limit - side * end[axis]
        if before >= 0.0:
            kept.append(start)
        if before * after < 0.0:
            kept.append(start + before / (before - after) * (end - start))
    return kept
