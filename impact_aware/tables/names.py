"""Meaning of a column's name: which quantity of which joint, measured or desired, in what unit; or the time.

Drivers and loggers name columns `actual_q_0`, `state.dq[3]`, `field.position2`, `AxisQMsr_1`, `q1 (deg)`,
`/joint_states/elbow/velocity`. A name is split into words and numbers; columns that differ in nothing but a number, or
the name of a joint, are a group, and so is a column of vectors. A group with unknown words is none:
`tau_ext_hat_filtered[0]` is no torque of the joints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

Name: TypeAlias = "str | int"
Columns: TypeAlias = "tuple[Name, ...]"

QUANTITIES = {
    "q": ("q", "position", "positions", "pos", "qpos", "angle", "angles", "theta"),
    "dq": ("dq", "qd", "qdot", "velocity", "velocities", "vel", "qvel", "speed", "speeds"),
    "tau": ("tau", "effort", "efforts", "torque", "torques", "trq", "moment", "moments"),
    "command": ("command", "commands"),
}
"""Words for positions, velocities, torques and commands, the preferred one first; a wanted torque is a command too."""

TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Seconds per unit of a time."""

_KIND_OF = {word: kind for kind, words in QUANTITIES.items() if kind != "command" for word in words}
_MEASURED = {"actual", "measured", "meas", "msr"}
_SENT = set(QUANTITIES["command"])
_WANTED = _SENT | {"target", "desired", "des", "d", "ref", "reference", "cmd", "commanded", "setpoint", "goal"}
_BARE = {"joint", "joints", "jnt", "axis", "j", "a"}
_BESIDE = _BARE | {"state", "states", "robot", "arm", "field", "current", "observation", "sensor", "fb", "feedback"}
_TIMES = ("time", "times", "t", "stamp", "timestamp", "__time")
_TIMELIKE = {*_TIMES, "timestamps", "duration", "sec", "secs", "seconds", "zeit"}
_BESIDE_TIME = {"header", "robot", "sample", "elapsed", "rel", "relative", "rosbag", "bag", "field", "ros", "log"}
_TIME_WORDS = {"sec": "s", "secs": "s", "seconds": "s", "msec": "ms", "usec": "us", "nsec": "ns", "nanoseconds": "ns"}
_DEGREES = {"deg", "degree", "degrees", "°", "deg/s", "°/s", "degrees/s", "deg/sec"}
_RADIANS = {"rad", "radian", "radians", "rad/s", "rads", "rad/sec"}

_AXES = (6, 7)
"""Columns `A1 ...` that are the axes of an arm: that many."""

Rank: TypeAlias = "tuple[int, bool, int, int]"
"""How well words say a quantity, the best ones least: with a word for it, measured, a usual word, few other words."""


class Group(NamedTuple):
    """Columns of one quantity of joints.

    Attributes:
        kind: One of `QUANTITIES`.
        columns: In the order of their joints; one column of vectors.
        width: Numbers per row of all of them.
        rank: How well the names say it.
    """

    kind: str
    columns: Columns
    width: int
    rank: Rank


def words_of(name: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The words of a name in small letters, and its numbers; a unit in brackets or at the end is none of them."""
    bare = re.sub(r"\s*[\[(]\s*(?!\d+\s*[\])])[^\[\]()]*[\])]\s*$", "", name)
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", bare)
    words = [part.lower() for part in parts if not part.isdigit()]
    while len(words) > 1 and words[-1] in _DEGREES | _RADIANS | {"nm"}:
        words.pop()
    return tuple(words), tuple(int(part) for part in parts if part.isdigit())


def angle_unit(name: str) -> str:
    """Return `deg` or `rad` where a name has it, `q1 (deg)`, `position_rad_3`; else an empty text."""
    inner = re.search(r"[\[(]\s*([^\[\]()]*?)\s*[\])]\s*$", name)
    words = {inner[1].lower()} if inner else set()
    words |= {part.lower() for part in re.split(r"[^A-Za-z°/]+", name)}
    return "deg" if words & _DEGREES else "rad" if words & _RADIANS else ""


def split_time_unit(name: str) -> tuple[str, str]:
    """A name without its unit of time, as `time [ms]` or `stamp_ns` have one; and that unit or ''."""
    if match := re.fullmatch(r"(.*[^\s_.\[(])[\s_.\[(]+([A-Za-z]+)[\])]?", name.strip()):
        unit = _TIME_WORDS.get(match[2].lower(), match[2].lower())
        if unit in TIME_UNITS:
            return match[1], unit
    return name, ""


def time_column(widths: Mapping[Name, int]) -> Name | None:
    """Return the column whose name fits the times of the rows best; the first one of a table without names."""
    ranks = {name: rank for name in widths if isinstance(name, str) and (rank := _time_rank(name)) is not None}
    return min(ranks, key=lambda name: ranks[name]) if ranks else 0 if 0 in widths else None


def _time_rank(name: str) -> int | None:
    """Place among the words for the time, behind all of them with other words beside it; None for another column."""
    last = split_time_unit(name.split("/")[-1])[0].strip().lower()
    if last in _TIMES:
        return _TIMES.index(last)
    words, numbers = words_of(split_time_unit(name)[0])
    known = [word for word in words if word not in _BESIDE_TIME]
    return len(_TIMES) if not numbers and len(known) == 1 and known[0] in _TIMELIKE else None


def best_groups(widths: Mapping[Name, int], kind: str, joints: Sequence[str]) -> list[Group]:
    """The groups of a quantity that are named best; several where the names don't decide.

    Args:
        widths: Numbers per row by column.
        kind: One of `QUANTITIES`.
        joints: Joints of the robot, by which columns may be named; groups of that many come first.
    """
    own = [group for group in groups_of(widths, joints) if group.kind == kind]
    own = [group for group in own if group.width == len(joints)] or own
    return [group for group in own if group.rank == min(other.rank for other in own)]


def groups_of(widths: Mapping[Name, int], joints: Sequence[str] = ()) -> list[Group]:
    """Groups of columns of joints' quantities, in the order in which they begin.

    Args:
        widths: Numbers per row by column.
        joints: Joints of the robot, by which columns may be named; they come in their order.
    """
    found: dict[tuple[object, ...], tuple[str, Rank, list[tuple[tuple[int, ...], str]]]] = {}
    vectors = []
    for name in (name for name in widths if isinstance(name, str)):
        if widths[name] > 1:
            kind, rank = _vector(name)
            if kind:
                vectors.append(Group(kind, (name,), widths[name], rank))
            continue
        joint, bare = _joint_in(name, joints)
        words, numbers = words_of(bare)
        place = numbers if joint is None else (*numbers, list(joints).index(joint))
        key: tuple[object, ...] = (words, joint is not None)
        kind, rank = _kind(words, joint is not None)
        path = re.fullmatch(r"(?:.*[/.])?[A-Za-z_]\w*[/.](\w+)", name.strip()) if joint is None else None
        last, after = words_of("" if path is None else path[1])
        wanted = path is not None and _is_wanted(name[: path.start(1)])
        if not kind and not wanted and not after and set(last) & {*_KIND_OF, *_SENT}:
            # A path that ends in a quantity: /joint_states/elbow/position, shoulder_pan.pos.
            (kind, rank), key, place = _kind(last, False), ("path", last), ()
        elif not place:
            kind = ""
        if kind:
            found.setdefault(key, (kind, rank, []))[2].append((place, name))
    groups = [_group(kind, rank, members, joints) for kind, rank, members in found.values()]
    return [*(group for group in groups if group is not None), *vectors]


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


def unknown_joints(names: Iterable[str], kind: str) -> list[str]:
    """Columns of a quantity for joints with unknown names, `q_elbow` or `left 1 pos`; or for one joint alone."""
    commands = kind == "command"
    words = (*QUANTITIES[kind], *QUANTITIES["tau"]) if commands else QUANTITIES[kind]
    own = [name for name in names if _is_wanted(name) == commands]
    for form in (r"{}_.+", r".*\d[_/. ]{}" + r"(?:_\w+)?" * commands, r"(?:.*/)?{}_?\[?\d*\]?"):
        for word in words:
            if found := [name for name in own if re.fullmatch(form.format(word), name, re.IGNORECASE)]:
                return found
    return []


def _is_wanted(name: str) -> bool:
    """Whether a name is that of a wanted value; a joint may be called d."""
    words, numbers = words_of(name)
    after = re.search(rf"\b({'|'.join(_KIND_OF)})( j)? d\b", " ".join(words))
    return bool((_WANTED - {"d"}) & set(words)) or (after is not None and (words[-1] != "d" or bool(numbers)))


def _joint_in(name: str, joints: Sequence[str]) -> tuple[str | None, str]:
    """The longest joint whose name is in a column's, so that joint10 does not count as joint1; the name without it."""
    found = (re.search(rf"(?<![A-Za-z]){re.escape(joint)}(?![A-Za-z0-9])", name) for joint in joints)
    match = max((match for match in found if match), key=lambda match: len(match[0]), default=None)
    return (None, name) if match is None else (match[0], f"{name[: match.start()]} {name[match.end() :]}")


def _kind(words: tuple[str, ...], named: bool) -> tuple[str, Rank]:
    """Quantity that words say, empty for none, and how well; `named` with a joint's name beside them."""
    known = [word for word in words if word in _KIND_OF]
    rest = {word for word in words if word not in _KIND_OF}
    none: tuple[str, Rank] = ("", (1, True, 0, 0))
    if not known and not named and words and words[-1] == "joint" and not rest & _WANTED:
        # `panda_joint1`: joints of some arm.
        return "q", (1, True, int(bool(rest - _BARE)), 0)
    if len({_KIND_OF[word] for word in known}) > 1 or rest - _BESIDE - _WANTED - _MEASURED:
        return none
    if not known and rest & _SENT:
        return ("command", (0, True, -1, len(rest))) if not rest - _SENT - _BESIDE else none
    if not known:
        return ("q", none[1]) if (rest or named) and rest <= _BARE else none
    kind = _KIND_OF[known[0]]
    rank = (0, not rest & _MEASURED, QUANTITIES[kind].index(known[0]), len(rest - _MEASURED - _WANTED))
    if rest & _WANTED:
        return ("command", rank) if kind == "tau" else none
    return kind, rank


def _vector(name: str) -> tuple[str, Rank]:
    """Quantity of a column of vectors by its words, else by the last part of its path: `JointPosition`, `log/q`."""
    words = words_of(name)[0]
    kind, rank = _kind(words, False)
    if not kind and "/" in name and not set(words) & _WANTED:
        kind, rank = _kind(words_of(name.split("/")[-1])[0], False)
    if not kind and name == "observation.state":
        # LeRobot: the measured joints, without a word of what of them.
        return "q", (2, True, 0, 0)
    return kind, rank


def _group(kind: str, rank: Rank, members: list[tuple[tuple[int, ...], str]], joints: Sequence[str]) -> Group | None:
    places = [place for place, _ in members]
    if any(places):
        # Two numbers that change are two arms, or joints of several robots.
        if len({place[:-1] for place in places}) > 1 or len(set(places)) < len(places):
            return None
        members = sorted(members, key=lambda member: member[0])
    columns = tuple(name for _, name in members)
    letters = {name.strip()[:1].lower() for name in columns}
    if rank[0] and letters == {"a"} and len(columns) not in (*_AXES, len(joints)):
        return None
    return Group(kind, columns, len(columns), rank) if len(columns) > 1 or len(columns) == len(joints) else None
