"""What happened in a run, cycle by cycle, and the figures that follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.control import Command, Mode
from impact_aware.experiments.episode_settings import EpisodeSettings
from impact_aware.records import ImpactEvent
from impact_aware.reference import ReferenceField
from impact_aware.simulation.impact_truth import ImpactTruth
from impact_aware.task import Task
from impact_aware.task.grasp import COMMON_WINDOW

_TRUTH_MARGIN = 0.010
_LATE = 0.002  # By how much a detector may put an impact too late, s.
_COMMAND_COLUMNS = (
    "time",
    "effort",
    "mode",
    "blend",
    "tool_position",
    "tool_twist",
    "reference_twist",
    "target_acceleration",
    "qp_status",
)


@dataclass(frozen=True, eq=False)
class EpisodeResult:
    """What happened, one row per control cycle (k rows, n joints of all arms, m arms).

    Attributes:
        time: (k,) Stamp of the state, s.
        q: (k, n) Measured, rad.
        dq: (k, n) Measured, rad/s.
        effort: (k, n) Commanded, N m.
        mode: (k,) Mode of the controller.
        blend: (k,) gamma.
        tool_position: (k, m, 3) m.
        tool_twist: (k, m, 6) m/s and rad/s.
        reference_twist: (k, m, 6) m/s and rad/s.
        target_acceleration: (k, m, 6) m/s^2 and rad/s^2.
        object_position: (k, 3) True, m.
        object_twist: (k, 6) True, m/s and rad/s.
        object_rotation: (k, 3, 3) True.
        qp_status: (k,).
        events: What the detectors reported, by arm, in order.
        predictions: Time of each event that was acted upon, or of a palm's first touch that came too late for that, s,
            and joint velocities (n,) of all arms predicted for after it, rad/s, NaN of an arm that did not hit then.
        object_velocities: (events, 2, 3) Object velocity after each of them, m/s: as used, and computed directly.
        object_falls: (events, 3) What the weight of an object that is lifted adds to each of them until the
            compression is over, m/s: no part of the impact, so not used.
        impacts: What really happened.
        field: The reference at the end.
        task: The task.
        settings: The settings.
        seed: Of the sensors.
        interventions: Commands that the command filter had to change.
        safe_reason: Why the controller went to the safe mode, or None.
    """

    time: Array
    q: Array
    dq: Array
    effort: Array
    mode: NDArray[np.int64]
    blend: Array
    tool_position: Array
    tool_twist: Array
    reference_twist: Array
    target_acceleration: Array
    object_position: Array
    object_twist: Array
    object_rotation: Array
    qp_status: NDArray[np.int64]
    events: tuple[tuple[int, ImpactEvent], ...]
    predictions: tuple[tuple[float, Array], ...]
    object_velocities: Array
    object_falls: Array
    impacts: tuple[ImpactTruth, ...]
    field: ReferenceField
    task: Task
    settings: EpisodeSettings
    seed: int
    interventions: int
    safe_reason: str | None

    @property
    def first_impact(self) -> ImpactTruth | None:
        """The first true impact of a tool with the object."""
        return next(iter(self._object_impacts), None)

    @property
    def first_contact(self) -> str:
        """What touched first, such as `tool on object` or `panda_hand on table`; empty when nothing did."""
        return next((f"{impact.link or 'tool'} on {impact.partner}" for impact in self.impacts), "")

    @property
    def detection_delay(self) -> float:
        """From the first true impact to its detection, s; NaN when either is missing."""
        impact = self.first_impact
        if impact is None:
            return float("nan")
        later = [event.time_detected for _, event in self.events if event.time_detected >= impact.time]
        return min(later) - impact.time if later else float("nan")

    @property
    def false_detections(self) -> int:
        """Detections that no true contact precedes by less than 10 ms."""
        times = np.array([impact.time for impact in self.impacts])
        count = 0
        for _, event in self.events:
            since = event.time_detected - times
            count += not np.any((since >= 0.0) & (since <= _TRUTH_MARGIN))
        return count

    @property
    def prediction_error(self) -> float:
        """Norm of predicted minus true joint velocity after, over the norm of the true jump.

        Arms: the first one that hits and those that hit with it. NaN without impact or prediction.
        """
        first = self.first_impact
        if first is None or not self.predictions:
            return float("nan")
        predicted = [after for time, after in self.predictions if time - self.predictions[0][0] <= COMMON_WINDOW][-1]
        true, jump = np.full_like(predicted, np.nan), np.full_like(predicted, np.nan)
        count = predicted.size // len(self.task.arms)
        for index, arm in enumerate(self.task.arms):
            joints = slice(index * count, (index + 1) * count)
            own = next((impact for impact in self._object_impacts if impact.arm == (arm.name or "arm")), None)
            if own is not None and np.isfinite(predicted[joints]).all():
                true[joints], jump[joints] = own.velocity_after[joints], own.jump[joints]
        known = np.isfinite(true)
        return float(np.linalg.norm((predicted - true)[known]) / np.linalg.norm(jump[known])) if known.any() else np.nan

    @property
    def object_velocity_after(self) -> Array:
        """True velocity (3,) of the object when the compression of the last arm's first hit ended, m/s.

        NaN when an arm never hits the object.
        """
        last = self._last_first_hit
        return np.full(3, np.nan) if last is None else np.asarray(last.object_twist_after[:3])

    @property
    def object_velocity_predicted(self) -> Array:
        """What was predicted for then, with what the object's weight adds: (2, 3), as used and computed directly, m/s.

        Taken from the last prediction for an impact until that last hit, or else the first one; NaN without one.
        """
        if not len(self.object_velocities):
            return np.full((2, 3), np.nan)
        last, index = self._last_first_hit, 0
        if last is not None:
            known = [k for k, (time, _) in enumerate(self.predictions) if time <= last.time + _LATE]
            index = known[-1] if known else 0
        return np.asarray(self.object_velocities[index] + self.object_falls[index])

    @property
    def closing_speed(self) -> float:
        """Fastest normal relative speed at an arm's first touch of the object, m/s; NaN without one."""
        speeds = [impact.approach_speed for impact in self._first_hits]
        return max(speeds, default=float("nan"))

    @property
    def _last_first_hit(self) -> ImpactTruth | None:
        """Last of the arms' first hits of the object; None when an arm never hits it."""
        hits = self._first_hits
        return max(hits, key=lambda impact: impact.time) if hits and len(hits) == len(self.task.arms) else None

    @property
    def _first_hits(self) -> list[ImpactTruth]:
        """The first hit of the object of each arm that has one."""
        first: dict[str, ImpactTruth] = {}
        for impact in self._object_impacts:
            first.setdefault(impact.arm, impact)
        return list(first.values())

    @property
    def goal_error(self) -> float:
        """Horizontal distance of the object from its goal at the end, m."""
        return float(np.linalg.norm(self.object_position[-1, :2] - np.array(self.task.goal[:2])))

    @property
    def hit_times(self) -> Array:
        """(m,) When each arm first truly hit the object, s; infinite when never."""
        hits = [[i.time for i in self._object_impacts if i.arm == (arm.name or "arm")] for arm in self.task.arms]
        return np.array([min(times, default=np.inf) for times in hits])

    @property
    def hit_arms(self) -> NDArray[np.bool_]:
        """(m,) Which arms truly hit the object."""
        return np.isfinite(self.hit_times)

    @property
    def all_detected(self) -> float:
        """When every arm's impact had been detected, s; the end when that never happened."""
        begin = -np.inf if self.first_impact is None else self.first_impact.time
        first = {arm: event.time_detected for arm, event in reversed(self.events) if event.time_detected >= begin}
        return max(first.values()) if len(first) == len(self.task.arms) else float(self.time[-1])

    @property
    def slip(self) -> float:
        """Largest displacement of a tool along the face it touches, in the object's own axes, m.

        It counts from 0.1 s after the last arm's first true impact, by when the palms shall hold, whatever the mode of
        the controller is by then; NaN when an arm never hits.
        """
        begin = int(np.searchsorted(self.time, self.hit_times.max() + 0.1))
        if begin >= self.time.size:
            return float("nan")
        offset = self.tool_position[begin:] - self.object_position[begin:, None, :]
        relative = np.einsum("kji,kmj->kmi", self.object_rotation[begin:], offset)
        moved = relative - relative[0]
        normals = np.array([own.normal for own in self.field.arms])
        along = np.einsum("kmi,mi->km", moved, normals)
        return float(np.linalg.norm(moved - along[..., None] * normals, axis=2).max())

    @property
    def off_centre(self) -> float:
        """Horizontal distance of the first touch from the object's centre, across the impact direction, m."""
        impact = self.first_impact
        if impact is None:
            return float("nan")
        row = min(int(np.searchsorted(self.time, impact.time)), self.time.size - 1)
        offset = self.object_rotation[row].T @ (impact.point - self.object_position[row])
        return float(abs(offset @ np.cross((0.0, 0.0, 1.0), self.field.arms[0].normal)))

    @property
    def arms_apart(self) -> float:
        """Time from the first arm's to the last arm's first touch, s; NaN when one never touched."""
        return float(np.ptp(self.hit_times)) if self.hit_arms.all() else float("nan")

    @property
    def _object_impacts(self) -> list[ImpactTruth]:
        return [impact for impact in self.impacts if impact.partner == "object" and not impact.link]

    @property
    def time_to_track(self) -> float:
        """From the first detection until every tool keeps to its reference within 0.02 m/s for 50 ms, s.

        Infinite when that does not happen, NaN without a detection.
        """
        contact = np.flatnonzero(self.mode >= Mode.INTERIM)
        if not contact.size:
            return float("nan")
        error = np.linalg.norm((self.tool_twist - self.reference_twist)[contact[0] :, :, :3], axis=2).max(axis=1)
        within = np.convolve(error < 0.02, np.ones(50), mode="valid") >= 49.5
        return 1e-3 * float(np.argmax(within)) if within.any() else float("inf")


class EpisodeRecorder:
    """Collects the cycles of a run, one row each."""

    def __init__(self) -> None:
        """Start with no row."""
        self._rows: list[dict[str, Any]] = []

    def add(self, command: Command, q: Array, dq: Array, placement: pin.SE3, twist: Array) -> None:
        """One row: a command, the reading it answers, and the object's true pose and twist."""
        row = {name: getattr(command, name) for name in _COMMAND_COLUMNS}
        row |= {"q": q, "dq": dq, "object_twist": twist}
        row |= {"object_position": placement.translation, "object_rotation": placement.rotation}
        self._rows.append(row)

    def arrays(self) -> dict[str, Any]:
        """All rows, column by column."""
        return {name: np.array([row[name] for row in self._rows]) for name in self._rows[0]}
