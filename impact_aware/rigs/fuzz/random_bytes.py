"""Spoils serialised messages: cut off, bits turned, lengths and numbers replaced, the byte order denied."""

from __future__ import annotations

import random
import struct

from impact_aware.rigs.fuzz.random_messages import SPECIAL_FLOATS

HEADER = 4
"""Bytes of the encapsulation before the message: its second one tells the byte order (CDR: OMG DDSI-RTPS 10.5)."""

LENGTHS = (0, 1, 2, 6, 8, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1)
"""What is written over a word that may be a length."""


def spoil_bytes(data: bytes, generator: random.Random) -> bytes:
    """A serialised message with one to three faults.

    Args:
        data: The message, its encapsulation first.
        generator: Of all that is random.
    """
    spoilt = bytearray(data)
    for _ in range(generator.randrange(1, 4)):
        generator.choice(_FAULTS)(spoilt, generator)
    return bytes(spoilt)


def _cut(data: bytearray, generator: random.Random) -> None:
    """The end is missing."""
    del data[generator.randrange(len(data) + 1) :]


def _append(data: bytearray, generator: random.Random) -> None:
    """There is more than there should be."""
    data += generator.randbytes(generator.randrange(1, 40))


def _take_out(data: bytearray, generator: random.Random) -> None:
    """Some bytes are missing within."""
    first = generator.randrange(len(data) + 1)
    del data[first : first + generator.randrange(1, 9)]


def _turn_bits(data: bytearray, generator: random.Random) -> None:
    """A few bits are wrong."""
    for _ in range(generator.randrange(1, 9) if data else 0):
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)


def _replace_word(data: bytearray, generator: random.Random) -> None:
    """A word, which may be a length, is another."""
    if len(data) >= HEADER + 4:
        at = HEADER + 4 * generator.randrange((len(data) - HEADER) // 4)
        data[at : at + 4] = struct.pack("<I", generator.choice(LENGTHS))


def _replace_number(data: bytearray, generator: random.Random) -> None:
    """Eight bytes, which may be a number, are a special one."""
    if len(data) >= HEADER + 8:
        at = HEADER + 4 * generator.randrange((len(data) - HEADER - 4) // 4)
        data[at : at + 8] = struct.pack("<d", generator.choice(SPECIAL_FLOATS))


def _turn_byte_order(data: bytearray, generator: random.Random) -> None:
    """The encapsulation says the other byte order."""
    if len(data) > 1:
        data[1] ^= 1


def _replace_encapsulation(data: bytearray, generator: random.Random) -> None:
    """The encapsulation is any."""
    data[:HEADER] = generator.randbytes(HEADER)


def _replace_all(data: bytearray, generator: random.Random) -> None:
    """Nothing is left of the message."""
    data[:] = generator.randbytes(generator.randrange(0, 2 * len(data) + 1))


_FAULTS = (
    _cut, _append, _take_out, _turn_bits, _replace_word, _replace_number, _turn_byte_order, _replace_encapsulation,
    _replace_all,
)  # fmt: skip
