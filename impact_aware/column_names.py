"""What the name of a column says: which quantity of which joint, measured or wanted, in what unit.

Drivers and loggers name columns `actual_q_0`, `state.dq[3]`, `field.position2`, `AxisQMsr_1`, `q1 (deg)`,
`/joint_states/elbow/velocity`. A name is taken apart into words and numbers; columns that differ in nothing but a
number, or the name of a joint, are a group. A group with words that are not known is none: `tau_ext_hat_filtered[0]` is
no torque of the joints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_KINDS = {
    "q": ("q", "qpos", "pos", "position", "positions", "angle", "angles", "theta"),
    "dq": ("dq", "qd", "qdot", "qvel", "vel", "velocity", "velocities", "speed", "speeds"),
    "tau": ("tau", "torque", "torques", "trq", "effort", "efforts", "moment", "moments"),
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words}

_MEASURED = frozenset(("actual", "measured", "meas", "msr"))
_WANTED = frozenset(
    ("target", "desired", "des", "d", "ref", "reference", "cmd", "command", "commanded", "commands", "setpoint", "goal")
)
_BARE = frozenset(("joint", "joints", "jnt", "axis", "j", "a"))
_BESIDE = _BARE | frozenset(
    ("state", "states", "robot", "arm", "field", "current", "observation", "sensor", "fb", "feedback")
)
_TIME = frozenset(("time", "t", "duration", "stamp", "timestamp", "timestamps", "sec", "secs", "seconds", "zeit"))
_BESIDE_TIME = frozenset(
    ("header", "robot", "sample", "elapsed", "rel", "relative", "rosbag", "bag", "field", "ros", "log")
)
_DEGREES = frozenset(("deg", "degree", "degrees", "°", "deg/s", "°/s", "degrees/s", "deg/sec"))
_RADIANS = frozenset(("rad", "radian", "radians", "rad/s", "rads", "rad/sec"))
_UNITS = _DEGREES | _RADIANS | frozenset(("nm", "n m", "n*m", "n.m", "-"))

_AXES = (6, 7)
"""Columns `A1 ...` that are the axes of an arm: that many."""


@dataclass(frozen=True)
class NamedGroup:
    """Columns that differ in a number or a joint's name alone.

    Attributes:
        kind: `q`, `dq`, `tau` or `command`.
        columns: In the order of their joints.
        rank: How well the words say it, the best ones least: measured, the usual word, no word but joints'.
    """

    kind: str
    columns: tuple[str, ...]
    rank: tuple[bool, bool, int]


@dataclass
class _Found:
    """A group that grows."""

    kind: str
    rank: tuple[bool, bool, int]
    members: list[tuple[tuple[int, ...], str]] = field(default_factory=list)


def words_of(name: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The words of a name in small letters, and its numbers; a unit in brackets or at the end is none of them."""
    bare = re.sub(r"\s*[\[(]\s*(?!\d+\s*[\])])[^\[\]()]*[\])]\s*$", "", name)
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", bare)
    words = [part.lower() for part in parts if not part.isdigit()]
    while len(words) > 1 and words[-1] in _DEGREES | _RADIANS | {"nm"}:
        words.pop()
    return tuple(words), tuple(int(part) for part in parts if part.isdigit())


def angle_unit(name: str) -> str:
    """`deg` or `rad` where a name says it, `q1 (deg)`, `position_rad_3`; else an empty text."""
    inner = re.search(r"[\[(]\s*([^\[\]()]*?)\s*[\])]\s*$", name)
    said = {inner[1].lower()} if inner else set()
    said |= {part.lower() for part in re.split(r"[^A-Za-z°/]+", name)}
    if said & _DEGREES:
        return "deg"
    return "rad" if said & _RADIANS else ""


def is_time(name: str) -> bool:
    """Whether the words of a name say that it holds the times of the rows."""
    words, numbers = words_of(name)
    known = [word for word in words if word not in _BESIDE_TIME]
    units = {"s", "sec", "seconds", "ms", "msec", "us", "usec", "ns", "nsec"}
    if known[1:] and known[-1] in units:
        known = known[:-1]
    return not numbers and len(known) == 1 and known[0] in _TIME


def groups_of(names: Iterable[str], joints: Sequence[str] = ()) -> list[NamedGroup]:
    """Groups of columns of joints' quantities, in the order in which they begin.

    Args:
        names: Of the columns.
        joints: Of the robot, by which columns may be named; they come in their order.
    """
    by_length = sorted(joints, key=len, reverse=True)
    found: dict[tuple[object, ...], _Found] = {}
    for name in names:
        joint = next((joint for joint in by_length if joint in name), None)
        words, numbers = words_of(name if joint is None else name.replace(joint, " ", 1))
        place = numbers if joint is None else (*numbers, list(joints).index(joint))
        final = re.fullmatch(r"(?:.*[/.])?([A-Za-z_]\w*)[/.](\w+)", name.strip()) if joint is None else None
        kind, rank = _kind(words, joint is not None)
        key: tuple[object, ...] = (words, joint is not None)
        if not kind and final is not None and final[2].lower() in _KIND_OF and not set(words) & _WANTED:
            # A path that ends in a quantity: /joint_states/elbow/position, shoulder_pan.pos.
            kind, rank = _KIND_OF[final[2].lower()], (False, True, 0)
            key, place = ("path", final[2]), ()
        elif not place:
            kind = ""
        if kind:
            found.setdefault(key, _Found(kind, rank)).members.append((place, name))
    return [group for entry in found.values() if (group := _group(entry, joints)) is not None]


def quantity_of(name: str) -> tuple[str, tuple[bool, bool, int]]:
    """Which quantity of all joints a column of vectors holds by its name, empty for none, and how well it says so."""
    return _kind(words_of(name)[0], False)


def _kind(words: tuple[str, ...], named: bool) -> tuple[str, tuple[bool, bool, int]]:
    """Quantity that words say, empty for none, and how well."""
    said = [word for word in words if word in _KIND_OF]
    rest = {word for word in words if word not in _KIND_OF}
    if not said and not named and words and words[-1] == "joint" and not rest & _WANTED:
        # `panda_joint1`: joints of some arm.
        return "q", (True, True, int(bool(rest - _BARE)))
    if len({_KIND_OF[word] for word in said}) > 1 or rest - _BESIDE - _WANTED - _MEASURED:
        return "", (True, True, 0)
    if not said:
        return ("q" if (rest or named) and rest <= _BARE else ""), (True, True, 0)
    kind = _KIND_OF[said[0]]
    rank = (False, not rest & _MEASURED, _KINDS[kind].index(said[0]))
    if rest & _WANTED:
        kind = "command" if kind == "tau" else ""
    return kind, rank


def _group(entry: _Found, joints: Sequence[str]) -> NamedGroup | None:
    places = [place for place, _ in entry.members]
    if any(places):
        # Two numbers that change are two arms, or joints of several robots.
        if len({place[:-1] for place in places}) > 1 or len(set(places)) < len(places):
            return None
        entry.members.sort(key=lambda member: member[0])
    columns = tuple(name for _, name in entry.members)
    letters = {name.strip()[:1].lower() for name in columns}
    if entry.rank[0] and letters == {"a"} and len(columns) not in (*_AXES, len(joints)):
        return None
    return NamedGroup(entry.kind, columns, entry.rank) if len(columns) > 1 else None


def best_groups(groups: Iterable[NamedGroup], kind: str, count: int) -> list[NamedGroup]:
    """The groups of a quantity that are named best; several where names don't tell which.

    Args:
        groups: All.
        kind: The quantity.
        count: Joints of the robot, 0 where it is not known; groups of that many come first.
    """
    own = [group for group in groups if group.kind == kind]
    own = [group for group in own if len(group.columns) == count] or own
    return [group for group in own if group.rank == min(other.rank for other in own)]


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names in words, those that differ in a number alone in one: `q_0 ... q_6`."""
    kept: dict[str, list[str]] = {}
    for name in names:
        kept.setdefault(re.sub(r"\d+", "#", name), []).append(name)
    words = [
        word
        for group in kept.values()
        for word in ([f"{group[0]} ... {group[-1]}"] if len(group) > 3 else group)
    ]  # fmt: skip
    return ", ".join(words[:most]) + (", ..." if len(words) > most else "")
