"""A process that ends itself whatever its main thread does, even within a library's code that holds Python's lock."""

from __future__ import annotations

import ctypes
import sys

_CLOCK_MONOTONIC, _SIGEV_THREAD = 1, 2


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

    A thread of the C library does it, so that nothing of Python's is needed; without its timers nothing happens.
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
