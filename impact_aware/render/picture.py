"""One picture of a recorded scene: the whole of it, the contact from near, and the joints' jump."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from impact_aware.arrays import Array
from impact_aware.library_settings import figure_settings
from impact_aware.markers import Kind, Marker, style
from impact_aware.markers.contact import spoken_speeds
from impact_aware.markers.marker import Color
from impact_aware.markers.velocities import contact_velocities
from impact_aware.output_folder import write_whole
from impact_aware.records import Impact
from impact_aware.render.camera import Camera, view_direction
from impact_aware.render.canvas import Canvas
from impact_aware.render.jump_chart import draw_jump
from impact_aware.render.recorded_scene import RecordedArm, RecordedScene
from impact_aware.render.solids import marker_triangles, placed, ribbon

Rectangle = tuple[float, float, float, float]

LINK = (0.86, 0.87, 0.89, 1.0)
FLOOR = (0.82, 0.82, 0.82, 1.0)
FLOOR_STRONG = (0.68, 0.68, 0.68, 1.0)
AXES = (("x", (0.75, 0.1, 0.1)), ("y", (0.1, 0.5, 0.1)), ("z", (0.1, 0.2, 0.7)))
DPI = 100
SIZE = (13.0, 8.0)
"""Size of the figure, inches."""

CLOSE_RADIUS = 0.19
"""Radius of the region that the near view shows, m."""

SEEN_THROUGH = ("velocity_before", "velocity_after", "velocity_estimated", "impulse", "contact", "normal")
"""What must be seen even behind something."""

ORIGINS = {
    "estimate": "estimated from the recording",
    "plant": "measured in the simulator",
    "first look": "first look of the detector",
}


Drawn = list[tuple[RecordedArm, Marker]]


@figure_settings()
def draw_scene(scene: RecordedScene, path: str | Path, *, view: str = "iso") -> Path:
    """Write the picture as PNG; an existing file is replaced.

    Args:
        scene: What a recording shows at one time.
        path: Where to write it.
        view: Direction of the large picture: a name of `camera.VIEWS`, or `AZIMUTH,ELEVATION` in degrees.

    Raises:
        InvalidInputError: An unknown view.
    """
    drawn = drawn_markers(scene)
    figure = scene_figure(scene, drawn, corners_of(scene, drawn), view)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, partial(figure.savefig, format="png", dpi=DPI, pil_kwargs={"optimize": True}))
    return path


def drawn_markers(scene: RecordedScene) -> Drawn:
    """Markers of the scene that are drawn in space, each with its arm; a scene gives them once."""
    drawn = [(arm, marker) for arm in scene.arms for group in arm.scene.take_changes().values() for marker in group]
    return [(arm, marker) for arm, marker in drawn if _item(marker) != "legend"]


def corners_of(scene: RecordedScene, drawn: Drawn) -> Array:
    """Points (m, 3) that the large picture must show, m."""
    corners = [robot.reshape(-1, 3) for robot in _robots(scene)]
    corners += [placed(points, pose_of(arm, marker)) for arm, marker in drawn for points in _extent(marker)]
    return np.concatenate(corners) if corners else np.array([[-0.5, -0.5, 0.0], [0.5, 0.5, 1.0]])


def scene_figure(scene: RecordedScene, drawn: Drawn, corners: Array, view: str) -> Figure:
    """Figure of a scene; call within `figure_settings`.

    Args:
        scene: What a recording shows at one time.
        drawn: Its markers, as of `drawn_markers`.
        corners: (m, 3) Points that the large picture shows, m.
        view: As of `draw_scene`.
    """
    azimuth, elevation = view_direction(view)
    impacts = [(arm, impact) for arm in scene.arms if (impact := arm.scene.impact) is not None]
    figure = Figure(figsize=SIZE, dpi=DPI)
    FigureCanvasAgg(figure)
    wide = not impacts
    _scene_view(figure, (0.01, 0.13, 0.98 if wide else 0.62, 0.755), scene, drawn, corners, azimuth, elevation)
    single = len(impacts) == 1
    for row, (arm, impact) in enumerate(impacts):
        near = (0.62, 0.46, 0.37, 0.42) if single else (0.635 + 0.18 * row, 0.52, 0.175, 0.33)
        chart = (0.69, 0.14, 0.295, 0.27) if single else (0.69, 0.345 - 0.215 * row, 0.295, 0.12)
        _near_view(figure, near, arm, impact, [marker for owner, marker in drawn if owner is arm], azimuth)
        axes = figure.add_axes(chart)
        draw_jump(axes, impact, arm.scene.outcome, legend=row == 0, name=arm.name, last=row == len(impacts) - 1)
    figure.text(0.015, 0.965, _title(scene), fontsize=15, fontweight="bold", va="center")
    figure.text(0.015, 0.943, _subtitle(scene), fontsize=10.5, color="0.25", va="top", linespacing=1.35)
    _legend(figure, {_item(marker) for _, marker in drawn}, scene)
    return figure


def _robots(scene: RecordedScene) -> list[Array]:
    """Triangles (m, 3, 3) of each robot that is known, m."""
    return [
        placed(arm.shape.triangles(arm.robot, arm.q), arm.base)
        for arm in scene.arms
        if arm.robot is not None and arm.q is not None
    ]


def _item(marker: Marker) -> str:
    """Last part of the namespace."""
    return marker.namespace.rpartition("/")[2]


def pose_of(arm: RecordedArm, marker: Marker) -> pin.SE3:
    """Markers of the arm's own base frame stand where its base stands; the others are in the common frame."""
    return arm.base if marker.frame == arm.frame else pin.SE3.Identity()


def _scene_view(
    figure: Figure,
    rectangle: Rectangle,
    scene: RecordedScene,
    drawn: Drawn,
    corners: Array,
    azimuth: float,
    elevation: float,
) -> None:
    low, high = corners.min(axis=0), corners.max(axis=0)
    target = 0.5 * (low + high)
    camera = Camera(target, 0.5 * float(np.linalg.norm(high - low)), azimuth, elevation)
    axes, canvas = _panel(figure, rectangle, camera, corners)
    for color, width, lines in _floor(low, high):
        for start, end in lines:
            canvas.add(ribbon(start, end, width, camera.eye), color, lit=False)
    for robot in _robots(scene):
        canvas.add(robot, LINK)
    _add_markers(canvas, [(pose_of(arm, marker), marker) for arm, marker in drawn])
    _show(axes, canvas)
    for arm, marker in drawn:
        if marker.kind is Kind.TEXT and _item(marker) == "object_text":
            _write(axes, canvas, placed(marker.position, pose_of(arm, marker)), marker.text, marker.color)
    for arm in scene.arms:
        _frame_axes(axes, canvas, arm.base)
        if arm.name:
            _write(axes, canvas, placed(np.array([0.0, 0.0, -0.05]), arm.base), arm.name, style.TEXT)


def _near_view(
    figure: Figure,
    rectangle: Rectangle,
    arm: RecordedArm,
    impact: Impact,
    markers: list[Marker],
    azimuth: float,
) -> None:
    """The first contact from near, without the robot that would hide it."""
    contact = impact.contacts[0]
    base = arm.base
    point, normal = placed(contact.point, base), base.rotation @ contact.normal
    # From the side, so that what goes along the normal is seen in full length.
    heading = np.degrees(np.arctan2(normal[1], normal[0]))
    side = min((heading + 62.0, heading - 62.0), key=lambda angle: abs((angle - azimuth + 180.0) % 360.0 - 180.0))
    # The text below the contact needs room in a narrow view.
    camera = Camera(point, CLOSE_RADIUS * (1.0 if rectangle[2] > 0.3 else 1.25), side, 24.0)
    axes, canvas = _panel(figure, rectangle, camera)
    near = [
        m for m in markers if "streamline" not in _item(m) and "field" not in _item(m) and _item(m) != "object_goal"
    ]
    _add_markers(canvas, [(pose_of(arm, marker), marker) for marker in near])
    _show(axes, canvas)
    velocities = contact_velocities(impact, contact, arm.robot, arm.scene.outcome)
    said = spoken_speeds(velocities, alone=arm.scene.predicted_alone(impact))
    lines = [(words, color) for words, color in said if words]
    lines.append((f"impulse {float(np.linalg.norm(contact.impulse)):.2f} N s", style.IMPULSE))
    # As high as a line of text, in a view of any height.
    row_height = 0.031 / rectangle[3]
    for row, (words, color) in enumerate(lines):
        axes.text(
            0.99, row_height * (len(lines) - 0.8 - row), words, transform=axes.transAxes, ha="right", va="bottom",
            color=color[:3], fontsize=10, fontweight="bold", path_effects=[withStroke(linewidth=3, foreground="white")],
        )  # fmt: skip
    axes.set_title(
        f"{arm.name}, robot left out" if arm.name else "the contact, robot left out",
        fontsize=10,
        color="0.35",
        loc="left",
        pad=2,
    )


def _panel(figure: Figure, rectangle: Rectangle, camera: Camera, fit: Array | None = None) -> tuple[Any, Canvas]:
    """Axes and a canvas of their size; the camera is moved to fit points (m, 3)."""
    axes = figure.add_axes(rectangle)
    axes.set_axis_off()
    width = round(rectangle[2] * SIZE[0] * DPI)
    height = round(rectangle[3] * SIZE[1] * DPI)
    return axes, Canvas(camera if fit is None else camera.fitted(fit, width, height), width, height)


def _show(axes: Any, canvas: Canvas) -> None:
    axes.imshow(canvas.image(), interpolation="none", aspect="auto")
    axes.set_autoscale_on(False)


def _add_markers(canvas: Canvas, markers: list[tuple[pin.SE3, Marker]]) -> None:
    for pose, marker in markers:
        triangles = marker_triangles(marker, canvas.camera.eye)
        flat = marker.kind in (Kind.LINE_LIST, Kind.LINE_STRIP)
        canvas.add(placed(triangles, pose), marker.color, lit=not flat, seen_through=_item(marker) in SEEN_THROUGH)


def _extent(marker: Marker) -> Iterator[Array]:
    """Points that the picture must show."""
    if marker.kind in (Kind.CUBE, Kind.SPHERE):
        yield marker.position + 0.5 * np.array([-marker.scale, marker.scale])
    elif marker.kind is not Kind.TEXT and len(marker.points):
        yield marker.points


def _floor(low: Array, high: Array) -> Iterator[tuple[Color, float, list[tuple[Array, Array]]]]:
    """A grid of 0.1 m on z = 0, every 0.5 m stronger: what lengths are read from."""
    first, last = np.floor(10.0 * low[:2] - 1.0), np.ceil(10.0 * high[:2] + 1.0)
    for strong in (False, True):
        lines = []
        for axis in (0, 1):
            for tenth in np.arange(first[axis], last[axis] + 0.5):
                if (tenth % 5 == 0) == strong:
                    start, end = np.full(3, -1e-3), np.full(3, -1e-3)
                    start[axis] = end[axis] = 0.1 * tenth
                    start[1 - axis], end[1 - axis] = 0.1 * first[1 - axis], 0.1 * last[1 - axis]
                    lines.append((start, end))
        yield (FLOOR_STRONG if strong else FLOOR), (0.004 if strong else 0.002), lines


def _frame_axes(axes: Any, canvas: Canvas, pose: pin.SE3) -> None:
    """The axes of a base frame, drawn on top."""
    for direction, (letter, color) in enumerate(AXES):
        ends = placed(np.array([np.zeros(3), 0.25 * np.eye(3)[direction]]), pose)
        start, end = (_pixel(canvas, axes, point) for point in ends)
        axes.plot(*np.transpose([start, end]), color=color, linewidth=1.6)
        x, y = end + 0.12 * (end - start)
        axes.text(x, y, letter, color=color, fontsize=9, ha="center", va="center", clip_on=True)


def _pixel(canvas: Canvas, axes: Any, point: Array) -> Array:
    image = axes.images[0].get_array()
    return canvas.camera.project(point, image.shape[1], image.shape[0])[:2]


def _write(axes: Any, canvas: Canvas, point: Array, words: str, color: tuple[float, ...], **more: Any) -> None:
    x, y = _pixel(canvas, axes, point)
    axes.text(
        x, y, words, color=color[:3], ha="center", va="center", fontsize=9.5,
        path_effects=[withStroke(linewidth=3, foreground="white")], **more,
    )  # fmt: skip


def _title(scene: RecordedScene) -> str:
    impacts = [arm.scene.impact for arm in scene.arms if arm.scene.impact is not None]
    if not impacts:
        return f"{scene.time:.4f} s: no impact yet"
    hit = impacts[0].object or impacts[0].contacts[0].obstacle or "a surface"
    if impacts[0].source == "look_ahead":
        until = impacts[0].time + max(impacts[0].time_to_impact, 0.0) - scene.time
        return f"{scene.time:.4f} s: impact with {hit} " + (f"in {1e3 * until:.0f} ms" if until > 0.0 else "ahead")
    since = 1e3 * (scene.time - impacts[0].time)
    return f"{scene.time:.4f} s: impact with {hit}" + (f", {since:.0f} ms ago" if since >= 1.0 else "")


def _subtitle(scene: RecordedScene) -> str:
    parts = []
    for arm in scene.arms:
        impact = arm.scene.impact
        if impact is None:
            continue
        contact = impact.contacts[0]
        words = [f"{arm.name}: " if arm.name else ""]
        words[0] += f"the contact {contact.mode}s" if contact.mode else "contact"
        words.append(f"impulse {float(np.linalg.norm(contact.impulse)):.2f} N s")
        if contact.effective_mass > 0.0:
            words.append(f"effective mass {contact.effective_mass:.1f} kg")
        if impact.object:
            twists = impact.object_twist_before, impact.object_twist_after
            before, after = (float(np.linalg.norm(twist[:3])) for twist in twists)
            words.append(f"{impact.object} predicted to go from {before:.2f} to {after:.2f} m/s")
        outcome = arm.scene.outcome
        found = None if outcome is None else outcome.picked(impact.joint_names)
        if outcome is not None and found is not None and len(impact.velocity_after) == len(found):
            jump = float(np.linalg.norm(found - impact.velocity_before))
            if jump > 0.0:
                error = float(np.linalg.norm(found - impact.velocity_after)) / jump
                words.append(f"prediction off by {100.0 * error:.1f} % of the jump ({ORIGINS[outcome.origin]})")
        parts += textwrap.wrap("; ".join(words), 125)
    return "\n".join(parts)


def _legend(figure: Figure, items: set[str], scene: RecordedScene) -> None:
    handles: list[Any] = []
    for item, color, meaning in style.LEGEND:
        if item not in items and item.replace("field", "streamline") not in items:
            continue
        if color[3] < 0.5:
            handles.append(Patch(facecolor=color[:3], alpha=max(color[3], 0.25), label=meaning))
        else:
            handles.append(Line2D([], [], color=color[:3], linewidth=3, label=meaning))
    figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.008, 0.005), ncols=3, fontsize=9, frameon=False)
