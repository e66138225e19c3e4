"""The node graph that watches a recording being replayed: what of the recording is played, and who listens to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from impact_aware.bags.bag import Bag
from impact_aware.bringup.graph import DualArmOptions, SingleArmOptions, dual_arm_graph, single_arm_graph
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.robot import load_profile, profile_names
from impact_aware.task import load_task

JOINT_STATE = "sensor_msgs/msg/JointState"

PLAYED = (
    "joint_states", "object_pose", "object_twist", "reference_field", "true_impacts", "controller_state", "tf",
    "tf_static",
)  # fmt: skip
"""Last part of the topics that are played. Commands never are: a robot might listen."""

CLOCK_RATE = 100.0
"""How often `/clock` is published, Hz: as a simulation does, as each node with `use_sim_time` receives all of it."""

TF_MESSAGES = 100
"""Recorded messages of TF that are looked at: those of several sources at different rates."""

WATCHING = ("impact_detector", "jump_predictor", "impact_markers")
"""Nodes that listen; what they say was recorded too, but is not played."""


@dataclass(frozen=True)
class Replay:
    """How a recording is replayed.

    Attributes:
        topics: What is played.
        namespaces: One per arm; empty for an arm without.
        task: Task whose contact the predictors are given.
        robots: Profile of each arm.
        nodes: Who listens.
        frames: Child frames of the recorded TF, from its first messages.
    """

    topics: tuple[str, ...]
    namespaces: tuple[str, ...]
    task: str
    robots: tuple[str, ...]
    nodes: tuple[NodeSpec, ...]
    frames: frozenset[str] = frozenset()


def plan_replay(
    path: Path | str,
    *,
    namespaces: Sequence[str] | None = None,
    robot: str = "",
    task: str = "",
    parameter_file: str | None = None,
    markers: bool = True,
) -> Replay:
    """Look into a recording and plan its replay.

    What is not given is found there: the arms are those with joint states, the profile of a single one is that with the
    recorded joints, the task is the recorded one, or else the default of as many arms.

    Raises:
        BagError: The recording can't be read.
        InvalidInputError: A namespace without joint states, a robot that can't be found, or arms that the task lacks.
    """
    with Bag(Path(path)) as bag:
        states = [own for own, kind in bag.topics.items() if kind == JOINT_STATE and own.endswith("/joint_states")]
        found = {topic.rpartition("/")[0].strip("/"): topic for topic in states}
        chosen = tuple(sorted(found)) if namespaces is None else tuple(name.strip("/") for name in namespaces)
        for name in chosen:
            if name not in found:
                there = ", ".join(f"{other or '(none)'}" for other in sorted(found)) or "no namespace"
                raise InvalidInputError("namespaces", repr(name), f"namespaces with joint_states: {there}")
        if not chosen:
            raise InvalidInputError("bag", str(path), "a recording with a topic joint_states")
        task = task or _recorded_task(bag) or ("hit_and_push" if len(chosen) == 1 else "dual_arm_grab")
        # Bases that were looked up are only in the task that was published.
        from_tf = any(arm.base_in_tf for arm in load_task(task).arms)
        played = (*PLAYED, *(["task"] if from_tf else []))
        topics = tuple(sorted(topic for topic in bag.topics if topic.rpartition("/")[2] in played))
        frames = _recorded_frames(bag)
        single = robot or _recorded_profile(bag, found[chosen[0]])
    watching: dict[str, Any] = {"simulation": False, "control": False, "autostart": False, "markers": markers}
    watching |= {"task": task, "parameter_file": parameter_file, "bases_from_tf": from_tf}
    arms = load_task(task).arms
    if len(arms) == 1 == len(chosen):
        robots: tuple[str, ...] = (single,)
        graph = single_arm_graph(SingleArmOptions(robot=single, namespace=chosen[0], **watching))
    else:
        above = _common_parent(chosen, task)
        by_name = {arm.name: arm.robot for arm in arms}
        robots = tuple(by_name[name.rpartition("/")[2]] for name in chosen)
        graph = dual_arm_graph(DualArmOptions(namespace=above, **watching))
        graph = tuple(spec for spec in graph if spec.namespace in (above, *chosen))
    has_field = any(topic.endswith("/reference_field") for topic in topics)
    nodes = tuple(
        replace(spec, parameters={**spec.parameters, "use_sim_time": True})
        for spec in graph
        if spec.executable in WATCHING or not has_field
    )
    return Replay(topics, chosen, task, robots, nodes, frames)


def player_arguments(
    path: Path | str,
    topics: Sequence[str],
    *,
    rate: float = 1.0,
    start_paused: bool = False,
    loop: bool = False,
    delay: float = 0.0,
    start_offset: float = 0.0,
    qos_file: Path | str | None = None,
) -> list[str]:
    """`ros2 bag play` of these topics at `rate` seconds of the recording per second, with `/clock`.

    It waits for `delay`, s, as nodes take time to find the player, and with `start_paused` for the space bar or the
    service `~/resume`; `loop` begins again at the end. The first `start_offset` seconds of the recording are left out.
    `qos_file` is what `player_qos` gives, in YAML.

    Raises:
        InvalidInputError: A rate, a delay or an offset out of its range.
    """
    for name, value, low in (("rate", rate, 1e-3), ("delay", delay, 0.0), ("start_offset", start_offset, 0.0)):
        if not low <= value < 1e6:
            raise InvalidInputError(name, value, f"a number from {low:g} to 1e6")
    words = ["ros2", "bag", "play", str(path), "--clock", f"{CLOCK_RATE:g}", "--rate", f"{rate:g}"]
    words += ["--start-paused"] if start_paused else []
    words += ["--loop"] if loop else []
    words += ["--delay", f"{delay:g}"] if delay else []
    words += ["--start-offset", f"{start_offset:g}"] if start_offset else []
    words += ["--qos-profile-overrides-path", str(qos_file)] if qos_file else []
    return [*words, "--topics", *topics]


def player_qos(topics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the QoS with which the player publishes the topics that nodes subscribe to; recordings may lack it.

    States are reliable and deep, so that a busy machine loses none. Fields, tasks and static frames are latched.
    """
    profiles = {
        "joint_states": {"reliability": "reliable", "durability": "volatile", "history": "keep_last", "depth": 1000},
        "reference_field": {
            "reliability": "reliable", "durability": "transient_local", "history": "keep_last", "depth": 1,
        },
    }  # fmt: skip
    profiles["task"] = profiles["reference_field"]
    profiles["tf_static"] = {**profiles["reference_field"], "depth": 100}
    last = {topic: topic.rpartition("/")[2] for topic in topics}
    return {topic: profiles[name] for topic, name in last.items() if name in profiles}


def _recorded_task(bag: Bag) -> str:
    """Name of the task that the recorded field was made for; empty when there is none, or it is not known here."""
    for topic in bag.topics:
        if topic.endswith("/reference_field"):
            for _, message in bag.messages(topic):
                name = str(message.task)
                try:
                    load_task(name)
                except ImpactAwareError:
                    break
                return name
    return ""


def _recorded_frames(bag: Bag) -> frozenset[str]:
    """Child frames of the first messages in TF: an arm's publisher sends all of its links again and again."""
    return frozenset(
        str(transform.child_frame_id)
        for topic in bag.topics
        if topic in ("/tf", "/tf_static")
        for _, message in islice(bag.messages(topic), TF_MESSAGES)
        for transform in message.transforms
    )


def _recorded_profile(bag: Bag, topic: str) -> str:
    """The first profile whose joints are all recorded."""
    for _, message in bag.messages(topic):
        names = set(message.name)
        for profile in profile_names():
            try:
                if set(load_profile(profile).joint_names) <= names:
                    return profile
            except ImpactAwareError:
                continue
        expected = f"a robot profile, as none has the recorded {', '.join(sorted(names))}"
        raise InvalidInputError("robot", "nothing", expected)
    raise InvalidInputError("bag", str(bag.path), f"messages on {topic}")


def _common_parent(namespaces: tuple[str, ...], task: str) -> str:
    """The namespace above all arms, whose names must be among those of the task."""
    parents = {name.rpartition("/")[0] for name in namespaces}
    names = {name.rpartition("/")[2] for name in namespaces}
    wanted = {arm.name for arm in load_task(task).arms}
    if len(parents) != 1 or not names <= wanted:
        arms = ", ".join(sorted(filter(None, wanted)))
        expected = f"arms of the task {task}: {arms}" if arms else f"one of them, as the task {task} has one arm"
        raise InvalidInputError("namespaces", ", ".join(name or "(none)" for name in namespaces), expected)
    return parents.pop()
