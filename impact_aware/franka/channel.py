"""Shared memory between the process that holds libfranka and the process of the ROS node.

Neither side waits for the other. Each record has one writer and a seqlock: its count is odd while it is written, so a
reader that finds another count after its copy than before takes the copy for none. States are a ring, so that a reader
that was held up gets each one; of laws and requests only the newest counts. After each state the writer raises an
eventfd, on which the reader sleeps.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import threading
from typing import Any

import numpy as np

from impact_aware.control.command import Mode
from impact_aware.control.local_law import LocalLaw

JOINTS = 7
"""Joints of every arm with this interface."""

KEPT = 512
"""States in the ring: half a second of a reader that is held up."""

STATE = np.dtype(
    [
        ("time", "f8"), ("stamp", "f8"), ("mode", "f8"), ("phase", "f8"), ("success_rate", "f8"), ("lost", "f8"),
        ("refused", "f8"), ("sequence", "f8"), ("law_time", "f8"), ("sent_time", "f8"), ("report", "f8"),
        ("q", "f8", JOINTS), ("dq", "f8", JOINTS), ("effort", "f8", JOINTS), ("desired", "f8", JOINTS),
        ("external", "f8", JOINTS),
    ]
)  # fmt: skip
"""One state: the arm's clock and the stamp, s; robot mode; `PHASES`; success rate; states lost and laws refused so far;
sequence of the law that is followed; processor time until its torque was there, and until it was sent, s; reports so
far; q, rad; dq, rad/s; tau_J, tau_J_d and the filtered external torque, N m."""

WATCHING, HOLDING, FOLLOWING, BRAKING = PHASES = range(4)
"""What the process does with a state: only reads it; holds the arm; applies a law; brakes after the last law."""

STARTING, WORKING, STOPPED, ENDED = range(4)
"""States of the connection: not yet connected; reading or moving; the arm has stopped; the process ends."""

_PACK = struct.Struct(f"<{STATE.itemsize // 8}d")
_LAW = struct.Struct(f"<{4 + 4 * JOINTS + 2 * JOINTS**2}d")
_HEAD, _MODES = struct.Struct("<4d"), tuple(Mode)
_TEXT = 1024


class Record:
    """One record of bytes with a seqlock in shared memory."""

    def __init__(self, memory: memoryview, size: int) -> None:
        """Take the first 8 + `size` bytes of the memory."""
        self._count = memory[:8].cast("Q")
        self._bytes = memory[8 : 8 + size]
        # Taken and released between count and content: a memory barrier on every processor.
        self._barrier = threading.Lock()

    @property
    def count(self) -> int:
        """Twice the number of writes so far; odd while one is under way."""
        return self._count[0]

    def write(self, content: bytes, count: int | None = None) -> None:
        """Replace the content; `count`, even, stands for the next one where a ring numbers its records."""
        after = self.count + 2 if count is None else count
        self._count[0] = after - 1
        with self._barrier:
            self._bytes[: len(content)] = content
        self._count[0] = after

    def read(self) -> tuple[int, bytes]:
        """Count and content; the count is 0 where there is no whole one at the moment."""
        before = self.count
        with self._barrier:
            content = bytes(self._bytes)
        return (before, content) if before == self.count and not before & 1 else (0, b"")

    def release(self) -> None:
        """Let go of the memory."""
        self._count.release()
        self._bytes.release()


class Channel:
    """Both ends of the shared memory: laws and requests one way, states and reports the other.

    Attributes:
        fds: File descriptors of memory and event, which a child process inherits.
    """

    def __init__(self, fds: tuple[int, int] | None = None) -> None:
        """Create the memory, or map that of the parent."""
        sizes = [STATE.itemsize] * KEPT + [_LAW.size, _TEXT, _TEXT]
        whole = sum(sizes) + 8 * len(sizes)
        if fds is None:
            fds = os.memfd_create("franka_fci"), os.eventfd(0, os.EFD_NONBLOCK)
            os.ftruncate(fds[0], whole)
        self.fds = fds
        self._map = mmap.mmap(fds[0], whole)
        memory, first, records = memoryview(self._map), 0, []
        for size in sizes:
            records.append(Record(memory[first:], size))
            first += 8 + size
        self._records, self._states = records, records[:KEPT]
        self._law, self._request, self._report = records[KEPT:]
        self._written = self._read = 0
        self._seen = [0, 0, 0]

    # The process with libfranka

    def put_state(self, values: list[float]) -> None:
        """Write a state, in the order of `STATE`, and wake the reader."""
        self._written += 1
        self._states[self._written % KEPT].write(_PACK.pack(*values), 2 * self._written)
        os.eventfd_write(self.fds[1], 1)

    def put_report(self, state: int, detail: str) -> None:
        """Report how the process is, in one sentence."""
        self._put(self._report, {"state": state, "detail": detail[:300]})
        os.eventfd_write(self.fds[1], 1)

    @property
    def reports(self) -> int:
        """Reports so far."""
        return self._report.count // 2

    def take_law(self, names: tuple[str, ...]) -> LocalLaw | None:
        """The newest law, for joints of these names, if it was not taken before."""
        if self._law.count == self._seen[0]:
            return None
        count, content = self._law.read()
        if not count:
            return None
        self._seen[0] = count
        sequence, mode, stamp, validity = _HEAD.unpack_from(content)
        vectors = np.frombuffer(content, count=4 * JOINTS, offset=_HEAD.size)
        effort, effort_rate, position, velocity = vectors.reshape(4, JOINTS)
        gains = np.frombuffer(content, offset=_HEAD.size + vectors.nbytes).reshape(2, JOINTS, JOINTS)
        arrays = effort, effort_rate, gains[0], gains[1], position, velocity
        return LocalLaw(names, *arrays, stamp, validity, int(sequence), _MODES[int(mode)])

    def take_request(self) -> dict[str, Any]:
        """The newest request, if it was not taken before; else empty."""
        return self._take(self._request, 1)

    # The process of the node

    def take_states(self) -> np.ndarray[Any, np.dtype[Any]]:
        """All states (k,) of dtype `STATE` since the last call, as far as the ring still has them."""
        found = []
        while True:
            number = self._read + 1
            count, content = self._states[number % KEPT].read()
            if count == 2 * number:
                self._read = number
                found.append(content)
            elif count > 2 * number:
                # Overwritten, as the reader was held up: go on with the oldest that is left.
                self._read = count // 2 - KEPT
            else:
                break
        return np.frombuffer(b"".join(found), STATE)

    def put_law(self, law: LocalLaw) -> None:
        """Hand a law over."""
        parts = law.effort, law.effort_rate, law.position, law.velocity, law.position_gain, law.velocity_gain
        arrays = np.concatenate([np.ravel(part) for part in parts])
        self._law.write(_LAW.pack(law.sequence, law.mode, law.stamp, law.validity, *arrays))

    def put_request(self, **content: Any) -> None:
        """Request something of the process with libfranka."""
        self._put(self._request, content)

    def take_report(self) -> dict[str, Any]:
        """The newest report, if it was not taken before; else empty."""
        return self._take(self._report, 2)

    def drain(self) -> None:
        """Lower the event."""
        try:
            os.eventfd_read(self.fds[1])
        except BlockingIOError:
            return

    def close(self) -> None:
        """Unmap, and close the descriptors."""
        for record in self._records:
            record.release()
        self._records, self._states = [], []
        for fd in self.fds:
            os.close(fd)

    def _put(self, record: Record, content: dict[str, Any]) -> None:
        record.write(json.dumps(content).encode().ljust(_TEXT, b"\0"))

    def _take(self, record: Record, index: int) -> dict[str, Any]:
        if record.count == self._seen[index]:
            return {}
        count, content = record.read()
        if not count:
            return {}
        self._seen[index] = count
        return dict(json.loads(content.rstrip(b"\0")))
