"""The plots of a campaign: those of van Steen 2024 with our numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from impact_aware.experiments.campaign_report import LABELS
from impact_aware.experiments.episode_result import EpisodeResult

COLOURS = {
    "no_rs": "#0055bd",
    "no_interim": "#9f511f",
    "no_impact_map": "#c68600",
    "proposed": "#852387",
    "proposed_completion": "#159578",
}
"""Colour of each controller; distinct with every kind of colour blindness."""

_SHOWN = (-0.2, 0.45)
_ALONG = 1  # component along the impact
_FACTOR_NAMES = {"object": "object", "initial": "initial configuration", "displacement": "displacement of the object"}


def plot_groups(summary: dict[str, Any], title: str) -> Figure:
    """Bars of the mean peak by object, initial configuration and displacement: van Steen 2024, Figs. 7 and 10."""
    controllers = [name for name in COLOURS if name in summary["success_rate"]]
    figure = _figure(12.0, 4.0)
    axes = figure.subplots(1, 3, sharey=True)
    for axis, (factor, values) in zip(axes, summary["groups"].items(), strict=True):
        positions = np.arange(len(values))
        width = 0.8 / len(controllers)
        for index, name in enumerate(controllers):
            heights = [means[name] for means in values.values()]
            offset = (index - 0.5 * (len(controllers) - 1)) * width
            axis.bar(positions + offset, heights, 0.92 * width, color=COLOURS[name], label=LABELS[name])
        axis.set_xticks(positions, [value.replace("_", " ") for value in values])
        axis.set_xlabel(_FACTOR_NAMES[factor])
        axis.grid(axis="y", alpha=0.3)
        axis.set_axisbelow(True)
    axes[0].set_ylabel("mean peak of |target acceleration|\n(m/s², rad/s²)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False, title=title)
    return figure


def plot_comparison(results: dict[str, EpisodeResult]) -> Figure:
    """Velocity with its reference, and target acceleration, of every arm, as Figures 6, 8 and 9 of van Steen 2024.

    The runs are aligned where the impact has been detected for every arm.

    Args:
        results: One run per controller, all in the same setting.
    """
    arms = next(iter(results.values())).task.arms
    figure = _figure(8.0 if len(arms) == 1 else 12.0, 6.0)
    axes = figure.subplots(2, len(arms), sharex=True, sharey="row", squeeze=False)
    for name in (entry for entry in COLOURS if entry in results):
        result = results[name]
        time = result.time - result.all_detected
        shown = (time > _SHOWN[0]) & (time < _SHOWN[1])
        for arm, (top, bottom) in enumerate(axes.T):
            velocity, wanted = (data[shown, arm, _ALONG] for data in (result.tool_twist, result.reference_twist))
            top.plot(time[shown], velocity, color=COLOURS[name], label=LABELS[name])
            top.plot(time[shown], wanted, "--", color=COLOURS[name], linewidth=0.9)
            bottom.plot(time[shown], result.target_acceleration[shown, arm, _ALONG], color=COLOURS[name])
    axes[0, 0].set_ylabel("tool velocity y (m/s), reference dashed")
    axes[1, 0].set_ylabel("target acceleration y (m/s²)")
    for own, column in zip(arms, axes.T, strict=True):
        column[0].set_title(own.name)
        column[1].set_xlabel("time since detection" + (" for both arms (s)" if len(arms) > 1 else " (s)"))
        for axis in column:
            axis.grid(alpha=0.3)
            axis.axvline(0.0, color="0.5", linewidth=0.8)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    return figure


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
