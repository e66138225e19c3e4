"""The scene that a recording shows at one time: what `impact_markers` would have drawn, and where the robots were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.bags.bag import Bag, BagError
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.estimation import estimate
from impact_aware.markers import MarkerStyle, SceneMarkers
from impact_aware.markers.scene import SAME_IMPACT
from impact_aware.messages.geometry import quaternion, vector
from impact_aware.messages.impact_event import CONTACT_MADE, outcome_of_event
from impact_aware.messages.impact_prediction import drawable_impact
from impact_aware.messages.reference_field import field_from_message
from impact_aware.messages.stamps import serialized_stamp, stamp_seconds
from impact_aware.records import Outcome
from impact_aware.reference import ReferenceField
from impact_aware.render.base_placement import base_placements
from impact_aware.render.recorded_robot import Robots, recorded_robot
from impact_aware.render.robot_shape import RobotShape
from impact_aware.robot import JointOrder, RobotModel

JOINT_STATE = "sensor_msgs/msg/JointState"

ROUNDING = 1e-6
"""Stamps that differ by less are the same, s."""

ESTIMATE_WINDOW = (0.08, 0.03)
"""Recorded positions before and after an impact from which its outcome is estimated, s. The papers fit 200 ms, without
feedback after the impact; a controller that goes on bends the path long before that."""

FEWEST = 8
"""Samples after an impact that the estimate needs at least."""


@dataclass(frozen=True, eq=False)
class RecordedArm:
    """One arm at the time of the picture.

    Attributes:
        name: Its namespace; empty when there is only one.
        scene: The markers.
        robot: Its model, or None when the robot is not known.
        shape: Its links.
        q: (n,) Configuration in the model's order, rad, or None.
        base: Where its base stands in the frame of the picture.
        frame: Its base frame.
    """

    name: str
    scene: SceneMarkers
    robot: RobotModel | None
    shape: RobotShape
    q: Array | None
    base: pin.SE3
    frame: str


@dataclass(frozen=True, eq=False)
class RecordedScene:
    """What a recording shows at one time.

    Attributes:
        time: Of the picture, s.
        span: First and last stamp of the joint states, s.
        impact_times: Of all impacts in the recording, s.
        arms: One or two.
    """

    time: float
    span: tuple[float, float]
    impact_times: tuple[float, ...]
    arms: tuple[RecordedArm, ...]


def read_scene(bag: Bag, *, time: float | None = None, robot: str | Robots | None = None) -> RecordedScene:
    """Read the scene.

    Args:
        bag: An open recording.
        time: s, as in the stamps, or since the first of them; the first impact when None.
        robot: Profile of the robot (of both), or model and links of each; when None, those of the recording.

    Raises:
        BagError: No joint states, or no impact where no time is given.
        InvalidInputError: A time outside the recording.
    """
    topics = _joint_topics(bag)
    stamps = {name: np.array([stamp for stamp, _ in _stamped(bag, topic)]) for name, topic in topics.items()}
    full = [values for values in stamps.values() if len(values)]
    if not full:
        raise BagError(f"{bag.path}: there is no message on {', '.join(topics.values())}")
    span = min(float(values.min()) for values in full), max(float(values.max()) for values in full)
    impacts = {name: _impact_times(bag, name) for name in topics}
    every = tuple(sorted(found for times in impacts.values() for found in times))
    if time is None:
        if not every:
            raise BagError(f"{bag.path}: no impact is recorded; choose a --time from {span[0]:.3f} to {span[1]:.3f} s")
        # Arms that hit together do so a few samples apart: the picture waits for the last of them.
        time = max(found for found in every if found <= every[0] + SAME_IMPACT)
    if 0.0 <= time <= span[1] - span[0] and time < span[0]:
        time += span[0]
    if not span[0] - ROUNDING <= time <= span[1] + ROUNDING:
        raise InvalidInputError("--time", f"{time:g} s", f"a time of the recording, {span[0]:.3f} to {span[1]:.3f} s")
    field = _field(bag, next(iter(topics)), time)
    bases = base_placements(bag, tuple(topics), field)
    arms = tuple(_read_arm(bag, name, topic, time, impacts[name], robot, bases[name]) for name, topic in topics.items())
    return RecordedScene(time, span, every, arms)


def joint_velocities(bag: Bag) -> dict[str, tuple[Array, dict[str, Array]]]:
    """Per topic of joint states their stamps (k,), s, and by joint velocities or slopes of positions (k,), rad/s."""
    found = {}
    for topic in _joint_topics(bag).values():
        messages = [message for _, message in bag.messages(topic)]
        given = any(len(message.velocity) for message in messages)
        rows = [message.velocity if given else message.position for message in messages]
        if len(rows) > 1 and all(len(row) == len(messages[0].name) for row in rows):
            times = np.array([stamp_seconds(message) for message in messages])
            with np.errstate(divide="ignore", invalid="ignore"):
                columns = np.array(rows).T if given else np.gradient(np.array(rows), times, axis=0).T
            found[topic] = times, dict(zip(messages[0].name, columns, strict=True))
    return found


def _joint_topics(bag: Bag) -> dict[str, str]:
    """Arm name -> topic of its joint states."""
    topics = sorted(topic for topic, kind in bag.topics.items() if kind == JOINT_STATE)
    if not topics:
        raise BagError(f"{bag.path}: no joint states in it; there are {', '.join(sorted(bag.topics)) or 'no topics'}")
    named = {topic.rpartition("/")[0].strip("/"): topic for topic in topics if topic.endswith("/joint_states")}
    armed = {
        topic.rpartition("/")[0].strip("/")
        for topic in bag.topics
        if topic.rpartition("/")[2] in ("impacts", "predicted_jumps")
    }
    both = {name: topic for name, topic in named.items() if name in armed}
    if both:
        return both
    # One arm whose driver publishes elsewhere, such as franka/joint_states.
    return {next(iter(armed)) if len(armed) == 1 else "": next(iter(named.values()), topics[0])}


def _topic(bag: Bag, arm: str, name: str) -> str | None:
    """An arm's own topic, or the common one."""
    for topic in (f"/{arm}/{name}".replace("//", "/"), f"/{name}"):
        if topic in bag.topics:
            return topic
    return None


def _stamped(bag: Bag, topic: str) -> Iterator[tuple[float, bytes]]:
    """Header stamps, s, and undecoded messages of a topic whose type begins with a header."""
    for _, raw in bag.serialized(topic):
        seconds, nanoseconds = serialized_stamp(raw)
        yield seconds + 1e-9 * nanoseconds, raw


def _until(bag: Bag, arm: str, name: str, time: float) -> Iterator[Any]:
    """Messages of an arm's topic with stamps up to a time."""
    topic = _topic(bag, arm, name)
    if topic is not None:
        for stamp, raw in _stamped(bag, topic):
            if stamp <= time + ROUNDING:
                yield bag.deserialize(topic, raw)


def _latest(bag: Bag, arm: str, name: str, time: float) -> Any:
    """The last message with a stamp up to a time, or None."""
    topic = _topic(bag, arm, name)
    if topic is None:
        return None
    chosen = None
    for stamp, raw in _stamped(bag, topic):
        if stamp <= time + ROUNDING and (chosen is None or stamp >= chosen[0]):
            chosen = (stamp, raw)
    return None if chosen is None else bag.deserialize(topic, chosen[1])


def _impact_times(bag: Bag, arm: str) -> list[float]:
    """Stamps of the contacts made, each once; of a simulator's truth where no detector ran."""
    events = {m.sequence: stamp_seconds(m) for m in _until(bag, arm, "impacts", np.inf) if m.kind == CONTACT_MADE}
    if events:
        return sorted(events.values())
    return sorted(stamp_seconds(message) for message in _until(bag, arm, "true_impacts", np.inf))


def _field(bag: Bag, arm: str, time: float) -> ReferenceField | None:
    message = _latest(bag, arm, "reference_field", time)
    if message is None:
        return None
    try:
        return field_from_message(message)
    except ImpactAwareError:
        return None


def _read_arm(
    bag: Bag,
    name: str,
    topic: str,
    time: float,
    impact_times: list[float],
    profile: str | Robots | None,
    base: pin.SE3,
) -> RecordedArm:
    names, q = _configuration(bag, topic, time)
    robot, shape = recorded_robot(bag, name, names, profile)
    style = MarkerStyle()
    scene = SceneMarkers(style, arm=name, robot=robot)
    # The field goes first, as it has the size of the object.
    field = _field(bag, name, time)
    if field is not None:
        scene.add_field(field, time)
    pose = _latest(bag, name, "object_pose", time)
    if pose is not None:
        position, orientation = vector(pose.pose.position), quaternion(pose.pose.orientation)
        scene.add_object(pose.header.frame_id, stamp_seconds(pose), position, orientation)
    frame = ""
    for message in _until(bag, name, "predicted_jumps", time):
        impact = drawable_impact(message)
        if impact is None:
            continue
        frame = impact.frame
        if impact.source != "look_ahead" or time <= impact.time + style.look_ahead_lifetime:
            scene.add_impact(impact)
    for message in _until(bag, name, "common_jumps", time):
        common = drawable_impact(message) if message.arm == name else None
        if common is not None:
            scene.add_impact(common)
    for message in _until(bag, name, "true_impacts", time + SAME_IMPACT):
        truth = drawable_impact(message)
        if truth is not None and truth.source == "plant":
            scene.add_impact(truth)
    for message in _until(bag, name, "impacts", time):
        outcome = outcome_of_event(message)
        if outcome is not None:
            scene.add_outcome(outcome)
    past = [found for found in impact_times if found <= time + ROUNDING]
    if past and (scene.outcome is None or scene.outcome.origin == "first look"):
        outcome = _estimated(bag, topic, past[-1], min((t for t in impact_times if t > past[-1]), default=None))
        if outcome is not None:
            scene.add_outcome(outcome)
    order = JointOrder(robot.joint_names) if robot is not None else None
    picked = None if robot is None else np.zeros(robot.n)
    if order is None or picked is None or not (order.locate(names) and order.pick(q.tolist(), picked)):
        picked = None
    return RecordedArm(name, scene, robot, shape, picked, base, frame)


def _configuration(bag: Bag, topic: str, time: float) -> tuple[list[str], Array]:
    """Joint names, and positions at a time on the line between the two samples around it."""
    before: tuple[float, bytes] | None = None
    after: tuple[float, bytes] | None = None
    for stamp, raw in _stamped(bag, topic):
        if stamp <= time and (before is None or stamp >= before[0]):
            before = (stamp, raw)
        if stamp >= time and (after is None or stamp < after[0]):
            after = (stamp, raw)
    ends = [end for end in (before, after) if end is not None]
    messages = [bag.deserialize(topic, raw) for _, raw in ends]
    first, last = np.array(messages[0].position), np.array(messages[-1].position)
    if len(ends) < 2 or ends[0][0] == ends[1][0] or list(messages[0].name) != list(messages[-1].name):
        return list(messages[0].name), first
    share = (time - ends[0][0]) / (ends[1][0] - ends[0][0])
    return list(messages[0].name), first + share * (last - first)


def _estimated(bag: Bag, topic: str, impact_time: float, until: float | None) -> Outcome | None:
    """The velocities after an impact from the positions recorded around it; None where these do not suffice."""
    begin, end = impact_time - ESTIMATE_WINDOW[0], impact_time + 10.0 * ESTIMATE_WINDOW[1]
    near = {stamp: raw for stamp, raw in _stamped(bag, topic) if begin <= stamp <= end}
    since = sorted(near)
    late = [stamp for stamp in since if stamp > impact_time]
    if len(late) < FEWEST:
        return None
    end = max(impact_time + ESTIMATE_WINDOW[1], late[FEWEST - 1])
    times = [stamp for stamp in since if stamp <= end]
    chosen = {stamp: bag.deserialize(topic, near[stamp]) for stamp in times}
    names = tuple(chosen[times[0]].name)
    try:
        positions = np.array([chosen[stamp].position for stamp in times])
        found = estimate(np.array(times), positions, impact_time, until=until)
    except (ImpactAwareError, ValueError):
        return None
    return Outcome("estimate", impact_time, names, found.velocity_after, found.standard_error)
