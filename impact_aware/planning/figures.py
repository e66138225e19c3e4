"""Pictures of a planned hit and of an arm's map, both seen from above."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from impact_aware.arrays import Array
from impact_aware.contact.shape import PlacedShape
from impact_aware.markers import style as look
from impact_aware.planning.arm_map import COLOURS, SHOWN, MapPoint
from impact_aware.planning.plan import HitPlan
from impact_aware.task import base_placement

LENGTH = 0.2
"""Way of a tool that its arrow shows, s."""

LOADS = 7
"""Limits of a hit that the picture shows, the nearest first."""


def plan_figure(plan: HitPlan) -> Figure:
    """The hit from above, with start, contact, velocity and result, and the share of each limit that it uses."""
    figure = Figure(figsize=(11.0, 5.0), layout="constrained")
    view, bars = figure.subplots(1, 2)
    thing = plan.task.object
    _outline(view, thing.standing, look.BEFORE, "object")
    end = PlacedShape(thing.solid, np.array(plan.task.goal), thing.rotation)
    _outline(view, end, look.REFERENCE, "goal" if plan.wanted.goal is not None or plan.task.lifts else "where it stops")
    for arm, hit in zip(plan.task.arms, plan.hits, strict=True):
        base = base_placement(arm).translation
        first = arm is plan.task.arms[0]
        view.plot(*base[:2], "s", color=look.TEXT, label="base" if first else None)
        view.plot(*np.array(arm.starts[0])[:2], "o", color=look.NORMAL, label="start of the tool" if first else None)
        view.annotate(arm.name, base[:2], textcoords="offset points", xytext=(8, -4), color=look.TEXT)
        tip, tail = ((each[0], each[1]) for each in (hit.point, hit.point - LENGTH * hit.velocity))
        view.annotate("", tip, tail, arrowprops={"color": look.PREDICTED, "width": 2.0, "headwidth": 8.0})
        speed = f"{np.linalg.norm(hit.velocity):.2f} m/s"
        view.annotate(speed, tail, textcoords="offset points", xytext=(6, 4), color=look.PREDICTED)
    view.set(xlabel="x (m)", ylabel="y (m)", title=f"{plan.task.name}: probability {plan.probability:.2f}")
    view.margins(0.15)
    view.set_aspect("equal", adjustable="datalim")
    view.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=4, fontsize="small", frameon=False)
    loads = plan.loads[:LOADS][::-1]
    shares = [100.0 * load.share for load in loads]
    bars.barh([f"{load.name.replace('_', ' ')}\n{load.where}".strip() for load in loads], shares, color=look.BEFORE)
    bars.axvline(100.0, color=look.PREDICTED)
    bars.set(xlabel="share of the limit (%)", title="what limits the hit", xlim=(0.0, max(105.0, *shares)))
    return figure


def map_figure(points: Sequence[MapPoint], title: str) -> Figure:
    """Largest safe speeds as lines, coloured by what limits them, and the effective mass in the fastest direction."""
    figure = Figure(figsize=(12.0, 6.0), layout="constrained")
    speeds, masses = figure.subplots(1, 2)
    for limit in dict.fromkeys(point.best.limit for point in points):
        own = [point for point in points if point.best.limit == limit]
        ends = np.array([[p.position[:2], (p.position + SHOWN * p.best.speed * p.direction)[:2]] for p in own])
        colour = COLOURS.get(limit, look.REFERENCE)
        speeds.plot(*np.moveaxis(ends, 2, 0).transpose(0, 2, 1), color=colour, linewidth=1.2)
        speeds.plot(*ends[:, 0].T, ".", color=colour, markersize=3.0)
        speeds.plot([], [], color=colour, label=limit.replace("_", " "))
    fastest: dict[bytes, MapPoint] = {}
    for point in sorted(points, key=lambda each: each.best.speed):
        fastest[point.position.tobytes()] = point
    places = np.array([point.position[:2] for point in fastest.values()])
    kilograms = [point.best.effective_mass for point in fastest.values()]
    most = float(np.percentile(kilograms, 95.0))  # a few stretched postures are far heavier than all others
    shown = masses.scatter(*places.T, c=kilograms, s=60, marker="s", vmax=most)
    figure.colorbar(shown, ax=masses, label="effective mass (kg)", extend="max")
    largest = max(point.best.speed for point in points)
    for axes, words in (
        (speeds, f"{title}: way in {SHOWN:g} s from each dot at the largest safe speed\n{largest:.2f} m/s at most"),
        (masses, "effective mass in the fastest direction"),
    ):
        axes.set(xlabel="x (m)", ylabel="y (m)", title=words)
        axes.set_aspect("equal")
    speeds.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=5, fontsize="small", frameon=False)
    return figure


def _outline(axes: Axes, body: PlacedShape, colour: tuple[float, ...], name: str) -> None:
    edges: Array = body.outline().reshape(-1, 2, 3)
    axes.plot(*edges[:, :, :2].transpose(2, 1, 0), color=colour, linewidth=1.5)
    axes.plot([], [], color=colour, label=name)
