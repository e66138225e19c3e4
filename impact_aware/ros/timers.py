"""Timers in wall time: of a node's callbacks, and one that ends a process whatever its main thread does."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer

_CLOCK_MONOTONIC, _SIGEV_THREAD = 1, 2


def steady_timer(node: Node, period: float, callback: Callable[[], object]) -> Timer:
    """Call back every `period`, s of wall time, also while the ROS clock stands still or jumps."""
    return node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


class _SigEvent(ctypes.Structure):
    """`struct sigevent` of Linux on 64 bits."""

    _fields_ = (
        ("value", ctypes.c_long),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("rest", ctypes.c_char * 40),
    )


class _TimerSpec(ctypes.Structure):
    """`struct itimerspec`: period and time until the first end, each in s and ns."""

    _fields_ = (("period", ctypes.c_long * 2), ("first", ctypes.c_long * 2))


def exit_after(duration: float, status: int) -> None:
    """End the process with this status after `duration`, s, if it still runs then.

    A thread of the C library ends it, even within a library's code that holds Python's lock; without its timers nothing
    happens.
    """
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return
    library, timer = ctypes.CDLL(None), ctypes.c_void_p()
    try:
        leave = ctypes.cast(library._exit, ctypes.c_void_p).value
        event = _SigEvent(value=status, notify=_SIGEV_THREAD, function=leave)
        if library.timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) == 0:
            whole = int(duration)
            spec = _TimerSpec(first=(whole, max(int(1e9 * (duration - whole)), 1)))
            library.timer_settime(timer, 0, ctypes.byref(spec), None)
    except AttributeError:
        return
