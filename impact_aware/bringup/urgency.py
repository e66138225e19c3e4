"""How urgent the nodes between a state and its torque are: real-time priority for them, where the user may have it.

On two cores the nodes that only watch would hold up those of the loop, one state in seven, if all took turns.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Set
from dataclasses import replace

from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.errors import InvalidInputError

URGENCY = 20
"""`realtime_priority` of urgent nodes where the user may have one: above all ordinary processes, below the kernel's."""

ANSWERING = frozenset({"rs_controller", "kuka_fri_relay", "franka_fci_relay", "command_watchdog"})
"""Nodes of the loop that answer each state or supervise the answer: no other node of it may delay them.

At equal priority under SCHED_FIFO a controller waits until the running node sleeps, and `reference_field` alone
computes for some 50 ms when the second palm has touched.
"""

IN_THE_LOOP = ANSWERING | {"sim_robot", "impact_detector"}
"""Executables that a cycle waits for: the plant, its controller, and what reports impacts and faults to it."""

PREDICTING = frozenset({"jump_predictor", "reference_field"})
"""Nodes that predict the effect of an impact: one step below the loop, above all ordinary processes.

With ordinary scheduling beside one busy process a prediction came 35 to 420 ms after its impact, when the controller's
interim mode was over.
"""

FEWER = 500.0
"""States of each simulated arm in a second where processors are few: as many as a UR gives, or a KUKA at its best."""

LOWEST, HIGHEST = 1, 99

BY_DEFAULT = f"default: {URGENCY} where the user may, as on hardware, else 0"


def add_priority(parser: argparse.ArgumentParser, whose: str, default: str) -> None:
    """Declare the option of a command that starts nodes; the words say whose priority it is, and its default."""
    parser.add_argument(
        "--priority", type=int, metavar="P", help=f"realtime_priority of {whose}; 0: ordinary scheduling ({default})"
    )


def chosen_priority(given: int | None) -> int:
    """Return the requested priority, or the highest one that the user may have.

    Raises:
        InvalidInputError: No such priority.
    """
    if given is None:
        return URGENCY if may_be_urgent() else 0
    return checked_priority("--priority", given)


def checked_priority(name: str, priority: int) -> int:
    """Return the priority after a check of its range.

    Raises:
        InvalidInputError: There is none such.
    """
    if not 0 <= priority <= HIGHEST:
        raise InvalidInputError(name, priority, f"0 to {HIGHEST}")
    return priority


def may_be_urgent() -> bool:
    """Whether this user may have that priority: by limits.conf, or by a capability of the process."""
    if not hasattr(os, "sched_setscheduler"):
        return False
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(URGENCY))
    except OSError:
        return False
    os.sched_setscheduler(0, policy, parameter)
    return True


def leaves_room(arms: int, *, together: bool = False) -> bool:
    """Whether the loop of so many simulated arms leaves this machine's processors time for those who watch.

    It takes 1.0 processor for one arm and 1.1 for two (docs/performance.md), those who watch 0.4 and, one by one, 1.0;
    of two arms they take 0.55 `together` in one process.
    """
    if not hasattr(os, "sched_getaffinity"):
        return True
    processors = len(os.sched_getaffinity(0))
    return processors > arms or (together and processors == arms > 1)


def simulated_period(arms: int, *, wall_time: bool) -> float | None:
    """Return the default time between two states of so many simulated arms, s; None for that of the scene.

    Two arms at 1 kHz take 1.1 processors and those who watch another 0.55, and more where a wake-up costs more: in
    `wall_time` two processors are not enough for that (docs/performance.md).
    """
    return 1.0 / FEWER if wall_time and arms > 1 and not leaves_room(arms) else None


def urgent(
    nodes: Iterable[NodeSpec], priority: int, executables: Set[str] | None = None
) -> tuple[NodeSpec, ...]:
    """Return the nodes with those of `executables` at this `realtime_priority`, `ANSWERING` of them one step higher.

    `PREDICTING` are one step lower, and others have none. All have the same one where `executables` is None; 0 leaves
    them as they are.
    """
    if not priority:
        return tuple(nodes)

    def raised(spec: NodeSpec) -> NodeSpec:
        own = priority
        if executables is not None:
            if spec.executable not in executables | PREDICTING:
                return spec
            own += (spec.executable in ANSWERING) - (spec.executable in PREDICTING)
        own = min(max(own, LOWEST), HIGHEST)
        return replace(spec, parameters={**spec.parameters, "realtime_priority": own})

    return tuple(map(raised, nodes))
