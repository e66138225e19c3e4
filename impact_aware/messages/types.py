"""Message classes of the codecs, ROS' own or those of a reader of recordings, and fields that need not be given."""

from __future__ import annotations

from typing import Any, Protocol

from impact_aware.arrays import Array
from impact_aware.messages.stamps import seconds, write_stamp


class MessageTypes(Protocol):
    """Message classes by name."""

    def new(self, name: str) -> Any:
        """An empty message, such as `geometry_msgs/msg/Point`: zeros, empty lists and texts."""

    def doubles(self, values: Array) -> Any:
        """(n,) as the `float64[]` of one of these messages."""


def give(message: Any, name: str, value: Any) -> None:
    """Write a field, a Duration in s, and its flag `has_<name>`; None is not given."""
    setattr(message, f"has_{name}", value is not None)
    if value is None:
        return
    if hasattr(target := getattr(message, name), "sec"):
        write_stamp(target, value)
    else:
        setattr(message, name, value)


def given(message: Any, name: str, unknown: Any) -> Any:
    """The value of a field with a flag, a Duration in s; `unknown` where it is not given.

    In recordings of versions before 0.10 the field has no flag, and that value in its place, or is missing.
    """
    value = getattr(message, name, unknown) if getattr(message, f"has_{name}", True) else unknown
    return seconds(value) if hasattr(value, "sec") else value
