"""A copy of a recording with the impacts found in it: every message byte for byte, and three topics more, or four.

Per namespace of an arm: `impacts` (ImpactEvent), `predicted_jumps` (ImpactPrediction, with what was predicted and what
was estimated) and `impact_markers` (MarkerArray). Where the recording has one of these already, all three go below
`analysis/`. A header has the time of its impact; the message is recorded together with the first joint states at or
after it, so that a replay shows it there. Where the recording of an arm has no TF, `/tf` places its links for viewers.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import yaml

from impact_aware.bags.bag import Bag
from impact_aware.bags.link_transforms import JOINT_STATE_TYPE, TF, TRANSFORMS_TYPE, LinkTransforms
from impact_aware.bags.mcap_copy import McapCopy
from impact_aware.bags.message_types import annotation_types
from impact_aware.bags.raw_messages import Extra, RawMessage, RawTopic
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.messages.stamps import serialized_stamp, to_nanoseconds
from impact_aware.recordings.annotations import (
    EVENT_TYPE,
    MARKERS_TYPE,
    PREDICTION_TYPE,
    ArmMessages,
)
from impact_aware.recordings.results import Analysis, AnalyzedImpact, ArmAnalysis

TOPICS = {"impacts": EVENT_TYPE, "predicted_jumps": PREDICTION_TYPE, "impact_markers": MARKERS_TYPE}
"""Names of what is added, below the namespace of the arm."""

_NEAR = 500_000_000
"""A stamp this long after an impact, ns, is not the next sample: the stamps have jumped."""


class AnnotatedBagError(ImpactAwareError):
    """An annotated copy can't be written."""


def annotated_topics(topics: set[str], arms: Sequence[ArmAnalysis]) -> dict[str, str]:
    """Where what is added about each arm goes.

    Args:
        topics: Those that the recording has.
        arms: Of the recording.

    Returns:
        Joint-state topic of an arm -> prefix of its three topics, such as `/left/` or `/left/analysis/`.
    """
    prefixes = {}
    for arm in arms:
        namespace = arm.topic.rpartition("/")[0]
        below = ["", "analysis/", *(f"analysis_{number}/" for number in range(2, 100))]
        free = (prefix for prefix in below if not any(f"{namespace}/{prefix}{name}" in topics for name in TOPICS))
        prefixes[arm.topic] = f"{namespace}/{next(free, 'analysis_100/')}"
    return prefixes


def write_annotated(source: Path, analysis: Analysis, target: Path) -> Path:
    """Write the annotated copy of one recording as a rosbag2 folder: one MCAP file and its `metadata.yaml`.

    Streams: what is held at a time is a chunk of the source and one of the copy. Nothing is visible under the target's
    name before all of it is written.

    Args:
        source: The recording, one of `analysis.files`.
        analysis: What was found in it.
        target: Folder to make.

    Returns:
        The MCAP file.

    Raises:
        InvalidInputError: The target exists, or lies within the source.
        BagError: The source can't be read.
        AnnotatedBagError: The copy can't be written.
    """
    _check_target(source, target)
    arms = [arm for arm in analysis.arms if arm.file == source and arm.topic]
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    name = f"{target.name}_0.mcap"
    try:
        with Bag(source) as recording:
            prefixes = annotated_topics(set(recording.topics), arms)
            links = _links(set(recording.topics), arms)
            try:
                part.mkdir(parents=True)
                with open(part / name, "wb") as stream:
                    copy = McapCopy(stream, name, recording.type_hashes)
                    copy.add_all(_merged(recording, arms, prefixes, links))
                    added = {f"{prefix}*" for prefix in prefixes.values()} | ({TF} if links else set())
                    damage = {} if recording.damage is None else {"damage": recording.damage}
                    copy.finish({"source": source.name, "added": ", ".join(sorted(added)), **damage})
                (part / "metadata.yaml").write_text(yaml.safe_dump(copy.index(), sort_keys=False))
                os.replace(part, target)
            except OSError as error:
                raise AnnotatedBagError(f"{target}: can't be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target / name


def _check_target(source: Path, target: Path) -> None:
    recording, copy = (Path(os.path.realpath(path)) for path in (source, target))
    if not source.is_dir() and (recording.parent / "metadata.yaml").exists():
        # A file of a rosbag2 folder: the whole folder is the recording.
        recording = recording.parent
    if copy == recording or recording in copy.parents or copy in recording.parents:
        raise InvalidInputError("target", str(target), f"a folder apart from the recording {source}")
    if target.exists():
        raise InvalidInputError("target", str(target), "a folder that does not exist yet")


def _links(topics: set[str], arms: Sequence[ArmAnalysis]) -> dict[str, LinkTransforms]:
    """Joint-state topic -> poses of the links: of a single known arm; several would need their bases' places, too."""
    if len(arms) != 1 or arms[0].model is None or any(topic.endswith(("/tf", "/tf_static")) for topic in topics):
        return {}
    return {arms[0].topic: LinkTransforms(arms[0].model)}


def _merged(
    recording: Bag, arms: Sequence[ArmAnalysis], prefixes: dict[str, str], links: dict[str, LinkTransforms]
) -> Iterator[RawMessage | Extra]:
    """The recording with the additions at their places."""
    # Impacts of each joint-state topic that are still to come, the next one last.
    waiting: dict[str, list[tuple[int, AnalyzedImpact, ArmMessages]]] = {arm.topic: [] for arm in arms}
    for arm in arms:
        messages = ArmMessages(arm)
        waiting[arm.topic] += [(to_nanoseconds(impact.time), impact, messages) for impact in arm.impacts]
    for queue in waiting.values():
        queue.sort(key=lambda entry: entry[0], reverse=True)
    last = 0
    for record in recording.records():
        yield record
        if not isinstance(record, RawMessage):
            continue
        last = max(last, record.recorded)
        name = record.topic.name
        if name in links and record.topic.type == JOINT_STATE_TYPE:
            poses = links[name].message(record.data, _stamp(record))
            if poses is not None:
                yield RawMessage(added_topic(TF, TRANSFORMS_TYPE), record.recorded, record.recorded, 0, poses)
        queue = waiting.get(name, [])
        while queue and 0 <= _stamp(record) - queue[-1][0] <= _NEAR:
            _, impact, messages = queue.pop()
            yield from _additions(impact, messages, prefixes[name], record.recorded)
    # Without a sample behind it an impact still belongs into the copy.
    for topic, queue in waiting.items():
        for _, impact, messages in reversed(queue):
            yield from _additions(impact, messages, prefixes[topic], last)


def _additions(impact: AnalyzedImpact, messages: ArmMessages, prefix: str, recorded: int) -> Iterator[RawMessage]:
    for (name, kind), data in zip(
        TOPICS.items(), (messages.event(impact), messages.prediction(impact), messages.markers(impact)), strict=True
    ):
        if data is not None:
            yield RawMessage(added_topic(prefix + name, kind), recorded, recorded, impact.index, data)


def _stamp(message: RawMessage) -> int:
    """Header stamp of a serialized message that begins with a header, ns; the recording time where there is none."""
    try:
        whole, nanoseconds = serialized_stamp(message.data)
    except struct.error:
        return message.recorded
    return whole * 1_000_000_000 + nanoseconds or message.recorded


@cache
def added_topic(name: str, type_name: str) -> RawTopic:
    """A topic of one of the types that this package writes, as a recording describes it."""
    types = annotation_types()
    definition = types.generate_msgdef(type_name, ros_version=2)[0]
    metadata = {"offered_qos_profiles": "", "topic_type_hash": types.hash_rihs01(type_name)}
    return RawTopic(name, type_name, definition.encode(), "ros2msg", "cdr", metadata)
