"""The time around an impact for Rerun: robot, object and arrows in slow motion, joint velocities, impacts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.bags.bag import Bag
from impact_aware.errors import InvalidInputError
from impact_aware.markers import Kind, Marker, style
from impact_aware.output_folder import write_whole
from impact_aware.render.camera import view_direction
from impact_aware.render.movie import AFTER, BEFORE, FRAMES
from impact_aware.render.picture import LINK, Drawn, corners_of, drawn_markers, pose_of
from impact_aware.render.recorded_scene import RecordedArm, RecordedScene, joint_velocities, read_scene
from impact_aware.render.solids import marker_triangles, placed

TIMELINE = "time"

SLOWER = 0.1
"""Speed of the repetition in the viewer, as a share of real time."""

EPOCH = 1e8
"""Stamps above it count from 1970, s."""

DISTANCE = 1.1
"""Distance of the eye from the scene, as a share of the scene's diagonal."""


def rerun_library(option: str) -> Any:
    """The package `rerun`.

    Raises:
        InvalidInputError: It is not installed, for `option`.
    """
    try:
        return importlib.import_module("rerun")
    except ModuleNotFoundError as error:
        expected = "rerun-sdk: pip install 'impact_aware[rerun]'"
        raise InvalidInputError(option, "no package rerun", expected) from error


def write_rerun(
    bag: Bag,
    path: Path,
    scene: RecordedScene,
    *,
    view: str = "iso",
    events: Mapping[float, str] | None = None,
    on_frame: Callable[[], object] = lambda: None,
) -> Path:
    """Write a `.rrd` file of the time around a scene, or around several impacts.

    Args:
        bag: Recording of the scene.
        path: Where to write it; an existing file is replaced.
        scene: What `read_scene` gave for the recording: the robots, the camera, and the time without events.
        view: As of `draw_scene`.
        events: Time of each impact, s, and the line that describes it.
        on_frame: Called after each frame.

    Raises:
        InvalidInputError: `rerun-sdk` is not installed.
    """
    rr = rerun_library("--out")
    recording = rr.RecordingStream("impact_aware")
    stream = recording.binary_stream()
    robots = {arm.name: (arm.robot, arm.shape) for arm in scene.arms}
    frames = frame_times(scene.span, events or [scene.time])
    begin, end = frames[0], frames[-1]
    # Stamps of the wall clock have a date.
    kind = "timestamp" if begin > EPOCH else "duration"
    recording.send_blueprint(_blueprint(rr, corners_of(scene, drawn_markers(scene)), view))
    for topic, (times, velocities) in joint_velocities(bag).items():
        for name, values in velocities.items():
            near = (times >= begin) & (times <= end)
            index = [rr.TimeColumn(TIMELINE, **{kind: times[near]})]
            recording.send_columns(f"velocity{topic}/{name}", index, rr.Scalars.columns(scalars=values[near]))
    for time, text in (events or {time: f"impact at {time:.4f} s" for time in scene.impact_times}).items():
        if begin <= time <= end:
            recording.set_time(TIMELINE, **{kind: time})
            recording.log("impacts", rr.TextLog(text))
    shown: set[str] = set()
    for time in frames:
        recording.set_time(TIMELINE, **{kind: time})
        now = read_scene(bag, time=time, robot=robots)
        drawn = _named(drawn_markers(now))
        for name in shown - drawn.keys():
            recording.log(name, rr.Clear(recursive=False))
        shown = set(drawn)
        for name, (arm, marker) in drawn.items():
            recording.log(name, _shape(rr, marker, pose_of(arm, marker)))
        for arm in now.arms:
            if arm.robot is not None and arm.q is not None:
                triangles = placed(arm.shape.triangles(arm.robot, arm.q), arm.base)
                recording.log(f"scene/robot/{arm.name}", _mesh(rr, triangles, LINK))
        on_frame()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, stream.read())
    return path


def frame_times(span: tuple[float, float], around: Iterable[float]) -> list[float]:
    """Times within a recording at which the scene around each of some times is drawn, in order, s."""
    step = (BEFORE + AFTER) / (FRAMES - 1)
    frames: list[float] = []
    for time in sorted(around):
        begin, end = max(span[0], time - BEFORE, *(last + step for last in frames[-1:])), min(span[1], time + AFTER)
        if begin <= end:
            frames += np.linspace(begin, end, round((end - begin) / step) + 1).tolist()
    return frames


def _named(drawn: Drawn) -> dict[str, tuple[RecordedArm, Marker]]:
    """Markers by entity; the texts of an impact are one label of several lines, since labels would overlap."""
    named: dict[str, tuple[RecordedArm, Marker]] = {}
    for arm, marker in drawn:
        group, _, item = marker.namespace.rpartition("/")
        text = marker.kind is Kind.TEXT and item != "object_text"
        name = f"scene/{group}/text" if text else f"scene/{marker.namespace}/{marker.id}"
        if text and name in named:
            first = named[name][1]
            marker = replace(first, text=f"{first.text}\n{marker.text}", color=style.TEXT)
        named[name] = arm, marker
    return named


def _blueprint(rr: Any, corners: Array, view: str) -> Any:
    """Scene (corners (m, 3), m) on the left, joint velocities and impacts on the right, repeated in slow motion."""
    views = importlib.import_module("rerun.blueprint")
    panel = views.TimePanel(timeline=TIMELINE, playback_speed=SLOWER, loop_mode="all", state="collapsed")
    low, high = corners.min(axis=0), corners.max(axis=0)
    azimuth, elevation = np.radians(view_direction(view))
    along = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    target = 0.5 * (low + high)
    eye = views.EyeControls3D(position=target + DISTANCE * np.linalg.norm(high - low) * along, look_target=target)
    space = views.Spatial3DView(origin="scene", background=[*style.BACKGROUND, 1.0], eye_controls=eye)
    plots = views.TimeSeriesView(origin="velocity", name="joint velocities, rad/s")
    side = views.Vertical(plots, views.TextLogView(origin="impacts"), row_shares=[3, 1])
    return views.Blueprint(views.Horizontal(space, side, column_shares=[3, 2]), panel, collapse_panels=True)


def _shape(rr: Any, marker: Marker, pose: pin.SE3) -> Any:
    """A marker in the frame of the scene, m."""
    if marker.kind is Kind.TEXT:
        point = placed(marker.position, pose)
        return rr.Points3D([point], labels=[marker.text], colors=[marker.color], radii=0.0, show_labels=True)
    if marker.kind in (Kind.LINE_LIST, Kind.LINE_STRIP):
        points = placed(marker.points, pose)
        lines = [points] if marker.kind is Kind.LINE_STRIP else points.reshape(-1, 2, 3)
        return rr.LineStrips3D(lines, colors=[marker.color], radii=0.5 * marker.scale[0])
    return _mesh(rr, placed(marker_triangles(marker, np.zeros(3)), pose), marker.color)


def _mesh(rr: Any, triangles: Array, color: tuple[float, ...]) -> Any:
    """Triangles (m, 3, 3), m."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    corners = triangles.reshape(-1, 3)
    return rr.Mesh3D(
        vertex_positions=corners, vertex_normals=np.repeat(normals, 3, axis=0), albedo_factor=color,
        triangle_indices=np.arange(len(corners)).reshape(-1, 3),
    )  # fmt: skip
