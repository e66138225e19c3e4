"""How every node process runs: one executor chosen here, signals that always end it, errors as one line."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from impact_aware.errors import ImpactAwareError
from impact_aware.nodes.ros.realtime import apply_realtime, freeze_garbage, one_numeric_thread

SPIN_TIMEOUT = 0.1
"""Longest time that a signal waits to be seen, s."""

STOP_TIMEOUT = 1.2
"""Longest time that a node may take to prepare its end, s."""


def make_executor() -> Executor:
    """The executor of every node: events-driven where rclpy has it, as it answers a third faster.

    `IMPACT_AWARE_EXECUTOR=single` in the environment chooses rclpy's SingleThreadedExecutor instead.
    """
    if os.environ.get("IMPACT_AWARE_EXECUTOR", "events") == "events":
        try:
            from rclpy.experimental import EventsExecutor

            return EventsExecutor()
        except ImportError:
            pass
    return SingleThreadedExecutor()


def run_node(make_node: Callable[[], Node], argv: list[str] | None = None) -> int:
    """Create a node, spin it until SIGINT or SIGTERM, let it close, and return the exit status.

    A node may have `finished`, a flag with which it ends its own process; `prepare_stop()`, called when a signal
    came, after which it is spun on until it is `finished` or `STOP_TIMEOUT` is over; `survive(error)`, which says
    whether the node goes on after an exception of a callback; and `close()`, called last, while publishing is still
    possible.

    Args:
        make_node: Creates the node after rclpy is initialised.
        argv: Arguments with `--ros-args`; those of the process when None.
    """
    one_numeric_thread()
    rclpy.init(args=argv, signal_handler_options=SignalHandlerOptions.NO)
    stop_requested = False

    def request_stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stop_requested
        stop_requested = True

    signal.signal(signal.SIGINT, request_stop)
    signal.signal(signal.SIGTERM, request_stop)
    node: Node | None = None
    executor: Executor | None = None
    status = 0
    try:
        node = make_node()
        executor = make_executor()
        executor.add_node(node)
        apply_realtime(node)
        freeze_garbage()
        while not stop_requested and rclpy.ok() and not getattr(node, "finished", False):
            _spin_once(executor, node, SPIN_TIMEOUT)
        if hasattr(node, "prepare_stop"):
            node.prepare_stop()
            deadline = time.monotonic() + STOP_TIMEOUT
            while rclpy.ok() and not getattr(node, "finished", True) and time.monotonic() < deadline:
                _spin_once(executor, node, 0.01)
    except ImpactAwareError as error:
        print(f"{_process_name()}: error: {error}", file=sys.stderr)
        status = 2
    except Exception:
        traceback.print_exc()
        status = 1
    finally:
        # Ctrl-C reaches a node twice, from the terminal and from `ros2 launch`: the second must not spoil its end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if node is not None:
            _close(node)
        rclpy.try_shutdown()
    # Some extension modules complain at the end of the process about objects that were still alive.
    executor = node = None
    gc.unfreeze()
    gc.collect()
    if argv is None:
        _leave(status)
    return status


def _leave(status: int) -> NoReturn:
    """End the process at once: all is closed, and to take the interpreter apart would take longer than all the rest."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(status)


def _spin_once(executor: Executor, node: Node, timeout: float) -> None:
    try:
        executor.spin_once(timeout_sec=timeout)
    except Exception as error:
        survive = getattr(node, "survive", None)
        if survive is None or not survive(error):
            raise


def _close(node: Node) -> None:
    try:
        close = getattr(node, "close", None)
        if close is not None:
            close()
        node.destroy_node()
    except Exception:
        traceback.print_exc()


def _process_name() -> str:
    return os.path.basename(sys.argv[0]).removesuffix(".py")
