"""From where a scene is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError

VIEWS = {"iso": (35.0, 22.0), "front": (0.0, 12.0), "side": (90.0, 12.0), "back": (215.0, 22.0), "top": (0.0, 89.0)}
"""Name -> azimuth and elevation of the eye, degrees; azimuth 0 looks at the robot's front, against x."""


def view_direction(view: str) -> tuple[float, float]:
    """Azimuth and elevation, degrees, of a view's name or of `AZIMUTH,ELEVATION`.

    Raises:
        InvalidInputError: Neither of them.
    """
    if view in VIEWS:
        return VIEWS[view]
    try:
        azimuth, elevation = (float(part) for part in view.split(","))
    except ValueError:
        expected = f"one of {', '.join(VIEWS)}, or AZIMUTH,ELEVATION in degrees"
        raise InvalidInputError("--view", repr(view), expected) from None
    if not (np.isfinite(azimuth) and -89.0 <= elevation <= 89.0):
        raise InvalidInputError("--view", repr(view), "an elevation from -89 to 89 degrees")
    return azimuth, elevation


@dataclass(frozen=True)
class Camera:
    """A perspective camera.

    Attributes:
        target: (3,) The point in the middle of the picture, m.
        radius: Radius of the ball around it that just fits, m.
        azimuth: Of the eye as seen from the target, about z from x, degrees.
        elevation: Of the eye above the horizon, degrees.
        opening: Angle of view across the shorter side, degrees.
    """

    target: Array
    radius: float
    azimuth: float
    elevation: float
    opening: float = 28.0

    @property
    def axes(self) -> Array:
        """(3, 3) Rows to the right, up and towards the eye."""
        azimuth, elevation = np.radians([self.azimuth, self.elevation])
        back = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
        right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
        return np.stack([right, np.cross(back, right), back])

    @property
    def eye(self) -> Array:
        """(3,) m."""
        return np.asarray(self.target) + self._distance * self.axes[2]

    @property
    def _distance(self) -> float:
        return self.radius / float(np.sin(np.radians(0.5 * self.opening)))

    def project(self, points: Array, width: int, height: int) -> Array:
        """Pixel column, pixel row and one over the distance, (..., 3), of points (..., 3); closer is larger."""
        local = (points - self.eye) @ self.axes.T
        inverse = -1.0 / np.minimum(local[..., 2], -1e-3)
        focal = 0.5 * min(width, height) / float(np.tan(np.radians(0.5 * self.opening)))
        x = 0.5 * width + focal * local[..., 0] * inverse
        y = 0.5 * height - focal * local[..., 1] * inverse
        return np.stack([x, y, inverse], axis=-1)

    def fitted(self, points: Array, width: int, height: int, share: float = 0.94) -> Camera:
        """Return a camera of this direction, moved and zoomed until points (m, 3) fill `share` of the picture."""
        camera = self
        for _ in range(12):
            pixels = camera.project(points, width, height)
            low, high = pixels[:, :2].min(axis=0), pixels[:, :2].max(axis=0)
            size = float(np.max((high - low) / [share * width, share * height]))
            off = 0.5 * (low + high) - 0.5 * np.array([width, height])
            # A pixel in the plane of the target is this long.
            length = 2.0 * camera.radius / (min(width, height) * float(np.cos(np.radians(0.5 * self.opening))))
            right, up, _ = camera.axes
            target = camera.target + length * (off[0] * right - off[1] * up)
            camera = replace(camera, target=target, radius=max(camera.radius * size, 1e-3))
        return camera
