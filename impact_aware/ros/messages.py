"""ROS' own message classes for the codecs of `impact_aware.messages`."""

from __future__ import annotations

import array
import functools
import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

from impact_aware.arrays import Array
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.messages.stamps import write_stamp

_TYPE = re.compile(r"(?P<package>[a-z][a-z0-9_]*)/(?P<folder>msg|srv)/(?P<short>[A-Z][A-Za-z0-9]*)")

_ENCAPSULATION = 4
"""Bytes with which every serialized message begins (DDSI-RTPS 2.5, section 10.2)."""


class UndecodableError(ImpactAwareError):
    """Bytes from outside that are no message of their type."""


@functools.cache
def message_class(name: str) -> Any:
    """The generated class of a type such as `geometry_msgs/msg/Point`, imported when it is first needed.

    Raises:
        InvalidInputError: No message type, or none of an installed package of interfaces: other nodes name types too,
            and to import a module is to run it.
    """
    return _interface(name, "message", "msg", "get_fields_and_field_types")


@functools.cache
def service_class(name: str) -> Any:
    """The generated class of a service such as `std_srvs/srv/Trigger`, likewise.

    Raises:
        InvalidInputError: No service type, or none of an installed package of interfaces.
    """
    return _interface(name, "service", "srv", "Request")


def _interface(name: str, word: str, folder: str, has: str) -> Any:
    match = _TYPE.fullmatch(name)
    kind = None
    # That its share folder has the definition is what makes a package one of interfaces.
    if match is not None and match["folder"] == folder and definition_file(match["package"], folder, match["short"]):
        kind = getattr(importlib.import_module(f"{match['package']}.{folder}"), match["short"], None)
    if kind is None or not hasattr(kind, has):
        raise InvalidInputError(f"{word} type", repr(name), f"a type of an installed package of {word}s")
    return kind


def definition_file(package: str, folder: str, short: str) -> Path | None:
    """The installed definition of a type, below an ament prefix or this Python's own; None without one."""
    prefixes = [*filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)), sys.prefix]
    folders = [Path(prefix) / "share" / package / folder for prefix in prefixes]
    files = (own / f"{short}{suffix}" for own in folders for suffix in (f".{folder}", ".idl"))
    return next(filter(Path.is_file, files), None)


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


def decoded(serialized: bytes, kind: Any) -> Any:
    """The message of a type that bytes from outside stand for.

    Raises:
        UndecodableError: They stand for none.
    """
    # Of fewer rmw_cyclonedds_cpp 2.2.2 (rmw_deserialize in rmw_node.cpp) reads on behind their end.
    if len(serialized) < _ENCAPSULATION:
        raise UndecodableError(f"{len(serialized)} bytes, where {_ENCAPSULATION} stand before every message")
    try:
        return deserialize_message(serialized, kind)
    except RuntimeError as error:
        # RMWError, which is no public name of rclpy.
        raise UndecodableError(str(error)) from error


def effort_begin(count: int) -> bytes:
    """With what a serialized Float64MultiArray of so many numbers begins; the numbers are the rest."""
    return serialize_message(Float64MultiArray(data=[0.0] * count))[: -8 * count]


def stamp(time: float) -> Time:
    """A stamp from seconds, rounded to the nanosecond."""
    message = Time()
    write_stamp(message, time)
    return message
