"""Two palms that meet an object one after the other: where it is by the last touch, and what that impact leaves.

The object does not wait between the touches. Within some milliseconds the first palm has set it moving, and turned it
about the vertical where it does not stand square to that palm; later that palm carries it along on its table. The
impact of the last palm begins there.

The object's yaw is not known, and a degree is more than a millimetre at the corners of a palm. But both touches
together measure the room that it takes between the palms, which grows with the yaw to either side. The prediction is
the mean over all yaws, each weighted by how well it agrees with that room (docs/papers.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.shape import PlacedShape
from impact_aware.contact.shape_registry import shape_of
from impact_aware.errors import ImpactAwareError
from impact_aware.impact.bodies import BodyContact, JointProblem, joint_problem
from impact_aware.impact.palm import TABLE, face_gaps, moving_table, table_contacts
from impact_aware.impact.successive import follow_successive
from impact_aware.reference.field import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.task.grasp import GRASP_WINDOW, pad_time, placed_arms, tool_contacts, tool_of
from impact_aware.task.task import STANDARD_GRAVITY, Task

TURNS = np.radians(np.arange(-3.0, 3.25, 0.5))
"""Turns of the object about the vertical that are tried, rad: every second one, and those between that may count."""

TURN_SPREAD = 0.0175
"""Standard deviation of an object's yaw about its stated orientation, rad."""

ROOM_SPREAD = 2.5e-4
"""Standard deviation of the room between palms that touch within `GRASP_WINDOW`, m: half a millisecond of approach."""

CARRIED_SPREAD = 1e-3
"""Standard deviation of the room after the first palm carried the object longer, m: it may lean, or be released."""

COMPRESSION = 4.0
"""After how many time constants of its pad a palm's compression counts as over: a fiftieth of the speed is left."""

_NEGLIGIBLE = 1e-2
_FORESEEN = 2.0
"""A room between two others is known twice as badly as from its own course."""
_LEAST = 1e-6  # s


@dataclass(frozen=True, eq=False)
class Touch:
    """An arm when its palm touches the object.

    Attributes:
        time: s.
        q: (n,) rad.
        dq: (n,) Just before, rad/s.
    """

    time: float
    q: Array
    dq: Array


StateBefore: TypeAlias = Callable[[int, float], Touch | None]
"""The last state of an arm (its index) before a time, s; None where none is known."""


class Touches:
    """The first touches of a task's arms, and what the last one of them does, which is worked out once."""

    def __init__(self, state_before: StateBefore | None = None, *, weighed: bool = False) -> None:
        """Begin without a touch; `weighed` as for `predict_last_touch`."""
        self._state_before, self._weighed = state_before, weighed
        self._first: dict[int, Touch] = {}
        self._found: LastTouch | None = None
        self._computed = False

    def take(self, arm: int, touch: Touch) -> None:
        """An arm has touched; one that comes back to the object has not hit it anew."""
        self._first.setdefault(arm, touch)

    def last_touch(self, task: Task, robots: Sequence[RobotModel], field: ReferenceField) -> LastTouch | None:
        """Return the effect of the last touch; None before it, and where it is not known or not plausible."""
        if self._computed or len(self._first) < len(robots):
            return self._found
        self._computed = True
        touches = [self._first[arm] for arm in range(len(robots))]
        times = [touch.time for touch in touches]
        first, present = int(np.argmin(times)), None
        if self._state_before is not None and max(times) - min(times) > GRASP_WINDOW:
            present = self._state_before(first, max(times))
        fastest, field = field.fastest_after, field.advanced(min(times))
        try:
            found = predict_last_touch(task, robots, field, touches, present, weighed=self._weighed)
        except ImpactAwareError:
            # A state that can't be: the impact counts, and nothing is known of its last touch.
            return None
        self._found = found if found is not None and np.abs(found.object_velocity).max() <= fastest else None
        return self._found


class LastTouch(NamedTuple):
    """What the last palm's impact leaves when its compression is over.

    Attributes:
        object_velocity: (3,) m/s.
        fall: (3,) Velocity that the object's weight adds until then, m/s: no part of the impact. Zeros where unknown.
        turns: (t,) Yaws of `TURNS` with a weight, rad.
        weights: (t,) Their weights, with sum 1.
    """

    object_velocity: Array
    fall: Array
    turns: Array
    weights: Array


def predict_last_touch(
    task: Task,
    robots: Sequence[RobotModel],
    field: ReferenceField,
    touches: Sequence[Touch],
    first_arm: Touch | None = None,
    *,
    weighed: bool = False,
) -> LastTouch | None:
    """What the touch of the last palm does to the object.

    Args:
        task: A task for two arms that lifts.
        robots: One model per arm.
        field: Its reference field at the first touch (`ReferenceField.advanced`).
        touches: The first one of each arm.
        first_arm: The arm that touched first, just before the last touch; None where it is not known.
        weighed: Whether `LastTouch.fall` is computed.

    Returns:
        None where it is not known: tips or pads without a time constant, other numbers of arms, or touches more than
        `GRASP_WINDOW` apart where nothing is known of the first arm since.
    """
    if len(task.arms) != 2 or not task.lifts or pad_time(task, range(2)) == 0.0:
        return None
    first = int(touches[1].time < touches[0].time)
    apart = touches[1 - first].time - touches[first].time
    if apart > GRASP_WINDOW:
        if first_arm is None:
            return None
        present = list(touches)
        present[first] = first_arm
        grasp = _Grasp(task, robots, field, present, first)
        turns = TURNS[::2]
        starts = [grasp.carried(turn) for turn in turns]
        weights = _weights(turns, [start.room for start in starts], CARRIED_SPREAD)
    else:
        grasp = _Grasp(task, robots, field, touches, first)
        turns, starts, weights = _tried(grasp, apart)
    counts = np.flatnonzero(weights > _NEGLIGIBLE)
    turns, weights = turns[counts], weights[counts] / weights[counts].sum()
    after = weights @ [grasp.last_impact(starts[count]) for count in counts]
    # What bears the object by the time it has been carried bears it on.
    falls = weighed and apart <= GRASP_WINDOW
    fallen = weights @ [grasp.last_impact(starts[count], falling=True) for count in counts] if falls else after
    return LastTouch(after, fallen - after, turns, weights)


def _weights(turns: Array, rooms: ArrayLike, spread: float) -> Array:
    """How likely turns (t,) are, rad, that leave rooms (t,), m; 1 for the likeliest."""
    cost = (np.asarray(rooms) / spread) ** 2 + (turns / TURN_SPREAD) ** 2
    return np.asarray(np.exp(0.5 * (cost.min() - cost)))


def _tried(grasp: _Grasp, apart: float) -> tuple[Array, list[_Start], Array]:
    """Turns (t,), rad, the last touches that they lead to, and their weights (t,)."""
    starts = {turn: grasp.set_moving(turn, apart) for turn in TURNS[::2].tolist()}
    foreseen = np.interp(TURNS, list(starts), [start.room for start in starts.values()])
    for turn in TURNS[_weights(TURNS, foreseen, _FORESEEN * ROOM_SPREAD) > _NEGLIGIBLE].tolist():
        if turn not in starts:
            starts[turn] = grasp.set_moving(turn, apart)
    turns = np.array(sorted(starts))
    found = [starts[turn] for turn in turns.tolist()]
    return turns, found, _weights(turns, [start.room for start in found], ROOM_SPREAD)


class _Start(NamedTuple):
    """A last touch: velocities (k,) of all bodies, gaps (m,), and the room, m, that the object has left then."""

    velocity: Array
    gaps: Array
    room: float


class _Palm(NamedTuple):
    """One palm: its contacts among all, their gaps (m,) to the object that is not turned, m, and what a turn takes."""

    contacts: slice
    gaps: Array
    lever: Array
    normal: Array

    def at(self, turn: float) -> Array:
        """Gaps (m,) to the object turned about the vertical, m."""
        return self.gaps - turn * self.lever


class _Grasp:
    """Both palms, the object between them and its table as one problem.

    A turn of a few degrees moves the object's faces away from corners or into them; directions it hardly changes.
    """

    def __init__(
        self, task: Task, robots: Sequence[RobotModel], field: ReferenceField, states: Sequence[Touch], first: int
    ) -> None:
        body = PlacedShape(shape_of(field), field.object_position, field.object_rotation)
        arms = placed_arms(task, robots, [state.q for state in states], [state.dq for state in states])
        contacts: list[BodyContact] = []
        palms = []
        for index, own in enumerate(task.arms):
            tool = tool_of(arms[own.name])
            found = tool_contacts(task, own, robots[index], tool, field.arms[index].normal, body)
            gaps, normal = face_gaps(found, tool, own.pad_half_sizes, body), found[0].normal
            lever = [normal @ np.cross(task.object.up, contact.point - body.position) for contact in found]
            place = slice(len(contacts), len(contacts) + len(found))
            palms.append(_Palm(place, gaps, np.array(lever), normal))
            contacts += found
        moving, carrier = field.object_velocity, TABLE if field.object_moves else None
        objects = {task.object.name: body.free_object(field.object_mass, np.concatenate((moving, np.zeros(3))))}
        if carrier:
            objects[carrier] = moving_table(moving)
        contacts += table_contacts(task.object.name, body, task.object.friction_table, task.object.up, carrier)
        self._problem: JointProblem = joint_problem(contacts, arms=arms, objects=objects)
        self._friction = np.array([contact.friction for contact in contacts])
        self._tau = pad_time(task, range(2))
        self._one, self._other = palms[first], palms[1 - first]
        self._facing = float(self._one.normal @ self._other.normal)
        columns = self._problem.columns
        self._first, self._last = columns[task.arms[first].name], columns[task.arms[1 - first].name]
        start = columns[task.object.name].start
        self._object = slice(start, start + 3)

    def set_moving(self, turn: float, apart: float) -> _Start:
        """What the first palm has done by the last touch, `apart` s later, with the object turned at first, rad."""
        problem, velocity = self._problem, self._problem.velocity.copy()
        one = self._one.at(turn)
        # The object stands against the first palm, and the last one is where it is at its own touch.
        gaps, other = np.zeros(len(self._friction)), self._other.at(turn) - self._facing * one.min()
        gaps[self._one.contacts], gaps[self._other.contacts] = one - one.min(), np.inf
        velocity[self._last] = 0.0
        # Its table bears the object until it is lifted off.
        velocity[self._object.stop - 1] -= STANDARD_GRAVITY * apart
        before, time = problem.jacobian @ velocity, max(apart, _LEAST)
        course = follow_successive(problem.delassus, before, self._friction, gaps, self._tau, until=time)
        other = other + course.displacement[::3][self._other.contacts]
        velocity += problem.response @ course.impulse
        velocity[self._last] = problem.velocity[self._last]
        left = course.gaps.copy()
        left[self._other.contacts] = other - other.min()
        return _Start(velocity, left, float(other.min()))

    def carried(self, turn: float) -> _Start:
        """The object, turned by then, rad, as fast along the first palm's normal as this palm, on its table."""
        one, other = self._one.at(turn), self._other.at(turn)
        # It stands against the last palm.
        one = one - self._facing * other.min()
        velocity, normal = self._problem.velocity.copy(), self._one.normal
        rows = self._problem.jacobian[3 * self._one.contacts.start : 3 * self._one.contacts.stop : 3, self._first]
        pushed = float((rows @ velocity[self._first]).mean())
        velocity[self._object] += normal * (pushed - float(normal @ velocity[self._object]))
        gaps = np.zeros(len(self._friction))
        gaps[self._one.contacts], gaps[self._other.contacts] = np.maximum(one, 0.0), other - other.min()
        return _Start(velocity, gaps, float(one.min()))

    def last_impact(self, start: _Start, *, falling: bool = False) -> Array:
        """Velocity (3,) of the object when the last palm's compression is over, m/s; the weight acts where it falls."""
        problem, time, velocity = self._problem, COMPRESSION * self._tau, start.velocity.copy()
        if falling:
            velocity[self._object.stop - 1] -= STANDARD_GRAVITY * time
        before = problem.jacobian @ velocity
        course = follow_successive(problem.delassus, before, self._friction, start.gaps, self._tau, until=time)
        return np.asarray(velocity[self._object] + problem.response[self._object] @ course.impulse)
