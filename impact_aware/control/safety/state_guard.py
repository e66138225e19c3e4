"""Whether a state may be used, and whether the arms may be in it: time, plausibility, limits, contact, impact.

All limits of a kind are one vector, and a state is gone through once in compiled code; only a violation costs a
sentence. Values that are not finite fail every comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.compiled import INDEX, NUMBER, VECTOR, compiled
from impact_aware.control.arm import ControlledArm
from impact_aware.control.command import Mode, SafeReason, Violation
from impact_aware.control.safety.contact_force import ContactForceObserver
from impact_aware.errors import InvalidInputError
from impact_aware.reference import ReferenceField
from impact_aware.robot.safety_limits import SafetyLimits

CLOCK_JUMP = 1.0
"""Stamps that go on by more than this at once are a clock that was set, not states that were lost, s."""

LONGEST_FORESIGHT = 3.0
"""An object that moves is where its last pose and its velocity say for this long, s."""

GRASP_SHARE = 0.5
"""Two palms may come closer than the object allows by this share of the impact overrun: they must stop before they
meet."""

STEP_FACTOR = 2.0
"""A displacement over this times the largest possible one between two states can't be true: the state is wrong."""

POSITION_NOISE = 0.005
"""Displacement that measurement noise can add, rad."""

SPEED_FACTOR = 3.0
"""A joint velocity over this times its limit can't be true: the state is wrong."""


class StateGuard:
    """Checks one state after the other; the arms must have been refreshed with a state before `left` checks it.

    A joint may not be so fast that it could no longer be stopped before its position limit:
    q + dq |dq| / (2 a) <= q_max, and the same towards the lower limit.

    Attributes:
        limits: Of each arm.
        state_age: Oldest state that may be acted upon, and longest time between two, s.
        position: (n,) Joint positions of the last accepted state, rad; the robots' home before the first.
    """

    def __init__(
        self,
        arms: Sequence[ControlledArm],
        limits: Sequence[SafetyLimits] | None = None,
        bases: Sequence[pin.SE3] | None = None,
        period: float = 0.001,
        state_age: float = 0.02,
    ) -> None:
        """Lay out the limits.

        Args:
            arms: As the controller refreshes them.
            limits: Of each arm; those of the robots' profiles when None.
            bases: Pose of each arm's base in the common frame; identity when None.
            period: Control period, s.
            state_age: Oldest state that may be acted upon, and longest time between two, s.

        Raises:
            InvalidInputError: Limits or bases that are not one per arm.
        """
        self.limits = SafetyLimits.each([arm.robot for arm in arms], limits)
        bases = [pin.SE3.Identity() for _ in arms] if bases is None else bases
        if len(bases) != len(arms):
            raise InvalidInputError("bases", len(bases), f"{len(arms)}, one per arm")
        self._arms, self.state_age = list(arms), state_age
        self._to_base = [None if b.isIdentity() else (b.rotation.T.copy(), b.translation.copy()) for b in bases]
        self._names = [name for arm in arms for name in arm.robot.joint_names]
        self._n = len(self._names)

        def joined(name: str) -> Array:
            return np.concatenate([np.asarray(getattr(limit, name)) for limit in self.limits])

        self._half_inverse, self._velocity = 0.5 / joined("braking_deceleration"), joined("velocity")
        self._lower, self._upper = joined("position_lower"), joined("position_upper")
        boxes = ([limit.workspace_lower, limit.workspace_upper] for limit in self.limits)
        self._boxes = [np.concatenate(box).astype(float) for box in boxes]
        self._observers = [ContactForceObserver(arm, period) for arm in arms]
        self._forces = [0.0] * len(self._arms)
        self.position = np.concatenate([arm.robot.home for arm in arms])
        self.begin()

    def begin(self) -> None:
        """Forget earlier states: the next one may be anywhere and at any time."""
        self._time = self._accepted_time = np.nan
        self._known = False
        self._outside: SafeReason | None = None
        for observer in self._observers:
            observer.reset()

    def repeats(self, time: float) -> bool:
        """Whether a state with this stamp, s, repeats the last one or came out of order."""
        return self._time - self.state_age <= time <= self._time

    def refusal(self, time: float, q: Array, dq: Array, age: float) -> tuple[Violation | None, bool]:
        """Whether a state can't be acted upon as usual.

        Args:
            time: Its stamp, s.
            q: (n,) rad.
            dq: (n,) rad/s.
            age: How old it is, s.

        Returns:
            What is wrong with its time or its values, or None; whether its values can be used all the same.
        """
        untimely = self._judge_time(time - self._time, age)
        self._interval, self._time = time - self._time, time
        waited = abs(time - self._accepted_time) if self._known else 0.0
        try:
            doubt = self.implausible(q, dq, self.position if self._known else None, waited)
        except Exception as error:  # noqa: BLE001 - a state of any shape must end in a safe command
            doubt = Violation(SafeReason.EXCEPTION, f"{type(error).__name__}: {error}")
        if doubt is None:
            self.position, self._accepted_time, self._known = q.copy(), time, True
        return untimely or doubt, doubt is None

    def left(self, dq: Array, effort: Array | None, mode: Mode, field: ReferenceField | None) -> Violation | None:
        """Which limit the last accepted state has left.

        Args:
            dq: (n,) Its velocities, rad/s.
            effort: (n,) Efforts measured with it. No contact force is estimated without them, nor for an arm whose
                profile does not state that they are torques.
            mode: In which it was answered.
            field: The reference in use.
        """
        found = self.judge_state(self.position, dq, self._contact_forces(dq, effort))
        if found is None and field is not None and mode is Mode.ANTE:
            found = self._judge_overrun(field)
        if found is None and field is not None and mode in (Mode.ANTE, Mode.INTERIM, Mode.POST):
            found = self._judge_grasp(field)
        if found is None:
            self._outside = None
        return found

    def is_new(self, found: Violation, known: SafeReason | None) -> bool:
        """Whether a violation has another reason than `known`, and than the state before had."""
        before, self._outside = self._outside, found.reason
        return found.reason not in (before, known)

    def implausible(self, q: Array, dq: Array, previous: Array | None, interval: float) -> Violation | None:
        """Whether a state can't be true, from itself and the one before.

        Args:
            q: (n,) rad.
            dq: (n,) rad/s.
            previous: (n,) The last accepted positions, rad, or None.
            interval: Time since then, s.

        Raises:
            InvalidInputError: Not one position and one velocity for each joint.
        """
        if q.shape != (self._n,) or dq.shape != (self._n,):
            raise InvalidInputError("state", f"{q.shape}, {dq.shape}", f"{self._n} positions and velocities")
        before = q if previous is None else previous
        row = first_implausible(q, dq, before, self._velocity, SPEED_FACTOR, STEP_FACTOR * interval, POSITION_NOISE)
        if row < 0:
            return None
        if not (np.isfinite(q).all() and np.isfinite(dq).all()):
            return Violation(SafeReason.NON_FINITE, "joint state with a value that is not finite")
        which, joint = divmod(row, self._n)
        if which == 0:
            sentence = f"{self._names[joint]} can't move at {dq[joint]:.4g} rad/s"
        else:
            moved = abs(q[joint] - before[joint])
            sentence = f"{self._names[joint]} can't have moved {moved:.4g} rad in {1e3 * interval:.1f} ms"
        return Violation(SafeReason.STATE_IMPLAUSIBLE, sentence)

    def judge_state(self, q: Array, dq: Array, forces: Sequence[float] | None = None) -> Violation | None:
        """Whether a state that can be true is within the limits; the arms must have been refreshed with it.

        Args:
            q: (n,) rad.
            dq: (n,) rad/s.
            forces: (arms,) Estimated contact force at each tool, N; not checked when None.
        """
        row = first_limit(q, dq, self._lower, self._upper, self._velocity, self._half_inverse)
        if row >= 0:
            return self._explain(row, q, dq)
        for index, arm in enumerate(self._arms):
            found = self._judge_tool(index, arm)
            if found is not None:
                return found
            if forces is not None and not forces[index] <= self.limits[index].contact_force:
                limit = self.limits[index].contact_force
                sentence = f"{arm.robot.tool_frame} is pressed with {forces[index]:.4g} N, its limit is {limit:.4g}"
                return Violation(SafeReason.CONTACT_FORCE_LIMIT, sentence)
        return None

    def _judge_time(self, interval: float, age: float) -> Violation | None:
        oldest = self.state_age
        if interval > CLOCK_JUMP or interval < -oldest:
            return Violation(SafeReason.CLOCK_JUMP, f"the stamps of joint_states jumped by {interval:+.3f} s")
        if interval > oldest:
            return Violation(SafeReason.STATE_STALE, f"no joint state for {1e3 * interval:.0f} ms")
        if age > oldest:
            return Violation(SafeReason.STATE_STALE, f"joint state {1e3 * age:.0f} ms old")
        return None

    def _judge_overrun(self, field: ReferenceField) -> Violation | None:
        """Whether a tool has gone through the position where it should have hit: the object is not there."""
        if field.object_moves and not abs(self._time - field.object_time) <= LONGEST_FORESIGHT:
            sentence = f"it moves, and was seen {self._time - field.object_time:.1f} s ago for the last time"
            return Violation(SafeReason.OBJECT_LOST, sentence)
        for index, (arm, limits) in enumerate(zip(self._arms, self.limits, strict=True)):
            past = -field.distance_ahead(index, arm.position, self._time)
            if past > limits.impact_overrun:
                sentence = f"{arm.robot.tool_frame} is {past:.3g} m past the position where it should have hit"
                return Violation(SafeReason.IMPACT_MISSED, sentence)
        return None

    def _judge_grasp(self, field: ReferenceField) -> Violation | None:
        """Whether two palms are closer than the object between them is wide: it is not there, and they would meet."""
        if len(field.arms) != 2:
            return None
        (first, second), (own, other) = self._arms, field.arms
        closer = float(own.normal @ (own.impact_position - other.impact_position - first.position + second.position))
        if closer > GRASP_SHARE * min(limits.impact_overrun for limits in self.limits):
            sentence = f"the tools are {closer:.3g} m closer to each other than on both sides of the object"
            return Violation(SafeReason.OBJECT_LOST, sentence)
        return None

    def _contact_forces(self, dq: Array, effort: Array | None) -> list[float] | None:
        if effort is None:
            return None
        for index, (arm, observer) in enumerate(zip(self._arms, self._observers, strict=True)):
            q, joints = self.position[arm.joints], arm.joints
            self._forces[index] = observer.update(q, dq[joints], arm.link_torque(effort), self._interval)
        return self._forces

    def _judge_tool(self, index: int, arm: ControlledArm) -> Violation | None:
        base, limit = self._to_base[index], self.limits[index].tool_speed
        position = arm.position if base is None else base[0] @ (arm.position - base[1])
        left = tool_limit(position, arm.twist, self._boxes[index], limit)
        if left == 0:
            return None
        if left == 1:
            x, y, z = position.tolist()
            x0, y0, z0, x1, y1, z1 = self._boxes[index].tolist()
            box = f"({x0:.4g}, {y0:.4g}, {z0:.4g}) to ({x1:.4g}, {y1:.4g}, {z1:.4g})"
            sentence = f"{arm.robot.tool_frame} is at ({x:.4g}, {y:.4g}, {z:.4g}) m, the workspace is {box}"
            return Violation(SafeReason.WORKSPACE_LIMIT, sentence)
        speed = float(np.linalg.norm(arm.twist[:3]))
        sentence = f"{arm.robot.tool_frame} moves at {speed:.4g} m/s, its limit is {limit:.4g}"
        return Violation(SafeReason.TOOL_SPEED_LIMIT, sentence)

    def _explain(self, row: int, q: Array, dq: Array) -> Violation:
        which, joint = divmod(row, self._n)
        if which == 2:
            sentence = f"{self._names[joint]} moves at {dq[joint]:.4g} rad/s, its limit is {self._velocity[joint]:.4g}"
            return Violation(SafeReason.VELOCITY_LIMIT, sentence)
        bound = self._lower[joint] if which else self._upper[joint]
        sentence = f"{self._names[joint]} at {q[joint]:.4g} rad and {dq[joint]:.4g} rad/s can't stop before {bound:.4g}"
        return Violation(SafeReason.POSITION_LIMIT, sentence)


@compiled(INDEX, VECTOR, VECTOR, VECTOR, VECTOR, NUMBER, NUMBER, NUMBER)
def first_implausible(
    q: Array, dq: Array, previous: Array, fastest: Array, speed_factor: float, longest: float, noise: float
) -> int:
    """Index of the first value that can't be true, velocities before positions; -1 when there is none.

    Args:
        q: (n,) rad.
        dq: (n,) rad/s.
        previous: (n,) Positions before, rad.
        fastest: (n,) Velocity limits, rad/s.
        speed_factor: A velocity may be that many times its limit.
        longest: Longest time at the velocity limit between the two positions, s.
        noise: Displacement that measurement noise can add, rad.
    """
    n = fastest.size
    for i in range(n):
        if not abs(dq[i]) <= speed_factor * fastest[i]:
            return i
    for i in range(n):
        if not abs(q[i] - previous[i]) <= longest * fastest[i] + noise:
            return n + i
    return -1


@compiled(INDEX, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
def first_limit(q: Array, dq: Array, lower: Array, upper: Array, velocity: Array, half_inverse: Array) -> int:
    """Index of the first limit that is left: n upper positions, n lower ones, n velocities; -1 when there is none.

    Args:
        q: (n,) rad.
        dq: (n,) rad/s.
        lower: (n,) rad.
        upper: (n,) rad.
        velocity: (n,) rad/s.
        half_inverse: (n,) 1/(2 a) of the braking deceleration a, s^2/rad.
    """
    n = velocity.size
    for i in range(n):
        if not max(dq[i] * abs(dq[i]) * half_inverse[i], 0.0) + q[i] <= upper[i]:
            return i
    for i in range(n):
        if not min(dq[i] * abs(dq[i]) * half_inverse[i], 0.0) + q[i] >= lower[i]:
            return n + i
    for i in range(n):
        if not abs(dq[i]) <= velocity[i]:
            return 2 * n + i
    return -1


@compiled(INDEX, VECTOR, VECTOR, VECTOR, NUMBER)
def tool_limit(position: Array, twist: Array, box: Array, fastest: float) -> int:
    """Which limit a tool has left: 1 the workspace, 2 the speed, 0 none.

    Args:
        position: (3,) m.
        twist: (6,) m/s and rad/s.
        box: (6,) Lowest, then highest position, m.
        fastest: m/s.
    """
    for i in range(3):
        if not (box[i] <= position[i] and position[i] <= box[3 + i]):
            return 1
    square = twist[0] * twist[0] + twist[1] * twist[1] + twist[2] * twist[2]
    return 0 if square <= fastest * fastest else 2
