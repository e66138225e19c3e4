"""How every node process runs: one executor chosen here, signals that always end it, errors as one line."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import NoReturn

import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from impact_aware.errors import ImpactAwareError, one_line
from impact_aware.ros.realtime import apply_realtime, freeze_garbage, one_numeric_thread, request_short_slices
from impact_aware.ros.ros_parameters import unknown_parameters
from impact_aware.ros.supervision import SUPERVISION
from impact_aware.ros.timers import exit_after

SPIN_TIMEOUT = 0.1
"""Longest time that a signal, or the end of a node, waits to be seen, s."""

WAITED = 0.0002
"""Time without the processor after which an executor has waited for something to do, s."""

STOP_TIMEOUT = 1.2
"""Longest time that a node without a `stop_timeout` may take to prepare its end, s."""


FAREWELL = 1.0
"""Longest time for the middleware's own last part, s, when all publishers, subscriptions and nodes are gone.

Fast DDS 2.14 waits there for its discovery in a loop that leaves that no processor on a busy machine, for tens of
seconds (eProsima/Fast-DDS#6513): the others of a graph that end at the same time keep it busy.
"""

LEAVE_TIMEOUT = 3.0
"""Longest time that the middleware may take to take its part down, s: nodes have closed what is theirs by then."""


def make_executor(rest: float = 0.0, context: rclpy.Context | None = None) -> Executor:
    """The executor of every node: events-driven where rclpy has it, as it answers a third faster.

    Nodes that `rest`, s, get rclpy's SingleThreadedExecutor: that of events keeps an entry for each message that a
    queue of its depth has long dropped, without bound, and does nothing else until all of them are taken out.
    `IMPACT_AWARE_EXECUTOR=single` in the environment chooses it for all nodes.
    """
    if not rest and os.environ.get("IMPACT_AWARE_EXECUTOR", "events") == "events":
        try:
            from rclpy.experimental import EventsExecutor

            return EventsExecutor(context=context)
        except ImportError:
            pass
    return SingleThreadedExecutor(context=context)


def run_node(make_node: Callable[[], Node], *, prompt: bool = False) -> NoReturn:
    """Create a node, spin it until SIGINT or SIGTERM, let it close, and end the process.

    A node may have `finished`, a flag with which it ends its own process; `prepare_stop()`, called when a signal
    came, after which it is spun on until it is `finished` or its `stop_timeout`, s, is over; `survive(error)`, called
    after an exception of a callback, which ends no node; `close()`, called last, while publishing is still possible;
    and `rest`, s: so long the process sleeps whenever it had to wait, if all of its nodes may. What comes meanwhile is
    then done at once, which takes a fraction of the processor that it takes to wake up for each message.

    Args:
        make_node: Creates the node after rclpy is initialised.
        prompt: Whether the node is in the loop from state to torque.
    """
    run_nodes({_process_name(): make_node}, prompt=prompt)


def run_nodes(makers: Mapping[str, Callable[[], Node]], *, prompt: bool = False) -> NoReturn:
    """Run several nodes on one executor, in this order: one that ends or can't start ends the process.

    Args:
        makers: Functions that create the nodes, by the names used in errors.
        prompt: Whether one of them is in the loop from state to torque.
    """
    one_numeric_thread()
    # SIGUSR1 prints where a hanging process is, even outside Python code.
    faulthandler.register(signal.SIGUSR1)
    if prompt:
        request_short_slices()
    stop_requested = False

    def request_stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stop_requested
        stop_requested = True

    signal.signal(signal.SIGINT, request_stop)
    signal.signal(signal.SIGTERM, request_stop)
    nodes: list[Node] = []
    executor: Executor | None = None
    status, speaker = 0, _process_name()
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        for speaker, make_node in makers.items():  # noqa: B007 - whose error it is, if there is one
            nodes.append(make_node())
            apply_realtime(nodes[-1])
            if unknown := unknown_parameters(nodes[-1]):
                nodes[-1].get_logger().warning(f"unknown parameters, which change nothing: {unknown}")
        rest = min(getattr(node, "rest", 0.0) for node in nodes)
        executor = make_executor(rest)
        list(map(executor.add_node, nodes))
        speaker = _process_name()
        SUPERVISION.answer_always(nodes)
        freeze_garbage()
        while not stop_requested and rclpy.ok() and not any(getattr(node, "finished", False) for node in nodes):
            if not rest:
                spin(executor, nodes, SPIN_TIMEOUT)
            elif waited(executor, nodes):
                time.sleep(rest)
        _prepare_stop(executor, nodes)
    except ImpactAwareError as error:
        print(f"{speaker}: error: {error}", file=sys.stderr)
        status = 2
    except Exception as error:
        if not nodes and type(error).__module__.startswith("rclpy"):
            # Errors of the ROS libraries, on arguments, domains, keys and networks: their traceback adds nothing.
            print(f"{speaker}: error: no ROS node can be made: {one_line(str(error))}", file=sys.stderr)
            status = 2
        else:
            traceback.print_exc()
            status = 1
    finally:
        # Ctrl-C reaches a node twice, from the terminal and from `ros2 launch`: the second must not spoil its end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for node in nodes:
            _call(node, "close")
        # Log where the process hangs, and end it.
        faulthandler.dump_traceback_later(LEAVE_TIMEOUT, exit=True)
        for node in nodes:
            _call(node, "destroy_node")
        rclpy.try_shutdown()
        faulthandler.cancel_dump_traceback_later()
    _flush()
    exit_after(FAREWELL, status)
    # Some extension modules complain at the end of the process about objects that were still alive.
    executor = None
    nodes.clear()
    gc.unfreeze()
    gc.collect()
    _flush()
    # All is closed, and to take the interpreter apart would take longer than all the rest.
    os._exit(status)


def _prepare_stop(executor: Executor, nodes: Sequence[Node]) -> None:
    """Give nodes that have something to bring to its end the time for it."""
    stopping = [node for node in nodes if hasattr(node, "prepare_stop")]
    for node in stopping:
        node.prepare_stop()
    patience = max((getattr(node, "stop_timeout", STOP_TIMEOUT) for node in stopping), default=0.0)
    deadline = time.monotonic() + patience
    while rclpy.ok() and not all(getattr(node, "finished", True) for node in stopping) and time.monotonic() < deadline:
        spin_once(executor, nodes, 0.01)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()


def waited(executor: Executor, nodes: Sequence[Node]) -> bool:
    """Spin once; returns whether the executor was idle at first."""
    wall, busy = time.monotonic(), time.thread_time()
    spin_once(executor, nodes, SPIN_TIMEOUT)
    return time.monotonic() - wall - (time.thread_time() - busy) > WAITED


def spin(executor: Executor, nodes: Sequence[Node], duration: float) -> None:
    """Spin for so long, s, as `spin_once`; to come back here after each callback takes a fifth of what it costs."""
    try:
        executor.spin_until_future_complete(Future(), timeout_sec=duration)
    except Exception as error:  # whatever a callback raised
        SUPERVISION.note(nodes, error)


def spin_once(executor: Executor, nodes: Sequence[Node], timeout: float) -> None:
    """Spin; no callback's exception ends a node, because a message from anywhere may have caused it."""
    try:
        executor.spin_once(timeout_sec=timeout)
    except Exception as error:  # whatever a callback raised
        SUPERVISION.note(nodes, error)


def _call(node: Node, method: str) -> None:
    """Call a node's method, if it has that; what it raises keeps no other node from its end."""
    try:
        getattr(node, method, lambda: None)()
    except Exception:
        traceback.print_exc()


def _process_name() -> str:
    return os.path.basename(sys.argv[0]).removesuffix(".py")
