"""The figure of a run in which several arms grab and lift: tools through the impacts, and the way of the object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from impact_aware.recordings.bag import vector
from impact_aware.report.run_figure import shade_modes
from impact_aware.report.run_series import ControlSeries, ObjectSeries, ToolSeries

WINDOW = (-0.10, 0.30)
"""Time shown around the first impact, s."""

COLORS = ("#1f5fa8", "#b0561f", "#3b7d3b", "#7a3f8f")


def draw_grasp(
    path: Path,
    tools: ToolSeries,
    controls: list[ControlSeries],
    things: ObjectSeries,
    field: Any,
    summary: dict[str, Any],
) -> None:
    """Draw and save the figure of one run.

    Args:
        path: Of the image.
        tools: Tools of all arms.
        controls: One per arm.
        things: The object up to the end of the task.
        field: The last `ReferenceField` message.
        summary: What the report says.
    """
    grasp = summary["grasp"]
    start = min(arm["time_true"] for arm in summary["arms"].values())
    figure = Figure(figsize=(9.0, 9.0), layout="constrained")
    FigureCanvasAgg(figure)
    velocity, target, way = figure.subplots(3, 1, height_ratios=(1.6, 1.0, 1.0))
    times = 1e3 * (tools.times - start)
    for index, name in enumerate(tools.names):
        color, normal = COLORS[index % len(COLORS)], vector(field.arms[index].normal)
        velocity.plot(times, -tools.velocities[:, index] @ normal, color=color, label=f"{name}, measured")
        wanted = -tools.reference_velocities[:, index] @ normal
        velocity.plot(times, wanted, color=color, linestyle="--", linewidth=0.9, label=f"{name}, reference")
        norms = np.linalg.norm(controls[index].target_acceleration[:, :3], axis=1)
        target.plot(1e3 * (controls[index].times - start), norms, color=color, label=f"{name}, linear")
    velocity.set_ylabel("tool speed towards the object, m/s")
    target.set_ylabel("target acceleration, m/s²")
    for axes in (velocity, target):
        _mark_impacts(axes, summary, start, named=axes is velocity)
        shade_modes(axes, controls[0], start, named=axes is velocity)
        axes.set_xlim(1e3 * WINDOW[0], 1e3 * WINDOW[1])
        axes.legend(loc="upper right" if axes is velocity else "lower right", frameon=False, fontsize=8)
        axes.grid(color="#dddddd", linewidth=0.5)
    target.set_xlabel("time from the first contact, ms")
    _draw_way(way, things, field, start)
    velocity.set_title(
        f"{grasp['first_arm']} hits first, the last arm {1e3 * grasp['lead_s']:.1f} ms later; the object is lifted "
        f"{1e3 * grasp['final_lift_m']:.0f} mm with {1e3 * grasp['slip_m']:.1f} mm of slip",
        fontsize=11,
    )
    figure.savefig(path, dpi=130)


def _mark_impacts(axes: Axes, summary: dict[str, Any], start: float, *, named: bool) -> None:
    """Contact as a line and its detection as a dotted one, in each arm's colour."""
    for index, arm in enumerate(summary["arms"].values()):
        color = COLORS[index % len(COLORS)]
        contact, detected = 1e3 * (arm["time_true"] - start), 1e3 * (arm["time_detected"] - start)
        axes.axvline(contact, color=color, linewidth=0.8, label="contact" if named and not index else None)
        label = "detected" if named and not index else None
        axes.axvline(detected, color=color, linewidth=0.8, linestyle=":", label=label)


def _draw_way(axes: Axes, things: ObjectSeries, field: Any, start: float) -> None:
    goal = vector(field.goal) - things.positions[0]
    moved = 1e3 * (things.positions - things.positions[0])
    times = things.times - start
    for column, (name, color) in enumerate(zip(("x", "y", "z"), ("#888888", "#3b7d3b", "#333333"), strict=True)):
        axes.plot(times, moved[:, column], color=color, label=name)
        axes.axhline(1e3 * goal[column], color=color, linewidth=0.8, linestyle="--")
    axes.plot([], [], color="#333333", linewidth=0.8, linestyle="--", label="goal")
    axes.set_xlabel("time from the first contact, s")
    axes.set_ylabel("way of the object, mm")
    axes.legend(loc="center left", frameon=False, fontsize=8, ncols=2)
    axes.grid(color="#dddddd", linewidth=0.5)
