"""MCAP files from front to back: whole chunks at a time, and as far as they go when the recording was cut off.

The library's reader makes one Python object per message and wants the index at the end of the file. For a million
equal messages, and for a file that a crash left without its end, it is enough to walk along the records
(https://mcap.dev/spec): one byte that says what it is, eight that say how long.
"""

from __future__ import annotations

import binascii
import os
import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impact_aware.errors import one_reason
from impact_aware.recordings.bag_files import LARGEST_CHUNK, decompress
from impact_aware.recordings.raw_messages import BATCH, RawMessages

MAGIC = b"\x89MCAP0\r\n"

SCHEMA, CHANNEL, MESSAGE, CHUNK = 0x03, 0x04, 0x05, 0x06
"""Kinds of records."""

_FOOTER, _DATA_END = 0x02, 0x0F
_RECORD = struct.Struct("<BQ")
MESSAGE_HEADER = struct.Struct("<HIQQ")
_CHUNK_HEADER = struct.Struct("<QQQII")
_MESSAGE_HEAD = np.dtype(
    [("kind", "u1"), ("size", "<u8"), ("channel", "<u2"), ("sequence", "<u4"), ("time", "<u8"), ("published", "<u8")]
)

LARGEST_RECORD = 1 << 30
"""Size of a record, bytes; compressed chunks have 1 to 10 MB, pictures and point clouds some ten."""

_LATEST = np.iinfo(np.int64).max
"""Latest time of a message, ns: what ROS can say."""

_SHORT_RUN = 16
"""Messages of equal size in a row from which on they are taken together."""


class McapChannel(NamedTuple):
    """A topic of the file.

    Attributes:
        topic: Its name.
        type: Message type.
        encoding: Language of `definition`, `ros2msg` or `ros2idl`.
        definition: Definition of the message type.
        message_encoding: How messages are serialised, `cdr`.
    """

    topic: str
    type: str
    encoding: str
    definition: str
    message_encoding: str


class McapScan:
    """Reads one file in the order in which it was written.

    Attributes:
        path: The file.
        channels: By their number, as far as they have been met.
        counts: Messages met so far, by channel.
        damage: What is wrong with the file, in words; None as long as nothing is.
    """

    def __init__(self, path: Path) -> None:
        """Nothing is read yet."""
        self.path = path
        self.channels: dict[int, McapChannel] = {}
        self.counts: dict[int, int] = {}
        self.damage: str | None = None
        self._schemas: dict[int, tuple[str, str, str]] = {}

    def messages(self, topics: Collection[str]) -> Iterator[RawMessages]:
        """The messages of some topics, chunk by chunk; `channels` and `counts` learn of all of them."""
        self.counts = {}
        loose = _Loose(self)
        for kind, begin, body in self._outer_records((SCHEMA, CHANNEL, MESSAGE, CHUNK)):
            if kind == CHUNK:
                yield from loose.take(topics)
                yield from self._select(body, begin, topics)
            elif kind == MESSAGE and len(body) < MESSAGE_HEADER.size:
                self.damage = self.damage or f"has a damaged message at byte {begin}, which was left out"
            elif kind == MESSAGE:
                loose.add(body)
                if loose.count >= BATCH:
                    yield from loose.take(topics)
            else:
                self._learn(kind, body)
        yield from loose.take(topics)

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Kind and content of every record but chunks, whose records are among them, up to the end of the data."""
        for kind, begin, body in self._outer_records():
            if kind != CHUNK:
                if kind != MESSAGE or len(body) >= MESSAGE_HEADER.size:
                    yield kind, body
                continue
            position = 0
            while position + _RECORD.size <= len(body):
                inner, size = _RECORD.unpack_from(body, position)
                position += _RECORD.size
                short = inner == MESSAGE and size < MESSAGE_HEADER.size
                if inner == 0 or short or position + size > len(body):
                    self._note_damaged_records(begin)
                    break
                yield inner, body[position : position + size]
                position += size

    def _outer_records(self, wanted: Collection[int] = ()) -> Iterator[tuple[int, int, bytes]]:
        """Kind, position in the file and content of the records outside chunks; a chunk's content is decompressed.

        Only `wanted` kinds, all of them when empty.
        """
        self.damage = None
        with open(self.path, "rb") as file:
            end = os.fstat(file.fileno()).st_size
            if file.read(len(MAGIC)) != MAGIC:
                self.damage = "is not an MCAP file"
                return
            while True:
                head = file.read(_RECORD.size)
                if len(head) < _RECORD.size:
                    where = f"at byte {file.tell()}"
                    self.damage = self.damage or f"ends without a footer {where}: the recording was cut off"
                    return
                kind, size = _RECORD.unpack(head)
                if kind in (_DATA_END, _FOOTER):
                    return
                begin = file.tell()
                if wanted and kind not in wanted:
                    file.seek(min(begin + size, end))
                    continue
                if size > LARGEST_RECORD:
                    self.damage = self.damage or f"has a record of {size} bytes at byte {begin}"
                    return
                body = file.read(min(size, end - begin))
                if kind == CHUNK:
                    content = self._chunk(body, begin, whole=len(body) == size)
                    if content is not None:
                        yield kind, begin, content
                elif len(body) < size:
                    self.damage = f"ends in the middle of a record at byte {file.tell()}"
                    return
                else:
                    yield kind, begin, body

    def _chunk(self, body: bytes, begin: int, *, whole: bool) -> bytes | None:
        """The records of a chunk, as far as they go; None where they can't be read."""
        if not whole:
            self.damage = f"ends in the middle of a chunk at byte {begin + len(body)}"
        if len(body) < _CHUNK_HEADER.size:
            self.damage = self.damage or f"has a damaged chunk at byte {begin}, which was left out"
            return None
        _, _, size, checksum, name_length = _CHUNK_HEADER.unpack_from(body)
        start = _CHUNK_HEADER.size + name_length + 8
        compression = body[_CHUNK_HEADER.size : _CHUNK_HEADER.size + name_length].decode(errors="replace")
        content = body[start:]
        try:
            # What the chunk says of its size is believed only as far as it is usual.
            records = decompress(content, compression, min(size, LARGEST_CHUNK))
            if whole and len(records) != size:
                raise ValueError(f"{len(records)} bytes, where {size} are expected")
            if whole and checksum and binascii.crc32(records) != checksum:
                raise ValueError("its checksum does not match")
            return records
        except Exception as error:  # the decompressors' errors have no common base
            why = one_reason(error)
            self.damage = self.damage or f"has a damaged chunk at byte {begin}, which was left out ({why})"
            return None

    def _note_damaged_records(self, begin: int) -> None:
        self.damage = self.damage or f"has damaged records in the chunk at byte {begin}, which were left out"

    def _select(self, data: bytes, begin: int, topics: Collection[str]) -> Iterator[RawMessages]:
        """Walk along the records of the chunk that lies at byte `begin` of the file."""
        numbers: list[int] = []
        times: list[int] = []
        offsets: list[int] = []
        lengths: list[int] = []
        position, end = 0, len(data)
        record, message = _RECORD.unpack_from, MESSAGE_HEADER.unpack_from
        patience, walked = _SHORT_RUN, _SHORT_RUN
        while position + 9 <= end:
            kind, size = record(data, position)
            if kind == MESSAGE and walked >= patience:
                run = _equal_records(data, position, size + 9)
                # Where different messages take turns, looking for runs would cost more than it saves.
                patience, walked = (_SHORT_RUN if run >= _SHORT_RUN else 2 * patience), 0
                if run >= _SHORT_RUN:
                    heads = _heads(data, position, size + 9, run)
                    numbers += heads["channel"].tolist()
                    times += heads["time"].tolist()
                    offsets += range(position + 31, position + 31 + run * (size + 9), size + 9)
                    lengths += [size - 22] * run
                    position += run * (size + 9)
                    walked = patience
                    continue
            position += 9
            if kind == 0 or position + size > end or (kind == MESSAGE and size < MESSAGE_HEADER.size):
                self._note_damaged_records(begin)
                break
            if kind == MESSAGE:
                number, _, time, _ = message(data, position)
                numbers.append(number)
                times.append(time)
                offsets.append(position + 22)
                lengths.append(size - 22)
            elif kind in (SCHEMA, CHANNEL):
                self._learn(kind, data[position : position + size])
            position += size
            walked += 1
        yield from self._group(data, numbers, times, offsets, lengths, topics)

    def _group(
        self,
        data: bytes,
        numbers: list[int],
        times: list[int],
        offsets: list[int],
        lengths: list[int],
        topics: Collection[str],
    ) -> Iterator[RawMessages]:
        if not numbers:
            return
        of_channel, stamps = np.array(numbers), np.array(times, dtype=np.uint64)
        columns = [stamps.astype(np.int64), *(np.array(column, dtype=np.int64) for column in (offsets, lengths))]
        late = stamps > _LATEST
        if late.any():
            count = np.count_nonzero(late)
            self.damage = self.damage or f"has {count} messages after the year 2262, which were left out"
            of_channel, columns = of_channel[~late], [column[~late] for column in columns]
        for number in np.unique(of_channel).tolist():
            rows = np.flatnonzero(of_channel == number)
            self.counts[number] = self.counts.get(number, 0) + len(rows)
            channel = self.channels.get(number)
            if channel is not None and channel.topic in topics:
                received, where, length = (column[rows] for column in columns)
                yield RawMessages(channel.topic, received, data, where, length)

    def _learn(self, kind: int, body: bytes) -> None:
        number = int.from_bytes(body[:2], "little")
        if kind == SCHEMA:
            name, encoding, definition = _strings(body, 2, 3)
            self._schemas[number] = (name, encoding, definition)
        elif number not in self.channels:
            schema = int.from_bytes(body[2:4], "little")
            topic, message_encoding = _strings(body, 4, 2)
            self.channels[number] = McapChannel(topic, *self._schemas.get(schema, ("", "", "")), message_encoding)


class _Loose:
    """Messages that lie in the file without a chunk around them."""

    def __init__(self, scan: McapScan) -> None:
        self._scan = scan
        self._bodies: list[bytes] = []

    @property
    def count(self) -> int:
        return len(self._bodies)

    def add(self, body: bytes) -> None:
        self._bodies.append(body)

    def take(self, topics: Collection[str]) -> Iterator[RawMessages]:
        if self._bodies:
            bodies, self._bodies = self._bodies, []
            heads = [MESSAGE_HEADER.unpack_from(body) for body in bodies]
            sizes = np.array([len(body) for body in bodies])
            begins = np.cumsum(sizes) - sizes + 22
            yield from self._scan._group(
                b"".join(bodies),
                [head[0] for head in heads],
                [head[2] for head in heads],
                begins.tolist(),
                (sizes - 22).tolist(),
                topics,
            )


def _heads(data: bytes, position: int, step: int, count: int) -> NDArray[np.void]:
    """The heads of messages that lie `step` bytes apart, a view."""
    content = np.frombuffer(data, dtype=np.uint8, count=(count - 1) * step + _MESSAGE_HEAD.itemsize, offset=position)
    rows = np.lib.stride_tricks.as_strided(content, (count, _MESSAGE_HEAD.itemsize), (step, 1), writeable=False)
    return np.ascontiguousarray(rows).view(_MESSAGE_HEAD)[:, 0]


def _equal_records(data: bytes, position: int, step: int) -> int:
    """How many messages of the same size follow each other from `position` on."""
    count = (len(data) - position) // step
    if count < 1 or step < _MESSAGE_HEAD.itemsize:
        return 0
    heads = _heads(data, position, step, count)
    same = (heads["kind"] == MESSAGE) & (heads["size"] == step - 9)
    return count if same.all() else int(same.argmin())


def _strings(body: bytes, position: int, count: int) -> list[str]:
    found = []
    for _ in range(count):
        size = int.from_bytes(body[position : position + 4], "little")
        found.append(body[position + 4 : position + 4 + size].decode(errors="replace"))
        position += 4 + size
    return found
