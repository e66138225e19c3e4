"""Reading rosbag2 recordings, with the message definitions that they carry themselves."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from rosbags.highlevel import AnyReader, AnyReaderError
from rosbags.interfaces import Connection
from rosbags.rosbag2 import ReaderError
from rosbags.rosbag2.reader import DirectoryReader
from rosbags.rosbag2.storage_mcap import McapReader
from rosbags.typesys import Stores, TypesysError, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.recordings.mcap_scan import McapScan
from impact_aware.recordings.raw_messages import RawMessages, batches

_KNOWN = get_typestore(Stores.ROS2_JAZZY)

SUFFIXES = (".mcap", ".db3")
"""Names of single files that are recordings; `.zstd` or `.zst` after them is decompressed."""

_OPENING_ERRORS = (AnyReaderError, ReaderError, OSError, ValueError, KeyError, AssertionError, TypeError)
"""What the library raises for files that are cut off, empty or something else."""


class BagError(ImpactAwareError):
    """A recording can't be read, or lacks what is asked of it."""


def is_recording(path: Path) -> bool:
    """Whether the path looks like a rosbag2 recording: a folder of one, or a single file."""
    if path.is_dir():
        return (path / "metadata.yaml").exists() or bool(_storage_files(path))
    return path.suffix in SUFFIXES or _packed_suffix(path) is not None


class Bag:
    """One recording, opened for reading as a context manager.

    A folder without `metadata.yaml`, as a crash leaves it, and an MCAP file without its end are read as far as they
    go; `damage` then says so.

    Attributes:
        path: Where it is.
        topics: Topic name -> message type.
        counts: Topic name -> number of messages.
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
        self.damage: str | None = None
        self._parts: list[_Part] = []
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the recording."""
        self._stack.close()

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
        topic = self.topic_named(name)
        for received, raw in self.serialized(topic):
            yield received * 1e-9, self.deserialize(topic, raw)

    def serialized(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """Messages of a topic with their recording time in ns, as bytes, in order of time."""
        for part in self._parts:
            yield from part.serialized(topic)

    def raw(self, topics: Collection[str]) -> Iterator[RawMessages]:
        """The messages of several topics, many at a time; in order within each topic.

        What a damaged recording has is given until the damage; `damage` then tells.
        """
        for part in self._parts:
            yield from part.raw(topics)
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
        except Exception as error:
            raise BagError(f"{self.path}: a message on {topic} is not a {kind} ({error})") from error

    def _open(self) -> None:
        path = self.path
        if path.is_file() and _packed_suffix(path) is not None:
            path = self._unpacked(path)
        if path.is_dir() and not (path / "metadata.yaml").exists():
            files = _storage_files(path)
            if not files:
                raise BagError(f"{self.path}: not a recording: neither metadata.yaml nor .mcap or .db3 files in it")
            self.damage = f"{self.path.name} has no metadata.yaml: its files are read one after the other"
            self._parts = [self._part(file) for file in files]
        else:
            self._parts = [self._part(path)]
        self.damage = self.damage or next((part.damage for part in self._parts if part.damage), None)

    def _part(self, path: Path) -> _Part:
        try:
            return self._stack.enter_context(_Intact(path))
        except _OPENING_ERRORS as error:
            reason = str(error) or type(error).__name__
        files = _storage_files(path) if path.is_dir() else [path]
        if files and all(file.suffix == ".mcap" for file in files):
            walked = _Walked(path, files)
            if walked.topics:
                return walked
        raise BagError(f"{self.path}: not a recording that can be read ({reason.rstrip('.')})")

    def _unpacked(self, path: Path) -> Path:
        # Imported here, because hardly any recording needs it.
        import pyarrow

        folder = Path(self._stack.enter_context(TemporaryDirectory()))
        target = folder / path.stem
        try:
            with pyarrow.input_stream(path, compression="zstd") as source, open(target, "wb") as file:
                shutil.copyfileobj(source, file)
        except (pyarrow.ArrowException, OSError) as error:
            raise BagError(f"{self.path}: can't be decompressed ({error})") from error
        return target


class _Part(ABC):
    """A recording, or one of its files, that can be read on its own."""

    def __init__(self) -> None:
        self.topics: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.types: Typestore = get_typestore(Stores.ROS2_JAZZY)
        self.damage: str | None = None

    def serialized(self, topic: str) -> Iterator[tuple[int, bytes]]:
        for raw in self.raw([topic]):
            for row in range(len(raw)):
                yield int(raw.received[row]), raw.payload(row)

    @abstractmethod
    def raw(self, topics: Collection[str]) -> Iterator[RawMessages]:
        """Blocks of undecoded messages."""


class _Intact(_Part):
    """What the library opens."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._reader = AnyReader([path], default_typestore=self.types)

    def __enter__(self) -> _Intact:
        self._reader.open()
        self.types = self._reader.typestore
        for connection in self._reader.connections:
            self.topics[connection.topic] = connection.msgtype
            self.counts[connection.topic] = self.counts.get(connection.topic, 0) + connection.msgcount
        return self

    def __exit__(self, *exception: object) -> None:
        self._reader.close()

    def serialized(self, topic: str) -> Iterator[tuple[int, bytes]]:
        for _, time, data in self._guarded([topic]):
            yield time, data

    def raw(self, topics: Collection[str]) -> Iterator[RawMessages]:
        files = self._plain_mcap_files()
        if files is None:
            yield from batches(self._guarded(topics))
            return
        for file in files:
            scan = McapScan(file)
            yield from scan.messages(topics)
            if scan.damage:
                self.damage = f"{self._path.name} {scan.damage}"

    def _guarded(self, topics: Collection[str]) -> Iterator[tuple[str, int, bytes]]:
        """Messages through the library, until it stumbles."""
        wanted: list[Connection] = [c for c in self._reader.connections if c.topic in topics]
        if not wanted:
            return
        try:
            for connection, time, data in self._reader.messages(wanted):
                yield connection.topic, time, data
        except Exception as error:  # storages and decompressors raise errors without a common base
            self.damage = f"{self._path.name} is damaged and was read up to there ({str(error).rstrip('.')})"

    def _plain_mcap_files(self) -> list[Path] | None:
        """Its files, if they are MCAP whose messages are not compressed one by one."""
        storage = self._reader.readers[0].storage if self._reader.is2 else None  # type: ignore[union-attr]
        parts = storage.storages if isinstance(storage, DirectoryReader) else [storage]
        if isinstance(storage, DirectoryReader) and storage.metadata.compression_mode == "message":
            return None
        files = [Path(str(part.path)) for part in parts if isinstance(part, McapReader)]
        return files if files and len(files) == len(parts) else None


class _Walked(_Part):
    """MCAP files that the library refuses, as a crash leaves them without an end: read from front to back."""

    def __init__(self, path: Path, files: list[Path]) -> None:
        super().__init__()
        self._path, self._files = path, files
        definitions: dict[str, Any] = {}
        for file in files:
            scan = McapScan(file)
            for _ in scan.messages(()):
                pass
            self._note(file, scan)
            for number, channel in scan.channels.items():
                self.topics[channel.topic] = channel.type
                self.counts[channel.topic] = self.counts.get(channel.topic, 0) + scan.counts.get(number, 0)
                try:
                    if channel.encoding == "ros2msg":
                        definitions.update(get_types_from_msg(channel.definition, channel.type))
                    elif channel.encoding == "ros2idl":
                        definitions.update(get_types_from_idl(channel.definition))
                except TypesysError:
                    # A type that nobody asks for must not keep the others from being read.
                    continue
        unknown = {name: fields for name, fields in definitions.items() if name not in self.types.fielddefs}
        self.types.register(unknown)

    def raw(self, topics: Collection[str]) -> Iterator[RawMessages]:
        for file in self._files:
            scan = McapScan(file)
            yield from scan.messages(topics)
            self._note(file, scan)

    def _note(self, file: Path, scan: McapScan) -> None:
        if scan.damage and self.damage is None:
            self.damage = f"{file.name} {scan.damage}; it was read up to there"


def _storage_files(folder: Path) -> list[Path]:
    files = [file for file in folder.iterdir() if file.suffix in SUFFIXES]
    # rosbag2 numbers the files of a split recording: NAME_0, NAME_1, ..., NAME_10.
    return sorted(files, key=lambda file: (len(file.name), file.name))


def _packed_suffix(path: Path) -> str | None:
    """`.mcap` or `.db3` of a file that is compressed as a whole."""
    if path.suffix in (".zstd", ".zst") and Path(path.stem).suffix in SUFFIXES:
        return Path(path.stem).suffix
    return None
