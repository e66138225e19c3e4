"""sensor_msgs/JointState as DDS and recordings carry it, read without deserializing message by message.

A driver sends the same names in the same order a thousand times a second, so all its messages have the same bytes
except for stamp, frame and values. Their layout is learnt from one message, checked against a deserializer once, and
then against every message: encoding, lengths, names and array sizes have to be the very same bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.messages.stamps import STAMP, STAMP_OFFSET

Bytes = NDArray[np.uint8]

DOUBLE = 8
"""Size of a value, bytes."""

_LITTLE_ENDIAN = b"\x00\x01"
"""Begin of a message in plain CDR, little-endian: what DDS sends on all common machines."""

_STAMP = slice(STAMP_OFFSET, STAMP_OFFSET + STAMP.size)


@dataclass(frozen=True, eq=False, slots=True)
class JointStateLayout:
    """What messages with the same names have in common, and where their values are.

    Attributes:
        names: (m,) Joint names.
        size: Length of a message, bytes.
        blocks: Begin, bytes, and number of the positions, velocities and efforts.
        fixed: Parts that are the same in all messages, increasing.
        template: (size,) A message.
        mask: The fixed bytes as 0xFF, the others as zero; one little-endian number.
        expected: The fixed bytes of the template as such a number.
    """

    names: tuple[str, ...]
    size: int
    blocks: tuple[tuple[int, int], ...]
    fixed: tuple[slice, ...]
    template: Bytes
    mask: int
    expected: int

    # One message

    def values(self, message: bytes) -> Array | None:
        """All doubles from the first position on, to be picked from with `columns`; None for another layout."""
        if len(message) != self.size or int.from_bytes(message, "little") & self.mask != self.expected:
            return None
        begin = self.blocks[0][0]
        return np.frombuffer(message, "<f8", (self.size - begin) // DOUBLE, begin)

    def columns(self, joints: Sequence[int] | NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Where in `values` some joints are: their positions, velocities and, if there are any, efforts.

        Args:
            joints: (n,) Which of the names are wanted, in the order wanted.

        Returns:
            (2 n,) or (3 n,); None unless there is a position and a velocity for each name, an effort for each or none.
        """
        counts = [count for _, count in self.blocks]
        count = len(self.names)
        if not count or counts[:2] != [count, count] or counts[2] not in (0, count):
            return None
        first, wanted = self.blocks[0][0], np.asarray(joints, dtype=np.intp)
        # Values are aligned to eight bytes, so that blocks are a whole number of them apart.
        return np.concatenate([wanted + (begin - first) // DOUBLE for begin, size in self.blocks if size])

    # Many messages of this size at a time

    def matches(self, messages: Bytes) -> NDArray[np.bool_]:
        """Which rows of (k, size) have this layout."""
        same = np.ones(len(messages), dtype=bool)
        for part in self.fixed:
            same &= (messages[:, part] == self.template[part]).all(axis=1)
        return same

    def block(self, messages: Bytes, index: int) -> Array | None:
        """Positions (0), velocities (1) or efforts (2) of (k, size) messages, (k, count); None where they have none."""
        begin, count = self.blocks[index]
        if not count:
            return None
        return np.ascontiguousarray(messages[:, begin : begin + DOUBLE * count]).view("<f8")


def name_count(serialized: bytes) -> int:
    """Return the number of names of a serialized message without reading them; 0 where that is not possible."""
    if serialized[:2] != _LITTLE_ENDIAN or len(serialized) < _STAMP.stop + 8:
        return 0
    number = struct.Struct("<I").unpack_from
    position = _aligned(_STAMP.stop + 4 + number(serialized, _STAMP.stop)[0], 4)
    return int(number(serialized, position)[0]) if position + 4 <= len(serialized) else 0


def stamps_of(messages: Bytes) -> Array:
    """Header stamps (k,) of serialized little-endian messages (k, size) that begin with a header, s."""
    stamps = np.ascontiguousarray(messages[:, _STAMP])
    return np.asarray(stamps.view("<i4")[:, 0] + 1e-9 * stamps.view("<u4")[:, 1])


def learn_layout(serialized: bytes, message: Any) -> JointStateLayout | None:
    """The layout of messages like this one; None when it is not plain little-endian CDR as the deserializer read it.

    Args:
        serialized: The message in CDR.
        message: The same, deserialized.
    """
    try:
        layout = _parse(serialized)
    except (struct.error, UnicodeDecodeError):
        return None
    if layout is None or tuple(message.name) != layout.names:
        return None
    for (begin, count), values in zip(layout.blocks, (message.position, message.velocity, message.effort), strict=True):
        read = np.asarray(values, dtype="<f8").tobytes()
        if len(read) != DOUBLE * count or serialized[begin : begin + DOUBLE * count] != read:
            return None
    return layout


def _parse(payload: bytes) -> JointStateLayout | None:
    if payload[:2] != _LITTLE_ENDIAN:
        return None
    number = struct.Struct("<I").unpack_from
    # The encoding, then the length of frame_id: its text is not used, so it may change.
    position = _STAMP.stop
    fixed = [slice(0, 2), slice(position, position + 4)]
    position = _aligned(position + 4 + number(payload, position)[0], 4)
    (count,) = number(payload, position)
    fixed.append(slice(position, position + 4))
    position += 4
    names = []
    for _ in range(count):
        position = _aligned(position, 4)
        (length,) = number(payload, position)
        end = position + 4 + length
        if length == 0 or end > len(payload):
            return None
        names.append(payload[position + 4 : end - 1].decode())
        fixed.append(slice(position, end))
        position = end
    blocks = []
    for _ in range(3):
        position = _aligned(position, 4)
        (size,) = number(payload, position)
        fixed.append(slice(position, position + 4))
        position += 4
        begin = _aligned(position, DOUBLE) if size else position
        position = begin + DOUBLE * size
        if position > len(payload):
            return None
        blocks.append((begin, size))
    # Some encoders fill up to a multiple of eight bytes after a list of doubles that is empty.
    if len(payload) - position >= DOUBLE:
        return None
    template = np.frombuffer(payload, dtype=np.uint8)
    mask = np.zeros(len(payload), dtype=np.uint8)
    for part in fixed:
        mask[part] = 0xFF
    expected = int.from_bytes((template & mask).tobytes(), "little")
    return JointStateLayout(
        tuple(names),
        len(payload),
        tuple(blocks),
        _merged(fixed),
        template,
        int.from_bytes(mask.tobytes(), "little"),
        expected,
    )


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
    """Next position that is a multiple of `size` after the bytes that say how a message is encoded."""
    return position + (STAMP_OFFSET - position) % size
