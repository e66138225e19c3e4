"""Every message of a recording as its bytes, for copying: nothing is decoded, and one chunk is held at a time."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import yaml
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.reader import SeekingReader
from mcap.records import Attachment, Channel, Metadata, Schema
from mcap.stream_reader import CRCValidationError
from rosbags.highlevel import AnyReader
from rosbags.interfaces import ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag2.metadata import dump_qos_v9
from rosbags.typesys import Stores, get_typestore
from zstandard import ZstdDecompressor, ZstdError

from impact_aware.recordings.bag import BagError
from impact_aware.recordings.mcap_scan import CHANNEL, MESSAGE, MESSAGE_HEADER, SCHEMA, McapScan

_DAMAGE = (McapError, CRCValidationError, ZstdError, struct.error, RuntimeError, EOFError, IndexError, ValueError)
"""What the MCAP library raises where a file was cut off or spoilt."""


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
            names |= _topics_of_mcap(file)
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
                return [self._decompressed(self.path)]
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
        return [self._decompressed(self.path / name) if mode == "file" else self.path / name for name in names]

    def _decompressed(self, path: Path) -> Path:
        target = Path(self._stack.enter_context(TemporaryDirectory(prefix="impact_aware_"))) / path.stem
        with open(path, "rb") as source, open(target, "wb") as file:
            shutil.copyfileobj(ZstdDecompressor().stream_reader(source, read_across_frames=True), file)
        return target

    def _of_mcap(self, file: Path) -> Iterator[RawMessage | Extra]:
        scan = McapScan(file)
        schemas: dict[int, Schema] = {}
        topics: dict[int, RawTopic] = {}
        for kind, body in scan.records():
            if kind == MESSAGE:
                channel_id, sequence, recorded, published = MESSAGE_HEADER.unpack_from(body)
                topic = topics.get(channel_id)
                if topic is not None:
                    yield RawMessage(topic, recorded, published, sequence, body[MESSAGE_HEADER.size :])
            elif kind == SCHEMA:
                schema = Schema.read(_content(body))
                schemas[schema.id] = schema
            elif kind == CHANNEL:
                channel = Channel.read(_content(body))
                topics.setdefault(channel.id, _topic(channel, schemas.get(channel.schema_id)))
            elif kind == Opcode.ATTACHMENT:
                yield Attachment.read(_content(body))
            elif kind == Opcode.METADATA:
                yield Metadata.read(_content(body))
        if scan.damage:
            self.damage = f"{file.name} {scan.damage}; it was copied up to there"

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


def _content(body: bytes) -> ReadDataStream:
    return ReadDataStream(BytesIO(body))


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
    except _DAMAGE:
        pass
    scan = McapScan(file)
    for _ in scan.messages(()):
        pass
    return {channel.topic for channel in scan.channels.values()}
