"""Everything that the report of a run needs from its bag: time series, true impacts, detections, predictions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.bags.bag import Bag, BagError
from impact_aware.messages.geometry import vector
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.messages.types import given

# Constants of the interface package, which the report does not import because it reads recordings.
CONTACT_MADE = 0
"""ImpactEvent.KIND_CONTACT_MADE."""
CAUSE_CONTACT_RENEWED = 4
"""ImpactEvent.CAUSE_CONTACT_RENEWED."""
SOURCE_LOOK_AHEAD, SOURCE_AT_IMPACT = 0, 1
"""ImpactPrediction.SOURCE_*."""
MODE_IDLE, MODE_INTERIM, MODE_SAFE = 0, 2, 4
"""ControllerState.MODE_*."""


@dataclass(frozen=True)
class ArmSeries:
    """One arm in a run; arrays over the m cycles in which the controller was in command.

    Attributes:
        name: Of the arm.
        joint_names: (n,) Its joints.
        joint_times: (k,) Header stamps of its joint states, s.
        joint_velocities: (k, n) rad/s.
        normal: (3,) Of the face it hits, from the object into the arm, controller's frame.
        target_acceleration: (m, 6) Linear, angular, m/s^2 and rad/s^2.
        joint_reference_velocity: (m, n) Joint velocity that gives the field's velocity, rad/s.
        tool_position: (m, 3) Controller's frame, m.
        tool_velocity: (m, 3) m/s.
        reference_velocity: (m, 3) Of the field in use, m/s.
        true_impact: Its first impact with the object, an `ImpactPrediction` message of the plant.
        first_contact: What of it touched what first, such as `panda_hand on table`.
        events: `ImpactEvent` messages of contacts made, each once.
        predictions: Valid `ImpactPrediction` messages.
        prediction_delays: From each event, by its number, to the first prediction of its impact, s of the recording.
        common_jump: (n,) Joint velocity predicted for all arms hitting at once, rad/s; None when it was not requested.
    """

    name: str
    joint_names: tuple[str, ...]
    joint_times: Array
    joint_velocities: Array
    normal: Array
    target_acceleration: Array
    joint_reference_velocity: Array
    tool_position: Array
    tool_velocity: Array
    reference_velocity: Array
    true_impact: Any
    first_contact: str
    events: list[Any]
    predictions: list[Any]
    prediction_delays: dict[int, float]
    common_jump: Array | None


@dataclass(frozen=True)
class RunSeries:
    """A run, while the controller was in command.

    Attributes:
        path: The recording.
        times: (m,) Header stamps of the controller's states, s.
        modes: (m,) ControllerState.MODE_*.
        cycle_times: (m,) State taken to command published, s.
        cycles: Cycles since activation at the end.
        missed: Of them missed.
        arms: The arms.
        object_times: (j,) s.
        object_positions: (j, 3) Centre of the object, m.
        field: The last `ReferenceField` message.
        goal: (3,) Of the task: that of the field is where the tools take the object, m.
    """

    path: Path
    times: Array
    modes: NDArray[np.int64]
    cycle_times: Array
    cycles: int
    missed: int
    arms: tuple[ArmSeries, ...]
    object_times: Array
    object_positions: Array
    field: Any
    goal: Array

    @property
    def end(self) -> float:
        """End of the task, s: the last state before the controller released the object or shut down."""
        return float(self.times[self.modes != MODE_SAFE].max())


def read_run(bag: Bag) -> RunSeries:
    """Read a run of one arm or several.

    Raises:
        BagError: The controller was never active, an arm never touched the object, or a topic is missing.
    """
    states = [m for _, m in bag.messages(_common_topic(bag, "controller_state")) if m.mode != MODE_IDLE and m.arms]
    if not states:
        raise BagError(f"{bag.path}: the controller was never active")
    poses = [message for _, message in bag.messages(_common_topic(bag, "object_pose"))]
    fields = [message for _, message in bag.messages(_common_topic(bag, "reference_field"))]
    if not poses or not fields:
        raise BagError(f"{bag.path}: no {'reference_field' if poses else 'object_pose'}")
    tasks = [message for topic in bag.topics if topic.endswith("/task") for _, message in bag.messages(topic)]
    return RunSeries(
        path=bag.path,
        times=np.array([stamp_seconds(state) for state in states]),
        modes=np.array([state.mode for state in states]),
        cycle_times=np.array([given(state, "cycle_time", 0.0) for state in states]),
        cycles=int(states[-1].cycles),
        missed=int(states[-1].missed),
        arms=tuple(_read_arm(bag, states, index, fields[-1]) for index in range(len(states[0].arms))),
        object_times=np.array([stamp_seconds(pose) for pose in poses]),
        object_positions=np.array([vector(pose.pose.position) for pose in poses]),
        field=fields[-1],
        goal=vector((tasks or fields)[-1].goal),
    )


def _read_arm(bag: Bag, states: list[Any], index: int, field: Any) -> ArmSeries:
    own = [state.arms[index] for state in states]
    name = own[0].arm
    space = f"{name}/" if len(states[0].arms) > 1 else ""
    targets = [arm.target_acceleration for arm in own]
    # An event is published again, with the same number, when its meaning is known.
    events: dict[int, tuple[float, Any]] = {}
    for received, event in bag.messages(f"{space}impacts"):
        if event.kind == CONTACT_MADE:
            events.setdefault(event.sequence, (received, event))
    predictions = [(received, m) for received, m in bag.messages(f"{space}predicted_jumps") if m.valid]
    delays: dict[int, float] = {}
    for received, message in predictions:
        if message.source == SOURCE_AT_IMPACT and message.event_sequence in events:
            delays.setdefault(message.event_sequence, received - events[message.event_sequence][0])
    joint_states = [message for _, message in bag.messages(f"{space}joint_states")]
    if not joint_states:
        raise BagError(f"{bag.path}: no {space}joint_states")
    return ArmSeries(
        name=name or "arm",
        joint_names=tuple(joint_states[0].name),
        joint_times=np.array([stamp_seconds(message) for message in joint_states]),
        joint_velocities=np.array([message.velocity for message in joint_states]),
        normal=vector(field.arms[index].normal),
        target_acceleration=np.array([np.append(vector(a.linear), vector(a.angular)) for a in targets]),
        joint_reference_velocity=np.array([arm.joint_reference_velocity for arm in own]),
        tool_position=np.array([vector(arm.tool_position) for arm in own]),
        tool_velocity=np.array([vector(arm.tool_velocity.linear) for arm in own]),
        reference_velocity=np.array([vector(arm.reference_velocity.linear) for arm in own]),
        true_impact=_true_impact(bag, f"{space}true_impacts", name or "the arm"),
        first_contact=_first_contact(bag, f"{space}true_impacts"),
        events=[event for _, event in events.values()],
        predictions=[message for _, message in predictions],
        prediction_delays=delays,
        common_jump=_common_jump(bag, name),
    )


def _true_impact(bag: Bag, topic: str, arm: str) -> Any:
    for _, message in bag.messages(topic):
        if message.contacts[0].obstacle == message.object:
            return message
    raise BagError(f"{bag.path}: {arm} never touched the object")


def _first_contact(bag: Bag, topic: str) -> str:
    first = min((message for _, message in bag.messages(topic)), key=stamp_seconds).contacts[0]
    return f"{first.frame} on {first.obstacle}"


def _common_jump(bag: Bag, arm: str) -> Array | None:
    if not any(topic.endswith("/common_jumps") for topic in bag.topics):
        return None
    found = [m for _, m in bag.messages(_common_topic(bag, "common_jumps")) if m.arm == arm and m.valid]
    return np.array(found[0].velocity_after) if found else None


def _common_topic(bag: Bag, name: str) -> str:
    """The topic of this name above the names of all arms: the shortest one.

    Raises:
        BagError: There is none.
    """
    topics = [topic for topic in bag.topics if topic.endswith(f"/{name}")]
    if not topics:
        raise BagError(f"{bag.path}: no topic is named {name}; there are {', '.join(sorted(bag.topics))}")
    return min(topics, key=len)
