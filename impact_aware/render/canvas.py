"""A small software renderer: triangles with colour and opacity onto an image, nearer ones in front."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.render.camera import Camera

OVERSAMPLING = 2
"""Pixels computed along each side of one that is shown: smooth edges."""

AMBIENT = 0.55
"""Share of the light that comes from everywhere."""

HIDDEN_SHARE = 0.30
"""How much of a `seen_through` triangle shines through what is in front of it."""


class Canvas:
    """Collects triangles, then draws them all."""

    def __init__(self, camera: Camera, width: int, height: int) -> None:
        """An empty picture of `width` times `height` pixels."""
        self.camera = camera
        self._width, self._height = OVERSAMPLING * width, OVERSAMPLING * height
        self._corners: list[Array] = []
        self._colors: list[Array] = []
        self._through: list[NDArray[np.bool_]] = []

    def add(
        self, corners: Array, color: tuple[float, float, float, float], *, lit: bool = True, seen_through: bool = False
    ) -> None:
        """Add triangles.

        Args:
            corners: (m, 3, 3) m.
            color: Red, green, blue, opacity.
            lit: Shade by the angle to the light; otherwise the plain colour.
            seen_through: What is in front of them hides them only in part.
        """
        if not len(corners):
            return
        shade = np.ones(len(corners))
        if lit:
            normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            lengths = np.linalg.norm(normals, axis=1)
            right, up, back = self.camera.axes
            light = 0.35 * right + 0.75 * up + 0.8 * back
            cosine = np.abs(normals @ (light / np.linalg.norm(light))) / np.maximum(lengths, 1e-15)
            shade = AMBIENT + (1.0 - AMBIENT) * cosine
        colors = np.empty((len(corners), 4))
        colors[:, :3] = np.clip(shade[:, None] * np.array(color[:3]), 0.0, 1.0)
        colors[:, 3] = color[3]
        self._corners.append(np.asarray(corners, dtype=float))
        self._colors.append(colors)
        self._through.append(np.full(len(corners), seen_through))

    def image(self) -> Array:
        """(height, width, 3) 0..1 on white."""
        image = np.ones((self._height, self._width, 3))
        depth = np.zeros((self._height, self._width))
        if self._corners:
            corners = self.camera.project(np.concatenate(self._corners), self._width, self._height)
            colors, through = np.concatenate(self._colors), np.concatenate(self._through)
            opaque = colors[:, 3] >= 0.999
            for index in np.flatnonzero(opaque & ~through):
                _fill(image, depth, corners[index], colors[index], 0.0)
            # Glass is drawn from the far end to the near one; what shines through comes after what is solid.
            order = np.argsort(corners[:, :, 2].mean(axis=1), kind="stable")
            for index in order[~opaque[order] & ~through[order]]:
                _fill(image, depth, corners[index], colors[index], 0.0, solid=False)
            for index in order[through[order]]:
                _fill(image, depth, corners[index], colors[index], HIDDEN_SHARE, solid=bool(opaque[index]))
        shape = (self._height // OVERSAMPLING, OVERSAMPLING, self._width // OVERSAMPLING, OVERSAMPLING, 3)
        return np.asarray(image.reshape(shape).mean(axis=(1, 3)))


def _fill(image: Array, depth: Array, corners: Array, color: Array, hidden: float, *, solid: bool = True) -> None:
    """Draw one projected triangle; `hidden` is how much of it is seen behind what is nearer."""
    height, width = depth.shape
    (x0, y0, w0), (x1, y1, w1), (x2, y2, w2) = corners
    left, right = max(int(min(x0, x1, x2)), 0), min(int(max(x0, x1, x2)) + 2, width)
    top, bottom = max(int(min(y0, y1, y2)), 0), min(int(max(y0, y1, y2)) + 2, height)
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if left >= right or top >= bottom or abs(area) < 1e-9:
        return
    x = np.arange(left, right) + 0.5
    y = (np.arange(top, bottom) + 0.5)[:, None]
    first = ((x1 - x) * (y2 - y) - (x2 - x) * (y1 - y)) / area
    second = ((x2 - x) * (y0 - y) - (x0 - x) * (y2 - y)) / area
    third = 1.0 - first - second
    inside = (first >= -1e-9) & (second >= -1e-9) & (third >= -1e-9)
    if not inside.any():
        return
    nearness = w0 * first + w1 * second + w2 * third
    patch, behind = image[top:bottom, left:right], depth[top:bottom, left:right]
    seen = inside & (nearness > behind)
    opacity = float(color[3])
    patch[seen] += opacity * (color[:3] - patch[seen])
    if hidden:
        covered = inside & ~seen
        patch[covered] += hidden * opacity * (color[:3] - patch[covered])
    if solid:
        behind[seen] = nearness[seen]
