"""A window that shows the plant while it runs: MuJoCo's own viewer, on a copy, so that no mouse moves the plant."""

from __future__ import annotations

import copy
import threading
import time
from typing import Any

import mujoco
import numpy as np

from impact_aware.screen import check_screen

PERIOD = 1.0 / 30.0
"""Least wall time between two pictures, s."""

CLOSE_TIME = 2.0
"""Longest time that the window may take to close, s."""

LINK_RADIUS = 0.035
"""Radius of the rods that represent links, m."""

LINK, TIP = (0.85, 0.86, 0.88, 1.0), (0.2, 0.2, 0.22, 1.0)
OBJECT, TABLE = (0.62, 0.42, 0.20, 1.0), (0.75, 0.77, 0.8, 1.0)
_LIGHT, _AMBIENT = 0.55, 0.35

SIDE, ABOVE, DISTANCE = -140.0, -22.0, 1.9
"""Direction and distance of the camera, deg, deg and m."""


class SceneViewer:
    """The window; it goes when it is closed, and the plant goes on."""

    def __init__(self, model: Any, data: Any) -> None:
        """Open it.

        Args:
            model: The plant's MjModel.
            data: Its MjData, whose positions are shown.

        Raises:
            InvalidInputError: There is no screen.
        """
        check_screen("parameter viewer")
        # Its import looks for a screen.
        import mujoco.viewer  # noqa: PLC0415

        self._plant = data
        self._model, self._data = _painted(model), mujoco.MjData(model)
        self._due = time.monotonic()
        before = set(threading.enumerate())
        self._window = mujoco.viewer.launch_passive(self._model, self._data, show_left_ui=False, show_right_ui=False)
        self._drawing = set(threading.enumerate()) - before
        camera = self._window.cam
        camera.azimuth, camera.elevation, camera.distance = SIDE, ABOVE, DISTANCE
        camera.lookat[:] = data.qpos[:3] + [-0.1, 0.0, 0.15]

    @property
    def open(self) -> bool:
        """Whether it was not closed."""
        return bool(self._window.is_running())

    def show(self) -> None:
        """Show the plant as it is now, unless the last picture is still new or the window was closed."""
        now = time.monotonic()
        if now < self._due or not self.open:
            return
        self._due = now + PERIOD
        self._data.qpos[:] = self._plant.qpos
        mujoco.mj_forward(self._model, self._data)
        with self._window.lock():
            self._draw_links()
        self._window.sync()

    def close(self) -> None:
        """Close the window, and wait for the drawing threads: a process that ends before crashes."""
        self._window.close()
        for thread in self._drawing:
            thread.join(CLOSE_TIME)

    def _draw_links(self) -> None:
        """A rod from each body of an arm to the next one and to the tool: not every arm has shapes of its links."""
        scene, model, data = self._window.user_scn, self._model, self._data
        ends = [(model.body_parentid[body], data.xpos[body]) for body in range(1, model.nbody)]
        tools = [geom for geom in range(model.ngeom) if model.geom(geom).name.endswith("tool_tip")]
        ends += [(model.geom_bodyid[geom], data.geom_xpos[geom]) for geom in tools]
        scene.ngeom = 0
        for body, end in ends:
            start = data.xpos[body]
            # What hangs on the world is a base, the table or the object.
            if body != 0 and np.linalg.norm(end - start) > LINK_RADIUS and scene.ngeom < scene.maxgeom:
                geom, kind, colour = scene.geoms[scene.ngeom], mujoco.mjtGeom.mjGEOM_CAPSULE, np.array(LINK, np.float32)
                mujoco.mjv_initGeom(geom, kind, np.zeros(3), np.zeros(3), np.eye(3).ravel(), colour)
                mujoco.mjv_connector(geom, kind, LINK_RADIUS, start, end)
                scene.ngeom += 1


def _painted(model: Any) -> Any:
    """A copy of the model in colours, and lit."""
    painted = copy.copy(model)
    painted.vis.headlight.ambient[:], painted.vis.headlight.diffuse[:] = _AMBIENT, _LIGHT
    for geom in range(painted.ngeom):
        name = mujoco.mj_id2name(painted, mujoco.mjtObj.mjOBJ_GEOM, geom) or ""
        painted.geom_rgba[geom] = OBJECT if name == "object" else TIP if "/" in name else TABLE
    return painted
