"""Start a node by its name: behind `ros2 run impact_aware NAME` and `python -m impact_aware.bringup.start NAME`.

A node imports for a second or more. What Ctrl-C means to Python meanwhile, an exception in the midst of some module,
ends as a traceback, and after half a second of taking the interpreter apart, in every process of a launch file. There
is nothing yet that would have to be brought to rest, so SIGINT and SIGTERM end the process at once, with the exit
status of a running node that they end.
"""

from __future__ import annotations

import functools
import importlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from impact_aware.bringup.middleware import check_middleware, check_ros, choose_transport
from impact_aware.errors import ImpactAwareError
from impact_aware.library_settings import shield_process
from impact_aware.plugins import plugins

EXECUTABLES = {
    name: f"impact_aware.nodes.{name}"
    for name in (
        "bag_recorder",
        "command_watchdog",
        "franka_fci_relay",
        "graph_probe",
        "impact_detector",
        "impact_markers",
        "jump_predictor",
        "kuka_fri_relay",
        "node_group",
        "reference_field",
        "rs_controller",
        "run_monitor",
        "sim_robot",
    )
}
"""Executables of the package and the modules whose `main` they run."""


def executables() -> dict[str, str]:
    """Executables of the package and of those that plug into it, and the modules whose `main` they run."""
    return EXECUTABLES | plugins("nodes")


def start(name: str) -> int | None:
    """Import a node's module and run it; returns the exit status where the node does not end the process itself."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    shield_process()
    try:
        check_ros()
        check_middleware(os.environ)
    except ImpactAwareError as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        return 2
    choose_transport(os.environ)
    module = importlib.import_module(EXECUTABLES.get(name) or executables()[name])
    status: int | None = module.main()
    return status


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    os._exit(0)


def __getattr__(name: str) -> Callable[[], int | None]:
    """The entry points of setup.py: each node is a function of this module."""
    if name not in EXECUTABLES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return functools.partial(start, name)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in executables():
        sys.exit(f"usage: python -m {__package__}.start NODE [--ros-args ...]")
    sys.argv[:2] = sys.argv[1:2]
    sys.exit(start(sys.argv[0]))
