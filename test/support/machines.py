"""Machines made of files for `impact-aware doctor`."""

from pathlib import Path

from impact_aware.bringup.host_check import Finding, look_at_host

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max locked memory         {memory}              9999999999           bytes
Max realtime priority     {priority}                   99
Max realtime timeout      unlimited            unlimited            us
"""

GOVERNOR = "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"

GOOD = {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


class Machine:
    """A folder with the files of a kernel, in which every check passes at first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("proc/version", "Linux version 6.8.1-1015-realtime (b@c) (gcc) #16 SMP PREEMPT_RT Fri")
        self.write("proc/self/limits", LIMITS.format(memory="unlimited", priority=99))
        self.write("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-2,5-7\n")
        self.write("sys/devices/system/cpu/isolated", "2-3\n")
        for number in range(2):
            self.write(f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor", "performance\n")
        self.write("proc/sys/net/core/rmem_max", "4194304\n")
        self.write("sys/class/net/eth1/operstate", "up\n")
        self.write("sys/class/net/eth1/speed", "1000\n")
        self.write("sys/class/net/wlan0/wireless/status", "")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def look(self, card: str = "eth1", **environment: str) -> dict[str, Finding]:
        return {own.name: own for own in look_at_host(card, GOOD | environment, self.root)}


FAULTS = [
    ("proc/version", "Linux version 6.8.0-50-generic (b) #1", "kernel", "6.8.0-50-generic", "PREEMPT_RT"),
    ("proc/self/limits", LIMITS.format(memory=2**40, priority=19), "realtime_priority", "up to 19", "rtprio 99"),
    ("proc/self/limits", LIMITS.format(memory=2**29 - 1, priority=99), "locked memory", "up to 512 MB", "memlock"),
    ("proc/self/status", "Cpus_allowed_list:\t0-2\n", "processors", "3", "four or more"),
    ("sys/devices/system/cpu/isolated", "\n", "isolated processors", "none", "isolcpus"),
    (GOVERNOR, "powersave", "power governor", "performance, powersave", "cpupower"),
    ("proc/sys/net/core/rmem_max", "212992", "receive buffers", "up to 208 KiB", "sysctl"),
    ("sys/class/net/eth1/speed", "100", "network card eth1", "up, 100 Mbit/s", "1000 Mbit/s"),
    ("sys/class/net/eth1/operstate", "down", "network card eth1", "down", "plug the cable in"),
]  # fmt: skip
"""File and text of it that are not well, name of the finding, what is found, and a word of the remedy."""


def worst_machine(root: Path) -> list[Finding]:
    """What is found on a machine on which nothing is well."""
    machine = Machine(root)
    for file, text, *_ in FAULTS:
        machine.write(file, text)
    machine.write("proc/self/limits", LIMITS.format(memory="8388608", priority=0))
    return list(machine.look(**WORST).values())


WORST = {"RMW_IMPLEMENTATION": "rmw_zenoh_cpp", "ROS_AUTOMATIC_DISCOVERY_RANGE": ""}
