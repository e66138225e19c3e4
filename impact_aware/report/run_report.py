"""The report of one run, of one arm or several: impacts, control, what became of the object; `summary.json`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.bags.bag import Bag, BagError
from impact_aware.json_text import json_text
from impact_aware.library_settings import figure_settings
from impact_aware.messages.geometry import vector
from impact_aware.messages.stamps import seconds, stamp_seconds
from impact_aware.report.run_figure import run_figure
from impact_aware.report.run_series import (
    CAUSE_CONTACT_RENEWED,
    MODE_INTERIM,
    SOURCE_AT_IMPACT,
    SOURCE_LOOK_AHEAD,
    ArmSeries,
    RunSeries,
    read_run,
)
from impact_aware.task.task import GOAL_RADIUS, LARGEST_SLIP, LIFTED_GOAL_RADIUS, LIFTED_SHARE

MATCH_WINDOW = 0.05
"""A detection this soon after a true contact is that contact's, s."""

SLIP_FROM = 0.1
"""Time after the first detection from which slip counts, s: the interim mode of van Steen 2024 is over then."""

_NEAR_IMPACT = (-0.02, 0.3)


@dataclass(frozen=True)
class RunReport:
    """Summary of one run.

    Attributes:
        folder: Where its files are.
        arms: Figures of each arm's impact and control, by name.
        grasp: What became of an object that several arms lift; empty for one arm.
        summary: Content of `summary.json`.
    """

    folder: Path
    arms: dict[str, dict[str, Any]]
    grasp: dict[str, Any]
    summary: dict[str, Any]

    def write_summary(self) -> None:
        """Write `summary.json`."""
        (self.folder / "summary.json").write_text(json_text(self.summary, indent=2) + "\n")

    def failure(self) -> str:
        """What kept the task from being done; empty when it was."""
        grasp, distance = self.grasp, self.summary["goal_error_m"]
        if grasp:
            if grasp["lift_m"] < LIFTED_SHARE * grasp["wanted_lift_m"]:
                return f"the object was not lifted: {1e3 * grasp['lift_m']:.0f} mm"
            if grasp["final_lift_m"] < LIFTED_SHARE * grasp["lift_m"]:
                return f"the object was dropped from {1e3 * grasp['lift_m']:.0f} mm"
            if not grasp["slip_m"] < LARGEST_SLIP:
                return f"the object slipped by {1e3 * grasp['slip_m']:.0f} mm"
        radius = LIFTED_GOAL_RADIUS if grasp else GOAL_RADIUS
        return f"the object ended {1e3 * distance:.0f} mm from its goal" if distance > radius else ""

    def table(self) -> str:
        """The result as text for a terminal."""
        lines = self._grasp_lines() if self.grasp else self._impact_lines()
        control = next(iter(self.arms.values()))["control"]
        touched = [f"{name}: {arm['first_contact']}" for name, arm in self.arms.items()]
        lines += [
            f"first contact             {'; '.join(touched)}",
            f"control cycles            {control['cycles']}, missed {control['missed']} "
            f"({100 * self.summary['states_lost']:.2f} %), "
            f"{control['cycle_us']['p50']:.0f} us median, {control['cycle_us']['p99']:.0f} us p99",
            f"distance from the goal    {1e3 * self.summary['goal_error_m']:.1f} mm",
        ]
        return "\n".join(lines)

    def _impact_lines(self) -> list[str]:
        """Lines about one arm: its joints through the impact."""
        (arm,) = self.arms.values()
        control, names = arm["control"], arm["joint_names"]
        width = max(len(name) for name in names)
        lines = [
            f"impact at {arm['time_true']:.4f} s, detected {arm['delay_ms']:.1f} ms later, "
            f"predicted {arm['prediction_delay_ms']:.0f} ms after that; "
            f"{_detections_text(self.summary['impact'])}",
            "",
            f"{'joint':<{width}}  {'before':>9}  {'predicted':>9}  {'plant':>9}  {'error':>9}   rad/s",
        ]
        columns = (arm["velocity_before"], arm["velocity_after_predicted"], arm["velocity_after_plant"])
        for name, before, predicted, plant in zip(names, *columns, strict=True):
            lines.append(f"{name:<{width}}  {before:9.4f}  {predicted:9.4f}  {plant:9.4f}  {predicted - plant:9.4f}")
        speeds = (float(np.linalg.norm(arm[f"object_velocity_{source}"])) for source in ("predicted", "plant"))
        return [
            *lines,
            "",
            "object after the impact   {:.3f} m/s predicted, {:.3f} m/s in the plant".format(*speeds),
            f"prediction error          {100 * arm['prediction_error_alone']:.1f} % of the jump",
            "peak target acceleration  {:.2f} m/s^2, {:.2f} rad/s^2".format(*control["peak_target_acceleration"]),
            "    around the impact     {:.2f} m/s^2, {:.2f} rad/s^2".format(
                *control["peak_target_acceleration_at_impact"]
            ),
        ]

    def _grasp_lines(self) -> list[str]:
        """Lines about several arms: their impacts, and the motion of the object."""
        arms, grasp = self.arms, self.grasp
        width = max(len(name) for name in ("arm", *arms))
        lines = [
            f"{grasp['first_arm']} hit first, the last arm {1e3 * grasp['lead_s']:.1f} ms later; "
            f"{_detections_text(grasp)}",
            "",
            f"{'arm':<{width}}  {'contact':>9}  {'detected':>9}  {'jump predicted with':>22}  "
            f"{'peak target acceleration':>24}",
            f"{'':<{width}}  {'':>9}  {'after':>9}  {'both arms':>11}{'this alone':>11}  {'m/s^2':>12}{'rad/s^2':>12}",
        ]
        for name, arm in arms.items():
            linear, angular = arm["control"]["peak_target_acceleration_at_impact"]
            errors = arm["prediction_error_relative"], arm["prediction_error_alone"]
            both, alone = ("-" if error is None else f"{100 * error:.1f} % off" for error in errors)
            times = f"{arm['time_true']:7.4f} s  {arm['delay_ms']:6.1f} ms"
            lines.append(f"{name:<{width}}  {times}  {both:>11}{alone:>11}  {linear:12.2f}{angular:12.2f}")
        speeds = grasp["object_speed_predicted"], grasp["object_speed_plant"]
        return [
            *lines,
            "",
            f"object after both impacts {speeds[0]:.3f} m/s predicted, {speeds[1]:.3f} m/s in the plant",
            f"lifted                    {1e3 * grasp['lift_m']:.0f} mm of {1e3 * grasp['wanted_lift_m']:.0f} mm",
            f"slip along the faces      {1e3 * grasp['slip_m']:.1f} mm",
        ]


def report_run(bag_path: Path, folder: Path, nodes: list[str]) -> RunReport:
    """Read the bag of a run, draw its figure and sum it up.

    Args:
        bag_path: The recording.
        folder: Where the figure goes.
        nodes: Names of the nodes that took part.

    Raises:
        BagError: The recording lacks an impact, its detection, its prediction, or a topic.
    """
    with Bag(bag_path) as bag:
        run = read_run(bag)
    figure = folder / "impact.png"
    report = summarise(run, folder, {"nodes": nodes, "bag": str(bag_path), "figure": str(figure)})
    with figure_settings():
        run_figure(run, report.arms).savefig(figure, dpi=130)
    return report


def summarise(run: RunSeries, folder: Path, more: dict[str, Any] | None = None) -> RunReport:
    """All figures of a run; `more` is added to the summary.

    `summary.json` gives one arm's impact as `impact` and its control as `control`; of several arms it gives `arms`, by
    name, and `grasp`. `states_lost` is the share of states that the controller never answered, `recorded_until` the
    stamp of the last pose of the object that was recorded, s.

    Raises:
        BagError: The recording lacks the detection of an impact, or the prediction at it.
    """
    arms = {arm.name: _arm_figures(run, arm) for arm in run.arms}
    moved = run.object_positions[run.object_times <= run.end][-1] - run.goal
    detections = _detections(run, [arm["time_true"] for arm in arms.values()])
    if len(arms) > 1:
        grasp = _grasp_figures(run, arms) | detections
        summary: dict[str, Any] = {"arms": arms, "grasp": grasp, "goal_error_m": float(np.linalg.norm(moved))}
    else:
        (figures,) = arms.values()
        apart = ("joint_names", "prediction_error_relative", "prediction_error_alone", "control")
        summary = {
            "joint_names": figures["joint_names"],
            "impact": {name: value for name, value in figures.items() if name not in apart}
            | detections,
            "prediction_error_relative": figures["prediction_error_alone"],
            "control": figures["control"],
            "goal_error_m": float(np.linalg.norm(moved[:2])),
        }
        grasp = {}
    summary["states_lost"] = run.missed / max(run.cycles + run.missed, 1)
    summary["recorded_until"] = float(run.object_times[-1])
    return RunReport(folder, arms, grasp, summary | (more or {}))


def _arm_figures(run: RunSeries, arm: ArmSeries) -> dict[str, Any]:
    truth = arm.true_impact
    time_true = stamp_seconds(truth)
    own = [event for event in arm.events if _matches(event, time_true) and seconds(event.stamp_detected) <= run.end]
    if not own:
        raise BagError(f"{run.path}: the impact of {arm.name} at {time_true:.4f} s was not detected")
    at_impact = [m for m in arm.predictions if m.source == SOURCE_AT_IMPACT and m.event_sequence == own[0].sequence]
    if not at_impact:
        raise BagError(f"{run.path}: no prediction at the impact of {arm.name}")
    before, after = np.array(truth.velocity_before), np.array(truth.velocity_after)
    alone = np.array(at_impact[0].velocity_after)
    together = arm.common_jump
    jump = float(np.linalg.norm(after - before))
    look_ahead = [m for m in arm.predictions if m.source == SOURCE_LOOK_AHEAD and stamp_seconds(m) < time_true]
    detected = seconds(own[0].stamp_detected)
    return {
        "joint_names": list(truth.joint_names),
        "time_true": time_true,
        "first_contact": arm.first_contact,
        "time_detected": detected,
        "time_refined": stamp_seconds(own[0]),
        "delay_ms": 1e3 * (detected - time_true),
        "prediction_delay_ms": 1e3 * arm.prediction_delays[own[0].sequence],
        "predictions_before_impact": len(look_ahead),
        "velocity_before": before.tolist(),
        "velocity_after_predicted": (alone if together is None else together).tolist(),
        "velocity_after_plant": after.tolist(),
        "object_velocity_predicted": vector(at_impact[0].object_twist_after.linear).tolist(),
        "object_velocity_plant": vector(truth.object_twist_after.linear).tolist(),
        "prediction_error_alone": float(np.linalg.norm(alone - after)) / jump,
        "prediction_error_relative": None if together is None else float(np.linalg.norm(together - after)) / jump,
        "control": _control_figures(run, arm, time_true),
    }


def _control_figures(run: RunSeries, arm: ArmSeries, time_true: float) -> dict[str, Any]:
    norms = np.linalg.norm(arm.target_acceleration.reshape(-1, 2, 3), axis=2)
    since = run.times - time_true
    near = (since > _NEAR_IMPACT[0]) & (since < _NEAR_IMPACT[1])
    cycle = 1e6 * run.cycle_times
    return {
        "peak_target_acceleration": norms.max(axis=0).tolist(),
        "peak_target_acceleration_at_impact": norms[near].max(axis=0).tolist(),
        "cycles": run.cycles,
        "missed": run.missed,
        "cycle_us": {"p50": float(np.percentile(cycle, 50)), "p99": float(np.percentile(cycle, 99))},
    }


def _grasp_figures(run: RunSeries, arms: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Which arm hit first, how far the object was lifted and how far it slipped."""
    order = sorted(arms, key=lambda name: float(arms[name]["time_true"]))
    first, last = arms[order[0]], arms[order[-1]]
    during = run.object_times <= run.end
    height = run.object_positions[during, 2] - run.object_positions[0, 2]
    return {
        "lift_m": float(height.max()),
        "final_lift_m": float(height[-1]),
        "wanted_lift_m": float(run.field.goal.z - run.field.object_position.z),
        "slip_m": _slip(run),
        "first_arm": order[0],
        "lead_s": last["time_true"] - first["time_true"],
        "object_speed_predicted": float(np.linalg.norm(vector(run.field.object_velocity_after))),
        "object_speed_plant": float(np.linalg.norm(last["object_velocity_plant"])),
    }


def _slip(run: RunSeries) -> float:
    """Largest displacement of a tool along its face, relative to the object, once the interim mode is over, m."""
    contact = np.flatnonzero(run.modes >= MODE_INTERIM)
    if not contact.size:
        return float("nan")
    shown = (run.object_times >= run.times[contact[0]] + SLIP_FROM) & (run.object_times <= run.end)
    if not shown.any():
        return float("nan")
    return max(_slip_of(run, arm, run.object_times[shown], run.object_positions[shown]) for arm in run.arms)


def _slip_of(run: RunSeries, arm: ArmSeries, times: Array, positions: Array) -> float:
    tool = np.column_stack([np.interp(times, run.times, column) for column in arm.tool_position.T])
    moved = tool - positions
    moved -= moved[0]
    along = np.outer(moved @ arm.normal, arm.normal)
    return float(np.linalg.norm(moved - along, axis=1).max())


def _detections(run: RunSeries, contacts: list[float]) -> dict[str, int]:
    """Detections during the task that renew a true contact, and those that belong to none of any arm."""
    renewed = false = 0
    for arm in run.arms:
        for event in arm.events:
            since = seconds(event.stamp_detected) - stamp_seconds(arm.true_impact)
            if seconds(event.stamp_detected) > run.end:
                continue
            if getattr(event, "cause", 0) == CAUSE_CONTACT_RENEWED and since >= 0.0:
                renewed += 1
            elif not any(_matches(event, contact) for contact in contacts):
                false += 1
    return {"false_detections": false, "renewed_contacts": renewed}


def _detections_text(figures: dict[str, Any]) -> str:
    renewed = f", renewed contacts: {figures['renewed_contacts']}" if figures["renewed_contacts"] else ""
    return f"false detections: {figures['false_detections']}{renewed}"


def _matches(event: Any, contact: float) -> bool:
    return 0.0 <= seconds(event.stamp_detected) - contact < MATCH_WINDOW
