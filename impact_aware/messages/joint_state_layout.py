"""Joint states as DDS carries them: read without unpacking, as long as they look like the last one that was unpacked.

A driver repeats the same names in the same order a thousand times a second. Unpacking them into Python objects and
finding the joints again takes longer than everything else that is done before a controller can think. So the bytes of
a message are compared with those of one that was unpacked in full: where lengths, names and numbers of values are the
same, the values are where they were.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from impact_aware.arrays import Array

STAMP = struct.Struct("<iI")
"""Seconds and nanoseconds of a header."""

STAMP_OFFSET = 4
"""Behind the four bytes that say how a message is encoded."""

DOUBLE = 8
"""Size of a value, bytes."""

_LITTLE_ENDIAN = b"\x00\x01"
"""Begin of a message in plain CDR, little-endian."""


class PackedLayout(NamedTuple):
    """What messages with the same names have in common, and where their values are.

    Attributes:
        size: Length of the message, bytes.
        mask: Ones where a byte is the same in all of them; the message as one large number.
        expected: Their common bytes as such a number.
        offset: Where the first position is, bytes.
        words: Doubles from there to the last value; numbers of values lie between them.
        places: (k n,) Which of them are positions, velocities and, with k = 3, efforts, in the order asked for.
    """

    size: int
    mask: int
    expected: int
    offset: int
    words: int
    places: NDArray[np.intp]

    def values(self, packed: bytes) -> Array | None:
        """The doubles of a message, to be picked from with `places`; None when it does not look like the others."""
        if len(packed) != self.size or int.from_bytes(packed, "little") & self.mask != self.expected:
            return None
        return np.frombuffer(packed, "<f8", self.words, self.offset)


def layout_of(packed: bytes, message: JointState, joints: Sequence[int] | NDArray[np.intp]) -> PackedLayout | None:
    """How messages like this one are to be read.

    Args:
        packed: The message in CDR.
        message: The same, unpacked.
        joints: (n,) Which of its joints are wanted, in the order wanted.

    Returns:
        None when it is not of the usual kind: a position and a velocity for each name, an effort for each or none,
        plain little-endian CDR.
    """
    count = len(message.name)
    if len(message.position) != count or len(message.velocity) != count or len(message.effort) not in (0, count):
        return None
    if packed[:2] != _LITTLE_ENDIAN or not count:
        return None
    known = _KnownBytes(packed[:2])
    known.skip(2 + STAMP.size)
    known.text(message.header.frame_id)
    known.number(count)
    for name in message.name:
        known.text(name)
    known.number(count)
    known.align(DOUBLE)
    offset = known.end
    known.skip(DOUBLE * count)
    known.number(count)
    known.align(DOUBLE)
    known.skip(DOUBLE * count)
    known.number(len(message.effort))
    if len(message.effort):
        known.align(DOUBLE)
        known.skip(DOUBLE * count)
    # A number of values and what fills it up to eight bytes take one place between positions, velocities and efforts.
    blocks = 3 if len(message.effort) else 2
    first = np.array(joints, dtype=np.intp)
    places = np.concatenate([first + block * (count + 1) for block in range(blocks)])
    layout = PackedLayout(len(packed), known.mask(), known.expected(), offset, blocks * count + (blocks - 1), places)
    # The rules above are those of the standard; whether a message keeps to them it tells itself. Some encoders fill up
    # to a multiple of eight bytes after a list of doubles that is empty.
    values = layout.values(packed) if 0 <= len(packed) - known.end < DOUBLE else None
    if values is None:
        return None
    whole = np.concatenate([message.position, message.velocity, message.effort])
    apart = np.arange(blocks * count) + np.repeat(np.arange(blocks), count)
    return layout if values[apart].tobytes() == whole.tobytes() else None


class _KnownBytes:
    """Bytes that don't differ from message to message, written down one after the other."""

    def __init__(self, begin: bytes) -> None:
        self._bytes = bytearray(begin)
        self._mask = bytearray(b"\xff" * len(begin))

    @property
    def end(self) -> int:
        return len(self._bytes)

    def skip(self, count: int) -> None:
        """Something that differs."""
        self._bytes += bytes(count)
        self._mask += bytes(count)

    def align(self, size: int) -> None:
        """Up to a multiple of `size`, counted from behind the encoding; what fills the gap may be anything."""
        self.skip(-(self.end - STAMP_OFFSET) % size)

    def number(self, value: int) -> None:
        self.align(4)
        self._add(value.to_bytes(4, "little"))

    def text(self, value: str) -> None:
        encoded = value.encode() + b"\0"
        self.number(len(encoded))
        self._add(encoded)

    def _add(self, content: bytes) -> None:
        self._bytes += content
        self._mask += b"\xff" * len(content)

    def mask(self) -> int:
        return int.from_bytes(self._mask, "little")

    def expected(self) -> int:
        return int.from_bytes(self._bytes, "little")
