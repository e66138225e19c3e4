"""The figures of one analysed impact: joint velocities, position fit, detector and contact point."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.ticker import MaxNLocator

from impact_aware.arrays import Array
from impact_aware.recordings.impact_fit import curve_after, curve_before
from impact_aware.recordings.results import AnalyzedImpact

# Each colour stands for one CSS variable of the report, which gives it its shade for light and dark pages.
COLORS = {
    "ink": "#1b2430",
    "muted": "#5f6b7a",
    "grid": "#dde3ea",
    "band": "#edf0f4",
    "before": "#0f6cb3",
    "predicted": "#c75000",
    "estimated": "#0b8461",
    "impulse": "#a02c6d",
}

_SHOWN = (-0.060, 0.120)
"""Time shown around an impact, s."""


@dataclass(frozen=True, eq=False)
class ImpactFigure:
    """One figure with the words that go with it.

    Attributes:
        name: Short name for files.
        title: Headline above it.
        alt: What it shows, for somebody who can't see it.
        draw: Draws it; call within `figure_style`.
    """

    name: str
    title: str
    alt: str
    draw: Callable[[], Figure]


@contextmanager
def figure_style() -> Iterator[None]:
    """Look of every figure of the report."""
    style: dict[Any, Any] = {
        "font.family": "sans-serif",
        "font.size": 9.5,
        "text.color": COLORS["ink"],
        "axes.labelcolor": COLORS["muted"],
        "axes.edgecolor": COLORS["muted"],
        "axes.linewidth": 0.7,
        "axes.titlesize": 9.5,
        "axes.titlelocation": "left",
        "axes.titlepad": 3.0,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.facecolor": "none",
        "grid.color": COLORS["grid"],
        "grid.linewidth": 0.6,
        "xtick.color": COLORS["muted"],
        "ytick.color": COLORS["muted"],
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "legend.frameon": False,
        "legend.fontsize": 9.0,
        "svg.fonttype": "none",
        "path.simplify_threshold": 0.3,
    }
    with matplotlib.rc_context(style):
        yield


def impact_figures(impact: AnalyzedImpact) -> list[ImpactFigure]:
    """The figures that the impact's data allow, in reading order."""
    figures = [
        ImpactFigure("velocities", "Joint velocities", _velocity_alt(impact), lambda: draw_velocities(impact)),
        ImpactFigure("positions", "Position fit", _position_alt(impact), lambda: draw_positions(impact)),
    ]
    if impact.contact_velocity_before is not None and impact.normal is not None:
        figures.append(
            ImpactFigure("contact", "Contact point", _contact_alt(impact), lambda: draw_contact_point(impact))
        )
    if impact.detector_residual is not None and impact.detector_residual.times.size:
        figures.append(ImpactFigure("detector", "Detector", _residual_alt(impact), lambda: draw_residual(impact)))
    return figures


def draw_velocities(impact: AnalyzedImpact) -> Figure:
    """One panel per joint: recorded velocity, the fits before and after, what was predicted and what was estimated."""
    since = impact.window.times - impact.time
    recorded = impact.window.velocities
    label = "recorded velocity"
    if recorded is None:
        recorded = np.gradient(impact.window.positions, since, axis=0)
        label = "differentiated positions"
    before, after = curve_before(impact), curve_after(impact)
    shown = (since >= _SHOWN[0]) & (since <= _SHOWN[1])

    def panel(axes: Axes, joint: int) -> None:
        for curve, color in ((before, COLORS["before"]), (after, COLORS["estimated"])):
            if curve is not None:
                inside = curve.times <= _SHOWN[1]
                style: dict[str, Any] = {"color": color, "linewidth": 2.4, "alpha": 0.6}
                axes.plot(1e3 * curve.times[inside], curve.velocities[inside, joint], **style)
        axes.plot(1e3 * since[shown], recorded[shown, joint], color=COLORS["ink"], linewidth=0.7, alpha=0.8)
        _mark_levels(axes, impact, joint)

    legend = [
        Line2D([], [], color=COLORS["ink"], linewidth=0.7, alpha=0.8, label=label),
        Line2D([], [], color=COLORS["before"], linewidth=2.4, alpha=0.6, label="fit before"),
        Line2D([], [], color=COLORS["estimated"], linewidth=2.4, alpha=0.6, label="fit after"),
        *_level_handles(impact),
    ]
    return _joint_panels(impact, panel, legend, "rad/s")


def draw_positions(impact: AnalyzedImpact) -> Figure:
    """One panel per joint: recorded positions relative to that at the impact, the fits, and the prediction's line."""
    since = impact.window.times - impact.time
    origin = impact.position
    before, after = curve_before(impact), curve_after(impact)
    shown = (since >= _SHOWN[0]) & (since <= _SHOWN[1])
    ahead = np.array([0.0, 0.040])

    def panel(axes: Axes, joint: int) -> None:
        moved = 1e3 * (impact.window.positions[shown, joint] - origin[joint])
        axes.plot(1e3 * since[shown], moved, color=COLORS["muted"], linewidth=2.6, alpha=0.4)
        for curve, color in ((before, COLORS["before"]), (after, COLORS["estimated"])):
            if curve is not None:
                inside = curve.times <= _SHOWN[1]
                values = 1e3 * (curve.positions[inside, joint] - origin[joint])
                axes.plot(1e3 * curve.times[inside], values, color=color, linewidth=1.4)
        if impact.velocity_after_predicted is not None:
            line = 1e3 * impact.velocity_after_predicted[joint] * ahead
            axes.plot(1e3 * ahead, line, color=COLORS["predicted"], linewidth=1.4, linestyle=(0, (4, 2)))
        axes.axvline(0.0, color=COLORS["muted"], linewidth=0.7)

    legend = [
        Line2D([], [], color=COLORS["muted"], linewidth=2.6, alpha=0.4, label="recorded position"),
        Line2D([], [], color=COLORS["before"], linewidth=1.4, label="fit before"),
        Line2D([], [], color=COLORS["estimated"], linewidth=1.4, label="fit after"),
    ]
    if impact.velocity_after_predicted is not None:
        style: dict[str, Any] = {"color": COLORS["predicted"], "linewidth": 1.4, "linestyle": (0, (4, 2))}
        legend.append(Line2D([], [], label="prediction", **style))
    return _joint_panels(impact, panel, legend, "mrad from the position at the impact")


def draw_residual(impact: AnalyzedImpact) -> Figure:
    """The detector's largest residual over its bound, up to the sample with which it knew."""
    residual = impact.detector_residual
    assert residual is not None
    figure = Figure(figsize=(4.9, 2.9))
    axes = figure.add_axes((0.115, 0.155, 0.87, 0.77))
    times = 1e3 * (residual.times - impact.time)
    axes.axhspan(0.0, 1.0, color=COLORS["band"], linewidth=0.0)
    axes.axhline(1.0, color=COLORS["predicted"], linewidth=1.2)
    axes.plot(times, residual.values, color=COLORS["before"], linewidth=1.1, marker="o", markersize=2.2)
    axes.axvline(0.0, color=COLORS["muted"], linewidth=0.8)
    known = 1e3 * (impact.time_detected - impact.time)
    axes.axvline(known, color=COLORS["ink"], linewidth=0.8, linestyle=(0, (3, 2)))
    top = max(1.6, 1.12 * float(np.nanmax(residual.values, initial=0.0)))
    axes.set_ylim(0.0, top)
    left, right = max(float(times[0]), -60.0), max(known, 0.0) + 4.0
    axes.set_xlim(left, right)
    axes.text(left, 1.0, " bound", color=COLORS["predicted"], va="bottom", ha="left", fontsize=8.5)
    words = f"known {known:.1f} ms after the impact  "
    axes.text(min(known, 0.0), top, words, color=COLORS["ink"], va="top", ha="right", fontsize=8.5)
    axes.set_xlabel("time from the impact, ms")
    axes.set_ylabel("residual over bound")
    axes.set_title(impact.detector)
    return figure


def draw_contact_point(impact: AnalyzedImpact) -> Figure:
    """Velocity of the contact point from the side, in the plane of its approach, and onto the surface."""
    assert impact.normal is not None and impact.contact_velocity_before is not None
    axes3 = _approach_axes(impact.normal, impact.contact_velocity_before)
    arrows = [("before", "before", impact.contact_velocity_before)]
    if impact.contact_velocity_after_predicted is not None:
        arrows.append(("predicted after", "predicted", impact.contact_velocity_after_predicted))
    if impact.contact_velocity_after_estimated is not None:
        arrows.append(("estimated after", "estimated", impact.contact_velocity_after_estimated))
    parts = [(label, COLORS[color], axes3 @ vector) for label, color, vector in arrows]
    reach = _reach(parts, (0, 2))
    figure = Figure(figsize=(4.9, 2.9))
    side, top = (figure.add_axes((left, 0.315, 0.352, 0.595)) for left in (0.135, 0.640))
    side.add_patch(Polygon([(-9e3, 0.0), (9e3, 0.0), (9e3, -9e3), (-9e3, -9e3)], color=COLORS["band"], linewidth=0.0))
    side.axhline(0.0, color=COLORS["muted"], linewidth=1.2)
    impulse = impact.impulse
    if impulse is not None and float(np.linalg.norm(impulse)) > 0.0:
        if impact.friction > 0.0:
            edge = 0.9 * reach * np.array([impact.friction, 1.0]) / math.hypot(impact.friction, 1.0)
            cone = Polygon([(0.0, 0.0), (-edge[0], edge[1]), (edge[0], edge[1])], color=COLORS["impulse"], alpha=0.10)
            side.add_patch(cone)
        across, _, along = axes3 @ impulse / float(np.linalg.norm(impulse)) * 0.9 * reach
        side.plot((0.0, across), (0.0, along), color=COLORS["impulse"], linewidth=1.2, linestyle=(0, (2, 1.5)))
    words: dict[str, Any] = {"fontsize": 8.5, "color": COLORS["muted"], "ha": "left"}
    side.text(-0.95 * reach, 0.95 * reach, "leaving", va="top", **words)
    side.text(-0.95 * reach, -0.95 * reach, "approaching", va="bottom", **words)
    for axes, first, second in ((side, 0, 2), (top, 0, 1)):
        limit = _reach(parts, (first, second))
        for _, color, part in parts:
            _arrow(axes, part[first], part[second], color, limit)
        axes.plot(0.0, 0.0, "o", color=COLORS["ink"], markersize=3.5)
        axes.set_xlim(-limit, limit)
        axes.set_ylim(-limit, limit)
        axes.set_aspect("equal")
        axes.xaxis.set_major_locator(MaxNLocator(4, symmetric=True))
        axes.yaxis.set_major_locator(MaxNLocator(4, symmetric=True))
        axes.set_xlabel("along the slip, m/s")
    side.set_title("from the side")
    side.set_ylabel("along the normal, m/s")
    top.set_title("onto the surface")
    top.set_ylabel("across the slip, m/s")
    handles = [Line2D([], [], color=color, linewidth=1.8, label=label) for label, color, _ in parts]
    if impulse is not None:
        label = "impulse in its cone" if impact.friction > 0.0 else "impulse"
        handles.append(Line2D([], [], color=COLORS["impulse"], linewidth=1.2, linestyle=(0, (2, 1.5)), label=label))
    figure.legend(handles=handles, loc="lower center", ncols=2, columnspacing=1.2, handlelength=1.6)
    return figure


def _joint_panels(
    impact: AnalyzedImpact, panel: Callable[[Axes, int], None], legend: list[Line2D], unit: str
) -> Figure:
    """Two columns of panels, one per joint, and the legend in the cell that is left or below."""
    count = len(impact.joint_names)
    rows = (count + 2) // 2
    width, height = 4.9, 1.2 * rows + 0.5
    figure = Figure(figsize=(width, height))
    # Fixed margins, in inches: a layout engine would take longer than all of the drawing.
    edges = {"left": 0.66 / width, "right": 1.0 - 0.06 / width, "top": 1.0 - 0.22 / height, "bottom": 0.48 / height}
    figure.subplots_adjust(**edges, wspace=0.30, hspace=0.36)
    cells = figure.subplots(rows, 2, sharex=True, squeeze=False).ravel()
    for joint, name in enumerate(impact.joint_names):
        axes = cells[joint]
        panel(axes, joint)
        axes.set_title(name)
        axes.set_xlim(1e3 * _SHOWN[0], 1e3 * _SHOWN[1])
        axes.yaxis.set_major_locator(MaxNLocator(4))
        # Below the last panel of its column nothing else says the times.
        axes.tick_params(labelbottom=joint + 2 >= count)
    for axes in cells[count:]:
        axes.axis("off")
    cells[-1].legend(handles=legend, loc="center left", handlelength=1.8, borderaxespad=0.0)
    middle = 0.5 * (edges["left"] + edges["right"])
    figure.supxlabel("time from the impact, ms", x=middle, y=0.06 / height, fontsize=9.0, color=COLORS["muted"])
    figure.supylabel(unit, x=0.04 / width, fontsize=9.0, color=COLORS["muted"])
    return figure


def _mark_levels(axes: Axes, impact: AnalyzedImpact, joint: int) -> None:
    """Marks at the impact: the predicted velocity with its spread, the estimated one with its error."""
    axes.axvline(0.0, color=COLORS["muted"], linewidth=0.7)
    levels = (
        (impact.velocity_after_predicted, impact.velocity_after_predicted_std, "predicted", "D"),
        (impact.velocity_after_estimated, impact.velocity_after_error, "estimated", "o"),
    )
    for values, errors, name, marker in levels:
        if values is None:
            continue
        error = None if errors is None else 2.0 * float(errors[joint])
        style: dict[str, Any] = {
            "color": COLORS[name],
            "marker": marker,
            "markersize": 4.2,
            "elinewidth": 1.2,
            "zorder": 5,
        }
        axes.errorbar(0.0, values[joint], yerr=error, linestyle="none", **style)
        if name == "predicted":
            axes.plot((0.0, 25.0), (values[joint],) * 2, color=COLORS[name], linewidth=1.4, linestyle=(0, (4, 2)))


def _level_handles(impact: AnalyzedImpact) -> list[Line2D]:
    handles: list[Line2D] = []
    if impact.velocity_after_predicted is not None:
        handles.append(
            Line2D(
                [],
                [],
                color=COLORS["predicted"],
                linewidth=1.4,
                linestyle=(0, (4, 2)),
                marker="D",
                markersize=4.2,
                label="predicted",
            )
        )
    if impact.velocity_after_estimated is not None:
        label = "estimated (± 2 s.e.)"
        handles.append(
            Line2D([], [], color=COLORS["estimated"], marker="o", linestyle="none", markersize=4.2, label=label)
        )
    return handles


def _reach(parts: list[tuple[str, str, Array]], components: tuple[int, int]) -> float:
    """Half width of a view that holds these components of every arrow, m/s."""
    return max(1.2 * max(float(np.max(np.abs(part[list(components)]))) for _, _, part in parts), 1e-3)


def _arrow(axes: Axes, x: float, y: float, color: str, reach: float) -> None:
    if math.hypot(x, y) < 0.01 * reach:
        axes.plot(x, y, "o", color=color, markersize=6.0, fillstyle="none", markeredgewidth=1.6)
        return
    style: dict[str, Any] = {
        "arrowstyle": "-|>",
        "color": color,
        "linewidth": 1.8,
        "shrinkA": 0.0,
        "shrinkB": 0.0,
        "mutation_scale": 9,
    }
    axes.annotate("", (x, y), (0.0, 0.0), arrowprops=style)


def _approach_axes(normal: Array, velocity: Array) -> Array:
    """Rows (3, 3): along the slip before the impact, across it, and the normal."""
    unit = normal / np.linalg.norm(normal)
    slip = velocity - (velocity @ unit) * unit
    if float(np.linalg.norm(slip)) < 1e-6:
        slip = np.cross(unit, np.eye(3)[int(np.argmin(np.abs(unit)))])
    along = slip / np.linalg.norm(slip)
    return np.array([along, np.cross(unit, along), unit])


def _largest_jump(impact: AnalyzedImpact) -> str:
    after = impact.velocity_after_estimated
    after = impact.velocity_after_predicted if after is None else after
    if after is None:
        return ""
    joint = int(np.argmax(np.abs(after - impact.velocity_before)))
    change = f"from {impact.velocity_before[joint]:.3f} to {after[joint]:.3f} rad/s"
    return f" The largest jump is that of {impact.joint_names[joint]}, {change}."


def _velocity_alt(impact: AnalyzedImpact) -> str:
    return (
        f"Velocity of each of {len(impact.joint_names)} joints around the impact, with the fits before and after it, "
        f"the predicted and the estimated velocity after.{_largest_jump(impact)}"
    )


def _position_alt(impact: AnalyzedImpact) -> str:
    text = f"Position of each of {len(impact.joint_names)} joints around the impact, with the fits before and after it."
    if impact.estimate is not None and np.all(np.isfinite(impact.estimate.residual_rms)):
        text += (
            f" The fit after leaves at most {1e6 * float(np.max(impact.estimate.residual_rms)):.0f} microradians r.m.s."
        )
    return text


def _residual_alt(impact: AnalyzedImpact) -> str:
    assert impact.detector_residual is not None
    peak = float(np.nanmax(impact.detector_residual.values, initial=0.0))
    return (
        f"Residual of the {impact.detector} detector over its bound, which it exceeds by a factor of {peak:.1f} when "
        f"the impact is known, {1e3 * (impact.time_detected - impact.time):.1f} ms after it."
    )


def _contact_alt(impact: AnalyzedImpact) -> str:
    speeds = [f"before {_speed(impact.contact_velocity_before)}"]
    for name in ("predicted", "estimated"):
        vector = getattr(impact, f"contact_velocity_after_{name}")
        if vector is not None:
            speeds.append(f"{name} after {_speed(vector)}")
    return f"Velocity of the contact point from the side and onto the surface: {', '.join(speeds)} m/s."


def _speed(vector: Array | None) -> str:
    return "unknown" if vector is None else f"{float(np.linalg.norm(vector)):.3f}"
