"""Time series of a run: joint states and controller states as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_aware.analysis.bag import Array, Bag, BagError, stamp_seconds, vector


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
    """Controller states of the first arm while it was in command.

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


def read_control(bag: Bag) -> ControlSeries:
    """Read `controller_state` where the controller was in command.

    Raises:
        BagError: It never was.
    """
    messages = [message for _, message in bag.messages("controller_state") if message.mode != 0 and message.arms]
    if not messages:
        raise BagError(f"{bag.path}: the controller was never active")
    targets = [message.arms[0].target_acceleration for message in messages]
    return ControlSeries(
        times=np.array([stamp_seconds(message) for message in messages]),
        modes=np.array([message.mode for message in messages]),
        target_acceleration=np.array([np.concatenate((vector(a.linear), vector(a.angular))) for a in targets]),
        reference_velocity=np.array([message.arms[0].joint_reference_velocity for message in messages]),
        effort=np.array([message.arms[0].effort for message in messages]),
        cycle_times=np.array([message.cycle_time for message in messages]),
        cycles=np.array([message.cycles for message in messages]),
        missed=np.array([message.missed for message in messages]),
    )
