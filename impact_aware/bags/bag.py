"""Reading rosbag2 recordings, with the message definitions that they carry themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rosbags.typesys import Stores, get_typestore

from impact_aware.bags.bag_files import BagError, find_bag_files, is_recording
from impact_aware.bags.bag_parts import McapPart, Part, SqlitePart
from impact_aware.bags.raw_messages import Extra, RawMessage, RawMessages
from impact_aware.errors import InvalidInputError, one_reason

__all__ = ["Bag", "BagError", "is_recording"]

_KNOWN = get_typestore(Stores.ROS2_JAZZY)


class Bag:
    """One recording, opened for reading as a context manager.

    A folder without `metadata.yaml`, as a crash leaves it, and an MCAP file without its end are read as far as they
    go; `damage` then gives the reason.

    Attributes:
        path: Where it is.
        topics: Topic name -> message type.
        counts: Topic name -> number of messages.
        type_hashes: Hash of each message type, by its name, where its `metadata.yaml` has it.
        damage: What is wrong with the recording, one sentence, or None.
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
        self.counts: dict[str, int] = {}
        self.type_hashes: dict[str, str] = {}
        self.damage: str | None = None
        self._parts: list[Part] = []
        self._stack = ExitStack()

    def __enter__(self) -> Bag:
        """Open the recording.

        Raises:
            BagError: It is not a recording, or nothing of it can be read.
        """
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        for part in self._parts:
            self.topics.update(part.topics)
            for topic, count in part.counts.items():
                self.counts[topic] = self.counts.get(topic, 0) + count
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the recording."""
        self._stack.close()

    def topic_named(self, name: str) -> str:
        """The topic of this name, else the one that ends in `/name`.

        Raises:
            BagError: None does, or several.
        """
        if name in self.topics:
            return name
        found = [topic for topic in self.topics if topic.endswith(f"/{name}")]
        if len(found) != 1:
            raise BagError(
                f"{self.path}: {len(found)} topics are named {name}; there are {', '.join(sorted(self.topics))}"
            )
        return found[0]

    def messages(self, name: str) -> Iterator[tuple[float, Any]]:
        """Decoded messages of the topic with this name, or that ends in it, with their recording time in s."""
        topic = self.topic_named(name)
        for received, raw in self.serialized(topic):
            yield received * 1e-9, self.deserialize(topic, raw)

    def serialized(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """Messages of a topic with their recording time in ns, as bytes, in order of time."""
        for part in self._parts:
            yield from part.serialized(topic)

    def raw(self, topics: Collection[str]) -> Iterator[RawMessages]:
        """The messages of several topics, many at a time; in order within each topic.

        A damaged recording is read up to the damage, which `damage` then names.
        """
        for part in self._parts:
            yield from part.raw(topics)
            self.damage = self.damage or part.damage

    def records(self) -> Iterator[RawMessage | Extra]:
        """All of it, undecoded and in the order in which it was written; read up to the damage as by `raw`."""
        for part in self._parts:
            yield from part.records()
            self.damage = self.damage or part.damage

    def deserialize(self, topic: str, raw: bytes) -> Any:
        """One message of a topic.

        Raises:
            BagError: Its type is not known, or the bytes are not of that type.
        """
        kind = self.topics[topic]
        part = next(part for part in self._parts if topic in part.topics)
        types = part.types if kind in part.types.fielddefs else _KNOWN
        if kind not in types.fielddefs:
            raise BagError(f"{self.path}: the definition of {kind} on {topic} is neither in the recording nor known")
        try:
            return types.deserialize_cdr(raw, kind)
        except Exception as error:  # bytes and definitions from outside can raise anything
            raise BagError(f"{self.path}: a message on {topic} is not a {kind} ({one_reason(error)})") from error

    def _open(self) -> None:
        found = find_bag_files(self.path, self._stack)
        self.type_hashes = found.type_hashes
        refused: list[BagError] = []
        for file in found.files:
            kind = McapPart if file.suffix == ".mcap" else SqlitePart
            try:
                part = kind(file, packed_messages=found.packed_messages)
            except BagError as error:
                refused.append(error)
                continue
            self._stack.callback(part.close)
            self._parts.append(part)
        if not self._parts:
            raise BagError(str(refused[0]).replace(str(found.files[0]), str(self.path), 1))
        self.damage = found.damage or (str(refused[0]) if refused else None)
        self.damage = self.damage or next((part.damage for part in self._parts if part.damage), None)
