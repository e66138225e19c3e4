"""sensor_msgs/JointState from serialised bytes by NumPy views: thousands of equal messages in a few array operations.

A robot's driver sends the same joint names in the same order with every message, so all its messages have the same
bytes except for stamp and figures. The layout is learnt from one message, checked against the library's own
deserialiser once, and then against every single message: lengths, names and array sizes have to be the very same
bytes. Whatever differs is learnt as a further layout, or goes through the library.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.recordings.raw_messages import RawMessages

Rows = NDArray[np.intp]
Bytes = NDArray[np.uint8]

MOST_LAYOUTS = 16
"""Layouts that are remembered; a source with more of them goes through the library."""

_HEADER = b"\x00\x01"
"""Plain CDR, little endian: the first two bytes of what DDS sends on all common machines."""

_STAMP = slice(4, 12)


@dataclass(frozen=True, eq=False)
class JointBatch:
    """Joint states of one topic with the same names in the same order; k messages of m joints.

    Attributes:
        names: (m,) Joint names.
        rows: (k,) Where these messages are among those they were taken from, increasing.
        received: (k,) Recording times, s.
        times: (k,) Header stamps, s.
        positions: (k, m) rad; NaN where a message has too few.
        velocities: (k, m) rad/s, or None where the messages have none.
        efforts: (k, m) N m, or None where the messages have none.
    """

    names: tuple[str, ...]
    rows: Rows
    received: Array
    times: Array
    positions: Array
    velocities: Array | None
    efforts: Array | None


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where everything is in messages of one shape."""

    names: tuple[str, ...]
    length: int
    template: Bytes
    fixed: tuple[slice, ...]
    blocks: tuple[tuple[int, int], ...]  # begin and number of the positions, velocities and efforts

    def matches(self, messages: Bytes) -> NDArray[np.bool_]:
        """Which rows of (k, length) have this layout."""
        same = np.ones(len(messages), dtype=bool)
        for part in self.fixed:
            same &= (messages[:, part] == self.template[part]).all(axis=1)
        return same

    def values(self, messages: Bytes, block: int) -> Array | None:
        begin, count = self.blocks[block]
        if count == 0:
            return None
        data = np.ascontiguousarray(messages[:, begin : begin + 8 * count])
        return _fitted(data.view("<f8"), len(self.names))


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
        self._layouts: list[_Layout] = []
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
                if len(rows) and layout.length == length:
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
        self, layout: _Layout, raw: RawMessages, rows: Rows, messages: Bytes, batches: list[JointBatch]
    ) -> tuple[Rows, Bytes]:
        """Decode the rows of a layout; returns those that are left."""
        same = layout.matches(messages)
        taken = messages if same.all() else messages[same]
        if len(taken):
            chosen = rows[same]
            self.fast += len(chosen)
            stamps = np.ascontiguousarray(taken[:, _STAMP])
            batches.append(
                JointBatch(
                    layout.names,
                    chosen,
                    _seconds(raw, chosen),
                    stamps.view("<i4")[:, 0] + 1e-9 * stamps.view("<u4")[:, 1],
                    _required(layout.values(taken, 0), len(chosen), len(layout.names)),
                    layout.values(taken, 1),
                    layout.values(taken, 2),
                )
            )
        return rows[~same], messages[~same]

    def _learn(self, payload: bytes) -> _Layout | None:
        """The layout of a message, if NumPy reads out of it what the library does."""
        layout = _layout_of(payload)
        if layout is None:
            return None
        try:
            message = self._deserialize(payload)
        except Exception:  # whatever the library stumbles over, this message is not to be trusted
            return None
        row = layout.template[None, :]
        fields = (message.position, message.velocity, message.effort)
        same = tuple(message.name) == layout.names
        for block, field in enumerate(fields):
            begin, count = layout.blocks[block]
            mine = np.ascontiguousarray(row[:, begin : begin + 8 * count]).view("<f8")[0]
            same &= np.array_equal(mine, np.asarray(field, dtype=np.float64), equal_nan=True)
        return layout if same else None

    def _slowly(self, raw: RawMessages, rows: Rows) -> list[JointBatch]:
        """Through the library, message by message."""
        groups: dict[tuple[Any, ...], list[tuple[int, float, Any]]] = {}
        for row in rows.tolist():
            try:
                message = self._deserialize(raw.payload(row))
                stamp = message.header.stamp
                time = float(stamp.sec + 1e-9 * stamp.nanosec)
                key = (tuple(message.name), len(message.position), len(message.velocity), len(message.effort))
            except Exception:  # one broken message must not end the analysis; it is counted
                self.failed += 1
                continue
            self.slow += 1
            groups.setdefault(key, []).append((row, time, message))
        batches = []
        for (names, *counts), members in groups.items():
            chosen = np.array([row for row, _, _ in members], dtype=np.intp)
            columns = [
                None
                if count == 0
                else _fitted(np.array([getattr(m, field) for _, _, m in members], dtype=np.float64), len(names))
                for field, count in zip(("position", "velocity", "effort"), counts, strict=True)
            ]
            times = np.array([time for _, time, _ in members])
            positions = _required(columns[0], len(chosen), len(names))
            batches.append(JointBatch(names, chosen, _seconds(raw, chosen), times, positions, columns[1], columns[2]))
        return batches


def _layout_of(payload: bytes) -> _Layout | None:
    """Parse plain CDR; None for anything that is not exactly a JointState in it."""
    try:
        if payload[:2] != _HEADER:
            return None
        fixed = [slice(0, 2)]
        frame_length = struct.unpack_from("<I", payload, 12)[0]
        fixed.append(slice(12, 16))
        # The frame_id itself is not used, so it may change.
        position = _aligned(16 + frame_length, 4)
        names: list[str] = []
        count = struct.unpack_from("<I", payload, position)[0]
        fixed.append(slice(position, position + 4))
        position += 4
        for _ in range(count):
            position = _aligned(position, 4)
            length = struct.unpack_from("<I", payload, position)[0]
            end = position + 4 + length
            if length == 0 or end > len(payload):
                return None
            names.append(payload[position + 4 : end - 1].decode())
            fixed.append(slice(position, end))
            position = end
        blocks = []
        for _ in range(3):
            position = _aligned(position, 4)
            size = struct.unpack_from("<I", payload, position)[0]
            fixed.append(slice(position, position + 4))
            position += 4
            begin = _aligned(position, 8) if size else position
            position = begin + 8 * size
            if position > len(payload):
                return None
            blocks.append((begin, size))
    except (struct.error, UnicodeDecodeError):
        return None
    # DDS fills a message up to a multiple of four bytes.
    if len(payload) - position > 3:
        return None
    template = np.frombuffer(payload, dtype=np.uint8)
    return _Layout(tuple(names), len(payload), template, _merged(fixed), tuple(blocks))


def _merged(parts: Sequence[slice]) -> tuple[slice, ...]:
    """Neighbouring slices as one: fewer, longer comparisons."""
    merged = [parts[0]]
    for part in parts[1:]:
        if part.start == merged[-1].stop:
            merged[-1] = slice(merged[-1].start, part.stop)
        else:
            merged.append(part)
    return tuple(merged)


def _aligned(position: int, size: int) -> int:
    """Next position that is a multiple of `size` after the four bytes of the header."""
    return position + (4 - position) % size


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


def _fitted(values: Array, count: int) -> Array:
    """(k, count) whatever the number of columns: NaN for those that are missing."""
    if values.shape[1] == count:
        return values
    fitted = np.full((len(values), count), np.nan)
    shared = min(count, values.shape[1])
    fitted[:, :shared] = values[:, :shared]
    return fitted


def _required(values: Array | None, rows: int, count: int) -> Array:
    return np.full((rows, count), np.nan) if values is None else values
