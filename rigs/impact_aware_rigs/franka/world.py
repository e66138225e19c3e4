"""The task of the simulated arm, and the worlds in which it is done."""

from __future__ import annotations

import numpy as np

from impact_aware.resources import read_named
from impact_aware.simulation.task_scene import Truth

TASK, ROBOT = "hit_and_push", "fr3"
_ARMS = read_named("task", "tasks", TASK)[0]["arms"]
CHANGES = {"frame": "fr3_link0", "arms": [arm | {"robot": ROBOT} for arm in _ARMS]}
"""Changes from the panda's task to one of the simulated arm."""


def draw(number: int) -> Truth:
    """How the world of a run differs from the task: mass, friction, place, yaw and softness, uniformly drawn.

    A rigid tip is left out: at 0.5 m/s it exceeds the range of the torque sensors in some runs, as it would on an arm.
    """
    generator = np.random.default_rng((number, 41))

    def around(reach: float) -> float:
        return float(generator.uniform(-reach, reach))

    return Truth(
        displacement=(around(0.005), around(0.02), 0.0),
        yaw=around(0.04),
        mass_factor=1.0 + around(0.1),
        friction_table_factor=1.0 + around(0.1),
        friction_tool_factor=1.0 + around(0.1),
        tool_softness=float(generator.uniform(0.002, 0.006)),
    )
