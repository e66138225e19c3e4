"""MCAP files from front to back: whole chunks at a time, and as far as they go when the recording was cut off.

The library's reader makes one Python object per message, wants the index at the end of the file, and gives nothing of
a chunk that was cut off. It is enough to walk along the records (https://mcap.dev/spec): one byte for the kind, eight
for the length.
"""

from __future__ import annotations

import binascii
import os
import struct
from collections.abc import Callable, Collection, Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Metadata, Schema

from impact_aware.bags.bag_files import LARGEST_CHUNK, decompress
from impact_aware.bags.raw_messages import BATCH, LATEST, Extra, Integers, RawMessage, RawMessages, RawTopic
from impact_aware.errors import one_reason
from impact_aware.resources import most_unpacked

MAGIC = b"\x89MCAP0\r\n"

SCHEMA, CHANNEL, MESSAGE, CHUNK = 0x03, 0x04, 0x05, 0x06
"""Kinds of records."""

_FOOTER, _DATA_END = 0x02, 0x0F
_RECORD = struct.Struct("<BQ")
_RECORD_HEADS = np.dtype([("kind", "u1"), ("size", "<u8")])
_CHUNK_HEADER = struct.Struct("<QQQII")
_MESSAGE_HEADER = struct.Struct("<HIQQ")
_HEADS = np.dtype([("channel", "<u2"), ("sequence", "<u4"), ("time", "<u8"), ("published", "<u8")])

LARGEST_RECORD = 1 << 30
"""Size of a record, bytes; compressed chunks have 1 to 10 MB, pictures and point clouds some ten."""

MOST_RECORDS = 1 << 21
"""Records of a chunk; joint states of an arm have 200 bytes, so that the largest chunk holds 1.3 million."""

MOST_DEFINITIONS = 1 << 17
"""Schemas and channels of a chunk: there are 65536 of each at most."""

_RECORDS: dict[int, Callable[[ReadDataStream], Schema | Channel | Extra]] = {
    SCHEMA: Schema.read,
    CHANNEL: Channel.read,
    int(Opcode.ATTACHMENT): Attachment.read,
    int(Opcode.METADATA): Metadata.read,
}


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
        self.channels: dict[int, RawTopic] = {}
        self.counts: dict[int, int] = {}
        self.damage: str | None = None
        self._room = 0
        self._schemas: dict[int, Schema] = {}

    def messages(self, topics: Collection[str]) -> Iterator[RawMessages]:
        """The messages of some topics, chunk by chunk; `channels` and `counts` learn of all of them."""
        self.counts = {}
        for begin, data in self._blocks((SCHEMA, CHANNEL, MESSAGE, CHUNK)):
            kinds, places, sizes = self._places(data, begin)
            self._learn(data, kinds, places, sizes)
            chosen = kinds == MESSAGE
            yield from self._by_topic(data, places[chosen], sizes[chosen], topics)

    def records(self) -> Iterator[RawMessage | Extra]:
        """Every message, attachment and piece of metadata, up to the end of the data."""
        for begin, data in self._blocks((MESSAGE, CHUNK, *_RECORDS)):
            for kind, place, size in zip(*(column.tolist() for column in self._places(data, begin)), strict=True):
                if kind != MESSAGE:
                    record = self._read(kind, data[place : place + size])
                    if record is not None:
                        yield record
                    continue
                number, sequence, recorded, published = _MESSAGE_HEADER.unpack_from(data, place)
                if number in self.channels:
                    body = data[place + _MESSAGE_HEADER.size : place + size]
                    yield RawMessage(self.channels[number], recorded, published, sequence, body)

    def _blocks(self, wanted: Collection[int]) -> Iterator[tuple[int, bytes]]:
        """Position in the file and content of each chunk, decompressed, and of the wanted records between chunks."""
        loose, first = bytearray(), 0
        for kind, begin, body in self._outer_records(wanted):
            if loose and (kind == CHUNK or len(loose) > BATCH * 256):
                yield first, bytes(loose)
                loose.clear()
            if kind == CHUNK:
                yield begin, body
            elif kind == MESSAGE and len(body) < _MESSAGE_HEADER.size:
                self._note(f"has a damaged message at byte {begin}, which was left out")
            else:
                first = first if loose else begin
                loose += _RECORD.pack(kind, len(body)) + body
        if loose:
            yield first, bytes(loose)

    def _outer_records(self, wanted: Collection[int]) -> Iterator[tuple[int, int, bytes]]:
        """Kind, position in the file and content of the wanted records outside chunks; chunks are decompressed."""
        self.damage, self._room = None, most_unpacked(self.path)
        with open(self.path, "rb") as file:
            end = os.fstat(file.fileno()).st_size
            if file.read(len(MAGIC)) != MAGIC:
                self.damage = "is not an MCAP file"
                return
            while True:
                head = file.read(_RECORD.size)
                if len(head) < _RECORD.size:
                    self._note(f"ends without a footer at byte {file.tell()}: the recording was cut off")
                    return
                kind, size = _RECORD.unpack(head)
                if kind in (_DATA_END, _FOOTER):
                    return
                begin = file.tell()
                if kind not in wanted:
                    file.seek(min(begin + size, end))
                    continue
                if size > LARGEST_RECORD:
                    self._note(f"has a record of {size} bytes at byte {begin}")
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
            self._note(f"has a damaged chunk at byte {begin}, which was left out")
            return None
        _, _, size, checksum, name_length = _CHUNK_HEADER.unpack_from(body)
        if self._room < 0:
            self._note(f"unpacks to more than {most_unpacked(self.path)} bytes: it was read up to byte {begin}")
            return None
        start = _CHUNK_HEADER.size + name_length + 8
        compression = body[_CHUNK_HEADER.size : _CHUNK_HEADER.size + name_length].decode(errors="replace")
        # The size in the chunk's header may be wrong: a usual size bounds it.
        most, records = min(size, LARGEST_CHUNK), None
        try:
            records = decompress(body[start:], compression, most)
            if whole and len(records) != size:
                raise ValueError(f"{len(records)} bytes, where {size} are expected")
            if whole and checksum and binascii.crc32(records) != checksum:
                raise ValueError("its checksum does not match")
            return records
        except Exception as error:  # the decompressors' errors have no common base
            self._note(f"has a damaged chunk at byte {begin}, which was left out ({one_reason(error)})")
            return None
        finally:
            self._room -= most if records is None else len(records)

    def _places(self, data: bytes, begin: int) -> tuple[Integers, Integers, Integers]:
        """Kind, place and size of the records in the block that lies at byte `begin` of the file."""
        begins: list[int] = []
        position, end = 0, len(data)
        head, least = _RECORD.unpack_from, _MESSAGE_HEADER.size
        while position + 9 <= end:
            kind, size = head(data, position)
            following = position + 9 + size
            broken = following > end or kind == 0 or (size < least and kind == MESSAGE)
            if broken or len(begins) == MOST_RECORDS:
                why = "damaged records" if broken else f"more than {MOST_RECORDS} records"
                self._note(f"has {why} in the chunk at byte {begin}, which were left out")
                break
            begins.append(position)
            position = following
        places = np.array(begins, dtype=np.int64)
        heads = np.frombuffer(data, dtype=np.uint8)[places[:, None] + np.arange(9)].view(_RECORD_HEADS).reshape(-1)
        return heads["kind"].astype(np.int64), places + 9, heads["size"].astype(np.int64)

    def _learn(self, data: bytes, kinds: Integers, places: Integers, sizes: Integers) -> None:
        for row in np.flatnonzero((kinds == SCHEMA) | (kinds == CHANNEL))[:MOST_DEFINITIONS].tolist():
            self._read(int(kinds[row]), data[places[row] : places[row] + sizes[row]])

    def _read(self, kind: int, body: bytes) -> Extra | None:
        """Read a record other than a message: a schema or channel is remembered, an attachment or metadata returned."""
        reader = _RECORDS.get(kind)
        if reader is None:
            return None
        try:
            record = reader(ReadDataStream(BytesIO(body)))
        except Exception as error:  # the library's errors have no common base
            self._note(f"has a damaged record, which was left out ({one_reason(error)})")
            return None
        if isinstance(record, Schema):
            self._schemas[record.id] = record
        elif isinstance(record, Channel):
            self.channels.setdefault(record.id, topic_of(record, self._schemas.get(record.schema_id)))
        else:
            return record
        return None

    def _by_topic(
        self, data: bytes, places: Integers, sizes: Integers, topics: Collection[str]
    ) -> Iterator[RawMessages]:
        """Messages at their places in a block, topic by topic."""
        content = np.frombuffer(data, dtype=np.uint8)
        heads = content[places[:, None] + np.arange(_HEADS.itemsize)].view(_HEADS).reshape(-1)
        usable = heads["time"] <= LATEST
        if not usable.all():
            count = np.count_nonzero(~usable)
            self._note(f"has {count} messages after the year 2262, which were left out")
        for number in np.unique(heads["channel"]).tolist():
            rows = usable & (heads["channel"] == number)
            self.counts[number] = self.counts.get(number, 0) + int(np.count_nonzero(rows))
            channel = self.channels.get(number)
            if channel is not None and channel.name in topics and rows.any():
                received, offsets = heads["time"][rows].astype(np.int64), places[rows] + _HEADS.itemsize
                yield RawMessages(channel.name, received, data, offsets, sizes[rows] - _HEADS.itemsize)

    def _note(self, damage: str) -> None:
        self.damage = self.damage or damage


def topic_of(channel: Channel, schema: Schema | None) -> RawTopic:
    """A channel and its schema as a topic."""
    schema = schema or Schema(id=0, name="", encoding="", data=b"")
    return RawTopic(
        channel.topic, schema.name, schema.data, schema.encoding, channel.message_encoding, dict(channel.metadata)
    )
