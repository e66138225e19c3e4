"""Messages as they lie in a recording: one buffer and where in it each of them is, for NumPy to look at all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

BATCH = 8192
"""Messages of one topic that are handed on together, where the recording does not group them itself."""


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


def batches(messages: Iterable[tuple[str, int, bytes]], size: int = BATCH) -> Iterator[RawMessages]:
    """Group single messages (topic, recording time in ns, bytes) by topic, up to `size` of each at a time."""
    waiting: dict[str, tuple[list[int], list[bytes]]] = {}
    for topic, received, data in messages:
        kept = waiting.get(topic)
        if kept is None:
            kept = waiting[topic] = ([], [])
        times, payloads = kept
        times.append(received)
        payloads.append(data)
        if len(times) >= size:
            yield _joined(topic, times, payloads)
            del waiting[topic]
    for topic, (times, payloads) in waiting.items():
        yield _joined(topic, times, payloads)


def _joined(topic: str, times: list[int], payloads: list[bytes]) -> RawMessages:
    lengths = np.fromiter(map(len, payloads), dtype=np.int64, count=len(payloads))
    offsets = np.cumsum(lengths) - lengths
    return RawMessages(topic, np.array(times, dtype=np.int64), b"".join(payloads), offsets, lengths)
