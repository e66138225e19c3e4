"""ROS' own message classes for the codecs of `impact_aware.messages`."""

from __future__ import annotations

import array
import functools
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point

from impact_aware.arrays import Array
from impact_aware.messages.geometry import write_vector
from impact_aware.messages.stamps import write_stamp


@functools.cache
def message_class(name: str) -> Any:
    """The generated class of a type such as `geometry_msgs/msg/Point`, imported when it is first needed."""
    package, folder, short = name.split("/")
    return getattr(importlib.import_module(f"{package}.{folder}"), short)


class RosTypes:
    """Generated classes by name."""

    @staticmethod
    def new(name: str) -> Any:
        """An empty message."""
        return message_class(name)()

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
