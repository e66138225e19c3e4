"""Bars of the joint velocities before an impact, predicted after it, and measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from impact_aware.markers import style
from impact_aware.records import Impact, Outcome

WIDTH = 0.27


def draw_jump(
    axes: Any, impact: Impact, outcome: Outcome | None, *, legend: bool = True, name: str = "", last: bool = True
) -> None:
    """Draw into matplotlib axes; joints are numbered from 1 in the model's order.

    Args:
        axes: Where to draw.
        impact: Velocities before, and predicted after.
        outcome: Velocities as measured; bars of two standard errors where these are known.
        legend: With a legend.
        name: Of the arm.
        last: Lowest of several charts, which carries the name of the axis.
    """
    n = len(impact.joint_names)
    rows = [("before", impact.velocity_before, style.BEFORE), ("predicted", impact.velocity_after, style.PREDICTED)]
    found = None if outcome is None else outcome.picked(impact.joint_names)
    if found is not None:
        rows.append(("measured", found, style.ESTIMATED))
    places = np.arange(1, n + 1)
    for column, (label, values, color) in enumerate(rows):
        if len(values) == n:
            shift = WIDTH * (column - 0.5 * (len(rows) - 1))
            axes.bar(places + shift, values, 0.92 * WIDTH, color=color[:3], label=label)
    if (
        outcome is not None
        and found is not None
        and len(outcome.error) == n
        and np.any(outcome.error > 0.0)
        and outcome.joint_names == impact.joint_names
    ):
        shift = WIDTH * (2 - 0.5 * (len(rows) - 1))
        axes.errorbar(places + shift, found, 2.0 * outcome.error, fmt="none", ecolor="0.15", elinewidth=1, capsize=1.5)
    axes.axhline(0.0, color="0.3", linewidth=0.8)
    axes.set_xticks(places)
    if last:
        axes.set_xlabel("joint", fontsize=9)
    axes.set_ylabel("rad/s", fontsize=9)
    axes.tick_params(labelsize=8.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{name} joint velocities".strip(), fontsize=10, color="0.35", loc="left", pad=4)
    if legend:
        axes.legend(fontsize=8.5, frameon=False, loc="best", ncols=3, handlelength=1.0, columnspacing=1.0)
