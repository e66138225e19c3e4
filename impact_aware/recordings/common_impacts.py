"""Impacts of several arms on one object, or of a palm's corners, at once: predicted together, from a recorded task.

A single arm's map assumes a free object and a point contact; between two palms the other one holds the object, and a
palm does not turn about a point. The task has the arms' tools, the poses of their bases in one frame, and the friction;
the recorded field has the object's pose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.bags.bag import Bag
from impact_aware.contact import Contact
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.impact.hit import effective_mass, not_unique
from impact_aware.impact.simultaneous import SimultaneousPrediction
from impact_aware.messages.reference_field import TYPE as FIELD_TYPE
from impact_aware.messages.reference_field import field_from_message
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.recordings.ablation import AblationRow, ablation_row, known_inertias
from impact_aware.recordings.impact_explanation import NO_TEST
from impact_aware.recordings.object_track import RecordedBase
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.results import AnalyzedImpact, ArmAnalysis, CommonImpact
from impact_aware.reference import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.task import Task, base_placement, load_task, make_field, task_names
from impact_aware.task.arms import Arm, base_of, placed_on
from impact_aware.task.grasp import COMMON_WINDOW, predict_grasp_impact
from impact_aware.task.grasp_postures import palm_contact

ALONE = "what the object does between both arms is not in this prediction"
"""End of the note on an impact that was predicted without the other arm."""

_TOGETHER = 0.010
"""Impacts of two arms that are closer than this act on the object together, s."""

_STEP = 1e-4
"""Step of the velocity before the impact, for finite differences, rad/s."""


@dataclass(frozen=True, eq=False)
class RecordedTask:
    """The task of several arms, or of one with a palm, that a recording is of.

    Attributes:
        task: The task.
        fields: Its reference fields with their stamps, s, in order.
    """

    task: Task
    fields: tuple[tuple[float, ReferenceField], ...]

    @property
    def bases(self) -> dict[str, RecordedBase]:
        """Where the bases of its arms stand, by their names."""
        return {arm.name: RecordedBase(self.task.frame, base_placement(arm)) for arm in self.task.arms}

    def field_at(self, time: float) -> ReferenceField:
        """The field that held just before an impact at `time`, s."""
        before = [field for stamp, field in self.fields if stamp <= time and field.event_sequence == 0]
        return before[-1] if before else self.fields[0][1]


def recorded_task(bag: Bag, given: str | None = None) -> tuple[RecordedTask | None, str]:
    """The task of several arms or of a palm in a recording; None where there is none, and why one can't be used.

    Its fields say which task it is; the task itself is that of the package of this name, with the recorded object, or
    the one that is given by name or file.

    Raises:
        InvalidInputError: A task that is given and can't be used, is for other arms, or for no recorded field.
    """
    fields = list(_fields(bag))
    if not fields:
        if given is not None:
            raise InvalidInputError("task", given, "a recording of a reference field, which has the object's pose")
        return None, ""
    alone = len(fields[0][1].arms) == 1
    if given is not None:
        task, names = load_task(given), [arm.arm for arm in fields[0][1].arms]
        if [arm.name for arm in task.arms] != names:
            shown = ", ".join(names) or "one without a name"
            raise InvalidInputError("task", given, f"a task for the arms of the recording, {shown}")
        return _at_recorded_bases(_with_palms(task, given), fields), ""
    name = fields[0][1].task
    if alone and (name not in task_names() or any(field.task != name for _, field in fields)):
        return None, ""
    if any(field.task != name for _, field in fields):
        return None, "several tasks were recorded: the impacts of its arms are predicted one by one"
    if name not in task_names():
        known = ", ".join(task_names())
        return None, f"its task {name} is none of {known}: its arms are predicted one by one; --task takes its file"
    task = load_task(name)
    # One arm with a tip has no common impact.
    usable = len(task.arms) > 1 or any(task.arms[0].pad_half_sizes)
    return (_at_recorded_bases(task, fields) if usable else None), ""


def task_of_table(given: str, robot: RobotModel | None) -> RecordedTask:
    """The task that a table is of, with its object where the task has it.

    Raises:
        InvalidInputError: No robot is known, or the task is of several arms or of an arm with a tip.
        UnknownNameError: No such task.
    """
    task = _with_palms(load_task(given), given)
    if len(task.arms) > 1:
        raise InvalidInputError("task", given, "a task of one arm, as a table has one")
    if robot is None:
        raise InvalidInputError("task", given, "--robot along with it")
    return RecordedTask(task, ((-np.inf, make_field(task, [robot])),))


def _with_palms(task: Task, given: str) -> Task:
    """The task, if it has palms or several arms, which options can't describe.

    Raises:
        InvalidInputError: It has one arm with a tip, whose contact options describe.
    """
    if len(task.arms) == 1 and not any(task.arms[0].pad_half_sizes):
        wanted = "a task with a palm or several arms; for a tip use --normal, --friction, --restitution, --object-mass"
        raise InvalidInputError("task", given, wanted)
    return task


def recorded_bases(bag: Bag) -> dict[str, RecordedBase]:
    """Poses of the bases in the first recorded field, by the names of the arms, where it has them."""
    for _, field in _fields(bag):
        known = {arm.arm: base_of(arm) for arm in field.arms}
        return {name: RecordedBase(field.frame, base) for name, base in known.items() if base is not None}
    return {}


def _fields(bag: Bag) -> Iterator[tuple[float, ReferenceField]]:
    """The recorded fields with their stamps, s, where they are all on one topic."""
    topics = [topic for topic, kind in bag.topics.items() if kind == FIELD_TYPE]
    for _, message in bag.messages(topics[0]) if len(topics) == 1 else ():
        yield stamp_seconds(message), field_from_message(message)


def _at_recorded_bases(task: Task, fields: Sequence[tuple[float, ReferenceField]]) -> RecordedTask:
    """The task with its fields, and with its bases where the first of them has them."""
    bases = map(base_of, fields[0][1].arms)
    arms = [arm if base is None else placed_on(arm, base) for arm, base in zip(task.arms, bases, strict=True)]
    return RecordedTask(replace(task, arms=tuple(arms)), tuple(fields))


def note_shared_objects(arms: Sequence[ArmAnalysis]) -> list[ArmAnalysis]:
    """Note impacts in which two arms hit a free object together: each prediction knows of its own contact only."""

    def is_free(impact: AnalyzedImpact) -> bool:
        return impact.prediction is not None and impact.prediction.obstacle is not None

    free = [(arm.arm, impact.time) for arm in arms for impact in arm.impacts if is_free(impact)]

    def noted(arm: ArmAnalysis, impact: AnalyzedImpact) -> AnalyzedImpact:
        others = [name for name, time in free if name != arm.arm and abs(time - impact.time) < _TOGETHER]
        if not is_free(impact) or not others:
            return impact
        note = f"arm {others[0]} hit too: {ALONE}"
        return replace(impact, notes=(*impact.notes, note))

    return [replace(arm, impacts=tuple(noted(arm, impact) for impact in arm.impacts)) for arm in arms]


def with_common_impacts(
    arms: Sequence[ArmAnalysis], recorded: RecordedTask, options: AnalysisOptions
) -> list[ArmAnalysis]:
    """The arms, with the impacts that all of them had at once predicted together.

    An impact counts when every arm of the task hit within `COMMON_WINDOW` and none was in contact before.
    """
    found = list(arms)
    own = [next((k for k, arm in enumerate(arms) if _name(arm) == task.name), -1) for task in recorded.task.arms]
    if -1 in own or any(arms[k].model is None for k in own):
        return found
    for first in arms[own[0]].impacts:
        group = [first]
        for k in own[1:]:
            near = min(arms[k].impacts, key=lambda impact: abs(impact.time - first.time), default=None)
            group += [near] if near is not None and abs(near.time - first.time) <= COMMON_WINDOW else []
        states = [state for impact in group for state in (impact.position, impact.velocity_before)]
        known = all(np.isfinite(state).all() for state in states)
        if len(group) < len(own) or any(impact.cause != "contact" for impact in group) or not known:
            continue
        for k, impact in zip(own, _together(group, [arms[k] for k in own], recorded, options), strict=True):
            impacts = tuple(impact if other.index == impact.index else other for other in found[k].impacts)
            found[k] = replace(found[k], impacts=impacts)
    return found


def _name(arm: ArmAnalysis) -> str:
    return arm.arm.rpartition("/")[2]


def _together(
    group: Sequence[AnalyzedImpact], arms: Sequence[ArmAnalysis], recorded: RecordedTask, options: AnalysisOptions
) -> list[AnalyzedImpact]:
    """The impacts of all arms with the common prediction for each; with a note where it can't be computed."""
    task, field = recorded.task, recorded.field_at(min(impact.time for impact in group))
    thing = task.object
    friction = thing.friction_tool if options.friction is None else options.friction
    restitution = thing.restitution if options.restitution is None else options.restitution
    task = replace(task, object=replace(thing, friction_tool=friction, restitution=restitution))
    if options.object_mass is not None:
        field = replace(field, object_mass=options.object_mass)
    robots = [arm.model for arm in arms if arm.model is not None]
    problem = _Problem(task, robots, field, [impact.position for impact in group])
    before = [impact.velocity_before for impact in group]
    try:
        predicted = problem.solve(before, options.inertia)
        spread = problem.spread(before, [impact.velocity_before_error for impact in group], options.inertia)
        rows = problem.ablation(group) if options.ablation else [()] * len(group)
    except ImpactAwareError as error:
        return [replace(impact, notes=(*impact.notes, f"not predicted together: {error}")) for impact in group]
    names = [_name(arm) for arm in arms]
    several = () if predicted.unique else (not_unique(predicted.energy_loss, predicted.other_energy_losses),)
    return [
        replace(
            impact,
            common=problem.common(index, names, predicted, options.inertia),
            assumed=(),
            untested="",
            normal_source="task",
            prediction_std=spread[index],
            ablation=rows[index],
            notes=_notes_of_all(impact) + several,
            contact_check=None,
        )
        for index, impact in enumerate(group)
    ]


def _notes_of_all(impact: AnalyzedImpact) -> tuple[str, ...]:
    """Notes of an impact without those on this arm's prediction alone or on a single contact point."""
    tested = "" if impact.contact_check is None else impact.contact_check.note
    return tuple(note for note in impact.notes if note != tested and not note.endswith((ALONE, NO_TEST)))


class _Problem:
    """One impact of all arms, solved for given velocities before, inertia and coefficient of friction."""

    def __init__(self, task: Task, robots: Sequence[RobotModel], field: ReferenceField, q: Sequence[Array]) -> None:
        self.task, self.robots, self.field, self.q = task, robots, field, q

    def solve(self, dq: Sequence[Array], inertia: str, friction: float | None = None) -> SimultaneousPrediction:
        task = self.task
        if friction is not None:
            task = replace(task, object=replace(task.object, friction_tool=friction))
        return predict_grasp_impact(task, self.robots, self.field, self.q, dq, inertia=inertia)

    def spread(self, dq: Sequence[Array], errors: Sequence[Array], inertia: str) -> list[Array]:
        """Standard error (n,) of each arm's velocity after, to first order in those of all velocities before, rad/s."""
        names = [arm.name for arm in self.task.arms]
        usual = self.solve(dq, inertia)
        variance = [np.zeros(len(own)) for own in dq]
        for arm, own in enumerate(errors):
            for joint in np.flatnonzero(np.nan_to_num(own)).tolist():
                moved = [velocity.copy() for velocity in dq]
                moved[arm][joint] += _STEP
                changed = self.solve(moved, inertia)
                for index, name in enumerate(names):
                    slope = (changed.velocity_after[name] - usual.velocity_after[name]) / _STEP
                    variance[index] += (slope * own[joint]) ** 2
        return [np.sqrt(values) for values in variance]

    def ablation(self, group: Sequence[AnalyzedImpact]) -> list[tuple[AblationRow, ...]]:
        """Rows of each arm: one per inertia known for all arms, with and without friction."""
        if any(impact.reference is None for impact in group):
            return [()] * len(group)
        known = [known_inertias(robot) for robot in self.robots]
        rows: list[list[AblationRow]] = [[] for _ in group]
        before = [impact.velocity_before for impact in group]
        for inertia in (inertia for inertia in known[0] if all(inertia in own for own in known)):
            for friction in dict.fromkeys((self.task.object.friction_tool, 0.0)):
                predicted = self.solve(before, inertia, friction)
                for own, impact, arm in zip(rows, group, self.task.arms, strict=True):
                    assert impact.reference is not None
                    own.append(ablation_row(inertia, friction, predicted.velocity_after[arm.name], impact.reference))
        return [tuple(own) for own in rows]

    def common(
        self, index: int, names: Sequence[str], predicted: SimultaneousPrediction, inertia: str
    ) -> CommonImpact:
        """Prediction for one arm, in the frame of its base."""
        base = base_placement(self.task.arms[index])
        arm = Arm(names[index], names[index], self.robots[index], base)
        palm = palm_contact(arm, self.task.object.name, predicted)
        contact = Contact(palm.frame, palm.normal, point=palm.point)
        return CommonImpact(
            task=self.task.name,
            arms=tuple(name for name in names if name != names[index]),
            velocity_after=predicted.velocity_after[arm.name],
            contact=replace(palm, effective_mass=effective_mass(arm.robot, self.q[index], contact, inertia)),
            object_velocity_after=base.rotation.T @ predicted.velocity_after[self.task.object.name][:3],
        )
