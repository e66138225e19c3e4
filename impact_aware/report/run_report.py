"""The report of one run of the suite: what the bag says about the impact, the control and the goal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.recordings.bag import Bag, BagError, stamp_seconds, vector
from impact_aware.report.run_figure import draw_run
from impact_aware.report.run_series import ControlSeries, JointSeries, impacts_made, read_control, read_joints
from impact_aware.report.run_summary import RunSummary

SOURCE_AT_IMPACT = 1
"""ImpactPrediction.SOURCE_AT_IMPACT; the report reads recordings, so it does not import the interface package."""

MODE_SAFE = 4
"""ControllerState.MODE_SAFE."""

GOAL_TOLERANCE = 0.02
"""Distance from the goal up to which the task counts as done, m (the success criterion of the campaign)."""

MATCH_WINDOW = 0.05
"""A detection this close to a true contact is that contact's, s."""


class RunReport(RunSummary):
    """Summary of a run in which one arm hits and pushes."""

    def failure(self) -> str:
        """What kept the task from being done; empty when it was."""
        distance = self.summary["goal_error_m"]
        return f"the object ended {1e3 * distance:.0f} mm from its goal" if distance > GOAL_TOLERANCE else ""

    def table(self) -> str:
        """The result as text for a terminal."""
        impact, control = self.summary["impact"], self.summary["control"]
        names = self.summary["joint_names"]
        width = max(len(name) for name in names)
        lines = [
            f"impact at {impact['time_true']:.4f} s, detected {impact['delay_ms']:.1f} ms later; "
            f"false detections: {impact['false_detections']}",
            "",
            f"{'joint':<{width}}  {'before':>9}  {'predicted':>9}  {'plant':>9}  {'error':>9}   rad/s",
        ]
        columns = (impact["velocity_before"], impact["velocity_after_predicted"], impact["velocity_after_plant"])
        for name, before, predicted, plant in zip(names, *columns, strict=True):
            lines.append(f"{name:<{width}}  {before:9.4f}  {predicted:9.4f}  {plant:9.4f}  {predicted - plant:9.4f}")
        predicted_speed = float(np.linalg.norm(impact["object_velocity_predicted"]))
        plant_speed = float(np.linalg.norm(impact["object_velocity_plant"]))
        lines += [
            "",
            f"object after the impact   {predicted_speed:.3f} m/s predicted, {plant_speed:.3f} m/s in the plant",
            f"prediction error          {100 * self.summary['prediction_error_relative']:.1f} % of the jump",
            f"peak target acceleration  {control['peak_target_acceleration']:.2f} (m/s^2, rad/s^2), "
            f"{control['peak_target_acceleration_at_impact']:.2f} around the impact",
            f"control cycles            {control['cycles']}, missed {control['missed']}, "
            f"{control['cycle_us']['p50']:.0f} us median, {control['cycle_us']['p99']:.0f} us p99",
            f"distance from the goal    {1e3 * self.summary['goal_error_m']:.1f} mm",
        ]
        return "\n".join(lines)


def report_run(bag_path: Path, folder: Path, nodes: list[str]) -> RunReport:
    """Read the bag of a run, draw its figure and sum it up.

    Args:
        bag_path: The recording.
        folder: Where the figure goes.
        nodes: Names of the nodes that took part.

    Raises:
        BagError: The recording lacks an impact, a prediction or a topic.
    """
    with Bag(bag_path) as bag:
        joints = read_joints(bag)
        control = read_control(bag)
        true_impact = first_message(bag, "true_impacts", lambda _: True, "the plant saw no contact")
        time_true = stamp_seconds(true_impact)
        # After the run the controller ends and the plant brakes: what happens then is not the detector's concern.
        end = control.times[control.modes != MODE_SAFE].max()
        events = [event for event in impacts_made(bag) if seconds(event.stamp_detected) <= end]
        detected = [event for event in events if abs(seconds(event.stamp_detected) - time_true) < MATCH_WINDOW]
        if not detected:
            raise BagError(f"{bag_path}: the impact at {time_true:.4f} s was not detected")
        prediction = first_message(
            bag, "predicted_jumps", lambda m: m.source == SOURCE_AT_IMPACT and m.valid, "no prediction at the impact"
        )
        look_ahead = sum(1 for _, m in bag.messages("predicted_jumps") if m.valid and m.source == 0)
        goal = vector(list(bag.messages("reference_field"))[-1][1].goal)
        object_end = vector(list(bag.messages("object_pose"))[-1][1].pose.position)
    summary = _summarise(joints, control, true_impact, detected[0], prediction)
    summary["impact"]["false_detections"] = len(events) - len(detected)
    summary["impact"]["predictions_before_impact"] = look_ahead
    summary["goal_error_m"] = float(np.linalg.norm((goal - object_end)[:2]))
    summary["nodes"] = nodes
    summary["bag"] = str(bag_path)
    figure = folder / "impact.png"
    draw_run(figure, joints, control, summary)
    summary["figure"] = str(figure)
    return RunReport(folder, summary)


def _summarise(
    joints: JointSeries, control: ControlSeries, true_impact: Any, event: Any, prediction: Any
) -> dict[str, Any]:
    time_true = stamp_seconds(true_impact)
    time_detected = seconds(event.stamp_detected)
    after_plant = np.array(true_impact.velocity_after)
    predicted = np.array(prediction.velocity_after)
    jump = after_plant - np.array(true_impact.velocity_before)
    return {
        "joint_names": list(joints.names),
        "impact": {
            "time_true": time_true,
            "time_detected": time_detected,
            "time_refined": stamp_seconds(event),
            "delay_ms": 1e3 * (time_detected - time_true),
            "velocity_before": list(true_impact.velocity_before),
            "velocity_after_predicted": predicted.tolist(),
            "velocity_after_plant": after_plant.tolist(),
            "object_velocity_predicted": vector(prediction.object_twist_after.linear).tolist(),
            "object_velocity_plant": vector(true_impact.object_twist_after.linear).tolist(),
        },
        "prediction_error_relative": float(np.linalg.norm(predicted - after_plant) / np.linalg.norm(jump)),
        "control": control_figures(control, time_true),
    }


def control_figures(control: ControlSeries, time_true: float) -> dict[str, Any]:
    """What the summary says of the control of one arm whose impact was at `time_true`, s."""
    norms = np.linalg.norm(control.target_acceleration, axis=1)
    near = (control.times > time_true - 0.02) & (control.times < time_true + 0.3)
    cycle = 1e6 * control.cycle_times
    return {
        "peak_target_acceleration": float(norms.max()),
        "peak_target_acceleration_at_impact": float(norms[near].max()),
        "cycles": int(control.cycles[-1]),
        "missed": int(control.missed[-1]),
        "cycle_us": {"p50": float(np.percentile(cycle, 50)), "p99": float(np.percentile(cycle, 99))},
    }


def first_message(bag: Bag, name: str, wanted: Any, otherwise: str) -> Any:
    """The first message of a topic that `wanted` says yes to.

    Raises:
        BagError: There is none; `otherwise` says so.
    """
    for _, message in bag.messages(name):
        if wanted(message):
            return message
    raise BagError(f"{bag.path}: {otherwise}")


def seconds(stamp: Any) -> float:
    """A stamp in seconds."""
    return float(stamp.sec + 1e-9 * stamp.nanosec)
