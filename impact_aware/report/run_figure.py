"""The figure of a run: joint velocities through the impact, and what the controller asked for below."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from impact_aware.report.run_series import ControlSeries, JointSeries

WINDOW = (-0.10, 0.25)
"""Time shown around the impact, s."""

MODE_COLORS = {2: "#fff1d6", 3: "#e3f1e6", 4: "#f7dada", 5: "#e6ecf5"}
"""ControllerState.MODE_* -> shade behind the curves; the ante-impact mode stays white."""

MODE_NAMES = {2: "interim", 3: "post-impact", 4: "safe", 5: "hold"}


def draw_run(path: Path, joints: JointSeries, control: ControlSeries, summary: dict[str, Any]) -> None:
    """Draw and save the figure of one run."""
    impact = summary["impact"]
    time_true = impact["time_true"]
    figure = Figure(figsize=(9.0, 7.2), layout="constrained")
    FigureCanvasAgg(figure)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1.0))
    _draw_velocities(upper, joints, control, impact, time_true)
    times = 1e3 * (control.times - time_true)
    lower.plot(times, np.linalg.norm(control.target_acceleration[:, :3], axis=1), color="#333333", label="linear, m/s²")
    lower.plot(
        times, np.linalg.norm(control.target_acceleration[:, 3:], axis=1), color="#b0561f", label="angular, rad/s²"
    )
    lower.set_ylabel("target acceleration")
    lower.set_xlabel("time from the first contact, ms")
    lower.legend(loc="upper right", frameon=False)
    for axes in (upper, lower):
        shade_modes(axes, control, time_true, named=axes is upper)
        axes.axvline(0.0, color="#444444", linewidth=0.8)
        axes.axvline(impact["delay_ms"], color="#444444", linewidth=0.8, linestyle=":")
        axes.grid(color="#dddddd", linewidth=0.5)
        axes.set_xlim(1e3 * WINDOW[0], 1e3 * WINDOW[1])
    error = 100.0 * summary["prediction_error_relative"]
    upper.set_title(
        f"Predicted jump against the plant's: {error:.1f} % of the jump; detected after {impact['delay_ms']:.1f} ms",
        fontsize=11,
    )
    figure.savefig(path, dpi=130)


def _draw_velocities(
    axes: Axes, joints: JointSeries, control: ControlSeries, impact: dict[str, Any], time_true: float
) -> None:
    shown = (joints.times > time_true + WINDOW[0]) & (joints.times < time_true + WINDOW[1])
    times = 1e3 * (joints.times[shown] - time_true)
    control_times = 1e3 * (control.times - time_true)
    colors = [f"C{index}" for index in range(len(joints.names))]
    for index, color in enumerate(colors):
        axes.plot(times, joints.velocities[shown, index], color=color, linewidth=1.4)
        axes.plot(control_times, control.reference_velocity[:, index], color=color, linewidth=0.9, linestyle="--")
        predicted = impact["velocity_after_predicted"][index]
        axes.plot((0.0, 30.0), (predicted, predicted), color=color, linewidth=3.5, alpha=0.45, solid_capstyle="butt")
    velocities = joints.velocities[shown]
    span = float(velocities.max() - velocities.min())
    axes.set_ylim(float(velocities.min()) - 0.15 * span, float(velocities.max()) + 0.15 * span)
    axes.set_ylabel("joint velocity, rad/s")
    styles = [
        Line2D([], [], color="#555555", linewidth=1.4, label="measured"),
        Line2D([], [], color="#555555", linewidth=3.5, alpha=0.45, label="predicted after"),
        Line2D([], [], color="#555555", linewidth=0.9, linestyle="--", label="reference"),
    ]
    names = [Line2D([], [], color=color, label=name) for name, color in zip(joints.names, colors, strict=True)]
    axes.legend(handles=styles + names, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8)


def shade_modes(axes: Axes, control: ControlSeries, time_true: float, *, named: bool) -> None:
    """Shade the controller's modes behind the curves, with their names at the bottom if `named`."""
    changes = np.flatnonzero(np.diff(control.modes)) + 1
    starts = np.concatenate(([0], changes))
    ends = np.concatenate((changes, [len(control.modes) - 1]))
    for start, end in zip(starts, ends, strict=True):
        mode = int(control.modes[start])
        if mode not in MODE_COLORS:
            continue
        left, right = 1e3 * (control.times[start] - time_true), 1e3 * (control.times[end] - time_true)
        axes.axvspan(left, right, color=MODE_COLORS[mode], zorder=0)
        if named and left < 1e3 * WINDOW[1]:
            place = axes.get_xaxis_transform()
            axes.text(max(left, 1e3 * WINDOW[0]) + 2.0, 0.02, MODE_NAMES[mode], transform=place, fontsize=7)
