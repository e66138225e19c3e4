"""Where codecs take their message classes from: ROS' own, or those of a reader of recordings."""

from __future__ import annotations

from typing import Any, Protocol

from impact_aware.arrays import Array


class MessageTypes(Protocol):
    """Message classes by name."""

    def new(self, name: str) -> Any:
        """An empty message, such as `geometry_msgs/msg/Point`: zeros, empty lists and texts."""

    def doubles(self, values: Array) -> Any:
        """(n,) as the `float64[]` of one of these messages."""
