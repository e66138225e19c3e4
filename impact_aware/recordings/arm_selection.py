"""Which arms a recording shows: joint-state topics, the robot models that fit them, and joints mapped by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pinocchio as pin

from impact_aware.bags.bag import Bag, BagError
from impact_aware.bags.joint_states import JOINT_STATE_TYPES, OTHER_TYPES, JointStateDecoder, joint_state_deserializer
from impact_aware.bags.recorded_description import Description, descriptions_in, robot_of
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.robot import RobotModel, load_robot, robot_description

MOST_TOPICS = 32
"""Topics of joint states in a recording."""

MOST_GROUPS = 32
"""Lists of joint names that take turns on a topic; a driver of several arms and hands has some."""

_SAME_PLACE = 0.05
"""How far a joint may be between the first messages of two topics of the same arm, rad."""

_COPY_RATIO = 1.5
_SLOW = 200.0


@dataclass(frozen=True, eq=False)
class ArmSource:
    """One arm of a recording.

    Attributes:
        arm: Its name; empty for a topic without a namespace.
        topic: Topic of its joint states; empty for a table.
        message_names: (n,) Its joints as the messages name them, in the model's order.
        robot: The model, or None without one.
        urdf: Text of the URDF of the model, or None.
        notes: What a reader has to know.
    """

    arm: str
    topic: str
    message_names: tuple[str, ...]
    robot: RobotModel | None = None
    urdf: str | None = None
    notes: tuple[str, ...] = ()


@dataclass
class _Topic:
    name: str
    count: int
    joints: dict[tuple[str, ...], int]
    rate: float
    first: dict[str, float] = field(default_factory=dict)
    namespace: str = field(init=False)

    def __post_init__(self) -> None:
        self.namespace = _namespace(self.name)


def arms_in_bag(bag: Bag, robot: str | None, topics: Sequence[str]) -> tuple[list[ArmSource], list[str]]:
    """The arms of an opened recording, and notes about what was left out.

    Args:
        bag: The recording.
        robot: Robot to use for every arm; the recording's `robot_description` when None.
        topics: Joint-state topics to use; all of them when empty.

    Raises:
        BagError: No joint states, or none of this robot.
        InvalidInputError: A topic that is not there, or of another type.
    """
    found = [_survey(bag, topic) for topic in _topics(bag, topics)]
    found = [topic for topic in found if topic.count]
    if not found:
        raise BagError(f"{bag.path}: no messages on {', '.join(_topics(bag, topics))}")
    notes: list[str] = []
    if robot is not None:
        model, urdf = load_robot(robot), robot_description(robot)
        arms = [arm for topic in found for arm in _of_model(topic, model, urdf)]
        _refuse_missing(bag, found, model, arms)
        used = {arm.topic for arm in arms}
        notes += [
            f"{t.name} was left out: it does not have the joints of {model.name}" for t in found if t.name not in used
        ]
        return _without_copies(arms, found, notes), notes
    descriptions = descriptions_in(bag)
    arms = [arm for topic in found for arm in _of_description(topic, descriptions)]
    return _without_copies(arms, found, notes), notes


def arm_of_table(joint_names: tuple[str, ...], robot: str | None) -> ArmSource:
    """The one arm of a table.

    Raises:
        InvalidInputError: Joints of the robot are missing.
    """
    if robot is None:
        return ArmSource("", "", joint_names, notes=("no robot is known; --robot gives predictions",))
    model, urdf = load_robot(robot), robot_description(robot)
    missing = [name for name in model.joint_names if name not in joint_names]
    if missing:
        wanted = (
            f"the joints of {model.name}; {', '.join(missing)} are missing: --columns 'q=COLUMNS joints=JOINTS' "
            "assigns columns to joints, also for one arm out of two"
        )
        if model.profile is None:
            wanted += "; impact-aware new-robot --joints writes a profile of some of a URDF's joints"
        raise InvalidInputError("table", f"joints {', '.join(joint_names)}", wanted)
    return ArmSource("", "", model.joint_names, model, urdf)


def _topics(bag: Bag, wanted: Sequence[str]) -> list[str]:
    others = sorted(topic for topic, kind in bag.topics.items() if kind in OTHER_TYPES)
    usable = sorted(topic for topic, kind in bag.topics.items() if kind in JOINT_STATE_TYPES) or others
    if not wanted:
        if len(usable) > MOST_TOPICS:
            raise BagError(f"{bag.path}: {len(usable)} topics of joint states; --topic picks {MOST_TOPICS} at most")
        if not usable:
            listed = ", ".join(f"{topic} ({kind})" for topic, kind in sorted(bag.topics.items())) or "none at all"
            raise BagError(f"{bag.path}: no sensor_msgs/JointState among its topics: {listed}")
        return usable
    chosen = []
    for name in wanted:
        topic = name if name in bag.topics else f"/{name}"
        if topic not in bag.topics:
            expected = ", ".join(usable) if usable else "a topic of the recording, which has no JointState"
            raise InvalidInputError(f"topic in {bag.path.name}", repr(name), f"one of {expected}")
        if topic not in (*usable, *others):
            raise InvalidInputError(f"topic in {bag.path.name}", f"{name} of type {bag.topics[topic]}", "a JointState")
        chosen.append(topic)
    return chosen


def _survey(bag: Bag, topic: str) -> _Topic:
    """Names and rate of a topic from its first messages."""
    decoder = JointStateDecoder(joint_state_deserializer(bag, topic))
    first = next(iter(bag.raw([topic])), None)
    if first is None:
        return _Topic(topic, 0, {}, np.nan)
    batches = decoder.decode(first)
    if not batches:
        # Let the library say what is wrong.
        bag.deserialize(topic, first.payload(0))
    span = float(first.received[-1] - first.received[0]) * 1e-9
    rate = (len(first) - 1) / span if span > 0.0 else np.nan
    groups: Counter[tuple[str, ...]] = Counter()
    for batch in batches:
        groups[batch.names] += len(batch.positions)
    begin = {
        name: float(q) for batch in reversed(batches) for name, q in zip(batch.names, batch.positions[0], strict=True)
    }
    return _Topic(topic, len(first), dict(list(groups.items())[:MOST_GROUPS]), rate, begin)


def _of_model(topic: _Topic, robot: RobotModel, urdf: str | None) -> list[ArmSource]:
    """Arms of a topic that have this robot's joints, by their very names or with a prefix in front of all."""
    arms: list[ArmSource] = []
    for names in topic.joints:
        for prefix in _prefixes(names, robot.joint_names):
            mapped = tuple(prefix + joint for joint in robot.joint_names)
            arm = "/".join(part for part in (topic.namespace, prefix.strip("_/-.")) if part)
            if all(known.message_names != mapped for known in arms):
                # A model has scratch memory of its own, so arms do not share one.
                arms.append(ArmSource(arm, topic.name, mapped, robot, urdf))
    return arms


def _prefixes(names: Sequence[str], joints: Sequence[str]) -> list[str]:
    present = set(names)
    candidates = [name[: -len(joints[0])] for name in names if name.endswith(joints[0])]
    return [prefix for prefix in candidates if all(prefix + joint in present for joint in joints)]


def _refuse_missing(bag: Bag, found: list[_Topic], robot: RobotModel, arms: list[ArmSource]) -> None:
    if arms:
        return
    lines = []
    for topic in found:
        names = max(topic.joints, key=lambda names: len(set(names) & set(robot.joint_names)), default=())
        missing = [joint for joint in robot.joint_names if joint not in names]
        if len(missing) == robot.n:
            lines.append(f"{topic.name} has {', '.join(names) or 'no names'}")
        else:
            lines.append(f"{topic.name} lacks {', '.join(missing)}")
    raise BagError(f"{bag.path}: no topic has the joints of {robot.name}: {'; '.join(lines)}")


def _of_description(topic: _Topic, descriptions: list[Description]) -> list[ArmSource]:
    names = tuple(dict.fromkeys(name for group in topic.joints for name in group))
    bare = [ArmSource(topic.namespace, topic.name, group) for group in _disjoint(topic.joints)]
    chosen = _nearest(topic.namespace, descriptions)
    if chosen is None:
        return _noted(bare, "no robot is known: the recording has no robot_description; --robot gives predictions")
    if chosen.model is None:
        return _noted(bare, f"{chosen.topic} can't be used ({chosen.problem}); --robot gives predictions")
    groups = _branches(chosen.model, names)
    if not groups:
        return _noted(bare, f"{chosen.topic} has none of the joints of {topic.name}; --robot gives predictions")
    for name, parent in zip(chosen.model.names, chosen.model.parents, strict=True):
        carrier = chosen.model.names[parent]
        if name in names and parent != 0 and carrier not in names:
            return _noted(bare, f"{topic.name} lacks {carrier}, which carries {name}: no predictions without it")
    arms: list[ArmSource] = []
    for group in groups:
        several = len(groups) > 1
        arm = "/".join(part for part in (topic.namespace, _common_name(group) if several else "") if part)
        try:
            robot, notes = robot_of(chosen, group)
        except ImpactAwareError as error:
            arms.append(ArmSource(arm, topic.name, group, notes=(f"{chosen.topic} can't be used: {error}",)))
            continue
        arms.append(ArmSource(arm, topic.name, robot.joint_names, robot, chosen.text, notes))
    return arms


def _branches(model: pin.Model, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Joints of the model that messages name, in its order, one group per chain that leaves the base."""
    groups: dict[int, list[str]] = {}
    for joint in range(1, model.njoints):
        if model.names[joint] in names:
            root = joint
            while model.parents[root] != 0:
                root = model.parents[root]
            groups.setdefault(root, []).append(model.names[joint])
    return [tuple(group) for group in groups.values()]


def _nearest(namespace: str, descriptions: list[Description]) -> Description | None:
    """The description of the same namespace, else of one around it, else the only one."""
    around = [d for d in descriptions if f"{namespace}/".startswith(f"{_namespace(d.topic)}/".lstrip("/"))]
    if around:
        return max(around, key=lambda d: len(_namespace(d.topic)))
    return descriptions[0] if len(descriptions) == 1 else None


def _disjoint(joints: Mapping[tuple[str, ...], int]) -> list[tuple[str, ...]]:
    """Name lists, of those with a number of messages each, that are no part of another one.

    A list is left out as well where most of its names come in others that are faster: a joint_state_publisher repeats
    an arm slowly beside its gripper.
    """
    kept: list[tuple[str, ...]] = []
    for names in sorted(joints, key=len, reverse=True):
        faster = {
            name
            for other, count in joints.items()
            if set(other) < set(names) and count > _COPY_RATIO * joints[names]
            for name in other
        }
        if names and 2 * len(faster) <= len(names) and not any(set(names) <= set(other) for other in kept):
            kept.append(names)
    return kept


def _without_copies(arms: list[ArmSource], found: list[_Topic], notes: list[str]) -> list[ArmSource]:
    """Leave out slow copies of a topic, and give arms of the same name different ones.

    A copy may name more joints or fewer: a driver publishes an arm fast, a joint_state_publisher it and its gripper.
    """
    rates = {topic.name: topic.rate for topic in found}
    begin = {topic.name: topic.first for topic in found}
    kept: list[ArmSource] = []
    for arm in sorted(arms, key=lambda arm: -np.nan_to_num(rates[arm.topic])):
        faster = next((k for k in kept if k.topic != arm.topic and _same_arm(k, arm, begin)), None)
        if faster is not None:
            mine, theirs = rates[arm.topic], rates[faster.topic]
            if mine * _COPY_RATIO < theirs or mine < _SLOW:
                notes.append(f"{arm.topic} was left out: it has the arm of {faster.topic}, which is faster")
                continue
        kept.append(arm)
    kept.sort(key=lambda arm: (arm.topic, arm.arm))
    names = [arm.arm for arm in kept]
    return [
        arm if names.count(arm.arm) == 1 else replace(arm, arm=f"{arm.arm or 'arm'}{index + 1}")
        for index, arm in enumerate(kept)
    ]


def _same_arm(one: ArmSource, other: ArmSource, begin: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether one's joints are among the other's, and where the other's are at the beginning of the recording."""
    common = set(one.message_names) & set(other.message_names)
    if len(common) < min(len(one.message_names), len(other.message_names)):
        return False
    first, second = begin[one.topic], begin[other.topic]
    # A position that is not finite excludes no match.
    return not any(abs(first[name] - second[name]) > _SAME_PLACE for name in common)


def _noted(arms: list[ArmSource], note: str) -> list[ArmSource]:
    def name(arm: ArmSource) -> str:
        own = _common_name(arm.message_names) if len(arms) > 1 else ""
        return "/".join(filter(None, (arm.arm, own)))

    return [replace(arm, arm=name(arm), notes=(*arm.notes, note)) for arm in arms]


def _common_name(joints: Sequence[str]) -> str:
    """What all joints' names begin with, without joining marks and the word joint."""
    first, last = min(joints), max(joints)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    common = first[:length].rstrip("0123456789")
    for ending in ("_joint", "joint", "_j", "_"):
        common = common.removesuffix(ending)
    return common.strip("_/-.")


def _namespace(topic: str) -> str:
    return topic.rsplit("/", 1)[0].strip("/") if "/" in topic else ""
