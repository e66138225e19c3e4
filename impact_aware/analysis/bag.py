"""Reading rosbag2 recordings, with the message definitions that they carry themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader, AnyReaderError
from rosbags.typesys import Stores, get_typestore

from impact_aware.errors import ImpactAwareError, InvalidInputError

Array = NDArray[np.float64]


class BagError(ImpactAwareError):
    """A recording can't be read, or lacks what is asked of it."""


class Bag:
    """One recording, opened for reading as a context manager.

    Attributes:
        path: Where it is.
        topics: Topic name -> message type.
    """

    def __init__(self, path: Path) -> None:
        """Check that the path is there; nothing is read yet.

        Raises:
            InvalidInputError: No such file or folder.
        """
        self.path = Path(path)
        if not self.path.exists():
            raise InvalidInputError("bag", str(path), "an existing recording")
        self.topics: dict[str, str] = {}
        self._reader: AnyReader | None = None

    def __enter__(self) -> Bag:
        """Open the recording.

        Raises:
            BagError: It is not a recording, or it is damaged.
        """
        try:
            reader = AnyReader([self.path], default_typestore=get_typestore(Stores.ROS2_JAZZY))
            reader.open()
        except (AnyReaderError, OSError, ValueError, KeyError) as error:
            raise BagError(f"{self.path}: not a recording that can be read ({error})") from error
        self._reader = reader
        self.topics = {connection.topic: connection.msgtype for connection in reader.connections}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the recording."""
        if self._reader is not None:
            self._reader.close()

    def topic_named(self, name: str) -> str:
        """The one topic that ends in `/name`.

        Raises:
            BagError: None does, or several.
        """
        found = [topic for topic in self.topics if topic == name or topic.endswith(f"/{name}")]
        if len(found) != 1:
            raise BagError(
                f"{self.path}: {len(found)} topics are named {name}; there are {', '.join(sorted(self.topics))}"
            )
        return found[0]

    def messages(self, name: str) -> Iterator[tuple[float, Any]]:
        """Messages of the topic that ends in `name`, with their recording time in s."""
        assert self._reader is not None
        topic = self.topic_named(name)
        connections = [connection for connection in self._reader.connections if connection.topic == topic]
        for connection, time, raw in self._reader.messages(connections):
            yield time * 1e-9, self._reader.deserialize(raw, connection.msgtype)


def stamp_seconds(message: Any) -> float:
    """The header stamp of a message, s."""
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


def vector(value: Any) -> Array:
    """A Point or a Vector3 as an array (3,)."""
    return np.array([value.x, value.y, value.z])
