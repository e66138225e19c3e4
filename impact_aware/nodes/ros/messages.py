"""ROS' own message classes for the codecs of `impact_aware.messages`."""

from __future__ import annotations

import array
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point

from impact_aware.arrays import Array
from impact_aware.messages.geometry import write_vector
from impact_aware.messages.stamps import write_stamp


class RosTypes:
    """Generated classes by name, imported when they are first needed."""

    def __init__(self) -> None:
        """Nothing is imported yet."""
        self._classes: dict[str, type] = {}

    def new(self, name: str) -> Any:
        """An empty message, such as `geometry_msgs/msg/Point`."""
        kind = self._classes.get(name)
        if kind is None:
            package, folder, short = name.split("/")
            kind = self._classes[name] = getattr(importlib.import_module(f"{package}.{folder}"), short)
        return kind()

    @staticmethod
    def doubles(values: Array) -> array.array[float]:
        """(n,) as a message takes it as it is, where it would check an array element by element."""
        return array.array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


ROS = RosTypes()


def stamp(time: float) -> Time:
    """A stamp from seconds, rounded to the nanosecond."""
    message = Time()
    write_stamp(message, time)
    return message


def point(values: Sequence[float] | Array) -> Point:
    """(3,) to Point."""
    message = Point()
    write_vector(message, values)
    return message
