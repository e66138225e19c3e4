"""Joint states from recorded bytes, thousands at a time; messages of unusual kinds or layouts go through a library."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.bags.bag import Bag
from impact_aware.bags.raw_messages import RawMessages
from impact_aware.messages.joint_state import Bytes, JointStateLayout, learn_layout, stamps_of
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.tables.joint_table import JointBatch

Rows = NDArray[np.intp]

JOINT_STATE_TYPES = ("sensor_msgs/msg/JointState", "sensor_msgs/JointState")

MOST_LAYOUTS = 16
"""Layouts that are remembered; a source with more of them goes through the library."""


class JointStateDecoder:
    """Turns the messages of one topic into arrays.

    Attributes:
        fast: Messages decoded by views.
        slow: Messages that went through the library.
        failed: Messages that even the library could not read.
    """

    def __init__(self, deserialize: Callable[[bytes], Any]) -> None:
        """Remember how the library reads one message of this type."""
        self._deserialize = deserialize
        self._layouts: list[JointStateLayout] = []
        self.fast = self.slow = self.failed = 0

    def decode(self, raw: RawMessages) -> list[JointBatch]:
        """Decode messages; those with other names, or another order of them, come in a batch of their own."""
        batches: list[JointBatch] = []
        content = np.frombuffer(raw.buffer, dtype=np.uint8)
        rest: list[Rows] = []
        for length in np.unique(raw.lengths).tolist():
            rows = np.flatnonzero(raw.lengths == length)
            messages = _matrix(content, raw.offsets[rows], length)
            for layout in self._layouts:
                if len(rows) and layout.size == length:
                    rows, messages = self._take(layout, raw, rows, messages, batches)
            while len(rows) and len(self._layouts) < MOST_LAYOUTS:
                learnt = self._learn(messages[0].tobytes())
                if learnt is None:
                    break
                self._layouts.append(learnt)
                rows, messages = self._take(learnt, raw, rows, messages, batches)
            if len(rows):
                rest.append(rows)
        if rest:
            batches += self._slowly(raw, np.sort(np.concatenate(rest)))
        return batches

    def _take(
        self, layout: JointStateLayout, raw: RawMessages, rows: Rows, messages: Bytes, batches: list[JointBatch]
    ) -> tuple[Rows, Bytes]:
        """Decode the rows of a layout; returns those that are left."""
        same = layout.matches(messages)
        taken = messages if same.all() else messages[same]
        if len(taken):
            chosen, count = rows[same], len(layout.names)
            self.fast += len(chosen)
            positions, velocities, efforts = (_fitted(layout.block(taken, index), count) for index in range(3))
            batches.append(
                JointBatch(
                    layout.names,
                    chosen,
                    _seconds(raw, chosen),
                    stamps_of(taken),
                    _required(positions, len(chosen), count),
                    velocities,
                    efforts,
                )
            )
        return rows[~same], messages[~same]

    def _learn(self, payload: bytes) -> JointStateLayout | None:
        """The layout of a message, if it reads out of it what the library does."""
        try:
            return learn_layout(payload, self._deserialize(payload))
        except Exception:  # whatever the library stumbles over, this message is not to be trusted
            return None

    def _slowly(self, raw: RawMessages, rows: Rows) -> list[JointBatch]:
        """Through the library, message by message."""
        groups: dict[tuple[Any, ...], list[tuple[int, float, Any]]] = {}
        for row in rows.tolist():
            try:
                message = self._deserialize(raw.payload(row))
                time = stamp_seconds(message)
                key = (tuple(message.name), len(message.position), len(message.velocity), len(message.effort))
            except Exception:  # one broken message must not end the analysis; it is counted
                self.failed += 1
                continue
            self.slow += 1
            groups.setdefault(key, []).append((row, time, message))
        batches = []
        for (names, *_), members in groups.items():
            chosen = np.array([row for row, _, _ in members], dtype=np.intp)
            columns = [
                _fitted(np.array([getattr(m, field) for _, _, m in members], dtype=np.float64), len(names))
                for field in ("position", "velocity", "effort")
            ]
            times = np.array([time for _, time, _ in members])
            positions = _required(columns[0], len(chosen), len(names))
            batches.append(JointBatch(names, chosen, _seconds(raw, chosen), times, positions, columns[1], columns[2]))
        return batches


def _matrix(content: Bytes, offsets: NDArray[np.int64], length: int) -> Bytes:
    """Messages of equal length as rows (k, length): a view where they lie at equal distances, else a copy."""
    if len(offsets) == 1:
        return content[offsets[0] : offsets[0] + length][None, :]
    steps = np.diff(offsets)
    if steps[0] > 0 and (steps == steps[0]).all():
        view = content[offsets[0] : offsets[-1] + length]
        return np.lib.stride_tricks.as_strided(view, (len(offsets), length), (int(steps[0]), 1), writeable=False)
    return content[offsets[:, None] + np.arange(length)]


def _seconds(raw: RawMessages, rows: Rows) -> Array:
    return np.asarray(raw.received[rows] * 1e-9, dtype=np.float64)


def _fitted(values: Array | None, count: int) -> Array | None:
    """(k, count) whatever the number of columns: NaN for those that are missing; None where there are none at all."""
    if values is None or not values.shape[1]:
        return None
    if values.shape[1] == count:
        return values
    fitted = np.full((len(values), count), np.nan)
    shared = min(count, values.shape[1])
    fitted[:, :shared] = values[:, :shared]
    return fitted


def _required(values: Array | None, rows: int, count: int) -> Array:
    return np.full((rows, count), np.nan) if values is None else values


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
