"""What of a machine stands in the way of a control loop at 1 kHz, each with what to do about it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from impact_aware.bringup.middleware import chosen_by_user
from impact_aware.bringup.urgency import URGENCY as PRIORITY
from impact_aware.errors import InvalidInputError

LOCKED_MEMORY = 512 * 2**20
"""What a node may have to lock, bytes; rclpy with its libraries takes up to 300 MB of addresses that are used."""

BUFFER = 1 * 2**20
"""Bytes that DDS should be able to ask for to receive into; a default kernel grants 208 KiB."""

SPEED = 1000
"""Required speed of the network card to the arm, Mbit/s."""

LATE, LATEST = 0.0003, 0.001
"""Lateness of a loop's wake-ups at 1 kHz that is well: of 99 in 100, and of all, s."""

_CAP_IPC_LOCK, _CAP_SYS_NICE = 14, 23

_LIMITS = "/etc/security/limits.conf"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: What.
        found: How it is, in words.
        advice: Remedy; empty where none is needed, None where the check is not possible.
    """

    name: str
    found: str
    advice: str | None = ""


def look_at_host(card: str = "", environment: Mapping[str, str] | None = None, root: Path = Path("/")) -> list[Finding]:
    """Everything that can be read.

    Args:
        card: Network card to the arm, such as `eth1`; none is looked at when empty.
        environment: Variables of the process; its own when None.
        root: Where `proc` and `sys` are.

    Raises:
        InvalidInputError: No such card.
    """
    variables = os.environ if environment is None else environment
    looks: list[Callable[[Path], Finding]] = [_kernel, _priority, _memory, _processors, _isolation, _governor, _buffers]
    found = [look(root) for look in looks]
    if card:
        found += _card(root, card)
    return [*found, _middleware(variables), _range(variables)]


def measure_jitter(seconds: float) -> Finding:
    """How late a loop of this process at 1 kHz wakes up in `seconds`, s, with a real-time priority where it may."""
    policy = "ordinary scheduling"
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        policy = f"SCHED_FIFO {PRIORITY}"
    except OSError:
        pass
    try:
        late = _lateness(max(int(seconds / 0.001), 1), 0.001)
    finally:
        os.sched_setscheduler(0, *before)
    usual, worst = float(np.percentile(late, 99)), float(late.max())
    found = f"99 % within {1e3 * usual:.2f} ms, the latest {1e3 * worst:.2f} ms, with {policy}"
    wanted = f"{1e3 * LATE:g} and {1e3 * LATEST:g} ms are wanted: see above, and have nothing else running"
    return Finding("wake-ups at 1 kHz", found, "" if usual <= LATE and worst <= LATEST else wanted)


def _lateness(count: int, period: float) -> np.ndarray:
    late = np.empty(count)
    due = time.perf_counter() + period
    for k in range(count):
        time.sleep(max(due - time.perf_counter(), 0.0))
        late[k] = time.perf_counter() - due
        # After a delay the loop continues from there, as a loop that waits for states does.
        due += period * max(1, int(late[k] / period))
    return late


def _text(path: Path) -> str:
    """Return the text of a file; empty without one."""
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return ""


def _kernel(root: Path) -> Finding:
    version = _text(root / "proc/version")
    words = version.split()
    release = words[2] if len(words) > 2 else "unknown"
    if _text(root / "sys/kernel/realtime") == "1" or "PREEMPT_RT" in version:
        return Finding("kernel", f"{release}, PREEMPT_RT")
    if "lowlatency" in release or "realtime" in release:
        return Finding("kernel", f"{release}, low latency")
    advice = "install a kernel with PREEMPT_RT (Ubuntu Pro: `pro enable realtime-kernel`), or linux-lowlatency at least"
    return Finding("kernel", release, advice)


def _limit(root: Path, name: str) -> float:
    """Return the soft limit of that name of this process; NaN where it can't be read."""
    match = re.search(rf"^{re.escape(name)}\s+(\S+)", _text(root / "proc/self/limits"), re.MULTILINE)
    if match is None:
        return float("nan")
    return float("inf") if match[1] == "unlimited" else float(match[1])


def _may(root: Path, capability: int) -> bool:
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", _text(root / "proc/self/status"), re.MULTILINE)
    return match is not None and bool(int(match[1], 16) >> capability & 1)


def _priority(root: Path) -> Finding:
    name, limit = "realtime_priority", _limit(root, "Max realtime priority")
    if _may(root, _CAP_SYS_NICE):
        return Finding(name, "any, by CAP_SYS_NICE")
    if np.isnan(limit):
        return Finding(name, "unknown", None)
    if limit >= PRIORITY:
        return Finding(name, f"up to {limit:g}")
    advice = f"a line `YOU - rtprio 99` in {_LIMITS}, log in anew, and `realtime_priority: {PRIORITY}` for the nodes"
    return Finding(name, f"up to {limit:g}", advice)


def _memory(root: Path) -> Finding:
    name, limit = "locked memory", _limit(root, "Max locked memory")
    if _may(root, _CAP_IPC_LOCK):
        return Finding(name, "any, by CAP_IPC_LOCK")
    if np.isnan(limit):
        return Finding(name, "unknown", None)
    found = "unlimited" if np.isinf(limit) else f"up to {limit / 2**20:.0f} MB"
    advice = f"a line `YOU - memlock unlimited` in {_LIMITS}, log in anew, and `lock_memory: true` for the nodes"
    return Finding(name, found, "" if limit >= LOCKED_MEMORY else advice)


def _numbers(text: str) -> set[int]:
    """Parse a list of processors such as `0-3,6`."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _processors(root: Path) -> Finding:
    match = re.search(r"^Cpus_allowed_list:\s*(\S+)", _text(root / "proc/self/status"), re.MULTILINE)
    if match is None:
        return Finding("processors", "unknown", None)
    count = len(_numbers(match[1]))
    advice = "" if count >= 4 else "four or more: driver, controller and the other nodes each want one"
    return Finding("processors", str(count), advice)


def _isolation(root: Path) -> Finding:
    isolated = _text(root / "sys/devices/system/cpu/isolated")
    if isolated:
        return Finding("isolated processors", isolated)
    advice = "`isolcpus=2,3` or the like on the kernel's command line, and `cpu_affinity: ['2']` for rs_controller"
    return Finding("isolated processors", "none", advice)


def _governor(root: Path) -> Finding:
    files = sorted(root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
    found = {_text(path) for path in files}
    if not found:
        return Finding("power governor", "none to be seen, as in a virtual machine", None)
    advice = "" if found == {"performance"} else "`sudo cpupower frequency-set -g performance`, at each start"
    return Finding("power governor", ", ".join(sorted(found)), advice)


def _buffers(root: Path) -> Finding:
    text = _text(root / "proc/sys/net/core/rmem_max")
    if not text.isdecimal():
        return Finding("receive buffers", "unknown", None)
    found = f"up to {int(text) / 1024:.0f} KiB"
    advice = "" if int(text) >= BUFFER else "`sudo sysctl -w net.core.rmem_max=4194304`, for bursts"
    return Finding("receive buffers", found, advice)


def _card(root: Path, name: str) -> Iterator[Finding]:
    folder = root / "sys/class/net" / name
    if not folder.is_dir() or "/" in name:
        known = sorted(path.name for path in (root / "sys/class/net").glob("*"))
        raise InvalidInputError("--network-card", name, f"one of {', '.join(known) or 'none that is here'}")
    what = f"network card {name}"
    if (folder / "wireless").exists() or (folder / "phy80211").exists():
        yield Finding(what, "wireless", "a cable of its own to the arm: no arm is controlled at 1 kHz over the air")
        return
    state, speed = _text(folder / "operstate"), _text(folder / "speed")
    if state not in ("up", "unknown"):
        yield Finding(what, state or "unknown", "plug the cable in, and give it an address of the arm's network")
        return
    if not speed.isdecimal():
        yield Finding(what, f"{state}, of unknown speed", None)
        return
    advice = "" if int(speed) >= SPEED else f"a card and a cable for {SPEED} Mbit/s"
    yield Finding(what, f"{state}, {speed} Mbit/s", advice)


def _middleware(variables: Mapping[str, str]) -> Finding:
    chosen = variables.get("RMW_IMPLEMENTATION", "")
    if "zenoh" in chosen:
        return Finding("middleware", chosen, "rmw_fastrtps_cpp or rmw_cyclonedds_cpp: they report a node's death")
    return Finding("middleware", chosen or "the distribution's")


def _range(variables: Mapping[str, str]) -> Finding:
    chosen = variables.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "")
    if chosen in ("LOCALHOST", "OFF"):
        # Fast DDS itself does not listen on the loopback alone in this range: `choose_transport` makes it.
        own = chosen_by_user(variables) if chosen == "LOCALHOST" else []
        advice = f"unset {', '.join(own)}, or see `listens on` in a node's diagnostics: other machines may reach it"
        return Finding("discovery", chosen, advice if own else "")
    advice = "`export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST` where one machine is enough: no other machine then joins"
    return Finding("discovery", chosen or "SUBNET", advice)
