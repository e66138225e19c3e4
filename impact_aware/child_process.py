"""Processes that end with the one that started them, and copies of this one that try what could end it."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def end_with_parent(number: signal.Signals = signal.SIGTERM, parent: int | None = None) -> None:
    """Called in a new process: Linux sends it the signal when its parent has died, however that came.

    Args:
        number: The signal.
        parent: The parent's process id where it is known, to notice a parent that died before this call.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
        if parent is not None and os.getppid() != parent:
            os._exit(1)


def survives(trial: Callable[[], object], patience: int = 20, most: int = 0) -> bool:
    """Return whether a copy of this process lives through a call, in which a library might end it without a word.

    Args:
        trial: What is called; what it raises counts only with `most`, as a second call by this process raises it too.
        patience: Wall time that it may take, s.
        most: Memory that it may take, bytes; 0: any.
    """
    with warnings.catch_warnings():
        # Other threads may hold locks; the copy ends by its alarm if it waits for one.
        warnings.simplefilter("ignore", DeprecationWarning)
        copy = os.fork()
    if copy:
        return os.waitpid(copy, 0)[1] == 0
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(patience)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        if most and sys.platform == "linux":
            own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (own + most, own + most))
        trial()
        most = 0
    finally:
        os._exit(1 if most else 0)
