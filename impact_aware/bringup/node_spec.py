"""One node of the graph as data: what a launch file or `impact-aware demo` starts, and how nodes share a process."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from impact_aware.bringup.start import EXECUTABLES
from impact_aware.errors import InvalidInputError

_ORDER = ("rs_controller", "impact_detector", "jump_predictor", "reference_field", "impact_markers")

GROUPED = {name: index for index, name in enumerate(_ORDER)}
"""Executables that can share a process, and in which order they are started there."""

WATCHERS = frozenset(GROUPED) - {"rs_controller"}
"""Nodes of `GROUPED` that send no command in reply to a state."""

NONE, ONLY_WATCHERS, ALL = "none", "watchers", "all"

SHARING = (NONE, ONLY_WATCHERS, ALL)
"""Which nodes share a process: none, those of `WATCHERS`, or all that can."""


BEGINNING = ("rs_controller", "sim_robot")
"""Executables that begin a motion, the simulator in lockstep."""


@dataclass(frozen=True)
class NodeSpec:
    """One node to start.

    Attributes:
        executable: Executable of the package.
        name: Node name.
        namespace: Namespace, without slashes at its ends; empty for none.
        parameter_files: YAML files, later ones win.
        parameters: Single parameters, which win over the files.
        remappings: Topic names, from -> to.
        arms: Names below which the topics of its arms are; empty for a single arm, or its own namespace.
        members: The nodes that this process holds, if it is a `node_group`.
    """

    executable: str
    name: str
    namespace: str = ""
    parameter_files: tuple[Path, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    remappings: dict[str, str] = field(default_factory=dict)
    arms: tuple[str, ...] = ("",)
    members: tuple[NodeSpec, ...] = ()

    @property
    def full_name(self) -> str:
        """Name below its namespace, such as `left/impact_detector`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def arguments(self) -> list[str]:
        """The words after the executable."""
        return [node_word(member) for member in self.members] or self.ros_arguments()

    def ros_arguments(self) -> list[str]:
        """Return name, namespace, remappings and parameters as `--ros-args`."""
        words = ["--ros-args", "-r", f"__node:={self.name}"]
        if self.namespace:
            words += ["-r", f"__ns:=/{self.namespace}"]
        for path in self.parameter_files:
            words += ["--params-file", str(path)]
        for name, value in self.parameters.items():
            words += ["-p", f"{name}:={json.dumps(value, ensure_ascii=False)}"]
        for source, target in self.remappings.items():
            words += ["-r", f"{source}:={target}"]
        return words


def node_word(spec: NodeSpec) -> str:
    """A node as an argument of `node_group`: the fields of its `NodeSpec` in JSON."""
    fields = {name: value for name, value in vars(spec).items() if name != "members"}
    return json.dumps(fields, default=str, ensure_ascii=False)


def node_of_word(word: str) -> NodeSpec:
    """The node that such an argument describes.

    Raises:
        InvalidInputError: It describes none.
    """
    try:
        fields = json.loads(word)
        files = tuple(Path(path) for path in fields.pop("parameter_files", ()))
        return NodeSpec(**fields | {"arms": tuple(fields.get("arms", ("",)))}, parameter_files=files)
    except (ValueError, TypeError, AttributeError):
        raise InvalidInputError("argument", word, "a node as JSON: executable, name, namespace, ...") from None


def with_companions(graph: Sequence[NodeSpec], above: str = "") -> tuple[NodeSpec, ...]:
    """Return the same nodes, those that begin a motion with the parameter `companions`: the other nodes of the graph.

    Only nodes of the product report on `/readiness`; drivers and tools are not waited for. `above` is the namespace
    in which the whole graph is started.
    """
    prefix = f"/{above}/" if above else "/"
    names = {prefix + own.full_name for own in graph if own.executable in EXECUTABLES}

    def waiting(spec: NodeSpec) -> NodeSpec:
        others = sorted(names - {prefix + spec.full_name})
        # ROS cannot infer the type of an empty list.
        if spec.executable not in BEGINNING or not others:
            return spec
        return replace(spec, parameters={**spec.parameters, "companions": others})

    return tuple(map(waiting, graph))


def in_one_process(graph: Sequence[NodeSpec], whose: str = ALL) -> tuple[NodeSpec, ...]:
    """Put the nodes of a graph, for one arm or several, into one `node_group`; a plant keeps its own process.

    The controller is first: nothing else of its process may fail or be served before it.

    Args:
        graph: The nodes.
        whose: One of `SHARING`.
    """
    sharing: Collection[str] = {NONE: frozenset(), ONLY_WATCHERS: WATCHERS, ALL: GROUPED}[whose]
    members = sorted((spec for spec in graph if spec.executable in sharing), key=lambda spec: GROUPED[spec.executable])
    if len(members) < 2:
        return tuple(graph)
    alone = (spec for spec in graph if spec.executable not in sharing)
    return (NodeSpec("node_group", "node_group", members=tuple(members)), *alone)
