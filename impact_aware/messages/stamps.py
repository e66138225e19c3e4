"""Header stamps as seconds and back, rounded to the nanosecond."""

from __future__ import annotations

import struct
from typing import Any

STAMP = struct.Struct("<iI")
"""Seconds and nanoseconds of a serialized header, little-endian."""

STAMP_OFFSET = 4
"""Bytes before them: how the message is encoded."""


def seconds(stamp: Any) -> float:
    """A stamp in seconds; a double holds it to 0.2 microseconds at today's dates."""
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def stamp_seconds(message: Any) -> float:
    """The header stamp of a message, s."""
    return seconds(message.header.stamp)


def to_nanoseconds(time: float) -> int:
    """A time in s as whole ns; the seconds are split off first, as a double can't hold today's date to the ns."""
    whole = int(time // 1.0)
    return whole * 1_000_000_000 + round((time - whole) * 1e9)


def write_stamp(target: Any, time: float) -> None:
    """Write a time, s, into a Time or Duration."""
    target.sec, target.nanosec = divmod(to_nanoseconds(time), 1_000_000_000)


def serialized_stamp(data: bytes) -> tuple[int, int]:
    """Seconds and nanoseconds of a serialized message that begins with a header, whatever its byte order.

    Raises:
        struct.error: Too few bytes.
    """
    if len(data) < STAMP_OFFSET + STAMP.size:
        raise struct.error(f"{len(data)} bytes hold no header")
    # The second byte of the encapsulation gives the byte order.
    return struct.unpack_from("<iI" if data[1] & 1 else ">iI", data, STAMP_OFFSET)
