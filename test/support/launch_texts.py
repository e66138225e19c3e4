"""What the launch files start, as it is kept in `test/launch/started.txt`; see `looked_at.py`."""

import functools
import json
from unittest import mock

from launch_started import ROOT, Started, started

from impact_aware.errors import InvalidInputError
from impact_aware.robot import load_profile
from impact_aware.robot.shown_urdf import shown_urdf

KEPT = ROOT / "test" / "launch" / "started.txt"
SINGLE, DUAL = "single_arm", "dual_arm"

SWITCHES = ("simulation", "control", "autostart", "lockstep", "markers", "rviz")
WATCHED = ("", {"markers"})
ARMS = ("cell", {"control", "markers", "rviz"})
SIMULATED = ("cell", {"simulation", "control", "markers"})
STEPPED = ("", {"simulation", "control", "autostart", "lockstep", "rviz"})
STEPPED_ARMS = ("", {"control", "autostart", "lockstep"})
"""Namespaces, and what is switched on."""

CHOICES = {
    "": (WATCHED, ARMS, SIMULATED, STEPPED, STEPPED_ARMS),
    "franka": (WATCHED, ARMS, SIMULATED),
    "kinova": (WATCHED, ARMS, SIMULATED),
    "kuka_fri": (WATCHED, ARMS, STEPPED),
    "ros2_control": (WATCHED, ARMS),
}
"""By the driver of the arms."""

PALM = (0.04, 0.04, 0.03)


@functools.cache
def descriptions() -> dict[str, str]:
    """URDF that is shown -> words for it."""
    profiles = [load_profile(name) for name in ("panda", "fr3", "kuka_lwr4")]
    return {
        shown_urdf(profile, pads): f"{profile.name} with {'a palm' if pads else 'a tip'}"
        for profile in profiles
        for pads in ((), PALM)
    }


def connected(found: list[Started]) -> None:
    """Nodes that begin a motion wait for all others; removes that parameter."""
    names = {node.full_name for node in found if node.package == "impact_aware"}
    for node in found:
        companions = node.parameters.pop("companions", None)
        if node.executable in ("rs_controller", "sim_robot"):
            assert set(companions) == names - {node.full_name}
        else:
            assert companions is None


def as_text(node: Started) -> str:
    """A node, in one line."""
    parameters = dict(node.parameters)
    if "robot_description" in parameters:
        parameters["robot_description"] = descriptions()[parameters["robot_description"]]
    files = [path.name for path in node.files]
    parts = node.full_name, node.package, node.executable, node.name, node.arguments, files, node.remappings, parameters
    return json.dumps(parts, sort_keys=True).replace(str(ROOT), "ROOT")


@mock.patch("os.sched_getaffinity", lambda process: set(range(8)))
def started_text() -> str:
    """Nodes of every choice on a machine with many processors, or why there are none."""
    lines = []
    for name in (SINGLE, DUAL):
        for hardware, choices in CHOICES.items():
            robot = "kuka_lwr4" if name == SINGLE and hardware in ("kinova", "kuka_fri", "ros2_control") else ""
            for namespace, on in choices:
                words = {switch: "true" if switch in on else "false" for switch in SWITCHES}
                texts = {"hardware": hardware, "robot": robot, "namespace": namespace}
                words |= {word: text for word, text in texts.items() if text} | {"single_process": "false"}
                lines += [f"# {name} {hardware} {namespace} {' '.join(sorted(on))}"]
                try:
                    nodes = started(name, words)
                except InvalidInputError as error:
                    lines += [str(error)]
                    continue
                connected(nodes)
                lines += map(as_text, nodes)
    return "\n".join(lines) + "\n"
