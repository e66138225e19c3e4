"""Message types from which joint states are read: `sensor_msgs/JointState`, and others that carry the same."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from impact_aware.recordings.bag import Bag

JOINT_STATE_TYPES = ("sensor_msgs/msg/JointState", "sensor_msgs/JointState")


def joint_state_deserializer(bag: Bag, topic: str) -> Callable[[bytes], Any]:
    """Function from the bytes of a message on a topic to an object with the fields of a JointState.

    Types other than JointState are read by the definitions that the bag carries.
    """
    convert = OTHER_TYPES.get(bag.topics[topic])
    if convert is None:
        return lambda raw: bag.deserialize(topic, raw)
    return lambda raw: convert(bag.deserialize(topic, raw))


def _from_interfaces(message: Any) -> Any:
    """Joints of a DynamicJointState that have a position; other interfaces only where all of them have it."""
    pairs = zip(message.joint_names, message.interface_values, strict=True)
    values = {str(name): dict(zip(own.interface_names, own.values, strict=True)) for name, own in pairs}
    joints = {name: own for name, own in values.items() if "position" in own}

    def column(interface: str) -> list[float]:
        known = all(interface in own for own in joints.values())
        return [float(own[interface]) for own in joints.values()] if known else []

    return _state(message.header, joints, column("position"), column("velocity"), column("effort"))


def _from_trajectory_state(message: Any) -> Any:
    """Measured point of a JointTrajectoryControllerState, `feedback` or, in older ones, `actual`."""
    point = message.feedback if hasattr(message, "feedback") else message.actual
    return _state(message.header, message.joint_names, point.positions, point.velocities, point.effort)


def _from_franka(message: Any) -> Any:
    """Measured joint state of a FrankaRobotState, at the stamp of the whole message."""
    own = message.measured_joint_state
    return _state(message.header, own.name, own.position, own.velocity, own.effort)


def _state(header: Any, names: Any, position: Any, velocity: Any, effort: Any) -> Any:
    columns = (np.asarray(values, dtype=float) for values in (position, velocity, effort))
    return SimpleNamespace(
        header=header,
        name=[str(name) for name in names],
        **dict(zip(("position", "velocity", "effort"), columns, strict=True)),
    )


OTHER_TYPES: dict[str, Callable[[Any], Any]] = {
    "control_msgs/msg/DynamicJointState": _from_interfaces,
    "control_msgs/msg/JointTrajectoryControllerState": _from_trajectory_state,
    "franka_msgs/msg/FrankaRobotState": _from_franka,
}
"""Types that are read where a recording has no JointState, or where a topic is chosen by name."""
