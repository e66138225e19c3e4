"""Messages as they lie in a recording: many of one topic in one buffer for NumPy, or one by one for copying."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from mcap.records import Attachment, Metadata
from numpy.typing import NDArray

Integers = NDArray[np.int64]

BATCH = 8192
"""Number of messages of one topic per batch, where the recording does not group them itself."""

LATEST = 2**63 - 1
"""Latest time of a message that ROS can express, ns."""

Extra = Attachment | Metadata
"""Content of an MCAP file besides messages."""


@dataclass(frozen=True, eq=False)
class RawMessages:
    """Serialised messages of one topic, in the order of the recording.

    Attributes:
        topic: Their topic.
        received: (k,) Recording times, ns.
        buffer: Holds all of them.
        offsets: (k,) Where each one begins in `buffer`.
        lengths: (k,) Bytes of each one.
    """

    topic: str
    received: Integers
    buffer: bytes
    offsets: Integers
    lengths: Integers

    def __len__(self) -> int:
        """Number of messages."""
        return len(self.offsets)

    def payload(self, row: int) -> bytes:
        """The bytes of one message."""
        begin = int(self.offsets[row])
        return self.buffer[begin : begin + int(self.lengths[row])]


@dataclass(frozen=True)
class RawTopic:
    """A topic with all that a reader of a copy needs.

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


def batches(messages: Iterable[tuple[str, int, bytes]], size: int = BATCH) -> Iterator[RawMessages]:
    """Group single messages (topic, recording time in ns, bytes) by topic, up to `size` of each at a time."""
    waiting: dict[str, list[tuple[int, bytes]]] = {}
    for topic, received, data in messages:
        kept = waiting.setdefault(topic, [])
        kept.append((received, data))
        if len(kept) >= size:
            yield _joined(topic, waiting.pop(topic))
    for topic, kept in waiting.items():
        yield _joined(topic, kept)


def _joined(topic: str, messages: list[tuple[int, bytes]]) -> RawMessages:
    times, payloads = zip(*messages, strict=True)
    lengths = np.fromiter(map(len, payloads), dtype=np.int64, count=len(payloads))
    return RawMessages(
        topic, np.array(times, dtype=np.int64), b"".join(payloads), np.cumsum(lengths) - lengths, lengths
    )
