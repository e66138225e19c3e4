"""Access policies of SROS2 for a graph of nodes, made from its description: each node may do what it does, and no more.

`python -m impact_aware.bringup.security hit-and-push > policies.xml` writes the file that `ros2 security
generate_artifacts` takes; docs/security.md says how. The format is that of SROS2, version 0.2.0.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree

from impact_aware.bringup.connections import published, subscribed
from impact_aware.bringup.graph import DualArmOptions, SingleArmOptions, dual_arm_graph, single_arm_graph
from impact_aware.bringup.node_spec import NodeSpec

GRAPHS = {
    "hit-and-push": lambda: single_arm_graph(SingleArmOptions(simulation=False, watchdog=True)),
    "dual-arm-grab": lambda: dual_arm_graph(DualArmOptions(simulation=False, watchdog=True)),
}
"""Graphs by the names of their tasks, for real arms."""

_PARAMETERS = ("describe_parameters", "get_parameters", "get_parameter_types", "list_parameters", "set_parameters",
               "set_parameters_atomically")  # fmt: skip
_LIFECYCLE = ("change_state", "get_available_states", "get_available_transitions", "get_state", "get_transition_graph")

_OFFERED = {
    "reference_field": ("set_task",),
    "jump_predictor": ("predict_post_impact",),
    "command_watchdog": ("~/reset",),
    "rs_controller": (*(f"~/{name}" for name in ("safe_stop", "reset", "start", *_LIFECYCLE)),),
}
"""Services of each executable besides those of its parameters, which other nodes of the graph have no need to call."""

_SWITCHING = ("list_controllers", "switch_controller")
"""Services of a controller manager that the watchdog calls."""

_COMPONENTS = ("set_hardware_component_state",)
"""The same, where it takes a hardware component off too."""

_COMMANDS = "/commands"
"""End of the topics of commands, before which stands the controller that takes them."""

_READINESS, _CLOCK, _STEP = "/readiness", "/clock", "/step_done"


def enclave(spec: NodeSpec) -> str:
    """Path of the node's enclave."""
    return f"/impact_aware/{spec.full_name}"


def policies(graph: Sequence[NodeSpec]) -> str:
    """The policies of all nodes as XML."""
    root = ElementTree.Element("policy", version="0.2.0")
    enclaves = ElementTree.SubElement(root, "enclaves")
    simulated = any(spec.executable == "sim_robot" for spec in graph)
    for spec in graph:
        place = ElementTree.SubElement(enclaves, "enclave", path=enclave(spec))
        profiles = ElementTree.SubElement(place, "profiles")
        namespace = f"/{spec.namespace}"
        profile = ElementTree.SubElement(profiles, "profile", ns=namespace, node=spec.name)
        _allow(profile, "topics", "topic", _topics(spec, simulated))
        _allow(profile, "services", "service", _services(spec))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _topics(spec: NodeSpec, simulated: bool) -> dict[str, set[str]]:
    """Topics of a node; a real arm has no simulated clock, which could stop the time of its controller."""
    sends = {"/rosout", "/parameter_events", _READINESS, *(end.topic for end in published(spec))}
    hears = {"/parameter_events", _READINESS, *(end.topic for end in subscribed(spec))}
    if simulated:
        hears.add(_CLOCK)
    if spec.executable == "sim_robot":
        sends.add(_CLOCK)
        hears.add(_STEP)
    elif simulated and spec.executable in ("impact_detector", "jump_predictor", "rs_controller"):
        sends.add(_STEP)
    if spec.executable == "rs_controller":
        sends.add(f"/{spec.full_name}/transition_event")
    return {"publish": sends, "subscribe": hears}


def _services(spec: NodeSpec) -> dict[str, set[str]]:
    names = (*(f"~/{name}" for name in _PARAMETERS), *_OFFERED.get(spec.executable, ()))
    above = f"/{spec.namespace}/" if spec.namespace else "/"
    allowed = {"reply": {name.replace("~", f"/{spec.full_name}") if "~" in name else above + name for name in names}}
    if spec.executable == "command_watchdog":
        managers = [f"{above}{arm}/controller_manager" if arm else f"{above}controller_manager" for arm in spec.arms]
        components = _COMPONENTS if spec.parameters.get("hardware_components") else ()
        allowed["request"] = {f"{manager}/{name}" for manager in managers for name in (*_SWITCHING, *components)}
    if spec.executable == "rs_controller":
        # It reads back in which order the arms' controllers have their joints.
        owners = (end.topic.removesuffix(_COMMANDS) for end in published(spec) if end.topic.endswith(_COMMANDS))
        allowed["request"] = {f"{owner}/get_parameters" for owner in owners}
    return allowed


def _allow(profile: ElementTree.Element, group: str, item: str, allowed: Mapping[str, Iterable[str]]) -> None:
    for direction, names in allowed.items():
        part = ElementTree.SubElement(profile, group, {direction: "ALLOW"})
        for name in sorted(names):
            ElementTree.SubElement(part, item).text = name


def main() -> int:
    """Print the policies of a task's graph."""
    if len(sys.argv) != 2 or sys.argv[1] not in GRAPHS:
        print(f"usage: python -m impact_aware.bringup.security TASK, one of {', '.join(GRAPHS)}", file=sys.stderr)
        return 2
    print(policies(GRAPHS[sys.argv[1]]()), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
