"""ROS' own message classes for the codecs of `impact_aware.messages`."""

from __future__ import annotations

import array
import functools
import importlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.messages.geometry import write_vector
from impact_aware.messages.stamps import write_stamp

_TYPE = re.compile(r"(?P<package>[a-z][a-z0-9_]*)/msg/(?P<short>[A-Z][A-Za-z0-9]*)")


@functools.cache
def message_class(name: str) -> Any:
    """The generated class of a type such as `geometry_msgs/msg/Point`, imported when it is first needed.

    Raises:
        InvalidInputError: No message type, or none of an installed package of interfaces: other nodes name types too,
            and to import a module is to run it.
    """
    match = _TYPE.fullmatch(name)
    if match is None or not _has_interface(match["package"], match["short"]):
        raise InvalidInputError("message type", repr(name), "a type of an installed package of messages")
    kind = getattr(importlib.import_module(f"{match['package']}.msg"), match["short"], None)
    if kind is None or not hasattr(kind, "get_fields_and_field_types"):
        raise InvalidInputError("message type", repr(name), "a type of an installed package of messages")
    return kind


def _has_interface(package: str, short: str) -> bool:
    """Whether the package's share folder has the definition of the message: that is what makes it one of messages."""
    prefixes = [*filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)), sys.prefix]
    folders = [Path(prefix) / "share" / package / "msg" for prefix in prefixes]
    return any((folder / f"{short}{suffix}").is_file() for folder in folders for suffix in (".msg", ".idl"))


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
