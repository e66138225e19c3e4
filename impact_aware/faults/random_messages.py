"""Random values for the fields of messages: mostly sensible ones, now and then anything that the type can hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

SPECIAL_FLOATS = (0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 1e-300, 1e300, -1e300, 5e-324, 1e6, -1e6)

STRINGS = ("", "a", "tool", "panda_joint1", "left", "hit_and_push", "\u00e4\U0001f916", "x" * 300, "{a: [", "../../etc")

_INTEGERS = {
    "int8": (-(2**7), 2**7 - 1), "uint8": (0, 2**8 - 1),
    "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1),
}  # fmt: skip

_SEQUENCE = re.compile(r"^sequence<([^,>]+)(?:,\s*(\d+))?>$")
_ARRAY = re.compile(r"^(.+)\[(\d+)\]$")


class RandomMessages:
    """Makes and spoils messages, repeatably by its seed.

    It knows nothing of ROS: a message is an object whose class says by `get_fields_and_field_types()` what its fields
    are called and what they hold, as ROS's own do.
    """

    def __init__(self, seed: int, make: Callable[[str], Any]) -> None:
        """Begin.

        Args:
            seed: Of everything.
            make: Gives an empty message of a type such as `geometry_msgs/Point`.
        """
        self.generator = np.random.default_rng(seed)
        self._make = make

    def spoil(self, message: Any, count: int) -> Any:
        """Replace `count` fields, at any depth, by random ones; the message is changed and returned."""
        for _ in range(count):
            self._spoil_one(message)
        return message

    def _spoil_one(self, message: Any) -> None:
        fields = message.get_fields_and_field_types()
        if not fields:
            return
        names = list(fields)
        name = names[int(self.generator.integers(len(names)))]
        kind, value = fields[name], getattr(message, name)
        if hasattr(value, "get_fields_and_field_types") and self.generator.random() < 0.8:
            self._spoil_one(value)
        elif isinstance(value, list) and value and hasattr(value[0], "get_fields_and_field_types"):
            choice = self.generator.random()
            if choice < 0.7:
                self._spoil_one(value[int(self.generator.integers(len(value)))])
            else:
                setattr(message, name, value[:-1] if choice < 0.85 else [*value, value[0]])
        elif len_of(value) and _SEQUENCE.match(kind) and self.generator.random() < 0.8:
            setattr(message, name, self._spoiled_list(list(value), _SEQUENCE.match(kind).group(1)))  # type: ignore[union-attr]
        else:
            setattr(message, name, self.value(kind))

    def _spoiled_list(self, values: list[Any], kind: str) -> list[Any]:
        choice, index = self.generator.random(), int(self.generator.integers(len(values)))
        if choice < 0.6:
            values[index] = self.value(kind)
        elif choice < 0.8:
            del values[index]
        elif choice < 0.9:
            values.append(self.value(kind))
        else:
            values = [values[int(k)] for k in self.generator.permutation(len(values))]
        return values

    def value(self, kind: str, depth: int = 0) -> Any:
        """A value of a field type such as `double`, `sequence<string>`, `double[9]` or `geometry_msgs/Point`."""
        generator = self.generator
        bounded = _SEQUENCE.match(kind)
        if bounded:
            most = int(bounded.group(2) or 20)
            size = 0 if depth > 3 else min(most, int(generator.integers(0, 9)))
            if generator.random() < 0.02 and depth == 0:
                size = min(most, 1000)
            return [self.value(bounded.group(1), depth + 1) for _ in range(size)]
        fixed = _ARRAY.match(kind)
        if fixed:
            return [self.value(fixed.group(1), depth + 1) for _ in range(int(fixed.group(2)))]
        if kind in ("double", "float", "float64", "float32"):
            value = self._float()
            return value if kind in ("double", "float64") or abs(value) < 3e38 or not math.isfinite(value) else 0.0
        if kind in ("boolean", "bool"):
            return bool(generator.random() < 0.5)
        if kind in ("octet", "byte"):
            return bytes([int(generator.integers(256))])
        if kind in _INTEGERS:
            low, high = _INTEGERS[kind]
            if generator.random() < 0.5:
                return int(min(max(int(generator.integers(-3, 8)), low), high))
            return (low, high, high // 2)[int(generator.integers(3))]
        if kind.startswith("string"):
            return STRINGS[int(generator.integers(len(STRINGS)))]
        message = self._make(kind)
        for name, field in message.get_fields_and_field_types().items():
            setattr(message, name, self.value(field, depth + 1))
        return message

    def _float(self) -> float:
        choice = self.generator.random()
        if choice < 0.5:
            return float(self.generator.normal())
        if choice < 0.8:
            return SPECIAL_FLOATS[int(self.generator.integers(len(SPECIAL_FLOATS)))]
        return float(self.generator.normal() * 10.0 ** self.generator.uniform(-12.0, 12.0))


def len_of(value: Any) -> int:
    """Number of entries; 0 for what has none."""
    return 0 if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") else len(value)
