"""Whether a state may be used, and whether the arms may be in it: time, plausibility, limits, contact, impact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.control.arm import ControlledArm
from impact_aware.control.command import Mode
from impact_aware.control.safety.contact_force import ContactForceObserver
from impact_aware.control.safety.reasons import SafeReason, Violation
from impact_aware.control.safety.state_limits import StateLimits
from impact_aware.reference import ReferenceField
from impact_aware.robot.safety_limits import SafetyLimits

CLOCK_JUMP = 1.0
"""Stamps that go on by more than this at once are a clock that was set, not states that were lost, s."""

LONGEST_FORESIGHT = 3.0
"""An object that moves is where its last pose and its velocity say for this long, s."""

GRASP_SHARE = 0.5
"""Two palms may come closer than the object allows by this share of the impact overrun: they must stop before they
meet."""


class StateGuard:
    """Judges one state after the other; the arms must have been refreshed with a state before `left` is asked of it.

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
        self._arms = list(arms)
        self._state_limits = StateLimits(arms, limits, bases)
        self.limits = self._state_limits.limits
        self.state_age = state_age
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
            doubt = self._state_limits.implausible(q, dq, self.position if self._known else None, waited)
        except Exception as error:  # noqa: BLE001 - a state of any shape must end in a safe command
            doubt = Violation(SafeReason.EXCEPTION, f"{type(error).__name__}: {error}")
        if doubt is None:
            self.position, self._accepted_time, self._known = q.copy(), time, True
        return untimely or doubt, doubt is None

    def left(self, dq: Array, effort: Array | None, mode: Mode, field: ReferenceField | None) -> Violation | None:
        """Which limit the last accepted state has left.

        Args:
            dq: (n,) Its velocities, rad/s.
            effort: (n,) Efforts measured with it. No contact force is judged without them, nor of an arm whose profile
                does not state that they are torques.
            mode: In which it was answered.
            field: The reference in use.
        """
        found = self._state_limits.judge_state(self.position, dq, self._contact_forces(dq, effort))
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
