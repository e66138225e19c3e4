"""Who of a process gets a state first: DDS hands it to the readers of a process in an order of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from impact_aware.messages.stamps import STAMP, STAMP_OFFSET

Read = Callable[[bytes], None]


class ServingOrder:
    """Serves one reader of each topic, the controller, before the others of its process."""

    def __init__(self) -> None:
        """Nobody reads anything yet."""
        self._turns: dict[str, _Turn] = {}

    def join(self, topic: str, read: Read, *, first: bool) -> Read:
        """What to call with each serialized message, which begins with a stamp, in place of `read`."""
        turn = self._turns.setdefault(topic, _Turn())
        turn.led = turn.led or first
        return partial(turn.lead if first else turn.follow, read)


class _Turn:
    """Of one topic: readers that came too early wait, no longer than until the next message of their own.

    Attributes:
        led: Whether there is a first reader.
    """

    def __init__(self) -> None:
        self.led = False
        self._served = (0, 0)
        self._waiting: list[tuple[Read, bytes]] = []

    def lead(self, read: Read, message: bytes) -> None:
        self._served = _stamp(message)
        try:
            read(message)
        finally:
            self._serve_waiting()

    def follow(self, read: Read, message: bytes) -> None:
        if not self.led:
            read(message)
            return
        if any(own is read for own, _ in self._waiting):
            # The first reader has not got the last message: it keeps only the newest.
            self._serve_waiting()
        if _stamp(message) > self._served:
            self._waiting.append((read, message))
        else:
            read(message)

    def _serve_waiting(self) -> None:
        while self._waiting:
            read, message = self._waiting.pop(0)
            read(message)


def _stamp(message: bytes) -> tuple[int, int]:
    """Seconds and nanoseconds; that of a message too short for one is older than all."""
    if len(message) < STAMP_OFFSET + STAMP.size:
        return (-1, 0)
    whole, nanoseconds = STAMP.unpack_from(message, STAMP_OFFSET)
    return whole, nanoseconds
