"""The report of one run in which several arms grab and lift: each arm's impact, and what became of the object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_aware.recordings.bag import Array, Bag, BagError, stamp_seconds, vector
from impact_aware.report.run_grasp_figure import draw_grasp
from impact_aware.report.run_report import MATCH_WINDOW, MODE_SAFE, SOURCE_AT_IMPACT, control_figures, seconds
from impact_aware.report.run_series import (
    ObjectSeries,
    ToolSeries,
    common_topic,
    impacts_made,
    read_control,
    read_object,
    read_tools,
)
from impact_aware.report.run_summary import RunSummary

GOAL_TOLERANCE = 0.05
"""Distance from the goal in space up to which a lifted object counts as brought there, m (that of the campaign)."""

SLIP_LIMIT = 0.01
"""Largest slip along the faces that counts as held, m (that of the campaign)."""

SLIP_FROM = 0.1
"""Time after the first detection from which slip counts, s: the interim mode of the paper is over then."""

MODE_INTERIM = 2
"""ControllerState.MODE_INTERIM."""


class GraspReport(RunSummary):
    """Summary of a run in which several arms grab and lift."""

    def failure(self) -> str:
        """What kept the task from being done; empty when it was."""
        grasp = self.summary["grasp"]
        if grasp["lift_m"] < 0.5 * grasp["wanted_lift_m"]:
            return f"the object was not lifted: {1e3 * grasp['lift_m']:.0f} mm"
        if grasp["final_lift_m"] < 0.5 * grasp["lift_m"]:
            return f"the object was dropped from {1e3 * grasp['lift_m']:.0f} mm"
        if not grasp["slip_m"] < SLIP_LIMIT:
            return f"the object slipped by {1e3 * grasp['slip_m']:.0f} mm"
        distance = self.summary["goal_error_m"]
        return f"the object ended {1e3 * distance:.0f} mm from its goal" if distance > GOAL_TOLERANCE else ""

    def table(self) -> str:
        """The result as text for a terminal."""
        arms, grasp = self.summary["arms"], self.summary["grasp"]
        width = max(3, *(len(name) for name in arms))
        lines = [
            f"{grasp['first_arm']} hit first, the last arm {1e3 * grasp['lead_s']:.1f} ms later; "
            f"false detections: {grasp['false_detections']}",
            "",
            f"{'arm':<{width}}  {'contact':>9}  {'detected':>9}  {'jump predicted with':>22}  {'peak target':>12}",
            f"{'':<{width}}  {'':>9}  {'after':>9}  {'both arms':>11}{'this alone':>11}  {'acceleration':>12}",
        ]
        for name, arm in arms.items():
            peak = arm["control"]["peak_target_acceleration_at_impact"]
            errors = arm["prediction_error_relative"], arm["prediction_error_alone"]
            both, alone = ("-" if error is None else f"{100 * error:.1f} % off" for error in errors)
            times = f"{arm['time_true']:7.4f} s  {arm['delay_ms']:6.1f} ms"
            lines.append(f"{name:<{width}}  {times}  {both:>11}{alone:>11}  {peak:12.2f}")
        cycle = next(iter(arms.values()))["control"]
        speeds = grasp["object_speed_predicted"], grasp["object_speed_plant"]
        lines += [
            "",
            f"object after both impacts {speeds[0]:.3f} m/s predicted, {speeds[1]:.3f} m/s in the plant",
            f"lifted                    {1e3 * grasp['lift_m']:.0f} mm of {1e3 * grasp['wanted_lift_m']:.0f} mm",
            f"slip along the faces      {1e3 * grasp['slip_m']:.1f} mm",
            f"control cycles            {cycle['cycles']}, missed {cycle['missed']}, "
            f"{cycle['cycle_us']['p50']:.0f} us median, {cycle['cycle_us']['p99']:.0f} us p99",
            f"distance from the goal    {1e3 * self.summary['goal_error_m']:.1f} mm",
        ]
        return "\n".join(lines)


def report_grasp(bag_path: Path, folder: Path, nodes: list[str]) -> GraspReport:
    """Read the bag of a run, draw its figure and sum it up.

    Args:
        bag_path: The recording.
        folder: Where the figure goes.
        nodes: Names of the nodes that took part.

    Raises:
        BagError: The recording lacks an arm's impact, its detection, or a topic.
    """
    with Bag(bag_path) as bag:
        tools, things = read_tools(bag), read_object(bag)
        controls = [read_control(bag, index) for index in range(len(tools.names))]
        field = list(bag.messages(common_topic(bag, "reference_field")))[-1][1]
        # After the run the controller lets go of the object and ends: what happens then is no part of the task.
        end = float(controls[0].times[controls[0].modes != MODE_SAFE].max())
        truths = {name: _true_impact(bag, name) for name in tools.names}
        times = {name: stamp_seconds(truth) for name, truth in truths.items()}
        arms: dict[str, Any] = {}
        false = 0
        for index, name in enumerate(tools.names):
            arms[name], extra = _arm_figures(bag, name, truths[name], list(times.values()), end)
            arms[name]["control"] = control_figures(controls[index], times[name])
            false += extra
    names = sorted(times, key=times.__getitem__)
    shown = things.times <= end
    things = ObjectSeries(things.times[shown], things.positions[shown])
    goal = vector(field.goal)
    last = truths[names[-1]]
    grasp = _grasp_figures(tools, things, controls[0].modes, field)
    grasp |= {
        "first_arm": names[0],
        "lead_s": times[names[-1]] - times[names[0]],
        "false_detections": false,
        "object_speed_predicted": float(np.linalg.norm(vector(field.object_velocity_after))),
        "object_speed_plant": float(np.linalg.norm(vector(last.object_twist_after.linear))),
    }
    summary = {
        "arms": arms,
        "grasp": grasp,
        "goal_error_m": float(np.linalg.norm(things.positions[-1] - goal)),
        "nodes": nodes,
        "bag": str(bag_path),
        "figure": str(folder / "grasp.png"),
    }
    draw_grasp(folder / "grasp.png", tools, controls, things, field, summary)
    return GraspReport(folder, summary)


def _true_impact(bag: Bag, arm: str) -> Any:
    """The first impact of an arm with the object."""
    for _, message in bag.messages(f"{arm}/true_impacts"):
        if message.contacts[0].obstacle == message.object:
            return message
    raise BagError(f"{bag.path}: {arm} never touched the object")


def _arm_figures(bag: Bag, name: str, truth: Any, contacts: list[float], end: float) -> tuple[dict[str, Any], int]:
    """What the summary says of one arm's impact, and how many detections belong to no true contact of any arm."""
    time_true = stamp_seconds(truth)
    events = [event for event in impacts_made(bag, f"{name}/impacts") if seconds(event.stamp_detected) <= end]
    detections = [seconds(event.stamp_detected) for event in events]
    own = [event for event, time in zip(events, detections, strict=True) if 0.0 <= time - time_true < MATCH_WINDOW]
    if not own:
        raise BagError(f"{bag.path}: the impact of {name} at {time_true:.4f} s was not detected")
    false = sum(all(not 0.0 <= time - contact < MATCH_WINDOW for contact in contacts) for time in detections)
    predictions = [message for _, message in bag.messages(f"{name}/predicted_jumps") if message.valid]
    at_impact = [m for m in predictions if m.source == SOURCE_AT_IMPACT and m.event_sequence == own[0].sequence]
    if not at_impact:
        raise BagError(f"{bag.path}: no prediction at the impact of {name}")
    after, before = np.array(truth.velocity_after), np.array(truth.velocity_before)
    alone = np.array(at_impact[0].velocity_after)
    jump = float(np.linalg.norm(after - before))
    together = _common_jump(bag, name)
    return {
        "joint_names": list(truth.joint_names),
        "time_true": time_true,
        "time_detected": seconds(own[0].stamp_detected),
        "delay_ms": 1e3 * (seconds(own[0].stamp_detected) - time_true),
        "predictions_before_impact": sum(m.source == 0 and stamp_seconds(m) < time_true for m in predictions),
        "velocity_before": before.tolist(),
        "velocity_after_predicted": together if together is not None else alone.tolist(),
        "velocity_after_plant": after.tolist(),
        "prediction_error_alone": float(np.linalg.norm(alone - after)) / jump,
        "prediction_error_relative": None if together is None else float(np.linalg.norm(together - after)) / jump,
    }, false


def _common_jump(bag: Bag, arm: str) -> list[float] | None:
    """Predicted joint velocity of an arm after all arms hit at once, rad/s; None when they did not, or nobody asked."""
    if not any(topic.endswith("/common_jumps") for topic in bag.topics):
        return None
    found = [m for _, m in bag.messages(common_topic(bag, "common_jumps")) if m.arm == arm and m.valid]
    return [float(value) for value in found[0].velocity_after] if found else None


def _grasp_figures(tools: ToolSeries, things: ObjectSeries, modes: NDArray[np.int64], field: Any) -> dict[str, Any]:
    """How far the object was lifted and how far it slipped."""
    height = things.positions[:, 2] - things.positions[0, 2]
    return {
        "lift_m": float(height.max()),
        "final_lift_m": float(height[-1]),
        "wanted_lift_m": float(field.goal.z - field.object_position.z),
        "slip_m": _slip(tools, things, modes, np.array([vector(arm.normal) for arm in field.arms])),
    }


def _slip(tools: ToolSeries, things: ObjectSeries, modes: NDArray[np.int64], normals: Array) -> float:
    """Largest way of a tool along the face it touches, relative to the object, once the interim mode is over, m."""
    contact = np.flatnonzero(modes >= MODE_INTERIM)
    shown = things.times >= tools.times[contact[0]] + SLIP_FROM if contact.size else np.zeros(0, dtype=bool)
    if not shown.any():
        return float("nan")
    times = things.times[shown]
    largest = 0.0
    for index, normal in enumerate(normals):
        tool = np.column_stack([np.interp(times, tools.times, column) for column in tools.positions[:, index].T])
        moved = tool - things.positions[shown]
        moved -= moved[0]
        along = np.outer(moved @ normal, normal)
        largest = max(largest, float(np.linalg.norm(moved - along, axis=1).max()))
    return largest
