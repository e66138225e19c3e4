"""Recorded data about impacts besides the joint states: live predictions, and frames of TF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.bags.bag import Bag
from impact_aware.bags.raw_messages import RawMessages
from impact_aware.errors import InvalidInputError
from impact_aware.messages.geometry import quaternion, vector
from impact_aware.messages.impact_prediction import SOURCES, TYPE, impact_from_message
from impact_aware.messages.joint_state import stamps_of
from impact_aware.messages.stamps import STAMP, STAMP_OFFSET, stamp_seconds
from impact_aware.records.impact import COMMON, Impact
from impact_aware.transform_buffer import FrameError, checked_pose, pose_between

AT_IMPACT = "at_impact"

_PREDICTED = (SOURCES["look_ahead"], SOURCES[AT_IMPACT])

TF_TYPES = ("tf2_msgs/msg/TFMessage", "tf2_msgs/TFMessage")

TRUTH = "true_impacts"
"""Last part of the topic on which a simulator publishes the impacts of its plant."""

HORIZON = 0.6
"""A look-ahead prediction older than this is no announcement of an impact, s."""

_TOGETHER = 0.020
"""A prediction made at the impact and the impact are this close, s: detection may be that late."""


def read_predictions(bag: Bag, times: Sequence[float]) -> list[tuple[str, Impact]]:
    """The valid predictions around the given times, s, each with its topic, in the order of the recording.

    Only those are decoded whose stamps are near one of the times; the recording may hold millions of them.
    """
    topics = [topic for topic, kind in bag.topics.items() if kind == TYPE and not topic.endswith(TRUTH)]
    if not topics or not len(times):
        return []
    around = np.sort(np.asarray(times, dtype=np.float64))
    found, common = [], []
    for raw in bag.raw(topics):
        stamps = header_stamps(raw)
        following = np.searchsorted(around, stamps - _TOGETHER)
        near = (following < len(around)) & (around[np.minimum(following, len(around) - 1)] - stamps < HORIZON)
        for row in np.flatnonzero(near).tolist():
            message = bag.deserialize(raw.topic, raw.payload(row))
            if message.valid and message.method == COMMON:
                common.append(impact_from_message(message))
            elif message.valid and message.source in _PREDICTED and message.contacts:
                found.append((raw.topic, impact_from_message(message)))
    return [(topic, _with_common_jump(prediction, common)) for topic, prediction in found]


def read_truth(bag: Bag) -> list[tuple[str, Impact]]:
    """Return the true impacts that a simulator recorded, each with its topic; none for a real arm."""
    topics = [topic for topic, kind in bag.topics.items() if kind == TYPE and topic.endswith(TRUTH)]
    found = [
        (topic, impact_from_message(message))
        for topic in topics
        for _, message in bag.messages(topic)
    ]
    return [(topic, impact) for topic, impact in found if np.isfinite(impact.velocity_after).all()]


def truth_for(truths: Sequence[tuple[str, Impact]], time: float, joint_names: Sequence[str]) -> Impact | None:
    """The plant's impact of these joints at a time, s; None where there is none."""
    own = [impact for _, impact in truths if set(impact.joint_names) == set(joint_names)]
    near = min(own, key=lambda impact: abs(impact.time - time), default=None)
    return near if near is not None and abs(near.time - time) <= _TOGETHER else None


def _with_common_jump(prediction: Impact, common: Sequence[Impact]) -> Impact:
    """With the jump of all arms at once where they hit together: its own one takes the object for free."""
    for impact in common:
        same = (impact.arm, impact.joint_names) == (prediction.arm, prediction.joint_names)
        if same and prediction.source == AT_IMPACT and abs(impact.time - prediction.time) <= _TOGETHER:
            jump = impact.velocity_after - impact.velocity_before
            return replace(prediction, velocity_after=prediction.velocity_before + jump)
    return prediction


def prediction_for(
    predictions: Sequence[tuple[str, Impact]], time: float, joint_names: Sequence[str]
) -> Impact | None:
    """The prediction that announced an impact, or was made at it: of those for these joints, the nearest in time."""
    fitting = [p for _, p in predictions if set(p.joint_names) == set(joint_names)]
    at_impact = [p for p in fitting if p.source == AT_IMPACT and abs(p.time - time) <= _TOGETHER]
    if at_impact:
        return min(at_impact, key=lambda p: abs(p.time - time))
    ahead = [p for p in fitting if p.source != AT_IMPACT and 0.0 <= time - p.time <= HORIZON]
    return max(ahead, key=lambda p: p.time) if ahead else None


class RecordedTransform(NamedTuple):
    """One transform of TF.

    Attributes:
        stamp: s.
        parent: Frame that it is given in.
        child: Frame that it places.
        translation: (3,) m.
        rotation: (4,) Quaternion, x, y, z, w.
        static: Whether it is of `/tf_static`.
    """

    stamp: float
    parent: str
    child: str
    translation: Array
    rotation: Array
    static: bool


def transforms_of(bag: Bag) -> Iterator[RecordedTransform]:
    """Every transform of `/tf` and `/tf_static`, topic by topic."""
    for topic in [topic for topic, kind in bag.topics.items() if kind in TF_TYPES]:
        for _, message in bag.messages(topic):
            for each in message.transforms:
                yield RecordedTransform(
                    stamp_seconds(each),
                    str(each.header.frame_id).lstrip("/"),
                    str(each.child_frame_id).lstrip("/"),
                    vector(each.transform.translation),
                    quaternion(each.transform.rotation),
                    topic.endswith("tf_static"),
                )


class RecordedFrames:
    """Frames of `/tf` and `/tf_static` at some instants."""

    def __init__(self, bag: Bag, times: Sequence[float]) -> None:
        """Read both topics once; of the moving frames the latest before each of the times, s, is kept."""
        self._times = np.sort(np.asarray(times, dtype=np.float64))
        self._static: dict[str, tuple[str, pin.SE3]] = {}
        self._moving: dict[tuple[int, str], tuple[float, str, pin.SE3]] = {}
        for transform in transforms_of(bag):
            self._keep(transform)

    def pose(self, base: str, frame: str, time: float) -> pin.SE3 | None:
        """Pose of `frame` in `base` at `time`, s; None where the recording does not connect both."""
        index = int(np.argmin(np.abs(self._times - time))) if len(self._times) else -1

        def step(name: str) -> tuple[str, pin.SE3] | None:
            moving = self._moving.get((index, name))
            return self._static.get(name) if moving is None else moving[1:]

        try:
            return pose_between(base, frame, step)
        except FrameError:
            return None

    @property
    def names(self) -> tuple[str, ...]:
        """Every frame that has a parent, and every parent."""
        pairs = [(child, parent) for child, (parent, _) in self._static.items()]
        pairs += [(child, parent) for (_, child), (_, parent, _) in self._moving.items()]
        return tuple(sorted({name for pair in pairs for name in pair}))

    def _keep(self, transform: RecordedTransform) -> None:
        stamp, parent, child, translation, rotation, static = transform
        try:
            placement = checked_pose(translation, rotation, child)
        except InvalidInputError:
            # A frame that can't be placed is as one that was not recorded.
            return
        if static:
            self._static[child] = (parent, placement)
            return
        for index in range(int(np.searchsorted(self._times, stamp)), len(self._times)):
            known = self._moving.get((index, child))
            if known is None or known[0] <= stamp:
                self._moving[(index, child)] = (stamp, parent, placement)


def header_stamps(raw: RawMessages) -> Array:
    """Header stamps (k,) of messages that begin with a header, s, without decoding them."""
    content = np.frombuffer(raw.buffer, dtype=np.uint8)
    return stamps_of(content[raw.offsets[:, None] + np.arange(STAMP_OFFSET + STAMP.size)])
