"""Moving picture of an impact in slow motion, as an animated GIF."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from impact_aware.bags.bag import Bag
from impact_aware.library_settings import figure_settings
from impact_aware.markers import style
from impact_aware.output_folder import write_whole
from impact_aware.render.picture import corners_of, drawn_markers, scene_figure
from impact_aware.render.recorded_scene import RecordedScene, read_scene

BEFORE, AFTER = 0.160, 0.240
"""Time before and after the impact that is shown, s."""

FRAMES, FRAME_TIME = 25, 0.16
"""Number of frames, and time for which each is shown, s: ten times slower than it was."""

WIDTH, COLORS = 900, 128
"""Width of a frame in pixels, and colours of its palette."""


def _few_colors(frame: Image.Image) -> Image.Image:
    """The frame with a palette that has the colours of the arrows, which are too thin to be in one by themselves."""
    own = [style.BEFORE, style.PREDICTED, style.ESTIMATED, style.IMPULSE, style.REFERENCE, style.CONE]
    # On white.
    shown = [round(255.0 * (1.0 - color[3] * (1.0 - value))) for color in own for value in color[:3]]
    rest = COLORS - len(own)
    palette = Image.new("P", (1, 1))
    palette.putpalette([*(frame.quantize(rest, dither=Image.Dither.NONE).getpalette() or [])[: 3 * rest], *shown])
    return frame.quantize(palette=palette, dither=Image.Dither.NONE)


@figure_settings()
def draw_movie(
    bag: Bag,
    path: Path,
    scene: RecordedScene,
    *,
    view: str = "iso",
    on_frame: Callable[[], object] = lambda: None,
) -> Path:
    """Write an animated GIF of the time around a scene; an existing file is replaced.

    Args:
        bag: Recording of the scene.
        path: Where to write it.
        scene: Scene in the middle, which `read_scene` gave for the recording.
        view: As of `draw_scene`.
        on_frame: Called after each of `FRAMES` frames.

    Raises:
        InvalidInputError: An unknown view.
    """
    begin, end = max(scene.span[0], scene.time - BEFORE), min(scene.span[1], scene.time + AFTER)
    robots = {arm.name: (arm.robot, arm.shape) for arm in scene.arms}
    scenes = [read_scene(bag, time=time, robot=robots) for time in np.linspace(begin, end, FRAMES).tolist()]
    markers = [drawn_markers(each) for each in scenes]
    # The camera stands still.
    corners = np.concatenate([corners_of(*pair) for pair in list(zip(scenes, markers, strict=True))[:: FRAMES - 1]])
    frames = []
    for each, drawn in zip(scenes, markers, strict=True):
        canvas = FigureCanvasAgg(scene_figure(each, drawn, corners, view))
        canvas.draw()
        whole = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        small = whole.resize((WIDTH, whole.height * WIDTH // whole.width), Image.Resampling.LANCZOS)
        frames.append(_few_colors(small))
        on_frame()
    milliseconds = round(1e3 * FRAME_TIME)
    animated: dict[str, Any] = {"save_all": True, "append_images": frames[1:], "duration": milliseconds, "loop": 0}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, partial(frames[0].save, format="GIF", optimize=True, **animated))
    return path
