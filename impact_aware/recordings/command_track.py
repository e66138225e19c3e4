"""Recorded commands and their steps, which distinguish a controller's action from a contact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.bags.bag import Bag, BagError
from impact_aware.bags.joint_states import JOINT_STATE_TYPES
from impact_aware.messages.stamps import serialized_stamp, stamp_seconds
from impact_aware.tables.joint_table import JointTable, stacked
from impact_aware.tables.lerobot import ACTION

ARRAY_TYPE = "std_msgs/msg/Float64MultiArray"
USUAL_TOPIC = "commands"
"""Last word of the topic on which ros2_control's forward controllers take commands."""

AROUND = 0.150
"""Commands this close to an event are read, s."""

SCATTER = 0.100
"""Half the stretch from which a command's usual changes are taken, s."""

TORQUES, POSITIONS = "N m", "rad"
"""Units of commands that are torques, and positions."""

STEP = 8.0
"""Change from one command to the next, in standard deviations of the usual changes, from which it is a step."""

STAYS = 0.5
"""Share of a step that has to be there from three commands before it to three after; a single wrong value is none."""

SWINGS, STANDS_OUT = 0.045, 1.3
"""A controller that feeds back joints that ring swings its command, whose steepest changes are no steps: half a period
of 12 Hz before or after, s, there is another such change. A step is larger by this ratio."""

ALIKE, ABRUPT = 0.5, 4.0
"""A limit of the rate spreads a step over changes of one direction, each at least this share of the largest. Such a
ramp is this many times steeper than any change before it."""

LEAST_SHARE, LEAST_BESIDE = 0.1, 0.02
"""A step is this share of what its joint's command spans about it at least, and of what that of any joint does: smooth
courses have clear steps that move nothing."""

_FEWEST = 12
_CLOCK = 50


@dataclass(frozen=True, eq=False)
class CommandStep:
    """One step of a command.

    Attributes:
        time: Between the two commands with which it begins, s.
        time_std: Of it, anywhere between the two, s.
        joint: Index of the joint whose command steps most, in its own scatter.
        size: Of that joint's step, in the unit of the commands.
    """

    time: float
    joint: int
    size: float
    time_std: float


@dataclass(frozen=True, eq=False)
class CommandTrack:
    """Commands of one arm.

    Attributes:
        times: (m,) s, in order, on the clock of the joint states.
        values: (m, n) One command per joint.
        source: Where they are from.
        unit: Of the values.
    """

    times: Array
    values: Array
    source: str
    unit: str = TORQUES

    def tells_torques(self, time: float) -> bool:
        """Whether torques are recorded about a time, s, so that a step would be seen."""
        beside = np.abs(self.times - time) <= SWINGS
        return bool(self.unit == TORQUES and np.count_nonzero(beside) >= 2 and (self.times > time).any())

    def step_near(self, begin: float, end: float) -> CommandStep | None:
        """The clearest step between two times, s; None without one."""
        beside = (self.times >= begin - SCATTER) & (self.times <= end + SCATTER)
        times, values = self.times[beside], self.values[beside]
        if len(times) < _FEWEST:
            return None
        changes = np.diff(values, axis=0)
        # Commands that are held over several samples change seldom: those that don't are no scale.
        usual = np.array([_scatter(column) for column in changes.T])
        spans = np.ptp(values, axis=0)
        least = np.maximum(LEAST_SHARE * spans, LEAST_BESIDE * spans.max()) + 1e-12
        scale = np.maximum(usual, least / STEP)
        middles = 0.5 * (times[1:] + times[:-1])
        ratios = np.abs(changes) / scale
        rows = np.arange(len(times) - 1)
        across = values[np.minimum(rows + 4, len(times) - 1)] - values[np.maximum(rows - 3, 0)]
        stays = (across * np.sign(changes)) >= STAYS * np.abs(changes)
        clear = stays & ((middles >= begin) & (middles <= end))[:, None] & (np.abs(changes) >= STEP * usual)
        ratios = np.where(clear, ratios, 0.0)
        for place in np.argsort(-ratios, axis=None)[: np.count_nonzero(ratios)].tolist():
            row, joint = divmod(place, ratios.shape[1])
            way = changes[:, joint] * np.sign(changes[row, joint])
            apart = np.flatnonzero(way < ALIKE * way[row])
            first = int(apart[apart < row].max(initial=-1)) + 1
            last = int(apart[apart > row].min(initial=len(way))) - 1
            size = float(values[last + 1, joint] - values[first, joint])
            whole = abs(size) >= least[joint] and begin <= middles[first] <= end
            if whole and way[first : last + 1].max() < STANDS_OUT * way[row] and _stands_out(way, middles, first, last):
                spread = float(times[first + 1] - times[first]) / np.sqrt(12.0)
                return CommandStep(float(middles[first]), joint, size, spread)
        return None


def _stands_out(changes: Array, times: Array, first: int, last: int) -> bool:
    """Whether a run of the changes (m,) of a command is clearly larger than all about it, and than the usual ones."""
    changes = np.abs(changes)
    largest = changes[first : last + 1].max()
    beside = (times >= times[first] - SWINGS) & (times <= times[last] + SWINGS)
    # A step between two samples is in one change, one that a filter smooths also in its neighbours.
    beside[max(first - 1, 0) : last + 2] = False
    others, before = changes[beside], changes[beside & (times < times[first])]
    if not len(others) or (last > first and largest < ABRUPT * before.max(initial=0.0)):
        return last == first
    return bool(largest >= max(STANDS_OUT * others.max(), STEP * _scatter(others)))


def _scatter(changes: Array) -> float:
    moved = np.abs(changes[changes != 0.0])
    return 1.4826 * float(np.median(moved)) if len(moved) >= _FEWEST // 2 else 0.0


def commands_of_table(table: JointTable, joint_names: Sequence[str] = ()) -> CommandTrack | None:
    """The commands to all joints of a table, or to those (n,) that are named; None where it has no commands."""
    commands = table.columns["command"]
    if not commands:
        return None
    pieces = list(table.source.pieces([table.clock.column, *commands]))
    times = np.concatenate([piece[table.clock.column].reshape(-1) for piece in pieces]) * table.clock.scale
    values = np.concatenate([stacked(piece, commands) for piece in pieces])
    values = values[:, [table.joint_names.index(name) for name in joint_names or table.joint_names]]
    unit = POSITIONS if commands == (ACTION,) else TORQUES
    return _track(times, values, f"columns {', '.join(map(str, commands))}", unit)


def commands_of_bag(
    bag: Bag, states: str, joint_names: Sequence[str], events: Sequence[float], topic: str | None = None
) -> CommandTrack | None:
    """The commands of one arm about its events; None where the recording has none.

    Messages without a stamp, as those of ros2_control's forward controllers, count at the time at which they were
    recorded, moved by what the joint states' stamps are off theirs.

    Args:
        bag: The recording.
        states: Topic of the arm's joint states.
        joint_names: (n,) As its messages name them.
        events: Times, s, about which commands are read.
        topic: Of the commands; when None the one below the arm's name that ends in `commands`.

    Raises:
        BagError: No such topic, or one of another type.
    """
    chosen = _usual(bag, states) if topic is None else bag.topic_named(topic)
    if chosen is None or not len(events):
        return None
    kind = bag.topics[chosen]
    if kind != ARRAY_TYPE and kind not in JOINT_STATE_TYPES:
        expected = ", ".join(word.rsplit("/", 1)[-1] for word in (ARRAY_TYPE, JOINT_STATE_TYPES[0]))
        raise BagError(f"{bag.path}: {chosen} is of type {kind}, and commands are read from {expected}")
    late = _clock(bag, states)
    wanted = np.sort(np.asarray(events, dtype=float))
    rows: list[tuple[float, Array]] = []
    unit = TORQUES
    for received, data in bag.serialized(chosen):
        time = 1e-9 * received - late
        nearest = wanted[min(int(np.searchsorted(wanted, time - AROUND)), len(wanted) - 1)]
        if abs(time - nearest) > AROUND:
            continue
        message = bag.deserialize(chosen, data)
        if kind == ARRAY_TYPE:
            values = np.asarray(message.data, dtype=float)
        else:
            time, (values, unit) = stamp_seconds(message), _in_order(message, joint_names)
        if values.shape == (len(joint_names),):
            rows.append((time, values))
    if not rows:
        return None
    return _track(np.array([row[0] for row in rows]), np.array([row[1] for row in rows]), chosen, unit)


def _usual(bag: Bag, states: str) -> str | None:
    """The one topic of arrays that ends in `commands` below the namespace of the joint states."""
    space = states.rsplit("/", 1)[0]
    found = [
        name
        for name, kind in bag.topics.items()
        if kind == ARRAY_TYPE and name.rsplit("/", 1)[-1] == USUAL_TOPIC and name.startswith(f"{space}/")
    ]
    return found[0] if len(found) == 1 else None


def _clock(bag: Bag, states: str) -> float:
    """Median time by which joint states were recorded after their stamps, s; 0 where they have no stamps."""
    late = []
    for received, data in bag.serialized(states):
        second, nanosecond = serialized_stamp(data)
        if second or nanosecond:
            late.append(1e-9 * (received - (second * 1_000_000_000 + nanosecond)))
        if len(late) >= _CLOCK:
            break
    return float(np.median(late)) if late else 0.0


def _in_order(message: object, joint_names: Sequence[str]) -> tuple[Array, str]:
    """What a joint state commands, and its unit: efforts, else velocities, else positions; empty without a joint."""
    names = list(getattr(message, "name", ()))
    for field, unit in (("effort", TORQUES), ("velocity", "rad/s"), ("position", POSITIONS)):
        values = np.asarray(getattr(message, field, ()), dtype=float)
        if len(values) == len(names) and len(values) and set(joint_names) <= set(names):
            return np.asarray(values[[names.index(name) for name in joint_names]]), unit
    return np.zeros(0), ""


def _track(times: Array, values: Array, source: str, unit: str = TORQUES) -> CommandTrack | None:
    """In order of time, without what is not finite."""
    whole = np.isfinite(times) & np.isfinite(values).all(axis=1)
    order = np.argsort(times[whole], kind="stable")
    return CommandTrack(times[whole][order], values[whole][order], source, unit) if whole.any() else None
