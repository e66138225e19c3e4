"""Time series of a run: joint states, controller states, tools and object as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_aware.recordings.bag import Array, Bag, BagError, stamp_seconds, vector

CONTACT_MADE = 0
"""ImpactEvent.KIND_CONTACT_MADE."""


@dataclass(frozen=True)
class JointSeries:
    """Joint states.

    Attributes:
        names: (n) Joint names.
        times: (m,) Header stamps, s.
        positions: (m, n) rad.
        velocities: (m, n) rad/s.
    """

    names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array


@dataclass(frozen=True)
class ControlSeries:
    """Controller states of one arm while it was in command.

    Attributes:
        times: (m,) Header stamps, s.
        modes: (m,) ControllerState.MODE_*.
        target_acceleration: (m, 6) Linear, angular, m/s^2 and rad/s^2.
        reference_velocity: (m, n) Joint velocity that gives the field's velocity, rad/s.
        effort: (m, n) Commanded torque, N m.
        cycle_times: (m,) s.
        cycles: (m,) Counts since activation.
        missed: (m,) Missed cycles.
    """

    times: Array
    modes: NDArray[np.int64]
    target_acceleration: Array
    reference_velocity: Array
    effort: Array
    cycle_times: Array
    cycles: NDArray[np.int64]
    missed: NDArray[np.int64]


@dataclass(frozen=True)
class ToolSeries:
    """Tools of all arms while the controller was in command, in the controller's frame.

    Attributes:
        names: (a) Names of the arms.
        times: (m,) Header stamps, s.
        positions: (m, a, 3) m.
        velocities: (m, a, 3) m/s.
        reference_velocities: (m, a, 3) Of the field in use, m/s.
    """

    names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array
    reference_velocities: Array


@dataclass(frozen=True)
class ObjectSeries:
    """The object.

    Attributes:
        times: (m,) Header stamps, s.
        positions: (m, 3) Its centre, m.
    """

    times: Array
    positions: Array


def read_joints(bag: Bag) -> JointSeries:
    """Read `joint_states`.

    Raises:
        BagError: There are none.
    """
    messages = [message for _, message in bag.messages("joint_states")]
    if not messages:
        raise BagError(f"{bag.path}: no joint_states")
    return JointSeries(
        names=tuple(messages[0].name),
        times=np.array([stamp_seconds(message) for message in messages]),
        positions=np.array([message.position for message in messages]),
        velocities=np.array([message.velocity for message in messages]),
    )


def read_control(bag: Bag, arm: int = 0) -> ControlSeries:
    """Read what `controller_state` says of one arm where the controller was in command.

    Raises:
        BagError: It never was.
    """
    messages = _states_in_command(bag)
    targets = [message.arms[arm].target_acceleration for message in messages]
    return ControlSeries(
        times=np.array([stamp_seconds(message) for message in messages]),
        modes=np.array([message.mode for message in messages]),
        target_acceleration=np.array([np.concatenate((vector(a.linear), vector(a.angular))) for a in targets]),
        reference_velocity=np.array([message.arms[arm].joint_reference_velocity for message in messages]),
        effort=np.array([message.arms[arm].effort for message in messages]),
        cycle_times=np.array([message.cycle_time for message in messages]),
        cycles=np.array([message.cycles for message in messages]),
        missed=np.array([message.missed for message in messages]),
    )


def read_tools(bag: Bag) -> ToolSeries:
    """Read what `controller_state` says of all tools where the controller was in command.

    Raises:
        BagError: It never was.
    """
    messages = _states_in_command(bag)
    return ToolSeries(
        names=tuple(arm.arm for arm in messages[0].arms),
        times=np.array([stamp_seconds(message) for message in messages]),
        positions=np.array([[vector(arm.tool_position) for arm in message.arms] for message in messages]),
        velocities=np.array([[vector(arm.tool_velocity.linear) for arm in message.arms] for message in messages]),
        reference_velocities=np.array(
            [[vector(arm.reference_velocity.linear) for arm in message.arms] for message in messages]
        ),
    )


def read_object(bag: Bag) -> ObjectSeries:
    """Read `object_pose` in the frame of all arms, which is the one above their names.

    Raises:
        BagError: There is none.
    """
    messages = [message for _, message in bag.messages(common_topic(bag, "object_pose"))]
    if not messages:
        raise BagError(f"{bag.path}: no object_pose")
    return ObjectSeries(
        times=np.array([stamp_seconds(message) for message in messages]),
        positions=np.array([vector(message.pose.position) for message in messages]),
    )


def common_topic(bag: Bag, name: str) -> str:
    """The topic of this name above the names of all arms: the shortest one.

    Raises:
        BagError: There is none.
    """
    topics = [topic for topic in bag.topics if topic.endswith(f"/{name}")]
    if not topics:
        raise BagError(f"{bag.path}: no topic is named {name}; there are {', '.join(sorted(bag.topics))}")
    return min(topics, key=len)


def _states_in_command(bag: Bag) -> list[Any]:
    messages = [message for _, message in bag.messages("controller_state") if message.mode != 0 and message.arms]
    if not messages:
        raise BagError(f"{bag.path}: the controller was never active")
    return messages


def impacts_made(bag: Bag, topic: str = "impacts") -> list[Any]:
    """Contacts made, each once: an event is told again, with the same number, when its meaning is known."""
    made: dict[int, Any] = {}
    for _, message in bag.messages(topic):
        if message.kind == CONTACT_MADE:
            made.setdefault(message.sequence, message)
    return list(made.values())
