"""Every message of a recording as its bytes, for copying: nothing is decoded, and one chunk is held at a time."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

import yaml
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.reader import SeekingReader
from mcap.records import Attachment, Channel, Chunk, McapRecord, Message, Metadata, Schema
from mcap.stream_reader import CRCValidationError, StreamReader, breakup_chunk
from rosbags.highlevel import AnyReader
from rosbags.interfaces import ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag2.metadata import dump_qos_v9
from rosbags.typesys import Stores, get_typestore
from zstandard import ZstdDecompressor, ZstdError

from impact_aware.recordings.bag import BagError

_DAMAGE = (McapError, CRCValidationError, ZstdError, struct.error, RuntimeError, EOFError, IndexError, ValueError)
"""What the MCAP library raises where a file was cut off or spoilt."""

_CHUNK_HEADER = struct.Struct("<QQQII")


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
        type_hashes: Hash of each message type, by its name, where the recording's `metadata.yaml` tells.
    """

    def __init__(self, path: Path) -> None:
        """Nothing is read yet."""
        self.path = path
        self.damage: str | None = None
        self.type_hashes: dict[str, str] = {}
        self._stack = ExitStack()
        self._files: list[Path] | None = None

    def __enter__(self) -> RawRecording:
        """Find the files, and decompress them into a temporary folder where they are compressed as a whole.

        Raises:
            BagError: There is no recording.
        """
        try:
            self._files = self._mcap_files()
        except (OSError, ZstdError) as error:
            self._stack.close()
            raise BagError(f"{self.path}: not a recording that can be read ({error})") from error
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove what was decompressed."""
        self._stack.close()

    def topics(self) -> set[str]:
        """Names of all topics; read from the index where there is one, else from the whole recording."""
        if self._files is None:
            with closing(self._library()) as reader:
                return {connection.topic for connection in reader.connections}
        names: set[str] = set()
        for file in self._files:
            with open(file, "rb") as stream:
                names |= _topics_of_mcap(stream)
        return names

    def records(self) -> Iterator[RawMessage | Extra]:
        """All of it, in the order in which it was written.

        Raises:
            BagError: A recording other than MCAP that can't be read to its end.
        """
        self.damage = None
        if self._files is None:
            yield from self._through_library()
            return
        for file in self._files:
            yield from self._of_mcap(file)

    def _mcap_files(self) -> list[Path] | None:
        """Its files when all are MCAP and their messages are not compressed one by one; else None, for the library."""
        if not self.path.is_dir():
            self.path.stat()
            if self.path.suffix in (".zstd", ".zst") and Path(self.path.stem).suffix == ".mcap":
                return [self._unpacked(self.path)]
            return [self.path] if self.path.suffix == ".mcap" else None
        index = self.path / "metadata.yaml"
        if not index.exists():
            files = sorted(self.path.glob("*.mcap"), key=lambda file: (len(file.name), file.name))
            if not files:
                raise FileNotFoundError("there is neither metadata.yaml nor an MCAP file in it")
            return files
        try:
            content = yaml.safe_load(index.read_text())["rosbag2_bagfile_information"]
            names = [Path(name).name for name in content["relative_file_paths"]]
            mode = str(content.get("compression_mode") or "").lower()
            for entry in content["topics_with_message_count"]:
                known = entry["topic_metadata"]
                self.type_hashes[known["type"]] = str(known.get("type_description_hash") or "")
        except (yaml.YAMLError, KeyError, TypeError):
            return None
        if content.get("storage_identifier") != "mcap" or mode == "message":
            return None
        return [self._unpacked(self.path / name) if mode == "file" else self.path / name for name in names]

    def _unpacked(self, path: Path) -> Path:
        target = Path(self._stack.enter_context(TemporaryDirectory(prefix="impact_aware_"))) / path.stem
        with open(path, "rb") as packed, open(target, "wb") as file:
            shutil.copyfileobj(ZstdDecompressor().stream_reader(packed, read_across_frames=True), file)
        return target

    def _of_mcap(self, file: Path) -> Iterator[RawMessage | Extra]:
        known = _Known()
        with open(file, "rb") as stream:
            whole = 0
            try:
                for record in StreamReader(stream, emit_chunks=True).records:
                    yield from known.take(breakup_chunk(record) if isinstance(record, Chunk) else [record])
                    # The reader takes one record at a time from the file: up to here all is well.
                    whole = stream.tell()
            except _DAMAGE as error:
                yield from known.take(_cut_off_chunk(stream, whole))
                reason = f" ({error})" if str(error) else ""
                self.damage = f"{file.name} is damaged or was cut off and was copied up to there{reason}"

    def _library(self) -> AnyReader:
        try:
            reader = AnyReader([self.path], default_typestore=get_typestore(Stores.ROS2_JAZZY))
            reader.open()
        except Exception as error:
            raise BagError(f"{self.path}: not a recording that can be read ({error})") from error
        return reader

    def _through_library(self) -> Iterator[RawMessage]:
        with closing(self._library()) as reader:
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
                    yield RawMessage(topics[connection.id], time, time, 0, bytes(data))
            except Exception as error:
                self.damage = f"{self.path.name} is damaged and was copied up to there ({error})"


class _Known:
    """Schemas and topics of one MCAP file, as far as they have been met."""

    def __init__(self) -> None:
        self._schemas: dict[int, Schema] = {}
        self._topics: dict[int, RawTopic] = {}

    def take(self, records: list[McapRecord]) -> Iterator[RawMessage | Extra]:
        """Remember what records tell, and give what is to be copied."""
        for record in records:
            if isinstance(record, Message):
                topic = self._topics[record.channel_id]
                yield RawMessage(topic, record.log_time, record.publish_time, record.sequence, record.data)
            elif isinstance(record, Schema):
                self._schemas[record.id] = record
            elif isinstance(record, Channel):
                self._topics.setdefault(record.id, _topic(record, self._schemas.get(record.schema_id)))
            elif isinstance(record, (Attachment, Metadata)):
                yield record


def _cut_off_chunk(stream: BinaryIO, offset: int) -> list[McapRecord]:
    """The whole records in a chunk at `offset` whose end is missing (https://mcap.dev/spec, "Chunk")."""
    stream.seek(offset)
    head = stream.read(9)
    if len(head) < 9 or head[0] != Opcode.CHUNK:
        return []
    size = int.from_bytes(head[1:], "little")
    body = stream.read(size)
    if len(body) == size or len(body) < _CHUNK_HEADER.size:
        return []
    *times, _, _, name_length = _CHUNK_HEADER.unpack_from(body)
    compression = body[_CHUNK_HEADER.size : _CHUNK_HEADER.size + name_length]
    data = body[_CHUNK_HEADER.size + name_length + 8 :]
    try:
        if compression == b"zstd":
            data = ZstdDecompressor().decompressobj().decompress(data)
        elif compression:
            return []
        end = 0
        while end + 9 <= len(data):
            following = end + 9 + int.from_bytes(data[end + 1 : end + 9], "little")
            if following > len(data):
                break
            end = following
        return breakup_chunk(Chunk("", data[:end], times[1], times[0], 0, end))
    except _DAMAGE:
        return []


def _topic(channel: Channel, schema: Schema | None) -> RawTopic:
    return RawTopic(
        channel.topic,
        "" if schema is None else schema.name,
        b"" if schema is None else schema.data,
        "" if schema is None else schema.encoding,
        channel.message_encoding,
        dict(channel.metadata),
    )


def _topics_of_mcap(stream: BinaryIO) -> set[str]:
    """From the index at the end; from all records when there is none."""
    try:
        summary = SeekingReader(stream).get_summary()
        if summary is not None and summary.channels:
            return {channel.topic for channel in summary.channels.values()}
    except _DAMAGE:
        # A file that was cut off has no index.
        pass
    stream.seek(0)
    names: set[str] = set()
    try:
        for record in StreamReader(stream).records:
            if isinstance(record, Channel):
                names.add(record.topic)
    except _DAMAGE:
        pass
    return names
