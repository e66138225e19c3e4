"""Random fields of messages, mostly sensible, now and then anything that the type holds; and spoilt bytes."""

from __future__ import annotations

import functools
import math
import random
import re
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

SPECIAL_FLOATS = (0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 1e-300, 1e300, -1e300, 5e-324, 1e6, -1e6)

HEADER = 4
"""Bytes of the encapsulation before a serialized message; the second is the byte order."""

LENGTHS = (0, 1, 2, 6, 8, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1)
"""Values that are written over a word that may be a length."""

LARGEST_SINGLE = 3e38
"""A float32 holds a little more."""

STRINGS = ("", "a", "tool", "panda_joint1", "left", "hit_and_push", "\u00e4\U0001f916", "x" * 300, "{a: [", "../../etc")

_INTEGERS = {
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}
"""Smallest and largest value by the name of the type."""

DEEPEST = 4
"""Sequences that lie deeper than so many others are empty: a message must end."""

LONG, LONG_OF_MESSAGES = 1000, 50
"""Entries of the long sequences that come now and then, of numbers and of messages, which take long to make."""


class _Kind(NamedTuple):
    """A field's type.

    Attributes:
        entry: Type of the entries of a sequence or array; empty for a single value.
        size: Length of an array, or the bound of a sequence; 0 for none.
        fixed: Whether it is an array.
    """

    entry: str
    size: int
    fixed: bool


@functools.cache
def _kind(name: str) -> _Kind:
    if match := re.fullmatch(r"sequence<([^,>]+)(?:,\s*(\d+))?>", name):
        return _Kind(match.group(1), int(match.group(2) or 0), False)
    if match := re.fullmatch(r"(.+)\[(\d+)\]", name):
        return _Kind(match.group(1), int(match.group(2)), True)
    return _Kind("", 0, False)


class RandomMessages:
    """Makes values by the names of field types, and spoils messages that were good.

    It does not depend on ROS: a message is an object whose class gives names and types of its fields by
    `get_fields_and_field_types()`, as ROS's own do.

    Attributes:
        generator: Source of all random numbers, which the caller may use too.
    """

    def __init__(self, seed: int, make: Callable[[str], Any]) -> None:
        """Begin.

        Args:
            seed: Seed of the generator.
            make: Gives an empty message of a type such as `geometry_msgs/Point`.
        """
        self.generator = random.Random(seed)
        self._make = make

    def value(self, kind: str, depth: int = 0) -> Any:
        """A value of a field type such as `double`, `sequence<string>`, `double[9]` or `geometry_msgs/Point`."""
        draw = self.generator.random
        entry, size, fixed = _kind(kind)
        if entry:
            return [self.value(entry, depth + 1) for _ in range(size if fixed else self._length(entry, size, depth))]
        if kind in ("double", "float64"):
            return self._float()
        if kind in ("float", "float32"):
            value = self._float()
            return value if abs(value) < LARGEST_SINGLE or not math.isfinite(value) else 0.0
        if kind in ("boolean", "bool"):
            return draw() < 0.5
        if kind in ("octet", "byte"):
            return bytes((int(draw() * 256),))
        if kind in _INTEGERS:
            low, high = _INTEGERS[kind]
            choice = draw()
            if choice < 0.5:
                return min(max(int(choice * 22.0) - 3, low), high)
            return (low, high, high // 2)[int(draw() * 3)]
        if kind.startswith("string"):
            return STRINGS[int(draw() * len(STRINGS))]
        message = self._make(kind)
        for name, own in message.get_fields_and_field_types().items():
            setattr(message, name, self.value(own, depth + 1))
        return message

    def _length(self, entry: str, bound: int, depth: int) -> int:
        if depth >= DEEPEST:
            return 0
        draw, long = self.generator.random, LONG_OF_MESSAGES if "/" in entry else LONG
        size = long if depth == 0 and draw() < 0.02 else int(draw() * 9)
        return min(size, bound) if bound else size

    def _float(self) -> float:
        choice = self.generator.random()
        if choice < 0.5:
            return self.generator.gauss(0.0, 1.0)
        if choice < 0.8:
            return SPECIAL_FLOATS[int(self.generator.random() * len(SPECIAL_FLOATS))]
        return self.generator.gauss(0.0, 1.0) * 10.0 ** self.generator.uniform(-12.0, 12.0)

    def spoil(self, message: Any, count: int) -> Any:
        """Replace `count` fields, at any depth, by random ones; the message is changed and returned."""
        for _ in range(count):
            self._spoil_one(message)
        return message

    def _spoil_one(self, message: Any) -> None:
        fields = list(message.get_fields_and_field_types().items())
        if not fields:
            return
        draw = self.generator.random
        name, kind = fields[int(draw() * len(fields))]
        value = getattr(message, name)
        entries = list(value) if _kind(kind).entry and not _kind(kind).fixed else []
        if hasattr(value, "get_fields_and_field_types") and draw() < 0.8:
            self._spoil_one(value)
        elif entries and hasattr(entries[0], "get_fields_and_field_types"):
            choice = draw()
            if choice < 0.7:
                self._spoil_one(entries[int(draw() * len(entries))])
            else:
                setattr(message, name, entries[:-1] if choice < 0.85 else [*entries, entries[0]])
        elif entries and draw() < 0.8:
            setattr(message, name, self._spoiled_list(entries, _kind(kind).entry))
        else:
            setattr(message, name, self.value(kind))

    def _spoiled_list(self, values: list[Any], kind: str) -> list[Any]:
        choice, index = self.generator.random(), self.generator.randrange(len(values))
        if choice < 0.6:
            values[index] = self.value(kind)
        elif choice < 0.8:
            del values[index]
        elif choice < 0.9:
            values.append(self.value(kind))
        else:
            self.generator.shuffle(values)
        return values


def spoil_bytes(data: bytes, generator: random.Random) -> bytes:
    """Bytes, such as a serialized message, with one to three faults: cut off, flipped bits, other lengths, and so on.

    Args:
        data: A message, its encapsulation first (CDR: OMG DDSI-RTPS 10.5), or a file.
        generator: Source of all that is random.
    """
    spoilt = bytearray(data)
    for _ in range(generator.randrange(1, 4)):
        generator.choice(BYTE_FAULTS)(spoilt, generator)
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


def _overwrite(data: bytearray, generator: random.Random) -> None:
    """Write a length or a number over any word after the encapsulation; nothing where the message is shorter."""
    length, number = struct.pack("<I", generator.choice(LENGTHS)), struct.pack("<d", generator.choice(SPECIAL_FLOATS))
    value = generator.choice((length, number))
    words = (len(data) - HEADER - len(value)) // 4 + 1
    if words > 0:
        at = HEADER + 4 * generator.randrange(words)
        data[at : at + len(value)] = value


def _swap_byte_order(data: bytearray, _generator: random.Random) -> None:
    if len(data) > 1:
        data[1] ^= 1


def _replace_all(data: bytearray, generator: random.Random) -> None:
    data[:] = generator.randbytes(generator.randrange(0, 2 * len(data) + 1))


BYTE_FAULTS = (_cut_end, _append, _cut_out, _flip_bits, _overwrite, _swap_byte_order, _replace_all)
"""Faults of the bytes of a message."""
