"""Random fields of messages, mostly sensible, now and then anything that the type holds; and spoilt bytes."""

from __future__ import annotations

import math
import random
import re
import struct
from collections.abc import Callable
from typing import Any

SPECIAL_FLOATS = (0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 1e-300, 1e300, -1e300, 5e-324, 1e6, -1e6)

HEADER = 4
"""Bytes of the encapsulation before a serialized message; the second is the byte order."""

LENGTHS = (0, 1, 2, 6, 8, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1)
"""What is written over a word that may be a length."""

LARGEST_SINGLE = 3e38
"""A float32 holds a little more."""

STRINGS = ("", "a", "tool", "panda_joint1", "left", "hit_and_push", "\u00e4\U0001f916", "x" * 300, "{a: [", "../../etc")

_INTEGERS = {
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}
"""Smallest and largest value by the name of the type."""

_SEQUENCE = re.compile(r"^sequence<([^,>]+)(?:,\s*(\d+))?>$")

_ARRAY = re.compile(r"^(.+)\[(\d+)\]$")

DEEPEST = 4
"""Sequences that lie deeper than so many others are empty: a message must end."""

LONG = 1000
"""Entries of the long sequences that come now and then."""

LONG_OF_MESSAGES = 50
"""The same where the entries are messages themselves, which take long to make."""

Maker = Callable[[], Any]


class RandomMessages:
    """Makes values by the names of field types, and spoils messages that were good.

    It knows nothing of ROS: a message is an object whose class says by `get_fields_and_field_types()` what its fields
    are called and what they hold, as ROS's own do. What makes values of a type is put together once and kept.

    Attributes:
        generator: Of all that is random; whoever gives the messages to somebody may draw from it too.
    """

    def __init__(self, seed: int, make: Callable[[str], Any]) -> None:
        """Begin.

        Args:
            seed: Of everything.
            make: Gives an empty message of a type such as `geometry_msgs/Point`.
        """
        self.generator = random.Random(seed)
        self._make = make
        self._makers: dict[tuple[str, int], Maker] = {}
        self._fields: dict[type, tuple[tuple[str, str, str], ...]] = {}

    def value(self, kind: str, depth: int = 0) -> Any:
        """A value of a field type such as `double`, `sequence<string>`, `double[9]` or `geometry_msgs/Point`."""
        return self._maker(kind, depth)()

    def spoil(self, message: Any, count: int) -> Any:
        """Replace `count` fields, at any depth, by random ones; the message is changed and returned."""
        for _ in range(count):
            self._spoil_one(message)
        return message

    def _spoil_one(self, message: Any) -> None:
        fields = self._fields_of(message)
        if not fields:
            return
        draw = self.generator.random
        name, kind, entry = fields[int(draw() * len(fields))]
        value = getattr(message, name)
        if hasattr(value, "get_fields_and_field_types") and draw() < 0.8:
            self._spoil_one(value)
        elif entry and len(value) and hasattr(value[0], "get_fields_and_field_types"):
            choice = draw()
            if choice < 0.7:
                self._spoil_one(value[int(draw() * len(value))])
            else:
                setattr(message, name, value[:-1] if choice < 0.85 else [*value, value[0]])
        elif entry and len(value) and draw() < 0.8:
            setattr(message, name, self._spoiled_list(list(value), entry))
        else:
            setattr(message, name, self.value(kind))

    def _fields_of(self, message: Any) -> tuple[tuple[str, str, str], ...]:
        """Name and type of each field, and the type of its entries where it is a sequence."""
        kind = type(message)
        if kind not in self._fields:
            types = message.get_fields_and_field_types().items()
            matches = [(name, own, _SEQUENCE.match(own)) for name, own in types]
            self._fields[kind] = tuple((name, own, match.group(1) if match else "") for name, own, match in matches)
        return self._fields[kind]

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

    # Makers of values

    def _maker(self, kind: str, depth: int) -> Maker:
        key = (kind, min(depth, DEEPEST))
        if key not in self._makers:
            self._makers[key] = self._new_maker(*key)
        return self._makers[key]

    def _new_maker(self, kind: str, depth: int) -> Maker:
        draw = self.generator.random
        if match := _SEQUENCE.match(kind):
            return self._sequence_maker(match.group(1), int(match.group(2) or 0), depth)
        if match := _ARRAY.match(kind):
            entry, size = self._maker(match.group(1), depth + 1), int(match.group(2))
            return lambda: [entry() for _ in range(size)]
        if kind in ("double", "float64"):
            return self._float
        if kind in ("float", "float32"):
            return self._single
        if kind in ("boolean", "bool"):
            return lambda: draw() < 0.5
        if kind in ("octet", "byte"):
            return lambda: bytes((int(draw() * 256),))
        if kind in _INTEGERS:
            return self._integer_maker(*_INTEGERS[kind])
        if kind.startswith("string"):
            return lambda: STRINGS[int(draw() * len(STRINGS))]
        return self._message_maker(kind, depth)

    def _sequence_maker(self, kind: str, bound: int, depth: int) -> Maker:
        draw = self.generator.random
        entry = self._maker(kind, depth + 1) if depth < DEEPEST else None
        long = LONG_OF_MESSAGES if "/" in kind else LONG

        def sequence() -> list[Any]:
            if entry is None:
                return []
            size = long if depth == 0 and draw() < 0.02 else int(draw() * 9)
            return [entry() for _ in range(min(size, bound) if bound else size)]

        return sequence

    def _integer_maker(self, low: int, high: int) -> Maker:
        draw, ends = self.generator.random, (low, high, high // 2)

        def integer() -> int:
            choice = draw()
            if choice < 0.5:
                return min(max(int(choice * 22.0) - 3, low), high)
            return ends[int(draw() * 3)]

        return integer

    def _message_maker(self, kind: str, depth: int) -> Maker:
        make = self._make
        types = make(kind).get_fields_and_field_types()
        fields = [(name, self._maker(own, depth + 1)) for name, own in types.items()]

        def message() -> Any:
            made = make(kind)
            for name, field in fields:
                setattr(made, name, field())
            return made

        return message

    def _float(self) -> float:
        choice = self.generator.random()
        if choice < 0.5:
            return self.generator.gauss(0.0, 1.0)
        if choice < 0.8:
            return SPECIAL_FLOATS[int(self.generator.random() * len(SPECIAL_FLOATS))]
        return self.generator.gauss(0.0, 1.0) * 10.0 ** self.generator.uniform(-12.0, 12.0)

    def _single(self) -> float:
        value = self._float()
        return value if abs(value) < LARGEST_SINGLE or not math.isfinite(value) else 0.0


def spoil_bytes(data: bytes, generator: random.Random) -> bytes:
    """A serialized message with one to three faults: cut off, bits flipped, lengths and numbers replaced, and so on.

    Args:
        data: The message, its encapsulation first (CDR: OMG DDSI-RTPS 10.5).
        generator: Of all that is random.
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
"""What spoils the bytes of a message."""
