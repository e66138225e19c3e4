"""Files of a recording, each read on its own: MCAP from front to back, SQLite through a library."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import numpy as np
import yaml
from mcap.reader import SeekingReader
from rosbags.highlevel import AnyReader
from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag2.metadata import dump_qos_v9
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from impact_aware.bags.bag_files import BagError, decompress
from impact_aware.bags.mcap_scan import McapScan, topic_of
from impact_aware.bags.raw_messages import LATEST, Extra, RawMessage, RawMessages, RawTopic, batches
from impact_aware.errors import one_reason

LARGEST_DEFINITION = 1 << 20
"""Characters of a message definition; those of ROS have 10 000 at most, with all that they are made of."""

LARGEST_DEFINITIONS = 1 << 22
"""Characters of all message definitions of a file; parsing takes about 4 s per million."""

LARGEST_QOS = 1 << 20
"""Characters of the offered QoS of all topics of a file, 300 for each publisher; as slow to parse."""

MOST_TOPICS = 5000
"""Topics of a SQLite file, and message definitions."""

LARGEST_MESSAGE = 1 << 26
"""Unpacked size of a message that is compressed on its own, bytes."""


class Part(ABC):
    """A recording, or one of its files, that can be read on its own.

    Attributes:
        topics: Topic name -> message type.
        counts: Topic name -> number of messages.
        types: What the messages are made of.
        damage: What is wrong with the file, one sentence, or None.
    """

    def __init__(self, path: Path, *, packed_messages: bool) -> None:
        """Open the file; with `packed_messages` each message is compressed by itself."""
        self.path = path
        self.topics: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.types: Typestore = get_typestore(Stores.ROS2_JAZZY)
        self.damage: str | None = None
        self._packed = packed_messages

    def close(self) -> None:  # noqa: B027 - an MCAP file is opened anew for each reading
        """Close the file."""

    def serialized(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """Messages of a topic with their recording time in ns."""
        for raw in self.raw([topic]):
            for row in np.argsort(raw.received, kind="stable").tolist():
                yield int(raw.received[row]), raw.payload(row)

    def raw(self, topics: Collection[str]) -> Iterator[RawMessages]:
        """Blocks of undecoded messages."""
        blocks = self._blocks(topics)
        if not self._packed:
            return blocks
        single = ((raw.topic, int(raw.received[row]), raw.payload(row)) for raw in blocks for row in range(len(raw)))
        return batches(
            (topic, received, data)
            for topic, received, packed in single
            if (data := self._unpacked(topic, packed)) is not None
        )

    def records(self) -> Iterator[RawMessage | Extra]:
        """Every message and what else the file holds, in the order in which it was written."""
        for record in self._records():
            if not self._packed or not isinstance(record, RawMessage):
                yield record
            elif (data := self._unpacked(record.topic.name, record.data)) is not None:
                yield record._replace(data=data)

    @abstractmethod
    def _blocks(self, topics: Collection[str]) -> Iterator[RawMessages]:
        """Blocks of messages as they lie in the file."""

    @abstractmethod
    def _records(self) -> Iterator[RawMessage | Extra]:
        """Content of the file as it lies there."""

    def _unpacked(self, topic: str, data: bytes) -> bytes | None:
        """A message that is compressed on its own; None where it can't be decompressed."""
        try:
            return decompress(data, "zstd", LARGEST_MESSAGE)
        except Exception as error:  # the decompressor's errors have no common base
            self._note(f"has a message on {topic} that can't be decompressed ({one_reason(error)})")
            return None

    def _note(self, damage: str) -> None:
        self.damage = self.damage or f"{self.path.name} {damage}"


class McapPart(Part):
    """An MCAP file: topics from the index at its end, or from all of it when a crash left it without."""

    def __init__(self, path: Path, *, packed_messages: bool) -> None:
        """Learn the topics.

        Raises:
            BagError: Nothing of it can be read.
        """
        super().__init__(path, packed_messages=packed_messages)
        if not self._read_index():
            self._walk()
        if not self.topics and self.damage:
            raise BagError(f"{self.path}: not a recording that can be read ({self.damage})")

    def _blocks(self, topics: Collection[str]) -> Iterator[RawMessages]:
        scan = McapScan(self.path)
        yield from scan.messages(topics)
        self._note_damage(scan)

    def _records(self) -> Iterator[RawMessage | Extra]:
        scan = McapScan(self.path)
        yield from scan.records()
        self._note_damage(scan)

    def _note_damage(self, scan: McapScan) -> None:
        if scan.damage:
            self._note(f"{scan.damage}; it was read as far as it goes")

    def _read_index(self) -> bool:
        """Whether there is an index with all that has to be known."""
        try:
            with open(self.path, "rb") as file:
                summary = SeekingReader(file).get_summary()
            if summary is None or summary.statistics is None or not summary.channels:
                return False
            channels = {
                number: topic_of(channel, summary.schemas.get(channel.schema_id))
                for number, channel in summary.channels.items()
            }
            self._know(channels, summary.statistics.channel_message_counts)
        except Exception:  # an index can be spoilt in any way; then the file is read from front to back
            self.topics, self.counts = {}, {}
            return False
        return True

    def _walk(self) -> None:
        scan = McapScan(self.path)
        for _ in scan.messages(()):
            pass
        self._note_damage(scan)
        self._know(scan.channels, scan.counts)

    def _know(self, channels: Mapping[int, RawTopic], counts: Mapping[int, int]) -> None:
        """Take topics, counts and message types over; a definition that can't be parsed or is too long is left out."""
        total = 0
        for number, channel in channels.items():
            self.topics[channel.name] = channel.type
            self.counts[channel.name] = self.counts.get(channel.name, 0) + counts.get(number, 0)
            total += len(channel.definition)
            long = len(channel.definition) > LARGEST_DEFINITION or total > LARGEST_DEFINITIONS
            if channel.type in self.types.fielddefs or long:
                continue
            text = channel.definition.decode(errors="replace")
            try:
                idl = "idl" in channel.definition_format
                found = get_types_from_idl(text) if idl else get_types_from_msg(text, channel.type)
                self.types.register({own: fields for own, fields in found.items() if own not in self.types.fielddefs})
            except Exception:  # a broken type that may never be read must not keep the others from being read
                continue


def _sqlite_reader(path: Path) -> AnyReader:
    """Return the library's reader of a SQLite file, opened.

    The library parses all texts of the file at once, and SQLite evaluates computed tables. A file with more text than
    a recording has, or with computed tables, is refused before.

    Raises:
        BagError: The file can't be read, or is refused.
    """
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?immutable=1", uri=True)) as base:
            base.execute("PRAGMA trusted_schema = OFF")
            kinds = {str(kind) for (kind,) in base.execute("SELECT DISTINCT type FROM sqlite_master")}
            hidden = "SELECT count(*) FROM sqlite_master JOIN pragma_table_xinfo(sqlite_master.name) WHERE hidden != 0"
            if kinds - {"table", "index"} or base.execute(hidden).fetchone()[0]:
                raise BagError(f"{path}: not a recording that can be read (its tables are computed)")
            for table, column, most in (
                ("topics", "offered_qos_profiles", LARGEST_QOS),
                ("message_definitions", "encoded_message_definition", LARGEST_DEFINITIONS),
            ):
                names = {name for _, name, *_ in base.execute(f"PRAGMA table_info({table})")}
                size = f"sum(length({column}))" if column in names else "0"
                rows, length = base.execute(f"SELECT count(*), {size} FROM {table}").fetchone() if names else (0, 0)
                if rows > MOST_TOPICS or (length or 0) > most:
                    given = f"{rows} {table} with {length} characters of {column}"
                    raise BagError(f"{path}: {given}, expected {MOST_TOPICS} and {most} at most")
        reader = AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY))
        reader.open()
    except BagError:
        raise
    except Exception as error:  # the library and its database raise errors without a common base
        raise BagError(f"{path}: not a recording that can be read ({one_reason(error)})") from error
    return reader


class SqlitePart(Part):
    """A SQLite file."""

    def __init__(self, path: Path, *, packed_messages: bool) -> None:
        """Open the file.

        Raises:
            BagError: Nothing of it can be read.
        """
        super().__init__(path, packed_messages=packed_messages)
        self._reader = _sqlite_reader(self.path)
        self.types = self._reader.typestore
        for connection in self._reader.connections:
            self.topics[connection.topic] = connection.msgtype
            self.counts[connection.topic] = self.counts.get(connection.topic, 0) + connection.msgcount

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def _blocks(self, topics: Collection[str]) -> Iterator[RawMessages]:
        wanted = [connection for connection in self._reader.connections if connection.topic in topics]
        return batches((connection.topic, time, data) for connection, time, data in self._messages(wanted))

    def _records(self) -> Iterator[RawMessage | Extra]:
        topics = {connection.id: self._topic(connection) for connection in self._reader.connections}
        for connection, time, data in self._messages(self._reader.connections):
            yield RawMessage(topics[connection.id], time, time, 0, data)

    def _messages(self, wanted: Sequence[Connection]) -> Iterator[tuple[Connection, int, bytes]]:
        """Messages through the library, until it stumbles."""
        try:
            for connection, time, data in self._reader.messages(wanted) if wanted else ():
                # A column of SQLite holds values of any type; bytes(10**10) would be as many zeros.
                if isinstance(time, int) and 0 <= time <= LATEST and isinstance(data, bytes | memoryview):
                    yield connection, time, bytes(data)
                else:
                    self._note("has a message without a time or bytes, which was left out")
        except Exception as error:  # the library and its database raise errors without a common base
            self._note(f"is damaged and was read up to there ({one_reason(error)})")

    def _topic(self, connection: Connection) -> RawTopic:
        form, text = "", ""
        if connection.msgdef.format == MessageDefinitionFormat.IDL:
            form, text = "ros2idl", connection.msgdef.data
        elif connection.msgtype in self.types.fielddefs:
            form, text = "ros2msg", self.types.generate_msgdef(connection.msgtype, ros_version=2)[0]
        extra = connection.ext
        assert isinstance(extra, ConnectionExtRosbag2)
        qos = {"offered_qos_profiles": yaml.safe_dump(dump_qos_v9(extra.offered_qos_profiles), sort_keys=False)}
        return RawTopic(connection.topic, connection.msgtype, text.encode(), form, extra.serialization_format, qos)
