"""Every message of a recording as its bytes, for copying: nothing is decoded, and one chunk is held at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import yaml
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.reader import SeekingReader
from mcap.records import Attachment, Channel, Metadata, Schema
from rosbags.interfaces import ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag2.metadata import dump_qos_v9

from impact_aware.errors import one_reason
from impact_aware.recordings.bag_files import BagError, decompress, find_bag_files
from impact_aware.recordings.bag_parts import LARGEST_MESSAGE, sqlite_reader
from impact_aware.recordings.mcap_scan import CHANNEL, MESSAGE, MESSAGE_HEADER, SCHEMA, McapScan


@dataclass(frozen=True)
class RawTopic:
    """A topic with all that a reader of the copy needs.

    Attributes:
        name: Topic name.
        type: Message type.
        definition: Definition of the message type.
        definition_format: `ros2msg` or `ros2idl`; empty without a definition.
        encoding: How messages are serialised, `cdr`.
        metadata: Such as `offered_qos_profiles`, as YAML text.
    """

    name: str
    type: str
    definition: bytes
    definition_format: str
    encoding: str
    metadata: dict[str, str] = field(hash=False)


class RawMessage(NamedTuple):
    """One message.

    Attributes:
        topic: Its topic.
        recorded: When it was recorded, ns.
        published: When it was published, ns; `recorded` where that is not known.
        sequence: Publisher's counter, 0 where unknown.
        data: Its bytes.
    """

    topic: RawTopic
    recorded: int
    published: int
    sequence: int
    data: bytes


Extra = Attachment | Metadata
"""What an MCAP file holds besides messages."""


class RawRecording:
    """A rosbag2 folder or single file, MCAP or SQLite, compressed or not, opened as a context manager.

    Attributes:
        path: Where it is.
        damage: What is wrong with it, in words, once `records` met it; None as long as nothing is.
        type_hashes: Hash of each message type, by its name, where the recording's `metadata.yaml` has it.
    """

    def __init__(self, path: Path) -> None:
        """Nothing is read yet."""
        self.path = path
        self.damage: str | None = None
        self.type_hashes: dict[str, str] = {}
        self._stack = ExitStack()
        self._files: tuple[Path, ...] = ()
        self._packed = False

    def __enter__(self) -> RawRecording:
        """Find the files, and decompress them into a temporary folder where they are compressed as a whole.

        Raises:
            BagError: There is no recording.
        """
        try:
            if not self.path.exists():
                raise BagError(f"{self.path}: not a recording that can be read (no such file or folder)")
            found = find_bag_files(self.path, self._stack)
        except BaseException:
            self._stack.close()
            raise
        self._files, self._packed = found.files, found.packed_messages
        self.type_hashes |= found.type_hashes
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove what was decompressed."""
        self._stack.close()

    def topics(self) -> set[str]:
        """Names of all topics; read from the index where there is one, else from the whole recording."""
        names: set[str] = set()
        for file in self._files:
            if file.suffix == ".mcap":
                names |= _topics_of_mcap(file)
            else:
                with closing(sqlite_reader(file)) as reader:
                    names |= {connection.topic for connection in reader.connections}
        return names

    def records(self) -> Iterator[RawMessage | Extra]:
        """All of it, in the order in which it was written.

        Raises:
            BagError: A recording other than MCAP that can't be read to its end.
        """
        self.damage = None
        for file in self._files:
            yield from self._of_mcap(file) if file.suffix == ".mcap" else self._of_sqlite(file)

    def _of_mcap(self, file: Path) -> Iterator[RawMessage | Extra]:
        scan = McapScan(file)
        schemas: dict[int, Schema] = {}
        topics: dict[int, RawTopic] = {}
        for kind, body in scan.records():
            if kind == MESSAGE:
                channel_id, sequence, recorded, published = MESSAGE_HEADER.unpack_from(body)
                topic = topics.get(channel_id)
                data = None if topic is None else self._unpacked(file, body[MESSAGE_HEADER.size :])
                if topic is not None and data is not None:
                    yield RawMessage(topic, recorded, published, sequence, data)
                continue
            record = self._record(file, kind, body)
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                topics.setdefault(record.id, _topic(record, schemas.get(record.schema_id)))
            elif record is not None:
                yield record
        if scan.damage:
            self.damage = f"{file.name} {scan.damage}; it was copied up to there"

    def _record(self, file: Path, kind: int, body: bytes) -> Schema | Channel | Extra | None:
        """A record that is no message; None for one that is not needed, or is spoilt."""
        reader = _RECORDS.get(kind)
        if reader is None:
            return None
        try:
            return reader(ReadDataStream(BytesIO(body)))
        except Exception as error:  # the library's errors have no common base
            self.damage = self.damage or f"{file.name} has a damaged record, which was left out ({one_reason(error)})"
            return None

    def _unpacked(self, file: Path, data: bytes) -> bytes | None:
        """A message, decompressed where each is on its own; None when that can't be."""
        if not self._packed:
            return data
        try:
            return decompress(data, "zstd", LARGEST_MESSAGE)
        except Exception as error:  # the decompressor's errors have no common base
            self.damage = self.damage or f"{file.name} has a damaged message, which was left out ({one_reason(error)})"
            return None

    def _of_sqlite(self, file: Path) -> Iterator[RawMessage]:
        with closing(sqlite_reader(file)) as reader:
            topics: dict[int, RawTopic] = {}
            for connection in reader.connections:
                if connection.msgdef.format == MessageDefinitionFormat.IDL:
                    form, text = "ros2idl", connection.msgdef.data
                elif connection.msgtype in reader.typestore.fielddefs:
                    form, text = "ros2msg", reader.typestore.generate_msgdef(connection.msgtype, ros_version=2)[0]
                else:
                    form, text = "", ""
                extra = connection.ext
                assert isinstance(extra, ConnectionExtRosbag2)
                qos = yaml.safe_dump(dump_qos_v9(extra.offered_qos_profiles), sort_keys=False)
                topics[connection.id] = RawTopic(
                    connection.topic, connection.msgtype, text.encode(), form, extra.serialization_format,
                    {"offered_qos_profiles": qos},
                )  # fmt: skip
            try:
                for connection, time, data in reader.messages():
                    unpacked = self._unpacked(file, bytes(data))
                    if unpacked is not None:
                        yield RawMessage(topics[connection.id], time, time, 0, unpacked)
            except Exception as error:  # the library and its database raise errors without a common base
                self.damage = f"{self.path.name} is damaged and was copied up to there ({one_reason(error)})"


_RECORDS: dict[int, Callable[[ReadDataStream], Schema | Channel | Extra]] = {
    SCHEMA: Schema.read,
    CHANNEL: Channel.read,
    int(Opcode.ATTACHMENT): Attachment.read,
    int(Opcode.METADATA): Metadata.read,
}


def _topic(channel: Channel, schema: Schema | None) -> RawTopic:
    return RawTopic(
        channel.topic,
        "" if schema is None else schema.name,
        b"" if schema is None else schema.data,
        "" if schema is None else schema.encoding,
        channel.message_encoding,
        dict(channel.metadata),
    )


def _topics_of_mcap(file: Path) -> set[str]:
    """From the index at the end; from all records when there is none, as a file that was cut off has none."""
    try:
        with open(file, "rb") as stream:
            summary = SeekingReader(stream).get_summary()
        if summary is not None and summary.channels:
            return {channel.topic for channel in summary.channels.values()}
    except Exception:  # an index can be spoilt in any way; then the file is read from front to back
        pass
    scan = McapScan(file)
    for _ in scan.messages(()):
        pass
    return {channel.topic for channel in scan.channels.values()}
