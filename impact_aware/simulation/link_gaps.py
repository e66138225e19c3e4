"""How near the links of a scene's arms are to what they may hit, so that every physics step of a hit is watched."""

from __future__ import annotations

from itertools import combinations

import mujoco
import numpy as np
from numpy.typing import NDArray

from impact_aware.simulation.world import World

FARTHEST = 0.05
"""Largest gap that is measured, m."""

FASTEST = 4.0
"""Speed at which no gap between links, or links and the object, closes, m/s: twice the fastest tool's, and more."""


class LinkGaps:
    """Gaps between links and object, table and other arms, measured as seldom as their size and `FASTEST` allow."""

    def __init__(self, world: World) -> None:
        """Prepare."""
        self._model = world.model
        self._arms = [np.fromiter(arm.link_geoms, dtype=np.intp) for arm in world.arms.values()]
        self._links = np.concatenate(self._arms)
        self._obstacles = (world.object_geom, world.board_geom)
        self.clear()

    def clear(self) -> None:
        """Something was put elsewhere."""
        self._due = -np.inf

    def near(self, data: mujoco.MjData, gap: float) -> bool:
        """Whether the smallest gap is less than `gap`, m."""
        if data.time < self._due:
            return False
        smallest = self._smallest(data)
        self._due = data.time + (smallest - gap) / FASTEST
        return smallest < gap

    def _smallest(self, data: mujoco.MjData) -> float:
        """Smallest gap, m; bounding spheres sort out what is farther than `FARTHEST`."""
        places, radii, smallest = data.geom_xpos, self._model.geom_rbound, FARTHEST
        for obstacle in self._obstacles if self._links.size else ():
            centre, half = self._model.geom_aabb[obstacle].reshape(2, 3)
            local = (places[self._links] - places[obstacle]) @ data.geom_xmat[obstacle].reshape(3, 3) - centre
            outside = np.linalg.norm(np.maximum(np.abs(local) - half, 0.0), axis=1)
            near = self._links[outside - radii[self._links] < smallest]
            smallest = min(smallest, self._measured(data, near, np.full(near.size, obstacle)))
        for one, other in combinations(self._arms, 2):
            apart = np.linalg.norm(places[one][:, None] - places[other], axis=2) - radii[one][:, None] - radii[other]
            first, second = np.nonzero(apart < smallest)
            smallest = min(smallest, self._measured(data, one[first], other[second]))
        return smallest

    def _measured(self, data: mujoco.MjData, one: NDArray[np.intp], other: NDArray[np.intp]) -> float:
        pairs = zip(one.tolist(), other.tolist(), strict=True)
        gaps = (mujoco.mj_geomDistance(self._model, data, *pair, FARTHEST, None) for pair in pairs)
        return min(gaps, default=FARTHEST)
