"""Pictures of an episode: key frames side by side in one PNG, by MuJoCo where OpenGL works without a screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.simulation.mujoco_model import quaternion_wxyz
from impact_aware.simulation.plant import PlantState
from impact_aware.simulation.scene import Scene
from impact_aware.simulation.world import World, build_world

Image = NDArray[np.uint8]


@dataclass(frozen=True)
class Camera:
    """From where to look.

    Attributes:
        target: (3,) Point looked at, world, m; between the arms' bases and the object when None.
        distance: m.
        azimuth: Direction of view about the vertical, degrees; 90 looks along +y.
        elevation: Degrees; negative looks down.
    """

    target: tuple[float, float, float] | None = None
    distance: float = 1.7
    azimuth: float = 145.0
    elevation: float = -22.0

    def target_in(self, scene: Scene) -> NDArray[np.float64]:
        """The point looked at in a scene."""
        if self.target is not None:
            return np.array(self.target)
        bases = np.mean([arm.position for arm in scene.arms], axis=0)
        target = 0.4 * bases + 0.6 * np.array(scene.object_placement.translation)
        target[2] = scene.table_height + 0.2
        return np.asarray(target)


def render_key_frames(
    scene: Scene,
    robots: Mapping[str, RobotModel],
    states: Sequence[PlantState],
    path: str | Path,
    *,
    titles: Sequence[str] | None = None,
    camera: Camera | None = None,
    sticks: bool = False,
) -> Path:
    """Write one picture with a frame per state.

    Without OpenGL (no EGL on the machine), or when `sticks` asks for it, arms are drawn as stick figures instead.

    Args:
        scene: What the states are states of.
        robots: Arm name -> robot, as `MujocoPlant.robots`.
        states: The key frames, at most six.
        path: PNG to write; an existing file is replaced.
        titles: One per state; the times when None.
        camera: From where to look.
        sticks: Draw stick figures even where OpenGL works.

    Returns:
        The path written.

    Raises:
        InvalidInputError: No states, or more than six, or another number of titles.
    """
    if not 1 <= len(states) <= 6:
        raise InvalidInputError("states", len(states), "1 to 6 key frames")
    titles = [f"t = {state.time:.3f} s" for state in states] if titles is None else list(titles)
    if len(titles) != len(states):
        raise InvalidInputError("titles", len(titles), f"{len(states)}, one per state")
    world = build_world(scene, robots, visual=True)
    camera = camera or Camera()
    draw = None if sticks else _image_renderer(world, scene, camera)
    columns = min(3, len(states))
    rows = -(-len(states) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.4 * rows), layout="constrained")
    for index, (state, title) in enumerate(zip(states, titles, strict=True)):
        place: dict[str, Any] = {} if draw is not None else {"projection": "3d"}
        axes = figure.add_subplot(rows, columns, index + 1, **place)
        data = _posed(world, state)
        if draw is not None:
            axes.imshow(draw(data))
            axes.set_axis_off()
        else:
            _draw_sticks(axes, world, data, scene, camera)
        axes.set_title(title, fontsize=10)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path


def _posed(world: World, state: PlantState) -> mujoco.MjData:
    data = mujoco.MjData(world.model)
    for arm in world.arms.values():
        data.qpos[arm.qpos] = state.q[arm.joints]
    pose = data.qpos[world.object_qpos]
    pose[:3] = state.object_placement.translation
    pose[3:] = quaternion_wxyz(state.object_placement.rotation)
    mujoco.mj_forward(world.model, data)
    return data


def _image_renderer(world: World, scene: Scene, camera: Camera) -> Callable[[mujoco.MjData], Image] | None:
    """A function from a posed world to an image (480, 640, 3), or None where OpenGL does not work without a screen."""
    width, height = 640, 480
    try:
        from mujoco.egl import GLContext

        gl = GLContext(width, height)
        gl.make_current()
        context = mujoco.MjrContext(world.model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    # A missing library surfaces as whatever the binding happens to stumble over.
    except Exception:
        return None
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
    view = mujoco.MjvCamera()
    view.lookat[:] = camera.target_in(scene)
    view.distance, view.azimuth, view.elevation = camera.distance, camera.azimuth, camera.elevation
    drawn = mujoco.MjvScene(world.model, maxgeom=200)
    rectangle = mujoco.MjrRect(0, 0, width, height)

    def draw(data: mujoco.MjData) -> Image:
        # The context ends with its GLContext, which is why that is kept here.
        gl.make_current()
        mujoco.mjv_updateScene(
            world.model, data, mujoco.MjvOption(), None, view, mujoco.mjtCatBit.mjCAT_ALL.value, drawn
        )
        mujoco.mjr_render(rectangle, drawn, context)
        image = np.zeros((height, width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(image, None, rectangle, context)
        return image[::-1]

    return draw


def _draw_sticks(axes: Axes, world: World, data: mujoco.MjData, scene: Scene, camera: Camera) -> None:
    model = world.model
    plot: Any = axes
    for name, arm in world.arms.items():
        chain = [int(model.body(f"{name}/base").id)]
        chain += [int(model.jnt_bodyid[model.dof_jntid[dof]]) for dof in arm.dof]
        points = np.vstack([data.xpos[chain], data.site_xpos[arm.tool_site]])
        plot.plot(*points.T, "-o", color="0.35", markersize=3, linewidth=2, label=name)
        plot.plot(*data.site_xpos[arm.tool_site][:, None], "o", color="tab:orange", markersize=7)
    half = np.array(scene.object.half_sizes)
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = data.xpos[world.object_body] + (signs * half) @ data.xmat[world.object_body].reshape(3, 3).T
    for first in range(8):
        for second in range(first + 1, 8):
            if np.sum(signs[first] != signs[second]) == 1:
                plot.plot(*corners[[first, second]].T, color="tab:blue", linewidth=1)
    centre, reach = camera.target_in(scene), 0.4 * camera.distance
    plot.set_xlim(centre[0] - reach, centre[0] + reach)
    plot.set_ylim(centre[1] - reach, centre[1] + reach)
    plot.set_zlim(0.0, 2.0 * reach)
    plot.set_xlabel("x [m]")
    plot.set_ylabel("y [m]")
    plot.set_zlabel("z [m]")
    plot.set_box_aspect((1, 1, 1), zoom=1.2)
    plot.view_init(elev=-camera.elevation, azim=camera.azimuth + 180.0)
