"""Spoils serialized messages: cut off, bits flipped, lengths and numbers replaced, the byte order denied."""

from __future__ import annotations

import random
import struct

from impact_aware_rigs.fuzz.random_messages import SPECIAL_FLOATS

HEADER = 4
"""Bytes of the encapsulation before the message; the second is the byte order (CDR: OMG DDSI-RTPS 10.5)."""

LENGTHS = (0, 1, 2, 6, 8, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1)
"""What is written over a word that may be a length."""


def spoil_bytes(data: bytes, generator: random.Random) -> bytes:
    """A serialized message with one to three faults.

    Args:
        data: The message, its encapsulation first.
        generator: Of all that is random.
    """
    spoilt = bytearray(data)
    for _ in range(generator.randrange(1, 4)):
        generator.choice(_FAULTS)(spoilt, generator)
    return bytes(spoilt)


def _cut_end(data: bytearray, generator: random.Random) -> None:
    del data[generator.randrange(len(data) + 1) :]


def _append(data: bytearray, generator: random.Random) -> None:
    data += generator.randbytes(generator.randrange(1, 40))


def _cut_out(data: bytearray, generator: random.Random) -> None:
    first = generator.randrange(len(data) + 1)
    del data[first : first + generator.randrange(1, 9)]


def _flip_bits(data: bytearray, generator: random.Random) -> None:
    for _ in range(generator.randrange(1, 9) if data else 0):
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)


def _replace_length(data: bytearray, generator: random.Random) -> None:
    _overwrite(data, generator, struct.pack("<I", generator.choice(LENGTHS)))


def _replace_number(data: bytearray, generator: random.Random) -> None:
    _overwrite(data, generator, struct.pack("<d", generator.choice(SPECIAL_FLOATS)))


def _overwrite(data: bytearray, generator: random.Random, value: bytes) -> None:
    """Write a value over any word of the message and those after it; nothing where the message is shorter."""
    words = (len(data) - HEADER - len(value)) // 4 + 1
    if words > 0:
        at = HEADER + 4 * generator.randrange(words)
        data[at : at + len(value)] = value


def _swap_byte_order(data: bytearray, _generator: random.Random) -> None:
    if len(data) > 1:
        data[1] ^= 1


def _replace_encapsulation(data: bytearray, generator: random.Random) -> None:
    data[:HEADER] = generator.randbytes(HEADER)


def _replace_all(data: bytearray, generator: random.Random) -> None:
    data[:] = generator.randbytes(generator.randrange(0, 2 * len(data) + 1))


_FAULTS = (
    _cut_end, _append, _cut_out, _flip_bits, _replace_length, _replace_number, _swap_byte_order, _replace_encapsulation,
    _replace_all,
)  # fmt: skip
