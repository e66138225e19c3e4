"""The figure of a run: joints and tools through the impact, target accelerations, way of the object."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from impact_aware.library_settings import figure_settings
from impact_aware.report.run_series import ArmSeries, RunSeries

WINDOW = (-0.10, 0.30)
"""Time shown around the first impact, s."""

MODE_COLORS = {1: "#ffffff", 2: "#fff1d6", 3: "#e3f1e6", 4: "#fce8e8", 5: "#e6ecf5"}
"""ControllerState.MODE_* -> shade behind the curves."""

JOINT_COLORS = ("#000000", "#004c8e", "#d95b29", "#148b53", "#a75895", "#2d6ce3", "#743800")
"""Colours of the joints, from base to tool; distinct with every kind of colour blindness."""

MODE_NAMES = {1: "ante-impact", 2: "interim", 3: "post-impact", 4: "safe", 5: "hold"}

_OBJECT_AXES = (("x", "#888888"), ("y", "#3b7d3b"), ("z", "#333333"))


@figure_settings()
def run_figure(run: RunSeries, arms: dict[str, dict[str, Any]]) -> Figure:
    """One column per arm with joint velocities, tool speed and target acceleration; the object below.

    Args:
        run: The run.
        arms: Results of each arm in the report.
    """
    start = min(arm["time_true"] for arm in arms.values())
    columns = len(run.arms)
    figure = Figure(figsize=(9.0 if columns == 1 else 7.0 * columns, 11.0), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(4, columns, height_ratios=(2.0, 1.0, 1.0, 1.0))
    for column, (arm, figures) in enumerate(zip(run.arms, arms.values(), strict=True)):
        for row, draw in enumerate((_draw_joints, _draw_tool, _draw_target)):
            axes = figure.add_subplot(grid[row, column])
            draw(axes, run, arm, figures, start)
            _shade_modes(axes, run, start, named=row == 0)
            axes.axvline(1e3 * (figures["time_true"] - start), color="#444444", linewidth=0.8)
            axes.axvline(1e3 * (figures["time_detected"] - start), color="#444444", linewidth=0.8, linestyle=":")
            axes.grid(color="#dddddd", linewidth=0.5)
            axes.set_xlim(1e3 * WINDOW[0], 1e3 * WINDOW[1])
            if row == 0:
                axes.set_title(_headline(arm.name, figures), fontsize=10)
        axes.set_xlabel("time from the first contact, ms")
    _draw_object(figure.add_subplot(grid[3, :]), run, start)
    return figure


def _headline(name: str, figures: dict[str, Any]) -> str:
    together = figures["prediction_error_relative"]
    error = 100.0 * (figures["prediction_error_alone"] if together is None else together)
    return f"{name}: predicted jump {error:.1f} % off the plant's; detected after {figures['delay_ms']:.1f} ms"


def _draw_joints(axes: Axes, run: RunSeries, arm: ArmSeries, figures: dict[str, Any], start: float) -> None:
    shown = (arm.joint_times > start + WINDOW[0]) & (arm.joint_times < start + WINDOW[1])
    times, velocities = 1e3 * (arm.joint_times[shown] - start), arm.joint_velocities[shown]
    control_times, contact = 1e3 * (run.times - start), 1e3 * (figures["time_true"] - start)
    handles = [
        Line2D([], [], color="#555555", linewidth=1.4, label="measured"),
        Line2D([], [], color="#555555", linewidth=3.5, alpha=0.45, label="predicted after"),
        Line2D([], [], color="#555555", linewidth=0.9, linestyle="--", label="reference"),
    ]
    for index, name in enumerate(arm.joint_names):
        color = JOINT_COLORS[index % len(JOINT_COLORS)]
        handles += axes.plot(times, velocities[:, index], color=color, linewidth=1.4, label=name)
        axes.plot(control_times, arm.joint_reference_velocity[:, index], color=color, linewidth=0.9, linestyle="--")
        level = figures["velocity_after_predicted"][index]
        axes.plot((contact, contact + 30.0), (level, level), color=color, linewidth=3.5, alpha=0.45)
    margin = 0.15 * float(np.ptp(velocities))
    axes.set_ylim(float(velocities.min()) - margin, float(velocities.max()) + margin)
    axes.set_ylabel("joint velocity, rad/s")
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9)


def _draw_tool(axes: Axes, run: RunSeries, arm: ArmSeries, figures: dict[str, Any], start: float) -> None:
    times = 1e3 * (run.times - start)
    axes.plot(times, -arm.tool_velocity @ arm.normal, color="#1f5fa8", label="measured")
    axes.plot(times, -arm.reference_velocity @ arm.normal, "--", color="#1f5fa8", linewidth=0.9, label="reference")
    axes.set_ylabel("tool speed towards\nthe object, m/s")
    axes.legend(loc="best", frameon=False, fontsize=9)


def _draw_target(axes: Axes, run: RunSeries, arm: ArmSeries, figures: dict[str, Any], start: float) -> None:
    times = 1e3 * (run.times - start)
    parts = (("linear, m/s²", "#333333", slice(0, 3)), ("angular, rad/s²", "#b0561f", slice(3, 6)))
    for label, color, part in parts:
        axes.plot(times, np.linalg.norm(arm.target_acceleration[:, part], axis=1), color=color, label=label)
    axes.set_ylabel("target acceleration")
    axes.legend(loc="best", frameon=False, fontsize=9)


def _draw_object(axes: Axes, run: RunSeries, start: float) -> None:
    during = run.object_times <= run.end
    goal = run.goal - run.object_positions[0]
    moved = 1e3 * (run.object_positions[during] - run.object_positions[0])
    for column, (name, color) in enumerate(_OBJECT_AXES):
        axes.plot(run.object_times[during] - start, moved[:, column], color=color, label=name)
        axes.axhline(1e3 * goal[column], color=color, linewidth=0.8, linestyle="--")
    axes.plot([], [], color="#333333", linewidth=0.8, linestyle="--", label="goal")
    axes.set_xlabel("time from the first contact, s")
    axes.set_ylabel("displacement of\nthe object, mm")
    axes.legend(loc="center left", frameon=False, fontsize=9, ncols=2)
    axes.grid(color="#dddddd", linewidth=0.5)


def _shade_modes(axes: Axes, run: RunSeries, start: float, *, named: bool) -> None:
    """Shade the controller's modes behind the curves, with their names at the bottom if `named`."""
    changes = np.flatnonzero(np.diff(run.modes)) + 1
    begins = np.concatenate(([0], changes))
    ends = np.concatenate((changes, [len(run.modes) - 1]))
    for begin, end in zip(begins, ends, strict=True):
        mode = int(run.modes[begin])
        if mode not in MODE_COLORS:
            continue
        left, right = 1e3 * (run.times[begin] - start), 1e3 * (run.times[end] - start)
        axes.axvspan(left, right, color=MODE_COLORS[mode], zorder=0)
        if named and left < 1e3 * WINDOW[1]:
            transform = axes.get_xaxis_transform()
            axes.text(max(left, 1e3 * WINDOW[0]) + 2.0, 0.02, MODE_NAMES[mode], transform=transform, fontsize=9)
