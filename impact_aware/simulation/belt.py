"""A table top that moves like a belt, and the object with it, until a tool meets the object."""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np

from impact_aware.simulation.scene import Scene
from impact_aware.simulation.world import OBJECT, World


class Belt:
    """The belt of a scene; one that stands does nothing."""

    def __init__(self, scene: Scene, world: World, data: mujoco.MjData) -> None:
        """Prepare; nothing moves yet."""
        self._velocity = np.asarray(scene.belt_velocity, dtype=float)
        self._axes = scene.table_placement.rotation[:, :2]
        self._world, self._data = world, data
        self._runs = False

    def start(self) -> None:
        """Move, and the object as fast."""
        if self._world.belt_dof is not None:
            self._runs = True
            self._data.qvel[self._world.belt_dof] = self._axes.T @ self._velocity
            self._data.qvel[self._world.object_dof][:3] = self._velocity

    def keep(self, touching: Iterable[tuple[str, str, str]]) -> None:
        """Stop if an arm touches the object, by the pairs (arm, partner, link) in contact; then stand."""
        if self._world.belt_dof is None:
            return
        self._runs = self._runs and all(partner != OBJECT for _, partner, _ in touching)
        if not self._runs:
            self._data.qvel[self._world.belt_dof] = 0.0
