"""What an analysis of recordings found: plain data, which reports, tables and annotated bags are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from impact_aware.arrays import Array
from impact_aware.detection.impact_watch import CONTACT, CONTACT_LOST, CONTACT_RENEWED, SECOND_CONTACT
from impact_aware.estimation.metrics import absolute_error
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.recordings.ablation import AblationGroup, AblationRow
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.contact_check import ContactCheck
from impact_aware.recordings.object_hit import ObjectHit
from impact_aware.recordings.surface import jump_impulse
from impact_aware.recordings.verdict import ESTIMATE, PLANT, Reference, Verdict, verdict
from impact_aware.records import ContactImpulse, Impact, ImpactEvent, VelocityEstimate
from impact_aware.robot import RobotModel

CAUSES = (CONTACT, SECOND_CONTACT, CONTACT_LOST, CONTACT_RENEWED, "command_step", "motion_start", "touch", "ringing")
"""What a find may be: contact made; made again soon after another; lost; renewed at hardly any speed; a step of the
commanded acceleration; the start or end of a motion; a push on an arm at rest, where nothing jumps; the oscillation
that a contact has left."""

CONTACTS = (CONTACT, SECOND_CONTACT)
"""Causes that are impacts."""


@dataclass(frozen=True, eq=False)
class OtherEvent:
    """A find that is no impact.

    Attributes:
        arm: Name of the arm; empty for a topic without a namespace.
        file: The recording.
        time: Header stamp, refined between samples, s.
        time_standard_error: Of `time`, s; the misfit of the fitted branches counts in it.
        cause: One of `CAUSES`, none of `CONTACTS`.
        evidence: What speaks for the cause, one sentence.
        detectors: Every detector that found it.
    """

    arm: str
    file: Path
    time: float
    time_standard_error: float
    cause: str
    evidence: str
    detectors: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class CommonImpact:
    """Prediction for one arm of several that hit one object at once; in the frame of its base.

    Attributes:
        task: The recorded task, with the arms' tools and the poses of their bases.
        arms: The other arms.
        velocity_after: (n,) Predicted velocity after, rad/s.
        contact: Contact of its tool, all contact points together.
        object_velocity_after: (3,) Velocity of the object's centre, m/s.
    """

    task: str
    arms: tuple[str, ...]
    velocity_after: Array
    contact: ContactImpulse
    object_velocity_after: Array


@dataclass(frozen=True, eq=False)
class AnalyzedImpact:
    """One impact of one arm. Per-joint arrays are in the order of `joint_names`, vectors of three in the base frame.

    Attributes:
        arm: Name of the arm; empty for a topic without a namespace.
        index: Counts this arm's impacts of one recording from 1.
        file: The recording.
        joint_names: (n,) Joint order of every array.
        event: What the detector found.
        position: (n,) At the impact, rad.
        window: The samples around it, on the same clock as its `time`.
        detectors: Every detector that found it, when several looked.
        estimate: What the samples around it show, or None when too few follow.
        contact_frame: Robot frame that touched; empty without a robot model.
        prediction: The impact map's answer to `position` and `velocity_before`, or None without a robot model or a
            normal.
        common: Where several arms hit one object at once: the prediction for all of them, in place of `prediction`,
            which is for this arm alone; else None.
        prediction_std: (n,) First-order spread of the predicted velocity after from the error of `velocity_before`,
            rad/s, or None.
        normal_source: `option`, `config` (a surface file), `tf`, `prediction` (recorded), `task`, `jump` (this one), or
            empty without a normal.
        expected: Whether it was the impact that `predicted_jumps` of the recording announced; None without such
            messages.
        label: From the label file, or None.
        ablation: One row per inertia and friction; empty without an estimate or a prediction.
        object_hit: Estimates from the object's track, or None without one.
        contact_check: Test of the contact point against the jump, or None without an estimate or a prediction.
        live: (n,) Velocity after as the recorded live prediction has it, rad/s, or None.
        truth: The simulator's truth of this impact, or None.
        assumed: Inputs of the prediction that were not given, each with its value.
        untested: Why comparing the prediction with the jump is no test of it; empty where it is one.
        cause: One of `CONTACTS`.
        evidence: What speaks for the cause, one sentence; empty when nothing was compared.
        notes: What a reader has to know about this impact, one sentence each.
    """

    arm: str
    index: int
    file: Path
    joint_names: tuple[str, ...]
    event: ImpactEvent
    position: Array
    window: ArmSamples
    detectors: tuple[str, ...] = ()
    estimate: VelocityEstimate | None = None
    contact_frame: str = ""
    prediction: ImpactPrediction | None = None
    common: CommonImpact | None = None
    prediction_std: Array | None = None
    normal_source: str = ""
    expected: bool | None = None
    label: str | None = None
    ablation: tuple[AblationRow, ...] = ()
    contact_check: ContactCheck | None = None
    object_hit: ObjectHit | None = None
    live: Array | None = None
    truth: Impact | None = None
    assumed: tuple[str, ...] = ()
    untested: str = ""
    cause: str = "contact"
    evidence: str = ""
    notes: tuple[str, ...] = ()

    @property
    def time(self) -> float:
        """Header stamp of the impact, refined between samples, s."""
        return self.event.time

    @property
    def velocity_before(self) -> Array:
        """(n,) Estimated, or the detector's without an estimate, rad/s."""
        return self.event.velocity_before if self.estimate is None else self.estimate.velocity_before

    @property
    def velocity_before_error(self) -> Array:
        """(n,) Standard error of `velocity_before`, rad/s; NaN when it is the detector's."""
        if self.estimate is None:
            return np.full(len(self.joint_names), np.nan)
        return self.estimate.velocity_before_error

    @property
    def velocity_after_predicted(self) -> Array | None:
        """(n,) Of all arms that hit at once, or of this one, rad/s."""
        made = self.prediction if self.common is None else self.common
        return None if made is None else made.velocity_after

    @property
    def velocity_after_estimated(self) -> Array | None:
        """(n,) Virtual rigid-body velocity after the impact, rad/s."""
        return None if self.estimate is None else self.estimate.velocity_after

    @property
    def estimated(self) -> Reference | None:
        """Velocities that the samples show, with their errors."""
        found = self.estimate
        if found is None:
            return None
        return Reference(ESTIMATE, found.velocity_before, found.velocity_after, found.standard_error)

    @property
    def reference(self) -> Reference | None:
        """Velocities that errors of predictions count from: the plant's where it was recorded, else `estimated`."""
        if self.truth is None:
            return self.estimated
        order = [self.truth.joint_names.index(name) for name in self.joint_names]
        before, after = self.truth.velocity_before[order], self.truth.velocity_after[order]
        return Reference(PLANT, before, after, np.zeros(len(order)))

    @property
    def joint_error(self) -> Array | None:
        """(n,) |predicted - reference|, rad/s (Rey Arias 2024, (18))."""
        predicted, reference = self.velocity_after_predicted, self.reference
        return None if predicted is None or reference is None else absolute_error(predicted, reference.after)

    @property
    def verdict(self) -> Verdict:
        """Comparison of the prediction with what happened."""
        truth = None if self.truth is None else self.reference
        return verdict(
            self.velocity_after_predicted,
            self.prediction_std,
            self.estimated,
            truth,
            assumed=self.assumed,
            untested=self.untested,
            live=self.live,
        )

    @property
    def jump_size(self) -> tuple[float, float] | None:
        """Norm of the estimated jump of the joints' velocities and its standard error, rad/s."""
        if self.estimate is None:
            return None
        jump = self.estimate.velocity_after - self.estimate.velocity_before
        length, errors = float(np.linalg.norm(jump)), self.estimate.jump_error
        return length, float(np.linalg.norm(errors if length == 0.0 else jump / length * errors))

    def contact_velocity(self, velocity: Array | None) -> Array | None:
        """Velocity (3,) of the robot's contact point at joint velocities (n,), m/s; None without both."""
        if self.prediction is None or velocity is None:
            return None
        return np.asarray(self.prediction.space.jacobian @ velocity @ self.prediction.contact.axes)

    @property
    def approach_speed(self) -> tuple[float, float]:
        """Speed of the contact point along the normal, and its standard error, m/s; NaN without a prediction."""
        if self.prediction is None:
            return math.nan, math.nan
        slopes = self.prediction.space.jacobian[0]
        return -float(slopes @ self.velocity_before), float(np.linalg.norm(slopes * self.velocity_before_error))

    @property
    def used_contact(self) -> ContactImpulse | None:
        """The contact by the map that was used; of arms or a palm at once that of the tool with all its points."""
        made = self.prediction
        if self.common is not None or made is None:
            return None if self.common is None else self.common.contact
        surface = {name: getattr(made.contact, name) for name in ("normal", "friction", "restitution")}
        result = {name: getattr(made, name) for name in ("point", "impulse", "effective_mass", "mode")}
        return ContactImpulse(**surface, **result)

    @property
    def impulse_estimated(self) -> Array | None:
        """(3,) On the robot, as the estimated jump shows it with the inertia of the prediction, N s.

        None where the impact was predicted with several contact points at once, which one impulse does not describe.
        """
        if self.prediction is None or self.estimate is None or self.common is not None:
            return None
        return jump_impulse(self.prediction.space, self.prediction.contact, self.estimate.jump)

    @property
    def impulse_error(self) -> Array | None:
        """(3,) Standard error of `impulse_estimated` by those of the velocities, the inertia's aside, N s."""
        if self.prediction is None or self.estimate is None or self.common is not None:
            return None
        space, contact = self.prediction.space, self.prediction.contact
        slopes = np.array([jump_impulse(space, contact, unit) for unit in np.eye(len(self.joint_names))])
        return np.asarray(np.sqrt(self.estimate.jump_error**2 @ slopes**2))


@dataclass(frozen=True, eq=False)
class ArmAnalysis:
    """One arm of one recording.

    Attributes:
        arm: Its name; empty for a topic without a namespace.
        file: The recording.
        topic: Topic of its joint states; empty for a table.
        robot: Name of the robot model; empty when none was found.
        urdf: Text of the URDF the model was made from, or None; for drawing the arm.
        base_frame: Frame of every vector of three.
        joint_names: (n,) Joint order of every array.
        messages: Joint-state messages read.
        samples: Of those, the ones that were usable.
        rate_hz: Usable samples per second of stamps, Hz; NaN when it is unknown.
        quality: Why impacts can't be seen reliably, one sentence, or None when they can.
        first_time: Stamp of the first usable sample, s; NaN without one.
        last_time: Stamp of the last one, s.
        impacts: In order of time.
        other_events: Finds that are no impacts, in order of time.
        smallest_jump: Jump of the fastest joint that is just seen, away from brakes and oscillations, rad/s; NaN when
            it is unknown.
        notes: What a reader has to know about this arm, one sentence each.
        model: The robot model, or None.
        gaps: Begin and end of each time without samples in a motion that may hide an impact, s.
    """

    arm: str
    file: Path
    topic: str
    robot: str
    joint_names: tuple[str, ...]
    messages: int
    samples: int
    rate_hz: float
    quality: str | None
    first_time: float
    last_time: float
    impacts: tuple[AnalyzedImpact, ...]
    other_events: tuple[OtherEvent, ...] = ()
    urdf: str | None = None
    base_frame: str = "base"
    smallest_jump: float = math.nan
    notes: tuple[str, ...] = ()
    model: RobotModel | None = None
    gaps: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Analysis:
    """One run of `impact-aware analyze` over one or several recordings.

    Attributes:
        files: The recordings, in the order given.
        arms: One per arm and recording, in the order of `files`.
        messages: Joint-state messages read, all arms together.
        seconds_read: Wall time that reading and detecting took, s.
        seconds: Wall time of everything, s.
        settings: Every option with its value, in plain types; as "NAME (FILE)" that of a file beside a recording.
        versions: Name and version of the software that made it.
        ablation_groups: Tables II and III of Rey Arias 2024 over all recordings; empty without ablation.
        notes: What a reader has to know, one sentence each.
    """

    files: tuple[Path, ...]
    arms: tuple[ArmAnalysis, ...]
    messages: int
    seconds_read: float
    seconds: float
    settings: dict[str, Any]
    versions: dict[str, str]
    ablation_groups: tuple[AblationGroup, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def impacts(self) -> tuple[AnalyzedImpact, ...]:
        """Every impact of every arm, recording by recording, in order of time within each."""
        return self._in_order(lambda arm: arm.impacts)

    @property
    def other_events(self) -> tuple[OtherEvent, ...]:
        """Every find that is no impact, of every arm, in the order of `impacts`."""
        return self._in_order(lambda arm: arm.other_events)

    def _in_order(self, finds: Callable[[ArmAnalysis], Sequence[_Timed]]) -> tuple[_Timed, ...]:
        files = dict.fromkeys(arm.file for arm in self.arms)
        own = [[find for arm in self.arms if arm.file == file for find in finds(arm)] for file in files]
        return tuple(find for group in own for find in sorted(group, key=lambda find: find.time))


_Timed = TypeVar("_Timed", AnalyzedImpact, OtherEvent)
