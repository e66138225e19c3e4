"""Recordings in, impacts out: the whole analysis, file by file, in memory that does not grow with their length."""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from impact_aware.bags.bag import Bag, BagError, is_recording
from impact_aware.bags.joint_states import JOINT_STATE_TYPES, JointStateDecoder, joint_state_deserializer
from impact_aware.errors import InvalidInputError
from impact_aware.recordings.ablation import group
from impact_aware.recordings.arm_notes import (
    beside_notes,
    check_times,
    data_notes,
)
from impact_aware.recordings.arm_reading import ArmReading, read_arm, why_nothing
from impact_aware.recordings.arm_selection import arm_of_table, arms_in_bag
from impact_aware.recordings.command_track import commands_of_bag, commands_of_table
from impact_aware.recordings.common_impacts import (
    note_shared_objects,
    recorded_bases,
    recorded_task,
    task_of_table,
    with_common_impacts,
)
from impact_aware.recordings.contact_loss import lost_contacts, without_renewals
from impact_aware.recordings.event_cause import find_causes
from impact_aware.recordings.file_options import file_options, with_file_options
from impact_aware.recordings.impact_explanation import explain
from impact_aware.recordings.object_track import track_of_table, two_tables_note
from impact_aware.recordings.options import AnalysisOptions, label_of
from impact_aware.recordings.results import CONTACTS, Analysis, ArmAnalysis, OtherEvent
from impact_aware.recordings.surface import Surface, load_surface
from impact_aware.recordings.surroundings import Surroundings, surroundings_of_bag, track_beside
from impact_aware.recordings.touches import PERIOD
from impact_aware.robot import load_robot
from impact_aware.robot.plausible import limit_notes, robot_notes
from impact_aware.tables.column_file import KINDS, way_to_table
from impact_aware.tables.column_file import SUFFIXES as TABLES
from impact_aware.tables.joint_table import open_table

Report = Callable[[Path, str, int, int], None]
"""Called with a file, the name of the stage, its steps done so far, and how many there are (0 when that is not known):
messages while `READING`, arms while `FINDING`, impacts while `EXPLAINING`."""

READING, FINDING, EXPLAINING = "reading", "finding impacts", "explaining impacts"
"""Stages of the analysis of a file."""

_SOFTWARE = ("numpy", "pin", "rosbags", "scipy")


def analyze(
    files: str | Path | Sequence[str | Path], options: AnalysisOptions | None = None, report: Report | None = None
) -> Analysis:
    """Find, time and explain the impacts in recordings.

    Args:
        files: rosbag2 folders or files, and tables; one or several.
        options: How; by default everything is taken from the recordings.
        report: Called as the analysis goes on.

    Raises:
        InvalidInputError: An option that does not fit a recording.
        BagError: A recording that can't be read or shows no arm.
    """
    paths = [Path(files)] if isinstance(files, (str, Path)) else [Path(file) for file in files]
    if not paths:
        raise InvalidInputError("files", "none", "at least one recording")
    options = options or AnalysisOptions()
    options.check_effect(paths, TABLES)
    started = time.perf_counter()
    surface = None if options.surface is None else load_surface(options.surface)
    arms: list[ArmAnalysis] = []
    notes: list[str] = []
    reading = 0.0
    settings = options.plain()
    for file in paths:
        beside = file_options(file)
        completed = with_file_options(options, beside)
        found, seconds, added = _analyze_file(file, completed, surface, report)
        if beside is not None:
            added += beside_notes(beside, found)
            for name, value in completed.plain().items():
                if value != options.plain()[name]:
                    settings[f"{name} ({beside.path.name})"] = value
                    settings.pop(name if len(paths) == 1 else "", None)
        arms += found
        notes += added
        reading += seconds
    if all(arm.model is None for arm in arms):
        options.check_robot()
    return Analysis(
        files=tuple(paths),
        arms=tuple(arms),
        messages=sum(arm.messages for arm in arms),
        seconds_read=reading,
        seconds=time.perf_counter() - started,
        settings=settings,
        versions=versions(),
        ablation_groups=group(arms),
        notes=tuple(notes),
    )


def versions() -> dict[str, str]:
    """Name and version of the software that an analysis hangs on."""
    found = {"python": platform.python_version()}
    for name in ("impact_aware", *_SOFTWARE):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _analyze_file(
    file: Path, options: AnalysisOptions, surface: Surface | None, report: Report | None
) -> tuple[list[ArmAnalysis], float, list[str]]:
    if not file.exists():
        raise InvalidInputError("recording", str(file), "an existing file or folder")
    if file.suffix.lower() in TABLES:
        return _analyze_table(file, options, surface, report)
    if not is_recording(file):
        kinds = f"a rosbag2 folder, .mcap, .db3, or a table ({KINDS}){way_to_table(file)}"
        raise InvalidInputError("recording", str(file), kinds)
    with Bag(file) as bag:
        topics = options.topics
        if options.command_topic is not None and not topics:
            # Commands that come as joint states are no arm.
            commands = bag.topic_named(options.command_topic)
            topics = tuple(name for name, kind in bag.topics.items() if kind in JOINT_STATE_TYPES and name != commands)
        sources, notes = arms_in_bag(bag, options.robot, topics)
        arms = [read_arm(source, options) for source in sources]
        # A task that can't be used is refused before the work.
        task, problem = recorded_task(bag, options.task) if arms else (None, "")
        seconds = _read(bag, arms, report)
        notes = [f"{file.name}: {note}" for note in notes]
        if bag.damage:
            notes.append(bag.damage)
        if not any(arm.finder.samples for arm in arms):
            raise BagError(f"{file}: {why_nothing(arms)}")
        for arm in arms:
            # Wheels turn for ever: in a recording, where joints of all kinds meet, only known limits count.
            if arm.source.robot is not None:
                arm.units.check(f"{arm.source.topic} in {file.name}")
            names, topic = arm.source.message_names, arm.source.topic
            events = [find.time for find in arm.finder.found] + [each.step_time for each in arm.finder.kinks.candidates]
            arm.commands = commands_of_bag(bag, topic, names, events, options.command_topic)
        times = [find.time for arm in arms for find in arm.finder.found]
        around = surroundings_of_bag(bag, times, options, surface, arms[0].notes if arms else [])
        notes += [f"{file.name}: {problem}"] if problem else []
        bases = recorded_bases(bag) if task is None else task.bases
        if len(arms) == len(bases) == 1:
            # A single arm has no name in its field, but perhaps a namespace in the recording.
            bases = {arms[0].source.arm.rpartition("/")[2]: next(iter(bases.values()))}
        tracks = [
            track_beside(bag, arm.source, options, bases, arm.notes) if arm.finder.found else None for arm in arms
        ]
        found = [
            _concluded(file, arm, options, replace(around, track=track), report)
            for arm, track in zip(arms, tracks, strict=True)
        ]
        found = note_shared_objects(found)
        return found if task is None else with_common_impacts(found, task, options), seconds, notes


def _analyze_table(
    file: Path, options: AnalysisOptions, surface: Surface | None, report: Report | None
) -> tuple[list[ArmAnalysis], float, list[str]]:
    joints = () if options.robot is None else load_robot(options.robot).joint_names
    table = open_table(file, options.columns, joints, degrees=options.degrees)
    arm = read_arm(arm_of_table(table.joint_names, options.robot), options)
    task = None if options.task is None else task_of_table(options.task, arm.source.robot)
    arm.notes.extend(filter(None, (*table.notes, two_tables_note(table.source, options.columns))))
    seconds, rows = 0.0, 0
    for batch, spent in _timed(table.pieces()):
        start = time.perf_counter()
        samples = arm.selector.pick([batch])
        seconds += spent + time.perf_counter() - start
        if samples is not None:
            arm.feed(samples)
        rows += len(batch.rows)
        if report is not None:
            report(file, READING, rows, 0)
    if report is not None:
        report(file, FINDING, 0, 1)
    arm.finish()
    if not arm.finder.samples:
        raise InvalidInputError("table", str(file), "at least one row of finite positions")
    check_times(file, arm.finder, arm.stage.faults)
    arm.units.check(file.name)
    arm.commands = commands_of_table(table, arm.source.message_names)
    track = track_of_table(table.source, table.clock, options.columns)
    found = [_concluded(file, arm, options, Surroundings(surface, track=track), report)]
    return found if task is None else with_common_impacts(found, task, options), seconds, []


def _read(bag: Bag, arms: list[ArmReading], report: Report | None) -> float:
    """Feed every arm; returns the time that reading and decoding took, s."""
    topics = list(dict.fromkeys(arm.source.topic for arm in arms))
    decoders = {topic: JointStateDecoder(joint_state_deserializer(bag, topic)) for topic in topics}
    total = sum(bag.counts.get(topic, 0) for topic in topics)
    seconds, done = 0.0, 0
    for raw, spent in _timed(bag.raw(topics)):
        start = time.perf_counter()
        batches = decoders[raw.topic].decode(raw)
        picked = [(arm, arm.selector.pick(batches)) for arm in arms if arm.source.topic == raw.topic]
        seconds += spent + time.perf_counter() - start
        for arm, samples in picked:
            if samples is not None:
                arm.feed(samples)
        done += len(raw)
        if report is not None:
            report(bag.path, READING, done, total)
    if done < total:
        arms[0].notes.append(f"{total - done} of the {total} messages that its index lists are missing")
    for place, arm in enumerate(arms):
        if report is not None:
            report(bag.path, FINDING, place, len(arms))
        arm.finish()
        failed = decoders[arm.source.topic].failed
        if failed:
            arm.notes.append(f"{failed} messages on {arm.source.topic} could not be decoded")
    return seconds


def _timed(source: Iterator[Any]) -> Iterator[tuple[Any, float]]:
    """What an iterator gives, with the time that each item took, s."""
    while True:
        start = time.perf_counter()
        item = next(source, None)
        if item is None:
            return
        yield item, time.perf_counter() - start


def _concluded(
    file: Path, arm: ArmReading, options: AnalysisOptions, around: Surroundings, report: Report | None
) -> ArmAnalysis:
    source, finder, selector = arm.source, arm.finder, arm.selector
    mine = around.of_arm(source)
    label = label_of(file, options.labels)
    causes = find_causes(finder.found, finder.kinks.candidates, source.message_names, arm.commands)
    contacts = [find for find in causes if find.cause in CONTACTS]
    touches = [touch for touch in finder.touches.touches() if not any(touch.covers(each.time) for each in contacts)]
    # Steps that no recorded command explains are those of the push.
    pushed = [find for find in causes if find.command is None and any(touch.covers(find.time) for touch in touches)]
    causes = [find for find in causes if find not in pushed]
    impacts = []
    for index, find in enumerate(contacts):
        if report is not None:
            report(file, EXPLAINING, index, len(contacts))
        later = [other.time for other in causes if other.time > find.time and other.cause != "ringing"]
        impact = explain(
            find,
            source,
            options,
            mine,
            file=file,
            index=index + 1,
            label=label,
            previous=contacts[index - 1].time if index else None,
            following=min(later, default=None),
        )
        beyond = () if source.robot is None else limit_notes(source.robot, impact.position)
        impacts.append(replace(impact, notes=(*impact.notes, *beyond)))
    events = [
        OtherEvent(source.arm, file, other.time, other.time_std, other.cause, other.evidence, other.detectors)
        for other in causes
        if other.cause not in CONTACTS
    ]
    events += [
        OtherEvent(source.arm, file, touch.begin, PERIOD, "touch", touch.evidence(source.message_names))
        for touch in touches
    ]
    notes = (*arm.notes, *filter(None, [arm.units.note(degrees=options.degrees), arm.units.effort_note()]))
    stays = not (around.surface is None and options.surface_frame is None)
    events += lost_contacts(impacts, source.robot, fixed=stays)
    impacts, renewals = without_renewals(impacts, source.robot)
    events += renewals
    return ArmAnalysis(
        arm=source.arm,
        file=file,
        topic=source.topic,
        robot="" if source.robot is None else source.robot.name,
        urdf=source.urdf,
        model=source.robot,
        base_frame="base" if source.robot is None else source.robot.base_frame,
        joint_names=source.message_names,
        messages=selector.messages,
        samples=finder.samples,
        rate_hz=finder.rate,
        quality=arm.stage.quality,
        first_time=finder.first_time,
        last_time=finder.last_time,
        impacts=tuple(impacts),
        other_events=tuple(sorted(events, key=lambda event: event.time)),
        smallest_jump=finder.kinks.smallest_jump,
        gaps=tuple(finder.kinks.gaps),
        notes=(
            *source.notes,
            *robot_notes(source.robot),
            *notes,
            *data_notes(selector, arm.stage, finder),
        ),
    )
