"""Settings of the DDS below ROS that a node makes before loading it: a transport that no joining node can stall."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from impact_aware.errors import ImpactAwareError, UnknownNameError
from impact_aware.resources import find_resource

TRANSPORT = "FASTDDS_BUILTIN_TRANSPORTS"
"""Environment variable with the transports of Fast DDS; `DEFAULT` in it is shared memory and UDP."""

PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
"""Environment variables that name a file with its settings: up to version 2, and since then."""

BUFFERED_UDP = "UDPv4?sockets_size=4MB"
"""UDP alone, with buffers that hold what comes in a second: a process that has to wait for its turn on a busy machine
would lose states of best effort else, after some 0.1 s. The system's `net.core.rmem_max` is their upper bound."""

RANGE, PEERS = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"

RMW = "RMW_IMPLEMENTATION"


class MissingRosError(ImpactAwareError):
    """A node can't be started where there is no ROS 2."""


def check_ros() -> None:
    """Refuse to start nodes where ROS 2 or the messages can't be imported.

    Raises:
        MissingRosError: Either is not there.
    """
    missing = [name for name in ("rclpy", "impact_aware_msgs") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingRosError(
            f"nodes need ROS 2, and Python finds no {' and no '.join(missing)}: source a workspace that was built with "
            "this package, or run `make setup` in a clone; predict, analyze and validate need no ROS"
        )


def _loopback() -> str:
    return str(find_resource("config", "dds", "loopback.xml"))


def chosen_by_user(environment: Mapping[str, str]) -> list[str]:
    """Return the variables by which the user chose transports or peers; `choose_transport` then leaves all to them."""
    return [name for name in (TRANSPORT, PEERS, *PROFILES) if environment.get(name) not in (None, "", _loopback())]


def stays_local(environment: Mapping[str, str]) -> bool:
    """Return whether nodes are wanted to listen on this machine only, also after `choose_transport`."""
    return environment.get(RANGE, "").upper() == "LOCALHOST" or environment.get(PROFILES[0]) == _loopback()


def choose_transport(environment: MutableMapping[str, str]) -> None:
    """Make Fast DDS use UDP alone where the user has not chosen otherwise; other middleware is left as it is.

    A process that joins is introduced to all others. Over the shared memory of Fast DDS they were seen to be held up by
    that, and messages take longer (docs/performance.md). Within one machine, range LOCALHOST, rmw_fastrtps chooses the
    transports itself and looks at no variable; the same range is a file of settings then.
    """
    loopback = _loopback()
    if chosen_by_user(environment) or not (environment.get(RMW) or "rmw_fastrtps_cpp").startswith("rmw_fastrtps"):
        return
    if environment.get(RANGE, "").upper() == "LOCALHOST":
        environment[RANGE] = "SYSTEM_DEFAULT"
        environment.update(dict.fromkeys(PROFILES, loopback))
    elif environment.get(PROFILES[0]) != loopback:
        environment[TRANSPORT] = BUFFERED_UDP


def check_middleware(environment: Mapping[str, str]) -> None:
    """Refuse an `RMW_IMPLEMENTATION` that is not installed, as loading it ends the process.

    Raises:
        UnknownNameError: None of the prefixes has it.
    """
    name = environment.get(RMW, "")
    prefixes = [*filter(None, environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep)), sys.prefix]
    folders = [Path(prefix) / "share" / "ament_index" / "resource_index" / "rmw_typesupport" for prefix in prefixes]
    known = {path.name for folder in folders for path in folder.glob("rmw_*")} - {"rmw_implementation"}
    # Where no prefix registers any, the loader knows more than this.
    if name and known and name not in known:
        raise UnknownNameError(RMW, name, tuple(sorted(known)))
