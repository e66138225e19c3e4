"""Who publishes what to whom in a graph of nodes, as data: what must be connected before anything may move.

`connected` gives each node of a graph the parameters from which it sees by itself, over DDS, whether its peers are
there (`impact_aware.nodes.ros.readiness`), and a recorder the topics that will come. Nodes that are not of the product,
drivers and tools among them, have no entry and are not waited for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from impact_aware.bringup.command_path import OVERLAY, OVERLAY_TOPIC, OVERLAY_TYPE
from impact_aware.bringup.node_spec import NodeSpec

RECORDER, MONITOR = "bag_recorder", "run_monitor"

_ARM = "{arm}"
"""Stands for what is in front of an arm's topics: its name and a slash below which they are, or nothing."""

_STATES = f"{_ARM}joint_states", "sensor_msgs/msg/JointState"
_EFFORTS = f"{_ARM}effort_controller/commands", "std_msgs/msg/Float64MultiArray"
_LAWS = f"{_ARM}local_law", "impact_aware_msgs/msg/LocalLaw"
_OVERLAYS = f"{_ARM}{OVERLAY_TOPIC}", OVERLAY_TYPE
_CONTROLS = f"{_ARM}control", "linear_feedback_controller_msgs/msg/Control"
_IMPACTS = f"{_ARM}impacts", "impact_aware_msgs/msg/ImpactEvent"
_JUMPS = f"{_ARM}predicted_jumps", "impact_aware_msgs/msg/ImpactPrediction"
_TRUTH = f"{_ARM}true_impacts", "impact_aware_msgs/msg/ImpactPrediction"
_COMMON = "common_jumps", "impact_aware_msgs/msg/ImpactPrediction"
_FIELD = "reference_field", "impact_aware_msgs/msg/ReferenceField"
_LIVES = [(f"{topic}/heartbeat", "impact_aware_msgs/msg/Heartbeat") for topic, _ in (_IMPACTS, _JUMPS, _FIELD)]
_TASK = "task", "impact_aware_msgs/msg/Task"
_POSE = "object_pose", "geometry_msgs/msg/PoseStamped"
_ARM_POSE = f"{_ARM}object_pose", "geometry_msgs/msg/PoseStamped"
_TWIST = "object_twist", "geometry_msgs/msg/TwistStamped"
_CONTROL = "controller_state", "impact_aware_msgs/msg/ControllerState"
_HEARTBEAT = "command_watchdog/heartbeat", "impact_aware_msgs/msg/Heartbeat"
_MARKERS = "impact_markers", "visualization_msgs/msg/MarkerArray"
_DESCRIPTION = f"{_ARM}robot_description", "std_msgs/msg/String"
_DIAGNOSTICS = "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"

_LATCHED = frozenset({_FIELD[0], _TASK[0], _DESCRIPTION[0]})
"""Topics whose last message is kept for those who come late."""

_PUBLISHED: dict[str, tuple[tuple[str, str], ...]] = {
    RECORDER: (),
    MONITOR: (),
    "impact_detector": (_IMPACTS, _LIVES[0], _DIAGNOSTICS),
    "jump_predictor": (_JUMPS, _LIVES[1], _DIAGNOSTICS),
    "reference_field": (_FIELD, _LIVES[2], _TASK, _DIAGNOSTICS),
    "rs_controller": (_EFFORTS, _CONTROL, _DIAGNOSTICS),
    "impact_markers": (_MARKERS, _DIAGNOSTICS),
    "command_watchdog": (_HEARTBEAT, _DIAGNOSTICS),
    "kuka_fri_relay": (_OVERLAYS, _DIAGNOSTICS),
    "sim_robot": (_STATES, _TRUTH, _DESCRIPTION, _POSE, _TWIST, _DIAGNOSTICS),
}

_SUBSCRIBED: dict[str, tuple[tuple[str, str], ...]] = {
    RECORDER: (),
    MONITOR: (_DIAGNOSTICS,),
    "impact_detector": (_STATES,),
    "jump_predictor": (_STATES, _IMPACTS, _POSE),
    "reference_field": (_IMPACTS, _JUMPS, _POSE, _CONTROL),
    "rs_controller": (_STATES, _IMPACTS, _JUMPS, _FIELD, *_LIVES),
    "command_watchdog": (_EFFORTS, _CONTROL),
    "kuka_fri_relay": (_STATES, ("kuka_fri_relay/commands", _EFFORTS[1])),
    "impact_markers": (_JUMPS, _TRUTH, _IMPACTS, _POSE),
    "sim_robot": (_EFFORTS,),
}


def field_topics(namespace: str) -> tuple[str, ...]:
    """The field of an arm in this namespace, and that of several arms, which is one level above each of them."""
    return (_FIELD[0], *_one_above(namespace, _FIELD[0]))


def task_topics(namespace: str) -> tuple[str, ...]:
    """The task of an arm in this namespace, and that of several arms, which is one level above each of them."""
    return (_TASK[0], *_one_above(namespace, _TASK[0]))


def common_topics(namespace: str) -> tuple[str, ...]:
    """Where the common impact of several arms is predicted: one level above each of them; nowhere for an arm on top."""
    return _one_above(namespace, _COMMON[0])


def _one_above(namespace: str, topic: str) -> tuple[str, ...]:
    above, _, name = namespace.strip("/").rpartition("/")
    return (f"/{above}/{topic}".replace("//", "/"),) if name else ()


class End(NamedTuple):
    """One end of a topic."""

    topic: str  # full name
    type: str  # of its messages, such as `sensor_msgs/msg/JointState`
    latched: bool


def published(spec: NodeSpec) -> tuple[End, ...]:
    """What a node publishes for others of a graph, beside its lockstep answers and their heartbeat."""
    ends = _ends(spec, _commanded(spec, _PUBLISHED.get(spec.executable, ())))
    if spec.executable == "reference_field" and len(spec.arms) > 1:
        ends += _ends(spec, (_COMMON, _ARM_POSE))
    return ends


def subscribed(spec: NodeSpec) -> tuple[End, ...]:
    """What a node of a graph listens to; a recorder's depend on the others."""
    ends = _ends(spec, _commanded(spec, _SUBSCRIBED.get(spec.executable, ())))
    extra: Sequence[tuple[str, str]] = ()
    if spec.executable == "impact_detector":
        extra = [(topic, _IMPACTS[1]) for topic in spec.parameters.get("other_impacts", ())]
        extra += [(spec.parameters.get("expected_jumps", "predicted_jumps"), _JUMPS[1])]
        if spec.parameters.get("normal") or spec.parameters.get("base_from_task"):
            extra += [(topic, _TASK[1]) for topic in task_topics(spec.namespace)]
    elif spec.executable == "rs_controller":
        extra = [_HEARTBEAT] if spec.parameters.get("watchdog") else []
        extra += [(topic, _TASK[1]) for topic in _base_topics(spec, "bases_from_task")]
    elif spec.executable == "kuka_fri_relay":
        extra = [(topic, _TASK[1]) for topic in _base_topics(spec, "base_from_task")]
    elif spec.executable == "impact_markers":
        extra = [(topic, _FIELD[1]) for topic in field_topics(spec.namespace)]
        extra += [(topic, _COMMON[1]) for topic in common_topics(spec.namespace)]
    elif spec.executable == "jump_predictor":
        extra = [(topic, _TASK[1]) for topic in task_topics(spec.namespace)]
    elif spec.executable == "reference_field" and len(spec.arms) > 1:
        extra = [_STATES]
    return ends + _ends(spec, extra)


def _base_topics(spec: NodeSpec, parameter: str) -> tuple[str, ...]:
    """Where a node whose parameter says so listens for the base."""
    return task_topics(spec.namespace) if spec.parameters.get(parameter) else ()


def _commanded(spec: NodeSpec, topics: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The same topics, with the laws in place of the efforts where arms are commanded by them."""
    laws = {"local_law": _LAWS, "linear_feedback": _CONTROLS, OVERLAY: _OVERLAYS}
    commands = laws.get(spec.parameters.get("command_interface", ""), _EFFORTS)
    return [commands if topic == _EFFORTS else topic for topic in topics]


def connected(graph: Sequence[NodeSpec], above: str = "") -> tuple[NodeSpec, ...]:
    """The same nodes, each with the parameters `peers` and, where it begins a motion, `companions`.

    A peer is the other end of a topic, such as `/impacts > /rs_controller` for one who must hear, `/impacts <
    /impact_detector` for one who must be heard. Companions are the nodes whose readiness is waited for. A recorder is
    given the topics that will come, such as `/impacts impact_aware_msgs/msg/ImpactEvent`, with `latched` behind.
    `above` is the namespace that whoever starts the graph puts around all of it.
    """
    placed = [dataclasses.replace(spec, namespace="/".join(filter(None, (above, spec.namespace)))) for spec in graph]
    found = _connected(tuple(placed))
    return tuple(dataclasses.replace(spec, parameters=own.parameters) for spec, own in zip(graph, found, strict=True))


def _connected(graph: tuple[NodeSpec, ...]) -> tuple[NodeSpec, ...]:
    known = [spec for spec in graph if spec.executable in _PUBLISHED]
    offered = {_name(spec): published(spec) for spec in known}
    wanted = {_name(spec): {end.topic for end in subscribed(spec)} for spec in known}
    for spec in known:
        if spec.executable == RECORDER:
            wanted[_name(spec)] = {end.topic for ends in offered.values() for end in ends}
    return tuple(_with_peers(spec, offered, wanted) if spec in known else spec for spec in graph)


def _with_peers(spec: NodeSpec, offered: dict[str, tuple[End, ...]], wanted: dict[str, set[str]]) -> NodeSpec:
    name = _name(spec)
    peers = {
        f"{end.topic} > {other}"
        for end in offered[name]
        for other, topics in wanted.items()
        if other != name and end.topic in topics
    }
    peers |= {
        f"{end.topic} < {other}"
        for other, ends in offered.items()
        for end in ends
        if other != name and end.topic in wanted[name]
    }
    more: dict[str, Any] = {"peers": sorted(peers)}
    if spec.executable in ("rs_controller", "sim_robot"):
        more["companions"] = sorted(other for other in offered if other != name)
    if spec.executable == RECORDER:
        ends = {end for others in offered.values() for end in others}
        more["topics"] = [f"{end.topic} {end.type}{' latched' * end.latched}" for end in sorted(ends)]
    # ROS can't tell the type of an empty list.
    return dataclasses.replace(spec, parameters=spec.parameters | {key: own for key, own in more.items() if own})


def _ends(spec: NodeSpec, topics: Iterable[tuple[str, str]]) -> tuple[End, ...]:
    """The topics with their full names: each arm's, remapped, below the namespace."""
    ends: dict[str, End] = {}
    for template, kind in topics:
        for arm in spec.arms if _ARM in template else ("",):
            relative = template.format(arm=f"{arm}/" if arm else "")
            relative = spec.remappings.get(relative, relative)
            topic = relative if relative.startswith("/") else f"{_above(spec)}/{relative}"
            ends[topic] = End(topic, kind, template in _LATCHED)
    return tuple(ends.values())


def _above(spec: NodeSpec) -> str:
    return f"/{spec.namespace}" if spec.namespace else ""


def _name(spec: NodeSpec) -> str:
    return f"/{spec.full_name}"
