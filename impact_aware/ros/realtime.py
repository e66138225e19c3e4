"""Settings of a process against jitter: threads, garbage collector, and on request priority and locked memory.

The defaults need no special rights. A requested setting that is not permitted is logged in one line, and the node goes
on without it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rclpy.node import Node

from impact_aware.parameters import described
from impact_aware.ros.ros_parameters import load_settings

_MCL_CURRENT_AND_FUTURE = 3

_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""Number of the system call, which the C library has no function for."""

SLICE_NS = 100_000
"""Shortest time slice that Linux grants, ns."""


@dataclass(frozen=True)
class RealtimeSettings:
    """Parameters that every node has."""

    cpu_affinity: list[str] = described([], "processors that the process may use, such as 2 or 2,3; empty: all")
    realtime_priority: int = described(0, "priority under SCHED_FIFO; 0: the system's ordinary scheduling", 0, 99)
    lock_memory: bool = described(False, "keep the process's memory from being swapped out")


def request_short_slices() -> None:
    """Shorten the time slice under Linux' ordinary scheduling (6.12 and newer), for threads started later too.

    A node works for less than a millisecond at a time. With a slice that short it runs as soon as it wakes, instead of
    after the slice of a process that keeps the processor busy. Its share of the processor stays unchanged, and no
    special rights are needed.
    """
    number = _SCHED_SETATTR.get(platform.machine())
    if number is None or sys.platform != "linux" or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    # struct sched_attr: size, policy, flags, nice, priority, runtime (here the slice, ns), deadline, period.
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = struct.pack("=IIQiIQQQ", 48, os.SCHED_OTHER, 0, nice, 0, SLICE_NS, 0, 0)
    ctypes.CDLL(None).syscall(number, 0, attributes, 0)


def one_numeric_thread() -> None:
    """Before NumPy loads: one thread each for the numeric libraries, as the arrays are small."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def freeze_garbage() -> None:
    """Take everything that exists out of the collector's sight, so that its rounds stay short."""
    gc.collect()
    gc.freeze()


def apply_realtime(node: Node) -> None:
    """Declare the parameters on the node, apply them, and log the result.

    Raises:
        InvalidInputError: A parameter out of range.
    """
    settings = load_settings(node, RealtimeSettings)
    for done, why_not in requests(settings):
        if why_not:
            node.get_logger().warning(f"{done}: not possible, {why_not}")
        else:
            node.get_logger().info(done)


def requests(settings: RealtimeSettings) -> Iterator[tuple[str, str]]:
    """Each requested setting, and why it could not be applied; empty where it was."""
    if settings.cpu_affinity:
        wanted = ", ".join(settings.cpu_affinity)
        yield f"runs on processors {wanted}", _attempt(lambda: _set_affinity(settings.cpu_affinity))
    if settings.realtime_priority:
        yield (
            f"scheduled by SCHED_FIFO with priority {settings.realtime_priority}",
            _attempt(lambda: set_priority(settings.realtime_priority)),
        )
    if settings.lock_memory:
        yield "memory is locked", _attempt(_lock_memory)


def _attempt(action: Callable[[], None]) -> str:
    try:
        action()
    except PermissionError:
        return (
            "no permission: the user needs rtprio and memlock in /etc/security/limits.conf, or the process CAP_SYS_NICE"
        )
    except (OSError, ValueError, AttributeError) as error:
        return str(error)
    return ""


def threads() -> list[int]:
    """All threads of this process: those of DDS carry the messages, and inherit nothing afterwards."""
    return [int(name) for name in os.listdir("/proc/self/task")]


def _set_affinity(words: list[str]) -> None:
    known = os.sched_getaffinity(0)
    wanted = {int(part) for word in words for part in word.split(",") if part.strip()}
    if not wanted or not wanted <= known:
        raise ValueError(f"the processors here are {', '.join(map(str, sorted(known)))}")
    for thread in threads():
        os.sched_setaffinity(thread, wanted)


def set_priority(priority: int) -> None:
    """At least this one: of several nodes in a process, the most urgent counts."""
    urgent = os.sched_getscheduler(0) == os.SCHED_FIFO
    parameter = os.sched_param(max(priority, os.sched_getparam(0).sched_priority if urgent else 0))
    for thread in threads():
        os.sched_setscheduler(thread, os.SCHED_FIFO, parameter)


def _lock_memory() -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.mlockall(_MCL_CURRENT_AND_FUTURE) != 0:
        number = ctypes.get_errno()
        raise (PermissionError if number in (1, 12) else OSError)(number, os.strerror(number))
