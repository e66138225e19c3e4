"""What is known about a recording's impacts besides the joints: surface, frames, predictions, truth, the object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from impact_aware.bags.bag import Bag, BagError
from impact_aware.bags.recorded_predictions import (
    TF_TYPES,
    RecordedFrames,
    read_predictions,
    read_truth,
)
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.estimation.object_motion import ObjectTrack
from impact_aware.messages.impact_prediction import TYPE as PREDICTION_TYPE
from impact_aware.recordings.arm_selection import ArmSource
from impact_aware.recordings.object_track import RecordedBase, track_of_bag
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.surface import Surface
from impact_aware.records import Impact


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What is known about a recording's impacts besides the joints.

    Attributes:
        surface: From a surface file, or None.
        frames: Of TF, or None when `surface_frame` is not used.
        predictions: Topic and impact of the live predictions of the recording.
        predicts: Whether the recording has a topic of live predictions at all.
        track: Of the object that is hit, or None.
        truths: Topic and impact of the plant, where a simulator recorded them.
    """

    surface: Surface | None = None
    frames: RecordedFrames | None = None
    predictions: tuple[tuple[str, Impact], ...] = ()
    predicts: bool = False
    track: ObjectTrack | None = None
    truths: tuple[tuple[str, Impact], ...] = ()

    def of_arm(self, source: ArmSource) -> Surroundings:
        """The part that belongs to one arm: published beside its joint states, or naming it."""
        beside = source.topic.rsplit("/", 1)[0]

        def belongs(topic: str, arm: str) -> bool:
            return topic.rsplit("/", 1)[0] == beside or (arm != "" and arm == source.arm)

        own = tuple((topic, made) for topic, made in self.predictions if belongs(topic, made.arm))
        truths = tuple((topic, impact) for topic, impact in self.truths if belongs(topic, impact.arm))
        return replace(self, predictions=own, predicts=self.predicts and bool(own), truths=truths)


def surroundings_of_bag(
    bag: Bag, times: Sequence[float], options: AnalysisOptions, surface: Surface | None, notes: list[str]
) -> Surroundings:
    """Read what a recording has on impacts at the given times, s; errors of reading are added to `notes`.

    Raises:
        BagError: A frame is requested, and the recording has no TF.
        InvalidInputError: Its TF lacks the requested frame.
    """
    if not times:
        return Surroundings(surface)
    frames = None
    if options.surface_frame is not None:
        frames = RecordedFrames(bag, times)
        if not any(kind in TF_TYPES for kind in bag.topics.values()):
            raise BagError(f"{bag.path}: --surface-frame {options.surface_frame} needs /tf or /tf_static in it")
        if options.surface_frame not in frames.names:
            listed = ", ".join(frames.names[:12])
            raise InvalidInputError("surface-frame", repr(options.surface_frame), f"a frame of its TF: {listed}")
    predicts = PREDICTION_TYPE in bag.topics.values()
    try:
        predictions = tuple(read_predictions(bag, times)) if predicts else ()
    except (ImpactAwareError, AttributeError) as error:
        notes.append(f"predicted_jumps can't be read: {error}")
        predictions, predicts = (), False
    truths: tuple[tuple[str, Impact], ...] = ()
    try:
        truths = tuple(read_truth(bag))
    except (ImpactAwareError, AttributeError) as error:
        notes.append(f"true_impacts can't be read: {error}")
    return Surroundings(surface, frames, predictions, predicts and bool(predictions), truths=truths)


def track_beside(
    bag: Bag, source: ArmSource, options: AnalysisOptions, bases: Mapping[str, RecordedBase], notes: list[str]
) -> ObjectTrack | None:
    """The object's track in the frame of an arm's base; None without one.

    Without an option for it, an error of reading is added to `notes`.

    Raises:
        ImpactAwareError: The track that an option names can't be read.
    """
    base_frame = "base" if source.robot is None else source.robot.base_frame
    beside, base = source.topic.rsplit("/", 1)[0], bases.get(source.arm.rpartition("/")[2])
    try:
        return track_of_bag(bag, options.object_topic, options.object_frame, base_frame, beside=beside, base=base)
    except ImpactAwareError as error:
        if options.object_topic is not None or options.object_frame is not None:
            raise
        notes.append(f"the object's track can't be read: {error}")
        return None
