"""The figures of one analysed impact: joint velocities, position fit and contact point."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.ticker import MaxNLocator

from impact_aware.arrays import Array
from impact_aware.library_settings import figure_settings
from impact_aware.recordings.impact_fit import FitCurve, curve_after, curve_before
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

_LINE_RECORDED: dict[str, Any] = {"color": COLORS["ink"], "linewidth": 0.7, "alpha": 0.8}
_LINE_PREDICTED: dict[str, Any] = {"color": COLORS["predicted"], "linewidth": 1.4, "linestyle": (0, (4, 2))}
_LINE_IMPULSE: dict[str, Any] = {"linewidth": 1.2, "linestyle": (0, (2, 1.5))}

_SIZES = Path(__file__).with_name("templates") / "figures.mplstyle"

_SHOWN = (-0.060, 0.120)
"""Time shown around an impact, s."""


@dataclass(frozen=True, eq=False)
class ImpactFigure:
    """One figure with the words that go with it.

    Attributes:
        name: Short name for files.
        title: Headline above it.
        alt: Text in place of the figure, for readers who can't see it.
        draw: Draws it; call within `figure_style`.
    """

    name: str
    title: str
    alt: str
    draw: Callable[[], Figure]


@contextmanager
def figure_style() -> Iterator[None]:
    """Look of every figure of the report."""
    colors = {
        "text.color": COLORS["ink"],
        "axes.labelcolor": COLORS["muted"],
        "axes.edgecolor": COLORS["muted"],
        "grid.color": COLORS["grid"],
        "xtick.color": COLORS["muted"],
        "ytick.color": COLORS["muted"],
    }
    with figure_settings(_SIZES, colors):
        yield


def impact_figures(impact: AnalyzedImpact) -> list[ImpactFigure]:
    """The figures that the impact's data allow, in reading order."""
    figures = [
        ImpactFigure("velocities", "Joint velocities", _velocity_alt(impact), lambda: draw_velocities(impact)),
        ImpactFigure("positions", "Position fit", _position_alt(impact), lambda: draw_positions(impact)),
    ]
    if impact.prediction is not None:
        figures.append(
            ImpactFigure("contact", "Contact point", _contact_alt(impact), lambda: draw_contact_point(impact))
        )
    return figures


def draw_velocities(impact: AnalyzedImpact) -> Figure:
    """One panel per joint: recorded velocity, the fits before and after, what was predicted and what was estimated."""
    since = impact.window.times - impact.time
    recorded, label = impact.window.velocities, "recorded velocity"
    if recorded is None:
        recorded, label = np.gradient(impact.window.positions, since, axis=0), "differentiated positions"
    fits = _fits(impact)
    shown = (since >= _SHOWN[0]) & (since <= _SHOWN[1])

    def panel(axes: Axes, joint: int) -> None:
        axes.axvline(0.0, color=COLORS["muted"], linewidth=0.7)
        axes.plot(1e3 * since[shown], recorded[shown, joint], label=label, **_LINE_RECORDED)
        for name, color, curve in fits:
            axes.plot(1e3 * curve.times, curve.velocities[:, joint], color=color, label=name, linewidth=2.4, alpha=0.6)
        _mark_levels(axes, impact, joint)

    return _joint_panels(impact, panel, "rad/s")


def draw_positions(impact: AnalyzedImpact) -> Figure:
    """One panel per joint: recorded positions relative to that at the impact, the fits, and the prediction's line."""
    since = impact.window.times - impact.time
    fits = _fits(impact)
    shown = (since >= _SHOWN[0]) & (since <= _SHOWN[1])
    ahead = np.array([0.0, 0.040])

    def panel(axes: Axes, joint: int) -> None:
        def moved(positions: Array) -> Array:
            return np.asarray(1e3 * (positions[:, joint] - impact.position[joint]))

        axes.axvline(0.0, color=COLORS["muted"], linewidth=0.7)
        style: dict[str, Any] = {"color": COLORS["muted"], "linewidth": 2.6, "alpha": 0.4}
        axes.plot(1e3 * since[shown], moved(impact.window.positions[shown]), label="recorded position", **style)
        for name, color, curve in fits:
            axes.plot(1e3 * curve.times, moved(curve.positions), color=color, label=name, linewidth=1.4)
        if impact.velocity_after_predicted is not None:
            line = 1e3 * impact.velocity_after_predicted[joint] * ahead
            axes.plot(1e3 * ahead, line, label="prediction", **_LINE_PREDICTED)

    return _joint_panels(impact, panel, "mrad from the position at the impact")


def _fits(impact: AnalyzedImpact) -> list[tuple[str, str, FitCurve]]:
    """The fitted branches within the time shown, each with its label and colour."""
    found = (
        ("fit before", COLORS["before"], curve_before(impact)),
        ("fit after", COLORS["estimated"], curve_after(impact)),
    )
    return [(label, color, curve.until(_SHOWN[1])) for label, color, curve in found if curve is not None]


def draw_contact_point(impact: AnalyzedImpact) -> Figure:
    """Velocity of the contact point from the side, in the plane of its approach, and onto the surface."""
    prediction = impact.prediction
    assert prediction is not None
    velocities = _contact_velocities(impact)
    axes3 = _approach_axes(prediction.contact.normal, velocities[0][2])
    parts = [(label, COLORS[color], axes3 @ velocity) for label, color, velocity in velocities]
    reach = _reach(parts, (0, 2))
    figure = Figure(figsize=(4.9, 2.9))
    side, top = (figure.add_axes((left, 0.315, 0.352, 0.595)) for left in (0.135, 0.640))
    side.add_patch(Polygon([(-9e3, 0.0), (9e3, 0.0), (9e3, -9e3), (-9e3, -9e3)], color=COLORS["band"], linewidth=0.0))
    side.axhline(0.0, color=COLORS["muted"], linewidth=1.2)
    impulse, friction = prediction.impulse, prediction.contact.friction
    if float(np.linalg.norm(impulse)) > 0.0:
        label = "impulse"
        if friction > 0.0:
            label = "impulse in its cone"
            edge = 0.9 * reach * np.array([friction, 1.0]) / math.hypot(friction, 1.0)
            cone = Polygon([(0.0, 0.0), (-edge[0], edge[1]), (edge[0], edge[1])], color=COLORS["impulse"], alpha=0.10)
            side.add_patch(cone)
        across, _, along = axes3 @ impulse / float(np.linalg.norm(impulse)) * 0.9 * reach
        side.plot((0.0, across), (0.0, along), label=label, color=COLORS["impulse"], **_LINE_IMPULSE)
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
    handles: list[Artist] = [Line2D([], [], color=color, linewidth=1.8, label=label) for label, color, _ in parts]
    handles += side.get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="lower center", ncols=2, columnspacing=1.2, handlelength=1.6)
    return figure


def _contact_velocities(impact: AnalyzedImpact) -> list[tuple[str, str, Array]]:
    """Label, colour and velocity (3,) of the contact point, m/s, as far as they are known: first the one before."""
    known = (
        ("before", "before", impact.contact_velocity(impact.velocity_before)),
        ("predicted after", "predicted", impact.contact_velocity(impact.velocity_after_predicted)),
        ("estimated after", "estimated", impact.contact_velocity(impact.velocity_after_estimated)),
    )
    return [(label, color, velocity) for label, color, velocity in known if velocity is not None]


def _joint_panels(impact: AnalyzedImpact, panel: Callable[[Axes, int], None], unit: str) -> Figure:
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
        # Only the last panel of each column labels the times.
        axes.tick_params(labelbottom=joint + 2 >= count)
    for axes in cells[count:]:
        axes.axis("off")
    handles, _ = cells[0].get_legend_handles_labels()
    cells[-1].legend(handles=handles, loc="center left", handlelength=1.8, borderaxespad=0.0)
    middle = 0.5 * (edges["left"] + edges["right"])
    figure.supxlabel("time from the impact, ms", x=middle, y=0.06 / height, fontsize=9.0, color=COLORS["muted"])
    figure.supylabel(unit, x=0.04 / width, fontsize=9.0, color=COLORS["muted"])
    return figure


def _mark_levels(axes: Axes, impact: AnalyzedImpact, joint: int) -> None:
    """Marks at the impact, each with two standard errors: the predicted velocity and the estimated one."""
    style: dict[str, Any] = {"markersize": 4.2, "zorder": 5}
    bar: dict[str, Any] = {"fmt": "none", "elinewidth": 1.2, "zorder": 5}
    predicted = impact.velocity_after_predicted
    if predicted is not None:
        value = predicted[joint]
        axes.plot((0.0, 25.0), (value, value), label="predicted", marker="D", markevery=[0], **_LINE_PREDICTED, **style)
        if impact.prediction_std is not None:
            axes.errorbar(0.0, value, yerr=2.0 * impact.prediction_std[joint], ecolor=COLORS["predicted"], **bar)
    if impact.estimate is not None:
        value, color = impact.estimate.velocity_after[joint], COLORS["estimated"]
        label = "estimated (± 2 s.e.)"
        axes.plot(0.0, value, color=color, label=label, marker="o", linestyle="none", **style)
        axes.errorbar(0.0, value, yerr=2.0 * impact.estimate.standard_error[joint], ecolor=color, **bar)


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


def _contact_alt(impact: AnalyzedImpact) -> str:
    speeds = [f"{label} {float(np.linalg.norm(velocity)):.3f}" for label, _, velocity in _contact_velocities(impact)]
    return f"Velocity of the contact point from the side and onto the surface: {', '.join(speeds)} m/s."
