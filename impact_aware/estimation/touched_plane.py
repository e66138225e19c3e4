"""A plane from gentle taps: where the centre of a spherical tip was at each contact, one radius off the surface.

Three taps give a plane and nothing to test it by but that each came from its outer side; every further one has to lie
in it. The error of the plane follows from that of the taps by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import RADIUS
from impact_aware.errors import InvalidInputError

LEAST_TAPS = 3

LEAST_WIDTH = 0.02
"""Least scatter of the taps across the line through them, standard deviation, m: narrower ones determine no tilt."""

STEEPEST = float(np.radians(60.0))
"""Largest angle between a tap's approach and the inward normal, rad; beyond it, it is no tap of this surface."""

LARGEST_MISFIT = 0.002
"""Distance from the plane that a tap may have whatever its error, m."""

TAP_ERROR = 1e-4
"""Least error of a tap, m: what the contact itself and the arm's kinematics leave."""


@dataclass(frozen=True, eq=False)
class TouchedPlane:
    """A plane that taps have shown; in the frame of the taps.

    Attributes:
        normal: (3,) Unit vector out of the surface, towards the arm.
        point: (3,) On the surface, in the middle of the taps, m.
        normal_error: Standard error of the normal's direction, rad.
        offset_error: Standard error of the surface along its normal at `point`, m.
        distances: (k,) Of the taps from the plane, along the normal, m; zeros of three taps.
        width: Scatter of the taps across the line through them, m.
    """

    normal: Array
    point: Array
    normal_error: float
    offset_error: float
    distances: Array
    width: float


def touched_plane(centres: ArrayLike, approaches: ArrayLike, errors: ArrayLike, radius: float) -> TouchedPlane:
    """The plane that a spherical tip tapped.

    Args:
        centres: (k, 3) Of the tip at each contact, m.
        approaches: (k, 3) Its velocity just before, m/s.
        errors: (k,) Standard error of each centre along its approach, m.
        radius: Of the tip, m.

    Raises:
        InvalidInputError: Fewer than three taps, taps on a line, one that did not come from the outer side, or one off
            the plane of the others.
    """
    tips, velocities = np.asarray(centres, dtype=float), np.asarray(approaches, dtype=float)
    sigma = np.hypot(np.asarray(errors, dtype=float), TAP_ERROR)
    RADIUS.check("tool radius", radius)
    if len(tips) < LEAST_TAPS:
        raise InvalidInputError("taps", len(tips), f"{LEAST_TAPS} contacts or more, each at another place")
    if not (np.isfinite(tips).all() and np.isfinite(velocities).all() and np.isfinite(sigma).all()):
        raise InvalidInputError("taps", "numbers that are not finite", "a position, a velocity and an error of each")
    middle = np.average(tips, axis=0, weights=sigma**-2)
    _, scatter, axes = np.linalg.svd(tips - middle)
    width = float(scatter[1] / np.sqrt(len(tips)))
    if width < LEAST_WIDTH:
        expected = f"taps that scatter by {1e3 * LEAST_WIDTH:g} mm across the line through them"
        raise InvalidInputError("taps", f"taps on a line, scattered by {1e3 * width:.1f} mm across it", expected)
    along, across, normal = axes
    normal = normal if np.mean(velocities @ normal) < 0.0 else -normal
    speeds = np.linalg.norm(velocities, axis=1)
    for index, (velocity, speed) in enumerate(zip(velocities, speeds, strict=True), start=1):
        if not -(velocity @ normal) > np.cos(STEEPEST) * speed:
            angle = float(np.degrees(np.arccos(np.clip(-(velocity @ normal) / max(speed, 1e-12), -1.0, 1.0))))
            expected = (
                f"taps within {np.degrees(STEEPEST):.0f} degrees of the inward normal of their plane"
            )
            raise InvalidInputError(f"tap {index}", f"an approach {angle:.0f} degrees off it", expected)
    rows = np.column_stack((np.ones(len(tips)), (tips - middle) @ along, (tips - middle) @ across))
    information = rows.T @ (rows / sigma[:, None] ** 2)
    heights = (tips - middle) @ normal
    offset, *slopes = np.linalg.solve(information, rows.T @ (heights / sigma**2))
    fitted = normal - slopes[0] * along - slopes[1] * across
    fitted /= np.linalg.norm(fitted)
    point = middle + offset * normal
    distances = (tips - point) @ fitted
    worst = int(np.argmax(np.abs(distances)))
    if abs(distances[worst]) > max(LARGEST_MISFIT, 3.0 * float(sigma[worst])):
        found = f"{1e3 * distances[worst]:+.1f} mm off the plane of all of them"
        raise InvalidInputError(f"tap {worst + 1}", found, f"at most {1e3 * LARGEST_MISFIT:g} mm")
    spare = len(tips) - LEAST_TAPS
    # Taps that scatter more than they should make the plane less sure.
    scale = np.sqrt(max(1.0, float(np.sum((distances / sigma) ** 2)) / spare)) if spare else 1.0
    covariance = np.linalg.inv(information)
    return TouchedPlane(
        normal=fitted,
        point=point - radius * fitted,
        normal_error=float(scale * np.sqrt(covariance[1, 1] + covariance[2, 2])),
        offset_error=float(scale * np.sqrt(covariance[0, 0])),
        distances=distances,
        width=width,
    )
